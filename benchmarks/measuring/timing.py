"""Time that something takes: on the wall clock, on the processor, event by event, and what others took meanwhile."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns
from typing import TypeVar

import numpy as np

from cepheus.core.event import Event
from cepheus.engine.base.interface import Engine

T = TypeVar("T")
Say = Callable[[str], None]
"""Tells what is being measured."""

_PROC = Path("/proc")
_USER, _NICE, _SYSTEM, _INTERRUPTS, _SOFT, _STOLEN = 0, 1, 2, 5, 6, 7


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds on the wall clock, and of CPU time in all threads of the process."""

    wall: float
    cpu: float

    def __add__(self, other: Timing) -> Timing:
        return Timing(self.wall + other.wall, self.cpu + other.cpu)


@dataclass(frozen=True, slots=True)
class Spread:
    """How long single steps took, in microseconds."""

    mean: float
    p50: float
    p99: float
    worst: float


def best(timings: Iterable[Timing]) -> Timing:
    """The shortest times; what is longer has been disturbed.

    >>> best([Timing(2.0, 1.0), Timing(1.5, 1.25)])
    Timing(wall=1.5, cpu=1.0)
    """
    timings = list(timings)
    return Timing(min(timing.wall for timing in timings), min(timing.cpu for timing in timings))


def timed(work: Callable[[], T]) -> tuple[Timing, T]:
    """Do some work once, after a garbage collection, and give the time it took and its result."""
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    return Timing(time.perf_counter() - wall, time.process_time() - cpu), result


def spread(nanoseconds: Sequence[int]) -> Spread:
    """Mean and percentiles of times that were taken one by one.

    >>> spread([1000, 2000, 3000])
    Spread(mean=2.0, p50=2.0, p99=2.98, worst=3.0)
    """
    each = np.asarray(nanoseconds, np.float64) / 1000
    p50, p99 = np.percentile(each, [50, 99]).tolist()
    return Spread(float(each.mean()), p50, p99, float(each.max()))


def best_spread(spreads: Sequence[Spread]) -> Spread:
    """The least of each figure over several runs.

    >>> best_spread([Spread(2, 1, 5, 9), Spread(1, 2, 4, 8)])
    Spread(mean=1, p50=1, p99=4, worst=8)
    """
    return Spread(
        mean=min(each.mean for each in spreads),
        p50=min(each.p50 for each in spreads),
        p99=min(each.p99 for each in spreads),
        worst=min(each.worst for each in spreads),
    )


def feed_singly(engine: Engine, events: Sequence[Event]) -> tuple[list[int], int]:
    """Feed events one by one; give the nanoseconds that each took and the number of composite events.

    The time of an event ends when its composite events are there as a list of events.
    """
    taken = [0] * len(events)
    count = 0
    feed = engine.feed_event
    for number, event in enumerate(events):
        begin = perf_counter_ns()
        found = feed(event)
        taken[number] = perf_counter_ns() - begin
        count += len(found)
    return taken, count


def timed_family(work: Callable[[], T]) -> tuple[Timing, T]:
    """Do some work and give its time on the wall clock and the CPU time of this process and all below it.

    Where the system does not tell the times of other processes, only this process counts.
    """
    cpu, wall = _family_seconds(), time.perf_counter()
    result = work()
    return Timing(time.perf_counter() - wall, _family_seconds() - cpu), result


def _family_seconds() -> float:
    if not (_PROC / "self" / "stat").exists():
        return time.process_time()
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended meanwhile
                continue
            pid = int(folder.name)
            parents[pid] = int(fields[1])
            ticks[pid] = sum(map(int, fields[11:15]))  # own and ended children's, user and system
    family = {os.getpid()}
    while True:
        grown = family | {pid for pid, parent in parents.items() if parent in family}
        if grown == family:
            return sum(ticks.get(pid, 0) for pid in family) / os.sysconf("SC_CLK_TCK")
        family = grown


def share_of_others(work: Callable[[], T]) -> tuple[float | None, T]:
    """Do some work; give the share of the machine's time that other processes and other machines had meanwhile.

    The processes that the work starts must have ended when it is done. None where the system does not say.

    >>> share, answer = share_of_others(lambda: 6 * 7)
    >>> answer, share is None or 0.0 <= share <= 1.0
    (42, True)
    """
    before, own, start = _busy(), _own(), time.monotonic()
    result = work()
    after = _busy()
    there = (time.monotonic() - start) * (os.cpu_count() or 1)
    if before is None or after is None:
        return None, result
    return min(1.0, max(0.0, (after - before - (_own() - own)) / there)), result


def _busy() -> float | None:
    """The seconds that the machine's cores were busy, or wanted to be and others on the same hardware were."""
    try:
        ticks = [int(word) for word in (_PROC / "stat").read_text().split("\n", 1)[0].split()[1:]]
    except (OSError, ValueError):
        return None
    return sum(ticks[n] for n in (_USER, _NICE, _SYSTEM, _INTERRUPTS, _SOFT, _STOLEN)) / os.sysconf("SC_CLK_TCK")


def _own() -> float:
    """The seconds of this process and of those that it has started and that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
