"""Where events go: the shards of each row, as an expression that Spark computes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from cepheus.plan.split import RuleGroup, Whole
from cepheus.runtime.spark.layout import SHARD
from cepheus.runtime.spark.prepare import Prepared

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def shard_ranges(groups: Sequence[RuleGroup], shards: int) -> list[range]:
    """Number the shards of all groups; a group that stays whole has one."""
    ranges: list[range] = []
    first = 0
    for group in groups:
        count = 1 if isinstance(group.way, Whole) else shards
        ranges.append(range(first, first + count))
        first += count
    return ranges


def route(sources: Sequence[Prepared], groups: Sequence[RuleGroup], ranges: Sequence[range]) -> DataFrame:
    """Give the rows of all sources, each as often as there are shards that need it, with the shard's number."""
    frames = [source.frame.withColumn(SHARD, _shard(groups, ranges)) for source in sources]
    return reduce(lambda one, other: one.unionByName(other), frames)


def _shard(groups: Sequence[RuleGroup], ranges: Sequence[range]) -> Column:
    from pyspark.sql import functions as f

    assert len(groups) == 1
    return f.lit(ranges[0].start).cast("int")
