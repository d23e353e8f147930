"""A finite input: rows dealt out to shards by Spark, sorted by time, streamed through an engine per shard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cepheus.runtime.spark.layout import SHARD, TIME
from cepheus.runtime.spark.shard import Job

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def run_batch(routed: DataFrame, job: Job) -> DataFrame:
    """Give the composite events in rows that know their shards.

    Each shard is one partition. Spark sorts it by time alone, which it does fastest; ties are settled in Python.
    """
    shards = max(group.shards.stop for group in job.groups)
    dealt = routed.repartitionById(shards, SHARD).sortWithinPartitions(TIME)

    def work(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return job.run(rows)

    return dealt.mapInArrow(work, job.composites.sql)
