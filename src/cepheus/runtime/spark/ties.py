"""What shards counted of simultaneous events, on its way from tasks to whoever asked for the rows.

Every task of a batch gives one row more than it found: one without a time, whose type is the counts as JSON. Spark adds
them up on the way, as observed metrics, and leaves those rows out.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cepheus.core.batch import EventBatch, Provenance
from cepheus.core.errors import OptionError
from cepheus.engine.base.ties import TieCounts
from cepheus.runtime.spark.layout import CompositeLayout

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Observation

_NOTHING = EventBatch(
    (), np.empty(0, np.int32), np.empty(0, np.int64), ids=[], provenance=Provenance((), np.empty(0, np.int32), [])
)
_PATIENCE = 10.0
"""Seconds that metrics may take to arrive after the rows."""


def fields_of(layout: CompositeLayout) -> pa.Schema:
    """The columns of composite events as tasks return them."""
    return layout.rows(_NOTHING).schema


def counts_row(layout: CompositeLayout, ties: TieCounts) -> pa.RecordBatch:
    """The row that carries counts."""
    fields = fields_of(layout)
    text = pa.array([json.dumps(ties.to_dict())], pa.string())
    return pa.RecordBatch.from_arrays([text, *(pa.nulls(1, field.type) for field in list(fields)[1:])], fields.names)


def with_counts_taken(rows: DataFrame) -> tuple[DataFrame, Observation]:
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
    return observed.where("time is not null"), observation


def counts_in(observation: Observation) -> TieCounts:
    """The counts of rows that have been asked for; OptionError if nobody has asked for them yet."""
    deadline = time.monotonic() + _PATIENCE
    while not _is_there(observation):
        if time.monotonic() > deadline:
            raise OptionError.of(
                "ties",
                "what was counted of simultaneous events is known only when rows have been asked for",
                hint="call this after an action, such as dataframe.write or dataframe.collect()",
            )
        time.sleep(0.01)
    found = observation.get
    uncounted = tuple(sorted({name for text in found["uncounted"] for name in json.loads(text)}))
    decided, passed_over = found["decided"], found["passed_over"]
    if not uncounted:
        decided, passed_over = decided or 0, passed_over or 0
    return TieCounts(decided, passed_over, bool(found["at_least"]), uncounted)


def _is_there(observation: Observation) -> bool:
    """Whether metrics have arrived: to ask for them before would wait for ever."""
    java = getattr(observation, "_jo", None)
    if java is not None:
        return bool(java.future().isCompleted())
    return getattr(observation, "_result", None) is not None  # Spark Connect
