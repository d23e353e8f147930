"""What measurements of batches on Spark share: their size, generated events in files, jobs that are timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

import pyarrow.parquet as pq

from benchmarks.measuring.timing import Say, Timing, best, timed_family
from benchmarks.spark.queries import SparkQuestion
from benchmarks.workloads.streams import Coding, fire
from cepheus.runtime.spark.detect import Detection, detect
from cepheus.runtime.spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Read = Literal["spark", "files"]
"""Who reads the events: Spark, which then shuffles them, or the tasks themselves."""

_FILES = 4
_SEEDS = {False: 7, True: 9}


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured; ``slow`` is how many events quadratic queries get."""

    events: int = 20_000_000
    slow: int = 1_000_000
    cores: int = 2


SPARK_FULL = Scale()
SPARK_QUICK = Scale(events=20_000, slow=10_000)


@contextmanager
def generated(scale: Scale, say: Say) -> Iterator[Data]:
    """Streams of events that Spark can read, for as long as they are needed."""
    spark = spark_session(f"local[{scale.cores}]", options={"spark.driver.memory": "6g"}, silent=True)
    spark.conf.set("spark.sql.shuffle.partitions", str(scale.cores))
    try:
        with TemporaryDirectory() as folder:
            yield Data(spark, Path(folder), say)
    finally:
        spark.stop()


class Data:
    """Parquet files of generated events, each stream written once."""

    def __init__(self, spark: SparkSession, folder: Path, say: Say) -> None:
        self._spark = spark
        self._folder = folder
        self._say = say

    def frame(self, count: int, *, rain: bool) -> DataFrame:
        """A stream of so many events as a DataFrame, also as the view that queries read."""
        path = self._folder / f"{'rain' if rain else 'fire'}-{count}"
        if not path.exists():
            self._say(f"writing {count:,} events")
            path.mkdir()
            table = fire(count, _SEEDS[rain], Coding.PLAIN, rain=rain)
            part = -(-count // _FILES)
            for number in range(_FILES):
                pq.write_table(table.slice(number * part, part), path / f"{number}.parquet", row_group_size=500_000)
        frame = self._spark.read.parquet(str(path))
        frame.createOrReplaceTempView("events")
        return frame

    def query(self, text: str) -> DataFrame:
        """What a query finds in the stream that was given last."""
        return self._spark.sql(text)


def best_of(question: SparkQuestion, who: str, make: Callable[[], DataFrame], repeat: int, say: Say) -> Timing:
    """The best of so many runs of a job; if there is more than one, a further one warms up."""
    timings = []
    for number in range(repeat + (repeat > 1)):  # the first run warms up
        say(f"{question.name}: {who}")
        timing, _ = timed_family(lambda: run(make()))
        if number or repeat == 1:
            timings.append(timing)
    return best(timings)


def detected(question: SparkQuestion, frame: DataFrame, scale: Scale, read: Read = "spark") -> Detection:
    """Our answer to a question, the events read by Spark and shuffled, or by the tasks themselves."""
    return detect(question.rule, frame, time_unit="ms", shards=scale.cores, read=read)


def run(frame: DataFrame) -> None:
    """Compute all rows and throw them away."""
    frame.write.format("noop").mode("overwrite").save()


def require_equal(question: SparkQuestion, ours: int, theirs: int) -> None:
    """Stop if two ways have found different numbers of composite events."""
    if ours != theirs:
        raise AssertionError(f"{question.name}: {ours} composite events, but the query finds {theirs}")
