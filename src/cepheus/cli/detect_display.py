"""What detect shows on a terminal: composite events as a table, and a bar while files are read."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from cepheus.cli.console import note
from cepheus.core.batch import EventBatch
from cepheus.core.lists import list_text
from cepheus.core.schema import ID_FIELD, SPARE_ID_FIELD
from cepheus.core.time import TimeUnit
from cepheus.formats.intervals import with_intervals
from cepheus.formats.read import EventFile
from cepheus.formats.table import flatten

ROWS = 50
"""How many events are shown."""

_PIPE_WIDTH = 2_000  # wide enough that nothing is cut where no terminal sets the width


class TerminalTable:
    """Takes composite events and shows the first of them when it is left without an error.

    ``unit`` is that of the times of what is taken next; without one they are shown as ISO 8601.
    """

    def __init__(self, rows: int = ROWS, *, intervals: frozenset[str] = frozenset()) -> None:
        self.unit: TimeUnit | None = None
        self._intervals = intervals
        self._limit = rows
        self._records: list[dict[str, object]] = []
        self._taken = 0

    def write(self, batch: EventBatch) -> None:
        """Take composite events; those that will not be shown are only counted."""
        left = self._limit - len(self._records)
        self._taken += len(batch)
        if left > 0 and len(batch):
            shown = with_intervals(batch.slice(0, min(left, len(batch))), self._intervals)
            self._records += flatten(shown, self.unit)

    def show(self) -> None:
        """Print the table."""
        if not self._records:
            return
        names = list({name: None for record in self._records for name in record if name not in _hidden(record)})
        table = Table(box=box.SIMPLE_HEAD if sys.stdout.isatty() else None, pad_edge=False)
        for name in (*names, "from"):
            numeric = all(isinstance(record.get(name, 0), int | float) for record in self._records)
            table.add_column(escape(name), justify="right" if numeric else "left")
        for record in self._records:
            made_of = record.get("from")
            parts = " ".join(map(str, made_of)) if isinstance(made_of, list) else ""
            table.add_row(*(_cell(record.get(name)) for name in names), escape(parts))
        console = Console() if sys.stdout.isatty() else Console(width=_PIPE_WIDTH)
        console.print(table)
        if self._taken > len(self._records):
            note(f"{self._taken - len(self._records)} more composite events are not shown; -o FILE writes all of them")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.show()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return escape(f"<{value['value']}, {value['error']}>")
    if isinstance(value, tuple):
        return escape(list_text(value))
    return escape(str(value))


def _hidden(record: dict[str, object]) -> tuple[str, str]:
    """The fields that are not columns: the event's own id, and what it was made of, which stands last."""
    return SPARE_ID_FIELD if SPARE_ID_FIELD in record else ID_FIELD, "from"


class ProgressBar:
    """Shows on stderr how much of some files is read, and leaves no trace when it is done."""

    def __init__(self, files: Sequence[EventFile]) -> None:
        self._files = files
        self._bar = Progress(
            TextColumn("reading"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("reading", total=len(files))

    def update(self) -> None:
        """Show how much of the files is read."""
        self._bar.update(self._task, completed=sum(file.done for file in self._files))

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
