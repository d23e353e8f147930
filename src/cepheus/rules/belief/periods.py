"""Periods that come round, or that come once: when a scheduled table of a network holds. All times are UTC."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum

from cepheus.core.time import DAY, HOUR, MAX_TIME, MIN_TIME, MINUTE, SECOND, WEEK, format_time, parse_time

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_LONGEST_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_WEEKDAY = 3  # 1 January 1970 was a Thursday
_CLOCK = r"(\d{2}):(\d{2})(?::(\d{2}))?"
_OF_DAY = re.compile(_CLOCK)
_OF_WEEK = re.compile(rf"({'|'.join(_DAYS)})[a-z]*(?:\s+{_CLOCK})?", re.IGNORECASE)
_OF_YEAR = re.compile(rf"(\d{{2}})-(\d{{2}})(?:\s+{_CLOCK})?")


class Cycle(Enum):
    """How often a period comes."""

    DAY = "every day"
    WEEK = "every week"
    YEAR = "every year"
    ONCE = "once"


@dataclass(frozen=True, slots=True)
class Period:
    """From a moment, included, to another, not included; a period that comes round may reach over its cycle's end.

    Moments are microseconds from the start of the day, of the week (Monday) or of the epoch. In a year they are
    ``month * 32 + day`` days and the time of that day, so that they do not depend on leap years.

    >>> rush_hour = read_period("07:00", "09:30")
    >>> rush_hour.cycle.value, contains(rush_hour, 8 * HOUR), next_change(rush_hour, 8 * HOUR) == 9 * HOUR + 30 * MINUTE
    ('every day', True, True)
    """

    cycle: Cycle
    start: int
    end: int


def read_period(start: str, end: str) -> Period:
    """Read the two ends of a period; ValueError with what is wrong in words.

    ``07:00`` comes every day, ``Mon`` and ``Mon 07:00`` every week, ``12-01`` every year, and an ISO 8601 time once.
    """
    (cycle, first), (other, last) = _moment(start), _moment(end)
    if cycle is not other:
        raise ValueError(f"'{start}' comes {cycle.value}, but '{end}' {other.value}")
    if first == last or (cycle is Cycle.ONCE and first > last):
        raise ValueError(f"no time lies between '{start}' and '{end}'")
    return Period(cycle, first, last)


def format_period(period: Period) -> tuple[str, str]:
    """Write the two ends of a period.

    >>> format_period(read_period("monday", "Fri 18:00")), format_period(read_period("12-01", "03-01"))
    (('Mon', 'Fri 18:00'), ('12-01', '03-01'))
    """
    return _written(period.cycle, period.start), _written(period.cycle, period.end)


def contains(period: Period, time: int) -> bool:
    """Whether a time (microseconds since the epoch) lies in a period."""
    place = _place(period.cycle, time)
    if place is None:
        return False
    if period.start < period.end:
        return period.start <= place < period.end
    return place >= period.start or place < period.end


def next_change(period: Period, time: int) -> int | None:
    """The first time after the given one at which the period begins or ends, if there is one."""
    found = [moment for end in (period.start, period.end) if (moment := _next(period.cycle, end, time)) is not None]
    return min(found, default=None)


def _moment(text: str) -> tuple[Cycle, int]:
    stripped = text.strip()
    if match := _OF_DAY.fullmatch(stripped):
        return Cycle.DAY, _clock(match.groups(), text)
    if match := _OF_WEEK.fullmatch(stripped):
        day = _DAYS.index(match[1].capitalize())
        return Cycle.WEEK, day * DAY + _clock(match.groups()[1:], text)
    if match := _OF_YEAR.fullmatch(stripped):
        month, day = int(match[1]), int(match[2])
        if not (1 <= month <= 12 and 1 <= day <= _LONGEST_MONTHS[month - 1]):
            raise ValueError(f"'{text}' is not a day of the year")
        return Cycle.YEAR, (month * 32 + day) * DAY + _clock(match.groups()[2:], text)
    try:
        return Cycle.ONCE, parse_time(stripped)
    except (ValueError, OverflowError):
        raise ValueError(f"'{text}' is not a moment") from None


def _clock(groups: tuple[str | None, ...], text: str) -> int:
    hour, minute, second = (int(group or 0) for group in groups)
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"'{text}' is not a time of day")
    return hour * HOUR + minute * MINUTE + second * SECOND


def _written(cycle: Cycle, moment: int) -> str:
    if cycle is Cycle.ONCE:
        return format_time(moment)
    days, clock = divmod(moment, DAY)
    hour, minute, second = clock // HOUR, clock % HOUR // MINUTE, clock % MINUTE // SECOND
    written = f"{hour:02}:{minute:02}" + (f":{second:02}" if second else "")
    if cycle is Cycle.DAY:
        return written
    day = _DAYS[days] if cycle is Cycle.WEEK else f"{days // 32:02}-{days % 32:02}"
    return f"{day} {written}" if clock else day


def _place(cycle: Cycle, time: int) -> int | None:
    """The moment of a time in a cycle; None where the calendar does not reach."""
    match cycle:
        case Cycle.DAY:
            return time % DAY
        case Cycle.WEEK:
            return (time + _EPOCH_WEEKDAY * DAY) % WEEK
        case Cycle.ONCE:
            return time
        case Cycle.YEAR:
            date = _date(time)
            return None if date is None else (date.month * 32 + date.day) * DAY + time % DAY


def _next(cycle: Cycle, moment: int, time: int) -> int | None:
    match cycle:
        case Cycle.ONCE:
            return moment if moment > time else None
        case Cycle.YEAR:
            return _next_in_year(moment, time)
        case _:
            place = _place(cycle, time)
            assert place is not None
            wait = (moment - place) % (DAY if cycle is Cycle.DAY else WEEK)
            found = time + (wait or (DAY if cycle is Cycle.DAY else WEEK))
            return found if found <= MAX_TIME else None


def _next_in_year(moment: int, time: int) -> int | None:
    date = _date(time)
    if date is None:
        return None
    days, clock = divmod(moment, DAY)
    for year in range(date.year, min(date.year + 2, datetime.max.year + 1)):
        first = (datetime(year, days // 32, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
        found = first + (days % 32 - 1) * DAY + clock
        if days == 2 * 32 + 29 and not _is_leap(year):
            found -= clock  # there is no such day: what begins or ends on it does so when March begins
        if found > time:
            return found
    return None


def _is_leap(year: int) -> bool:
    return (year % 4 == 0 and year % 100 != 0) or year % 400 == 0


def _date(time: int) -> datetime | None:
    if not MIN_TIME <= time <= MAX_TIME:
        return None
    try:
        return _EPOCH + timedelta(microseconds=time)
    except OverflowError:
        return None
