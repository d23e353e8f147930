"""Measures Parquet files that tasks read themselves, by slices of time, beside the same events shuffled by Spark.

Both ways by turns in one session, on the same files, which are in order of time; what they find is compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.measuring.timing import Say, Timing, best, timed_family
from benchmarks.spark.jobs import SPARK_FULL, Data, Read, Scale, detected, generated, require_equal, run
from benchmarks.spark.queries import QUESTIONS, SparkQuestion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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
    """Measure every question with the best of so many repeats, after a run that counts and warms up."""
    with generated(scale, say) as data:
        return tuple(_measure(question, data, repeat, say, scale) for question in QUESTIONS)


def _measure(question: SparkQuestion, data: Data, repeat: int, say: Say, scale: Scale) -> FilesRow:
    frame = data.frame(scale.events, rain=question.rain)
    taken: dict[Read, list[Timing]] = {"spark": [], "files": []}
    found = {}
    for read in taken:
        say(f"{question.name}: counting, {read}")
        found[read] = detected(question, frame, scale, read).dataframe.count()  # which also warms up
    require_equal(question, found["files"], found["spark"])
    for _ in range(repeat):
        for read, timings in taken.items():
            say(f"{question.name}: {read}")
            timings.append(timed_family(partial(_run, question, frame, scale, read))[0])
    return FilesRow(question.name, scale.events, found["files"], best(taken["spark"]), best(taken["files"]))


def _run(question: SparkQuestion, frame: DataFrame, scale: Scale, read: Read) -> None:
    run(detected(question, frame, scale, read).dataframe)
