"""A draft with what it matches and what it is worth, and what all learners share: the task, cuts and their worth."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from cepheus.learning.bindings import Bindings, extremes
from cepheus.learning.drafts import Bound, Condition, Draft, attributes_of
from cepheus.learning.hints import Hints
from cepheus.learning.history import Column, Floats, History, Truths
from cepheus.learning.terminators import is_category
from cepheus.learning.traces import TERMINATOR, Traces

FLOOR = 0.02
"""False alarms below this share of what is found weigh little: recall counts more then."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be learned from: traces, hints, how far to look back (microseconds), what losing an occurrence costs.

    ``wanted`` are the traces that count: where other rules have explained some, the others. With an ``alarm_cost``,
    that of a false alarm where a miss costs 1, rules are judged by that instead of F1.
    """

    traces: Traces
    hints: Hints
    horizon: int
    care: float
    wanted: Truths
    penalty: float = 0.002
    alarm_cost: float | None = None

    @property
    def history(self) -> History:
        """The events."""
        return self.traces.history

    @property
    def all_wanted(self) -> float:
        """How many occurrences are to be found."""
        weight = self.traces.weight
        return float(self.traces.all_positive - weight[self.traces.positive & ~self.wanted].sum())

    def counts(self, traces: Iterable[int] | np.ndarray[tuple[int], np.dtype[np.int64]]) -> tuple[float, float]:
        """How many occurrences and how many false alarms found traces are."""
        found = np.asarray(traces, np.int64)
        weight, positive = self.traces.weight[found], self.traces.positive[found]
        return float(weight[positive & self.wanted[found]].sum()), float(weight[~positive].sum())

    def worth(self, found: Floats, alarms: Floats) -> Floats:
        """What finding so many occurrences with so many false alarms is worth to the search: losses are dear, alarms
        count by their logarithm, as further parts may still remove them.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = self.care * np.log(found / max(self.all_wanted, 1.0)) - np.log(alarms / found + FLOOR)
        return np.where(found > 0, worth, -np.inf)

    def final(self, found: Floats, alarms: Floats) -> Floats:
        """What finding so many occurrences with so many false alarms is worth in the end, at most 1."""
        if self.alarm_cost is None:
            return np.asarray(2 * found / (found + alarms + max(self.all_wanted, 1e-9)))
        return np.asarray((found - self.alarm_cost * alarms) / max(self.all_wanted, 1e-9))

    def worth_of(self, bindings: Bindings, mask: Truths) -> float:
        """What is left is worth, if only some rows are kept."""
        kept = bindings.trace[mask]
        if not len(kept):
            return -np.inf
        traces = kept[np.concatenate([[True], kept[1:] != kept[:-1]])]
        found, alarms = self.counts(traces)
        return float(self.worth(np.array([found]), np.array([alarms]))[0])

    def may_be_constant(self, event_type: str, column: Column) -> bool:
        """Whether an attribute may be compared with a constant: keys may not."""
        if column.name in self.hints.keys:
            return False
        is_key = event_type == self.traces.ending.type and any(column.name == own for _, own in self.traces.ending.keys)
        return not (is_category(column) and (is_key or column.name in self._key_names))

    @property
    def _key_names(self) -> frozenset[str]:
        return frozenset(name for pair in self.traces.ending.keys for name in pair)

    def constants(self, event_type: str) -> list[Column]:
        """The attributes of a type that may be compared with constants."""
        return [
            column for column in attributes_of(self.history, event_type) if self.may_be_constant(event_type, column)
        ]


@dataclass(frozen=True, slots=True)
class State:
    """A draft, what it matches, how many occurrences it finds, how many false alarms it gives, and its worth."""

    draft: Draft
    bindings: Bindings
    found: float
    alarms: float
    worth: float
    by: str = field(default="", compare=False)

    @classmethod
    def of(cls, task: Task, draft: Draft, bindings: Bindings, by: str = "") -> State:
        """Count what a draft finds."""
        found, alarms = task.counts(bindings.traces)
        worth = float(task.worth(np.array([found]), np.array([alarms]))[0])
        return cls(draft, bindings, found, alarms, worth, by)

    def f1(self, task: Task) -> float:
        """The harmonic mean of precision and recall, as far as the traces tell."""
        return 2 * self.found / (self.found + self.alarms + task.all_wanted) if self.found else 0.0


@dataclass(frozen=True, slots=True)
class Proposal:
    """Something to try: what it is worth, which learner proposes it, and how the state with it is made.

    The state is made only if the proposal is taken up: most are not.
    """

    worth: float
    by: str
    make: Callable[[], State]


class Learner(Protocol):
    """One aspect of rules. ``propose`` is given a state and returns proposals, each with one more thing of this aspect;
    it may be called alone, in any order, and never changes what it is given.
    """

    @property
    def name(self) -> str:
        """What it learns."""

    def propose(self, state: State, task: Task) -> Iterable[Proposal]:
        """What to try."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A threshold: rows with values above (or below) it are kept. Any number between the margins does the same."""

    above: bool
    inner: float
    outer: float
    worth: float


def cuts(task: Task, bindings: Bindings, values: Floats, *, above: bool, final: bool = False) -> list[Cut]:
    """The best thresholds for a value of the rows: with the least loss, and with the greatest worth.

    All thresholds are tried at once: a trace is kept as long as its extreme value is.
    """
    if not len(bindings):
        return []
    extreme = extremes(bindings, values, highest=above)
    traces = bindings.traces
    weight = task.traces.weight[traces]
    positive = task.traces.positive[traces]
    order = np.argsort(-extreme if above else extreme, kind="stable")
    best_first = extreme[order]
    found = np.cumsum(np.where(positive & task.wanted[traces], weight, 0.0)[order])
    alarms = np.cumsum(np.where(positive, 0.0, weight)[order])
    last_of_value = np.append(best_first[1:] != best_first[:-1], False) & np.isfinite(best_first)
    places = np.flatnonzero(last_of_value)
    if not len(places):
        return []
    judge = task.final if final else task.worth
    worth = judge(found[places], alarms[places])
    chosen = {int(np.argmax(worth))}
    if not final:  # and what removes most alarms without losing anything
        kept = np.flatnonzero(found[places] >= found[-1] - 1e-9)
        if len(kept):
            chosen.add(int(kept[0]))
    return [
        Cut(above, float(best_first[places[each]]), float(best_first[places[each] + 1]), float(worth[each]))
        for each in sorted(chosen)
        if np.isfinite(worth[each])
    ]


def settled(cut: Cut, *, whole: bool) -> float:
    """The constant for a cut: the roundest number that does the same.

    >>> settled(Cut(True, 45.3, 44.6, 0.0), whole=False), settled(Cut(True, 7.0, 6.0, 0.0), whole=True)
    (45.0, 6.0)
    """
    if not np.isfinite(cut.outer):
        return cut.inner - 1 if cut.above else cut.inner + 1
    low, high = sorted((cut.inner, cut.outer))
    return roundest(low, high, whole=whole, low_included=cut.above)


def roundest(low: float, high: float, *, whole: bool, low_included: bool) -> float:
    """The number with the fewest digits between two others, near their middle; one of the two ends is included.

    >>> roundest(29.83, 30.4, whole=False, low_included=True), roundest(0.12, 0.19, whole=False, low_included=True)
    (30.0, 0.15)
    """
    middle = (low + high) / 2
    width = high - low
    exponent = int(np.floor(np.log10(width))) + 1 if width > 0 else 0
    for digits in range(exponent, exponent - 4, -1):
        for factor in (10.0, 5.0, 1.0):
            step = factor * 10.0 ** (digits - 1)
            if whole and step < 1:
                break
            value = float(np.round(np.round(middle / step) * step, 12))
            if low < value < high or (value == low and low_included) or (value == high and not low_included):
                return value
    return low if low_included else high


def bound_of(column: Column, cut: Cut) -> Bound:
    """A cut of an attribute as a condition."""
    return Bound(
        column.name,
        ">" if cut.above else "<",
        settled(cut, whole=column.type.value == "int"),
        (min(cut.inner, cut.outer), max(cut.inner, cut.outer)),
    )


def places_of(draft: Draft) -> tuple[str, ...]:
    """The names of all places, the terminator's first."""
    return (TERMINATOR, *(place.name for place in draft.places))


def already(conditions: Iterable[Condition], attribute: str, operator: str) -> bool:
    """Whether an attribute has such a condition already."""
    return any(each.attribute == attribute and each.operator == operator for each in conditions)
