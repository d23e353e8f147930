"""Files with one event a line: each line becomes a record, a chunk of records becomes a chunk of events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

import numpy as np

from cepheus.core.errors import Diagnostic, EventError, Place
from cepheus.core.formats.intake import Chunk, Intake
from cepheus.core.formats.lines import line_blocks
from cepheus.core.formats.problems import placed
from cepheus.core.formats.tables import RecordRows

Record = dict[str, object]
"""An event as JSON lines have it: its fields by name."""

ParseLine = Callable[[str], Record | None]
"""Gives the record of a line, or None for a line without an event; raises an EventError."""


def read_records(
    file: BinaryIO, intake: Intake, parse: ParseLine, *, name: str, chunk_rows: int, max_line: int
) -> Iterator[Chunk]:
    """Give the events of a text file chunk by chunk, in the order of the file."""
    pending = _Pending(name)
    for block in line_blocks(file, max_line):
        if block.too_long:
            pending.fail(block.first_line, too_long(max_line))
            continue
        for line, text in block.texts():
            try:
                if text is None:
                    raise not_utf8()
                record = parse(text)
            except EventError as error:
                pending.fail(line, error)
                continue
            if record is not None:
                pending.add(line, record)
            if pending.count >= chunk_rows:
                yield pending.flush(intake)
    if pending.count:
        yield pending.flush(intake)


class _Pending:
    """Records that wait for their chunk to fill, and what was wrong with other lines between them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._records: list[Record] = []
        self._lines: list[int] = []
        self._positions: list[int] = []
        self._findings: list[Diagnostic] = []
        self._position = 0
        self.count = 0

    def add(self, line: int, record: Record) -> None:
        """Take the record of a line."""
        self._records.append(record)
        self._lines.append(line)
        self._positions.append(self._position)
        self._position += 1
        self.count += 1

    def fail(self, line: int, error: EventError) -> None:
        """Take note of a line that is no event; it has a position all the same."""
        self._findings.append(placed(error, Place(self._name, line)))
        self._position += 1
        self.count += 1

    def flush(self, intake: Intake) -> Chunk:
        """Give the chunk of what was taken since the last."""
        first = self._position - self.count
        whole = len(self._records) == self.count
        chunk = intake.chunk(
            RecordRows(self._records),
            np.array(self._lines, np.int64),
            range(first, self._position) if whole else np.array(self._positions, np.int64),
            self._findings,
        )
        self._records, self._lines, self._positions, self._findings, self.count = [], [], [], [], 0
        return chunk


def too_long(max_line: int) -> EventError:
    """Give the error for a line over the limit."""
    limit = f"{max_line >> 20} MiB" if max_line >= 1 << 20 else f"{max_line} bytes"
    return EventError.of("line", f"the line is longer than {limit}", hint="every event stands on a line of its own")


def not_utf8() -> EventError:
    """Give the error for bytes that are not UTF-8."""
    return EventError.of("utf-8", "the line is not valid UTF-8", hint="save the file in UTF-8")
