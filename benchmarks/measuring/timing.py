"""Time spent on something, and the best of several times."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

T = TypeVar("T")


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
    """Give the shortest times; what is longer has been disturbed.

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
    """Give mean and percentiles of times that were taken one by one.

    >>> spread([1000, 2000, 3000])
    Spread(mean=2.0, p50=2.0, p99=2.98, worst=3.0)
    """
    each = np.asarray(nanoseconds, np.float64) / 1000
    p50, p99 = np.percentile(each, [50, 99]).tolist()
    return Spread(float(each.mean()), p50, p99, float(each.max()))


def best_spread(spreads: Sequence[Spread]) -> Spread:
    """Give the least of each figure over several runs.

    >>> best_spread([Spread(2, 1, 5, 9), Spread(1, 2, 4, 8)])
    Spread(mean=1, p50=1, p99=4, worst=8)
    """
    return Spread(
        mean=min(each.mean for each in spreads),
        p50=min(each.p50 for each in spreads),
        p99=min(each.p99 for each in spreads),
        worst=min(each.worst for each in spreads),
    )
