"""Order: which of two events came first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cepheus.learning.drafts import Draft, Link, Place, bind, times_at
from cepheus.learning.history import Truths
from cepheus.learning.learners.windows import roundest_duration
from cepheus.learning.state import Proposal, State, Task, cuts
from cepheus.learning.traces import TERMINATOR


@dataclass(frozen=True, slots=True)
class OrderLearner:
    """The order of the events at two places: the earlier one then hangs from the later one."""

    name: str = "order"

    def propose(self, state: State, task: Task) -> Iterable[Proposal]:
        """One more event that must come before another."""
        for earlier in state.draft.places:
            for later in state.draft.places:
                if not _possible(earlier, later):
                    continue
                times = times_at(task.history, state.draft, state.bindings, earlier.name)
                before = times < times_at(task.history, state.draft, state.bindings, later.name)
                if bool(before.all()) or not bool(before.any()):
                    continue
                yield from _windows(state, task, earlier, later, before)


def _windows(state: State, task: Task, earlier: Place, later: Place, before: Truths) -> Iterator[Proposal]:
    """One event before the other, no longer before it than is best."""
    rows = state.bindings.where(before)
    gap = times_at(task.history, state.draft, rows, later.name) - times_at(
        task.history, state.draft, rows, earlier.name
    )
    draft = chained(state.draft, earlier, later)
    if task.hints.window is not None:
        yield Proposal(task.worth_of(state.bindings, before), "order", partial(_made, task, draft))
        return
    for cut in cuts(task, rows, gap.astype(np.float64), above=False):
        within = roundest_duration(int(cut.inner), int(min(cut.outer, 2**62)))
        shorter = draft.changed(earlier.name, partial(_with_window, within=within))
        yield Proposal(cut.worth, "order", partial(_made, task, shorter))


def _with_window(place: Place, within: int) -> Place:
    return replace(place, within=within)


def _made(task: Task, draft: Draft) -> State:
    return State.of(task, draft, bind(draft, task.traces), "order")


def _possible(earlier: Place, later: Place) -> bool:
    """Whether an event may hang from another: it does not do so yet, and the other does not depend on it."""
    return (
        earlier.name != later.name
        and earlier.reference == TERMINATOR
        and later.reference != earlier.name
        and not any(isinstance(each, Link) and each.place == earlier.name for each in later.conditions)
    )


def chained(draft: Draft, earlier: Place, later: Place) -> Draft:
    """The draft with one place behind the other, from which it then hangs."""
    moved = replace(earlier, reference=later.name)
    rest = [part for part in draft.parts if part is not earlier]
    rest.insert(max(rest.index(later) + 1, 0), moved)
    behind = {earlier.name}
    ordered = [part for part in rest if not _needs(part, behind) or part is moved]
    last = [part for part in rest if _needs(part, behind) and part is not moved]
    return replace(draft, parts=(*ordered, *last))


def _needs(part: object, names: set[str]) -> bool:
    if getattr(part, "reference", None) in names:
        return True
    return any(isinstance(each, Link) and each.place in names for each in getattr(part, "conditions", ()))
