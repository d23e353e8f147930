"""Functions of a program in rules: declared one by one, compiled where that can be, never sent anywhere.

A rule holds the name of such a function and nothing else of it. So it runs where the program runs: networks and Spark,
whose processes are others, refuse rules that call one.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, ParamSpec, TypeVar, overload

from cepheus.core.errors import Diagnostic, RuleError, Severity
from cepheus.core.time import warn
from cepheus.core.values import ValueType
from cepheus.kernel.functions import FUNCTION_ADDRESSES, MOST_ARGUMENTS, NumberFunction
from cepheus.language.python.places import here
from cepheus.language.python.values import Symbol, called
from cepheus.rules.aggregates import AGGREGATES
from cepheus.rules.function_record import Compiled, Function, Kind, Lowering, OnlyPython, TextTable
from cepheus.rules.functions import CONNECTIVES, FUNCTIONS

P = ParamSpec("P")
R = TypeVar("R")

_KINDS: dict[object, Kind] = {
    bool: Kind.TRUTH,
    int: Kind.NUMBER,
    float: Kind.NUMBER,
    str: Kind.STRING,
    datetime: Kind.TIMESTAMP,
}
_RESULTS: dict[object, ValueType] = {
    bool: ValueType.BOOL,
    int: ValueType.INT,
    float: ValueType.FLOAT,
    str: ValueType.STRING,
}


@dataclass(frozen=True)
class Udf(Generic[P, R]):
    """A function of the program that rules may call; ``compiled`` tells whether fast engines can run it."""

    function: Callable[P, R]
    record: Function = field(repr=False)

    @property
    def compiled(self) -> bool:
        """Whether it has a compiled form; rules that call another run in the reference engine."""
        return not isinstance(self.record.lowering, OnlyPython)

    def __call__(self, *arguments: P.args, **keywords: P.kwargs) -> R:
        """Write a call of it down where parts of a rule are given, else call it."""
        if any(isinstance(argument, Symbol) for argument in arguments):
            found: Any = called(self.record.name, list(arguments))
            result: R = found
            return result
        return self.function(*arguments, **keywords)


@overload
def udf(function: Callable[P, R]) -> Udf[P, R]: ...
@overload
def udf(*, slow: bool = ...) -> Callable[[Callable[P, R]], Udf[P, R]]: ...


def udf(
    function: Callable[P, R] | None = None, *, slow: bool = False
) -> Udf[P, R] | Callable[[Callable[P, R]], Udf[P, R]]:
    """Let rules call a function of numbers, times, texts and truths, which its annotations tell.

    A time is an int of microseconds to it. It must depend on nothing but its arguments. One of numbers and times is
    compiled by Numba, one of a text and constants is asked once for each text; any other is ``slow``: rules that call
    it run in the reference engine, and a CepheusWarning says so unless it was asked for.

    >>> @udf
    ... def feels_like(value: float, humidity: float) -> float:
    ...     return value + 0.1 * humidity
    >>> feels_like(20.0, 50.0)
    25.0
    """

    def declare(function: Callable[P, R]) -> Udf[P, R]:
        record = _record(function, slow=slow)
        FUNCTIONS[record.name] = record
        return Udf(function, record)

    return declare if function is None else declare(function)


def _record(function: Callable[..., Any], *, slow: bool) -> Function:
    name = function.__name__
    span = here()
    known = FUNCTIONS.get(name)
    if (known is not None and not known.local) or name in CONNECTIVES or name in AGGREGATES or name != name.lower():
        hint = "call it otherwise, in lower case"
        raise RuleError.of("function", f"rules cannot call a function '{name}'", span=span, hint=hint)
    try:
        hints = typing.get_type_hints(function)
        parameters = inspect.signature(function).parameters
        kinds = tuple(_KINDS[hints[each]] for each in parameters)
        result = _RESULTS[hints["return"]]
        if not kinds or any(each.kind is not each.POSITIONAL_OR_KEYWORD for each in parameters.values()):
            raise KeyError
    except (KeyError, NameError, TypeError):
        hint = "annotate every argument with bool, int, float, str or datetime, the result with bool, int, float or str"
        message = f"rules cannot tell what '{name}' takes and gives"
        raise RuleError.of("function", message, span=span, hint=hint) from None
    summary = (inspect.getdoc(function) or "a function of this program").splitlines()[0]
    lowering: Lowering = OnlyPython() if slow else _lowering(function, kinds, result)
    if isinstance(lowering, OnlyPython) and not slow:
        message = f"'{name}' cannot be compiled: rules that call it run in the reference engine, which is slow"
        hint = "use arithmetic and the module math alone, or declare it so: @udf(slow=True)"
        warn(Diagnostic("slow-function", message, span, hint, Severity.WARNING))
    return Function(name, kinds, result, function, summary, lowering=lowering, local=True)


def _lowering(function: Callable[..., Any], kinds: tuple[Kind, ...], result: ValueType) -> Lowering:
    """How fast engines run a function, if they can."""
    if Kind.STRING in kinds:
        fits = Kind.TRUTH not in kinds and result is not ValueType.FLOAT
        return TextTable() if fits else OnlyPython()
    if Kind.TRUTH in kinds or result is ValueType.STRING or len(kinds) > MOST_ARGUMENTS:
        return OnlyPython()
    times = tuple(kind is Kind.TIMESTAMP for kind in kinds)
    compiled = FUNCTION_ADDRESSES.number(NumberFunction(function.__name__, function, times, result))
    return OnlyPython() if compiled is None else Compiled()
