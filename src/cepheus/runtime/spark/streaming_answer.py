"""What shards give, on its way through Spark's stateful operator, which takes pandas frames.

Columns keep their Arrow types in pandas, so that integers beside nulls stay integers. Times travel as integers and
become timestamps again in Spark. Every call of a shard gives at least one row, which carries what it has counted; the
rows without an event are left out once the counts have been taken.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from cepheus.core.batch import EventBatch
from cepheus.core.values import ValueType
from cepheus.engine.ties import TieCounts
from cepheus.runtime.spark.layout import CompositeLayout
from cepheus.runtime.spark.state_machine import Outcome
from cepheus.runtime.spark.ties import fields_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

METRICS = "cepheus"
"""The name of the observed metrics in the progress of a streaming query."""

LATE = "late"
"""The column of events that came too late, as JSON; null for composite events."""

_LATE = "__late"
_COUNTS = ("events", "late", "composites", "state_bytes")
_TIES = ("ties_decided", "ties_passed_over", "ties_at_least")
_SQL = {
    pa.string(): "string",
    pa.bool_(): "boolean",
    pa.int64(): "bigint",
    pa.float64(): "double",
    ValueType.TIMESTAMP.arrow: "bigint",
    pa.list_(pa.string()): "array<string>",
}


def answer_schema(layout: CompositeLayout) -> str:
    """Give the schema of the rows that a shard gives: the columns of the layout by number, late events, counts."""
    columns = [f"c{number} {_SQL[field.type]}" for number, field in enumerate(fields_of(layout))]
    return ", ".join([*columns, "late_event string", *(f"n_{name} bigint" for name in (*_COUNTS, *_TIES))])


def answer(layout: CompositeLayout, outcome: Outcome, events: int, late: EventBatch | None) -> pd.DataFrame:
    """Give the rows for what a call led to; ``events`` is how many it was given, ``late`` those to be given back."""
    composites = outcome.composites
    parts = [layout.rows(composites)] if len(composites) else []
    texts: list[str | None] = [None] * len(composites)
    if late is not None:
        parts.append(_late_rows(layout, late))
        texts += [json.dumps(event) for event in late.to_dicts()]
    found = _frame(parts, texts) if parts else _frame([_row(layout)], [None])
    missed = 0 if outcome.late is None else outcome.late.num_rows
    counts = (events, missed, len(composites), outcome.head.size)
    for name, count in zip(_COUNTS, counts, strict=True):
        found[f"n_{name}"] = [count] + [0] * (len(found) - 1)
    ties = outcome.ties
    none: list[int | None] = [None] * (len(found) - 1)  # where nobody counts, Spark adds up to null and not to 0
    for name, number in zip(_TIES, (ties.decided, ties.passed_over, int(ties.at_least)), strict=True):
        found[f"n_{name}"] = _series(pa.array([number, *none], pa.int64()))
    return found


def finished(answers: DataFrame, layout: CompositeLayout, *, late: bool) -> DataFrame:
    """Take the counts, and give composite events, on request late events as well, as the user sees them."""
    from pyspark.sql import functions as f

    counts = [f.sum(f"n_{name}").alias(name) for name in (*_COUNTS, *_TIES)]
    columns = [
        (f.timestamp_micros(f.col(f"c{number}")) if pa.types.is_timestamp(field.type) else f.col(f"c{number}")).alias(
            field.name
        )
        for number, field in enumerate(fields_of(layout))
    ]
    events = answers.observe(METRICS, *counts).where("c0 is not null")
    named = events.select(*columns, f.col("late_event").alias(_LATE))
    return named.select(*layout.shown(), *([f.col(_LATE).alias(LATE)] if late else []))


def ties_of(query: StreamingQuery) -> dict[int, TieCounts]:
    """Give what the micro-batches in a query's progress counted of simultaneous events, by their numbers."""
    found: dict[int, TieCounts] = {}
    for progress in query.recentProgress:
        observed = progress["observedMetrics"].get(METRICS, ())
        metrics = dict(zip((*_COUNTS, *_TIES), observed, strict=False))  # by place: Connect does not tell the names
        if metrics.get("events") is not None:  # else no shard had anything to do
            decided, passed_over, at_least = (metrics[name] for name in _TIES)
            uncounted = ("an engine",) if decided is None else ()
            found[progress["batchId"]] = TieCounts(decided, passed_over, bool(at_least), uncounted)
    return found


def _row(layout: CompositeLayout) -> pa.RecordBatch:
    """Give a row without an event."""
    fields = fields_of(layout)
    return pa.RecordBatch.from_arrays([pa.nulls(1, field.type) for field in fields], fields.names)


def _late_rows(layout: CompositeLayout, late: EventBatch) -> pa.RecordBatch:
    """Give late events as rows among composite events, with their types and times alone."""
    fields = fields_of(layout)
    bare = CompositeLayout((), (), provenance=False).rows(late)
    rest = [pa.nulls(len(late), field.type) for field in list(fields)[bare.num_columns :]]
    return pa.RecordBatch.from_arrays([*bare.columns, *rest], fields.names)


def _frame(parts: Sequence[pa.RecordBatch], late: Sequence[str | None]) -> pd.DataFrame:
    """Give rows as a frame; each column is one array, as Spark expects."""
    (rows,) = pa.Table.from_batches(parts).combine_chunks().to_batches()
    columns = {f"c{number}": _series(column) for number, column in enumerate(rows.columns)}
    return pd.DataFrame({**columns, "late_event": _series(pa.array(late, pa.string()))})


def _series(column: pa.Array) -> pd.Series:
    if pa.types.is_list(column.type):
        return pd.Series(column.to_pylist(), dtype=object)
    if pa.types.is_timestamp(column.type):
        column = column.view(pa.int64())
    return pd.Series(pd.arrays.ArrowExtensionArray(column))
