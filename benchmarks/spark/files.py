"""Measures Parquet files that tasks read themselves, by slices of time, beside the same events shuffled by Spark.

Both ways in one session, on the same files, which are in order of time; what they find is compared.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.measuring.timing import Say, Timing
from benchmarks.spark.jobs import SPARK_FULL, Data, Scale, best_of, detected, generated, require_equal
from benchmarks.spark.queries import QUESTIONS, SparkQuestion


@dataclass(frozen=True, slots=True)
class FilesRow:
    """A question asked in both ways of so many events."""

    name: str
    events: int
    composites: int
    shuffled: Timing
    files: Timing

    @property
    def gain(self) -> float:
        """How many times as fast the way without a shuffle is."""
        return self.shuffled.wall / self.files.wall


def measure_files(repeat: int, say: Say, scale: Scale = SPARK_FULL) -> tuple[FilesRow, ...]:
    """Measure every question with the best of so many repeats, after a run that warms up."""
    with generated(scale, say) as data:
        return tuple(_measure(question, data, repeat, say, scale) for question in QUESTIONS)


def _measure(question: SparkQuestion, data: Data, repeat: int, say: Say, scale: Scale) -> FilesRow:
    frame = data.frame(scale.events, rain=question.rain)
    shuffled = best_of(question, "shuffled", lambda: detected(question, frame, scale).dataframe, repeat, say)
    files = best_of(question, "files", lambda: detected(question, frame, scale, "files").dataframe, repeat, say)
    composites = detected(question, frame, scale, "files").dataframe.count()
    require_equal(question, composites, detected(question, frame, scale).dataframe.count())
    return FilesRow(question.name, scale.events, composites, shuffled, files)
