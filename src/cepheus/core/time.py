"""Time: an integer of microseconds since the epoch, and durations in the same unit."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from enum import Enum
from fractions import Fraction

from cepheus.core.errors import OptionError

MICROSECOND = 1
MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY

MIN_TIME = -(2**63)
MAX_TIME = 2**63 - 1

UNITS: dict[str, int] = {
    "us": MICROSECOND,
    "microsecond": MICROSECOND,
    "microseconds": MICROSECOND,
    "ms": MILLISECOND,
    "msec": MILLISECOND,
    "millisecond": MILLISECOND,
    "milliseconds": MILLISECOND,
    "s": SECOND,
    "sec": SECOND,
    "secs": SECOND,
    "second": SECOND,
    "seconds": SECOND,
    "m": MINUTE,
    "min": MINUTE,
    "mins": MINUTE,
    "minute": MINUTE,
    "minutes": MINUTE,
    "h": HOUR,
    "hour": HOUR,
    "hours": HOUR,
    "d": DAY,
    "day": DAY,
    "days": DAY,
    "week": WEEK,
    "weeks": WEEK,
}
"""Names of the units that a duration may be written in, with their length in microseconds."""

_PRINTED = (("week", WEEK), ("day", DAY), ("h", HOUR), ("min", MINUTE), ("s", SECOND), ("ms", MILLISECOND), ("us", 1))
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\.?\s*")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TimeUnit(Enum):
    """The unit of integer times in input and output."""

    US = "us"
    MS = "ms"
    S = "s"

    @property
    def microseconds(self) -> int:
        """Length of the unit in microseconds."""
        return UNITS[self.value]


def parse_duration(text: str) -> int:
    """Read a duration such as ``5 min`` and give its microseconds.

    >>> parse_duration("1.5 s")
    1500000
    """
    match = _DURATION.fullmatch(text)
    unit = UNITS.get(match[2].lower()) if match else None
    if match is None or unit is None:
        raise OptionError.of(
            "duration", f"'{text}' is not a duration", hint="write a number and a unit, such as 10s, 500 ms or 5 min"
        )
    return duration_of(match[1], unit)


def duration_of(number: str, unit: int) -> int:
    """The microseconds of a decimal number of units, exactly or not at all.

    >>> duration_of("0.5", MILLISECOND)
    500
    """
    exact = Fraction(number) * unit
    if exact.denominator != 1:
        raise OptionError.of("duration", f"{number} is not a whole number of microseconds in that unit")
    if exact > MAX_TIME:
        raise OptionError.of("duration", f"{number} is longer than time itself: at most 2^63-1 microseconds")
    return int(exact)


def format_duration(microseconds: int) -> str:
    """Write a duration with the largest unit that divides it.

    >>> format_duration(300_000_000), format_duration(1_500_000), format_duration(0)
    ('5 min', '1500 ms', '0 s')
    """
    if microseconds == 0:
        return "0 s"
    for name, length in _PRINTED:
        if microseconds % length == 0:
            return f"{microseconds // length} {name}"
    raise AssertionError("a whole number of microseconds divides by one")


def parse_time(text: str) -> int:
    """Read an ISO 8601 time and give its microseconds since the epoch; a time without a zone is UTC.

    >>> parse_time("1970-01-01T00:00:01.5Z")
    1500000
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)


def format_time(microseconds: int) -> str:
    """Write a time as ISO 8601 in UTC, or as a number where the calendar does not reach.

    >>> format_time(1_500_000)
    '1970-01-01T00:00:01.500000Z'
    """
    try:
        moment = _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return f"{microseconds} us"
    return moment.replace(tzinfo=None).isoformat() + "Z"
