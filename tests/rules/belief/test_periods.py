"""Periods that come round, against the calendar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from cepheus.core.time import DAY, HOUR, MAX_TIME, MIN_TIME, MINUTE, WEEK, parse_time
from cepheus.rules.belief.periods import Cycle, Period, contains, format_period, next_change, read_period

WITHIN_CALENDAR = st.integers(-60_000_000_000_000_000, 250_000_000_000_000_000)
of_day = st.builds("{:02}:{:02}".format, st.integers(0, 23), st.integers(0, 59))
of_week = st.sampled_from(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]) | st.builds(
    "{} {}".format, st.sampled_from(["Mon", "sunday", "WED"]), of_day
)
of_year = st.dates(datetime(2000, 1, 1).date(), datetime(2000, 12, 31).date()).map(lambda day: f"{day:%m-%d}")
once = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)).map(lambda time: time.isoformat() + "Z")


@st.composite
def periods(draw: st.DrawFn) -> Period:
    """Draw a period of any cycle."""
    moments = draw(st.sampled_from([of_day, of_week, of_year, once]))
    start, end = draw(moments), draw(moments)
    try:
        return read_period(start, end)
    except ValueError:
        reject()


@given(periods())
def test_what_is_written_is_read_again(period: Period) -> None:
    assert read_period(*format_period(period)) == period


@given(periods(), WITHIN_CALENDAR)
def test_nothing_changes_before_the_next_change_and_something_does_then(period: Period, time: int) -> None:
    change = next_change(period, time)
    if change is None:
        assert period.cycle is Cycle.ONCE
        assert time >= period.end
        return
    assert change > time
    inside = contains(period, time)
    for share in (1, 2, 3):
        assert contains(period, time + (change - 1 - time) * share // 3) == inside
    if period.cycle is not Cycle.YEAR:
        assert contains(period, change) != inside


@given(st.datetimes(datetime(1, 1, 1), datetime(9998, 1, 1)), of_year)
def test_a_day_of_the_year_begins_when_the_calendar_says(time: datetime, day: str) -> None:
    moment = time.replace(tzinfo=UTC)
    change = next_change(read_period(day, "01-01" if day != "01-01" else "01-02"), _microseconds(moment))
    assert change is not None
    assert change <= _microseconds(moment + timedelta(days=367))


def _microseconds(time: datetime) -> int:
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def test_periods_reach_over_the_end_of_their_cycle() -> None:
    night, weekend, winter = read_period("22:00", "06:00"), read_period("Sat", "Mon"), read_period("12-01", "03-01")
    assert [contains(night, hour * HOUR) for hour in (21, 22, 23, 0, 5, 6)] == [False, True, True, True, True, False]
    saturday = parse_time("2026-11-14T00:00:00Z")
    assert [contains(weekend, saturday + shift) for shift in (-1, 0, 2 * DAY - 1, 2 * DAY)] == [
        False,
        True,
        True,
        False,
    ]
    assert contains(winter, parse_time("2028-02-29T12:00:00Z"))
    assert next_change(winter, parse_time("2028-02-28T00:00:00Z")) == parse_time("2028-03-01T00:00:00Z")
    assert next_change(night, 23 * HOUR) == DAY + 6 * HOUR
    assert next_change(weekend, saturday) == saturday + 2 * DAY


def test_a_day_that_a_year_lacks_begins_with_the_next_one() -> None:
    leap = read_period("02-29 06:00", "03-01 06:00")
    assert next_change(leap, parse_time("2027-02-01T00:00:00Z")) == parse_time("2027-03-01T00:00:00Z")
    assert contains(leap, parse_time("2027-03-01T00:00:00Z"))
    assert next_change(leap, parse_time("2028-02-01T00:00:00Z")) == parse_time("2028-02-29T06:00:00Z")


def test_beyond_the_calendar_nothing_breaks() -> None:
    for text in (("07:00", "08:00"), ("Mon", "Tue"), ("12-01", "03-01"), ("2026-01-01", "2027-01-01")):
        period = read_period(*text)
        for time in (MIN_TIME, MAX_TIME, MAX_TIME - 3 * MINUTE):
            assert contains(period, time) in (True, False)
            change = next_change(period, time)
            assert change is None or time < change <= MAX_TIME
    assert next_change(read_period("Mon", "Tue"), MAX_TIME - WEEK // 50) is None


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("07:00", "07:00"),
        ("07:00", "Mon"),
        ("25:00", "07:00"),
        ("07:60", "08:00"),
        ("13-01", "01-01"),
        ("02-30", "03-01"),
        ("noon", "night"),
        ("2027-01-01", "2026-01-01"),
        ("", "07:00"),
    ],
)
def test_what_is_no_period_is_refused(start: str, end: str) -> None:
    with pytest.raises(ValueError, match=r"'|no time"):
        read_period(start, end)
