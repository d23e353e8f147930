"""Negations: events that false alarms have and occurrences have not.

This is the search for a relevant event with the labels exchanged. It begins with every event of a type in the horizon,
which rules out everything, and narrows down: by a window, links and conditions, whatever is worth most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cepheus.learning.bindings import Bindings, joined
from cepheus.learning.drafts import Absence, Bound, Condition, Link, attributes_of, column_at, times_at, with_part
from cepheus.learning.history import Column, Floats, Truths
from cepheus.learning.learners.events import alone
from cepheus.learning.learners.windows import roundest_duration
from cepheus.learning.state import Cut, Proposal, State, Task, bound_of, places_of, sampled, settled, thresholds
from cepheus.learning.traces import TERMINATOR

_NEGATED = "#not"
MOST_STEPS = 4
FIRST_STEPS = 2
"""Which types are worth narrowing down shows after so many steps on a sample."""

CLOSER = 5
"""So many of the best types are narrowed down once more with all traces."""

MOST_LINKED = 20_000
"""In longer tables negations are linked to the terminator only: it stands there once for each way in which the rest of
the rule matches.
"""

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
        whole = state
        if len(state.bindings) > MOST_LINKED:
            state = alone(state, task)
        small, sample = sampled(state, task)
        lengths = (1.0,) if task.hints.window is not None else SHARES
        found = [each for name in task.history.types if (each := _narrowed(small, sample, name, lengths, FIRST_STEPS))]
        found.sort(key=lambda each: -each.worth)
        for first in found[:CLOSER]:
            ruled = _narrowed(state, task, first.absence.type, (first.share,), MOST_STEPS)
            if ruled is not None:
                yield Proposal(ruled.worth, self.name, partial(_without, whole, task, ruled.absence))


def _without(state: State, task: Task, absence: Absence) -> State:
    kept = with_part(task.history, state.draft, state.bindings, absence)
    return State.of(task, state.draft.with_part(absence), kept, "negations")


@dataclass(frozen=True, slots=True)
class _Ruled:
    """Events that would be ruled out, and what ruling them out is worth; ``share`` of the horizon was begun with."""

    absence: Absence
    table: Bindings
    worth: float
    share: float = 1.0


def _narrowed(state: State, task: Task, event_type: str, shares: Sequence[float], steps: int) -> _Ruled | None:
    """The best negation of a type, narrowed down from windows of several lengths, shares of the longest."""
    longest = task.hints.window or task.horizon
    times = times_at(task.history, state.draft, state.bindings, TERMINATOR)
    table = joined(state.bindings, _NEGATED, task.history.types[event_type], times, longest)
    if not len(table):
        return None
    whole = _Ruled(Absence(event_type, longest), table, -np.inf)
    gap = _gaps(state, task, whole)
    found = []
    for share in shares:
        within = max(round(share * longest), 1)
        inside = table.where(gap <= within)
        if len(inside):
            begun = _made(state, task, Absence(event_type, within), inside)
            found.append(replace(_narrowest(state, task, begun, steps), share=share))
    best = max(found, key=lambda each: each.worth, default=None)
    return best if best is not None and best.worth > state.worth + 0.01 else None


def _narrowest(state: State, task: Task, ruled: _Ruled, steps: int) -> _Ruled:
    for _ in range(steps):
        worth, make = max(_narrower(state, task, ruled), key=lambda each: each[0], default=(-np.inf, None))
        if make is None or worth <= ruled.worth + 0.01:
            break
        narrower = make()
        if narrower.worth <= ruled.worth + 0.01:
            break
        ruled = narrower
    return ruled


def _worth_where(state: State, task: Task, table: Bindings, mask: Truths) -> float:
    from cepheus.learning.counting import counted_where  # compiled loops: Numba takes long to import

    found, alarms = counted_where(table.trace, mask, task.gains, task.losses)
    return task.worth(state.found - found, state.alarms - alarms)


_Way = tuple[float, Callable[[], _Ruled]]
"""What a narrower negation is worth, and how it is made."""


def _narrower(state: State, task: Task, ruled: _Ruled) -> Iterator[_Way]:
    absence, table = ruled.absence, ruled.table
    gap = _gaps(state, task, ruled)
    if task.hints.window is None:
        for cut in _cuts(state, task, table, gap, above=False):
            within = roundest_duration(int(cut.inner), int(cut.outer))
            if within < absence.within:
                shorter = replace(absence, within=within, margin=(cut.inner, cut.outer))
                yield cut.worth, partial(_kept, state, task, shorter, table, gap <= within)
    events = task.history.types[absence.type]
    for column in attributes_of(task.history, absence.type):
        values = events.columns[column.name].values[table.events[_NEGATED]]
        if task.may_be_constant(absence.type, column):
            yield from _bounds(state, task, ruled, column, values)
        for place in places_of(state.draft):
            for theirs in attributes_of(task.history, state.draft.type_of(place)):
                if column.comparable(theirs) and not _linked(absence, column.name):
                    others = column_at(task.history, state.draft, table, place, theirs.name)
                    yield from _links(state, task, ruled, (column, values), (theirs, others), place)


def _kept(state: State, task: Task, absence: Absence, table: Bindings, mask: Truths) -> _Ruled:
    return _made(state, task, absence, table.where(mask))


def _gaps(state: State, task: Task, ruled: _Ruled) -> Floats:
    times = times_at(task.history, state.draft, ruled.table, TERMINATOR)
    own = task.history.types[ruled.absence.type].times[ruled.table.events[_NEGATED]]
    return (times - own).astype(np.float64)


def _with(absence: Absence, condition: Condition) -> Absence:
    return replace(absence, conditions=(*absence.conditions, condition))


def _linked(absence: Absence, attribute: str) -> bool:
    return any(isinstance(each, Link) and each.attribute == attribute for each in absence.conditions)


def _made(state: State, task: Task, absence: Absence, table: Bindings) -> _Ruled:
    found, alarms = task.counts(table.traces)
    return _Ruled(absence, table, task.worth(state.found - found, state.alarms - alarms))


def _bounds(state: State, task: Task, ruled: _Ruled, column: Column, values: Floats) -> Iterator[_Way]:
    if column.is_number:
        for above in (True, False):
            for cut in _cuts(state, task, ruled.table, values, above=above):
                yield cut.worth, partial(_bounded, state, task, ruled, bound_of(column, cut), values)
        return
    for value in np.unique(values[~np.isnan(values)])[:20].tolist():
        bound = Bound(column.name, "=", value)
        yield (
            _worth_where(state, task, ruled.table, values == value),
            partial(_bounded, state, task, ruled, bound, values),
        )


def _bounded(state: State, task: Task, ruled: _Ruled, bound: Bound, values: Floats) -> _Ruled:
    return _kept(state, task, _with(ruled.absence, bound), ruled.table, bound.holds(values))


def _links(
    state: State, task: Task, ruled: _Ruled, own: tuple[Column, Floats], theirs: tuple[Column, Floats], place: str
) -> Iterator[_Way]:
    (column, values), (other, others) = own, theirs
    equal = values == others
    if bool(equal.any()):
        absence = _with(ruled.absence, Link(column.name, "=", place, other.name))
        yield _worth_where(state, task, ruled.table, equal), partial(_kept, state, task, absence, ruled.table, equal)
    if column.is_number and column.name == other.name:
        apart = np.abs(values - others)
        for cut in _cuts(state, task, ruled.table, apart, above=False):
            if cut.inner > 0:
                margin = min(cut.inner, cut.outer), max(cut.inner, cut.outer)
                link = Link(column.name, "near", place, other.name, settled(cut, whole=False), margin)
                absence = _with(ruled.absence, link)
                yield cut.worth, partial(_kept, state, task, absence, ruled.table, link.holds(values, others))


def _cuts(state: State, task: Task, table: Bindings, values: Floats, *, above: bool) -> list[Cut]:
    """The threshold that is worth most if only what lies on this side of it is ruled out."""
    if not len(table):
        return []
    return thresholds(task, table, values, above=above, without=(state.found, state.alarms))
