"""Queries over rows on whole tables: a table in, a table out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheus.core.batch import python_values
from cepheus.core.errors import EventError, OptionError, did_you_mean
from cepheus.core.lists import text_column
from cepheus.core.values import Value, ValueType, from_arrow
from cepheus.engine.reference.row_patterns import rows_given
from cepheus.engine.rows.matcher import RowMatcher, joined, unsupported
from cepheus.engine.rows.output import given_rows, rows_of_none, together
from cepheus.formats.parquet_arrow import arrow_table
from cepheus.language.sql import parse_query
from cepheus.rules.rows.evaluate import Row
from cepheus.rules.rows.model import RowQuery, RowsPerMatch
from cepheus.rules.rows.types import output_types
from cepheus.runtime.embedded.admission import ArrowTable, Record

ENGINES = ("auto", "rows", "reference")
"""The engines of row patterns; ``auto`` is the fastest that can run a query."""

RowSource = ArrowTable | Iterable[Record]
"""Rows: a table, a frame, or dicts."""


def match_recognize(query: str | RowQuery, rows: RowSource, *, engine: str = "auto") -> pa.Table:
    """The matches of a row pattern in a table, as MATCH_RECOGNIZE of SQL gives them.

    ``query`` is the clause, alone or in a SELECT; the source that it names is this table. ``rows`` is an Arrow table, a
    pandas or Polars frame, or dicts; ORDER BY of the clause puts it in order, else it stays as it is.

    >>> rows = [{"day": day, "price": price} for day, price in enumerate([9, 7, 5, 6, 8, 8])]
    >>> query = '''MATCH_RECOGNIZE (
    ...   ORDER BY day
    ...   MEASURES FIRST(day) AS start, LAST(DOWN.price) AS bottom, LAST(UP.day) AS finish
    ...   PATTERN (STRT DOWN+ UP+)
    ...   DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price))'''
    >>> match_recognize(query, rows).to_pylist()
    [{'start': 0, 'bottom': 5, 'finish': 4}]
    """
    if engine not in ENGINES:
        raise OptionError.of("engine", f"there is no engine '{engine}' of rows", hint=did_you_mean(engine, ENGINES))
    asked = parse_query(query) if isinstance(query, str) else query
    table, types = _typed(_table(rows))
    given = output_types(asked, types)
    ordered = _in_order(asked, table)
    refused = unsupported(asked)
    if engine == "rows" and refused is not None:
        raise refused
    if refused is None and engine != "reference":
        return _compiled(asked, ordered, types, given)
    found: list[Row] = []
    for partition in _partitions(asked, _python_rows(ordered, types)):
        found += rows_given(asked, partition)
    return pa.table({name: _column([row[name] for row in found], kind) for name, kind in given.items()})


def _compiled(query: RowQuery, table: pa.Table, types: dict[str, ValueType], given: dict[str, ValueType]) -> pa.Table:
    """Run the engine of rows over a whole table; what it gives comes by partition, there in order."""
    matcher = RowMatcher(query, types)
    parts = [matcher.feed({name: table.column(name) for name in types}), matcher.finish()]
    unmatched = np.empty(0, np.int32)
    if query.rows is RowsPerMatch.WITH_UNMATCHED:
        parts = [joined(*parts)]
        unmatched = rows_of_none(parts[0], table.num_rows)
    return together([given_rows(query, part, unmatched, matcher.store, given) for part in parts])


def _table(rows: RowSource) -> pa.Table:
    if isinstance(rows, ArrowTable):
        return arrow_table(rows)
    records = list(rows)
    return arrow_table(pa.Table.from_pylist(records))


def _typed(table: pa.Table) -> tuple[pa.Table, dict[str, ValueType]]:
    """The table with columns in the types that values have here; EventError for a column that has none of them."""
    columns: dict[str, Any] = {}
    types: dict[str, ValueType] = {}
    for field in table.schema:
        column = table.column(field.name).combine_chunks()
        kind = ValueType.STRING if pa.types.is_null(field.type) else from_arrow(field.type)
        if kind is None or kind is ValueType.LIST:
            raise EventError.of(
                "type",
                f"the column '{field.name}' is of type {field.type}, which is none of Cepheus",
                hint="there are booleans, integers, floats, strings and timestamps; leave the column out, or cast it",
            )
        coded = pa.types.is_dictionary(column.type) and column.type.value_type == kind.arrow
        columns[field.name] = column if coded or column.type == kind.arrow else column.cast(kind.arrow, safe=False)
        types[field.name] = kind
    return pa.table(columns), types


def _in_order(query: RowQuery, table: pa.Table) -> pa.Table:
    """The rows by ORDER BY, equal ones as they were; nulls at the end unless they are to come first."""
    keys: list[tuple[str, str]] = []
    columns = {}
    for place, key in enumerate(query.order):
        nulls = pc.is_null(table.column(key.column))
        columns[f"null {place}"] = nulls
        keys.append((f"null {place}", "descending" if key.nulls_first else "ascending"))
        columns[f"value {place}"] = table.column(key.column)
        keys.append((f"value {place}", "descending" if key.descending else "ascending"))
    if not keys:
        return table
    return table.take(pc.sort_indices(pa.table(columns), sort_keys=keys))


def _python_rows(table: pa.Table, types: dict[str, ValueType]) -> list[dict[str, Value | None]]:
    columns = [python_values(table.column(name).combine_chunks(), kind) for name, kind in types.items()]
    return [dict(zip(types, values, strict=True)) for values in zip(*columns, strict=True)]


def _partitions(query: RowQuery, rows: Sequence[dict[str, Value | None]]) -> Iterable[list[dict[str, Value | None]]]:
    found: dict[tuple[Value | None, ...], list[dict[str, Value | None]]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in query.partition), []).append(row)
    return found.values()


def _column(values: list[Value | None], kind: ValueType) -> pa.Array:
    if kind is ValueType.LIST:
        return text_column(values)
    return pa.array(values, kind.arrow)
