"""Where events go: the shards of each row, as expressions that Spark computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING

from cepheus.core.schema import TIME_ATTRIBUTE, EventType
from cepheus.core.values import ValueType
from cepheus.plan.split import ByBand, ByKey, BySlice, RuleGroup, Whole
from cepheus.runtime.spark.layout import HOME, SHARD, TIME, TYPE, EventLayout
from cepheus.runtime.spark.placement import Placement, with_slack
from cepheus.runtime.spark.prepare import Prepared

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True, slots=True)
class Routed:
    """A group of rules, the numbers of its shards, and where they lie if it goes by bands or slices."""

    group: RuleGroup
    shards: range
    placement: Placement | None = None


def route(
    sources: Sequence[Prepared], routed: Sequence[Routed], inputs: Mapping[str, EventType], layout: EventLayout
) -> DataFrame:
    """The rows of all sources, each as often as there are shards that need it, with the shard's number."""
    frames = [_route_one(source, routed, inputs, layout) for source in sources]
    return reduce(lambda one, other: one.unionByName(other), frames)


def _route_one(
    source: Prepared, routed: Sequence[Routed], inputs: Mapping[str, EventType], layout: EventLayout
) -> DataFrame:
    from pyspark.sql import functions as f

    needing = [group for group in routed if any(name in group.group.inputs for name in source.types)]
    if len(needing) == 1 and isinstance(needing[0].group.way, ByKey | Whole):
        (group,) = needing  # each row goes to one shard: no need to make copies
        shard = _by_type(source, layout, lambda name: _one_shard(group, inputs[name], layout))
        return source.frame.withColumns({SHARD: shard.cast("int"), **_home(layout)})
    arrays = [_by_type(source, layout, partial(_shards_of, group, inputs, layout)) for group in needing]
    copies = f.explode(f.concat(*arrays) if len(arrays) > 1 else arrays[0])
    exploded = source.frame.withColumn("to", copies)
    columns = list(source.frame.columns)
    homes = [f.col("to.home").alias(HOME)] if layout.homes else []
    return exploded.select(*columns, f.col("to.shard").alias(SHARD), *homes)


def _home(layout: EventLayout) -> dict[str, Column]:
    from pyspark.sql import functions as f

    return {HOME: f.lit(True)} if layout.homes else {}


def _by_type(source: Prepared, layout: EventLayout, expression: Callable[[str], Column]) -> Column:
    """Choose an expression by the event type of a row; there is one for all types where they are the same."""
    from pyspark.sql import functions as f

    found: dict[str, tuple[Column, list[str]]] = {}
    for name in source.types:
        made = expression(name)
        found.setdefault(str(made), (made, []))[1].append(name)
    *cases, (last, _) = found.values()
    result = last
    for made, names in cases:
        result = f.when(f.col(TYPE).isin([layout.types.index(name) for name in names]), made).otherwise(result)
    return result


def _one_shard(routed: Routed, event_type: EventType, layout: EventLayout) -> Column:
    """The shard of an event in a group that sends each event to one."""
    from pyspark.sql import functions as f

    first, count = routed.shards.start, len(routed.shards)
    way = routed.group.way
    if not isinstance(way, ByKey) or count == 1:
        return f.lit(first)
    value, kind = routed_value(event_type, way.attributes[event_type.name], layout)
    if way.as_doubles and kind is ValueType.INT:
        value = value.cast("double")
    if kind is ValueType.FLOAT:
        value += 0.0  # the two zeros are equal
    return f.pmod(f.xxhash64(value), f.lit(count)).cast("int") + first


def _shards_of(routed: Routed, inputs: Mapping[str, EventType], layout: EventLayout, name: str) -> Column:
    """The shards of an event of a type, and whether each of them owns it, as an array."""
    from pyspark.sql import functions as f

    event_type = inputs[name]
    group, first = routed.group, routed.shards.start
    if event_type.name not in group.inputs:
        return f.array().cast("array<struct<shard:int,home:boolean>>")
    match group.way:
        case ByKey() | Whole():
            shard = _one_shard(routed, event_type, layout).cast("int")
            return f.array(f.struct(shard.alias("shard"), f.lit(True).alias("home")))
        case ByBand(attributes=attributes, margins=margins):
            assert routed.placement is not None
            value, _ = routed_value(event_type, attributes[event_type.name], layout)
            value = f.coalesce(value.cast("double"), f.lit(0.0))  # an event without a number matters only by itself
            home = routed.placement.home(value)
            shards = routed.placement.between(*with_slack(value, margins[event_type.name]))
        case BySlice(reaches=reaches):
            assert routed.placement is not None
            time = f.col(TIME)
            home = routed.placement.home(time)
            shards = routed.placement.between(time, _later(time, reaches[event_type.name]))
    return f.transform(
        shards, lambda shard: f.struct((shard + first).cast("int").alias("shard"), (shard == home).alias("home"))
    )


def _later(time: Column, reach: int) -> Column:
    from pyspark.sql import functions as f

    return f.coalesce(f.try_add(time, f.lit(reach)), f.lit(2**63 - 1))


def routed_value(event_type: EventType, name: str, layout: EventLayout) -> tuple[Column, ValueType]:
    """The column of an attribute, or of the time, of events of a type, and what it holds."""
    from pyspark.sql import functions as f

    if name == TIME_ATTRIBUTE:
        return f.col(TIME), ValueType.TIMESTAMP
    attribute = event_type.attribute(name)
    assert attribute is not None
    assert attribute.type is not None
    return f.col(layout.name_of((name, attribute.type))), attribute.type
