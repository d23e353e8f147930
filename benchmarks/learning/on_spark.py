"""Twenty million events, learned from on Spark: what is found, how long it takes, how much is collected."""

from __future__ import annotations

import tempfile
import time as clock
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.learning.experiment import DEFAULT, Samples, fresh_result, load, run, save
from benchmarks.learning.generator import TARGET, Case, draw, labelled_by, stream
from benchmarks.reports.section import Bar
from cepheus.core.batch import EventBatch
from cepheus.core.time import MINUTE

PIECES = 20
"""A million events each, with a minute of nothing between them, so that each can be labelled alone."""

LEAST_F1 = 0.95
MOST_COLLECTED = 1_500_000
"""Events in the driver: about 1.2 million, and those before false alarms."""

DRIVER = {"spark.driver.memory": "1g", "spark.driver.maxResultSize": "128m"}
"""Twenty million events would not fit: a job whose results are larger than that fails."""

_NAME = f"learning, spark {PIECES * DEFAULT.length:,} events"


@dataclass(frozen=True, slots=True)
class OnSpark:
    """What was learned on Spark, and of the first piece in one process."""

    f1: float
    seconds: float
    collected: int
    alone: float


def bench_on_spark(say: Callable[[str], None]) -> list[Bar]:
    """Learn one hidden rule from twenty million events; what was measured is kept."""
    samples = load()
    if f"{_NAME}: F1" not in samples:
        found = _measured(say)
        _keep(samples, found)
        save(samples)
    return bars(samples)


def _keep(samples: Samples, found: OnSpark) -> None:
    for measure, value in (
        ("F1", found.f1),
        ("seconds", found.seconds),
        ("collected", float(found.collected)),
        ("F1 alone", found.alone),
    ):
        samples[f"{_NAME}: {measure}"] = {1: round(value, 6)}


def bars(samples: Samples) -> list[Bar]:
    """What must be reached there, if it has been measured."""
    if f"{_NAME}: F1" not in samples:
        return []
    f1, seconds, collected, alone = (
        samples[f"{_NAME}: {measure}"][1] for measure in ("F1", "seconds", "collected", "F1 alone")
    )
    events = f"{PIECES * DEFAULT.length:,} events on Spark local[2]"
    return [
        Bar(
            f"{events}, F1",
            f"at least {LEAST_F1}, and that of a million of them in one process",
            f"{f1:.3f}, in one process {alone:.3f}, after {seconds:.0f} s",
            f1 >= LEAST_F1 and f1 >= alone - 0.01,
        ),
        Bar(
            f"{events}, events in the driver",
            f"at most {MOST_COLLECTED:,}",
            f"{collected:,.0f}",
            collected <= MOST_COLLECTED,
        ),
    ]


def _measured(say: Callable[[str], None]) -> OnSpark:
    import cepheus.spark
    from cepheus.runtime.spark.session import spark_session

    case = draw(DEFAULT, 100)
    alone = run(case)
    with tempfile.TemporaryDirectory() as folder:
        for number, piece in enumerate(_pieces(case)):
            say(f"writing piece {number + 1} of {PIECES}")
            pq.write_table(_table(piece), Path(folder) / f"{number:02}.parquet")
        spark = spark_session("local[2]", name="cepheus bench learning", options=DRIVER, silent=True)
        try:
            started = clock.perf_counter()
            learned = cepheus.spark.learn(
                spark.read.parquet(folder), TARGET, say=lambda what, best: say(f"{what}, best F1 {best:.3f}")
            )
            seconds = clock.perf_counter() - started
        finally:
            spark.stop()
    found = fresh_result(case, learned.outcome, seconds)
    return OnSpark(found.f1, seconds, len(learned.outcome.history.batch), alone.f1)


def _pieces(case: Case) -> Iterator[EventBatch]:
    """The labelled history of the case, and others after it in time."""
    yield case.history
    end = int(case.history.times[-1])
    for number in range(1, PIECES):
        batch = stream(case.scenario, case.scenario.length, np.random.default_rng([100, number]))
        piece = labelled_by(case.rule, batch, after=end + MINUTE)
        end = int(piece.times[-1])
        yield piece


def _table(batch: EventBatch) -> pa.Table:
    names = pa.array(batch.types).take(pa.array(batch.codes))
    times = pa.array(batch.times).cast(pa.timestamp("us", tz="UTC"))
    return pa.table({"type": names, "time": times, **{name: column for (name, _), column in batch.columns.items()}})
