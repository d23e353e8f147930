"""Time: an integer of microseconds since the epoch, durations in the same unit; whether times make sense in a unit."""

from __future__ import annotations

import re
import sys
import warnings
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cepheus.core.errors import CepheusWarning, Diagnostic, OptionError, Place, Severity

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
    return from_datetime(datetime.fromisoformat(text))


def from_datetime(moment: datetime) -> int:
    """Convert a moment to microseconds since the epoch; without a zone it is in UTC."""
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
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


EARLY = 60 * DAY
"""The beginning of 1970: seconds and milliseconds since then lie here, taken for microseconds, until the year 2130."""

FIRST, LAST = -30_610_224_000 * SECOND, 7_258_118_400 * SECOND
"""The years 1000 and 2200: no events are looked for before and after."""

_YEAR = 365.2425 * DAY
_PACKAGE = str(Path(__file__).parents[1])


@dataclass(slots=True)
class TimeCheck:
    """Looks at the first times of a run that are mere numbers, and says once if they make no sense in their unit.

    ``given`` says that the unit was asked for: then times at the beginning of 1970 are believed. It is said as a
    CepheusWarning or, if ``strict``, as an OptionError. ``looked`` tells whether there were any such times yet.

    >>> check = TimeCheck(TimeUnit.US, given=False, strict=True)
    >>> check.look(np.array([1_767_225_600, 1_767_312_000]))
    Traceback (most recent call last):
    ...
    cepheus.core.errors.OptionError: error[time-unit]: the times are numbers without a unit: taken for microseconds...
      hint: they look like seconds since 1970: time_unit='s'
    """

    unit: TimeUnit
    given: bool
    strict: bool = False
    looked: bool = False
    told: bool = field(default=False, repr=False)

    @classmethod
    def of(cls, unit: TimeUnit | None, *, strict: bool = False) -> TimeCheck:
        """Make the check of a run; without a unit times are in microseconds."""
        return cls(unit or TimeUnit.US, unit is not None, strict)

    def look(self, times: NDArray[np.int64], place: Place | None = None) -> None:
        """Look at times, in microseconds, that were numbers in the unit."""
        if not len(times):
            return
        self.looked = True
        finding = self.finding(int(times.min()), int(times.max()))
        if finding is not None and self.strict:
            raise OptionError([replace(finding, place=place)])
        if finding is not None and not self.told:
            self.told = True
            warn(replace(finding, place=place, severity=Severity.WARNING))

    def finding(self, first: int, last: int) -> Diagnostic | None:
        """Say what is strange about times between two, None if nothing is."""
        if not self.given and first > -EARLY and last < EARLY:
            span = format_time(first) if first == last else f"{format_time(first)} to {format_time(last)}"
            message = f"the times are numbers without a unit: taken for microseconds they are {span}"
            return Diagnostic("time-unit", message, hint=self._guess(first, last))
        if first > LAST or last < FIRST:
            year = 1970 + int((first if first > LAST else last) / _YEAR)
            message = f"the times are in the year {year}, taken for {_WORDS[self.unit]}"
            return Diagnostic("time-unit", message, hint=self._guess(first, last))
        return None

    def _guess(self, first: int, last: int) -> str:
        """Say which unit the numbers look like."""
        scale = self.unit.microseconds
        for unit in TimeUnit:
            if all(EARLY <= time // scale * unit.microseconds <= LAST for time in (first, last)):
                return f"they look like {_WORDS[unit]} since 1970: time_unit='{unit.value}'"
        if all(EARLY <= time // scale // 1000 <= LAST for time in (first, last)):
            return "they look like nanoseconds since 1970, which is no unit here: divide them by 1000"
        return "say which unit they are in: time_unit='s', or ms or us"


def warn(finding: Diagnostic) -> None:
    """Issue a Python warning that points to the code which called this library."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(CepheusWarning(finding), stacklevel=level)


_WORDS = {TimeUnit.US: "microseconds", TimeUnit.MS: "milliseconds", TimeUnit.S: "seconds"}
