"""Background knowledge from elsewhere: files, tables and rows that are already there."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from math import isinf
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from cepheus.core.batch import python_values
from cepheus.core.errors import EventError, OptionError
from cepheus.core.lists import checked_list, list_of_text
from cepheus.core.time import from_datetime, parse_time
from cepheus.core.values import INT_MAX, INT_MIN, Value, ValueType, from_arrow
from cepheus.formats.csv_text import split_line
from cepheus.formats.parquet_arrow import arrow_table
from cepheus.formats.problems import shown
from cepheus.rules.interval.model import Knowledge, Relation
from cepheus.runtime.embedded.admission import ArrowTable

Rows = str | os.PathLike[str] | ArrowTable | Iterable[Sequence[Value | datetime | None] | Mapping[str, Value | None]]
"""A CSV file whose first line names the columns, an Arrow table, a pandas or Polars frame, tuples, or dicts."""


def read_knowledge(given: Mapping[str, Rows]) -> Knowledge:
    """Read relations by name.

    The values of dicts are taken in the order of the keys of the first. A row that lacks a value (None, null, an empty
    cell, NaN in a pandas frame) is left out: nothing is known of it. A time is an integer of microseconds.

    >>> read_knowledge({"near": [("a", "b"), ("b", "c")]}).tables[0].rows
    (('a', 'b'), ('b', 'c'))
    """
    return Knowledge(tables=tuple(_relation(name, rows) for name, rows in given.items()))


def _relation(name: str, given: Rows) -> Relation:
    if isinstance(given, str | os.PathLike):
        return read_facts(name, Path(given))
    if isinstance(given, ArrowTable):
        return _of_table(name, _arrow(name, given))
    rows = _rows(name, given)
    arity = len(rows[0]) if rows else 0
    if any(len(row) != arity for row in rows):
        raise OptionError.of("facts", f"the rows of '{name}' have different lengths")
    return Relation(name, arity, _facts(name, rows))


def _arrow(name: str, given: ArrowTable) -> pa.Table:
    try:
        return arrow_table(given)
    except EventError as error:
        reason = error.diagnostics[0]
        where = f"row {reason.place.line} of '{name}'" if reason.place is not None else f"'{name}'"
        raise OptionError.of("facts", f"{where}: {reason.message}", hint=reason.hint and _MIXED) from None


def _rows(name: str, given: object) -> list[tuple[Any, ...]]:
    """Turn rows into tuples; those of dicts in the order of the keys of the first."""
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise OptionError.of("facts", f"the facts of '{name}' are no rows: {shown(given)}", hint=_ROWS)
    found: list[tuple[Any, ...]] = []
    keys: list[str] | None = None
    for number, row in enumerate(given, 1):
        if isinstance(row, Mapping):
            keys = list(row) if keys is None else keys
            if row.keys() != set(keys):
                message = f"row {number} of '{name}' has the keys {_listed(row)}, and the first has {_listed(keys)}"
                raise OptionError.of("facts", message, hint="give every row the same keys; None where a value lacks")
            found.append(tuple(row[key] for key in keys))
            continue
        if isinstance(row, str | bytes) or not isinstance(row, Iterable):
            raise OptionError.of("facts", f"row {number} of '{name}' is {shown(row)}, which is no row", hint=_ROWS)
        if keys is not None:
            raise OptionError.of("facts", f"row {number} of '{name}' has no keys, and the first has", hint=_ROWS)
        found.append(tuple(row))
    return found


def _listed(keys: Iterable[object]) -> str:
    return ", ".join(map(str, keys)) or "none"


_MIXED = "give all values of a column one type, or give the facts as tuples, which may mix types"
_ROWS = 'write rows as tuples, as in [("t1", "hall")], or as dicts; a row of one value is ("t1",)'


def _facts(name: str, rows: Iterable[tuple[Value | None, ...]]) -> tuple[tuple[Value, ...], ...]:
    """Leave out rows that lack a value, and refuse values that an attribute of an event could not have."""
    facts = []
    for row in rows:
        plain = (_plain(name, value) for value in row)
        values = tuple(value for value in plain if value is not None)
        for value in values:
            if not isinstance(value, bool | int | float | str | tuple):
                raise OptionError.of("facts", f"a row of '{name}' holds {shown(value)}, which is no value")
            if isinstance(value, int) and not INT_MIN <= value <= INT_MAX:
                raise OptionError.of("facts", f"a row of '{name}' holds {value}, which does not fit in 64 bits")
            if isinstance(value, float) and not math.isfinite(value):
                raise OptionError.of("facts", f"a row of '{name}' holds {value}, which is not a finite number")
        if len(values) == len(row):
            facts.append(values)
    return tuple(facts)


def _plain(name: str, value: Any) -> Value | None:
    if isinstance(value, list | tuple | np.ndarray):
        try:
            return checked_list(value)
        except EventError as error:
            reason = error.diagnostics[0]
            raise OptionError.of("facts", f"a row of '{name}': {reason.message}", hint=reason.hint) from None
    if isinstance(value, datetime):
        return from_datetime(value)
    plain: Value | None = value.item() if isinstance(value, np.generic) else value
    return plain


def _of_table(name: str, table: pa.Table) -> Relation:
    columns: list[list[Value | None]] = []
    for column_name, chunks in zip(table.schema.names, table.columns, strict=True):
        column = chunks.combine_chunks()
        if pa.types.is_null(column.type):  # nothing but missing values: of no type, and of no row
            column = column.cast(pa.string())
        kind = from_arrow(column.type)
        if kind is None:
            raise OptionError.of(
                "facts", f"the column '{column_name}' of '{name}' holds {column.type}, which is no value"
            )
        columns.append(column.to_pylist() if kind is ValueType.LIST else python_values(column, kind))
    return Relation(name, len(columns), _facts(name, zip(*columns, strict=True)))


Cell = str | None


def read_facts(name: str, path: Path) -> Relation:
    """Read a relation from a CSV file; a line with an empty cell is left out, because nothing is known of it.

    A column has numbers if every cell of it is a number that is written as numbers are: 007 is a text, and with it the
    whole column is. A column of lists in brackets has lists, one of ``true`` and ``false`` truths, and one of dates or
    times in ISO 8601 has integers of microseconds.
    """
    header, lines = _lines(name, path)
    for column in header:
        if header.count(column) > 1:
            raise _unreadable(name, path, 1, f"the column '{column}' is there twice")
    columns = [_typed(name, path, header[at], [(n, cells[at]) for n, cells in lines]) for at in range(len(header))]
    rows = (tuple(value for value in row if value is not None) for row in zip(*columns, strict=True))
    return Relation(name, len(header), tuple(row for row in rows if len(row) == len(header)))


def _lines(name: str, path: Path) -> tuple[list[str], list[tuple[int, list[Cell]]]]:
    """Read the names of the columns, and the cells of every line with its number."""
    if not path.is_file():
        raise OptionError.of("file", f"there is no file '{path}' with the facts of '{name}'")
    header: list[str] = []
    found: list[tuple[int, list[Cell]]] = []
    for number, raw in enumerate(path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        try:
            text = raw.decode("utf-8").removesuffix("\r")
            cells = split_line(text)
        except UnicodeDecodeError:
            raise _unreadable(name, path, number, "the text is not UTF-8") from None
        except EventError as error:
            raise _unreadable(name, path, number, error.diagnostics[0].message) from None
        if not text.strip():
            continue
        if not header:
            header = [(cell or "").strip() for cell in cells]
        elif len(cells) != len(header):
            raise _unreadable(name, path, number, f"there are {len(cells)} cells, and the header names {len(header)}")
        else:
            found.append((number, cells))
    if not header:
        raise _unreadable(name, path, 1, "the file is empty: its first line names the columns")
    return header, found


def _typed(name: str, path: Path, column: str, cells: list[tuple[int, Cell]]) -> list[Value | None]:
    """The values of a column: those of the first kind that all its cells have."""
    texts = [(number, cell) for number, cell in cells if cell is not None]
    if not texts:
        return [None] * len(cells)
    if all(text.lower() in _TRUTHS for _, text in texts):
        return [None if cell is None else _TRUTHS[cell.lower()] for _, cell in cells]
    if all(_is_integer(text) for _, text in texts):
        for number, text in texts:
            if len(text) > 20 or not INT_MIN <= int(text) <= INT_MAX:
                raise _unreadable(name, path, number, f"{column}: {shown(text, 30)} does not fit in 64 bits")
        return [None if cell is None else int(cell) for _, cell in cells]
    if all(_is_number(text) for _, text in texts):
        for number, text in texts:
            if isinf(float(text)):
                raise _unreadable(name, path, number, f"{column}: {shown(text, 30)} is beyond the numbers of 64 bits")
        return [None if cell is None else float(cell) for _, cell in cells]
    if all(text[4:5] == "-" for _, text in texts):
        try:
            return [None if cell is None else parse_time(cell.strip()) for _, cell in cells]
        except (ValueError, OverflowError):
            pass  # texts that look like dates
    if all(text.startswith("[") for _, text in texts):
        try:
            return [None if cell is None else list_of_text(cell) for _, cell in cells]
        except EventError:
            pass  # texts that begin with a bracket
    return [cell for _, cell in cells]


_TRUTHS = {"true": True, "false": False}


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and (digits[0] != "0" or text == "0")


def _is_number(text: str) -> bool:
    """Whether a text is a number; one with a zero before other digits is a text, such as 007."""
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits[:1].isdigit() or (digits[0] == "0" and digits[1:2].isdigit()) or "_" in text:
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True


def _unreadable(name: str, path: Path, line: int, reason: str) -> OptionError:
    return OptionError.of("facts", f"the facts of '{name}' in '{path}' cannot be read: line {line}: {reason}")
