"""Events from DataFrames to rows of one layout: filtered, pruned and coded by Spark before anything reaches Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from cepheus.core.batch import ColumnKey
from cepheus.core.schema import EventType
from cepheus.core.values import ValueType
from cepheus.runtime.spark.layout import ID, PROBABILITY, SEQUENCE, SQL_TYPES, START, TIME, TYPE, EventLayout, IdKind
from cepheus.runtime.spark.pushdown import Condition
from cepheus.runtime.spark.sources import Naming, Source, as_kind, column, kind_of, micros

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


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
) -> SourceRows | None:
    """Lay out the rows of a source; None if no rule looks at any of its types.

    ``conditions`` has, for each of its types, what an event must meet to matter to any rule; None if all do.
    """
    types = tuple(name for name in source.types if name in inputs)
    if not types:
        return None
    frame = source.frame
    condition = _condition(source, types, conditions, naming)
    if condition is not None:
        frame = frame.where(condition)
    schema = source.frame.schema
    time = micros(column(naming.time), schema[naming.time].dataType, naming.unit)
    columns = [_type_code(source, types, layout, naming).alias(TYPE), time.alias(TIME)]
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


def _condition(
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
    value = as_kind(source.value(name), source.value_type(name), kind, naming.unit)
    others = [t for t in types if (a := inputs[t].attribute(name)) is not None and a.type is not kind]
    return f.when(column(naming.type).isin(readers), value) if others else value


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
