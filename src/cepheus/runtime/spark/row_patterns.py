"""Row patterns over Spark DataFrames: PARTITION BY is the split, and Spark sorts what each task gets.

Only the columns that the clause names are sent to Python. A task gets whole partitions one after the other; it holds
some of them at a time, and the largest one whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from cepheus.core.errors import UnsupportedError
from cepheus.core.values import ValueType
from cepheus.engine.rows.matcher import unsupported
from cepheus.language.sql import parse_query
from cepheus.rules.rows.model import OrderKey, RowQuery, RowsPerMatch
from cepheus.rules.rows.types import output_types
from cepheus.runtime.embedded.row_tables import column_types, matches_in

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

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


def match_recognize(query: str | RowQuery, frame: DataFrame, *, engine: str = "auto") -> DataFrame:
    """The matches of a row pattern in a DataFrame, as MATCH_RECOGNIZE of SQL gives them.

    ``query`` is the clause, alone or in a SELECT; the source that it names is this frame. Rows that ORDER BY does not
    tell apart may come in any order, as everywhere in Spark: add a column that does. A clause without PARTITION BY is
    run by one task. A stream is refused.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    asked = parse_query(query) if isinstance(query, str) else query
    if frame.isStreaming:
        raise UnsupportedError.of(
            "unsupported",
            "row patterns do not run on streams of Spark",
            span=asked.span,
            hint="run the query on what has arrived, in foreachBatch or on a table",
        )
    if engine == "rows" and (refused := unsupported(asked)) is not None:
        raise refused
    given = output_types(asked, column_types(to_arrow_schema(frame.schema, timezone="UTC")))
    names = asked.read() if asked.rows is RowsPerMatch.ONE_ROW else tuple(frame.columns)
    rows = frame.select([_quoted(name) for name in names or frame.columns[:1]])
    keys = [_quoted(name) for name in asked.partition]
    dealt = rows.repartition(*keys) if keys else rows.repartition(1)
    if asked.partition or asked.order:
        dealt = dealt.sortWithinPartitions(*(_asc(name) for name in asked.partition), *map(_order, asked.order))
    schema = ", ".join(f"{_quoted(name)} {_SQL_TYPES[kind]}" for name, kind in given.items())
    return dealt.mapInArrow(partial(_work, query=asked, engine=engine), schema)


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
    """What a task does: look for matches in whole partitions."""
    tables = (pa.Table.from_batches([batch]) for batch in batches if batch.num_rows)
    for table in whole_partitions(tables, query.partition, _ROWS_AT_A_TIME):
        yield from matches_in(query, table, engine).to_batches()


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
        same = pc.is_null(column) if not last.is_valid else pc.fill_null(pc.equal(column, last), False)
        different = pc.indices_nonzero(pc.invert(same))
        if len(different):
            begin = max(begin, different[-1].as_py() + 1)
    return begin
