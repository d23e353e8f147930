"""Where events go: the shards of each row, as expressions that Spark computes.

Before that, events of all DataFrames become rows of one layout: filtered, pruned and coded by Spark, before anything
reaches Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Protocol

from cepheus.core.batch import ColumnKey
from cepheus.core.schema import TIME_ATTRIBUTE, EventType
from cepheus.core.values import ValueType
from cepheus.plan.split import ByBand, ByKey, BySlice, RuleGroup, Whole
from cepheus.runtime.spark.layout import (
    ID,
    OWNED,
    PROBABILITY,
    SEQUENCE,
    SHARD,
    SQL_TYPES,
    START,
    TIME,
    TYPE,
    EventLayout,
    IdKind,
)
from cepheus.runtime.spark.pushdown import Condition
from cepheus.runtime.spark.sources import Naming, Source, as_kind, column, kind_of, micros

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


MATTERS = "matters"
"""A column, if it is there, that says whether a row is for any shard; one that is not only tells the time."""


@dataclass(frozen=True, slots=True)
class Routed:
    """A group of rules, the numbers of its shards, and where they lie if it goes by bands or slices."""

    group: RuleGroup
    shards: range
    placement: Placement | None = None


def route(
    sources: Sequence[SourceRows], routed: Sequence[Routed], inputs: Mapping[str, EventType], layout: EventLayout
) -> DataFrame:
    """The rows of all sources, each as often as there are shards that need it, with the shard's number."""
    frames = [_route_one(source, routed, inputs, layout) for source in sources]
    return reduce(lambda one, other: one.unionByName(other), frames)


def _route_one(
    source: SourceRows, routed: Sequence[Routed], inputs: Mapping[str, EventType], layout: EventLayout
) -> DataFrame:
    from pyspark.sql import functions as f

    needing = [group for group in routed if any(name in group.group.inputs for name in source.types)]
    columns = [name for name in source.frame.columns if name != MATTERS]
    told = len(columns) < len(source.frame.columns)
    if len(needing) == 1 and isinstance(needing[0].group.way, ByKey | Whole):
        (group,) = needing  # each row goes to one shard: no need to make copies
        shard = _by_type(source, layout, lambda name: _one_shard(group, inputs[name], layout)).cast("int")
        shard = f.when(f.col(MATTERS), shard) if told else shard
        return source.frame.withColumns({SHARD: shard, **_owned(layout)}).drop(MATTERS)
    arrays = [_by_type(source, layout, partial(_shards_of, group, inputs, layout)) for group in needing]
    copies = f.concat(*arrays) if len(arrays) > 1 else arrays[0]
    if told:
        nowhere = f.array(f.struct(f.lit(None).cast("int").alias("shard"), f.lit(False).alias("home")))
        copies = f.when(f.col(MATTERS) & (f.size(copies) > 0), copies).otherwise(nowhere)
    exploded = source.frame.withColumn("to", f.explode(copies))
    owned = [f.col("to.home").alias(OWNED)] if layout.marks_owned else []
    return exploded.select(*columns, f.col("to.shard").alias(SHARD), *owned)


def _owned(layout: EventLayout) -> dict[str, Column]:
    from pyspark.sql import functions as f

    return {OWNED: f.lit(True)} if layout.marks_owned else {}


def _by_type(source: SourceRows, layout: EventLayout, expression: Callable[[str], Column]) -> Column:
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
            owner = routed.placement.owner(value)
            shards = routed.placement.between(*with_slack(value, margins[event_type.name]))
        case BySlice(reaches=reaches):
            assert routed.placement is not None
            time = f.col(TIME)
            owner = routed.placement.owner(time)
            shards = routed.placement.between(time, _later(time, reaches[event_type.name]))
    return f.transform(
        shards, lambda shard: f.struct((shard + first).cast("int").alias("shard"), (shard == owner).alias("home"))
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


_SLACK = 1e-9
"""Rounding moves a sum of doubles by far less than this part of it."""


class Placement(Protocol):
    """Finds the shards of values, from 0 on, as expressions that Spark computes."""

    def owner(self, value: Column) -> Column:
        """The shard that owns a value."""

    def between(self, low: Column, high: Column) -> Column:
        """The array of shards that own a value between two, both included."""


@dataclass(frozen=True, slots=True)
class Edges:
    """Shard n owns the values from the n-th edge on; below the first edge is shard 0."""

    edges: Sequence[float]

    def owner(self, value: Column) -> Column:
        """Count the edges that are not above the value."""
        from pyspark.sql import functions as f

        shard = f.lit(0)
        for edge in self.edges:
            shard += (value >= edge).cast("int")
        return shard

    def between(self, low: Column, high: Column) -> Column:
        """The shards from that of one value to that of the other."""
        from pyspark.sql import functions as f

        return f.sequence(self.owner(low), self.owner(high))


_FAR = float(2**40)
"""Beyond so many cells from zero, all numbers are in one cell: their number would leave the range of integers."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The line is cut into cells of one width, dealt out to the shards in turn; no look at the data is needed."""

    width: float
    shards: int

    def owner(self, value: Column) -> Column:
        """The shard of the value's cell."""
        from pyspark.sql import functions as f

        return f.pmod(self._cell(value), f.lit(self.shards)).cast("int")

    def between(self, low: Column, high: Column) -> Column:
        """Each shard once, however many of its cells lie between."""
        from pyspark.sql import functions as f

        shards = f.transform(
            f.sequence(self._cell(low), self._cell(high)), lambda cell: f.pmod(cell, f.lit(self.shards)).cast("int")
        )
        return f.array_distinct(shards)

    def _cell(self, value: Column) -> Column:
        from pyspark.sql import functions as f

        place = value / f.lit(float(self.width))
        inside = f.when(place > _FAR, f.lit(_FAR)).when(place < -_FAR, f.lit(-_FAR)).otherwise(place)
        return f.floor(inside)


def with_slack(value: Column, margin: float) -> tuple[Column, Column]:
    """The ends of a margin around a value, a little too wide, as sums of doubles are rounded."""
    from pyspark.sql import functions as f

    wide = f.lit(margin * (1 + _SLACK)) + f.abs(value) * _SLACK
    return value - wide, value + wide


@dataclass(frozen=True, slots=True, eq=False)
class SourceRows:
    """A source whose rows are laid out; ``frame`` has the columns of the layout, without shards."""

    frame: DataFrame
    types: tuple[str, ...]


def id_kind(sources: Sequence[Source], naming: Naming, *, wanted: bool) -> IdKind:
    """How events are named: by a column of the user's, or else, if names are wanted, by their content."""
    if not wanted:
        return IdKind.NONE
    if naming.id is None:
        return IdKind.NUMBER
    kinds = {kind_of(source.frame.schema[naming.id].dataType) for source in sources}
    return IdKind.NUMBER if kinds == {ValueType.INT} else IdKind.TEXT


def source_rows(
    source: Source,
    inputs: Mapping[str, EventType],
    layout: EventLayout,
    naming: Naming,
    conditions: Mapping[str, Condition | None],
    *,
    all_rows: bool = False,
) -> SourceRows | None:
    """Lay out the rows of a source; None if no rule looks at any of its types.

    ``conditions`` has, for each of its types, what an event must meet to matter to any rule; None if all do. With
    ``all_rows`` the others are not left out, but marked as such.
    """
    types = tuple(name for name in source.types if name in inputs)
    if not types:
        return None
    frame = source.frame
    condition = row_condition(source, types, conditions, naming)
    if condition is not None and not all_rows:
        frame = frame.where(condition)
    schema = source.frame.schema
    time = micros(column(naming.time), schema[naming.time].dataType, naming.unit)
    columns = [_type_code(source, types, layout, naming).alias(TYPE), time.alias(TIME)]
    if all_rows:
        columns.append(_whether(condition).alias(MATTERS))
    if layout.intervals:
        columns.append(_start(source, naming).alias(START))
    if layout.doubtful:
        columns.append(_number(source, naming.probability).alias(PROBABILITY))
    if layout.sequenced:
        assert naming.sequence is not None
        columns.append(column(naming.sequence).cast("bigint").alias(SEQUENCE))
    attributes = [_attribute(source, types, inputs, key, naming).alias(layout.name_of(key)) for key in layout.columns]
    attributes += _errors(source, layout)
    if layout.ids is IdKind.NONE:
        return SourceRows(frame.select(*columns, *attributes), types)
    if naming.id is not None:
        own = column(naming.id).cast(layout.ids.value)
        return SourceRows(frame.select(*columns, *attributes, own.alias(ID)), types)
    return SourceRows(frame.select(*columns, *attributes).withColumn(ID, _content_id(layout)), types)


def event_times(source: Source, conditions: Mapping[str, Condition | None], naming: Naming) -> list[DataFrame]:
    """The times of the events of some types that meet what is asked of each; none if a source has none of the types."""
    if not conditions:
        return []
    condition = row_condition(source, tuple(conditions), conditions, naming)
    frame = source.frame if condition is None else source.frame.where(condition)
    return [frame.select(micros(column(naming.time), frame.schema[naming.time].dataType, naming.unit).alias(TIME))]


def _whether(condition: Column | None) -> Column:
    from pyspark.sql import functions as f

    return f.lit(True) if condition is None else f.coalesce(condition, f.lit(False))


def _errors(source: Source, layout: EventLayout) -> list[Column]:
    """The errors of attributes, null where this source has none."""
    from pyspark.sql import functions as f

    errors = layout.errors
    texts = [
        (source.error(name) if source.has_errors(name) else f.lit(None).cast("string")).alias(errors.text_column(name))
        for name in errors.texts
    ]
    return [*texts, *(_number(source, name).alias(errors.parameter_column(name)) for name in errors.parameters)]


def _number(source: Source, name: str | None) -> Column:
    """Read a column as doubles, null if this source does not have it."""
    from pyspark.sql import functions as f

    return column(name).cast("double") if name in source.frame.columns else f.lit(None).cast("double")


def _start(source: Source, naming: Naming) -> Column:
    """When events start, null for those that are instants."""
    from pyspark.sql import functions as f

    if naming.start is None or naming.start not in source.frame.columns:
        return f.lit(None).cast("bigint")
    return micros(column(naming.start), source.frame.schema[naming.start].dataType, naming.unit)


def row_condition(
    source: Source, types: Sequence[str], conditions: Mapping[str, Condition | None], naming: Naming
) -> Column | None:
    """What rows of a source must meet; rows of types that no rule looks at are left out."""
    if not source.typed:
        only = conditions[types[0]]
        return None if only is None else only.column
    type_name = column(naming.type)
    free = [name for name in types if conditions[name] is None]
    parts = [type_name.isin(free)] if free else []
    parts += [(type_name == name) & condition.column for name in types if (condition := conditions[name]) is not None]
    return reduce(lambda one, other: one | other, parts)


def _type_code(source: Source, types: Sequence[str], layout: EventLayout, naming: Naming) -> Column:
    from pyspark.sql import functions as f

    if not source.typed:
        return f.lit(layout.types.index(types[0])).cast("int")
    first, *others = types
    code = f.when(column(naming.type) == first, layout.types.index(first))
    for name in others:
        code = code.when(column(naming.type) == name, layout.types.index(name))
    return code.cast("int")


def _attribute(
    source: Source, types: Sequence[str], inputs: Mapping[str, EventType], key: ColumnKey, naming: Naming
) -> Column:
    """An attribute's column, null if no type of this source has it."""
    from pyspark.sql import functions as f

    name, kind = key
    sql = "bigint" if kind is ValueType.TIMESTAMP else SQL_TYPES[kind]
    readers = [t for t in types if (a := inputs[t].attribute(name)) is not None and a.type is kind]
    if not readers or name not in source.frame.columns:
        return f.lit(None).cast(sql)
    value = _apart(as_kind(source.value(name), source.value_type(name), kind, naming.unit))
    others = [t for t in types if (a := inputs[t].attribute(name)) is not None and a.type is not kind]
    return f.when(column(naming.type).isin(readers), value) if others else value


def _apart(value: Column) -> Column:
    """The same value, written so that Spark does not take it for the one that conditions name.

    Spark repeats every condition for each column that has a second name, with the one name and with the other: for a
    condition that names n columns, which the rules of a wide table easily have, that is 2^n conditions, and the driver
    runs out of memory. Conditions are said of the columns as the user has them, so nothing is lost for reading files.
    """
    from pyspark.sql import functions as f

    return f.when(value.isNotNull(), value)


def _content_id(layout: EventLayout) -> Column:
    """An id made of all that rules can tell events apart by."""
    from pyspark.sql import functions as f

    own = [START] if layout.intervals else []
    own += [SEQUENCE] if layout.sequenced else []
    own += [PROBABILITY] if layout.doubtful else []
    names = [TYPE, TIME, *own, *map(layout.name_of, layout.columns), *layout.errors.columns]
    # a hash passes over nulls, so which columns are null must be part of what is hashed
    parts = [part for name in names for part in (f.col(name), f.col(name).isNull())]
    return f.xxhash64(*parts).bitwiseAND(f.lit(2**63 - 1))
