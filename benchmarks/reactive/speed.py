"""A graph of ten signals over readings of temperature, fed in batches and one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.measuring.timing import Say, Timing, best, timed
from cepheus.core.batch import EventBatch
from cepheus.core.time import MILLISECOND
from cepheus.core.values import ValueType
from cepheus.reactive import Reactor, Signal
from cepheus.typed import Event

SIGNALS = 10
BATCH = 65_536
SEED = 7


class Temp(Event):
    """A reading."""

    area: str
    value: float


@dataclass(frozen=True, slots=True)
class Load:
    """How many events are fed."""

    in_batches: int
    singly: int


FULL = Load(4_000_000, 2_000)
QUICK = Load(20_000, 50)


@dataclass(frozen=True, slots=True)
class Pace:
    """How long it took to let so many events through the graph, and how often its signals changed."""

    name: str
    events: int
    timing: Timing
    changes: int

    @property
    def rate(self) -> float:
        """Events a second of the core that does the work."""
        return self.events / self.timing.cpu


def signals(reactor: Reactor) -> list[Signal[Any]]:
    """Ten signals: latest values, two windows, what is computed from them, a condition over it all."""
    temp = reactor.latest(Temp.value)
    in_a = reactor.latest(Temp.value, Temp.area == "A")
    number = reactor.count(Temp, within="1 s")
    mean = reactor.avg(Temp.value, within="1 s")
    every = reactor.count(Temp)
    fahrenheit = temp * 1.8 + 32
    above = temp - mean
    gap = temp - in_a
    hot = temp > 30
    alarm = hot & (above > 10) & (number >= 100)
    return [temp, in_a, number, mean, every, fahrenheit, above, gap, hot, alarm]


def batches(events: int) -> list[EventBatch]:
    """Readings a millisecond apart, drawn from a seed."""
    random = np.random.default_rng(SEED)
    made = []
    for start in range(0, events, BATCH):
        count = min(BATCH, events - start)
        values = pa.array(random.normal(20, 10, count).round(2))
        areas = pa.array(random.choice(np.array(["A", "B", "C"], object), count), pa.string())
        times = (np.arange(start, start + count) * MILLISECOND).astype(np.int64)
        columns = {("area", ValueType.STRING): areas, ("value", ValueType.FLOAT): values}
        made.append(EventBatch(("Temp",), np.zeros(count, np.int32), times, columns, ids=range(start, start + count)))
    return made


def paces(repeat: int, say: Say, load: Load) -> list[Pace]:
    """Measure; the best of several runs counts."""
    say("signals, in batches")
    whole = batches(load.in_batches)
    say("signals, event by event")
    single = [part.slice(row, row + 1) for part in batches(load.singly) for row in range(len(part))]
    return [
        _pace("in batches", load.in_batches, repeat, whole, observed=False),
        _pace("in batches, alarms told", load.in_batches, repeat, whole, observed=True),
        _pace("event by event, alarms told", load.singly, repeat, single, observed=True),
    ]


def _pace(name: str, events: int, repeat: int, given: list[EventBatch], *, observed: bool) -> Pace:
    _run(given[:1], observed=observed)()
    runs = [timed(_run(given, observed=observed)) for _ in range(repeat)]
    return Pace(name, events, best(timing for timing, _ in runs), runs[0][1])


def _run(given: list[EventBatch], *, observed: bool) -> Callable[[], int]:
    reactor = Reactor()
    made = signals(reactor)
    assert len(made) == SIGNALS
    alarms: list[object] = []
    if observed:
        made[-1].observe(alarms.append)

    def work() -> int:
        for batch in given:
            reactor.feed(batch)
        assert all(signal.value is not None for signal in made[:1])
        return len(alarms)

    return work
