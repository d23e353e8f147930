"""Relevant event types: events that must have happened, each with what makes it worth naming.

That an event of a type came before says little while any such event will do. So a type is proposed together with the
conditions, links and window that are worth most, found one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cepheus.learning.bindings import Bindings, joined
from cepheus.learning.drafts import Draft, Link, Place, attributes_of, holds, times_at, with_part
from cepheus.learning.history import History
from cepheus.learning.learners.constraints import ConstraintLearner
from cepheus.learning.learners.parameters import ParameterLearner
from cepheus.learning.learners.windows import WindowLearner
from cepheus.learning.state import Learner, Proposal, State, Task, places_of, sampled
from cepheus.learning.traces import TERMINATOR

MOST_PLACES = 4
MOST_STEPS = 4
DEEP = 5
"""So many of the best types are looked at in depth."""


@dataclass(frozen=True, slots=True)
class EventLearner:
    """Events of one more type, before the terminator."""

    name: str = "events"

    def propose(self, state: State, task: Task) -> Iterable[Proposal]:
        """One more event."""
        if len(state.draft.places) >= MOST_PLACES:
            return
        found: list[tuple[float, _Start]] = []
        for reference in places_of(state.draft):
            own = alone(state, task, reference)
            small, sample = sampled(own, task)
            for event_type in task.history.types:
                for link in (None, *common(task.history, event_type, state.draft.type_of(reference))):
                    start = _Start(own, event_type, reference, link)
                    begun = start.of(small, sample)
                    best = None if begun is None else _best(_refined(begun, sample, begun.draft.places[-1].name))
                    if best is not None and best.worth > small.worth:
                        found.append((best.worth - small.worth, start))
        found.sort(key=lambda each: -each[0])
        for _, start in found[:DEEP]:
            begun = start.of(start.alone, task)
            for made in () if begun is None else _deepened(begun, task):
                yield Proposal(made.worth, self.name, partial(_together, state, task, made))


@dataclass(frozen=True, slots=True)
class _Start:
    """An event of a type anywhere in the horizon, or one that has an attribute in common with its reference."""

    alone: State
    event_type: str
    reference: str
    link: str | None

    def of(self, state: State, task: Task) -> State | None:
        """A state, all of it or a sample, with such an event; None if there is none."""
        name = new_name(state.draft, self.event_type)
        place = Place(name, self.event_type, task.hints.window or task.horizon, self.reference)
        draft = state.draft.with_part(place)
        times = times_at(task.history, state.draft, state.bindings, self.reference)
        bindings = joined(state.bindings, name, task.history.types[self.event_type], times, place.within)
        if self.link is not None:
            link = Link(self.link, "=", self.reference, self.link)
            bindings = bindings.where(holds(task.history, draft, bindings, name, link))
            draft = draft.with_condition(name, link)
        return State.of(task, draft, bindings, "events") if len(bindings) else None


def alone(state: State, task: Task, reference: str = TERMINATOR) -> State:
    """The state with its terminators, and the events that one more is to hang from, alone: what else it binds does not
    bear on what that event is worth.
    """
    names = list(dict.fromkeys([TERMINATOR, reference]))
    columns = np.stack([state.bindings.trace, *(state.bindings.events[name] for name in names)])
    columns = columns[:, np.lexsort(columns[::-1])]
    first = np.ones(columns.shape[1], np.bool_)
    first[1:] = (columns[:, 1:] != columns[:, :-1]).any(axis=0)
    rows = columns[:, first]
    bindings = Bindings(rows[0], dict(zip(names, rows[1:], strict=True)))
    parts = tuple(part for part in state.draft.places if part.name == reference)
    return State.of(task, replace(state.draft, parts=parts), bindings)


def _together(state: State, task: Task, made: State) -> State:
    """The event that was found alone, beside all that the state has."""
    place = replace(made.draft.places[-1], name=new_name(state.draft, made.draft.places[-1].type))
    draft = state.draft.with_part(place)
    return State.of(task, draft, with_part(task.history, state.draft, state.bindings, place), "events")


def _deepened(state: State, task: Task) -> Iterator[State]:
    place = state.draft.places[-1].name
    for _ in range(MOST_STEPS):
        best = _best(_refined(state, task, place))
        if best is None or best.worth < state.worth + 0.02:
            return
        state = best.make()
        yield state


def common(history: History, event_type: str, other: str) -> Iterator[str]:
    """Attributes of two types that have the same name and few enough values to be equal by meaning."""
    theirs = {column.name: column for column in attributes_of(history, other)}
    for column in attributes_of(history, event_type):
        if column.name in theirs and column.comparable(theirs[column.name]) and column.recurs:
            yield column.name


def _refined(state: State, task: Task, place: str) -> Iterator[Proposal]:
    learners: Sequence[Learner] = (ConstraintLearner(place), WindowLearner(place), ParameterLearner(place))
    for learner in learners:
        yield from learner.propose(state, task)


def _best(proposals: Iterable[Proposal]) -> Proposal | None:
    return max(proposals, key=lambda each: each.worth, default=None)


def new_name(draft: Draft, event_type: str) -> str:
    """A name for one more event of a type: the type, with a number if it is taken.

    >>> new_name(Draft("Temp"), "Temp"), new_name(Draft("Smoke"), "Temp")
    ('Temp2', 'Temp')
    """
    taken = {draft.terminator, *(place.name for place in draft.places)}
    name, number = event_type, 2
    while name in taken:
        name, number = f"{event_type}{number}", number + 1
    return name
