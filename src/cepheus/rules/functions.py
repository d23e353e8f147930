"""The built-in functions of expressions: what they take, what they give, how they are computed.

The result is undefined if an argument is (``coalesce`` aside), or is not what the function takes; an implementation
is never asked then. It gives None where its result is undefined.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

from cepheus.core.lists import ListValue, distinct, list_value
from cepheus.core.values import Value, ValueType, representable
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
class Function:
    """A built-in function; ``result`` is a type, or None where it is the type of the arguments."""

    name: str
    arguments: tuple[Kind, ...]
    result: ValueType | None
    compute: Callable[..., Value | None]
    summary: str
    variadic: bool = False

    @property
    def signature(self) -> str:
        """How it is written, for messages and documentation."""
        names = ", ".join(_WRITTEN[kind] for kind in self.arguments)
        return f"{self.name}({names}{', ..' if self.variadic else ''})"

    def kind(self, position: int) -> Kind:
        """Give what the argument at a position, counted from 0, must be."""
        return self.arguments[min(position, len(self.arguments) - 1)]

    def apply(self, values: Sequence[Value | None]) -> Value | None:
        """Give the result for some arguments, None where it is undefined.

        >>> FUNCTIONS["abs"].apply([-2]), FUNCTIONS["abs"].apply([True]), FUNCTIONS["upper"].apply([None])
        (2, None, None)
        """
        fits = all(_is_of_kind(self.kind(position), value) for position, value in enumerate(values))
        return self.compute(*values) if fits else None


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


def _widest(choose: Callable[..., float]) -> Callable[..., Value]:
    def compute(*numbers: float) -> Value:
        if any(isinstance(number, float) for number in numbers):
            return choose(float(number) for number in numbers)
        return choose(numbers)

    return compute


def _mod(dividend: float, divisor: float) -> Value | None:
    """Give the remainder that has the sign of the divisor, as Python does."""
    if divisor == 0:
        return None
    if isinstance(dividend, int) and isinstance(divisor, int):
        return dividend % divisor
    return representable(float(dividend) % float(divisor))


def _whole(direction: Callable[[float], int]) -> Callable[[float], Value | None]:
    return lambda number: representable(direction(number))


def _sqrt(number: float) -> Value | None:
    return math.sqrt(number) if number >= 0 else None


def _calendar(part: Callable[[datetime], int]) -> Callable[[int], Value | None]:
    def compute(time: int) -> Value | None:
        try:
            return part(_EPOCH + timedelta(microseconds=time))
        except OverflowError:
            return None

    return compute


def _coalesce(*values: Value | None) -> Value | None:
    return next((value for value in values if value is not None), None)


_NUMBER, _STRING, _TIME = (Kind.NUMBER,), (Kind.STRING,), (Kind.TIMESTAMP,)
_INT, _FLOAT, _BOOL, _TEXT = ValueType.INT, ValueType.FLOAT, ValueType.BOOL, ValueType.STRING

_ALL: tuple[tuple[Any, ...], ...] = (
    ("abs", _NUMBER, None, lambda number: representable(abs(number)), "distance from zero"),
    ("min", _NUMBER * 2, None, _widest(min), "the smallest argument", True),
    ("max", _NUMBER * 2, None, _widest(max), "the largest argument", True),
    ("floor", _NUMBER, _INT, _whole(math.floor), "the largest integer that is not above the number"),
    ("ceil", _NUMBER, _INT, _whole(math.ceil), "the smallest integer that is not below the number"),
    ("round", _NUMBER, _INT, _whole(round), "the nearest integer, ties to the even one"),
    ("sqrt", _NUMBER, _FLOAT, _sqrt, "square root; undefined below zero"),
    ("mod", _NUMBER * 2, None, _mod, "remainder with the sign of the divisor; undefined for divisor 0"),
    ("length", (Kind.SIZED,), _INT, len, "number of characters"),
    ("lower", _STRING, _TEXT, str.lower, "in lower case"),
    ("upper", _STRING, _TEXT, str.upper, "in upper case"),
    ("trim", _STRING, _TEXT, str.strip, "without white space at both ends"),
    ("concat", _STRING * 2, _TEXT, lambda *texts: "".join(texts), "texts put together", True),
    ("contains", _STRING * 2, _BOOL, lambda text, part: part in text, "whether the second is part of the first"),
    ("starts_with", _STRING * 2, _BOOL, str.startswith, "whether the first begins with the second"),
    ("ends_with", _STRING * 2, _BOOL, str.endswith, "whether the first ends with the second"),
    ("matches", _STRING * 2, _BOOL, fits, "whether the whole text fits the regular expression"),
    ("coalesce", (Kind.SAME,) * 2, None, _coalesce, "the first argument that is defined", True),
    ("year", _TIME, _INT, _calendar(lambda moment: moment.year), "year in UTC"),
    ("month", _TIME, _INT, _calendar(lambda moment: moment.month), "month in UTC, 1 to 12"),
    ("day", _TIME, _INT, _calendar(lambda moment: moment.day), "day of the month in UTC, 1 to 31"),
    ("weekday", _TIME, _INT, _calendar(lambda moment: moment.isoweekday()), "1 for Monday to 7 for Sunday, in UTC"),
    ("hour", _TIME, _INT, _calendar(lambda moment: moment.hour), "hour in UTC, 0 to 23"),
    ("minute", _TIME, _INT, _calendar(lambda moment: moment.minute), "minute, 0 to 59"),
    ("second", _TIME, _INT, _calendar(lambda moment: moment.second), "second, 0 to 59"),
)

FUNCTIONS: dict[str, Function] = {row[0]: Function(*row) for row in _ALL}
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


_ANY, _SOME_LIST = (Kind.SAME,), (Kind.LIST,)

TERMS: dict[str, Function] = {
    row[0]: Function(*row)
    for row in (
        (LIST_OF, _ANY, ValueType.LIST, _list_of, "a list of values", True),
        (LIST_BEFORE, _ANY, ValueType.LIST, _list_before, "values before a list", True),
        (LIST_SIZE, _SOME_LIST, _INT, len, "how many elements a list has"),
        (LIST_ITEM, (Kind.LIST, Kind.NUMBER), None, _list_item, "an element, counted from 0"),
        (LIST_REST, (Kind.LIST, Kind.NUMBER), ValueType.LIST, lambda elements, place: elements[place:], "the rest"),
        (LIST_DISTINCT, (Kind.LIST, Kind.NUMBER), None, _list_distinct, "one of the elements that differ"),
    )
}
"""Functions with names that nobody can write: what lists are made by and taken apart by."""


def function_of(name: str) -> Function:
    """Give the function of a call."""
    return FUNCTIONS.get(name) or TERMS[name]


def takes_undefined(name: str) -> bool:
    """Tell whether a built-in function may have a result where an argument has no value.

    >>> takes_undefined("coalesce"), takes_undefined("abs")
    (True, False)
    """
    return name in FUNCTIONS and Kind.SAME in FUNCTIONS[name].arguments


AGGREGATES: dict[str, str] = {
    "avg": "Avg",
    "sum": "Sum",
    "count": "Count",
    "min": "Min",
    "max": "Max",
    "stddev": "Stddev",
    "first": "First",
    "last": "Last",
}
"""Aggregate functions: lower-case name to the canonical one."""
