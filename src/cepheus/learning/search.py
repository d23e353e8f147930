"""The search: a beam over drafts, each learner asked about each of them, and what was met on the way."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from cepheus.learning.drafts import Draft, bind
from cepheus.learning.learners.aggregates import AggregateLearner, RepetitionLearner
from cepheus.learning.learners.constraints import ConstraintLearner
from cepheus.learning.learners.events import EventLearner
from cepheus.learning.learners.negations import NegationLearner
from cepheus.learning.learners.order import OrderLearner
from cepheus.learning.learners.parameters import ParameterLearner
from cepheus.learning.learners.windows import WindowLearner
from cepheus.learning.state import Learner, Proposal, State, Task

QUICK: tuple[Learner, ...] = (
    ConstraintLearner(),
    EventLearner(),
    WindowLearner(),
    ParameterLearner(),
    OrderLearner(),
    RepetitionLearner(),
)
"""Learners that are asked first."""

SLOW: tuple[Learner, ...] = (NegationLearner(), AggregateLearner())
"""Learners that are asked where the others have little to propose, or few false alarms are left to look at."""

LITTLE = 0.25
CHANCE = 16.0

SIZE_COST = 0.04
"""What one more condition must be worth to the search."""

Watch = Callable[[str, State | None], None]
"""Told what is being tried, and the best so far."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much the search may do: states kept at each depth, the greatest depth, and when to stop (a time of the
    monotonic clock).
    """

    beam: int = 3
    depth: int = 12
    until: float = np.inf
    quick: Sequence[Learner] = QUICK
    slow: Sequence[Learner] = SLOW

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return clock.monotonic() > self.until


def search(
    task: Task, effort: Effort, watch: Watch = lambda _what, _best: None, root: Draft | None = None
) -> list[State]:
    """The best states met, by their final value, best first; the search begins with a draft, or with the terminator.

    A time budget that is up ends the search with what was met until then.
    """
    first = root or Draft(task.traces.ending.type)
    beam = [State.of(task, first, bind(first, task.traces))]
    met = list(beam)
    for depth in range(effort.depth):
        made: list[State] = []
        for state in beam:
            made += _taken_up(state, task, effort, partial(_tell, watch, depth, met[0]))
        beam = _different(made, effort.beam, depth + 1)
        if not beam:
            break
        met = sorted([*met, *beam], key=lambda each: -value(each, task))
        if effort.over or beam[0].alarms == 0:
            break
    return _different_values(met, task)


def _tell(watch: Watch, depth: int, best: State, what: str) -> None:
    watch(f"{what}, depth {depth + 1}", best)


def _taken_up(state: State, task: Task, effort: Effort, say: Callable[[str], None]) -> list[State]:
    """The states of the best proposals of all learners."""
    proposals: list[Proposal] = []
    for learners in (effort.quick, effort.slow):
        for learner in learners:
            if effort.over:
                return []
            say(f"{task.traces.ending.type}: {learner.name}")
            proposals += [each for each in learner.propose(state, task) if each.worth > state.worth + SIZE_COST]
        promising = max((each.worth for each in proposals), default=-np.inf) > state.worth + LITTLE
        if promising and state.alarms > state.found:
            break
    proposals.sort(key=lambda each: -each.worth)
    made = [each.make() for each in proposals[: 3 * effort.beam]]
    return [
        each
        for each in made
        if each.worth > state.worth + SIZE_COST
        and evidence(task, state, each) > CHANCE * max(each.draft.size - state.draft.size, 1)
    ]


def evidence(task: Task, before: State, after: State) -> float:
    """How much what a step keeps depends on the labels: the G statistic of kept and lost, occurrences and alarms.

    A step is the best of thousands that were tried, so much of it would be seen by chance.
    """
    traces = task.traces
    counts = np.zeros((2, 2))
    for row, state in enumerate((after, before)):
        positive = traces.positive[state.bindings.traces] & task.wanted[state.bindings.traces]
        counts[row] = positive.sum(), (~traces.positive[state.bindings.traces]).sum()
    counts[1] = np.maximum(counts[1] - counts[0], 0)
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True) / max(counts.sum(), 1)
    seen = counts > 0
    return float(2 * (counts[seen] * np.log(counts[seen] / expected[seen])).sum())


def value(state: State, task: Task) -> float:
    """What a state is worth in the end: F1, or what the user's costs say, less a penalty for its size."""
    return task.final(state.found, state.alarms) - task.penalty * state.draft.size


def _different(states: list[State], most: int, simple: int) -> list[State]:
    """The best states, of those that find the same traces only the smallest.

    One place is kept for the best that took one condition a step: what is worth most at once often is a roundabout way
    of saying what a simple rule says in the end.
    """
    states.sort(key=lambda each: -(each.worth - SIZE_COST * each.draft.size))
    kept: dict[bytes, State] = {}
    for state in states:
        kept.setdefault(state.bindings.traces.tobytes(), state)
    best = list(kept.values())
    plain = [state for state in best[most - 1 :] if state.draft.size <= simple]
    return [*best[: most - 1], *(plain[:1] or best[most - 1 : most])]


def _different_values(states: list[State], task: Task) -> list[State]:
    kept: dict[Draft, State] = {}
    for state in states:
        kept.setdefault(state.draft, state)
    return sorted(kept.values(), key=lambda each: -value(each, task))
