"""Tables of other libraries as Arrow tables, and why one cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from cepheus.core.errors import Diagnostic, EventError, Place
from cepheus.formats.parquet_arrow import LIBRARY_FAILURES
from cepheus.formats.problems import shown


def arrow_table(given: Any) -> pa.Table:
    """Take a table that gives itself as an Arrow stream; EventError with column and row if values do not allow it.

    pandas holds what it is given in a column, Arrow columns have one type.
    """
    if isinstance(given, pa.Table):
        return given
    try:
        return pa.table(given)
    except LIBRARY_FAILURES as error:
        raise unreadable(given, error) from None


def unreadable(given: Any, error: Exception) -> EventError:
    """The error for a table that Arrow refuses, with the column and row to blame, if they can be found."""
    reason = " ".join(str(error).split())[:200]
    return EventError([_culprit(given) or Diagnostic("type", f"the table cannot be read: {reason}")])


def _culprit(given: Any) -> Diagnostic | None:
    """Find the first value that does not fit those before it."""
    for name in getattr(given, "columns", ()):
        try:
            values = list(given[name])
        except LIBRARY_FAILURES:
            return None
        if _is_column(values):
            continue
        good, bad = 0, len(values)  # so many values make a column, and so many do not
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if _is_column(values[:middle]) else (good, middle)
        return _described(str(name), values, good)
    return None


def _described(column: str, values: Sequence[Any], row: int) -> Diagnostic:
    value = values[row]
    if not _is_column([value]):
        fault = "does not fit in 64 bits" if isinstance(value, int) else "is no value"
        message, hint = f"the column '{column}' holds {shown(value)}, which {fault}", None
    else:
        before = next((other for other in values[:row] if not _is_column([other, value])), values[0])
        message = f"the column '{column}' holds {shown(value)}, and {shown(before)} in a row before"
        hint = "give all values of a column one type"
    return Diagnostic("type", message, hint=hint, place=Place("row", row + 1))


def _is_column(values: Sequence[Any]) -> bool:
    try:
        pa.array(values, from_pandas=True)
    except LIBRARY_FAILURES:
        return False
    return True
