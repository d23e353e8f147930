"""Writing events to a file, in the format that its extension names."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, assert_never

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq

from cepheus.core.batch import EventBatch
from cepheus.core.errors import EventError, OptionError
from cepheus.core.time import TimeUnit
from cepheus.core.values import ValueType
from cepheus.formats.arrays import int_array
from cepheus.formats.intervals import attributes_in, is_positional, positional, with_intervals
from cepheus.formats.papers_notation import format_notation_line
from cepheus.formats.read import COMPRESSED, STANDARD_INPUT, Format, format_of
from cepheus.formats.records import Record
from cepheus.formats.table import (
    cast_table,
    flatten,
    in_unit,
    is_whole,
    merge_schemas,
    to_table,
    written_time,
    written_times,
)

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


class EventWriter:
    """Writes batches of events to a file, in bounded memory.

    The file appears under its name only when the writer is closed without an error; until then the events are in
    files beside it. A time is written as an integer in ``unit`` if that divides it exactly, else as ISO 8601 (in
    Parquet and Arrow files, where a column has one type: all times as timestamps if any is not a whole number). Without
    a unit all of them are ISO 8601, or timestamps; ``unit`` may be set until there is something to write.

    ``intervals`` are the types of events that last from a start to an end: both are written, and attributes without
    names, in JSON lines, as a list of arguments.

    >>> import tempfile
    >>> from cepheus.core.event import Event
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with EventWriter(Path(folder, "out.jsonl")) as writer:
    ...         writer.write(EventBatch.from_events([Event("Temp", 10, {"value": 24.5})]))
    ...     Path(folder, "out.jsonl").read_text()
    '{"type": "Temp", "time": 10, "value": 24.5}\\n'
    """

    def __init__(
        self, path: str | Path, unit: TimeUnit | None = TimeUnit.US, *, intervals: frozenset[str] = frozenset()
    ) -> None:
        self.path = Path(path)
        self._intervals = intervals
        if self.path.suffix.lower() == COMPRESSED or str(path) == STANDARD_INPUT:
            hint = "write a file with the extension of its format, and compress it then"
            raise OptionError.of("format", f"'{path}' is no file of events that can be written", hint=hint)
        self.format = format_of(path)
        self.unit = unit
        self._temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        self._lines: BinaryIO | None = None
        self._spool: Spool | None = None
        if self.path.is_dir():
            raise OptionError.of("file", f"'{path}' is a folder")
        try:
            file = self._temporary.open("wb")
        except OSError as error:
            raise self._unwritable(error) from None
        if self.format in (Format.JSON_LINES, Format.NOTATION):
            self._lines = file
        else:
            file.close()
            self._spool = Spool(self._temporary)

    def write(self, batch: EventBatch) -> None:
        """Put the events of a batch at the end of the file."""
        if not len(batch):
            return
        try:
            if self._lines is not None and self.format is Format.JSON_LINES:
                records = written_records(batch, self.unit, self._intervals)
                self._lines.write("".join(json_line(record) + "\n" for record in records).encode())
            elif self._lines is not None:
                records = flatten(with_intervals(batch, self._intervals), self.unit)
                self._lines.write("".join(format_notation_line(record) + "\n" for record in records).encode())
            elif self._spool is not None:
                self._spool.write(with_intervals(batch, self._intervals), self.unit)
        except OSError as error:
            raise self._unwritable(error) from None
        except UnicodeEncodeError:
            raise EventError.of("utf-8", "a text has half a surrogate pair, which no file can hold") from None
        except pa.lib.ArrowException as error:
            raise EventError.of("format", f"the events cannot be written: {error}") from None

    def close(self) -> None:
        """Finish the file and give it its name."""
        try:
            if self._lines is not None:
                self._lines.close()
            elif self._spool is not None:
                self._finish(self._spool)
                self._spool.remove()
            self._temporary.replace(self.path)
        except OSError as error:
            self.discard()
            raise self._unwritable(error) from None
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        """Remove what was written; the file does not appear."""
        if self._lines is not None:
            self._lines.close()
        if self._spool is not None:
            self._spool.remove()
        self._temporary.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def _finish(self, spool: Spool) -> None:
        match self.format:
            case Format.CSV:
                with self._temporary.open("wb") as file:
                    file.write(csv_header(spool.schema.names))
                    for table in spool.tables():
                        file.write(csv_lines(table, self.unit))
            case Format.PARQUET | Format.ARROW:
                unit = self.unit or TimeUnit.US
                schema = in_unit(spool.schema.empty_table(), unit, spool.whole).schema
                with ExitStack() as stack:
                    writer = stack.enter_context(
                        pq.ParquetWriter(str(self._temporary), schema)
                        if self.format is Format.PARQUET
                        else pa.ipc.new_file(str(self._temporary), schema)
                    )
                    for table in spool.tables():
                        writer.write_table(in_unit(table, unit, spool.whole))
            case Format.JSON_LINES | Format.NOTATION:
                raise AssertionError("lines are written as they come")
            case _:
                assert_never(self.format)

    def _unwritable(self, error: OSError) -> OptionError:
        reason = (error.strerror or "the file cannot be opened").lower()
        hint = "create the folder first" if isinstance(error, FileNotFoundError) else None
        return OptionError.of("file", f"'{self.path}' cannot be written: {reason}", hint=hint)


def written_records(batch: EventBatch, unit: TimeUnit | None, intervals: frozenset[str] = frozenset()) -> list[Record]:
    """The events of a batch as JSON lines have them: times in a unit, attributes without names as arguments.

    >>> from cepheus.core.event import Event
    >>> written_records(EventBatch.from_events([Event("Temp", 10_000_000, {"value": 24.5})]), TimeUnit.S)
    [{'type': 'Temp', 'time': 10, 'value': 24.5}]
    """
    attributes = attributes_in(batch, intervals)
    unnamed = {name for name in intervals if is_positional(attributes.get(name, ()))}
    records = flatten(with_intervals(batch, intervals), unit)
    return [positional(record) if record["type"] in unnamed else record for record in records]


def json_line(record: Record) -> str:
    """An event as a line of JSON, without the line end."""
    try:
        return _ENCODER.encode(record)
    except ValueError:
        raise EventError.of("number", "an event holds a number that is not finite") from None


# Written out, because making a table here would import pandas wherever it is installed.
_NOTHING = pa.schema({"type": pa.string(), "time": ValueType.TIMESTAMP.arrow})


class Spool:
    """Tables of events on the disk, in as many files as the schema grew, all beginning with one path."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: list[Path] = []
        self._writer: pa.ipc.RecordBatchStreamWriter | None = None
        self.schema: pa.Schema = _NOTHING
        self.whole = True

    def write(self, batch: EventBatch, unit: TimeUnit | None) -> None:
        """Put the events of a batch at the end; ``whole`` tells whether all times are whole numbers of their units."""
        table = to_table(batch)
        schema = merge_schemas(self.schema, table.schema)
        if self._writer is None or schema != self.schema:
            self._end_file()
            self.schema = schema
            self._files.append(self._path.with_name(f"{self._path.name}.{len(self._files)}"))
            self._writer = pa.ipc.new_stream(str(self._files[-1]), schema)
        self.whole = self.whole and unit is not None and is_whole(batch.times, unit)
        self._writer.write_table(cast_table(table, self.schema))

    def tables(self) -> Iterator[pa.Table]:
        """Yield all tables, in the schema that holds them all."""
        self._end_file()
        for path in self._files:
            with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as stream:
                for batch in stream:
                    yield cast_table(pa.Table.from_batches([batch]), self.schema)

    def remove(self) -> None:
        """Delete the files."""
        self._end_file()
        for path in self._files:
            path.unlink(missing_ok=True)
        self._files.clear()

    def _end_file(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


_BREAKS = "[\r\n]"


def csv_header(names: Sequence[str]) -> bytes:
    """The line that names the columns."""
    return ",".join(_quoted(pa.array(names, pa.string())).to_pylist()).encode() + b"\n"


def csv_lines(table: pa.Table, unit: TimeUnit | None) -> bytes:
    """The lines of a table of events; a table without rows has none."""
    if not table.num_rows:
        return b""
    columns = [_cells(name, table.column(name).combine_chunks(), unit) for name in table.column_names]
    lines = pc.binary_join_element_wise(*(pc.fill_null(column, "") for column in columns), ",")
    return "\n".join(lines.to_pylist()).encode() + b"\n"


def _cells(name: str, array: pa.Array, unit: TimeUnit | None) -> pa.Array:
    if pa.types.is_timestamp(array.type):
        return _times(array, unit)
    if pa.types.is_struct(array.type):
        value = _cells(name, array.field("value"), unit)
        error = array.field("error")
        uncertain = pc.binary_join_element_wise('"<', value, ", ", error, '>"', "")
        cells = pc.if_else(error.is_valid(), uncertain, value)
        return pc.if_else(array.is_valid(), cells, pa.scalar(None, pa.string()))
    if pa.types.is_list(array.type):
        return _lists(array)
    if pa.types.is_floating(array.type):
        texts = array.cast(pa.string())
        plain = pc.match_substring_regex(texts, r"^-?[0-9]+$")
        return pc.if_else(plain, pc.binary_join_element_wise(texts, ".0", ""), texts)
    if pa.types.is_string(array.type):
        return _quoted(array)
    return array.cast(pa.string())


def _times(array: pa.Array, unit: TimeUnit | None) -> pa.Array:
    numbers = array.cast(pa.timestamp("us")).cast(pa.int64())
    if numbers.null_count == 0:
        return pa.array([str(time) for time in written_times(int_array(numbers), unit)], pa.string())
    values = numbers.to_pylist()
    return pa.array([None if time is None else str(written_time(time, unit)) for time in values], pa.string())


def _lists(array: pa.Array) -> pa.Array:
    """Ids are separated by spaces, so none may hold one."""
    ids = array.flatten()
    for bad in ids.filter(pc.match_substring_regex(ids, r"^$|\s")).to_pylist():
        raise EventError.of(
            "csv", f"the id {json.dumps(bad)} is empty or has a space: CSV separates ids by spaces", hint=_ELSE
        )
    return _quoted(pc.binary_join(array, " "))


def _quoted(array: pa.Array) -> pa.Array:
    if pc.any(pc.match_substring_regex(array, _BREAKS)).as_py():
        raise EventError.of("csv", "a text holds a line break, which CSV cells may not", hint=_ELSE)
    special = pc.or_(pc.match_substring_regex(array, '[",]'), pc.equal(array, ""))
    if not pc.any(special).as_py():
        return array
    doubled = pc.replace_substring(array, '"', '""')
    return pc.if_else(special, pc.binary_join_element_wise('"', doubled, '"', ""), array)


_ELSE = "write .jsonl, .parquet or .arrow instead"
