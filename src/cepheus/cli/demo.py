"""``cepheus demo``: see it work on two generated stories."""

from __future__ import annotations

import sys
import time
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cepheus.core.errors import OptionError

if TYPE_CHECKING:
    from rich.console import Console

    from cepheus.core.event import Event
    from cepheus.demo import Scenario, Stream
    from cepheus.rules.model import RuleSet

_PIPE_WIDTH = 160


class Story(Enum):
    """Which scenarios to run."""

    TUNNEL = "tunnel"
    MUSEUM = "museum"
    ALL = "all"


def demo(
    scenario: Annotated[Story, typer.Option(help="Which scenario to run.")] = Story.ALL,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same events.")] = 1,
    out: Annotated[Path, typer.Option(help="The folder for the timeline pictures.")] = Path("out"),
    events: Annotated[int, typer.Option(help="How many events to generate for each scenario.")] = 20_000,
) -> None:
    """Generate events of a tunnel and a museum, run rules over them, show what was found and why."""
    from rich.console import Console

    from cepheus.demo import SCENARIOS

    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=_PIPE_WIDTH)
    wanted = [each for name, each in SCENARIOS.items() if scenario in (Story.ALL, Story(name))]
    for each in wanted:
        _run(each, seed, events, out, console)


def _run(scenario: Scenario, seed: int, size: int, out: Path, console: Console) -> None:
    from cepheus.api import compile
    from cepheus.core.batch import EventBatch

    stream = scenario.generate(seed, size)
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
    for path in _draw(scenario, stream, found, out):
        console.print(f"timeline: {path}")
    console.print()


def _tell(scenario: Scenario, stream: Stream, found: list[Event], rules: RuleSet, console: Console) -> None:
    from cepheus.demo.report import first_of_each, found_table, incident_table, known_events, why
    from cepheus.explain import anatomy

    console.print(f"[bold underline]{scenario.title}[/bold underline]")
    console.print(scenario.story)
    console.print("\n[bold]Was every incident found?[/bold]")
    console.print(incident_table(stream, found))
    console.print("\n[bold]What was found[/bold]")
    console.print(found_table(scenario, found))
    console.print("\n[bold]Why, for the first of each[/bold]")
    anatomies = {str(rule.name): anatomy(rule) for rule in rules.rules}
    known = known_events(stream, found)
    for event in first_of_each(found):
        console.print(why(event, known, anatomies))
    console.print()


def _draw(scenario: Scenario, stream: Stream, found: list[Event], out: Path) -> tuple[Path, Path]:
    from cepheus.demo.timeline import draw_timeline

    try:
        return draw_timeline(scenario, stream, found, out)
    except OSError as error:
        raise OptionError.of("file", f"'{out}' cannot be written: {(error.strerror or 'it failed').lower()}") from None
