"""What is under way: a bar for long input."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from cepheus.formats.read import EventFile


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
