"""Negations: events that false alarms have and occurrences have not.

This is the search for a relevant event with the labels exchanged. It begins with every event of a type in the horizon,
which rules out everything, and narrows down: by a window, links and conditions, whatever is worth most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cepheus.learning.bindings import Bindings, extremes, joined
from cepheus.learning.drafts import Absence, Bound, Condition, Link, attributes_of, column_at, times_at, with_part
from cepheus.learning.history import Column, Floats
from cepheus.learning.learners.windows import roundest_duration
from cepheus.learning.state import Cut, Proposal, State, Task, bound_of, places_of, settled
from cepheus.learning.traces import TERMINATOR

_NEGATED = "#not"
MOST_STEPS = 4
SHARES = (1.0, 0.4, 0.16, 0.06, 0.025)
"""The windows that are narrowed down, as shares of the horizon."""


@dataclass(frozen=True, slots=True)
class NegationLearner:
    """Events that must not have happened before the terminator."""

    name: str = "negations"

    def propose(self, state: State, task: Task) -> Iterable[Proposal]:
        """One more negation."""
        if state.alarms <= 0:
            return
        for event_type in task.history.types:
            ruled = _narrowed(state, task, event_type)
            if ruled is not None:
                yield Proposal(ruled.worth, self.name, partial(_without, state, task, ruled.absence))


def _without(state: State, task: Task, absence: Absence) -> State:
    kept = with_part(task.history, state.draft, state.bindings, absence)
    return State.of(task, state.draft.with_part(absence), kept, "negations")


@dataclass(frozen=True, slots=True)
class _Ruled:
    """Events that would be ruled out, and what ruling them out is worth."""

    absence: Absence
    table: Bindings
    worth: float


def _narrowed(state: State, task: Task, event_type: str) -> _Ruled | None:
    """The best negation of a type, narrowed down from windows of several lengths."""
    longest = task.hints.window or task.horizon
    times = times_at(task.history, state.draft, state.bindings, TERMINATOR)
    table = joined(state.bindings, _NEGATED, task.history.types[event_type], times, longest)
    if not len(table):
        return None
    whole = _Ruled(Absence(event_type, longest), table, -np.inf)
    gap = _gaps(state, task, whole)
    found = []
    for share in (1.0,) if task.hints.window is not None else SHARES:
        within = max(round(share * longest), 1)
        inside = table.where(gap <= within)
        if len(inside):
            found.append(_narrowest(state, task, _made(state, task, Absence(event_type, within), inside)))
    best = max(found, key=lambda each: each.worth)
    return best if best.worth > state.worth + 0.01 else None


def _narrowest(state: State, task: Task, ruled: _Ruled) -> _Ruled:
    for _ in range(MOST_STEPS):
        best = max(_narrower(state, task, ruled), key=lambda each: each.worth, default=None)
        if best is None or best.worth <= ruled.worth + 0.01:
            break
        ruled = best
    return ruled


def _worth(state: State, task: Task, table: Bindings) -> float:
    found, alarms = task.counts(table.traces)
    return float(task.worth(np.array([state.found - found]), np.array([state.alarms - alarms]))[0])


def _narrower(state: State, task: Task, ruled: _Ruled) -> Iterator[_Ruled]:
    absence, table = ruled.absence, ruled.table
    gap = _gaps(state, task, ruled)
    if task.hints.window is None:
        for cut in _cuts(state, task, table, gap, above=False):
            within = roundest_duration(int(cut.inner), int(cut.outer))
            if within < absence.within:
                shorter = replace(absence, within=within, margin=(cut.inner, cut.outer))
                yield _made(state, task, shorter, table.where(gap <= within))
    events = task.history.types[absence.type]
    for column in attributes_of(task.history, absence.type):
        values = events.columns[column.name].values[table.events[_NEGATED]]
        if task.may_be_constant(absence.type, column):
            for bound in _bounds(state, task, table, column, values):
                yield _made(state, task, _with(absence, bound), table.where(bound.holds(values)))
        for place in places_of(state.draft):
            for theirs in attributes_of(task.history, state.draft.type_of(place)):
                if column.comparable(theirs) and not _linked(absence, column.name):
                    others = column_at(task.history, state.draft, table, place, theirs.name)
                    for link in _links(state, task, table, (column, values), (theirs, others), place):
                        yield _made(state, task, _with(absence, link), table.where(link.holds(values, others)))


def _gaps(state: State, task: Task, ruled: _Ruled) -> Floats:
    times = times_at(task.history, state.draft, ruled.table, TERMINATOR)
    own = task.history.types[ruled.absence.type].times[ruled.table.events[_NEGATED]]
    return (times - own).astype(np.float64)


def _with(absence: Absence, condition: Condition) -> Absence:
    return replace(absence, conditions=(*absence.conditions, condition))


def _linked(absence: Absence, attribute: str) -> bool:
    return any(isinstance(each, Link) and each.attribute == attribute for each in absence.conditions)


def _made(state: State, task: Task, absence: Absence, table: Bindings) -> _Ruled:
    return _Ruled(absence, table, _worth(state, task, table))


def _bounds(state: State, task: Task, table: Bindings, column: Column, values: Floats) -> Iterator[Bound]:
    if column.is_number:
        for above in (True, False):
            for cut in _cuts(state, task, table, values, above=above):
                yield bound_of(column, cut)
        return
    for value in np.unique(values[~np.isnan(values)])[:20].tolist():
        yield Bound(column.name, "=", value)


def _links(
    state: State, task: Task, table: Bindings, own: tuple[Column, Floats], theirs: tuple[Column, Floats], place: str
) -> Iterator[Link]:
    (column, values), (other, others) = own, theirs
    if bool((values == others).any()):
        yield Link(column.name, "=", place, other.name)
    if column.is_number and column.name == other.name:
        for cut in _cuts(state, task, table, np.abs(values - others), above=False):
            if cut.inner > 0:
                margin = min(cut.inner, cut.outer), max(cut.inner, cut.outer)
                yield Link(column.name, "near", place, other.name, settled(cut, whole=False), margin)


def _cuts(state: State, task: Task, table: Bindings, values: Floats, *, above: bool) -> list[Cut]:
    """The threshold that is worth most if only what lies on this side of it is ruled out."""
    if not len(table):
        return []
    extreme = extremes(table, values, highest=above)
    traces = table.traces
    weight, positive = task.traces.weight[traces], task.traces.positive[traces]
    order = np.argsort(-extreme if above else extreme, kind="stable")
    first = extreme[order]
    lost = np.cumsum(np.where(positive & task.wanted[traces], weight, 0.0)[order])
    gone = np.cumsum(np.where(positive, 0.0, weight)[order])
    places = np.flatnonzero(np.append(first[1:] != first[:-1], False) & np.isfinite(first))
    if not len(places):
        return []
    worth = task.worth(state.found - lost[places], np.maximum(state.alarms - gone[places], 0.0))
    best = int(np.argmax(worth))
    return [Cut(above, float(first[places[best]]), float(first[places[best] + 1]), float(worth[best]))]
