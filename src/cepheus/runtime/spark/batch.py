"""A finite input: rows dealt out to shards by Spark, sorted by time, streamed through an engine per shard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheus.core.schema import EventType
from cepheus.plan.split import ByBand, BySlice, RuleGroup
from cepheus.runtime.spark.layout import SHARD, TIME, TYPE
from cepheus.runtime.spark.planning import Planned, place_groups
from cepheus.runtime.spark.routing import Edges, route, routed_value
from cepheus.runtime.spark.shard import Job
from cepheus.runtime.spark.tie_counts import ObservedTies, counts_row, with_counts_taken

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


_ACCURACY = 1000
"""How exactly edges between shards are found; the shards' sizes differ by at most this part of all."""


def batch(planned: Planned) -> tuple[DataFrame, ObservedTies]:
    """Detect the composite events of a finite input; returns them, and where counts of simultaneous events will be.

    To find where bands and slices begin and end, Spark looks at the data once, here; all else waits to be asked for.
    """
    edges = {
        number: _edges(planned, group)
        for number, group in enumerate(planned.split.groups)
        if isinstance(group.way, ByBand | BySlice)
    }
    routed = place_groups(planned, {number: Edges(found) for number, found in edges.items()})
    by_time = {
        routed[number].shards.start: tuple(int(edge) for edge in found)
        for number, found in edges.items()
        if isinstance(routed[number].group.way, BySlice)
    }
    rows = route(planned.sources, routed, planned.inputs, planned.events)
    return run_batch(rows, planned.job(routed, by_time, _first_and_last(planned)))


def _first_and_last(planned: Planned) -> tuple[int, int] | None:
    """The times of the first and the last event where rules have timers: time goes on in all shards alike."""
    from pyspark.sql import functions as f

    if not planned.times:
        return None
    together = reduce(lambda one, other: one.union(other), planned.times)
    row = together.agg(f.min(TIME), f.max(TIME)).first()
    return None if row is None or row[0] is None else (int(row[0]), int(row[1]))


def run_batch(routed: DataFrame, job: Job) -> tuple[DataFrame, ObservedTies]:
    """Run the engines on rows that know their shards; returns what they find, and where the counts of ties will be.

    Each shard is one partition. Spark sorts it by time alone, which it does fastest; ties are settled in Python.
    """
    shards = max(group.shards.stop for group in job.groups)
    dealt = _marked(routed, job.awake).repartitionById(shards, SHARD).sortWithinPartitions(TIME)

    def work(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        ties = yield from job.run(rows)
        yield counts_row(job.composites, ties)

    found, counts = with_counts_taken(dealt.mapInArrow(work, job.composites.sql))
    return found.select(*job.composites.shown()) if job.composites.uncertain else found, counts


def _marked(routed: DataFrame, shards: Sequence[int]) -> DataFrame:
    """Add a row to some shards that is no event and has no column but the shard's number."""
    if not shards:
        return routed
    marks = routed.sparkSession.createDataFrame([(shard,) for shard in shards], f"{SHARD} int")
    return routed.unionByName(marks, allowMissingColumns=True)


def _edges(planned: Planned, group: RuleGroup) -> Sequence[float]:
    """The numbers or times at which one shard ends and the next begins, so that all get about as many events."""
    from pyspark.sql import functions as f

    count = planned.options.shards
    frames = [
        source.frame.select(_line(planned, group, source.types).alias("place"))
        for source in planned.sources
        if any(name in group.inputs for name in source.types)
    ]
    if count == 1 or not frames:
        return ()
    together = reduce(lambda one, other: one.union(other), frames)
    parts = [number / count for number in range(1, count)]
    row = together.agg(f.percentile_approx("place", parts, _ACCURACY)).first()
    found = None if row is None else row[0]
    return sorted(set(found or ()))


def _line(planned: Planned, group: RuleGroup, types: Sequence[str]) -> Column:
    """The number or time by which events of some types are dealt out."""
    from pyspark.sql import functions as f

    if isinstance(group.way, BySlice):
        return f.col(TIME)
    assert isinstance(group.way, ByBand)
    value = f.lit(None).cast("double")
    for name in types:
        if name in group.way.attributes:
            event_type: EventType = planned.inputs[name]
            own = routed_value(event_type, group.way.attributes[name], planned.events)[0].cast("double")
            value = f.when(f.col(TYPE) == planned.events.types.index(name), own).otherwise(value)
    return value
