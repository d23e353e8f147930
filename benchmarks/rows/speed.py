"""How fast row patterns run on one core, Arrow in memory, beside loops written by hand and timed in the same run.

``cepheus bench rows`` prints it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.measuring.timing import Say, Timing, best, timed
from benchmarks.rows import by_hand
from cepheus import match_recognize

PARTITIONS = 1000
GAP = 3_000_000
FULL, QUICK = 10_000_000, 20_000

VALLEYS = """MATCH_RECOGNIZE (PARTITION BY key
    MEASURES FIRST(price) AS start, LAST(DOWN.price) AS bottom, LAST(UP.price) AS top
    PATTERN (STRT DOWN+ UP+)
    DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price))"""
SESSIONS = f"""MATCH_RECOGNIZE (PARTITION BY key ORDER BY time
    MEASURES FIRST(time) AS start, LAST(time) AS finish, count(*) AS events
    PATTERN (A B*)
    DEFINE B AS time - PREV(time) < INTERVAL '{GAP}' MICROSECOND)"""
SPENDING = """MATCH_RECOGNIZE (PARTITION BY key
    MEASURES FIRST(price) AS start, LAST(price) AS last, count(*) AS events
    PATTERN ((A | B)+ C)
    DEFINE A AS price < 500 AND sum(price) <= 4000, B AS price >= 500 AND sum(price) <= 4000,
           C AS sum(price) > 4000)"""
BUDGET = 4000


@dataclass(frozen=True, slots=True)
class Pace:
    """A pattern: rows, matches, the best times of the engine and of the loop by hand."""

    name: str
    pattern: str
    rows: int
    matches: int
    engine: Timing
    by_hand: Timing

    @property
    def rows_per_second(self) -> float:
        """Rows the engine takes in a second of CPU time."""
        return self.rows / self.engine.cpu

    @property
    def ratio(self) -> float:
        """How many times as long as the loop by hand the engine takes, in CPU time."""
        return self.engine.cpu / self.by_hand.cpu


def table(rows: int, seed: int = 1) -> pa.Table:
    """Rows of 1,000 partitions, mixed, in order of time."""
    random = np.random.default_rng(seed)
    keys = pa.array([f"k{number}" for number in range(PARTITIONS)])
    return pa.table(
        {
            "key": pa.DictionaryArray.from_arrays(pa.array(random.integers(0, PARTITIONS, rows, np.int32)), keys),
            "price": random.integers(0, 1000, rows).astype(np.float64),
            "time": pa.array(np.cumsum(random.integers(0, 2000, rows)), pa.timestamp("us", tz="UTC")),
        }
    )


@dataclass(frozen=True, slots=True)
class _Case:
    name: str
    pattern: str
    query: str
    loop: Callable[[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]], int]


CASES = (
    _Case(
        "valleys",
        "STRT DOWN+ UP+",
        VALLEYS,
        lambda keys, prices, _: len(by_hand.valleys(keys, prices, PARTITIONS)),
    ),
    _Case(
        "sessions",
        "A B* with a gap",
        SESSIONS,
        lambda keys, _, times: len(by_hand.sessions(keys, times, PARTITIONS, GAP)),
    ),
    _Case(
        "spending",
        "(A | B)+ C with sums",
        SPENDING,
        lambda keys, prices, _: len(by_hand.spending(keys, prices, PARTITIONS, BUDGET)),
    ),
)


def paces(rows: int, repeat: int, say: Say = lambda _: None) -> list[Pace]:
    """Measure all patterns; a loop by hand must find as many matches as the engine."""
    data = table(rows)
    keys = data.column("key").combine_chunks().indices.to_numpy()
    prices = data.column("price").to_numpy()
    times = data.column("time").cast(pa.int64()).to_numpy()
    found = []
    for case in CASES:
        say(f"row patterns: {case.name}, {rows:,} rows")
        found.append(_pace(case, data, partial(case.loop, keys, prices, times), repeat))
    return found


def _pace(case: _Case, data: pa.Table, loop: Callable[[], int], repeat: int) -> Pace:
    match_recognize(case.query, data.slice(0, 1000))
    loop()  # compiled now
    engine, hand = [], []
    for _ in range(repeat):
        taken, found = timed(lambda: match_recognize(case.query, data).num_rows)
        own, wanted = timed(loop)
        if found != wanted:
            raise AssertionError(f"{case.name}: the engine finds {found} matches, the loop {wanted}")
        engine.append(taken)
        hand.append(own)
    return Pace(case.name, case.pattern, data.num_rows, found, best(engine), best(hand))
