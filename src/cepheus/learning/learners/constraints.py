"""Selection constraints: thresholds, intervals (one after the other) and categories of single attributes.

iCEP takes the intersection of what positive traces have in common; here every threshold is tried, and what it loses
is weighed against the false alarms that it removes. So a few wrong labels do not widen a constraint without bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from cepheus.core.values import ValueType
from cepheus.learning.drafts import Bound, column_at
from cepheus.learning.history import Column, Floats
from cepheus.learning.state import Cut, Proposal, State, Task, already, bound_of, cuts, places_of

FEW_VALUES = 12
"""Whole numbers with so few values are also looked at as categories."""

BEST_VALUES = 2
MOST_VALUES = 12


@dataclass(frozen=True, slots=True)
class ConstraintLearner:
    """Conditions on single attributes of the events at all places, or at one."""

    only: str | None = None
    name: str = "constraints"

    def propose(self, state: State, task: Task) -> Iterable[Proposal]:
        """One more condition."""
        for place in places_of(state.draft) if self.only is None else (self.only,):
            for column in task.constants(state.draft.type_of(place)):
                values = column_at(task.history, state.draft, state.bindings, place, column.name)
                for worth, found in _conditions(state, task, place, column, values):
                    yield Proposal(worth, self.name, partial(_made, state, task, place, (column, found), values))


def _made(state: State, task: Task, place: str, found: tuple[Column, Bound | Cut], values: Floats) -> State:
    column, cut = found
    condition = cut if isinstance(cut, Bound) else bound_of(column, cut)
    kept = state.bindings.where(condition.holds(values))
    return State.of(task, state.draft.with_condition(place, condition), kept, "constraints")


def _conditions(
    state: State, task: Task, place: str, column: Column, values: Floats
) -> Iterator[tuple[float, Bound | Cut]]:
    """Conditions with what they are worth; a cut gets its round number only if it is taken up."""
    given = state.draft.conditions_of(place)
    if already(given, column.name, "="):
        return
    if column.is_number:
        for above in (True, False):
            if not already(given, column.name, ">" if above else "<"):
                for cut in cuts(task, state.bindings, values, above=above):
                    yield cut.worth, cut
    if not column.is_number or (column.type is ValueType.INT and column.distinct <= FEW_VALUES):
        yield from categories(state, task, column, values)


def categories(state: State, task: Task, column: Column, values: Floats) -> Iterator[tuple[float, Bound]]:
    """The values of an attribute that are worth most as the only ones allowed."""
    mine = task.traces.positive[state.bindings.trace] & ~np.isnan(values)
    distinct, counts = np.unique(values[mine], return_counts=True)
    found = [
        (task.worth_of(state.bindings, values == value), Bound(column.name, "=", value))
        for value in distinct[np.argsort(-counts)][:MOST_VALUES].tolist()
    ]
    found.sort(key=lambda each: -each[0])
    yield from (each for each in found[:BEST_VALUES] if np.isfinite(each[0]))
