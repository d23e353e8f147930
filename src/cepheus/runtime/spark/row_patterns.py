"""Row patterns over Spark DataFrames: PARTITION BY is the split, and Spark sorts what each task gets.

Only the columns that the clause names are sent to Python, of the partitions that WHERE asks for. A task gets partitions
bucket by bucket (``row_order.py``), and holds no more of a large one than its matches may still look at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from cepheus.core.errors import OptionError, did_you_mean
from cepheus.core.options import RunOptions
from cepheus.core.values import ValueType
from cepheus.engine.rows.engine import RowEngine
from cepheus.language.sql import parse_query
from cepheus.rules.model import RuleSet
from cepheus.rules.rows.expressions import Column as RowColumn
from cepheus.rules.rows.model import Named, RowQuery, RowsPerMatch
from cepheus.runtime.embedded.row_tables import (
    ENGINES,
    column_types,
    given_columns,
    in_own_types,
    matches_in,
    no_such_engine,
)
from cepheus.runtime.spark.detect import cores, find
from cepheus.runtime.spark.parquet_scan import NotPlainError, scan_of
from cepheus.runtime.spark.planning import SparkOptions, on_spark
from cepheus.runtime.spark.row_files import RowTask, plan_rows, run_rows
from cepheus.runtime.spark.row_order import dealt_in_order, pieces_of_buckets, quoted, whole_buckets, without_bucket
from cepheus.runtime.spark.row_pushdown import partition_conditions
from cepheus.runtime.spark.row_streams import ROWS, SEQUENCE, TIME, rule_of, with_own_names
from cepheus.runtime.spark.sources import Naming, Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from cepheus.engine.rows.matching import RowMatching

_ROWS_AT_A_TIME = 250_000
"""How many rows a task gathers before it looks for matches: a look has a price of its own."""

_READERS = ("auto", "spark", "files")

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
    read: Literal["auto", "spark", "files"] = "auto",
) -> DataFrame:
    """The matches of a row pattern in a DataFrame, as MATCH_RECOGNIZE of SQL gives them.

    ``query`` is the clause, alone or in a SELECT; the source that it names is this frame. Rows that ORDER BY does not
    tell apart may come in any order, as everywhere in Spark: add a column that does. A clause without PARTITION BY is
    run by one task.

    Where the frame is a plain scan of Parquet files whose statistics tell the order of rows, up to eight tasks read the
    files themselves, without a shuffle; with ``read="spark"`` Spark does, and ``read="files"`` is refused if tasks
    cannot.

    The frame may be a stream. Then ORDER BY names its time, which the watermark goes by, and if need be a column of
    integers that orders rows of one time; ``lateness`` is how late rows may be, unless the frame has a watermark, and
    ``shards`` how many parts the state is cut into. A match is given as soon as later rows cannot change it; one that
    may wait for ever is warned of.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    asked = parse_query(query) if isinstance(query, str) else query
    given = given_columns(asked, to_arrow_schema(frame.schema, timezone="UTC"))
    if read not in _READERS:
        raise OptionError.of("read", f"there is no way to read called '{read}'", hint=did_you_mean(read, _READERS))
    if frame.isStreaming:
        if read == "files":
            raise OptionError.of("read", "a stream is read by Spark", hint="leave out read")
        return _of_stream(asked, frame, lateness, shards)
    gives_all = asked.rows is not RowsPerMatch.ONE_ROW and asked.select is None
    names = (tuple(frame.columns) if gives_all else asked.read()) or tuple(frame.columns[:1])
    pushed = _pushed(asked, frame)
    schema = ", ".join(f"{quoted(name)} {_SQL_TYPES[kind]}" for name, kind in given.items())
    rows = pushed.select([quoted(name) for name in names])
    task = _by_files(asked, rows, engine, read)
    if task is not None:
        return run_rows(task, frame, schema)
    return dealt_in_order(rows, asked).mapInArrow(
        partial(_work, query=asked, engine=engine, size=_ROWS_AT_A_TIME), schema
    )


def _by_files(query: RowQuery, rows: DataFrame, engine: str, read: str) -> RowTask | None:
    """What tasks do that read files themselves; None where Spark reads them."""
    if read == "spark":
        return None
    try:
        return plan_rows(query, scan_of(rows), rows.columns, engine, cores(rows.sparkSession))
    except NotPlainError as error:
        if read == "auto":
            return None
        raise OptionError.of(
            "read", f"tasks cannot read the rows from files themselves: {error}", hint="leave out read"
        ) from None


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


def _work(batches: Iterable[pa.RecordBatch], query: RowQuery, engine: str, size: int) -> Iterator[pa.RecordBatch]:
    """What a task does: look for matches in buckets of partitions that come one after the other.

    Buckets that are all there are looked at as a whole. Of one that is larger, rows that nothing can look at any more
    are forgotten while it goes on.
    """
    if engine not in ENGINES:
        raise no_such_engine(engine)
    tables = (pa.Table.from_batches([batch]) for batch in batches if batch.num_rows)
    if engine == "reference":
        for table in whole_buckets(tables, size):
            yield from matches_in(query, without_bucket(table), engine).to_batches()
        return
    asked: RowEngine | None = None
    matching: RowMatching | None = None  # of a bucket that is too large to be held
    for piece, begins, ends in pieces_of_buckets(tables, size):
        table = in_own_types(without_bucket(piece))
        if asked is None:
            asked = RowEngine(query, column_types(table.schema, query))
        if begins and ends:
            yield from asked.build().whole(table).to_batches()
            continue
        if matching is None:
            matching = asked.build()
        yield from matching.feed(table).table.to_batches()
        if ends:
            yield from matching.finish().table.to_batches()
            matching = None
