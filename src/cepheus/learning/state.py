"""A draft with what it matches and what it is worth, and what all learners share: the task, cuts and their worth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from cepheus.learning.bindings import Bindings, extremes
from cepheus.learning.drafts import Bound, Condition, Draft, attributes_of
from cepheus.learning.hints import Hints
from cepheus.learning.history import COST, F1, SEARCHED, Column, Floats, History, Ints, Truths
from cepheus.learning.terminators import is_category
from cepheus.learning.traces import TERMINATOR, Traces

FLOOR = 0.02
"""False alarms below this share of what is found weigh little: recall counts more then."""


@dataclass(frozen=True)
class Task:
    """What is to be learned from: traces, hints, how far to look back (microseconds), what losing an occurrence costs.

    ``wanted`` are the traces that count: where other rules have explained some, the others. With an ``alarm_cost``,
    that of a false alarm where a miss costs 1, rules are judged by that instead of F1. Where traces are a sample of
    those of another task, ``sampled_from`` is how many occurrences that one wants.
    """

    traces: Traces
    hints: Hints
    horizon: int
    care: float
    wanted: Truths
    penalty: float = 0.002
    alarm_cost: float | None = None
    sampled_from: float | None = None

    @property
    def history(self) -> History:
        """The events."""
        return self.traces.history

    @cached_property
    def all_wanted(self) -> float:
        """How many occurrences are to be found."""
        if self.sampled_from is not None:
            return self.sampled_from
        weight = self.traces.weight
        return float(self.traces.all_positive - weight[self.traces.positive & ~self.wanted].sum())

    @cached_property
    def gains(self) -> Floats:
        """How many wanted occurrences each trace stands for."""
        return np.where(self.traces.positive & self.wanted, self.traces.weight, 0.0)

    @cached_property
    def losses(self) -> Floats:
        """How many false alarms each trace stands for."""
        return np.where(self.traces.positive, 0.0, self.traces.weight)

    def counts(self, traces: Ints) -> tuple[float, float]:
        """How many occurrences and how many false alarms found traces are."""
        return float(self.gains[traces].sum()), float(self.losses[traces].sum())

    def judge(self, *, final: bool) -> tuple[int, float, float, float]:
        """By what thresholds are judged: what to count, the occurrences wanted, what is dear, and the floor."""
        if not final:
            return SEARCHED, self.all_wanted, self.care, FLOOR
        if self.alarm_cost is None:
            return F1, self.all_wanted, 0.0, 0.0
        return COST, self.all_wanted, self.alarm_cost, 0.0

    def worth(self, found: float, alarms: float) -> float:
        """What finding so many occurrences with so many false alarms is worth to the search: losses are dear, alarms
        count by their logarithm, as further parts may still remove them.
        """
        if found <= 0:
            return -math.inf
        return self.care * math.log(found / max(self.all_wanted, 1.0)) - math.log(max(alarms, 0.0) / found + FLOOR)

    def final(self, found: float, alarms: float) -> float:
        """What finding so many occurrences with so many false alarms is worth in the end, at most 1."""
        if self.alarm_cost is None:
            return 2 * found / (found + alarms + max(self.all_wanted, 1e-9))
        return (found - self.alarm_cost * alarms) / max(self.all_wanted, 1e-9)

    def worth_of(self, bindings: Bindings, mask: Truths) -> float:
        """What is left is worth, if only some rows are kept."""
        from cepheus.learning.counting import counted_where  # compiled loops: Numba takes long to import

        return self.worth(*counted_where(bindings.trace, mask, self.gains, self.losses))

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
        return cls(draft, bindings, found, alarms, task.worth(found, alarms), by)

    def f1(self, task: Task) -> float:
        """The harmonic mean of precision and recall, as far as the traces tell."""
        return 2 * self.found / (self.found + self.alarms + task.all_wanted) if self.found else 0.0


MOST_SAMPLED = 400, 800
"""So many positive and negative traces tell what is worth a closer look."""


def sampled(state: State, task: Task) -> tuple[State, Task]:
    """The state on an even sample of its traces, with a task in which these stand for all of them.

    Which of many types is relevant shows in a few hundred traces; thresholds are then set by all.
    """
    traces = state.bindings.traces
    positive = task.traces.positive[traces]
    drawn, weight = np.zeros(len(task.traces), np.bool_), task.traces.weight.copy()
    both = (traces[positive & task.wanted[traces]], state.found), (traces[~positive], state.alarms)
    if all(len(own) <= most for (own, _), most in zip(both, MOST_SAMPLED, strict=True)):
        return state, task
    for (own, stands_for), most in zip(both, MOST_SAMPLED, strict=True):
        kept = own[(np.arange(min(most, len(own))) * len(own)) // max(min(most, len(own)), 1)]
        drawn[kept] = True
        weight[kept] *= stands_for / max(weight[kept].sum(), 1e-9)
    small = replace(task, traces=replace(task.traces, weight=weight), sampled_from=task.all_wanted)
    return State.of(small, state.draft, state.bindings.where(drawn[state.bindings.trace])), small


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
    return thresholds(task, bindings, values, above=above, final=final)


def thresholds(
    task: Task,
    bindings: Bindings,
    values: Floats,
    *,
    above: bool,
    final: bool = False,
    without: tuple[float, float] | None = None,
) -> list[Cut]:
    """The best thresholds by what is kept; or, for a negation, by what is left of so many occurrences and false alarms
    ``without`` the traces that are on this side.
    """
    extreme = extremes(bindings, values, highest=above)
    order = np.argsort(-extreme if above else extreme)
    before = (0.0, 0.0, 1.0) if without is None else (*without, -1.0)
    from cepheus.learning.counting import best_thresholds  # compiled loops: Numba takes long to import

    best, most, whole, worth = best_thresholds(
        extreme, order, bindings.traces, task.gains, task.losses, before, task.judge(final=final)
    )
    chosen = {best: most} if best >= 0 else {}
    if whole >= 0 and not final and without is None:  # and what removes most alarms without losing anything
        chosen[whole] = worth
    return [
        Cut(above, float(extreme[order[place]]), float(extreme[order[place + 1]]), value)
        for place, value in sorted(chosen.items())
        if np.isfinite(value)
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
