"""What shards give, on its way through Spark's stateful operator, which takes pandas frames.

Columns keep their Arrow types in pandas, so that integers beside nulls stay integers. Times travel as integers and
become timestamps again in Spark. Every call of a shard gives at least one row, which carries what it has counted; the
rows without an event are left out once the counts have been taken.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

from cepheus.core.batch import EventBatch
from cepheus.core.values import ValueType
from cepheus.engine.base.ties import TieCounts
from cepheus.runtime.spark.checkpoint_rules import DESCRIBED, Described
from cepheus.runtime.spark.layout import CompositeLayout
from cepheus.runtime.spark.state_machine import Outcome

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructType

LATE = "late"
"""The column of events that came too late, as JSON; null for composite events."""

_LATE = "__late"
_COUNTS = ("events", "late", "composites", "state_bytes")
_TIES = ("ties_decided", "ties_passed_over", "ties_at_least", "ties_uncounted")


def answer_schema(layout: CompositeLayout, described: Described) -> StructType:
    """The schema of the rows that a shard returns: the columns of the layout by number, late events, counts.

    The first count also carries, on its way to where queries are started, what the state of the shards goes with.
    """
    from pyspark.sql.types import ArrayType, BooleanType, DataType, DoubleType, LongType, StringType, StructType

    types: dict[pa.DataType, DataType] = {
        pa.string(): StringType(),
        pa.bool_(): BooleanType(),
        pa.int64(): LongType(),
        pa.float64(): DoubleType(),
        ValueType.TIMESTAMP.arrow: LongType(),
        pa.list_(pa.string()): ArrayType(StringType()),
    }
    schema = StructType()
    for number, field in enumerate(layout.fields):
        schema.add(f"c{number}", types[field.type])
    schema.add("late_event", StringType())
    for name in (*_COUNTS, *_TIES):
        schema.add(f"n_{name}", LongType(), metadata=_note(described) if name == _COUNTS[0] else None)
    return schema


def _note(described: Described) -> dict[str, Any]:
    return {DESCRIBED: json.dumps(described.to_json())}


def answer(
    layout: CompositeLayout, outcome: Outcome, events: int, missed: int, late: EventBatch | None
) -> pd.DataFrame:
    """The rows for what a call led to.

    ``events`` is how many it was given, ``missed`` how many late ones it tells of, ``late`` those to be given back.
    """
    composites = outcome.composites
    parts = [layout.rows(composites)] if len(composites) else []
    texts: list[str | None] = [None] * len(composites)
    if late is not None:
        parts.append(late_rows(layout, late))
        texts += [json.dumps(event) for event in late.to_dicts()]
    found = _frame(parts, texts) if parts else _frame([_row(layout)], [None])
    counts = (events, missed, len(composites), outcome.head.size)
    for name, count in zip(_COUNTS, counts, strict=True):
        found[f"n_{name}"] = [count] + [0] * (len(found) - 1)
    ties = outcome.ties
    none: list[int | None] = [None] * (len(found) - 1)  # where nobody counts, Spark adds up to null and not to 0
    told = (ties.decided, ties.passed_over, int(ties.at_least), int(bool(ties.uncounted)))
    for name, number in zip(_TIES, told, strict=True):
        found[f"n_{name}"] = _series(pa.array([number, *none], pa.int64()))
    return found


def finished(answers: DataFrame, layout: CompositeLayout, metrics: str, *, late: bool) -> DataFrame:
    """Take the counts, and give composite events, on request late events as well, as the user sees them.

    A micro-batch in which no shard has anything to do counts nothing, which is 0 and not unknown.
    """
    from pyspark.sql import functions as f

    counts = [f.coalesce(f.sum(f"n_{name}"), f.lit(0)).alias(name) for name in _COUNTS]
    counts += [f.sum(f"n_{name}").alias(name) for name in _TIES]
    columns = [
        (f.timestamp_micros(f.col(f"c{number}")) if pa.types.is_timestamp(field.type) else f.col(f"c{number}")).alias(
            field.name
        )
        for number, field in enumerate(layout.fields)
    ]
    events = answers.observe(metrics, *counts).where("c0 is not null")
    named = events.select(*columns, f.col("late_event").alias(_LATE))
    return named.select(*layout.shown(), *([f.col(_LATE).alias(LATE)] if late else []))


def ties_of(query: StreamingQuery, metrics: str) -> dict[int, TieCounts]:
    """What the micro-batches in a query's progress counted of simultaneous events, by their numbers.

    ``metrics`` is what the counts of the detection are called.
    """
    found: dict[int, TieCounts] = {}
    for progress in query.recentProgress:
        observed = progress["observedMetrics"].get(metrics, ())
        counts = dict(zip((*_COUNTS, *_TIES), observed, strict=False))  # by place: Connect does not tell the names
        if counts.get("ties_at_least") is not None:  # else no shard had anything to do
            decided, passed_over, at_least, missing = (counts[name] for name in _TIES)
            uncounted = ("an engine",) if missing else ()
            found[progress["batchId"]] = TieCounts(decided, passed_over, bool(at_least), uncounted)
    return found


def _row(layout: CompositeLayout) -> pa.RecordBatch:
    """A row without an event."""
    fields = layout.fields
    return pa.RecordBatch.from_arrays([pa.nulls(1, field.type) for field in fields], fields.names)


def late_rows(layout: CompositeLayout, late: EventBatch) -> pa.RecordBatch:
    """Turn late events into rows among composite events, with their types and times alone."""
    fields = layout.fields
    bare = CompositeLayout((), (), provenance=False).rows(late)
    rest = [pa.nulls(len(late), field.type) for field in list(fields)[bare.num_columns :]]
    return pa.RecordBatch.from_arrays([*bare.columns, *rest], fields.names)


def _frame(parts: Sequence[pa.RecordBatch], late: Sequence[str | None]) -> pd.DataFrame:
    """Join rows into a frame; each column is one array, as Spark expects."""
    (rows,) = pa.Table.from_batches(parts).combine_chunks().to_batches()
    columns = {f"c{number}": _series(column) for number, column in enumerate(rows.columns)}
    return pd.DataFrame({**columns, "late_event": _series(pa.array(late, pa.string()))})


def _series(column: pa.Array) -> pd.Series:
    if pa.types.is_list(column.type):
        return pd.Series(column.to_pylist(), dtype=object)
    if pa.types.is_timestamp(column.type):
        column = column.view(pa.int64())
    return pd.Series(pd.arrays.ArrowExtensionArray(column))
