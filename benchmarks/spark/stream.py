"""Measures a streaming query under a steady load: does it keep up, how long do micro-batches take, does its state grow?

Every second a file with a second's worth of events arrives, whether or not the query is ready for it. Event time is
the time of arrival, so the window of five minutes holds what five minutes bring, and the state is full only after
that; a run is longer than that, and the first part of it is not counted.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measuring.timing import Say
from benchmarks.spark.backlog import TOGETHER, BacklogMeasured, backlog, started
from cepheus.core.time import SECOND
from cepheus.runtime.spark.detect import Detection, detect
from cepheus.runtime.spark.metrics import METRICS
from cepheus.runtime.spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SCHEMA = "type string, time timestamp, area long, value double"
_VARIANTS = 8
_START = 1_700_000_000 * SECOND


@dataclass(frozen=True, slots=True)
class StreamScale:
    """How much is measured: events a second, keys, the window and the run in seconds, how much of it is not counted.

    ``operator`` is the load of the operator of Spark's, for ``operator_seconds``; ``backlog`` are seconds' worth of
    events that are all there.
    """

    rate: int = 300_000
    keys: int = 1_000
    window: int = 300
    seconds: int = 480
    warm_up: int = 120
    cores: int = 2
    backlog: int = 45
    operator: int = 150_000
    operator_seconds: int = 120
    operator_warm_up: int = 30


STREAM_FULL = StreamScale()
STREAM_QUICK = StreamScale(
    rate=2_000,
    keys=50,
    window=5,
    seconds=12,
    warm_up=4,
    backlog=25,
    operator=1_000,
    operator_seconds=12,
    operator_warm_up=4,
)


@dataclass(frozen=True, slots=True)
class Load:
    """How a query did under a steady load, after its warm-up.

    ``offered`` and ``taken`` are events a second, ``lag`` the seconds of events that waited at the end, ``batches`` the
    seconds of each micro-batch.
    """

    offered: int
    taken: float
    lag: float
    batches: tuple[float, ...]

    @property
    def share(self) -> float:
        """Which part of the load was processed."""
        return self.taken / self.offered

    def batch_seconds(self, share: float) -> float:
        """How long micro-batches take: a share of them is not longer."""
        return float(np.quantile(self.batches, share)) if self.batches else float("nan")


@dataclass(frozen=True, slots=True)
class StreamMeasured:
    """What the measurements showed.

    ``load`` is that of ``write_stream``, ``state`` the bytes of its state after each micro-batch, ``operator`` the
    load of Spark's operator, ``backlog`` what was measured with all events there.
    """

    scale: StreamScale
    load: Load
    state: tuple[int, ...]
    composites: int
    late: int
    operator: Load
    backlog: BacklogMeasured

    @property
    def growth(self) -> float:
        """How the largest state of the last third of the run compares with that of the third before."""
        third = max(len(self.state) // 3, 1)
        before, last = self.state[-2 * third : -third] or self.state, self.state[-third:]
        return max(last, default=0) / max(*before, 1)


def stream(say: Say, scale: StreamScale) -> StreamMeasured:
    """Run a streaming query under load."""
    options = {"spark.sql.streaming.numRecentProgressUpdates": "100000"}
    say("starting Spark")
    spark = spark_session(f"local[{scale.cores}]", name="cepheus bench streaming", options=options)
    try:
        with tempfile.TemporaryDirectory(prefix="cepheus-bench-") as name:
            return _measure(spark, Path(name), say, scale)
    finally:
        spark.stop()


def _measure(spark: SparkSession, folder: Path, say: Say, scale: StreamScale) -> StreamMeasured:
    arriving, there = folder / "arriving", folder / "there"
    arriving.mkdir()
    there.mkdir()
    rule = (
        "define Fire(area: int, temp: double) from Smoke(area=$a) and "
        f"last Temp(area=$a and value>45) within {scale.window} s from Smoke "
        "where area = Smoke.area and temp = Temp.value"
    )

    def found_in(events: DataFrame) -> Detection:
        return detect(rule, events, lateness="1 second", shards=scale.cores, name=METRICS)

    seconds = _seconds(scale)
    for number in range(scale.backlog):
        _arrive(seconds, there, number)
    events = spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", TOGETHER).parquet(str(there))
    full = backlog(events, found_in(events), folder, TOGETHER * scale.rate, say)
    query = found_in(_arriving(spark, arriving, seconds)).write_stream("noop", checkpoint=folder / "checkpoint")
    query.process_all_available()
    say("streaming query under load")
    arrived = _offer(seconds, arriving, scale.seconds, say)
    load, counted = _judged(scale.rate, scale.warm_up, query.query.recentProgress, arrived)
    query.end_between()
    metrics = [each for each in query.progress.recent if each.batch in counted]
    return StreamMeasured(
        scale,
        load,
        state=tuple(metric.state_bytes for metric in metrics),
        composites=sum(sum(metric.composites.values()) for metric in metrics),
        late=sum(metric.late for metric in metrics),
        operator=_operator(spark, folder, say, scale, found_in),
        backlog=full,
    )


def _operator(
    spark: SparkSession, folder: Path, say: Say, scale: StreamScale, found_in: Callable[[DataFrame], Detection]
) -> Load:
    """Let the operator of Spark's work under its load, with the same rule and keys."""
    arriving = folder / "arriving-for-operator"
    arriving.mkdir()
    seconds = _seconds(replace(scale, rate=scale.operator))
    found = found_in(_arriving(spark, arriving, seconds)).dataframe
    query = started(found, folder / "checkpoint-of-operator")
    query.processAllAvailable()
    say("operator of Spark's under load")
    arrived = _offer(seconds, arriving, scale.operator_seconds, say)
    load, _ = _judged(scale.operator, scale.operator_warm_up, query.recentProgress, arrived)
    query.stop()
    return load


def _arriving(spark: SparkSession, folder: Path, seconds: Sequence[pa.Table]) -> DataFrame:
    """The events that arrive in a folder; a first file is there, so that compiling and starting workers is not part
    of the load.
    """
    _arrive(seconds, folder, 0)
    return spark.readStream.schema(_SCHEMA).parquet(str(folder))


def _offer(seconds: Sequence[pa.Table], folder: Path, count: int, say: Say) -> int:
    """Let so many files arrive, one a second; gives how many did."""
    load = _Arrivals(seconds, folder, count)
    load.start()
    while load.is_alive():
        load.join(5)
        say(f"under load, {load.arrived} of {count} s")
    return load.arrived


def _judged(rate: int, warm_up: int, progress: Sequence[Any], arrived: int) -> tuple[Load, set[int]]:
    """Count what came after the warm-up, and in which micro-batches; the first file came before the load."""
    progress = [each for each in progress if each["numInputRows"]]
    taken = np.cumsum([each["numInputRows"] for each in progress]) / rate - 1
    counted = [each for each, seconds in zip(progress, taken.tolist(), strict=True) if seconds > warm_up]
    load = Load(
        rate,
        taken=sum(each["numInputRows"] for each in counted) / (arrived - warm_up),
        lag=arrived - float(taken[-1]),
        batches=tuple(each["durationMs"]["triggerExecution"] / 1000 for each in counted),
    )
    return load, {each["batchId"] for each in counted}


def _seconds(scale: StreamScale) -> list[pa.Table]:
    """Some seconds' worth of events, with times from 0 to a second."""
    random = np.random.default_rng(7)
    tables = []
    for _ in range(_VARIANTS):
        smoke = random.random(scale.rate) < 0.1
        tables.append(
            pa.table(
                {
                    "type": pa.array(np.where(smoke, "Smoke", "Temp")),
                    "time": pa.array(np.sort(random.integers(0, SECOND, scale.rate))),
                    "area": pa.array(random.integers(0, scale.keys, scale.rate)),
                    "value": pa.array(np.round(100 * random.random(scale.rate), 3), mask=smoke),
                }
            )
        )
    return tables


def _arrive(seconds: Sequence[pa.Table], folder: Path, number: int) -> None:
    """Let the events of a second appear at once."""
    table = seconds[number % len(seconds)]
    times = pa.array(table.column("time").to_numpy() + _START + number * SECOND).cast(pa.timestamp("us", tz="UTC"))
    hidden = folder / f"_{number:06}.parquet"
    pq.write_table(table.set_column(1, "time", times), hidden, compression="snappy")
    hidden.rename(folder / f"{number:06}.parquet")


class _Arrivals(threading.Thread):
    """Lets a file arrive every second, whatever the query does."""

    def __init__(self, seconds: Sequence[pa.Table], folder: Path, count: int) -> None:
        super().__init__(name="load", daemon=True)
        self._seconds = seconds
        self._folder = folder
        self._count = count
        self.arrived = 0

    def run(self) -> None:
        """Write the files."""
        begin = time.monotonic()
        for number in range(1, self._count + 1):
            time.sleep(max(0.0, begin + number - time.monotonic()))
            _arrive(self._seconds, self._folder, number)
            self.arrived = number
