"""Files with one event a line, read in bounded memory whatever they hold.

A file is cut into blocks of whole lines; each line becomes a record, a chunk of records a chunk of events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from cepheus.core.errors import Diagnostic, EventError, Place
from cepheus.formats.intake import Chunk, Intake
from cepheus.formats.problems import placed
from cepheus.formats.rows import Numbers, RecordRows

BLOCK_BYTES = 1 << 20
MAX_LINE_BYTES = 16 << 20
"""A longer line is a bad event; it is found and passed over without being held in memory."""

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Whole lines of a file: the number of the first, the bytes without the last line end, and their count.

    ``too_long`` marks a single line over the limit, whose bytes are not given.
    """

    first_line: int
    data: bytes
    lines: int
    too_long: bool = False

    def texts(self) -> Iterator[tuple[int, str | None]]:
        """Yield each line's number and text without its end; the text is None where the bytes are not UTF-8."""
        try:
            texts: list[str | None] = list(self.data.decode().split("\n"))
        except UnicodeDecodeError:
            texts = [_decoded(line) for line in self.data.split(b"\n")]
        yield from enumerate(texts, self.first_line)


def line_blocks(file: BinaryIO, max_line: int = MAX_LINE_BYTES, block_bytes: int = BLOCK_BYTES) -> Iterator[LineBlock]:
    r"""Cut a file into blocks of whole lines; a byte order mark at its start is left out.

    >>> import io
    >>> [block.data for block in line_blocks(io.BytesIO(b"a\nb\nc"), block_bytes=4)]
    [b'a\nb', b'c']
    >>> [block.data for block in line_blocks(io.BytesIO(b"a\nb\nc"))]
    [b'a\nb\nc']
    """
    block_bytes = min(block_bytes, max_line)  # then only the first line of a block can be over the limit
    line = 1
    held = bytearray()
    skipping = False
    first = True
    while piece := file.read(block_bytes):
        if len(piece) < block_bytes and not piece.endswith(b"\n"):
            piece += b"\n"  # the last line of the file, which then needs no block of its own
        if first:
            piece, first = piece.removeprefix(_BOM), False
        start = piece.find(b"\n") + 1
        if not start:
            if not skipping:
                held += piece
            if len(held) > max_line:
                held.clear()
                skipping = True
            continue
        if skipping or len(held) + start - 1 > max_line:
            yield LineBlock(line, b"", 1, too_long=True)
            line += 1
            held.clear()
            skipping = False
        else:
            start = 0
        end = piece.rfind(b"\n")
        if end >= start:
            data = bytes(held) + piece[start:end]
            count = data.count(b"\n") + 1
            yield LineBlock(line, data, count)
            line += count
        held = bytearray(piece[end + 1 :])
    if skipping or len(held) > max_line:
        yield LineBlock(line, b"", 1, too_long=True)
    elif held:
        yield LineBlock(line, bytes(held), 1)


def _decoded(line: bytes) -> str | None:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return None


Record = dict[str, object]
"""An event as JSON lines have it: its fields by name."""

ParseLine = Callable[[str], Record | None]
"""Gives the record of a line, or None for a line without an event; raises an EventError."""


def read_records(
    file: BinaryIO, intake: Intake, parse: ParseLine, *, name: str, chunk_rows: int, max_line: int
) -> Iterator[Chunk]:
    """The events of a text file chunk by chunk, in the order of the file."""
    pending = _Pending(name)
    for block in line_blocks(file, max_line):
        if block.too_long:
            pending.fail(block.first_line, too_long(max_line))
            continue
        for line, text in block.texts():
            try:
                record = not_utf8() if text is None else parse(text)
            except EventError as error:
                record = error
            if record is None:
                continue
            if isinstance(record, EventError):
                pending.fail(line, record)
            else:
                pending.records.append(record)
                pending.lines.append(line)
            if len(pending.lines) + len(pending.failed) >= chunk_rows:
                yield pending.flush(intake)
    if pending.lines or pending.failed:
        yield pending.flush(intake)


class _Pending:
    """Records and their lines that wait for their chunk to fill, and what was wrong with other lines between them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._position = 0
        self._findings: list[Diagnostic] = []
        self.records: list[Record] = []
        self.lines: list[int] = []
        self.failed: list[int] = []

    def fail(self, line: int, error: EventError) -> None:
        """Take note of a line that is no event; it has a position all the same."""
        self._findings.append(placed(error, Place(self._name, line)))
        self.failed.append(line)

    def flush(self, intake: Intake) -> Chunk:
        """The chunk of what was taken since the last."""
        lines = np.array(self.lines, np.int64)
        count = len(self.lines) + len(self.failed)
        positions: Numbers = range(self._position, self._position + count)
        if self.failed:
            positions = self._position + np.searchsorted(np.sort(np.append(lines, self.failed)), lines)
        chunk = intake.chunk(RecordRows(self.records), lines, positions, self._findings)
        self._position += count
        self.records, self.lines, self.failed, self._findings = [], [], [], []
        return chunk


def too_long(max_line: int) -> EventError:
    """The error for a line over the limit."""
    limit = f"{max_line >> 20} MiB" if max_line >= 1 << 20 else f"{max_line} bytes"
    return EventError.of("line", f"the line is longer than {limit}", hint="every event stands on a line of its own")


def not_utf8() -> EventError:
    """The error for bytes that are not UTF-8."""
    return EventError.of("utf-8", "the line is not valid UTF-8", hint="save the file in UTF-8")
