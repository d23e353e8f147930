"""Measures a question on Spark: our rule, Spark's bare cost of moving the same rows, and Spark SQL."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow.parquet as pq

from benchmarks.measuring.timing import Say, Timing, best, timed_family
from benchmarks.spark.queries import QUESTIONS, SparkQuestion
from benchmarks.workloads.streams import Coding, fire
from cepheus.runtime.spark.detect import Detection, detect
from cepheus.runtime.spark.layout import SHARD
from cepheus.runtime.spark.planning import place_groups
from cepheus.runtime.spark.routing import route
from cepheus.runtime.spark.session import spark_session

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

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


@dataclass(frozen=True, slots=True)
class SparkRow:
    """A question measured: seconds of each contender, and how many composite events all of them found.

    ``ours_small`` and ``natural`` are of ``small`` events, everything else of ``events``. ``ours`` is with a shuffle,
    ``files`` where tasks read their slices of time themselves.
    """

    name: str
    how: str
    events: int
    composites: int
    ours: Timing
    files: Timing
    identity: Timing
    best: Timing
    small: int
    ours_small: Timing
    natural: Timing


@dataclass(frozen=True, slots=True)
class SparkMeasured:
    """All questions, and the seconds of the first detection of a session, beside those of a plain job."""

    rows: tuple[SparkRow, ...]
    first: float
    first_plain: float


def measure_spark(repeat: int, say: Say, scale: Scale = SPARK_FULL) -> SparkMeasured:
    """Measure every question with the best of so many repeats, after a run that warms up."""
    spark = spark_session(f"local[{scale.cores}]", options={"spark.driver.memory": "6g"}, silent=True)
    spark.conf.set("spark.sql.shuffle.partitions", str(scale.cores))
    with tempfile.TemporaryDirectory() as folder:
        data = _Data(spark, Path(folder), say)
        first_plain, first = _first(data, scale)
        rows = tuple(_measure(question, data, repeat, say, scale) for question in QUESTIONS)
    spark.stop()
    return SparkMeasured(rows, first, first_plain)


class _Data:
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


def _first(data: _Data, scale: Scale) -> tuple[float, float]:
    """Time a plain job once the workers run, and the first detection, for which they load the engine."""
    frame = data.frame(min(scale.events, 1000), rain=False)

    def plain() -> None:
        _run(frame.repartition(scale.cores).mapInArrow(_identity(), frame.schema))

    plain()
    before, _ = timed_family(plain)
    after, _ = timed_family(lambda: _run(_detect(QUESTIONS[0], frame, scale).dataframe))
    return before.wall, after.wall


def _measure(question: SparkQuestion, data: _Data, repeat: int, say: Say, scale: Scale) -> SparkRow:
    small = data.frame(scale.slow, rain=question.rain)
    ours_small = _best(question, "ours, few events", lambda: _detect(question, small, scale).dataframe, repeat, say)
    natural = _best(question, "Spark SQL as it comes to mind", lambda: data.query(question.natural), 1, say)
    _agree(question, _detect(question, small, scale).dataframe.count(), data.query(question.natural).count())
    frame = data.frame(scale.events, rain=question.rain)
    ours = _best(question, "ours", lambda: _detect(question, frame, scale).dataframe, repeat, say)
    files = _best(question, "files", lambda: _detect(question, frame, scale, "files").dataframe, repeat, say)
    _agree(question, _detect(question, frame, scale, "files").dataframe.count(), _found(question, frame, scale))
    identity = _best(question, "rows through Python", lambda: _through_python(question, frame, scale), repeat, say)
    expert = _best(question, "the best Spark SQL", lambda: data.query(question.best), repeat, say)
    composites = _detect(question, frame, scale).dataframe.count()
    _agree(question, composites, data.query(question.best).count())
    return SparkRow(
        question.name,
        question.how,
        scale.events,
        composites,
        ours,
        files,
        identity,
        expert,
        scale.slow,
        ours_small,
        natural,
    )


def _best(question: SparkQuestion, who: str, make: Callable[[], DataFrame], repeat: int, say: Say) -> Timing:
    timings = []
    for number in range(repeat + (repeat > 1)):  # the first run warms up
        say(f"{question.name}: {who}")
        timing, _ = timed_family(lambda: _run(make()))
        if number or repeat == 1:
            timings.append(timing)
    return best(timings)


def _detect(
    question: SparkQuestion, frame: DataFrame, scale: Scale, read: Literal["spark", "files"] = "spark"
) -> Detection:
    return detect(question.rule, frame, time_unit="ms", shards=scale.cores, read=read)


def _found(question: SparkQuestion, frame: DataFrame, scale: Scale) -> int:
    return _detect(question, frame, scale).dataframe.count()


def _through_python(question: SparkQuestion, frame: DataFrame, scale: Scale) -> DataFrame:
    """The rows that our engine gets, dealt out in the same way and sent through Python untouched."""
    planned = _detect(question, frame, scale).planned
    routed = place_groups(planned, {})
    rows = route(planned.sources, routed, planned.inputs, planned.events)
    return rows.repartitionById(scale.cores, SHARD).mapInArrow(_identity(), rows.schema)


def _identity() -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that does nothing; a lambda goes to the workers whole, which need not find this package."""
    return lambda rows: rows


def _run(frame: DataFrame) -> None:
    """Compute all rows and throw them away."""
    frame.write.format("noop").mode("overwrite").save()


def _agree(question: SparkQuestion, ours: int, theirs: int) -> None:
    if ours != theirs:
        raise AssertionError(f"{question.name}: {ours} composite events, but the query finds {theirs}")
