"""A rule that is being learned: plain data, and the rows of bindings that fit it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cepheus.learning.bindings import Bindings, joined, spread
from cepheus.learning.history import Column, Floats, History, Ints, Truths
from cepheus.learning.traces import TERMINATOR, Traces


@dataclass(frozen=True, slots=True)
class Bound:
    """``attribute operator value``: an attribute and a constant. A text is its code; operators are ``> < =``.

    ``margin`` are the values of the nearest traces on either side: any constant between them does the same.
    """

    attribute: str
    operator: str
    value: float
    margin: tuple[float, float] = (np.nan, np.nan)

    def holds(self, values: Floats) -> Truths:
        """Which values fit."""
        return _compared(values, self.operator, self.value)


@dataclass(frozen=True, slots=True)
class Link:
    """An attribute and an attribute of another place: equal (``=``), no further apart than ``value`` (``near``),
    greater or less by more than ``value`` (``>``, ``<``).
    """

    attribute: str
    operator: str
    place: str
    other: str
    value: float = 0.0
    margin: tuple[float, float] = (np.nan, np.nan)

    def holds(self, values: Floats, others: Floats) -> Truths:
        """Which pairs of values fit."""
        if self.operator == "=":
            return np.asarray(values == others)
        if self.operator == "near":
            return np.asarray(np.abs(values - others) < self.value)
        return _compared(values - others, self.operator, self.value)


Condition = Bound | Link


def _compared(values: Floats, operator: str, value: float) -> Truths:
    if operator == ">":
        return np.asarray(values > value)
    return np.asarray(values < value) if operator == "<" else np.asarray(values == value)


@dataclass(frozen=True, slots=True)
class Place:
    """An event that must have happened up to ``within`` microseconds before that of another place."""

    name: str
    type: str
    within: int
    reference: str = TERMINATOR
    conditions: tuple[Condition, ...] = ()
    margin: tuple[float, float] = (np.nan, np.nan)


@dataclass(frozen=True, slots=True)
class Absence:
    """An event that must not have happened."""

    type: str
    within: int
    reference: str = TERMINATOR
    conditions: tuple[Condition, ...] = ()
    margin: tuple[float, float] = (np.nan, np.nan)


@dataclass(frozen=True, slots=True)
class Summary:
    """An aggregate over events of a window, and what it is compared with; ``attribute`` is None for a count."""

    function: str
    type: str
    attribute: str | None
    within: int
    operator: str
    value: float
    reference: str = TERMINATOR
    conditions: tuple[Condition, ...] = ()
    margin: tuple[float, float] = (np.nan, np.nan)


Part = Place | Absence | Summary


@dataclass(frozen=True, slots=True)
class Draft:
    """A terminator with its conditions and what hangs from it, in the order in which it was learned."""

    terminator: str
    conditions: tuple[Condition, ...] = ()
    parts: tuple[Part, ...] = ()

    @property
    def places(self) -> tuple[Place, ...]:
        """The events that must have happened."""
        return tuple(part for part in self.parts if isinstance(part, Place))

    @property
    def size(self) -> int:
        """How complex it is: conditions, and parts, of which aggregates are the hardest to grasp."""
        weights = {Place: 1, Absence: 2, Summary: 3}
        return len(self.conditions) + sum(weights[type(part)] + len(part.conditions) for part in self.parts)

    def type_of(self, place: str) -> str:
        """The type of the event at a place."""
        if place == TERMINATOR:
            return self.terminator
        return next(part.type for part in self.places if part.name == place)

    def conditions_of(self, place: str) -> tuple[Condition, ...]:
        """The conditions on the event at a place."""
        if place == TERMINATOR:
            return self.conditions
        return next(part.conditions for part in self.places if part.name == place)

    def with_condition(self, place: str, condition: Condition) -> Draft:
        """The same with one more condition on the event at a place."""
        if place == TERMINATOR:
            return replace(self, conditions=(*self.conditions, condition))
        return self.changed(place, lambda part: replace(part, conditions=(*part.conditions, condition)))

    def changed(self, place: str, change: Callable[[Place], Place]) -> Draft:
        """The same with another part for a place."""
        parts = (change(part) if isinstance(part, Place) and part.name == place else part for part in self.parts)
        return replace(self, parts=tuple(parts))

    def with_part(self, part: Part) -> Draft:
        """The same with one more part."""
        return replace(self, parts=(*self.parts, part))


# ---- What fits ------------------------------------------------------------------------------------------


def column_at(history: History, draft: Draft, bindings: Bindings, place: str, attribute: str) -> Floats:
    """The values of an attribute of the event at a place, row by row."""
    column: Column = history.types[draft.type_of(place)].columns[attribute]
    return column.values[bindings.events[place]]


def times_at(history: History, draft: Draft, bindings: Bindings, place: str) -> Ints:
    """The times of the event at a place, row by row."""
    return history.types[draft.type_of(place)].times[bindings.events[place]]


def holds(history: History, draft: Draft, bindings: Bindings, place: str, condition: Condition) -> Truths:
    """The rows in which the event at a place fits a condition."""
    values = column_at(history, draft, bindings, place, condition.attribute)
    if isinstance(condition, Bound):
        return condition.holds(values)
    return condition.holds(values, column_at(history, draft, bindings, condition.place, condition.other))


def bind(draft: Draft, traces: Traces) -> Bindings:
    """All the ways in which a draft matches traces."""
    history, bindings = traces.history, traces.ends
    bare = replace(draft, parts=draft.places)
    for condition in draft.conditions:
        if isinstance(condition, Bound):
            bindings = bindings.where(holds(history, bare, bindings, TERMINATOR, condition))
    for part in (*draft.places, *(each for each in draft.parts if not isinstance(each, Place))):
        bindings = with_part(history, draft, bindings, part)
    for condition in draft.conditions:
        if isinstance(condition, Link):
            bindings = bindings.where(holds(history, bare, bindings, TERMINATOR, condition))
    return bindings


def with_part(history: History, draft: Draft, bindings: Bindings, part: Part) -> Bindings:
    """The rows that go on fitting when a part is added."""
    times = times_at(history, draft, bindings, part.reference)
    if isinstance(part, Place):
        whole = draft if part in draft.parts else draft.with_part(part)
        bindings = joined(bindings, part.name, history.types[part.type], times, part.within)
        for condition in part.conditions:
            bindings = bindings.where(holds(history, whole, bindings, part.name, condition))
        return bindings
    if isinstance(part, Absence):
        owner, _ = members(history, draft, bindings, part)
        free = np.ones(len(bindings), np.bool_)
        free[owner] = False
        return bindings.where(free)
    value = summed(history, draft, bindings, part)
    return bindings.where(_compared(value, part.operator, part.value))


def members(history: History, draft: Draft, bindings: Bindings, part: Absence | Summary) -> tuple[Ints, Ints]:
    """The events that a negation or an aggregate looks at: the row that each is for, and the number of the event."""
    events = history.types[part.type]
    times = times_at(history, draft, bindings, part.reference)
    last = np.searchsorted(events.times, times, side="left")
    first = np.searchsorted(events.times, times - part.within, side="left")
    owner, numbers = spread(first, last)
    for condition in part.conditions:
        values = events.columns[condition.attribute].values[numbers]
        if isinstance(condition, Bound):
            fits = condition.holds(values)
        else:
            other = column_at(history, draft, bindings, condition.place, condition.other)
            fits = condition.holds(values, other[owner])
        owner, numbers = owner[fits], numbers[fits]
    return owner, numbers


def summed(history: History, draft: Draft, bindings: Bindings, part: Summary) -> Floats:
    """The value of an aggregate, row by row; NaN where it is undefined."""
    owner, numbers = members(history, draft, bindings, part)
    if part.attribute is None:
        return np.bincount(owner, minlength=len(bindings)).astype(np.float64)
    values = history.types[part.type].columns[part.attribute].values[numbers]
    return aggregated(part.function, owner, values, len(bindings))


def aggregated(function: str, owner: Ints, values: Floats, rows: int) -> Floats:
    """An aggregate of the values of each row.

    >>> aggregated("Avg", np.array([0, 0, 2]), np.array([1.0, 3.0, 5.0]), 3).tolist()
    [2.0, nan, 5.0]
    """
    known = ~np.isnan(values)
    owner, values = owner[known], values[known]
    counts = np.bincount(owner, minlength=rows).astype(np.float64)
    if function == "Count":
        return counts
    if function in ("Sum", "Avg"):
        sums = np.bincount(owner, values, minlength=rows)
        if function == "Sum":
            return sums.astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(sums / counts)
    made = np.full(rows, -np.inf if function == "Max" else np.inf)
    (np.maximum if function == "Max" else np.minimum).at(made, owner, values)
    return np.where(counts > 0, made, np.nan)


def attributes_of(history: History, event_type: str) -> Sequence[Column]:
    """The attributes of a type that say anything: those with one value for all events do not."""
    return [column for column in history.types[event_type].columns.values() if column.tells]
