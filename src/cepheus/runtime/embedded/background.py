"""Background knowledge from elsewhere: files, tables and rows that are already there."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from cepheus.core.batch import python_values
from cepheus.core.errors import OptionError
from cepheus.core.values import INT_MAX, INT_MIN, Value, from_arrow
from cepheus.rules.interval.model import Knowledge, Relation
from cepheus.runtime.embedded.admission import ArrowTable

Rows = str | os.PathLike[str] | ArrowTable | Iterable[tuple[Value, ...]]
"""A CSV file whose first line names the columns, an Arrow table, a pandas or Polars frame, or tuples."""


def read_knowledge(given: Mapping[str, Rows]) -> Knowledge:
    """Read relations by name.

    >>> read_knowledge({"near": [("a", "b"), ("b", "c")]}).tables[0].rows
    (('a', 'b'), ('b', 'c'))
    """
    return Knowledge(tables=tuple(_relation(name, rows) for name, rows in given.items()))


def _relation(name: str, given: Rows) -> Relation:
    if isinstance(given, str | os.PathLike):
        return _of_table(name, _read_csv(name, Path(given)))
    if isinstance(given, ArrowTable):
        return _of_table(name, given if isinstance(given, pa.Table) else pa.table(given))
    rows = [tuple(row) for row in given]
    arity = len(rows[0]) if rows else 0
    if any(len(row) != arity for row in rows):
        raise OptionError.of("facts", f"the rows of '{name}' have different lengths")
    return Relation(name, arity, _facts(name, rows))


def _facts(name: str, rows: Iterable[tuple[Value | None, ...]]) -> tuple[tuple[Value, ...], ...]:
    """Leave out rows that lack a value, and refuse values that an attribute of an event could not have."""
    facts = []
    for row in rows:
        plain = (value.item() if isinstance(value, np.generic) else value for value in row)
        values = tuple(value for value in plain if value is not None)
        for value in values:
            if not isinstance(value, bool | int | float | str):
                raise OptionError.of("facts", f"a row of '{name}' holds {value!r}, which is no value")
            if isinstance(value, int) and not INT_MIN <= value <= INT_MAX:
                raise OptionError.of("facts", f"a row of '{name}' holds {value}, which does not fit in 64 bits")
            if isinstance(value, float) and not math.isfinite(value):
                raise OptionError.of("facts", f"a row of '{name}' holds {value}, which is not a finite number")
        if len(values) == len(row):
            facts.append(values)
    return tuple(facts)


def _of_table(name: str, table: pa.Table) -> Relation:
    columns: list[list[Value | None]] = []
    for column_name in table.schema.names:
        column = table.column(column_name).combine_chunks()
        kind = from_arrow(column.type)
        if kind is None:
            raise OptionError.of(
                "facts", f"the column '{column_name}' of '{name}' holds {column.type}, which is no value"
            )
        columns.append(python_values(column, kind))
    return Relation(name, len(columns), _facts(name, zip(*columns, strict=True)))


def _read_csv(name: str, path: Path) -> pa.Table:
    if not path.is_file():
        raise OptionError.of("file", f"there is no file '{path}' with the facts of '{name}'")
    try:
        return pyarrow.csv.read_csv(path)
    except pa.ArrowInvalid as error:
        reason = " ".join(str(error).split())[:200]
        raise OptionError.of("facts", f"the facts of '{name}' in '{path}' cannot be read: {reason}") from None
