"""``cepheus bench``: measure, and say whether it is fast enough."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmarks.network.report import bench_network
from benchmarks.papers.deployment.command import bench_deployment
from cepheus.core.errors import OptionError

if TYPE_CHECKING:
    from rich.console import Console

    from benchmarks.reports.bars import Bar
    from benchmarks.reports.report import Section, Table
    from benchmarks.suite import Measured, Part

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
_PIPE_WIDTH = 200
_COLOURS = {"met": "green", "missed": "red"}


class What(Enum):
    """What to measure."""

    ALL = "all"
    PEERS = "peers"
    FIGURE6 = "figure6"
    FIGURE7 = "figure7"
    SCALING = "scaling"
    CERTAIN = "certain"
    UNCERTAIN = "uncertain"
    ACCURACY = "accuracy"
    BAYES = "bayes"
    UNCERTAINTY = "uncertainty"
    SPARK = "spark"
    STREAMING = "streaming"
    ETALIS = "etalis"
    DEPLOYMENT = "deployment"
    NETWORK = "network"


@app.command()
def bench(
    what: Annotated[What, typer.Argument(help="Which measurements to run.")] = What.ALL,
    workload: Annotated[
        list[str] | None, typer.Option(help="For peers: only this workload, such as F-last; may be repeated.")
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, help="The best of so many runs counts.")] = 5,
    quick: Annotated[bool, typer.Option("--quick", help="Next to nothing, to see that it runs.")] = False,
    write_docs: Annotated[bool, typer.Option("--write-docs", help="Write benchmarks.md and its pictures.")] = False,
    docs: Annotated[Path, typer.Option(help="The folder of the documentation.")] = Path("docs"),
    figure: Annotated[
        list[str] | None, typer.Option(help="For deployment: only this figure, 10 to 20 or rules; may be repeated.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="For deployment: how many seeds a point is the mean of.")] = 3,
    duration: Annotated[str | None, typer.Option(help="For deployment: simulated time of a run, such as 2min.")] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="For deployment: exact filters and order, not those of the papers.")
    ] = False,
    spark: Annotated[bool, typer.Option("--spark", help="For deployment: run as a Spark job.")] = False,
) -> None:
    """Measure Cepheus beside DuckDB and Polars, as the papers did, and as rules, events, windows and networks grow."""
    from rich.console import Console

    from benchmarks.reports.report import bar_table, sections
    from benchmarks.suite import UNCERTAINTY, Part

    if workload and what is not What.PEERS:
        raise OptionError.of("workload", "--workload goes with peers", hint="cepheus bench peers --workload F-last")
    if write_docs and workload:
        raise OptionError.of("workload", "the documentation shows all workloads", hint="leave out --workload")
    if write_docs and not docs.is_dir():
        raise OptionError.of(
            "file", f"there is no folder '{docs}'", hint="run this in the project's root, or name a folder with --docs"
        )
    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=_PIPE_WIDTH)
    if what is What.DEPLOYMENT:
        page = docs if write_docs else None
        bench_deployment(figure or [], seeds, duration, console, page, quick=quick, exact=exact, spark=spark)
        return
    if what is What.NETWORK:
        bench_network(console, repeat=repeat, quick=quick)
        return
    if what is What.ALL:
        parts = list(Part)
    elif what is What.UNCERTAINTY:
        parts = list(UNCERTAINTY)
    else:
        parts = [Part(what.value)]
    bars: list[Bar] = []
    for part in parts:  # one by one, so that an interruption loses only the part under way
        measured = _measure(part, workload or [], repeat, quick=quick)
        for section in sections(measured):
            _show(section, console)
            bars += section.bars
            if write_docs:
                _write(measured, section, docs, _command(what, repeat, quick=quick), console)
    if bars:
        _show_table(bar_table(bars), console)
    if quick:
        console.print("These were next to no events: what must be reached is judged without --quick.")


def _measure(part: Part, workloads: list[str], repeat: int, *, quick: bool) -> Measured:
    """Measure, and show on stderr what is under way."""
    from benchmarks.suite import measure
    from cepheus.cli.progress import telling

    with telling() as say:
        return measure(part, say, workloads=workloads, repeat=repeat, quick=quick)


def _show(section: Section, console: Console) -> None:
    console.print(f"[bold underline]{section.title}[/bold underline]")
    for paragraph in section.text:
        console.print(paragraph, markup=False)
    console.print()
    for table in section.tables:
        _show_table(table, console)


def _show_table(table: Table, console: Console) -> None:
    from rich.markup import escape
    from rich.table import Table as RichTable

    drawn = RichTable(title=table.title, title_justify="left", title_style="bold")
    for name in table.columns:
        drawn.add_column(name.removeprefix("<"), justify="left" if name.startswith("<") else "right")
    for row in table.rows:
        cells = [f"[{_COLOURS[cell]}]{cell}[/]" if cell in _COLOURS else escape(cell) for cell in row]
        drawn.add_row(*cells)
    console.print(drawn)
    console.print()


def _command(what: What, repeat: int, *, quick: bool) -> str:
    """Give the command that was typed, in its plain form."""
    options = ["" if what is What.ALL else f" {what.value}", "" if repeat == 5 else f" --repeat {repeat}"]
    return f"cepheus bench{''.join(options)}{' --quick' if quick else ''} --write-docs"


def _write(measured: Measured, section: Section, docs: Path, command: str, console: Console) -> None:
    from benchmarks.measuring.machine import this_machine
    from benchmarks.reports.page import write_page
    from benchmarks.reports.plots import draw

    try:
        pictures = draw(measured, docs / "images")
        page = write_page(docs, [section], command, this_machine())
    except OSError as error:
        raise OptionError.of("file", f"'{docs}' cannot be written: {(error.strerror or 'it failed').lower()}") from None
    for path in (page, *pictures):
        console.print(f"written: {path}", markup=False)
