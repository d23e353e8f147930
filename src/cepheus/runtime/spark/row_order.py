"""The order in which tasks get the rows of a query: bucket by bucket, in each by ORDER BY, its partitions mixed.

Spark sorts rows fast where one number tells most of them apart, and slowly where it must look at texts and at a second
column. So partitions are dealt into buckets, and a row is sorted by one number made of its bucket and the coarse place
of its first column of ORDER BY; the columns themselves settle what that leaves open. The engine takes mixed partitions
as they are. When a bucket is over, all its partitions are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from cepheus.rules.rows.model import OrderKey, RowQuery

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BUCKET = "__cepheus_bucket"
"""The column with the number of a row's bucket."""

_BUCKET_BITS = 10
_PLACE_BITS = 63 - _BUCKET_BITS
_HALF = 1 << (_PLACE_BITS - 1)
_WHOLE = ("tinyint", "smallint", "int", "bigint")


def dealt_in_order(rows: DataFrame, query: RowQuery) -> DataFrame:
    """The rows in as many parts as Spark makes, each partition in one of them; without PARTITION BY all in one."""
    from pyspark.sql import functions as f

    order = [_order(key) for key in query.order]
    if not query.partition:
        dealt = rows.repartition(1)
        return dealt.sortWithinPartitions(*order) if order else dealt
    keys = [quoted(name) for name in query.partition]
    bucket = f.xxhash64(*keys).bitwiseAND(f.lit((1 << _BUCKET_BITS) - 1)).cast("smallint")
    dealt = rows.withColumn(BUCKET, bucket).repartition(*keys)
    place = _place(rows, query.order[0]) if query.order else None
    number = f.col(BUCKET) if place is None else f.col(BUCKET).cast("bigint") * f.lit(1 << _PLACE_BITS) + place
    return dealt.sortWithinPartitions(number.asc(), *order)


def _place(rows: DataFrame, key: OrderKey) -> Column | None:
    """A number that is nowhere out of order with a column; None for types that have none. NULL is at its end."""
    from pyspark.sql import functions as f

    kind = rows.schema[key.column].dataType.simpleString()
    value = f.col(quoted(key.column))
    if kind == "timestamp":
        value = f.unix_micros(value)
    elif kind not in _WHOLE:
        return None
    value = f.greatest(f.least(value.cast("bigint"), f.lit(_HALF - 1)), f.lit(-_HALF)) + f.lit(_HALF)
    if key.descending:
        value = f.lit(2 * _HALF - 1) - value
    return f.when(f.col(quoted(key.column)).isNull(), f.lit(0 if key.nulls_first else 2 * _HALF - 1)).otherwise(value)


def _order(key: OrderKey) -> Column:
    from pyspark.sql import functions as f

    column = f.col(quoted(key.column))
    if key.descending:
        return column.desc_nulls_first() if key.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if key.nulls_first else column.asc_nulls_last()


def quoted(name: str) -> str:
    """A column's name as Spark reads it."""
    return "`" + name.replace("`", "``") + "`"


def without_bucket(table: pa.Table) -> pa.Table:
    """The rows alone."""
    return table.drop_columns([BUCKET]) if BUCKET in table.column_names else table


def whole_buckets(tables: Iterable[pa.Table], size: int) -> Iterator[pa.Table]:
    """Rows cut only where a bucket ends, some ``size`` at a time, however large a bucket is."""
    held: list[pa.Table] = []
    for table, _, ends in pieces_of_buckets(tables, size):
        held.append(table)
        if ends:
            yield pa.concat_tables(held)
            held = []


def pieces_of_buckets(tables: Iterable[pa.Table], size: int) -> Iterator[tuple[pa.Table, bool, bool]]:
    """Rows in pieces of some ``size``, each with whether a bucket begins with it and whether one ends with it.

    A piece that begins and ends with one has whole buckets; any other is a part of one bucket, and may have no rows.

    >>> tables = [pa.table({BUCKET: numbers}) for numbers in ([1, 1, 2], [3, 3, 3], [3, 3, 4])]
    >>> for piece, begins, ends in pieces_of_buckets(tables, 3):
    ...     print(piece.column(BUCKET).to_pylist(), begins, ends)
    [1, 1] True True
    [2] True True
    [3, 3, 3] True False
    [3, 3] False True
    [4] True True
    """
    open_bucket: int | None = None  # that of which a part was given
    held: pa.Table | None = None
    for portion in portions(tables, size):
        together = portion if held is None else pa.concat_tables([held, portion])
        if open_bucket is not None:
            rest = _leading(portion, open_bucket)
            if rest == portion.num_rows:
                yield portion, False, False
                continue
            yield portion.slice(0, rest), False, True
            open_bucket, together = None, portion.slice(rest)
        last = _last_bucket(together)
        if last:
            yield together.slice(0, last), True, True
        held = together.slice(last)
        if held.num_rows >= size:
            yield held, True, False
            open_bucket, held = _number(held), None
    if held is not None:
        yield held, True, True
    elif open_bucket is not None:
        yield portion.slice(0, 0), False, True


def portions(tables: Iterable[pa.Table], size: int) -> Iterator[pa.Table]:
    """Tables put together to some ``size`` rows each."""
    held: list[pa.Table] = []
    rows = 0
    for table in tables:
        held.append(table)
        rows += table.num_rows
        if rows >= size:
            yield pa.concat_tables(held)
            held, rows = [], 0
    if held:
        yield pa.concat_tables(held)


def _number(table: pa.Table) -> int:
    """The bucket of rows of one; without the column there is one bucket."""
    return int(table.column(BUCKET)[0].as_py()) if BUCKET in table.column_names else 0


def _leading(table: pa.Table, bucket: int) -> int:
    """How many rows at the beginning are of a bucket."""
    if BUCKET not in table.column_names:
        return int(table.num_rows)
    others = pc.indices_nonzero(pc.not_equal(table.column(BUCKET), bucket))
    return int(others[0].as_py()) if len(others) else int(table.num_rows)


def _last_bucket(table: pa.Table) -> int:
    """Where the last bucket begins."""
    if BUCKET not in table.column_names:
        return 0
    numbers = table.column(BUCKET)
    others = pc.indices_nonzero(pc.not_equal(numbers, numbers[-1]))
    return int(others[-1].as_py()) + 1 if len(others) else 0
