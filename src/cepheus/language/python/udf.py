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
from typing import Any, Generic, ParamSpec, SupportsFloat, SupportsIndex, TypeVar, overload

from cepheus.core.errors import Diagnostic, RuleError, Severity
from cepheus.core.source import Span
from cepheus.core.time import warn
from cepheus.core.values import Value, ValueType
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
    ... def heat_index(value: float, humidity: float) -> float:
    ...     return value + 0.1 * humidity
    >>> heat_index(20.0, 50.0)
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
    _refuse_name(name, function, span)
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
    lowering: Lowering = OnlyPython()
    meaning = _as_declared(function, result, span)
    if not slow and Kind.STRING in kinds:
        lowering = TextTable() if Kind.TRUTH not in kinds and result is not ValueType.FLOAT else lowering
    elif not slow and Kind.TRUTH not in kinds and result is not ValueType.STRING:
        compiled = _compiled(function, [hints[each] for each in parameters], result, span)
        lowering, meaning = (lowering, meaning) if compiled is None else (Compiled(function), compiled)
    if isinstance(lowering, OnlyPython) and not slow:
        message = f"'{name}' cannot be compiled: rules that call it run in the reference engine, which is slow"
        hint = "use arithmetic and the module math alone, or declare it so: @udf(slow=True)"
        warn(Diagnostic("slow-function", message, span, hint, Severity.WARNING))
    _DECLARED[name] = function
    return Function(name, kinds, result, meaning, summary, lowering=lowering, local=True)


_DECLARED: dict[str, Callable[..., Any]] = {}
"""The functions of this program, by their names in rules."""


def _refuse_name(name: str, function: Callable[..., Any], span: Span | None) -> None:
    """Refuse a name that rules know already: a rule holds nothing else of a function.

    A function may be declared anew at its own place, as notebooks do.
    """
    known = FUNCTIONS.get(name)
    if (known is not None and not known.local) or name in CONNECTIVES or name in AGGREGATES or name != name.lower():
        hint = "call it otherwise, in lower case"
        raise RuleError.of("function", f"rules cannot call a function '{name}'", span=span, hint=hint)
    other = _DECLARED.get(name, function)
    if (other.__module__, other.__qualname__) != (function.__module__, function.__qualname__):
        message = f"rules call another function '{name}' already, that of {other.__module__}.{other.__qualname__}"
        hint = "call it otherwise: a rule has nothing but the name of a function"
        raise RuleError.of("function", message, span=span, hint=hint)


def _as_declared(function: Callable[..., Any], result: ValueType, span: Span | None) -> Callable[..., Any]:
    """A function that gives what it says that it gives."""

    def compute(*given: Any) -> Value | None:
        found: Any = function(*given)
        if found is None or (isinstance(found, bool) and result is ValueType.BOOL):
            return found
        if isinstance(found, str) and result is ValueType.STRING:
            return found
        if isinstance(found, SupportsIndex) and not isinstance(found, bool) and result is ValueType.INT:
            return int(found)
        if isinstance(found, SupportsFloat) and not isinstance(found, bool) and result is ValueType.FLOAT:
            return float(found)
        raise _no_such_result(function, repr(found), span)

    return compute


def _compiled(
    function: Callable[..., Any], hints: list[object], result: ValueType, span: Span | None
) -> Callable[..., Any] | None:
    """What fast engines compute, for the reference engine: with integers of 64 bits, undefined where they do not do."""
    times = tuple(hint is datetime for hint in hints)
    numbers = NumberFunction(function.__name__, function, times, result)
    if len(times) > MOST_ARGUMENTS or FUNCTION_ADDRESSES.number(numbers) is None:
        return None
    from cepheus.kernel.function_code import callable_of, result_kind

    kind = result_kind(numbers, tuple(hint is float for hint in hints))
    if kind is not None and kind is not result and (kind, result) != (ValueType.INT, ValueType.FLOAT):
        raise _no_such_result(function, f"a {kind.value}", span)
    call = callable_of(function)

    def compute(*given: Any) -> Value | None:
        try:
            found: Value | None = call(*given)
        except Exception:  # whatever it raises, compiled code has no result
            return None
        if result is ValueType.INT and isinstance(found, float):
            return int(found) if found.is_integer() else None
        return found

    return compute


def _no_such_result(function: Callable[..., Any], found: str, span: Span | None) -> RuleError:
    message = f"'{function.__name__}' gives {found}, and says that it gives another type"
    return RuleError.of("function", message, span=span, hint="annotate the result with the type of what it returns")
