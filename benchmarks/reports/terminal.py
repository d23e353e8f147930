"""Sections and tables on the terminal, and what is under way meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as RichTable

from benchmarks.measuring.timing import Say
from benchmarks.reports.section import Section, Table

_PIPE_WIDTH = 200
_COLOURS = {"met": "green", "missed": "red"}


def console_for_reports() -> Console:
    """The console that reports are printed on: as wide as the terminal, wide enough for tables elsewhere."""
    return Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=_PIPE_WIDTH)


@contextmanager
def telling() -> Iterator[Say]:
    """A function that tells on stderr what is under way: in one line of a terminal, elsewhere a line each time."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda words: console.print(words, markup=False)
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting")
        yield lambda words: progress.update(task, description=words)


def show_section(section: Section, console: Console) -> None:
    """Print the text and the tables of a section."""
    console.print(f"[bold underline]{section.title}[/bold underline]")
    for paragraph in section.text:
        console.print(paragraph, markup=False)
    console.print()
    for table in section.tables:
        show_table(table, console)


def show_table(table: Table, console: Console) -> None:
    """Print a table, verdicts in colour."""
    drawn = RichTable(title=table.title, title_justify="left", title_style="bold")
    for name in table.columns:
        drawn.add_column(name.removeprefix("<"), justify="left" if name.startswith("<") else "right")
    for row in table.rows:
        cells = [f"[{_COLOURS[cell]}]{cell}[/]" if cell in _COLOURS else escape(cell) for cell in row]
        drawn.add_row(*cells)
    console.print(drawn)
    console.print()
