"""Parquet and Arrow: columns ``type`` and ``time`` and the union of the attributes, null where a type lacks one.

Tables of other libraries become Arrow tables, or it is said why one cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from cepheus.core.errors import Diagnostic, EventError, Place, did_you_mean
from cepheus.core.options import ColumnNames
from cepheus.core.values import ValueType, from_arrow
from cepheus.formats.intake import Chunk, Intake
from cepheus.formats.problems import shown
from cepheus.formats.rows import ArrayRows

T = TypeVar("T")

LIBRARY_FAILURES = (
    pa.lib.ArrowException,
    OSError,
    ValueError,
    TypeError,
    LookupError,
    MemoryError,
    OverflowError,
    NotImplementedError,
)
"""What the Arrow library raises for files that are damaged or of another kind."""

Progress = Callable[[float], None]
"""Is told what part of a file, from 0 to 1, has been read."""

Wanted = Callable[[Sequence[str]], Sequence[str]]
"""Gives, of the names of a file's columns, those to read."""


@dataclass(frozen=True, slots=True)
class ColumnarOptions:
    """How a columnar file is read: rows a chunk, the columns it must have, and who is told of the progress."""

    chunk_rows: int
    needed: Sequence[str]
    progress: Progress


def read_parquet(path: Path, intake: Intake, wanted: Wanted, options: ColumnarOptions) -> Iterator[Chunk]:
    """The events of a Parquet file chunk by chunk."""
    name = str(path)
    file = guarded(lambda: pq.ParquetFile(path), name, "Parquet")
    try:
        names = guarded(lambda: file.schema_arrow.names, name, "Parquet")
        columns = _checked_columns(names, name, wanted, options.needed)
        total = file.metadata.num_rows
        batches = guarded(lambda: file.iter_batches(batch_size=options.chunk_rows, columns=columns), name, "Parquet")
        done = 0
        while (batch := guarded(lambda: next(batches, None), name, "Parquet")) is not None:
            yield _chunk(batch, intake, done, name, "Parquet")
            done += batch.num_rows
            options.progress(done / total if total else 1.0)
    finally:
        file.close()


def read_arrow(path: Path, intake: Intake, wanted: Wanted, options: ColumnarOptions) -> Iterator[Chunk]:
    """The events of an Arrow file (the IPC file format, or the stream format) chunk by chunk."""
    name = str(path)
    source = guarded(lambda: pa.memory_map(str(path)), name, "Arrow")
    with source:
        schema, batches = guarded(lambda: _arrow_batches(source), name, "Arrow")
        names = guarded(lambda: schema.names, name, "Arrow")
        columns = _checked_columns(names, name, wanted, options.needed)
        done = 0
        while (batch := guarded(lambda: next(batches, None), name, "Arrow")) is not None:
            for start in range(0, batch[1].num_rows, options.chunk_rows):
                part = batch[1].select(columns).slice(start, options.chunk_rows)
                yield _chunk(part, intake, done, name, "Arrow")
                done += part.num_rows
            options.progress(batch[0])


def array_rows(arrays: Mapping[str, pa.Array], length: int) -> ArrayRows:
    """Take Arrow arrays as rows, with text that is stored as bytes made text."""
    return ArrayRows({name: _as_text(array) for name, array in arrays.items()}, length)


def check_columns(names: Sequence[str], place: Place | None, needed: Sequence[str]) -> None:
    """Make sure that there are the columns that events need, and that no name is twice."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise EventError.of("column", f"there are two columns '{twice}'", place=place)
    for wanted in needed:
        if wanted not in names:
            there = ", ".join(map(repr, names[:8])) or "none"
            named = f"name the one that is it, as in {wanted}='..'; there are {there}"
            if wanted == "type":
                named += "; where all events are of one type, say so: {'Temp': events}, --events Temp=FILE"
            hint = did_you_mean(wanted, names) or named
            raise EventError.of("column", f"there is no column '{wanted}'", place=place, hint=hint)


def check_type_column(array: pa.Array | pa.ChunkedArray, place: Place | None, name: str = "type") -> None:
    """Make sure that the type column holds strings."""
    if from_arrow(array.type) is not ValueType.STRING and not pa.types.is_null(array.type):
        raise EventError.of("column", f"the column '{name}' holds {array.type}, not strings", place=place)


def guarded(work: Callable[[], T], name: str, kind: str, failures: tuple[type[Exception], ...] = LIBRARY_FAILURES) -> T:
    """Do something with a file of some kind; if the library fails, the file is not what it should be."""
    try:
        return work()
    except failures as error:
        detail = " ".join(str(error).split())[:200]
        raise EventError.of(
            "format", f"the file cannot be read as {kind}: {detail or 'it is damaged'}", place=Place(name)
        ) from None


def _checked_columns(names: Sequence[str], name: str, wanted: Wanted, needed: Sequence[str]) -> list[str]:
    check_columns(names, Place(name), needed)
    chosen = set(wanted(names))
    return [column for column in names if column in chosen]


def _chunk(batch: pa.RecordBatch, intake: Intake, done: int, name: str, kind: str) -> Chunk:
    guarded(lambda: batch.validate(full=True), name, kind)  # a damaged file must not become a wild pointer
    rows = guarded(lambda: _rows(batch), name, kind)
    if intake.type_column in rows.arrays:
        check_type_column(rows.arrays[intake.type_column], Place(name), intake.type_column)
    end = done + batch.num_rows
    # what the library still finds wrong in there, such as names that are not UTF-8, is the file's fault
    failures = (pa.lib.ArrowException, UnicodeError)
    return guarded(lambda: intake.chunk(rows, range(done + 1, end + 1), range(done, end)), name, kind, failures)


def _rows(batch: pa.RecordBatch) -> ArrayRows:
    return array_rows(dict(zip(batch.schema.names, batch.columns, strict=True)), batch.num_rows)


def _arrow_batches(source: pa.MemoryMappedFile) -> tuple[pa.Schema, Iterator[tuple[float, pa.RecordBatch]]]:
    try:
        file = pa.ipc.open_file(source)
    except pa.lib.ArrowInvalid:
        source.seek(0)
        stream = pa.ipc.open_stream(source)
        size = max(source.size(), 1)
        return stream.schema, ((source.tell() / size, batch) for batch in stream)
    count = file.num_record_batches
    return file.schema, (((index + 1) / count, file.get_batch(index)) for index in range(count))


def _as_text(array: pa.Array) -> pa.Array:
    if pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type):
        try:
            return array.cast(pa.string())
        except pa.lib.ArrowException:
            return array
    if pa.types.is_dictionary(array.type) and array.dictionary.null_count:
        return array.cast(array.type.value_type)  # a null may also hide in the dictionary itself
    return array


def arrow_table(given: Any) -> pa.Table:
    """Take a table that gives itself as an Arrow stream; EventError with column and row if values do not allow it.

    pandas holds what it is given in a column, Arrow columns have one type.
    """
    if isinstance(given, pa.Table):
        return _without_views(given)
    try:
        return _without_views(pa.table(given))
    except LIBRARY_FAILURES as error:
        raise unreadable(given, error) from None


def table_of(columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    """Make a table of columns of values; EventError with column and row if values do not allow it.

    >>> table_of({"a": [1, None], "b": [None, "x"]}).to_pylist()
    [{'a': 1, 'b': None}, {'a': None, 'b': 'x'}]
    """
    arrays: dict[str, pa.Array] = {}
    for name, values in columns.items():
        try:
            arrays[name] = pa.array(values)
        except LIBRARY_FAILURES as error:
            raise EventError(
                [_culprit_in(name, values) or Diagnostic("type", f"the column '{name}' cannot be read: {error}")]
            ) from None
    return pa.table(arrays)


def _without_views(table: pa.Table) -> pa.Table:
    """The table with plain texts instead of views of them, as Polars has: Arrow can neither sort nor take those."""
    for place, field in enumerate(table.schema):
        kind = field.type
        if pa.types.is_string_view(kind):
            table = table.set_column(place, field.name, table.column(place).cast(pa.string()))
        elif pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
            plain = pa.dictionary(kind.index_type, pa.string(), kind.ordered)
            table = table.set_column(place, field.name, table.column(place).cast(plain))
    return table


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
        culprit = _culprit_in(str(name), values)
        if culprit is not None:
            return culprit
    return None


def _culprit_in(name: str, values: Sequence[Any]) -> Diagnostic | None:
    if _is_column(values):
        return None
    good, bad = 0, len(values)  # so many values make a column, and so many do not
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if _is_column(values[:middle]) else (good, middle)
    return _described(name, values, good)


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


def require_utf8(name: str, array: pa.Array) -> None:
    """Refuse bytes that are no text: whoever made the table may not have looked."""
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        hint = "encode its texts in UTF-8"
        raise EventError.of("utf-8", f"the column '{name}' is not valid UTF-8", hint=hint) from None


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """A column of a table in one piece."""
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.string())  # of which Arrow can do nothing but this
    return column.chunk(0) if column.num_chunks == 1 else column.unify_dictionaries().combine_chunks()


def event_arrays(given: object, columns: ColumnNames) -> tuple[dict[str, pa.Array], int]:
    """The columns of a table of events by name, and how many rows it has."""
    table = arrow_table(given)
    check_columns(table.schema.names, None, (columns.type, columns.time))
    arrays = {name: one_array(table.column(name)) for name in table.schema.names}
    check_type_column(arrays[columns.type], None, columns.type)
    for name, array in arrays.items():
        if from_arrow(array.type) is ValueType.STRING:
            require_utf8(name, array)
    return arrays, table.num_rows
