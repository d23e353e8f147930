"""A million pending deadlines: throughput beside the same rule that looks back, and how long a snapshot takes."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import cepheus
from benchmarks.measuring.timing import Say
from cepheus.core.batch import EventBatch
from cepheus.core.values import ValueType

FULL, QUICK = 1_000_000, 5_000
"""How many deadlines are pending at any time."""

_BATCH = 50_000
_KEYS = 10_000


@dataclass(frozen=True, slots=True)
class Pending:
    """Deadlines that are pending, events a second with a timer and with a look back, seconds of a snapshot."""

    deadlines: int
    with_timer: float
    looking_back: float
    saved: float
    restored: float

    @property
    def ratio(self) -> float:
        """Throughput with the timer, as a part of that of the rule that looks back."""
        return self.with_timer / self.looking_back


def pending_deadlines(repeat: int, say: Say, deadlines: int = FULL) -> Pending:
    """Measure; every event is a question that sets a deadline, and one in four is answered."""
    say(f"{deadlines:,} pending deadlines")
    ahead, back = f"within {deadlines} us after Ask", f"within {deadlines} us from Ask"
    best = dict.fromkeys((ahead, back), 0.0)
    saved = restored = float("inf")
    for _ in range(repeat):
        for scope in best:
            program = cepheus.compile(
                f"define Lost(k: int) from Ask(k=$k) and not Answer(k=$k) {scope} where k=$k",
            )
            session = program.start(engine="columns")
            for batch in _batches(0, deadlines):
                session.feed(batch)
            given = _batches(deadlines, deadlines + max(_BATCH, deadlines // 2))
            begin = time.perf_counter()
            for batch in given:
                session.feed(batch)
            best[scope] = max(best[scope], sum(map(len, given)) / (time.perf_counter() - begin))
            if scope == ahead:
                begin = time.perf_counter()
                data = session.snapshot()
                middle = time.perf_counter()
                program.start(snapshot=data)
                saved, restored = min(saved, middle - begin), min(restored, time.perf_counter() - middle)
    return Pending(deadlines, best[ahead], best[back], saved, restored)


def _batches(begin: int, end: int) -> list[EventBatch]:
    """Events one microsecond apart; of the keys, one in four is answered some time after it was asked for."""
    found = []
    for start in range(begin, end, _BATCH):
        times = np.arange(start, min(start + _BATCH, end), dtype=np.int64)
        answers = times % 5 == 4
        keys = np.where(answers, (times // 5) % (_KEYS // 4), times % _KEYS)
        columns = {("k", ValueType.INT): pa.array(keys)}
        found.append(EventBatch(("Ask", "Answer"), answers.astype(np.int32), times, columns))
    return found
