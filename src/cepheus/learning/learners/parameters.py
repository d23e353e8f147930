"""Parameters: attributes of different events that are equal, close to each other, or apart by some difference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from cepheus.core.values import ValueType
from cepheus.learning.drafts import Link, attributes_of, column_at
from cepheus.learning.history import Column, Floats
from cepheus.learning.state import Cut, Proposal, State, Task, cuts, places_of, settled


@dataclass(frozen=True, slots=True)
class ParameterLearner:
    """Links between the attributes of events at two places, of all places or of one with the others."""

    only: str | None = None
    name: str = "parameters"

    def propose(self, state: State, task: Task) -> Iterable[Proposal]:
        """One more link."""
        for place, other in _pairs(state, self.only):
            for column in attributes_of(task.history, state.draft.type_of(place)):
                values = column_at(task.history, state.draft, state.bindings, place, column.name)
                for theirs in attributes_of(task.history, state.draft.type_of(other)):
                    if not column.comparable(theirs) or _linked(state, place, column.name, other, theirs.name):
                        continue
                    others = column_at(task.history, state.draft, state.bindings, other, theirs.name)
                    for worth, link in links(state, task, (column, values), (theirs, others), other):
                        yield Proposal(worth, self.name, partial(_made, state, task, place, link, (values, others)))


def _made(state: State, task: Task, place: str, found: Callable[[], Link], values: tuple[Floats, Floats]) -> State:
    link = found()
    return State.of(
        task, state.draft.with_condition(place, link), state.bindings.where(link.holds(*values)), "parameters"
    )


def _pairs(state: State, only: str | None) -> Iterator[tuple[str, str]]:
    names = places_of(state.draft)
    for number, place in enumerate(names):
        for other in names[:number]:
            if only in (None, place):
                yield place, other


def _linked(state: State, place: str, attribute: str, other: str, theirs: str) -> bool:
    return any(
        isinstance(each, Link) and (each.attribute, each.place, each.other) == (attribute, other, theirs)
        for each in state.draft.conditions_of(place)
    )


def links(
    state: State, task: Task, own: tuple[Column, Floats], theirs: tuple[Column, Floats], place: str
) -> Iterator[tuple[float, Callable[[], Link]]]:
    """What the best links between two attributes are worth, and the links, made where they are taken up."""
    (column, values), (other, others) = own, theirs
    if not len(values):
        return
    equal = values == others
    if bool(equal.any()):
        made = partial(Link, column.name, "=", place, other.name)
        yield task.worth_of(state.bindings, equal), made
    if not column.is_number or column.name != other.name:
        return  # differences are looked for only where names say that both measure the same
    difference = values - others
    for cut in cuts(task, state.bindings, np.abs(difference), above=False):
        if cut.inner > 0:
            yield cut.worth, partial(_by_cut, column, "near", place, other, cut)
    for above in (True, False):
        for cut in cuts(task, state.bindings, difference, above=above):
            yield cut.worth, partial(_by_cut, column, ">" if above else "<", place, other, cut)


def _by_cut(column: Column, operator: str, place: str, other: Column, cut: Cut) -> Link:
    whole = ValueType.FLOAT not in (column.type, other.type)
    margin = min(cut.inner, cut.outer), max(cut.inner, cut.outer)
    return Link(column.name, operator, place, other.name, settled(cut, whole=whole), margin)
