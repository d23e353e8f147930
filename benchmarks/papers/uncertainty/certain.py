"""What being ready for uncertainty costs as long as nothing is uncertain: certain events, with and without it.

An engine that is ready watches what it is given, and hands certain events to a plain engine. Both are fed here by
turns, the plain one directly: it is the same object in the same memory, so that nothing differs but the watching. Of
each round, and of each single event, the shortest time counts: what is longer has been disturbed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter_ns

from benchmarks.measuring.timing import Say
from benchmarks.papers.uncertainty.overhead import ENGINE, OPERATORS, rules, stream
from benchmarks.workloads.subject import Subject
from cepheus.core.batch import EventBatch
from cepheus.core.event import Event
from cepheus.engine.assembly.certain_first import CertainFirstEngine
from cepheus.engine.base.interface import Engine
from cepheus.engine.columns.engine import ColumnsEngine

MOST = 0.03
"""How much more certain events may cost an engine that is ready for uncertain ones."""

FULL = (100, 10_000)
QUICK = (8, 600)
"""Constants per type, and events."""

_ROUND = 250
_PART = 0.5
_FEWER_IN_BATCHES, _FEWER_SINGLY = 4, 10
_RUNS = 4
_LONG = 10**12


@dataclass(frozen=True, slots=True)
class PlainPoint:
    """One workload of certain events: microseconds per event, plain and ready, in batches and one by one."""

    operator: str
    batch_plain: float
    batch_ready: float
    single_plain: float
    single_ready: float

    @property
    def batch_overhead(self) -> float:
        """How much more an event of a batch costs."""
        return self.batch_ready / self.batch_plain - 1.0

    @property
    def single_overhead(self) -> float:
        """How much more a single event costs."""
        return self.single_ready / self.single_plain - 1.0


def plainness(repeat: int, say: Say, scale: tuple[int, int] = FULL) -> list[PlainPoint]:
    """Measure every workload."""
    constants, count = scale
    points = []
    for operator in OPERATORS:
        say(f"{operator.name}, nothing uncertain, with and without a look at it")
        subject = Subject.of(rules(operator, constants, threshold=True))
        events = stream(operator, count // _FEWER_IN_BATCHES, _PART, 0.0)
        rounds = [events.slice(at, min(at + _ROUND, len(events))) for at in range(0, len(events), _ROUND)]
        singles = events.slice(0, count // _FEWER_SINGLY).to_events()
        batch_best = [[_LONG] * len(rounds) for _ in range(2)]
        single_best = [[_LONG] * len(singles) for _ in range(2)]
        for run in range(_RUNS * repeat):
            _feed_in_turn(_both(subject), rounds, batch_best, run)
            _feed_singly_in_turn(_both(subject), singles, single_best, run)
        points.append(
            PlainPoint(
                operator.name,
                *(sum(best) / 1000 / len(events) for best in batch_best),
                *(sum(best) / 1000 / len(singles) for best in single_best),
            )
        )
    return points


def _both(subject: Subject) -> tuple[Engine, Engine]:
    """The engine that does the work as long as nothing is uncertain, and the one that watches."""
    ready = subject.engine(ENGINE)
    assert isinstance(ready, CertainFirstEngine)
    assert isinstance(ready.at_work, ColumnsEngine)
    return ready.at_work, ready


def _feed_in_turn(
    engines: tuple[Engine, Engine], rounds: Sequence[EventBatch], best: list[list[int]], run: int
) -> None:
    for number, batch in enumerate(rounds):
        at = (number + run) % 2
        feed = engines[at].feed
        begin = perf_counter_ns()
        feed(batch)
        best[at][number] = min(best[at][number], perf_counter_ns() - begin)


def _feed_singly_in_turn(
    engines: tuple[Engine, Engine], events: Sequence[Event], best: list[list[int]], run: int
) -> None:
    feeds = [engine.feed_event for engine in engines]
    for number, event in enumerate(events):
        at = (number + run) % 2
        feed = feeds[at]
        begin = perf_counter_ns()
        feed(event)
        best[at][number] = min(best[at][number], perf_counter_ns() - begin)
