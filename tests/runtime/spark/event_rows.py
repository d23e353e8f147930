"""Events as the rows that Spark would make of them, for tests that drive shards without Spark."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.schema import Attribute, EventType, Schema
from cepheus.core.values import ValueType, type_of
from cepheus.rules.check import Checked
from cepheus.runtime.spark.layout import ID, SEQUENCE, TIME, TYPE, CompositeLayout, EventLayout, IdKind
from cepheus.runtime.spark.shard import GroupJob, Job


def whole_job(checked: Checked, *, sequenced: bool, ids: IdKind = IdKind.NUMBER, engine: str = "auto") -> Job:
    """Give the job of all rules in one shard."""
    inputs = tuple(checked.inputs.values())
    schema = Schema({**checked.composites, **checked.inputs}.values())
    return Job(
        EventLayout.of(inputs, ids=ids, sequenced=sequenced, marks_owned=False),
        CompositeLayout.of(
            checked.composites, provenance=True, heads=[rule.head.name for rule in checked.rules.interval_rules]
        ),
        (GroupJob(checked.rules.all_rules, schema, RunOptions(engine=engine), range(1)),),
    )


def described(events: Sequence[Event]) -> Schema:
    """Give the types of events as a DataFrame would tell them: every attribute may be null."""
    kinds: dict[str, dict[str, ValueType]] = {}
    for event in events:
        known = kinds.setdefault(event.type, {})
        for name, value in event.attributes.items():
            if value is not None:
                kind = type_of(value)
                known[name] = ValueType.FLOAT if {kind, known.get(name)} >= {ValueType.FLOAT} else kind
    return Schema(
        EventType(name, tuple(Attribute(attribute, kind, optional=True) for attribute, kind in found.items()))
        for name, found in kinds.items()
    )


def rows_of(layout: EventLayout, inputs: Schema, events: Sequence[Event]) -> pa.Table:
    """Give the rows of events, which must have ids; a value goes into the column of the type that it should have."""
    columns: dict[str, pa.Array] = {
        TYPE: pa.array([layout.types.index(event.type) for event in events], pa.int32()),
        TIME: pa.array([event.time for event in events], pa.int64()),
        ID: pa.array([event.id for event in events], pa.string() if layout.ids is IdKind.TEXT else pa.int64()),
    }
    if layout.sequenced:
        columns[SEQUENCE] = pa.array([event.sequence for event in events], pa.int64())
    for name, value_type in layout.columns:
        fitting = {t.name for t in inputs.values() if (a := t.attribute(name)) is not None and a.type is value_type}
        cells = [event.attributes.get(name) if event.type in fitting else None for event in events]
        kind = pa.int64() if value_type is ValueType.TIMESTAMP else value_type.arrow
        columns[layout.name_of((name, value_type))] = pa.array(cells, kind)
    return pa.table(columns)


def write_arrival(table: pa.Table, folder: Path, number: int) -> None:
    """Write a file that arrives after those of smaller numbers: Spark goes by the time of the last change."""
    path = folder / f"{number:04}.parquet"
    hidden = path.with_name(f"_{path.name}")
    pq.write_table(table, hidden)
    os.utime(hidden, (1_700_000_000 + number, 1_700_000_000 + number))
    hidden.rename(path)


_TRIES = 5


def run_what_is_there(writer: Any) -> None:
    """Run a streaming query that ends when its input does; it goes on from its checkpoint if a worker does not begin.

    A worker has ten seconds to begin, which Spark does not let one change and a busy machine does not always give.
    """
    for again in reversed(range(_TRIES)):
        try:
            writer.start().awaitTermination()
            return
        except Exception as error:
            if not again or "failed to connect back" not in str(error):
                raise
