"""The built-in functions of expressions, one record each: what it takes and gives, what it means, and how it is run.

A record is all there is to a function. From it come the names that both languages know, the checks of its arguments,
what the reference engine computes, the form that compiled engines run (``Lowering``), what Spark can decide by itself,
and its line in the documentation. Uncertain arguments need no more: they are enumerated or drawn, and the meaning is
asked for each outcome.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, assert_never

from cepheus.core.lists import ListValue, distinct, list_value
from cepheus.core.values import Value, ValueType, representable
from cepheus.kernel.instructions import DatePart, Op
from cepheus.rules.regular_expressions import fits


class Kind(Enum):
    """What an argument must be: one type, any number, or anything (all arguments of one call alike).

    Lists are values of rules over intervals alone.
    """

    NUMBER = "a number"
    STRING = "a string"
    TIMESTAMP = "a time"
    SIZED = "a string or a list"
    LIST = "a list"
    SAME = "any type, the same for all"


@dataclass(frozen=True, slots=True)
class MachineOps:
    """An instruction for doubles and one for integers, taken again for each further argument.

    None for integers: an integer is its own result, as that of ``floor``.
    """

    of_floats: Op
    of_integers: Op | None


@dataclass(frozen=True, slots=True)
class CalendarPart:
    """A part of a time's date, which has an instruction."""

    part: DatePart


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table that is filled as texts come up: one argument is a text, the others are constants."""


@dataclass(frozen=True, slots=True)
class FirstDefined:
    """The first argument that has a value: jumps over the others."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """Numbers and times: ``compute`` itself is compiled, and called by its address.

    It may use arithmetic, comparisons and the module ``math``, and gives None where its result is undefined. Integers
    must not leave 64 bits on the way: compiled code would not notice.
    """


@dataclass(frozen=True, slots=True)
class OnlyPython:
    """No compiled form: where Python cannot be asked, a rule that needs it is refused."""


Lowering = MachineOps | CalendarPart | TextTable | FirstDefined | Compiled | OnlyPython


@dataclass(frozen=True, slots=True)
class Function:
    """A built-in function.

    ``result`` is a type, or None where it is the type of the arguments. ``compute`` is the meaning. It is asked only
    with what the function takes, numbers all of one type (doubles, if the result is one); what it rejects with an
    error of arithmetic or of its domain is undefined, as is None. ``variadic`` functions take further arguments like
    the last one.
    """

    name: str
    arguments: tuple[Kind, ...]
    result: ValueType | None
    compute: Callable[..., Any]
    summary: str
    variadic: bool = False
    lowering: Lowering = OnlyPython()
    spark: str | None = None
    """The method of Spark's columns that says the same of a text and a constant, if there is one."""
    regex: int | None = None
    """Which argument is a regular expression, counted from 0."""
    grows: bool = False
    """Its results may be ever larger: a rule that feeds on them may never end."""
    distance: bool = False
    """The distance from zero: to be below a bound is to be between two."""

    def __post_init__(self) -> None:
        if not self._is_sound():
            raise ValueError(f"the function '{self.name}' cannot be run as its record says: {self.lowering}")

    def _is_sound(self) -> bool:
        kinds = set(self.arguments)
        match self.lowering:
            case MachineOps():
                return kinds == {Kind.NUMBER}
            case CalendarPart():
                return self.arguments == (Kind.TIMESTAMP,)
            case TextTable():
                return bool(kinds & _OF_TEXTS) and self.result not in (None, ValueType.FLOAT, ValueType.LIST)
            case FirstDefined():
                return kinds == {Kind.SAME}
            case Compiled():
                return kinds <= {Kind.NUMBER, Kind.TIMESTAMP} and self.result not in (ValueType.STRING, ValueType.LIST)
            case OnlyPython():
                return True
            case _:
                assert_never(self.lowering)

    @property
    def signature(self) -> str:
        """How it is written, for messages and documentation."""
        names = ", ".join(_WRITTEN[kind] for kind in self.arguments)
        return f"{self.name}({names}{', ..' if self.variadic else ''})"

    @property
    def takes_undefined(self) -> bool:
        """Whether it may have a result where an argument has no value."""
        return Kind.SAME in self.arguments

    def kind(self, position: int) -> Kind:
        """What the argument at a position, counted from 0, must be."""
        return self.arguments[min(position, len(self.arguments) - 1)]

    def apply(self, values: Sequence[Value | None]) -> Value | None:
        """Compute the result for some arguments, None where it is undefined.

        >>> FUNCTIONS["abs"].apply([-2]), FUNCTIONS["abs"].apply([True]), FUNCTIONS["upper"].apply([None])
        (2, None, None)
        >>> FUNCTIONS["max"].apply([1, 0.5]), FUNCTIONS["ln"].apply([1]), FUNCTIONS["ln"].apply([0])
        (1.0, 0.0, None)
        """
        kinds = [self.kind(position) for position in range(len(values))]
        if not all(map(_is_of_kind, kinds, values)):
            return None
        of_floats = self.result is ValueType.FLOAT or any(
            kind is Kind.NUMBER and isinstance(value, float) for kind, value in zip(kinds, values, strict=True)
        )
        given: list[Any] = list(values)
        if of_floats:
            given = [float(v) if kind is Kind.NUMBER else v for kind, v in zip(kinds, given, strict=True)]
        try:
            result: Value | None = self.compute(*given)
            if isinstance(result, bool) or not isinstance(result, int | float):
                return result
            gives_float = self.result is ValueType.FLOAT or (self.result is None and of_floats)
            return representable(float(result) if gives_float else result)
        except (ArithmeticError, ValueError):
            return None


_OF_TEXTS = frozenset({Kind.STRING, Kind.SIZED})
_WRITTEN = {
    Kind.NUMBER: "number",
    Kind.STRING: "string",
    Kind.TIMESTAMP: "time",
    Kind.SIZED: "string",
    Kind.LIST: "list",
    Kind.SAME: "value",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _is_of_kind(kind: Kind, value: Value | None) -> bool:
    match kind:
        case Kind.NUMBER:
            return isinstance(value, int | float) and not isinstance(value, bool)
        case Kind.STRING:
            return isinstance(value, str)
        case Kind.TIMESTAMP:
            return isinstance(value, int) and not isinstance(value, bool)
        case Kind.SIZED:
            return isinstance(value, str | tuple)
        case Kind.LIST:
            return isinstance(value, tuple)
        case Kind.SAME:
            return True


def _calendar(part: Callable[[datetime], int]) -> Callable[[int], int]:
    return lambda time: part(_EPOCH + timedelta(microseconds=time))


def _coalesce(*values: Value | None) -> Value | None:
    return next((value for value in values if value is not None), None)


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


_NUMBER, _STRING, _TIME = (Kind.NUMBER,), (Kind.STRING,), (Kind.TIMESTAMP,)
_INT, _FLOAT, _BOOL, _TEXT = ValueType.INT, ValueType.FLOAT, ValueType.BOOL, ValueType.STRING


def _part(part: DatePart, read: Callable[[datetime], int], summary: str) -> Function:
    return Function(part.name.lower(), _TIME, _INT, _calendar(read), summary, lowering=CalendarPart(part))


def _of_texts(name: str, count: int, result: ValueType, compute: Callable[..., Any], summary: str) -> Function:
    return Function(name, _STRING * count, result, compute, summary, lowering=TextTable())


_ALL = (
    Function(
        "abs",
        _NUMBER,
        None,
        abs,
        "distance from zero",
        lowering=MachineOps(Op.ABS_FLOAT, Op.ABS_INT),
        distance=True,
    ),
    Function(
        "min",
        _NUMBER * 2,
        None,
        min,
        "the smallest argument",
        variadic=True,
        lowering=MachineOps(Op.MIN_FLOAT, Op.MIN_INT),
    ),
    Function(
        "max",
        _NUMBER * 2,
        None,
        max,
        "the largest argument",
        variadic=True,
        lowering=MachineOps(Op.MAX_FLOAT, Op.MAX_INT),
    ),
    Function(
        "floor",
        _NUMBER,
        _INT,
        math.floor,
        "the largest integer that is not above the number",
        lowering=MachineOps(Op.FLOOR, None),
    ),
    Function(
        "ceil",
        _NUMBER,
        _INT,
        math.ceil,
        "the smallest integer that is not below the number",
        lowering=MachineOps(Op.CEIL, None),
    ),
    Function(
        "round",
        _NUMBER,
        _INT,
        round,
        "the nearest integer, ties to the even one",
        lowering=MachineOps(Op.ROUND, None),
    ),
    Function(
        "sqrt", _NUMBER, _FLOAT, math.sqrt, "square root; undefined below zero", lowering=MachineOps(Op.SQRT, None)
    ),
    Function(
        "mod",
        _NUMBER * 2,
        None,
        operator.mod,
        "remainder with the sign of the divisor; undefined for divisor 0",
        lowering=MachineOps(Op.MOD_FLOAT, Op.MOD_INT),
    ),
    Function("exp", _NUMBER, _FLOAT, math.exp, "e to the power of the number", lowering=Compiled()),
    Function("ln", _NUMBER, _FLOAT, math.log, "natural logarithm; undefined at and below zero", lowering=Compiled()),
    Function(
        "log10", _NUMBER, _FLOAT, math.log10, "logarithm to base 10; undefined at and below zero", lowering=Compiled()
    ),
    Function(
        "pow",
        _NUMBER * 2,
        _FLOAT,
        math.pow,
        "the first to the power of the second; undefined for a negative number to a power that is not whole, "
        "and for zero to a negative power",
        lowering=Compiled(),
    ),
    Function("sign", _NUMBER, _INT, _sign, "-1 below zero, 0 at zero, 1 above", lowering=Compiled()),
    Function("length", (Kind.SIZED,), _INT, len, "number of characters", lowering=TextTable()),
    _of_texts("lower", 1, _TEXT, str.lower, "in lower case"),
    _of_texts("upper", 1, _TEXT, str.upper, "in upper case"),
    _of_texts("trim", 1, _TEXT, str.strip, "without white space at both ends"),
    Function(
        "concat",
        _STRING * 2,
        _TEXT,
        lambda *texts: "".join(texts),
        "texts put together",
        variadic=True,
        lowering=TextTable(),
        grows=True,
    ),
    Function(
        "contains",
        _STRING * 2,
        _BOOL,
        lambda text, part: part in text,
        "whether the second is part of the first",
        lowering=TextTable(),
        spark="contains",
    ),
    Function(
        "starts_with",
        _STRING * 2,
        _BOOL,
        str.startswith,
        "whether the first begins with the second",
        lowering=TextTable(),
        spark="startswith",
    ),
    Function(
        "ends_with",
        _STRING * 2,
        _BOOL,
        str.endswith,
        "whether the first ends with the second",
        lowering=TextTable(),
        spark="endswith",
    ),
    Function(
        "matches",
        _STRING * 2,
        _BOOL,
        fits,
        "whether the whole text fits the regular expression",
        lowering=TextTable(),
        regex=1,
    ),
    Function(
        "coalesce",
        (Kind.SAME,) * 2,
        None,
        _coalesce,
        "the first argument that is defined",
        variadic=True,
        lowering=FirstDefined(),
    ),
    _part(DatePart.YEAR, lambda moment: moment.year, "year in UTC"),
    _part(DatePart.MONTH, lambda moment: moment.month, "month in UTC, 1 to 12"),
    _part(DatePart.DAY, lambda moment: moment.day, "day of the month in UTC, 1 to 31"),
    _part(DatePart.WEEKDAY, lambda moment: moment.isoweekday(), "1 for Monday to 7 for Sunday, in UTC"),
    _part(DatePart.HOUR, lambda moment: moment.hour, "hour in UTC, 0 to 23"),
    _part(DatePart.MINUTE, lambda moment: moment.minute, "minute, 0 to 59"),
    _part(DatePart.SECOND, lambda moment: moment.second, "second, 0 to 59"),
)

FUNCTIONS: dict[str, Function] = {function.name: function for function in _ALL}
"""Every built-in function by name."""

LIST_OF, LIST_BEFORE = "[]", "[|]"
"""``[X, Y]`` is the first, applied to its elements; ``[X, Y|T]`` the second, applied to its elements and its rest."""

LIST_SIZE, LIST_ITEM, LIST_REST, LIST_DISTINCT = "list size", "list item", "list rest", "list distinct"
"""What takes lists apart: how many elements, the n-th, all behind the first n, the n-th of those that differ."""


def _list_of(*elements: Value | None) -> Value | None:
    defined = [element for element in elements if element is not None]
    return list_value(defined) if len(defined) == len(elements) else None


def _list_before(*given: Value | None) -> Value | None:
    *elements, rest = given
    return _list_of(*elements, *rest) if isinstance(rest, tuple) else None


def _list_item(elements: ListValue, place: Value) -> Value | None:
    return elements[place] if isinstance(place, int) and place < len(elements) else None


def _list_distinct(elements: ListValue, place: Value) -> Value | None:
    return _list_item(tuple(distinct(elements)), place)


_ANY, _PART_OF_LIST = (Kind.SAME,), (Kind.LIST, Kind.NUMBER)

TERMS: dict[str, Function] = {
    function.name: function
    for function in (
        Function(LIST_OF, _ANY, ValueType.LIST, _list_of, "a list of values", variadic=True, grows=True),
        Function(LIST_BEFORE, _ANY, ValueType.LIST, _list_before, "values before a list", variadic=True, grows=True),
        Function(LIST_SIZE, (Kind.LIST,), _INT, len, "how many elements a list has"),
        Function(LIST_ITEM, _PART_OF_LIST, None, _list_item, "an element, counted from 0"),
        Function(LIST_REST, _PART_OF_LIST, ValueType.LIST, lambda elements, place: elements[place:], "the rest"),
        Function(LIST_DISTINCT, _PART_OF_LIST, None, _list_distinct, "one of the elements that differ"),
    )
}
"""Functions with names that nobody can write: what lists are made by and taken apart by."""


def function_of(name: str) -> Function:
    """Look up the function of a call."""
    return FUNCTIONS.get(name) or TERMS[name]


def takes_undefined(name: str) -> bool:
    """Whether a built-in function may have a result where an argument has no value.

    >>> takes_undefined("coalesce"), takes_undefined("abs")
    (True, False)
    """
    return name in FUNCTIONS and FUNCTIONS[name].takes_undefined


def grows(name: str) -> bool:
    """Whether the results of a function may be ever larger; of one that does not exist they are not."""
    function = FUNCTIONS.get(name) or TERMS.get(name)
    return function is not None and function.grows
