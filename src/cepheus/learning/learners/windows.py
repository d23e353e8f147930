"""Windows: how far before another event an event may lie."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cepheus.core.time import DAY, HOUR, MILLISECOND, MINUTE, SECOND
from cepheus.learning.drafts import Place, times_at
from cepheus.learning.history import Floats
from cepheus.learning.state import Cut, Proposal, State, Task, cuts

_UNITS = (
    *(DAY, 12 * HOUR, 6 * HOUR, HOUR, 30 * MINUTE, 10 * MINUTE, 5 * MINUTE, MINUTE, 30 * SECOND, 10 * SECOND),
    *(5 * SECOND, SECOND, 500 * MILLISECOND, 100 * MILLISECOND, 50 * MILLISECOND, 10 * MILLISECOND, MILLISECOND),
    *(500, 100, 50, 10, 1),
)


@dataclass(frozen=True, slots=True)
class WindowLearner:
    """The windows of the events at all places, or at one; a window that is known stays."""

    only: str | None = None
    name: str = "window"

    def propose(self, state: State, task: Task) -> Iterable[Proposal]:
        """A shorter window."""
        if task.hints.window is not None:
            return
        for place in state.draft.places:
            if self.only not in (None, place.name):
                continue
            gap = (
                times_at(task.history, state.draft, state.bindings, place.reference)
                - times_at(task.history, state.draft, state.bindings, place.name)
            ).astype(np.float64)
            for cut in cuts(task, state.bindings, gap, above=False):
                yield Proposal(cut.worth, self.name, partial(_shortened, state, task, place, cut, gap))


def _shortened(state: State, task: Task, place: Place, cut: Cut, gap: Floats) -> State:
    within = roundest_duration(int(cut.inner), int(cut.outer))
    margin = (cut.inner, cut.outer)
    draft = state.draft.changed(place.name, lambda part: replace(part, within=within, margin=margin))
    return State.of(task, draft, state.bindings.where(gap <= within), "window")


def roundest_duration(least: int, below: int) -> int:
    """The most usual length of time from ``least`` up to, not including, ``below``, near their middle.

    >>> roundest_duration(290_123_456, 311_000_000) // MINUTE, roundest_duration(7_100_000, 7_900_000)
    (5, 7500000)
    """
    middle = (least + below) // 2
    for unit in _UNITS:
        for value in (round(middle / unit) * unit, -(-least // unit) * unit):
            if max(least, 1) <= value < below:
                return int(value)
    return max(least, 1)
