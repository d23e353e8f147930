"""Files of events, by extension: ``.jsonl``, ``.csv``, ``.parquet``, ``.arrow`` and ``.events``."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import cache
from pathlib import Path
from typing import BinaryIO, assert_never, cast

from cepheus.core.batch import EventBatch
from cepheus.core.errors import EventError, OptionError, Place, did_you_mean, similar_file
from cepheus.core.schema import RESERVED, SPARE_ID_FIELD
from cepheus.formats.attributes import is_unnamed
from cepheus.formats.csv_text import read_csv
from cepheus.formats.intake import Chunk, Intake, IntakeOptions
from cepheus.formats.intervals import ARGUMENTS, END, START, named
from cepheus.formats.jsonl import parse_json_line
from cepheus.formats.papers_notation import parse_notation_line
from cepheus.formats.parquet_arrow import ColumnarOptions, read_arrow, read_parquet
from cepheus.formats.problems import BadEvents
from cepheus.formats.records import MAX_LINE_BYTES, Record, read_records

CHUNK_ROWS = 65_536


class Format(Enum):
    """A format of event files; the value is the extension."""

    JSON_LINES = ".jsonl"
    CSV = ".csv"
    PARQUET = ".parquet"
    ARROW = ".arrow"
    NOTATION = ".events"


COMPRESSED = ".gz"
"""How the names of compressed files of text end, behind the extension of their format."""

STANDARD_INPUT = "-"
"""Stands for what comes from standard input: JSON lines or CSV, compressed or not."""


def format_of(path: str | Path) -> Format:
    """The format that a file's extension names, for standard input what its beginning looks like.

    >>> format_of("temps.jsonl"), format_of("temps.csv.gz")
    (<Format.JSON_LINES: '.jsonl'>, <Format.CSV: '.csv'>)
    """
    if str(path) == STANDARD_INPUT:
        return Format.JSON_LINES if standard_input().peek(1).lstrip()[:1] in (b"{", b"") else Format.CSV
    compressed = Path(path).suffix.lower() == COMPRESSED
    extension = Path(Path(path).stem if compressed else path).suffix.lower()
    for known in Format:
        if extension == known.value and not (compressed and known in (Format.PARQUET, Format.ARROW)):
            return known
    names = [known.value for known in Format]
    raise OptionError.of(
        "format",
        f"'{path}' has no extension of an event file",
        hint=did_you_mean(extension, names) or f"known extensions: {', '.join(names)}",
    )


class EventFile:
    """A file of events that is read chunk by chunk, in bounded memory, in the order of its lines.

    Options say what the rules expect and how times are written; ``bad`` decides what happens to bad events.
    ``read`` counts the events met so far, bad ones included; ``done`` tells the part of the file that is read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.events")
    ...     _ = path.write_text("Temp@10 (value=24.5)")
    ...     [chunk.batch.to_dicts() for chunk in EventFile(path, IntakeOptions(keep_all=True))]
    [[{'type': 'Temp', 'time': 10, 'value': 24.5, 'id': 0}]]
    """

    def __init__(
        self,
        path: str | Path,
        options: IntakeOptions | None = None,
        bad: BadEvents | None = None,
        *,
        chunk_rows: int = CHUNK_ROWS,
        max_line: int = MAX_LINE_BYTES,
    ) -> None:
        self.path = Path(path)
        self.format = format_of(path)
        self.options = options or IntakeOptions()
        self.bad = bad or BadEvents()
        self.done = 0.0
        counts_rows = self.format in (Format.PARQUET, Format.ARROW)
        self._intake = Intake(str(path), self.options, self.bad, counts_rows=counts_rows)
        self._chunk_rows = chunk_rows
        self._max_line = max_line
        check_readable(self.path)

    @property
    def read(self) -> int:
        """How many events were met so far, bad ones and those that concern no rule included."""
        return self._intake.read

    def __iter__(self) -> Iterator[Chunk]:
        match self.format:
            case Format.JSON_LINES | Format.CSV | Format.NOTATION:
                return self._text()
            case Format.PARQUET:
                return self._parquet()
            case Format.ARROW:
                return self._arrow()
            case _:
                assert_never(self.format)

    def batch(self) -> EventBatch:
        """Read the whole file into one batch."""
        return EventBatch.concat([chunk.batch for chunk in self])

    def _text(self) -> Iterator[Chunk]:
        if str(self.path) == STANDARD_INPUT:
            yield from self._text_chunks(standard_input())
            return
        size = max(self.path.stat().st_size, 1)
        with open_readable(self.path) as file:
            plain = gzip.GzipFile(fileobj=file) if self.path.suffix.lower() == COMPRESSED else file
            for chunk in self._unpacked(plain):
                self.done = min(file.tell() / size, 1.0)
                yield chunk
        self.done = 1.0

    def _unpacked(self, file: BinaryIO | gzip.GzipFile) -> Iterator[Chunk]:
        """The chunks of a file that may turn out to be damaged on the way."""
        try:
            yield from self._text_chunks(cast("BinaryIO", file))
        except (EOFError, OSError, zlib.error) as error:
            if not isinstance(file, gzip.GzipFile):
                raise
            place = Place(str(self.path))
            raise EventError.of(
                "format", f"the file is not compressed with gzip, or cut off: {error}", place=place
            ) from None

    def _text_chunks(self, file: BinaryIO) -> Iterator[Chunk]:
        name, rows, limit = str(self.path), self._chunk_rows, self._max_line
        if self.format is Format.CSV:
            return read_csv(file, self._intake, name=name, chunk_rows=rows, max_line=limit, needed=self._needed())
        parse = self._parse_json if self.format is Format.JSON_LINES else parse_notation_line
        return read_records(file, self._intake, parse, name=name, chunk_rows=rows, max_line=limit)

    def _parse_json(self, line: str) -> Record | None:
        """Read a line; an event over an interval may have its attributes as a list of arguments."""
        record = parse_json_line(line)
        if record is None or not self.options.intervals or record.keys().isdisjoint((ARGUMENTS, END)):
            return record
        columns = self.options.columns
        name = record.get(columns.type, self.options.type_name)
        schema = self.options.schema
        return named(record, schema[name] if isinstance(name, str) and name in schema else None, columns.time)

    def _needed(self) -> tuple[str, ...]:
        """The columns that there must be."""
        columns = self.options.columns
        return (columns.type, columns.time) if self.options.type_name is None else (columns.time,)

    def _parquet(self) -> Iterator[Chunk]:
        return read_parquet(self.path, self._intake, self._wanted, self._columnar_options())

    def _arrow(self) -> Iterator[Chunk]:
        return read_arrow(self.path, self._intake, self._wanted, self._columnar_options())

    def _columnar_options(self) -> ColumnarOptions:
        return ColumnarOptions(self._chunk_rows, self._needed(), self._progress)

    def _wanted(self, names: Sequence[str]) -> Sequence[str]:
        """Columns that no rule names stay on the disk."""
        if self.options.named is not None:
            self.options.named.look(names, Place(str(self.path)), all_there=True)
        if self.options.unseen is not None:
            self.options.unseen.note_columns(names)
        types = self.options.schema.values()
        if self.options.keep_all or (self.options.intervals and any(map(is_unnamed, types))):
            return names
        wanted = {attribute.named_by_data for event_type in types for attribute in event_type.attributes}
        wanted |= RESERVED | self.options.columns.given | {SPARE_ID_FIELD, START}
        wanted |= {name for error in self.options.uncertain.values() for name in error.columns}
        return [name for name in names if name in wanted]

    def _progress(self, done: float) -> None:
        self.done = done


def open_files(
    paths: Sequence[str | Path],
    options: IntakeOptions | None = None,
    bad: BadEvents | None = None,
    *,
    type_names: Mapping[str, str] | None = None,
    chunk_rows: int = CHUNK_ROWS,
) -> list[EventFile]:
    """Open several files that are one input; bad events of all of them go to ``bad``.

    ``type_names`` gives, by path, the type of files that have no types of their own. With more than one file, an
    event without an id gets its file's name and its position there, such as ``temps.csv:17``.
    """
    options = options or IntakeOptions()
    bad = bad or BadEvents()
    names = Counter(Path(path).name for path in paths)
    files = []
    for path in paths:
        prefix = None
        if len(paths) > 1:
            prefix = Path(path).name if names[Path(path).name] == 1 else str(path)
        type_name = (type_names or {}).get(str(path), options.type_name)
        own = replace(options, type_name=type_name, id_prefix=prefix)
        files.append(EventFile(path, own, bad, chunk_rows=chunk_rows))
    return files


def read_files(files: Iterable[EventFile]) -> Iterator[Chunk]:
    """The chunks of files one file after the other."""
    for file in files:
        yield from file


@cache
def standard_input() -> io.BufferedReader:
    """Standard input, unpacked if it is compressed."""
    plain = sys.stdin.buffer
    reader = plain if isinstance(plain, io.BufferedReader) else io.BufferedReader(cast("io.RawIOBase", plain))
    if reader.peek(2)[:2] == _GZIP:
        return io.BufferedReader(cast("io.RawIOBase", gzip.GzipFile(fileobj=reader)))
    return reader


def open_readable(path: Path) -> BinaryIO:
    """Open a file of text; refuse one that is plainly something else."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise _unreadable(path, error) from None
    try:
        start = file.read(8)
        file.seek(0)
        for magic, kind in _MAGIC.items():
            if start.startswith(magic) and (magic != _GZIP or path.suffix.lower() != COMPRESSED):
                raise EventError.of(
                    "format",
                    f"the file is {kind}, not what its extension says",
                    place=Place(str(path)),
                    hint="give the file the extension of what it holds, or convert it",
                )
    except BaseException:
        file.close()
        raise
    return file


def check_readable(path: Path) -> None:
    """Make sure that there is a file that can be opened."""
    if str(path) == STANDARD_INPUT:
        return
    if path.is_dir():
        raise OptionError.of("file", f"'{path}' is a folder, not a file of events")
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise _unreadable(path, error) from None


_GZIP = b"\x1f\x8b"
_MAGIC = {
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    _GZIP: "compressed with gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
    b"PK\x03\x04": "a zip archive",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
}


def _unreadable(path: Path, error: OSError) -> OptionError:
    if isinstance(error, FileNotFoundError):
        return OptionError.of("file", f"there is no file '{path}'", hint=similar_file(path))
    reason = (error.strerror or "it cannot be opened").lower()
    return OptionError.of("file", f"'{path}' cannot be read: {reason}")
