"""``cepheus bench``: measure, and say whether it is fast enough."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cepheus.core.errors import OptionError

if TYPE_CHECKING:
    from rich.console import Console

    from benchmarks.reports.section import Bar, Section

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


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
    FILES = "files"
    STREAMING = "streaming"
    ETALIS = "etalis"
    ROWS = "rows"
    REACTIVE = "reactive"
    DEPLOYMENT = "deployment"
    NETWORK = "network"
    LEARNING = "learning"
    LIVE = "live"
    CLAIMS = "claims"
    STUDIO = "studio"
    SCREENSHOTS = "screenshots"


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
        list[str] | None,
        typer.Option(
            help="For deployment: only this figure, 10 to 20 or rules; for learning a sweep. May be repeated."
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="For deployment: how many seeds a point is the mean of.")] = 5,
    duration: Annotated[
        str | None,
        typer.Option(
            help="For deployment: simulated time of a run, such as 2min; for studio: how long it watches a stream."
        ),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="For deployment: exact filters and order, not those of the papers.")
    ] = False,
    exponential: Annotated[
        bool, typer.Option("--exponential", help="For deployment: the other reading of how rates are distributed.")
    ] = False,
    ours: Annotated[
        bool, typer.Option("--ours", help="For deployment: masters by our cost model, delivery on the way.")
    ] = False,
    spark: Annotated[
        bool, typer.Option("--spark", help="For deployment: run as a Spark job; for learning: on Spark.")
    ] = False,
) -> None:
    """Measure Cepheus beside DuckDB and Polars, as the papers did, and as rules, events, windows and networks grow."""
    from benchmarks.reports.terminal import console_for_reports

    if workload and what is not What.PEERS:
        raise OptionError.of("workload", "--workload goes with peers", hint="cepheus bench peers --workload F-last")
    if write_docs and workload:
        raise OptionError.of("workload", "the documentation shows all workloads", hint="leave out --workload")
    if write_docs and not docs.is_dir():
        raise OptionError.of(
            "file", f"there is no folder '{docs}'", hint="run this in the project's root, or name a folder with --docs"
        )
    console = console_for_reports()
    page = docs if write_docs else None
    if what is What.DEPLOYMENT:
        from benchmarks.papers.deployment.command import Reading, bench_deployment

        reading = Reading(exponential=exponential, exact=exact, ours=ours)
        bench_deployment(figure or [], seeds, duration, reading, console, page, quick=quick, spark=spark)
    elif what is What.CLAIMS:
        from benchmarks.papers.claims.command import bench_claims

        bench_claims(console, page)
    elif what is What.LEARNING:
        from benchmarks.learning.experiment import bench_learning
        from benchmarks.learning.on_spark import bars, bench_on_spark
        from benchmarks.reports.section import bar_table
        from benchmarks.reports.terminal import show_table, telling

        with telling() as say:
            if spark:
                show_table(bar_table(bench_on_spark(say)), console)
            else:
                bench_learning(console, repeat=repeat, quick=quick, say=say, only=figure or (), docs=page, more=bars)
    elif what is What.NETWORK:
        from benchmarks.network.line import bench_network

        bench_network(console, repeat=repeat, quick=quick)
    elif what is What.LIVE:
        from benchmarks.live.measure import bench_live

        bench_live(console, quick=quick)
    elif what is What.STUDIO:
        from benchmarks.studio.speed import bench_studio

        bench_studio(console, quick=quick, duration=duration)
    elif what is What.SCREENSHOTS:
        from benchmarks.studio.screenshots import bench_screenshots

        bench_screenshots(console, docs)
    else:
        _bench_parts(what, workload or [], repeat, console, page, quick=quick)


def _bench_parts(
    what: What, workloads: list[str], repeat: int, console: Console, docs: Path | None, *, quick: bool
) -> None:
    """Measure parts one by one, so that an interruption loses only the part under way."""
    from benchmarks.papers.claims.store import save
    from benchmarks.reports.section import BATCHES, UNCERTAINTY, Part, bar_table
    from benchmarks.reports.terminal import show_section, show_table, telling
    from benchmarks.suite import measure

    if what is What.ALL:
        parts = tuple(Part)
    elif what is What.UNCERTAINTY:
        parts = UNCERTAINTY
    elif what is What.SPARK:
        parts = BATCHES
    else:
        parts = (Part(what.value),)
    bars: list[Bar] = []
    for part in parts:
        with telling() as say:
            section = measure(part, say, workloads=workloads, repeat=repeat, quick=quick)
        show_section(section, console)
        bars += section.bars
        if docs is not None:
            _write(section, docs, _command(what, repeat, quick=quick), console)
        if docs is not None and section.samples and not quick:
            console.print(f"kept: {save(part.value, section.samples)}", markup=False)
    if bars:
        show_table(bar_table(bars), console)
    if quick:
        console.print("These were next to no events: what must be reached is judged without --quick.")


def _command(what: What, repeat: int, *, quick: bool) -> str:
    """The command that was typed, in its plain form."""
    options = ["" if what is What.ALL else f" {what.value}", "" if repeat == 5 else f" --repeat {repeat}"]
    return f"cepheus bench{''.join(options)}{' --quick' if quick else ''} --write-docs"


def _write(section: Section, docs: Path, command: str, console: Console) -> None:
    from benchmarks.measuring.machine import this_machine
    from benchmarks.reports.page import write_page
    from benchmarks.reports.pictures import draw_pictures

    try:
        pictures = draw_pictures(section, docs / "images")
        page = write_page(docs, [section], command, this_machine())
    except OSError as error:
        raise OptionError.of("file", f"'{docs}' cannot be written: {(error.strerror or 'it failed').lower()}") from None
    for path in (page, *pictures):
        console.print(f"written: {path}", markup=False)
