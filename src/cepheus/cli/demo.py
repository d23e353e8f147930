"""``cepheus demo``: see it work on two generated stories."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cepheus.core.errors import OptionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console

    from cepheus.core.event import Event
    from cepheus.demo import Scenario, Stream
    from cepheus.rules.model import RuleSet

_PIPE_WIDTH = 160
_SHOWN = 4
"""So many of the composite events of a micro-batch are shown when they are found."""


class Story(Enum):
    """Which scenarios to run."""

    TUNNEL = "tunnel"
    MUSEUM = "museum"
    ALL = "all"


class Host(Enum):
    """Where the rules run."""

    SPARK = "spark"
    EMBEDDED = "embedded"


def demo(
    scenario: Annotated[Story, typer.Option(help="Which scenario to run.")] = Story.ALL,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same events.")] = 1,
    out: Annotated[Path, typer.Option(help="The folder for the timeline pictures.")] = Path("out"),
    events: Annotated[int, typer.Option(help="How many events to generate for each scenario.")] = 20_000,
    on: Annotated[
        Host | None,
        typer.Option(help="Where the rules run; by default on Spark, if it can run here.", show_default=False),
    ] = None,
) -> None:
    """Generate events of a tunnel and a museum, run rules over them, show what was found and why."""
    from rich.console import Console

    from cepheus.demo import SCENARIOS

    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=_PIPE_WIDTH)
    wanted = [each for name, each in SCENARIOS.items() if scenario in (Story.ALL, Story(name))]
    streams = [each.generate(seed, events) for each in wanted]
    if _host(on, console) is Host.EMBEDDED:
        for each, stream in zip(wanted, streams, strict=True):
            _run_embedded(each, stream, out, console)
        return
    from cepheus.demo.on_spark import spark_for_demo

    console.print("[dim]starting Spark ..[/dim]")
    with spark_for_demo() as spark:
        for each, stream in zip(wanted, streams, strict=True):
            _run_on_spark(spark, each, stream, out, console)


def _host(asked: Host | None, console: Console) -> Host:
    """Choose where the demo runs: where it should, or on Spark if that is possible."""
    if asked is Host.EMBEDDED:
        return asked
    from cepheus.demo.on_spark import what_is_missing

    missing = what_is_missing()
    if missing is None:
        return Host.SPARK
    if asked is Host.SPARK:
        raise OptionError.of(
            "spark", f"the demo cannot run on Spark here: {missing}", hint="run it without: cepheus demo --on embedded"
        )
    console.print(f"Spark cannot run here, because {missing}: the rules run in this process.\n", markup=False)
    return Host.EMBEDDED


def _run_embedded(scenario: Scenario, stream: Stream, out: Path, console: Console) -> None:
    from cepheus.api import compile
    from cepheus.core.batch import EventBatch

    program = compile(scenario.rules)
    batch = EventBatch.from_events(stream.events)
    for _ in range(2):  # the first run also loads and warms up the engine, so the second is the one that is timed
        with program.start() as session:
            engine = session.engine_name
            started = time.perf_counter()
            found = session.feed(batch).to_events()
            seconds = time.perf_counter() - started
    _tell(scenario, stream, found, program.rules, console)
    console.print(
        f"{len(stream.events):,} events, {len(found)} composite events, engine {engine}, "
        f"{len(stream.events) / max(seconds, 1e-9):,.0f} events/s"
    )
    _show_timeline(scenario, stream, found, out, console)


def _run_on_spark(spark: SparkSession, scenario: Scenario, stream: Stream, out: Path, console: Console) -> None:
    from cepheus.api import compile
    from cepheus.demo.on_spark import FILES, find_on_spark
    from cepheus.demo.report import clock
    from cepheus.explain.reasons import event_line

    def tell(found: Sequence[Event]) -> None:
        for event in found[:_SHOWN]:
            console.print(event_line(event, clock))
        if len(found) > _SHOWN:
            console.print(f"[dim]         and {len(found) - _SHOWN} more in this micro-batch[/dim]")

    console.print(f"[bold]{scenario.title}[/bold]: files arrive, a streaming query finds")
    started = time.perf_counter()
    found = find_on_spark(spark, scenario, stream, tell)
    seconds = time.perf_counter() - started
    console.print()
    _tell(scenario, stream, found, compile(scenario.rules).rules, console)
    console.print(
        f"{len(stream.events):,} events in {FILES} files, {len(found)} composite events, "
        f"Spark {spark.version}, {seconds:.0f} s"
    )
    _show_timeline(scenario, stream, found, out, console)


def _show_timeline(scenario: Scenario, stream: Stream, found: list[Event], out: Path, console: Console) -> None:
    for path in _draw(scenario, stream, found, out):
        console.print(f"timeline: {path}")
    console.print()


def _tell(scenario: Scenario, stream: Stream, found: list[Event], rules: RuleSet, console: Console) -> None:
    from cepheus.demo.report import first_of_each, found_table, incident_table, known_events, why
    from cepheus.explain.asked import asked_of

    console.print(f"[bold underline]{scenario.title}[/bold underline]")
    console.print(scenario.story)
    console.print("\n[bold]Was every incident found?[/bold]")
    console.print(incident_table(stream, found))
    console.print("\n[bold]What was found[/bold]")
    console.print(found_table(scenario, found))
    console.print("\n[bold]Why, for the first of each[/bold]")
    asked = asked_of(rules.all_rules)
    known = known_events(stream, found)
    for event in first_of_each(found):
        console.print(why(event, known, asked))
    console.print()


def _draw(scenario: Scenario, stream: Stream, found: list[Event], out: Path) -> tuple[Path, Path]:
    from cepheus.demo.report import draw_timeline

    try:
        return draw_timeline(scenario, stream, found, out)
    except OSError as error:
        raise OptionError.of("file", f"'{out}' cannot be written: {(error.strerror or 'it failed').lower()}") from None
