"""Row patterns over Spark DataFrames: PARTITION BY is the split, and Spark sorts what each task gets.

Only the columns that the clause names are sent to Python, of the partitions that WHERE asks for. A task gets partitions
one after the other, and holds no more of them than its matches may still look at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from cepheus.core.options import RunOptions
from cepheus.core.values import ValueType
from cepheus.engine.rows.engine import RowEngine
from cepheus.language.sql import parse_query
from cepheus.rules.model import RuleSet
from cepheus.rules.rows.expressions import Column as RowColumn
from cepheus.rules.rows.model import Named, OrderKey, RowQuery, RowsPerMatch
from cepheus.runtime.embedded.row_tables import (
    ENGINES,
    column_types,
    given_columns,
    in_own_types,
    matches_in,
    no_such_engine,
)
from cepheus.runtime.spark.detect import cores, find
from cepheus.runtime.spark.planning import SparkOptions, on_spark
from cepheus.runtime.spark.row_pushdown import partition_conditions
from cepheus.runtime.spark.row_streams import ROWS, SEQUENCE, TIME, rule_of, with_own_names
from cepheus.runtime.spark.sources import Naming, Source

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from cepheus.engine.rows.matching import RowMatching

_ROWS_AT_A_TIME = 250_000
"""How many rows a task gathers before it looks for matches: a look has a price of its own."""

_SQL_TYPES = {
    ValueType.BOOL: "boolean",
    ValueType.INT: "bigint",
    ValueType.FLOAT: "double",
    ValueType.STRING: "string",
    ValueType.TIMESTAMP: "timestamp",
    ValueType.LIST: "string",
}


def match_recognize(
    query: str | RowQuery,
    frame: DataFrame,
    *,
    engine: str = "auto",
    lateness: str | int | timedelta | None = None,
    shards: int | None = None,
) -> DataFrame:
    """The matches of a row pattern in a DataFrame, as MATCH_RECOGNIZE of SQL gives them.

    ``query`` is the clause, alone or in a SELECT; the source that it names is this frame. Rows that ORDER BY does not
    tell apart may come in any order, as everywhere in Spark: add a column that does. A clause without PARTITION BY is
    run by one task.

    The frame may be a stream. Then ORDER BY names its time, which the watermark goes by, and if need be a column of
    integers that orders rows of one time; ``lateness`` is how late rows may be, unless the frame has a watermark, and
    ``shards`` how many parts the state is cut into. A match is given as soon as later rows cannot change it; one that
    may wait for ever is warned of.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    asked = parse_query(query) if isinstance(query, str) else query
    given = given_columns(asked, to_arrow_schema(frame.schema, timezone="UTC"))
    if frame.isStreaming:
        return _of_stream(asked, frame, lateness, shards)
    gives_all = asked.rows is not RowsPerMatch.ONE_ROW and asked.select is None
    names = tuple(frame.columns) if gives_all else asked.read()
    rows = _pushed(asked, frame).select([_quoted(name) for name in names or frame.columns[:1]])
    keys = [_quoted(name) for name in asked.partition]
    dealt = rows.repartition(*keys) if keys else rows.repartition(1)
    if asked.partition or asked.order:
        dealt = dealt.sortWithinPartitions(*(_asc(name) for name in asked.partition), *map(_order, asked.order))
    schema = ", ".join(f"{_quoted(name)} {_SQL_TYPES[kind]}" for name, kind in given.items())
    return dealt.mapInArrow(partial(_work, query=asked, engine=engine), schema)


def _of_stream(
    query: RowQuery, frame: DataFrame, lateness: str | int | timedelta | None, shards: int | None
) -> DataFrame:
    """The matches in a stream: the query as a rule of ``detect``."""
    if query.rows is not RowsPerMatch.ONE_ROW and query.select is None:
        names = query.given(tuple(frame.columns))
        query = replace(query, select=tuple(Named(name, RowColumn(name, None)) for name in names))
    rule, rows, sequenced = rule_of(query, frame)
    run = on_spark(RunOptions.of(lateness=lateness, time=TIME, sequence=SEQUENCE if sequenced else None))
    how = SparkOptions(run, Naming.of(run, None), shards or cores(frame.sparkSession))
    detection = find(RuleSet(row_rules=(rule,)), (Source(rows, (ROWS,), False),), how)
    return with_own_names(detection.of(rule.composite.name), query)


def _pushed(query: RowQuery, frame: DataFrame) -> DataFrame:
    """The rows of partitions that WHERE asks for; what else it asks is known only when matches are."""
    for condition in partition_conditions(query):
        frame = frame.where(condition)
    return frame


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _asc(name: str) -> Column:
    from pyspark.sql import functions

    return functions.col(_quoted(name)).asc()


def _order(key: OrderKey) -> Column:
    from pyspark.sql import functions

    column = functions.col(_quoted(key.column))
    if key.descending:
        return column.desc_nulls_first() if key.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if key.nulls_first else column.asc_nulls_last()


def _work(batches: Iterable[pa.RecordBatch], query: RowQuery, engine: str) -> Iterator[pa.RecordBatch]:
    """What a task does: look for matches in partitions that come one after the other.

    Rows that nothing can look at any more are forgotten while a partition goes on, however large it is.
    """
    tables = (pa.Table.from_batches([batch]) for batch in batches if batch.num_rows)
    if engine == "reference":
        for table in whole_partitions(tables, query.partition, _ROWS_AT_A_TIME):
            yield from matches_in(query, table, engine).to_batches()
        return
    if engine not in ENGINES:
        raise no_such_engine(engine)
    asked: RowEngine | None = None
    matching: RowMatching | None = None
    fed = 0
    for portion in portions(tables, _ROWS_AT_A_TIME):
        table = in_own_types(portion)
        if asked is None:
            asked = RowEngine(query, column_types(table.schema, query))
        begin = _last_partition(table, query.partition) if fed + table.num_rows > _ROWS_AT_A_TIME else 0
        if matching is None:
            matching = asked.build()
        if begin:  # what lies before the last partition is all there
            yield from matching.feed(table.slice(0, begin)).table.to_batches()
            yield from matching.finish().table.to_batches()
            matching, fed = asked.build(), 0
        yield from matching.feed(table.slice(begin)).table.to_batches()
        fed += table.num_rows - begin
    if matching is not None:
        yield from matching.finish().table.to_batches()


def portions(tables: Iterable[pa.Table], size: int) -> Iterator[pa.Table]:
    """Tables put together to some ``size`` rows each.

    >>> [len(table) for table in portions([pa.table({"k": [1, 2]})] * 5, 4)]
    [4, 4, 2]
    """
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


def whole_partitions(tables: Iterable[pa.Table], names: tuple[str, ...], size: int) -> Iterator[pa.Table]:
    """The rows of tables that are sorted by some columns, cut only where these change, some ``size`` rows at a time.

    >>> tables = [pa.table({"k": keys}) for keys in ([1, 1, 2], [2, 2], [2, 3])]
    >>> [table.column("k").to_pylist() for table in whole_partitions(tables, ("k",), 1)]
    [[1, 1], [2, 2, 2, 2], [3]]
    """
    held: list[pa.Table] = []
    rows = 0
    key: tuple[object, ...] | None = None
    for table in tables:
        begin = _last_partition(table, names)
        first = tuple(table.column(name)[0].as_py() for name in names)
        if begin == 0 and first != key:  # all of it is one partition, and another than before
            rest = table
            if rows >= size:
                yield pa.concat_tables(held)
                held, rows = [], 0
        elif begin and rows + begin >= size:
            yield pa.concat_tables([*held, table.slice(0, begin)])
            held, rows, rest = [], 0, table.slice(begin)
        else:
            rest = table
        held.append(rest)
        rows += rest.num_rows
        key = tuple(table.column(name)[table.num_rows - 1].as_py() for name in names)
    if held:
        yield pa.concat_tables(held)


def _last_partition(table: pa.Table, names: tuple[str, ...]) -> int:
    """Where the last partition of a sorted table begins."""
    begin = 0
    for name in names:
        column = table.column(name).combine_chunks()
        last = column[-1]
        if not last.is_valid:
            same = pc.is_null(column)
        else:  # one partition has all that is not a number
            equal = pc.is_nan(column) if last.as_py() != last.as_py() else pc.equal(column, last)
            same = pc.fill_null(equal, False)
        different = pc.indices_nonzero(pc.invert(same))
        if len(different):
            begin = max(begin, different[-1].as_py() + 1)
    return begin
