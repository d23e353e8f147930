"""The aggregates: one record each, and what an aggregate of values is, which every engine must meet to the last bit.

A new one is a record in ``AGGREGATES`` with its meaning and, for the engines that compile, a function in
``kernel/aggregates.py``; without it they refuse rules that ask it. Type checkers learn its name in rules written in
Python from ``language/python/aggregates.py``.

Sums are exact and rounded once at the end, so neither the order of adding nor a sliding window changes a result. A sum
that leaves the range of floats on the way is undefined.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Any

from cepheus.core.lists import distinct, value_key
from cepheus.core.sketch import estimate, value_word
from cepheus.core.values import INT_MAX, INT_MIN, Value, ValueType

_LOW_HALF = 2**32 - 1


class Takes(Enum):
    """What an aggregate is taken over, in the words of error messages."""

    EVENTS = "events"
    NUMBERS = "numbers"
    ORDERED = "numbers, strings or times"
    ANYTHING = "values of any type"


class Form(Enum):
    """The ways in which engines compute an aggregate.

    The first seven are sums that slide, extremes and ends: kernels and the calculus of uncertain values know each.
    The last three hand all members to a function in ``kernel/aggregates.py`` that has the name of the aggregate; they
    have no closed form where members are uncertain: the reference engine then draws examples.
    """

    COUNT = "the number of members"
    SUM = "an exact sum"
    AVERAGE = "an exact sum over the number of members"
    LEAST = "the least member"
    GREATEST = "the greatest member"
    FIRST = "the first member"
    LAST = "the last member"
    OVER_NUMBERS = "a function of all members as doubles"
    OVER_SERIES = "a function of all members as doubles and of their times"
    OVER_WORDS = "a function of all members as words, equal where values are equal"

    @property
    def is_sum(self) -> bool:
        """Whether it can follow a sliding window, member by member."""
        return self in (Form.COUNT, Form.SUM, Form.AVERAGE)

    @property
    def is_extreme(self) -> bool:
        """Whether it compares members; of uncertain ones it needs the law of each."""
        return self in (Form.LEAST, Form.GREATEST)

    @property
    def is_end(self) -> bool:
        """Whether it is the value of one member, chosen by its place in the stream."""
        return self in (Form.FIRST, Form.LAST)

    @property
    def is_closed(self) -> bool:
        """Whether the law of the aggregate of uncertain members has a closed form."""
        return self not in (Form.OVER_NUMBERS, Form.OVER_SERIES, Form.OVER_WORDS)


@dataclass(frozen=True, slots=True)
class Argument:
    """What an aggregate is told besides its members: a number from ``least`` to ``most``."""

    name: str
    least: float
    most: float
    example: str


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """What an aggregate is, everywhere.

    ``result`` is the type of what comes out, None for that of the members. ``meaning`` takes the values of the
    members, at least one, in the order of the stream; None is undefined. A function of a series takes also the times,
    in microseconds. ``argument`` is what a rule must say besides, as a number: ``meaning`` takes that as well.
    ``summary`` is its line in the docs. ``bounded`` tells of a function of all members that does not hold them at once,
    ``from_order`` of one that is read off the members in the order of their values, which engines keep where windows
    slide.
    """

    name: str
    takes: Takes
    result: ValueType | None
    form: Form
    meaning: Callable[..., Value | None]
    summary: str
    of_nothing: Value | None = None
    argument: Argument | None = None
    bounded: bool = False
    from_order: bool = False

    @property
    def needs_value(self) -> bool:
        """Whether a rule must say which value of the events is meant."""
        return self.takes is not Takes.EVENTS

    @property
    def holds_values(self) -> bool:
        """Whether it must hold one word for each of its members at once to find out which are equal."""
        return self.form is Form.OVER_WORDS and not self.bounded

    @property
    def goes_on(self) -> bool:
        """Whether it can be followed member by member for ever, with what is known by then in a few words."""
        return self.form.is_closed

    @property
    def is_of_values_alone(self) -> bool:
        """Whether it asks for nothing but the values of its members."""
        return self.argument is None and self.form is not Form.OVER_SERIES

    def given(self, argument: float | None) -> AggregateFunction:
        """The same with its argument, which then is part of its meaning."""
        if argument is None:
            return self
        return replace(self, meaning=partial(self.meaning, argument=argument))

    def __call__(self, values: Sequence[Any], times: Sequence[int] = ()) -> Value | None:
        """Apply it to the values of its members, given in the order of the stream; None is undefined."""
        if not values:
            return self.of_nothing
        return self.meaning(values, times) if self.form is Form.OVER_SERIES else self.meaning(values)

    def fits(self, values: Sequence[Value]) -> bool:
        """Whether it has a meaning for values whose types only the data tells."""
        if self.takes in (Takes.EVENTS, Takes.ANYTHING) or all(type(value) in (int, float) for value in values):
            return True
        return self.takes is Takes.ORDERED and {type(value) for value in values} == {str}


def aggregate(name: str, values: Sequence[Any]) -> Value | None:
    """Apply an aggregate, given by name, to the values of its members, in the order of the stream.

    None is an undefined result: Count and Sum of nothing are 0, the others of nothing are undefined.

    >>> aggregate("Avg", [1.0, 2.0, 4.5]), aggregate("Count", []), aggregate("Max", []), aggregate("Median", [5, 1, 2])
    (2.5, 0, None, 2.0)
    """
    return aggregate_named(name)(values)


def is_aggregable(name: str, values: Sequence[Value]) -> bool:
    """Whether an aggregate, given by name, has a meaning for values whose types only the data tells.

    >>> is_aggregable("Sum", [1, "a"]), is_aggregable("Max", ["a", "b"]), is_aggregable("Max", [True, True])
    (False, True, False)
    """
    return aggregate_named(name).fits(values)


def _exact_sum(numbers: Sequence[float]) -> float:
    if all(isinstance(number, int) for number in numbers):
        return sum(numbers)
    try:
        return math.fsum(part for number in numbers for part in _exact_parts(number))
    except OverflowError:
        return math.inf


def _exact_parts(number: float) -> tuple[float, ...]:
    """Numbers that floats hold and that add up to a number: an integer of 64 bits has two halves."""
    return (number & ~_LOW_HALF, number & _LOW_HALF) if isinstance(number, int) else (number,)


def _sum(numbers: Sequence[float]) -> Value | None:
    total = _exact_sum(numbers)
    if isinstance(total, int):
        return total if INT_MIN <= total <= INT_MAX else None
    return _finite(total)


def _average(numbers: Sequence[float]) -> float | None:
    return _finite(float(_exact_sum(numbers)) / len(numbers))


def _deviation(numbers: Sequence[float]) -> float | None:
    """The standard deviation of a sample; undefined for fewer than two members."""
    if len(numbers) < 2:
        return None
    mean = float(_exact_sum(numbers)) / len(numbers)
    squares = [(float(number) - mean) * (float(number) - mean) for number in numbers]
    return _finite(math.sqrt(_exact_sum(squares) / (len(numbers) - 1)))


def _median(numbers: Sequence[float]) -> float | None:
    """The one in the middle of the members as doubles, of two in the middle half their sum; zero has no sign."""
    ordered = sorted(map(float, numbers))
    upper = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[upper] + 0.0
    return _finite((ordered[upper - 1] + ordered[upper]) / 2.0 + 0.0)


def _percentile(numbers: Sequence[float], argument: float) -> float | None:
    """The value below which so many percent lie, linear between the two members next to it, as NumPy has it."""
    ordered = sorted(map(float, numbers))
    place = (len(ordered) - 1) * (argument / 100.0)
    below = math.floor(place)
    lower, upper, share = ordered[below], ordered[min(below + 1, len(ordered) - 1)], place - below
    gap = upper - lower
    return _finite((lower + gap * share if share < 0.5 else upper - gap * (1.0 - share)) + 0.0)


def _slope(numbers: Sequence[float], times: Sequence[int]) -> float | None:
    """The slope, per second, of the line nearest to all members by least squares; undefined unless times differ."""
    seconds = [(float(time) - float(times[0])) / 1e6 for time in times]
    mean_time = _exact_sum(seconds) / len(seconds)
    mean = float(_exact_sum(numbers)) / len(numbers)
    across = [second - mean_time for second in seconds]
    squares = [distance * distance for distance in across]
    products = [distance * (float(number) - mean) for distance, number in zip(across, numbers, strict=True)]
    if not all(map(math.isfinite, (*squares, *products))):
        return None
    square = _exact_sum(squares)
    return None if square == 0.0 else _finite(_exact_sum(products) / square + 0.0)


def _mode(values: Sequence[Value]) -> Value:
    """The most frequent member, of several the one that came latest; zero has no sign."""
    counts = Counter(map(value_key, values))
    most = max(counts.values())
    found = next(value for value in reversed(values) if counts[value_key(value)] == most)
    return found + 0.0 if isinstance(found, float) else found


def _distinct(values: Sequence[Value]) -> int:
    """How many members differ, as = compares them: an integer may equal a float, a bool equals no number."""
    return len(distinct(values))


def _nearly_distinct(values: Sequence[Value]) -> int:
    """How many members differ, by a sketch of them."""
    return estimate(map(value_word, values))


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


_INT, _FLOAT = ValueType.INT, ValueType.FLOAT
_AS_MEMBERS = None

AGGREGATES: dict[str, AggregateFunction] = {
    record.name.lower(): record
    for record in (
        AggregateFunction("Count", Takes.EVENTS, _INT, Form.COUNT, len, "number of events", 0),
        AggregateFunction(
            "Sum", Takes.NUMBERS, _AS_MEMBERS, Form.SUM, _sum, "exact sum, rounded once; of ints an int", 0
        ),
        AggregateFunction(
            "Avg", Takes.NUMBERS, _FLOAT, Form.AVERAGE, _average, "exact sum, rounded, divided by the number"
        ),
        AggregateFunction("Min", Takes.ORDERED, _AS_MEMBERS, Form.LEAST, min, "least value"),
        AggregateFunction("Max", Takes.ORDERED, _AS_MEMBERS, Form.GREATEST, max, "greatest value"),
        AggregateFunction(
            "Stddev",
            Takes.NUMBERS,
            _FLOAT,
            Form.OVER_NUMBERS,
            _deviation,
            "standard deviation of a sample, from two members on",
        ),
        AggregateFunction(
            "Median",
            Takes.NUMBERS,
            _FLOAT,
            Form.OVER_NUMBERS,
            _median,
            "middle value as a double; of an even number, half the sum of the two in the middle",
            from_order=True,
        ),
        AggregateFunction(
            "Percentile",
            Takes.NUMBERS,
            _FLOAT,
            Form.OVER_NUMBERS,
            _percentile,
            "value below which so many percent of the members lie, linear between the two next to it: "
            "`Percentile(Temp().value within 5 min from A, 95)`",
            argument=Argument("percent", 0.0, 100.0, "95"),
            from_order=True,
        ),
        AggregateFunction(
            "Slope",
            Takes.NUMBERS,
            _FLOAT,
            Form.OVER_SERIES,
            _slope,
            "change per second: slope of the line nearest to the members by least squares, from two times on",
        ),
        AggregateFunction(
            "Mode",
            Takes.ANYTHING,
            _AS_MEMBERS,
            Form.OVER_WORDS,
            _mode,
            "most frequent value; of several, the one that came latest",
            from_order=True,
        ),
        AggregateFunction(
            "CountDistinct",
            Takes.ANYTHING,
            _INT,
            Form.OVER_WORDS,
            _distinct,
            "number of values that differ",
            from_order=True,
        ),
        AggregateFunction(
            "ApproximateCountDistinct",
            Takes.ANYTHING,
            _INT,
            Form.OVER_WORDS,
            _nearly_distinct,
            "number of values that differ, within some percent (HyperLogLog) and in four kilobytes; written "
            "`CountDistinct(Login().user within 1 day from A, approximate)`",
            bounded=True,
        ),
        AggregateFunction(
            "First", Takes.ANYTHING, _AS_MEMBERS, Form.FIRST, lambda values: values[0], "value of the earliest event"
        ),
        AggregateFunction(
            "Last", Takes.ANYTHING, _AS_MEMBERS, Form.LAST, lambda values: values[-1], "value of the latest event"
        ),
    )
}
"""All aggregates by their names in lower case: rules may write them in any case."""


APPROXIMATIONS = {"CountDistinct": "ApproximateCountDistinct"}
"""Aggregates that rules write as ``approximate`` ones of others."""


def approximation_of(name: str) -> str | None:
    """The name of the aggregate that is nearly the same as another and takes less memory; None if there is none.

    >>> approximation_of("CountDistinct"), approximation_of("Sum")
    ('ApproximateCountDistinct', None)
    """
    return APPROXIMATIONS.get(name)


def exact_form(name: str) -> str:
    """The name by which rules write an aggregate: that of the exact one, where it is approximate.

    >>> exact_form("ApproximateCountDistinct"), exact_form("Sum")
    ('CountDistinct', 'Sum')
    """
    return next((exact for exact, nearly in APPROXIMATIONS.items() if nearly == name), name)


def aggregate_named(name: str) -> AggregateFunction:
    """Look up an aggregate by its name, in any case."""
    return AGGREGATES[name.lower()]


def aggregate_names() -> list[str]:
    """The names of all aggregates, as rules are printed with them."""
    return [record.name for record in AGGREGATES.values()]


def names_of_any_type() -> str:
    """The names of the aggregates that take values of any type, as a list in words."""
    able = [record.name for record in AGGREGATES.values() if record.takes in (Takes.EVENTS, Takes.ANYTHING)]
    names = [name for name in able if name not in APPROXIMATIONS.values()]
    return f"{', '.join(names[:-1])} and {names[-1]}"
