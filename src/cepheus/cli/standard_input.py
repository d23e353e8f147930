"""Events from standard input, as they come."""

from __future__ import annotations

import os
import sys

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.errors import Diagnostic, EventError, Place
from cepheus.formats.cells import Moment
from cepheus.formats.intake import Intake, IntakeOptions
from cepheus.formats.jsonl import parse_json_line
from cepheus.formats.problems import BadEvents, placed
from cepheus.formats.records import Record
from cepheus.formats.rows import RecordRows
from cepheus.runtime.network.transport.publishing import present

_NAME = "standard input"
_BLOCK = 1 << 16


class LineReader:
    """Reads JSON lines; each time gives the events of all lines that are there. With ``now`` they need no time."""

    def __init__(self, options: IntakeOptions, *, now: bool = False) -> None:
        self._now = now
        self._intake = Intake(_NAME, options, BadEvents(), counts_rows=False)
        self._held = b""
        self._line = 0

    def next(self) -> EventBatch | None:
        """Wait for lines and give their events; None at the end of the input."""
        while True:
            data = os.read(sys.stdin.fileno(), _BLOCK)
            lines, newline, self._held = (self._held + data).rpartition(b"\n")
            if not data:
                lines, newline, self._held = self._held, b"\n", b""
                if not lines:
                    return None
            if newline:
                return self._events(lines.decode("utf-8", "replace").split("\n"))

    def _events(self, lines: list[str]) -> EventBatch:
        records: list[Record] = []
        numbers: list[int] = []
        findings: list[Diagnostic] = []
        for text in lines:
            self._line += 1
            try:
                record = parse_json_line(text)
            except EventError as error:
                findings.append(placed(error, Place(_NAME, self._line)))
                continue
            if record is not None:
                if self._now:
                    record["time"] = Moment(present() * 1000)  # in no unit, whatever that of the attributes is
                records.append(record)
                numbers.append(self._line)
        chunk = self._intake.chunk(
            RecordRows(records), np.array(numbers, np.int64), np.array(numbers, np.int64), findings
        )
        return chunk.batch
