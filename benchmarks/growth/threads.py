"""What threads are worth: questions on one thread and on two, beside a loop that has nothing to share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numba import njit

from benchmarks.measuring.timing import Say, Timing, best, timed
from benchmarks.workloads.questions import WORKLOADS
from benchmarks.workloads.streams import Coding, type_column
from benchmarks.workloads.subject import Subject
from cepheus.core.errors import CepheusError

ENGINE = "columns"
PLAIN_LOOP = "a plain loop"
KEYLESS = "keyless each"
IN_ONE_WINDOW = "keyless each, a batch within one window"
QUESTIONS = ("F-last", "F-each", "F-avg", "S3-last", "S3-each")
_LOOP_STEPS = 10_000_000


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """The time of a workload on so many threads, and how many times as fast that is as on one, by the wall clock."""

    workload: str
    threads: int
    events: int
    composites: int
    timing: Timing
    speedup: float


def thread_rows(repeat: int, say: Say, *, rules: int, events: int, in_window: int = 5_000) -> Iterator[ThreadRow]:
    """Measure the questions, a rule without a key over windows of so many events, and a loop that shares nothing.

    Rules that ask for one attribute get five times as many events as sets of ``rules``.
    """
    yield from _loop(repeat, say)
    for name in QUESTIONS:
        workload = WORKLOADS[name]
        size = events if workload.selection else 5 * events
        yield from _question(name, Subject.of(workload.rules(rules)), workload.events(size), repeat, say)
    rule = f"define Pair() from Late() and each Early() within {in_window} ms from Late"
    yield from _question(KEYLESS, Subject.of(rule), keyless(events // 2), repeat, say)
    yield from _question(IN_ONE_WINDOW, Subject.of(rule), keyless(2 * in_window, 10), repeat, say, filling=in_window)


def keyless(count: int, each: int = 100) -> pa.Table:
    """Events Early, a millisecond apart, and one of ``each`` so many Late.

    >>> keyless(1000).column("type").to_pylist().count("Late")
    10
    """
    codes = (np.arange(count) % each == each - 1).astype(np.int32)
    return pa.table(
        {"type": type_column(codes, ("Early", "Late"), Coding.DICTIONARY), "time": np.arange(count, dtype=np.int64)}
    )


def _question(
    name: str, subject: Subject, events: pa.Table, repeat: int, say: Say, *, filling: int = 0
) -> Iterator[ThreadRow]:
    """Time feeding on one thread and on two in turn, each time to a new engine, from batch to columns in chunks.

    So many events for ``filling`` are fed before.
    """
    say(f"1 and 2 threads, {name}")
    everything = subject.batch(events)
    before, batch = everything.slice(0, filling), everything.slice(filling, len(everything))
    timings: dict[int, list[Timing]] = {1: [], 2: []}
    counts = {1: 0, 2: 0}
    for _ in range(repeat + 1):  # the first one only makes room
        for threads, taken in timings.items():
            engine = subject.engine(ENGINE, threads)
            engine.feed(before)
            timing, found = timed(partial(engine.feed, batch))
            taken.append(timing)
            counts[threads] = len(found)
            del found
    if counts[1] != counts[2]:
        raise CepheusError.of("measurement", f"{name} on 1 and 2 threads: {counts[1]} and {counts[2]}")
    rows = {threads: best(taken[1:]) for threads, taken in timings.items()}
    for threads, timing in rows.items():
        yield ThreadRow(name, threads, len(batch), counts[threads], timing, rows[1].wall / timing.wall)


def _loop(repeat: int, say: Say) -> Iterator[ThreadRow]:
    """A compiled loop over registers, twice: one after the other, and at the same time."""
    say(f"1 and 2 threads, {PLAIN_LOOP}")
    _spin(1)
    with ThreadPoolExecutor(2) as pool:
        one = [timed(partial(_all_of, lambda work: [work(), work()]))[0] for _ in range(repeat + 1)]
        two = [timed(partial(_all_of, partial(_at_once, pool)))[0] for _ in range(repeat + 1)]
    first, second = best(one), best(two)
    yield ThreadRow(PLAIN_LOOP, 1, 2 * _LOOP_STEPS, 0, first, 1.0)
    yield ThreadRow(PLAIN_LOOP, 2, 2 * _LOOP_STEPS, 0, second, first.wall / second.wall)


def _all_of(run: Callable[[Callable[[], int]], list[int]]) -> list[int]:
    return run(partial(_spin, _LOOP_STEPS))


def _at_once(pool: ThreadPoolExecutor, work: Callable[[], int]) -> list[int]:
    return [future.result() for future in [pool.submit(work), pool.submit(work)]]


@njit(nogil=True)
def _spin(steps: int) -> int:
    """Shift a number about, each time by what the time before has made of it: no compiler takes several at once."""
    state = 1
    for _ in range(steps):
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
    return state
