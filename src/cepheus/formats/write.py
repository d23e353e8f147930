"""Writing events to a file, in the format that its extension names."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, assert_never

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from cepheus.core.batch import EventBatch
from cepheus.core.errors import EventError, OptionError
from cepheus.core.time import TimeUnit
from cepheus.formats.csv_out import csv_header, csv_lines
from cepheus.formats.flatten import flatten
from cepheus.formats.intervals import attributes_in, is_positional, positional, with_intervals
from cepheus.formats.notation import format_notation_line
from cepheus.formats.read import Format, format_of
from cepheus.formats.records import Record
from cepheus.formats.spool import Spool
from cepheus.formats.table import in_unit

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


class EventWriter:
    """Writes batches of events to a file, in bounded memory.

    The file appears under its name only when the writer is closed without an error; until then the events are in
    files beside it. A time is written as an integer in ``unit`` if that divides it exactly, else as ISO 8601 (in
    Parquet and Arrow files, where a column has one type: all times as timestamps if any is not a whole number).

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
        self, path: str | Path, unit: TimeUnit = TimeUnit.US, *, intervals: frozenset[str] = frozenset()
    ) -> None:
        self.path = Path(path)
        self._intervals = intervals
        self.format = format_of(path)
        self._unit = unit
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
            self._spool = Spool(self._temporary, unit)

    def write(self, batch: EventBatch) -> None:
        """Put the events of a batch at the end of the file."""
        if not len(batch):
            return
        attributes = attributes_in(batch, self._intervals)
        unnamed = {name for name in self._intervals if is_positional(attributes.get(name, ()))}
        batch = with_intervals(batch, self._intervals)
        try:
            if self._lines is not None:
                records = flatten(batch, self._unit)
                self._lines.write("".join(self._line(record, unnamed) for record in records).encode())
            elif self._spool is not None:
                self._spool.write(batch)
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

    def _line(self, record: Record, unnamed: Collection[str]) -> str:
        """Write an event; attributes of ``unnamed`` types are a list of arguments."""
        if self.format is Format.NOTATION:
            return format_notation_line(record) + "\n"
        if record["type"] in unnamed:
            record = positional(record)
        try:
            return _ENCODER.encode(record) + "\n"
        except ValueError:
            raise EventError.of("number", "an event holds a number that is not finite") from None

    def _finish(self, spool: Spool) -> None:
        match self.format:
            case Format.CSV:
                with self._temporary.open("wb") as file:
                    file.write(csv_header(spool.schema.names))
                    for table in spool.tables():
                        file.write(csv_lines(table, self._unit))
            case Format.PARQUET | Format.ARROW:
                schema = in_unit(spool.schema.empty_table(), self._unit, spool.whole).schema
                with ExitStack() as stack:
                    writer = stack.enter_context(
                        pq.ParquetWriter(str(self._temporary), schema)
                        if self.format is Format.PARQUET
                        else pa.ipc.new_file(str(self._temporary), schema)
                    )
                    for table in spool.tables():
                        writer.write_table(in_unit(table, self._unit, spool.whole))
            case Format.JSON_LINES | Format.NOTATION:
                raise AssertionError("lines are written as they come")
            case _:
                assert_never(self.format)

    def _unwritable(self, error: OSError) -> OptionError:
        reason = (error.strerror or "the file cannot be opened").lower()
        hint = "create the folder first" if isinstance(error, FileNotFoundError) else None
        return OptionError.of("file", f"'{self.path}' cannot be written: {reason}", hint=hint)
