"""The built-in functions of expressions, one record each: what it takes and gives, what it means, and how it is run.

A record is all there is to a function. From it come the names that the languages know, the checks of its arguments,
what the reference engine computes, the form that compiled engines run (``Lowering``), what Spark can decide by itself,
and its line in the documentation. Uncertain arguments need no more: they are enumerated or drawn, and the meaning is
asked for each outcome.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from cepheus.core.lists import ListValue, distinct, list_value
from cepheus.core.values import Value, ValueType
from cepheus.kernel.instructions import DatePart, Op
from cepheus.rules.comparisons import truth
from cepheus.rules.function_record import (
    CalendarPart,
    Compiled,
    FirstDefined,
    Function,
    Join,
    Joined,
    Kind,
    MachineOps,
    TextTable,
)
from cepheus.rules.regular_expressions import fits

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _calendar(part: Callable[[datetime], int]) -> Callable[[int], int]:
    return lambda time: part(_EPOCH + timedelta(microseconds=time))


def _coalesce(*values: Value | None) -> Value | None:
    return next((value for value in values if value is not None), None)


def _split(text: str, separator: str, place: float) -> str | None:
    parts = text.split(separator)
    at = int(place) - (place > 0)
    return parts[at] if place and place == int(place) and -len(parts) <= at < len(parts) else None


@lru_cache(maxsize=1024)
def _network(text: str) -> IPv4Network | IPv6Network:
    return ip_network(text, strict=False)


def _cidr_match(address: str, *networks: str) -> bool:
    found = ip_address(address)
    return any(found in _network(network) for network in networks)


def _wrong_network(text: str) -> str | None:
    try:
        _network(text)
    except ValueError:
        return f"'{text}' is no network of addresses: write it as '10.0.0.0/8' or 'fd00::/8'"
    return None


_EARTH_RADIUS_KM = 6371.0088


def _distance(latitude: float, longitude: float, other_latitude: float, other_longitude: float) -> float | None:
    if abs(latitude) > 90 or abs(other_latitude) > 90:
        return None
    north, other_north = math.radians(latitude), math.radians(other_latitude)
    half_north = math.sin((other_north - north) / 2)
    half_east = math.sin(math.radians(other_longitude - longitude) / 2)
    share = half_north * half_north + math.cos(north) * math.cos(other_north) * half_east * half_east
    return 2 * _EARTH_RADIUS_KM * math.asin(math.sqrt(min(1.0, share)))


def _all_of(*truths: bool | None) -> bool | None:
    return False if False in truths else None if None in truths else True


def _any_of(*truths: bool | None) -> bool | None:
    return True if True in truths else None if None in truths else False


def _opposite(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _among(value: Value | None, *choices: Value | None) -> bool | None:
    return _any_of(*(truth("=", value, choice) for choice in choices))


def _choice(condition: bool | None, then: Value | None, otherwise: Value | None) -> Value | None:
    return then if condition is True else otherwise


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
        "split",
        (Kind.STRING, Kind.STRING, Kind.NUMBER),
        _TEXT,
        _split,
        "a part of a text between separators, counted from 1, or from the end by -1; undefined if there is none",
        lowering=TextTable(),
    ),
    Function(
        "cidr_match",
        _STRING * 2,
        _BOOL,
        _cidr_match,
        "whether an IP address lies in one of the networks such as '10.0.0.0/8'; undefined if it is no address",
        variadic=True,
        lowering=TextTable(),
        wrong=_wrong_network,
    ),
    Function(
        "distance",
        _NUMBER * 4,
        _FLOAT,
        _distance,
        "kilometres between two places on the globe, each by its latitude and longitude in degrees",
        lowering=Compiled(),
    ),
    Function(
        "if",
        (Kind.TRUTH, Kind.SAME, Kind.SAME),
        None,
        _choice,
        "the second argument if the condition holds, else the third",
        lowering=Joined(Join.CHOICE),
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
"""Every built-in function by name, and those that the program has declared."""

AND, OR, NOT, IN, IS_NULL = (join.value for join in (Join.BOTH, Join.EITHER, Join.OPPOSITE, Join.AMONG, Join.UNDEFINED))

CONNECTIVES: dict[str, Function] = {
    function.name: function
    for function in (
        Function(AND, (Kind.TRUTH,) * 2, _BOOL, _all_of, "all hold", variadic=True, lowering=Joined(Join.BOTH)),
        Function(
            OR, (Kind.TRUTH,) * 2, _BOOL, _any_of, "one of them holds", variadic=True, lowering=Joined(Join.EITHER)
        ),
        Function(NOT, (Kind.TRUTH,), _BOOL, _opposite, "it is false", lowering=Joined(Join.OPPOSITE)),
        Function(
            IN,
            (Kind.SAME,) * 2,
            _BOOL,
            _among,
            "the first is equal to one of the others",
            variadic=True,
            lowering=Joined(Join.AMONG),
        ),
        Function(
            IS_NULL, (Kind.SAME,), _BOOL, lambda value: value is None, "undefined", lowering=Joined(Join.UNDEFINED)
        ),
    )
}
"""What joins conditions, by the words that are written between or before them. Logic is three-valued, as in SQL."""

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


def built_in_names() -> list[str]:
    """The names of the functions that every process knows."""
    return [name for name, function in FUNCTIONS.items() if not function.local]


def function_of(name: str) -> Function:
    """Look up the function of a call."""
    return FUNCTIONS.get(name) or CONNECTIVES.get(name) or TERMS[name]


def takes_undefined(name: str) -> bool:
    """Whether a built-in function may have a result where an argument has no value.

    >>> takes_undefined("coalesce"), takes_undefined("abs"), takes_undefined("or")
    (True, False, True)
    """
    function = FUNCTIONS.get(name) or CONNECTIVES.get(name)
    return function is not None and function.takes_undefined


def grows(name: str) -> bool:
    """Whether the results of a function may be ever larger; of one that does not exist they are not."""
    function = FUNCTIONS.get(name) or TERMS.get(name)
    return function is not None and function.grows
