"""How fast row patterns run on one core, Arrow in memory, beside a loop written by hand and timed in the same run.

``python -m benchmarks.rows.speed [rows]`` prints it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.measuring.timing import Timing, best, timed
from benchmarks.rows import by_hand
from cepheus import match_recognize

PARTITIONS = 1000
GAP = 3_000_000

VALLEYS = """MATCH_RECOGNIZE (PARTITION BY key
    MEASURES FIRST(price) AS start, LAST(DOWN.price) AS bottom, LAST(UP.price) AS top
    PATTERN (STRT DOWN+ UP+)
    DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price))"""
SESSIONS = f"""MATCH_RECOGNIZE (PARTITION BY key ORDER BY time
    MEASURES FIRST(time) AS start, LAST(time) AS finish, count(*) AS events
    PATTERN (A B*)
    DEFINE B AS time - PREV(time) < INTERVAL '{GAP}' MICROSECOND)"""


@dataclass(frozen=True, slots=True)
class Pace:
    """A pattern: rows, matches, the best times of the engine and of the loop by hand."""

    name: str
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


def paces(rows: int, repeat: int = 3) -> list[Pace]:
    """Measure valleys and sessions."""
    data = table(rows)
    keys = data.column("key").combine_chunks().indices.to_numpy()
    prices = data.column("price").to_numpy()
    times = data.column("time").cast(pa.int64()).to_numpy()
    return [
        _pace("valleys", VALLEYS, data, lambda: len(by_hand.valleys(keys, prices, PARTITIONS)), repeat),
        _pace("sessions", SESSIONS, data, lambda: len(by_hand.sessions(keys, times, PARTITIONS, GAP)), repeat),
    ]


def _pace(name: str, query: str, data: pa.Table, loop: Callable[[], int], repeat: int) -> Pace:
    match_recognize(query, data.slice(0, 1000))
    loop()  # compiled now
    engine, hand = [], []
    for _ in range(repeat):
        taken, found = timed(lambda: match_recognize(query, data).num_rows)
        own, wanted = timed(loop)
        if found != wanted:
            raise AssertionError(f"{name}: the engine finds {found} matches, the loop {wanted}")
        engine.append(taken)
        hand.append(own)
    return Pace(name, data.num_rows, found, best(engine), best(hand))


def main() -> None:
    """Print how fast it is."""
    for pace in paces(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000):
        speed = f"{pace.rows_per_second / 1e6:.1f} million rows/s"
        print(f"{pace.name}: {pace.matches:,} matches, {speed}, {pace.ratio:.1f} times a loop by hand")


if __name__ == "__main__":
    main()
