"""What is under way: a bar for long input, words for long work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from cepheus.core.formats.read import EventFile


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


@contextmanager
def telling() -> Iterator[Callable[[str], None]]:
    """Give a function that tells on stderr what is under way: in one line of a terminal, elsewhere a line each time."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda words: console.print(words, markup=False)
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting")
        yield lambda words: progress.update(task, description=words)
