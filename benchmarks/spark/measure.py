"""Measures a question on Spark: our rule, Spark's bare cost of moving the same rows, and Spark SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.measuring.timing import Say, Timing, timed_family
from benchmarks.spark.jobs import SPARK_FULL, Data, Scale, best_of, detected, generated, require_equal, run
from benchmarks.spark.queries import QUESTIONS, SparkQuestion
from cepheus.runtime.spark.layout import SHARD
from cepheus.runtime.spark.planning import place_groups
from cepheus.runtime.spark.routing import route

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class SparkRow:
    """A question measured: seconds of each contender, and how many composite events all of them found.

    ``ours_small`` and ``natural`` are of ``small`` events, everything else of ``events``.
    """

    name: str
    how: str
    events: int
    composites: int
    ours: Timing
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
    with generated(scale, say) as data:
        first_plain, first = _first(data, scale)
        rows = tuple(_measure(question, data, repeat, say, scale) for question in QUESTIONS)
    return SparkMeasured(rows, first, first_plain)


def _first(data: Data, scale: Scale) -> tuple[float, float]:
    """Time a plain job once the workers run, and the first detection, for which they load the engine."""
    frame = data.frame(min(scale.events, 1000), rain=False)

    def plain() -> None:
        run(frame.repartition(scale.cores).mapInArrow(_identity(), frame.schema))

    plain()
    before, _ = timed_family(plain)
    after, _ = timed_family(lambda: run(detected(QUESTIONS[0], frame, scale).dataframe))
    return before.wall, after.wall


def _measure(question: SparkQuestion, data: Data, repeat: int, say: Say, scale: Scale) -> SparkRow:
    small = data.frame(scale.slow, rain=question.rain)
    ours_small = best_of(question, "ours, few events", lambda: detected(question, small, scale).dataframe, repeat, say)
    natural = best_of(question, "Spark SQL as it comes to mind", lambda: data.query(question.natural), 1, say)
    require_equal(question, detected(question, small, scale).dataframe.count(), data.query(question.natural).count())
    frame = data.frame(scale.events, rain=question.rain)
    ours = best_of(question, "ours", lambda: detected(question, frame, scale).dataframe, repeat, say)
    identity = best_of(question, "rows through Python", lambda: _through_python(question, frame, scale), repeat, say)
    expert = best_of(question, "the best Spark SQL", lambda: data.query(question.best), repeat, say)
    composites = detected(question, frame, scale).dataframe.count()
    require_equal(question, composites, data.query(question.best).count())
    return SparkRow(
        question.name,
        question.how,
        scale.events,
        composites,
        ours,
        identity,
        expert,
        scale.slow,
        ours_small,
        natural,
    )


def _through_python(question: SparkQuestion, frame: DataFrame, scale: Scale) -> DataFrame:
    """The rows that our engine gets, dealt out in the same way and sent through Python untouched."""
    planned = detected(question, frame, scale).planned
    routed = place_groups(planned, {})
    rows = route(planned.sources, routed, planned.inputs, planned.events)
    return rows.repartitionById(scale.cores, SHARD).mapInArrow(_identity(), rows.schema)


def _identity() -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that does nothing; a lambda goes to the workers whole, which need not find this package."""
    return lambda rows: rows
