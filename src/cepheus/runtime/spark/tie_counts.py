"""What the tasks of a finite input count of simultaneous events, on its way to who asks for it after an action.

Rows that come out of a shuffle bring the counts along: every task gives one row more than it found, one without a time,
whose type is the counts as JSON. Spark adds them up on the way, as observed metrics, and leaves those rows out. That
looks at every row once more, which is much where little else is done with rows: tasks that read files themselves
report their counts beside the rows instead. They have Spark's own driver, which that takes, and are known by number.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from cepheus.core.errors import OptionError
from cepheus.engine.base.ties import TieCounts
from cepheus.runtime.spark.layout import CompositeLayout

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.accumulators import Accumulator
    from pyspark.sql import Column, DataFrame, Observation

_PATIENCE = 10.0
"""Seconds that metrics may take to arrive after the rows."""


class CountedTies(Protocol):
    """Where counts are once all rows have been asked for."""

    def ties(self) -> TieCounts:
        """The counts of one run; OptionError if rows have not been asked for yet."""


@dataclass(frozen=True, slots=True)
class ReportedTies:
    """Counts that tasks report beside their rows, by their numbers: a task that is run twice counts once."""

    tasks: int
    reported: Accumulator[dict[int, dict[str, Any]]]

    @classmethod
    def of(cls, context: SparkContext, tasks: int) -> ReportedTies:
        """Begin without a report."""
        from cepheus.runtime.spark.reports import Reports

        return cls(tasks, context.accumulator({}, Reports()))

    def ties(self) -> TieCounts:
        """The sum over all tasks."""
        found = self.reported.value
        if len(found) < self.tasks:
            raise _not_yet()
        return sum((TieCounts.from_dict(each) for each in found.values()), TieCounts.none())


@dataclass(frozen=True, slots=True)
class ObservedTies:
    """Counts that Spark adds up from the rows that carry them: those of the first action."""

    observation: Observation

    def ties(self) -> TieCounts:
        """The sum over all rows."""
        deadline = time.monotonic() + _PATIENCE
        while not _is_there(self.observation):
            if time.monotonic() > deadline:
                raise _not_yet()
            time.sleep(0.01)
        found = self.observation.get
        uncounted = tuple(sorted({name for text in found["uncounted"] for name in json.loads(text)}))
        decided, passed_over = found["decided"], found["passed_over"]
        if not uncounted:
            decided, passed_over = decided or 0, passed_over or 0
        return TieCounts(decided, passed_over, bool(found["at_least"]), uncounted)


def counts_row(layout: CompositeLayout, ties: TieCounts) -> pa.RecordBatch:
    """The row that carries counts."""
    fields = layout.fields
    text = pa.array([json.dumps(ties.to_dict())], pa.string())
    return pa.RecordBatch.from_arrays([text, *(pa.nulls(1, field.type) for field in list(fields)[1:])], fields.names)


def with_counts_taken(rows: DataFrame) -> tuple[DataFrame, ObservedTies]:
    """Take the rows that carry counts out of the others; also returns where the counts will be."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    def told(name: str) -> Column:
        return f.when(f.col("time").isNull(), f.get_json_object("type", f"$.{name}"))

    observation = Observation()
    observed = rows.observe(
        observation,
        f.sum(told("decided").cast("bigint")).alias("decided"),
        f.sum(told("passed_over").cast("bigint")).alias("passed_over"),
        f.max(told("at_least").cast("boolean")).alias("at_least"),
        f.collect_set(told("uncounted")).alias("uncounted"),
    )
    return observed.where("time is not null"), ObservedTies(observation)


def _not_yet() -> OptionError:
    return OptionError.of(
        "ties",
        "what was counted of simultaneous events is known only when rows have been asked for",
        hint="call this after an action, such as dataframe.write or dataframe.collect()",
    )


def _is_there(observation: Observation) -> bool:
    """Whether metrics have arrived: to ask for them before would wait for ever."""
    java = getattr(observation, "_jo", None)
    if java is not None:
        return bool(java.future().isCompleted())
    return getattr(observation, "_result", None) is not None  # Spark Connect
