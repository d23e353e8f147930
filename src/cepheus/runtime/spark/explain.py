"""How a detection runs, in words: what is split how and why, what goes where, what Spark leaves out by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from cepheus.core.schema import EventType
from cepheus.core.time import format_duration
from cepheus.plan.split import ByBand, ByKey, BySlice, RuleGroup, Whole
from cepheus.runtime.spark.layout import TYPE
from cepheus.runtime.spark.planning import Planned
from cepheus.runtime.spark.routing import routed_value

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_SKEW = 2
"""A key is skewed if its events are more than this many times what a shard would get on average."""


def explain(planned: Planned) -> str:
    """Describe how rules are split and why not better, what each event type is dealt out by, what Spark leaves out."""
    return "\n".join([*_groups(planned), *_inputs(planned)]) + "\n"


def _groups(planned: Planned) -> Iterator[str]:
    for group in planned.split.groups:
        names = ", ".join(str(rule.name) for rule in group.rules)
        shards = 1 if isinstance(group.way, Whole) else planned.options.shards
        yield f"{'rule' if len(group.rules) == 1 else 'rules'} {names}: {_way(group)}, {_counted(shards, 'shard')}"
        yield from (f"  {line}" for line in _dealing(group))
        yield from (f"  {reason}" for reason in group.reasons)


def _way(group: RuleGroup) -> str:
    match group.way:
        case ByKey():
            return "split by keys"
        case ByBand():
            return "split by bands"
        case BySlice():
            return "split by time"
        case Whole():
            return "not split"


def _dealing(group: RuleGroup) -> Iterator[str]:
    match group.way:
        case ByKey(attributes=attributes):
            yield "; ".join(f"{name} by {attribute}" for name, attribute in attributes.items())
        case ByBand(attributes=attributes, margins=margins):
            yield "; ".join(
                f"{name} by {attribute}" + (f", copied to bands within {margins[name]:g}" if margins[name] else "")
                for name, attribute in attributes.items()
            )
        case BySlice(reaches=reaches):
            yield "; ".join(
                f"{name} copied to slices of the next {format_duration(reach)}" if reach else f"{name} not copied"
                for name, reach in reaches.items()
            )
        case Whole():
            yield f"all of {', '.join(group.inputs)}" if group.inputs else "no events"


def _inputs(planned: Planned) -> Iterator[str]:
    for event_type in planned.inputs.values():
        columns = ", ".join(attribute.name for attribute in event_type.attributes)
        read = f"columns {columns}" if columns else "no attributes"
        yield f"events {event_type.name}: {read}; {_pushed(planned, event_type)}"
        if left := planned.left_to_engine.get(event_type.name):
            yield f"  not left out by Spark, as only the engine knows the errors: {', '.join(left)}"


def _pushed(planned: Planned, event_type: EventType) -> str:
    if event_type.name not in planned.pushed:
        return "there are none in the data"
    condition = planned.pushed[event_type.name]
    return "all rows" if condition is None else f"rows where {condition.words}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def skew(planned: Planned) -> list[str]:
    """Look at the data and tell which keys have so many events that more shards would not help; runs a Spark job."""
    found: list[str] = []
    for group in planned.split.groups:
        if isinstance(group.way, ByKey):
            found += _skewed(planned, group, group.way)
    return found


def _skewed(planned: Planned, group: RuleGroup, way: ByKey) -> Iterator[str]:
    from pyspark.sql import functions as f

    frames = [
        source.frame.select(_key(planned, way, source.types).cast("string").alias("key"))
        for source in planned.sources
        if any(name in way.attributes for name in source.types)
    ]
    counts = _together(frames).groupBy("key").count()
    row = counts.agg(f.sum("count"), f.max("count"), f.max_by("key", "count")).first()
    if row is None or not row[0]:
        return
    total, most, key = row[0], row[1], row[2]
    if most * planned.options.shards > _SKEW * total:
        names = ", ".join(str(rule.name) for rule in group.rules)
        what = "the undefined key" if key is None else f"the key '{key}'"
        yield f"{what} has {100 * most / total:.0f}% of the events of {names}; one shard will have at least as many"


def _together(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.union(other), frames)


def _key(planned: Planned, way: ByKey, types: Sequence[str]) -> Column:
    from pyspark.sql import functions as f

    key = f.lit(None).cast("string")
    for name in types:
        if name in way.attributes:
            own = routed_value(planned.inputs[name], way.attributes[name], planned.events)[0].cast("string")
            key = f.when(f.col(TYPE) == planned.events.types.index(name), own).otherwise(key)
    return key
