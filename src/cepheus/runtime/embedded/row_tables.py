"""Queries over rows on whole tables: a table in, a table out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheus.core.batch import python_values
from cepheus.core.errors import EventError, OptionError, Place, RuleError, did_you_mean
from cepheus.core.lists import text_column
from cepheus.core.values import Value, ValueType, from_arrow
from cepheus.engine.reference.row_patterns import ReferenceSearch
from cepheus.engine.rows.columns import one_array
from cepheus.engine.rows.engine import RowEngine
from cepheus.formats.parquet_arrow import arrow_table, table_of
from cepheus.formats.problems import shown
from cepheus.language.sql import parse_query
from cepheus.rules.rows.evaluate import Row
from cepheus.rules.rows.matches import rows_given
from cepheus.rules.rows.model import RowQuery, RowsPerMatch
from cepheus.rules.rows.types import output_types
from cepheus.runtime.embedded.admission import ArrowTable, Record

ENGINES = ("auto", "rows", "reference")
"""The engines of row patterns; ``auto`` is the faster one."""

_NOT_A_NUMBER = float("nan")
"""The one that is a key of partitions: it equals itself there."""

_ROWS = "give an Arrow table, a frame of pandas or Polars, or a list of dicts"

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
    asked = parse_query(query) if isinstance(query, str) else query
    table = _table(rows)
    given_columns(asked, table.schema)
    return matches_in(asked, in_order(asked, table), engine)


def given_columns(query: RowQuery, schema: pa.Schema) -> dict[str, ValueType]:
    """The columns that a query gives for rows with these columns; a RuleError tells all that does not fit."""
    given = output_types(query, column_types(schema, query))
    if not given:
        raise RuleError.of(
            "measure", "this query gives no column", span=query.span, hint="add MEASURES, or ALL ROWS PER MATCH"
        )
    return given


def matches_in(query: RowQuery, table: pa.Table, engine: str = "auto") -> pa.Table:
    """What a query gives for a table whose rows are in order."""
    if engine not in ENGINES:
        raise no_such_engine(engine)
    needed = list(_needed(query, table.schema))
    rows = table.select(needed) if needed else pa.table({"": pa.nulls(table.num_rows)})
    types, typed = column_types(rows.schema, query), in_own_types(rows)
    if engine == "reference":
        return _by_reference(query, typed, types)
    return RowEngine(query, types).build().whole(typed)


def no_such_engine(name: str) -> OptionError:
    """The error for an engine of rows that there is not."""
    return OptionError.of("engine", f"there is no engine '{name}' of rows", hint=did_you_mean(name, ENGINES))


def _by_reference(query: RowQuery, table: pa.Table, types: dict[str, ValueType]) -> pa.Table:
    found: list[Row] = []
    for partition in _partitions(query, _python_rows(table, types)):
        found += rows_given(query, partition, ReferenceSearch)
    return pa.table(
        {name: _column([row[name] for row in found], kind) for name, kind in output_types(query, types).items()}
    )


def _table(rows: RowSource) -> pa.Table:
    if isinstance(rows, ArrowTable):
        return arrow_table(rows)
    if isinstance(rows, str | bytes | os.PathLike):
        hint = "read the file first, as with pyarrow.csv.read_csv or pandas.read_parquet"
        raise EventError.of("events", f"{shown(rows)} is not a table: rows are not read from files here", hint=hint)
    if isinstance(rows, Mapping):
        hint = "make a table of it: pyarrow.table(..), or a frame"
        raise EventError.of("events", "a dict of columns is not a table", hint=hint)
    if not isinstance(rows, Iterable):
        raise EventError.of("events", f"{shown(rows)} is not a table", hint=_ROWS)
    records = list(rows)
    for place, record in enumerate(records, 1):
        if not isinstance(record, Mapping):
            raise EventError.of("events", f"{shown(record)} is not a row", place=Place("row", place), hint=_ROWS)
    names = dict.fromkeys(name for record in records for name in record)
    odd = next((name for name in names if not isinstance(name, str)), None)
    if odd is not None:
        raise EventError.of("events", f"{odd!r} is not the name of a column", hint="names of columns are texts")
    return table_of({name: [record.get(name) for record in records] for name in names})


def column_types(schema: pa.Schema, query: RowQuery) -> dict[str, ValueType]:
    """The types of columns as values have them here; EventError for one that the query needs and that has none.

    What it does not need is left out if it is of another type.
    """
    needed = _needed(query, schema)
    types: dict[str, ValueType] = {}
    for field in schema:
        kind = ValueType.STRING if pa.types.is_null(field.type) else from_arrow(field.type)
        if kind is None or kind is ValueType.LIST:
            if field.name not in needed:
                continue
            raise EventError.of(
                "type",
                f"the column '{field.name}' is of type {field.type}, which is none of Cepheus",
                hint="there are booleans, integers, floats, strings and timestamps; leave the column out, or cast it",
            )
        types[field.name] = kind
    return types


def _needed(query: RowQuery, schema: pa.Schema) -> Sequence[str]:
    gives_all = query.rows is not RowsPerMatch.ONE_ROW and query.select is None
    return schema.names if gives_all else query.read()


def in_own_types(table: pa.Table) -> pa.Table:
    """The table with its columns in the types that values have here; texts may be coded by a dictionary."""
    columns: dict[str, Any] = {}
    for name in table.column_names:
        column = one_array(table.column(name))
        kind = from_arrow(column.type) or ValueType.STRING
        coded = pa.types.is_dictionary(column.type) and column.type.value_type == kind.arrow
        columns[name] = column if coded or column.type == kind.arrow else _cast(name, column, kind)
    return pa.table(columns)


def _cast(name: str, column: Any, kind: ValueType) -> Any:
    """A column in the type that its values have here; what is finer than microseconds is cut off."""
    try:
        return column.cast(kind.arrow, safe=kind is ValueType.INT)
    except pa.ArrowInvalid:
        raise EventError.of(
            "integer", f"the column '{name}' has integers beyond 64 bits with a sign", hint="cast it to double"
        ) from None


def in_order(query: RowQuery, table: pa.Table) -> pa.Table:
    """The rows by ORDER BY, equal ones as they were; nulls at the end unless they are to come first.

    What is not a number is the greatest of numbers.
    """
    if not query.order or _is_sorted(query, table):
        return table
    keys: list[tuple[str, str]] = []
    columns: dict[str, Any] = {}

    def sort_by(column: Any, *, descending: bool) -> None:
        keys.append((str(len(keys)), "descending" if descending else "ascending"))
        columns[keys[-1][0]] = column

    for key in query.order:
        column = table.column(key.column)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        sort_by(pc.is_null(column), descending=key.nulls_first)
        if pa.types.is_floating(column.type):
            sort_by(pc.is_nan(column), descending=key.descending)
        sort_by(column, descending=key.descending)
    return table.take(pc.sort_indices(pa.table(columns), sort_keys=keys))


def _is_sorted(query: RowQuery, table: pa.Table) -> bool:
    """Whether rows are in order already, as far as one column of numbers or times tells it."""
    (key, *others) = query.order
    column = table.column(key.column)
    if others or key.descending or column.null_count or not pa.types.is_primitive(column.type):
        return False
    if pa.types.is_boolean(column.type):
        return False
    numbers = one_array(column).to_numpy(zero_copy_only=False)
    return bool(np.all(numbers[:-1] <= numbers[1:]))


def _python_rows(table: pa.Table, types: dict[str, ValueType]) -> list[dict[str, Value | None]]:
    columns = [python_values(table.column(name).combine_chunks(), kind) for name, kind in types.items()]
    return [dict(zip(types, values, strict=True)) for values in zip(*columns, strict=True)]


def _partitions(query: RowQuery, rows: Sequence[dict[str, Value | None]]) -> Iterable[list[dict[str, Value | None]]]:
    found: dict[tuple[Value | None, ...], list[dict[str, Value | None]]] = {}
    for row in rows:
        key = tuple(_NOT_A_NUMBER if row[name] != row[name] else row[name] for name in query.partition)
        found.setdefault(key, []).append(row)
    return found.values()


def _column(values: list[Value | None], kind: ValueType) -> pa.Array:
    if kind is ValueType.LIST:
        return text_column(values)
    return pa.array(values, kind.arrow)
