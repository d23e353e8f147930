"""``cepheus simulate``: what would a network of processors do?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cepheus.cli.console import note, write_file
from cepheus.core.errors import OptionError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.table import Table

    from cepheus.runtime.network.protocol.strategy import Strategy
    from cepheus.runtime.network.simulation.experiment import Outcome, Run

_PIPE_WIDTH = 120
_BUSIEST = 5
_MOST_PARTS = 20


def simulate(
    scenario: Annotated[Path, typer.Argument(help="A scenario in TOML.", metavar="SCENARIO")],
    strategy: Annotated[
        list[str] | None, typer.Option(help="Centr, ST, MT, ST_PP or MT_PP instead of the file's; may be repeated.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Draw what is random from this seed instead of the file's.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show all links and partial rules, not the first few.")
    ] = False,
    svg: Annotated[Path | None, typer.Option("--svg", help="Also draw the network with its traffic.")] = None,
) -> None:
    """Simulate rules on a network of processors in virtual time: traffic, delays, and who carries them.

    With several strategies, links and partial rules are those of the last.
    """
    from rich.console import Console

    from cepheus.runtime.network.simulation.experiment import run_plan
    from cepheus.runtime.network.simulation.scenario_file import read_plan

    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=_PIPE_WIDTH)
    runs = [run_plan(read_plan(scenario, seed, chosen)) for chosen in _strategies(strategy)]
    console.print(_title(runs[0]), markup=False)
    console.print(_summary(runs))
    last = f" with {runs[-1].plan.scenario.options.strategy.value}" if len(runs) > 1 else ""
    console.print(_links(runs[-1], last, None if everything else _BUSIEST))
    parts = _parts(runs[-1], last, None if everything else _MOST_PARTS)
    if parts.row_count:
        console.print(parts)
    if svg is not None:
        write_file(svg, _picture(runs[-1]))
        note(f"drawn: {svg}")


def _strategies(names: list[str] | None) -> list[Strategy | None]:
    from cepheus.runtime.network.protocol.strategy import Strategy

    known = {strategy.value: strategy for strategy in Strategy}
    for name in names or ():
        if name not in known:
            hint = did_you_mean(name, known) or f"choose one of {', '.join(known)}"
            raise OptionError.of("strategy", f"there is no strategy '{name}'", hint=hint)
    return [known[name] for name in names] if names else [None]


def _title(run: Run) -> str:
    plan = run.plan
    counts = ((len(plan.processors), "processor"), (len(plan.rules), "rule"), (len(plan.sources), "source"))
    words = ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts)
    return f"{words}; {plan.scenario.duration / 1_000_000:g} s simulated, seed {plan.seed}"


def _summary(runs: list[Run]) -> Table:
    from rich.table import Table

    table = Table()
    table.add_column("")
    for run in runs:
        table.add_column(run.plan.scenario.options.strategy.value, justify="right")
    rows: tuple[tuple[str, Callable[[Outcome], str]], ...] = (
        ("events published", lambda o: f"{o.published}"),
        ("events received by sinks", lambda o: f"{o.composites}"),
        ("messages per second", lambda o: f"{o.traffic:.1f}"),
        ("bytes per second", lambda o: f"{o.bytes:.0f}"),
        ("awakenings per second", lambda o: f"{o.awakenings:.1f}"),
        ("heartbeats per second", lambda o: f"{o.heartbeats:.1f}"),
        ("mean delay", lambda o: _milliseconds(o.delay)),
        ("longest delay", lambda o: _milliseconds(o.worst_delay)),
        ("choices among simultaneous events", lambda _: "not counted"),
    )
    for words, show in rows:
        table.add_row(words, *(show(run.outcome) for run in runs))
    return table


def _milliseconds(delay: float | None) -> str:
    """Write a delay; where no sink received anything there is none."""
    return "n/a" if delay is None else f"{delay:.1f} ms"


def _links(run: Run, of: str, most: int | None) -> Table:
    from rich.table import Table

    table = Table(title=f"Busiest links{of}", title_justify="left", title_style="bold")
    table.add_column("from")
    table.add_column("to")
    table.add_column("messages per second", justify="right")
    seconds = run.plan.scenario.duration / 1_000_000
    for (one, other), count in run.network.traffic.notifications.most_common(most):
        table.add_row(one, other, f"{count / seconds:.1f}")
    return table


def _parts(run: Run, of: str, most: int | None) -> Table:
    """The partial rules of all processors in words: what each sends to its father in a tree."""
    from rich.table import Table

    found = [
        (processor.name, tree.name, part)
        for processor in run.network.processors.values()
        for tree in processor.trees.by_name.values()
        for part in tree.written_parts()
    ]
    more = 0 if most is None else len(found) - most
    table = Table(title=f"Partial rules{of}", title_justify="left", title_style="bold", caption_justify="left")
    table.caption = f"and {more} more, with --all" if more > 0 else None
    for column in ("processor", "root", "of rule", "sends", "what matches"):
        table.add_column(column)
    for processor, root, part in found[:most]:
        sends = "when asked" if part.waits else "at once"
        table.add_row(processor, root, part.name.partition("/")[0], sends, part.pattern)
    return table


def _picture(run: Run) -> str:
    from cepheus.explain.deployment import draw_network

    seconds = run.plan.scenario.duration / 1_000_000
    processors = run.network.processors
    tree = {(p.name, t.father) for p in processors.values() for t in p.trees.by_name.values() if t.father is not None}
    notes: dict[str, list[str]] = {name: [] for name in processors}
    for name in processors:
        sources = sum(source.processor == name for source in run.plan.sources)
        sinks = len({sink for sink, at, _ in run.plan.sinks if at == name})
        notes[name] += [f"{sources} sources"] if sources else []
        notes[name] += [f"{sinks} sinks"] if sinks else []
    traffic = {link: count / seconds for link, count in run.network.traffic.notifications.items()}
    title = f"{run.plan.scenario.options.strategy.value}: {run.outcome.traffic:.0f} messages per second"
    return draw_network(run.plan.links, tree, traffic, {n: ", ".join(w) for n, w in notes.items() if w}, title)
