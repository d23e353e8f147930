"""One value at a time: what a cell of a file means for an attribute of a given type.

This is the definition; the columns' vectorised conversions must agree with it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import TypeGuard

import numpy as np

from cepheus.core.distribution import Distribution, as_distribution
from cepheus.core.errors import EventError
from cepheus.core.event import PLAIN_INTEGER, EventId
from cepheus.core.lists import checked_list, list_of_text
from cepheus.core.time import MAX_TIME, MIN_TIME, TimeUnit, format_time, from_datetime, parse_time
from cepheus.core.values import INT_MAX, INT_MIN, Value, ValueType
from cepheus.formats.problems import shown

BOOL_WORDS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
"""How truth is written in text."""


@dataclass(frozen=True, slots=True)
class Uncertain:
    """A number together with the distribution of its error."""

    value: int | float
    error: Distribution


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time that needs no unit: nanoseconds since the epoch."""

    nanoseconds: int


INTEGER = re.compile(r"\s*[-+]?[0-9]+\s*")
DECIMAL = re.compile(r"\s*[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\s*")  # also read by Arrow
_INNER = r"((?:[^\s{0}]++|\s++(?=[^\s{0}]))*+)"  # possessive: what people send must not be tried in every way
UNCERTAIN = re.compile(rf"\s*+<\s*+{_INNER.format(',<>')}\s*+,\s*+{_INNER.format('<>')}\s*+>\s*+")
_TOO_FINE = re.compile(r"[.,][0-9]{6}[0-9]*[1-9]")
_IN_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
    "D": 86400 * 10**9,
}
_NAMES = {
    ValueType.BOOL: "true or false",
    ValueType.INT: "an integer",
    ValueType.FLOAT: "a number",
    ValueType.STRING: "a string",
    ValueType.TIMESTAMP: "a time",
    ValueType.LIST: "a list",
}


def coerce_value(raw: object, expected: ValueType, unit: TimeUnit) -> Value | Uncertain:
    """Return a value, as JSON has it, as the expected type; a number with an error is an object of value and error.

    >>> coerce_value(3, ValueType.FLOAT, TimeUnit.US), coerce_value(2, ValueType.TIMESTAMP, TimeUnit.S)
    (3.0, 2000000)
    >>> coerce_value({"value": 24.5, "error": "N(0,1)"}, ValueType.FLOAT, TimeUnit.US)
    Uncertain(value=24.5, error=Normal(mean=0.0, variance=1.0))
    """
    if isinstance(raw, Mapping):
        return _uncertain(raw, expected, unit)
    raw = plain(raw)
    if isinstance(raw, float):
        _finite(raw)  # what is no number at all is wrong in the same way wherever it stands
    match expected:
        case ValueType.BOOL if isinstance(raw, bool):
            return raw
        case ValueType.STRING if isinstance(raw, str):
            return _text(raw)
        case ValueType.INT if _is_number(raw):
            return _integer(raw)
        case ValueType.FLOAT if _is_number(raw):
            return _float(raw)
        case ValueType.TIMESTAMP if isinstance(raw, Moment):
            return _from_nanoseconds(raw.nanoseconds)
        case ValueType.TIMESTAMP if _is_number(raw):
            return scale_time(raw, unit)
        case ValueType.TIMESTAMP if isinstance(raw, str):
            return parse_moment(raw)
        case ValueType.LIST if isinstance(raw, str):
            return list_of_text(raw)
        case ValueType.LIST if isinstance(raw, list | tuple | np.ndarray):
            return checked_list(raw)
        case _:
            raise _unfit(raw, expected)


def coerce_text(text: str, expected: ValueType, unit: TimeUnit) -> Value | Uncertain:
    """Return a cell of text as the expected type.

    >>> coerce_text("3", ValueType.STRING, TimeUnit.US), coerce_text("3", ValueType.INT, TimeUnit.US)
    ('3', 3)
    """
    if expected is ValueType.STRING:
        return text
    if expected is ValueType.BOOL:
        if text.strip() not in BOOL_WORDS:
            raise _unfit(text, expected)
        return BOOL_WORDS[text.strip()]
    if expected is ValueType.LIST:
        return list_of_text(text)
    uncertain = UNCERTAIN.fullmatch(text)
    if uncertain is not None:
        return _uncertain({"value": _number(uncertain[1], expected), "error": uncertain[2]}, expected, unit)
    if expected is ValueType.TIMESTAMP and DECIMAL.fullmatch(text) is None:
        return parse_moment(text.strip())
    return coerce_value(_number(text, expected), expected, unit)


def plain(raw: object) -> object:
    """Return a NumPy scalar as a Python value, and a date with its time as a moment; anything else as it is.

    >>> plain(datetime(1970, 1, 1, 0, 0, 1)), plain(np.int32(3))
    (Moment(nanoseconds=1000000000), 3)
    """
    if isinstance(raw, datetime):
        # a moment of pandas can be none at all, which differs from itself, or finer than those of Python
        return Moment(from_datetime(raw) * 1000 + getattr(raw, "nanosecond", 0)) if raw == raw else None  # noqa: PLR0124
    if isinstance(raw, np.datetime64):
        return _moment(raw)
    if isinstance(raw, np.generic) and not isinstance(raw, np.timedelta64):
        value: object = raw.item()
        return value
    return raw


def _moment(raw: np.datetime64) -> object:
    if np.isnat(raw):
        return None
    unit, count = np.datetime_data(raw.dtype)
    if unit in _IN_NANOSECONDS:
        return Moment(int(raw.astype(np.int64)) * count * _IN_NANOSECONDS[unit])
    return raw


def kind_of_value(raw: object) -> ValueType | None:
    """The type that a value suggests, or None for no value or one that no attribute may have."""
    match plain(raw):
        case bool():
            return ValueType.BOOL
        case int():
            return ValueType.INT
        case float():
            return ValueType.FLOAT
        case str():
            return ValueType.STRING
        case Moment():
            return ValueType.TIMESTAMP
        case list() | tuple() | np.ndarray():
            return ValueType.LIST
        case {"value": int() | float() as number} if not isinstance(number, bool):
            return kind_of_value(number)
        case _:
            return None


def kind_of_text(text: str) -> ValueType:
    """The type that a cell of text suggests.

    >>> [kind_of_text(text).value for text in ("3", "3.5", "true", "A1", "<3, U(0,1)>")]
    ['int', 'double', 'bool', 'string', 'int']
    """
    if INTEGER.fullmatch(text):
        return ValueType.INT
    if DECIMAL.fullmatch(text):
        return ValueType.FLOAT
    if text.strip() in BOOL_WORDS:
        return ValueType.BOOL
    uncertain = UNCERTAIN.fullmatch(text)
    if uncertain and DECIMAL.fullmatch(uncertain[1]):
        return kind_of_text(uncertain[1])
    return ValueType.STRING


def parse_moment(text: str) -> int:
    """Read an ISO 8601 time and give its microseconds since the epoch, exactly or not at all.

    >>> parse_moment("1970-01-01T00:00:01Z")
    1000000
    """
    if _TOO_FINE.search(text):
        raise EventError.of("time", f"{shown(text)} is finer than a microsecond", hint="round times to microseconds")
    try:
        return parse_time(text)
    except (ValueError, OverflowError):
        raise EventError.of(
            "time",
            f"{shown(text)} is not a time",
            hint="write an integer in the time unit or an ISO 8601 time such as 2026-11-15T08:30:00Z; "
            "for times written otherwise there is time_format",
        ) from None


def scale_time(number: int | float, unit: TimeUnit) -> int:
    """Return a number of units as microseconds.

    >>> scale_time(10, TimeUnit.MS), scale_time(10.0, TimeUnit.S)
    (10000, 10000000)
    """
    if isinstance(number, float) and not number.is_integer():
        raise _not_whole(str(number))
    time = int(number) * unit.microseconds
    if not MIN_TIME <= time <= MAX_TIME:
        raise EventError.of(
            "time", f"the time {shown(int(number))} {unit.value} does not fit in 64 bits of microseconds"
        )
    return time


def coerce_id(raw: object) -> EventId:
    """The id of an event, an integer or a string, as JSON has it."""
    raw = plain(raw)
    if isinstance(raw, str):
        return _text(raw)
    if isinstance(raw, int) and not isinstance(raw, bool):
        return _integer(raw)
    raise EventError.of("id", f"{shown(raw)} is not an id", hint="an id is an integer or a string")


def id_of_text(text: str) -> EventId:
    """The id that a text stands for: one written as a plain integer is an integer.

    >>> id_of_text("7"), id_of_text("07"), id_of_text("Fire:1f")
    (7, '07', 'Fire:1f')
    """
    if PLAIN_INTEGER.fullmatch(text) and INT_MIN <= int(text) <= INT_MAX:
        return int(text)
    return text


def coerce_probability(number: float) -> float:
    """Return a probability, which lies between 0 and 1."""
    if not 0.0 <= number <= 1.0:
        raise not_a_probability(number)
    return number


def not_a_probability(number: float) -> EventError:
    """The error for a number that is no probability."""
    return EventError.of("probability", f"the probability {number} is not between 0 and 1")


def _is_number(raw: object) -> TypeGuard[int | float]:
    return isinstance(raw, int | float) and not isinstance(raw, bool)


def _unfit(raw: object, expected: ValueType) -> EventError:
    what = format_time(raw.nanoseconds // 1000) if isinstance(raw, Moment) else shown(raw)
    return EventError.of("type", f"{what} is not {_NAMES[expected]}")


def _uncertain(raw: Mapping[object, object], expected: ValueType, unit: TimeUnit) -> Uncertain:
    if set(raw) != {"value", "error"}:
        raise EventError.of(
            "type",
            "an attribute may not be an object",
            hint='only an uncertain number is one: {"value": 24.5, "error": "N(0,1)"}',
        )
    if not expected.is_numeric:
        raise EventError.of("type", f"an uncertain number is not {_NAMES[expected]}", hint="only numbers have an error")
    error = raw["error"]
    if isinstance(error, Iterable | int | float | None) and not isinstance(error, str):
        raise EventError.of("distribution", f"{shown(error)} is not a distribution", hint="write it as in N(0,1)")
    if isinstance(raw["value"], Mapping):
        raise EventError.of("type", "an uncertain number may not be inside another")
    value = coerce_value(raw["value"], expected, unit)
    assert isinstance(value, int | float)
    return Uncertain(value, as_distribution(error))


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise EventError.of("utf-8", f"{shown(text)} has half a surrogate pair, which is no character") from None
    return text


def _integer(number: int | float) -> int:
    if isinstance(number, float) and not number.is_integer():
        raise _unfit(_finite(number), ValueType.INT)
    if not INT_MIN <= number <= INT_MAX:
        raise EventError.of("integer", f"{shown(int(number))} does not fit in 64 bits")
    return int(number)


def _float(number: int | float) -> float:
    return float(_integer(number)) if isinstance(number, int) else _finite(number)


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise EventError.of("number", f"{shown(number)} is not a finite number")
    return number


def _number(text: str, expected: ValueType) -> int | float:
    if INTEGER.fullmatch(text):
        if len(text) > 100:
            raise EventError.of("integer", f"{shown(text.strip(), 20)} does not fit in 64 bits")
        return int(text)
    if DECIMAL.fullmatch(text) is None:
        if text.strip().lower().lstrip("+-") in ("nan", "inf", "infinity"):
            raise EventError.of("number", f"{text.strip()} is not a finite number")
        raise _unfit(text, expected)
    number = _finite(float(text))
    return number if expected is ValueType.FLOAT else _exact_integer(text, number, expected)


def _exact_integer(text: str, number: float, expected: ValueType) -> int:
    """A decimal such as 9007199254740993.0 is an integer that no float holds, so the digits decide."""
    if abs(number) >= 2.0**64:
        raise EventError.of("integer", f"{text.strip()} does not fit in 64 bits")
    try:
        exact = Decimal(text.strip())
    except InvalidOperation:  # an exponent beyond all bounds
        raise _unfit(text, expected) from None
    if exact != exact.to_integral_value():
        raise _not_whole(text.strip()) if expected is ValueType.TIMESTAMP else _unfit(text, expected)
    return int(exact)


def _not_whole(number: str) -> EventError:
    return EventError.of(
        "time",
        f"the time {number} is not a whole number of the time unit",
        hint="choose a smaller time unit, or write an ISO 8601 time",
    )


def _from_nanoseconds(nanoseconds: int) -> int:
    microseconds, rest = divmod(nanoseconds, 1000)
    if rest:
        raise EventError.of(
            "time", f"a time of {nanoseconds} ns is finer than a microsecond", hint="round times to microseconds"
        )
    if not MIN_TIME <= microseconds <= MAX_TIME:
        raise EventError.of("time", "the time does not fit in 64 bits of microseconds")
    return microseconds


def is_plain(raw: object, kind: ValueType | None) -> TypeGuard[Value]:
    """Whether this is a common case, decided quickly: it runs for every attribute of every event that is fed alone."""
    if kind is ValueType.FLOAT:
        return type(raw) is float and -math.inf < raw < math.inf
    if kind is ValueType.STRING:
        return type(raw) is str and raw.isascii()
    return kind is ValueType.INT and type(raw) is int and INT_MIN <= raw <= INT_MAX
