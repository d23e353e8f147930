"""What being ready for uncertainty costs as long as nothing is uncertain: certain events, with and without it.

The plain engine and the one that watches out for uncertain events take turns over the same rounds of events, and of
each the shortest time of every round counts: what is longer has been disturbed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import cast

from cepheus.bench.singly import feed_singly
from cepheus.bench.subject import Subject
from cepheus.bench.uncertain_overhead import ENGINE, OPERATORS, Say, Scale, rules, stream
from cepheus.core.batch import EventBatch
from cepheus.core.event import Event
from cepheus.engine.columns.engine import ColumnsEngine
from cepheus.engine.interface import Engine

MOST = 0.03
"""How much more certain events may cost an engine that is ready for uncertain ones."""

_ROUND = 250
_PART = 0.5


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


def plainness(repeat: int, say: Say, scale: Scale) -> list[PlainPoint]:
    """Measure every workload."""
    points = []
    for operator in OPERATORS:
        say(f"{operator.name}, nothing uncertain, with and without a look at it")
        subject = Subject.of(rules(operator, scale.constants))
        events = stream(operator, scale.events, _PART, 0.0)
        rounds = [events.slice(at, min(at + _ROUND, len(events))) for at in range(0, len(events), _ROUND)]
        singles = [batch.to_events() for batch in rounds]
        batch_best = [[10**12] * len(rounds) for _ in range(2)]
        single_best = [[10**12] * len(rounds) for _ in range(2)]
        for _ in range(repeat):
            _take_turns((_plain(subject), subject.engine(ENGINE)), rounds, batch_best)
            _take_turns_singly((_plain(subject), subject.engine(ENGINE)), singles, single_best)
        plain, ready, single_plain, single_ready = (
            sum(best) / 1000 / len(events) for best in (*batch_best, *single_best)
        )
        points.append(PlainPoint(operator.name, plain, ready, single_plain, single_ready))
    return points


def _plain(subject: Subject) -> Engine:
    """Give an engine that knows nothing of uncertainty."""
    engine = cast(Engine, ColumnsEngine())  # but for factors, which it is never given
    engine.deploy(subject.checked.rules.rules, subject.schema)
    engine.feed(EventBatch.empty())
    return engine


def _take_turns(engines: Sequence[Engine], rounds: Sequence[EventBatch], best: list[list[int]]) -> None:
    for number, batch in enumerate(rounds):
        for at in _turns(number):
            begin = perf_counter_ns()
            engines[at].feed(batch)
            best[at][number] = min(best[at][number], perf_counter_ns() - begin)


def _take_turns_singly(engines: Sequence[Engine], rounds: Sequence[list[Event]], best: list[list[int]]) -> None:
    for number, events in enumerate(rounds):
        for at in _turns(number):
            taken, _ = feed_singly(engines[at], events)
            best[at][number] = min(best[at][number], sum(taken))


def _turns(number: int) -> tuple[int, int]:
    """Give who is first in a round: now one, now the other, for the second finds the events in the cache."""
    return (0, 1) if number % 2 else (1, 0)
