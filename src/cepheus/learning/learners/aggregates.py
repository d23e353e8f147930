"""Aggregates and repetition: averages, sums and counts over a window, compared with a threshold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cepheus.learning.drafts import (
    Absence,
    Condition,
    Link,
    Part,
    Summary,
    aggregated,
    bind,
    members,
    times_at,
    with_part,
)
from cepheus.learning.history import Floats, Ints
from cepheus.learning.learners.events import alone, common
from cepheus.learning.state import Cut, Proposal, State, Task, cuts, sampled, settled
from cepheus.learning.traces import TERMINATOR

FUNCTIONS = ("Avg", "Sum")
MOST_AGGREGATES = 2
CLOSER = 6
"""So many of the best aggregates are looked at with all traces and more windows."""

MOST_MEMBERS = 6_000_000
SHARES = (1.0, 0.4, 0.16, 0.06)
"""The windows that are tried first, as shares of the horizon."""

FINER = (0.7, 0.85, 1.2, 1.4)


@dataclass(frozen=True, slots=True)
class AggregateLearner:
    """Averages, sums and counts of events before the terminator."""

    name: str = "aggregates"

    def propose(self, state: State, task: Task) -> Iterable[Proposal]:
        """One more aggregate."""
        if sum(isinstance(part, Summary) for part in state.draft.parts) >= MOST_AGGREGATES:
            return
        whole, state = state, alone(state, task)  # an aggregate looks back from the terminator, whatever else matches
        small, sample = sampled(state, task)
        met: list[tuple[float, Summary]] = []
        for event_type in task.history.types:
            tried = [
                each
                for conditions in _groupings(state, task, event_type)
                for each in _over(small, sample, event_type, conditions, windows(task))
            ]
            tried.sort(key=lambda each: -each[0])
            met += tried[:2]
        met.sort(key=lambda each: -each[0])
        for _, summary in met[:CLOSER]:
            worth, same = max(_again(state, task, summary, [summary.within]), key=_first, default=(-np.inf, summary))
            if worth > state.worth + 0.02:
                better, finer = _finer(state, task, worth, same)
                yield Proposal(better, self.name, partial(_made, whole, task, finer))


def _first(each: tuple[float, Summary]) -> float:
    return each[0]


def _again(state: State, task: Task, summary: Summary, lengths: list[int]) -> Iterator[tuple[float, Summary]]:
    """An aggregate once more, with all traces and other windows; thresholds are found anew."""
    of = (summary.function, summary.attribute)
    for worth, tried in _over(state, task, summary.type, summary.conditions, lengths, of):
        if (tried.function, tried.attribute) == of:
            yield worth, tried


def _made(state: State, task: Task, summary: Summary) -> State:
    kept = with_part(task.history, state.draft, state.bindings, summary)
    return State.of(task, state.draft.with_part(summary), kept, "aggregates")


def _over(
    state: State,
    task: Task,
    event_type: str,
    conditions: tuple[Condition, ...],
    lengths: Iterable[int],
    only: tuple[str, str | None] | None = None,
) -> Iterator[tuple[float, Summary]]:
    """Aggregates over windows of several lengths, each with its best threshold, and what it is worth."""
    whole = Absence(event_type, task.hints.window or task.horizon, TERMINATOR, conditions)
    owner, numbers = members(task.history, state.draft, state.bindings, whole)
    if not len(owner) or len(owner) > MOST_MEMBERS:
        return
    times = times_at(task.history, state.draft, state.bindings, TERMINATOR)
    gap = times[owner] - task.history.types[event_type].times[numbers]
    for within in lengths:
        near = gap <= within
        yield from _thresholds(state, task, whole, within, (owner[near], numbers[near]), only)


def _thresholds(
    state: State,
    task: Task,
    whole: Absence,
    within: int,
    near: tuple[Ints, Ints],
    only: tuple[str, str | None] | None,
) -> Iterator[tuple[float, Summary]]:
    owner, numbers = near
    rows = len(state.bindings)
    counts = np.bincount(owner, minlength=rows).astype(np.float64)
    plain = Summary("Count", whole.type, None, within, ">", 0, TERMINATOR, whole.conditions)
    if only is None or only[1] is None:
        yield from _cut(state, task, plain, counts)
    for column in task.history.types[whole.type].columns.values():
        if column.is_number and column.name not in task.hints.keys:
            for function in FUNCTIONS:
                if only is not None and only != (function, column.name):
                    continue
                values = aggregated(function, owner, column.values[numbers], rows)
                yield from _cut(state, task, replace(plain, function=function, attribute=column.name), values)


def _finer(state: State, task: Task, worth: float, summary: Summary) -> tuple[float, Summary]:
    """The same aggregate with the best window near its own."""
    if task.hints.window is not None:
        return worth, summary
    for factors in (FINER, (0.9, 0.95, 1.05, 1.1)):
        lengths = [min(round(summary.within * factor), task.horizon) for factor in factors]
        for other, tried in _again(state, task, summary, lengths):
            if other > worth:
                worth, summary = other, tried
    return worth, summary


def windows(task: Task) -> list[int]:
    """The windows that are tried."""
    if task.hints.window is not None:
        return [task.hints.window]
    return [max(round(share * task.horizon), 1) for share in SHARES]


def _groupings(state: State, task: Task, event_type: str) -> Iterator[tuple[Condition, ...]]:
    """Over all events of a type, and over those that have an attribute in common with the terminator."""
    yield ()
    for name in common(task.history, event_type, state.draft.terminator):
        yield (Link(name, "=", TERMINATOR, name),)


def _cut(state: State, task: Task, summary: Summary, values: Floats) -> Iterator[tuple[float, Summary]]:
    for above in (True, False):
        for cut in cuts(task, state.bindings, values, above=above):
            value = settled(cut, whole=summary.attribute is None)
            yield cut.worth, replace(summary, operator=">" if above else "<", value=value, margin=_margin(cut))


def _margin(cut: Cut) -> tuple[float, float]:
    return min(cut.inner, cut.outer), max(cut.inner, cut.outer)


@dataclass(frozen=True, slots=True)
class RepetitionLearner:
    """Events that must have happened several times: a place of the draft, counted."""

    name: str = "repetition"

    def propose(self, state: State, task: Task) -> Iterable[Proposal]:
        """An event that is counted instead."""
        for place in state.draft.places:
            others = tuple(part for part in state.draft.parts if part is not place)
            if place.reference != TERMINATOR or any(_depends(part, place.name) for part in others):
                continue
            before = replace(state.draft, parts=others)
            without = State(before, bind(before, task.traces), 0.0, 0.0, 0.0)
            linked = any(isinstance(each, Link) and each.place != TERMINATOR for each in place.conditions)
            counted = without if linked else alone(without, task)
            whole = Absence(place.type, place.within, place.reference, place.conditions)
            owner, _ = members(task.history, counted.draft, counted.bindings, whole)
            counts = np.bincount(owner, minlength=len(counted.bindings)).astype(np.float64)
            plain = Summary("Count", place.type, None, place.within, ">", 0, TERMINATOR, place.conditions)
            for cut in cuts(task, counted.bindings, counts, above=True):
                if cut.inner >= 2:
                    summary = replace(plain, value=settled(cut, whole=True), margin=_margin(cut))
                    yield Proposal(cut.worth, self.name, partial(_made, without, task, summary))


def _depends(part: Part, name: str) -> bool:
    return part.reference == name or any(isinstance(each, Link) and each.place == name for each in part.conditions)
