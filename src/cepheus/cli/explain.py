"""``cepheus explain``: what does this rule mean?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cepheus.cli.check import Facts, Rules, read_all
from cepheus.cli.console import note, report, write_file
from cepheus.cli.run_options import Unit
from cepheus.core.errors import OptionError

_PIPE_WIDTH = 400  # wide enough that no line is broken where no terminal sets the width


def explain(
    rules: Rules,
    svg: Annotated[
        Path | None,
        typer.Option(
            "--svg", help="Also draw each rule, its automaton and its columns, or the graph of goals, into this file."
        ),
    ] = None,
    why: Annotated[
        str | None, typer.Option(metavar="ID", help="Tell why this composite event has its probability.")
    ] = None,
    events: Annotated[
        list[Path] | None, typer.Option("--events", "-e", help="A file of events that --why looks at; may be repeated.")
    ] = None,
    time_unit: Annotated[
        Unit, typer.Option(help="The unit of integer times in events, and of bare numbers in ETALIS.")
    ] = Unit.US,
    facts: Facts = None,
    threads: Annotated[bool, typer.Option("--threads", help="Also tell how the work is spread over threads.")] = False,
) -> None:
    """Explain rules as trees: what each waits for, what it chooses, what must not be there, what it makes.

    With --why and --events, tell the factors of a composite event's probability instead.
    """
    if why is not None:
        _why(rules, why, events or [], time_unit)
        return
    from rich.console import Console

    from cepheus.explain import draw, rule_parts, tree
    from cepheus.explain.interval import interval_tree
    from cepheus.explain.rows import row_tree
    from cepheus.rules.check import check

    checked = check(read_all(rules, facts, time_unit.value), closed=False)
    report(checked.warnings)
    parts = [rule_parts(rule) for rule in checked.rules.rules]
    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=_PIPE_WIDTH)
    trees = [*map(tree, parts), *map(interval_tree, checked.rules.interval_rules)]
    trees += map(row_tree, checked.rules.row_rules)
    for index, each in enumerate(trees):
        if index:
            console.print()
        console.print(each)
    if threads:
        from cepheus.plan.split.memory import threads_told
        from cepheus.rules.resolve import resolve

        console.print(f"\n{threads_told(map(resolve, checked.rules.rules))}", markup=False)
    if svg is not None:
        write_file(svg, draw(parts, checked.rules.interval_rules, checked.rules.row_rules))
        note(f"drawn to {svg}")


def _why(rules: list[Path], wanted: str, events: list[Path], time_unit: Unit) -> None:
    from cepheus.api import compile
    from cepheus.formats.cells import id_of_text

    if not events:
        raise OptionError.of("why", "--why needs the events", hint="name their files with --events")
    program = compile(rules, undeclared="allow", time_unit=time_unit.value)
    verdict = program.why(events, id_of_text(wanted), time_unit=time_unit.value)
    estimate = verdict.estimate
    error = f" ± {estimate.standard_error:.2g}" if estimate.standard_error else ""
    print(f"{wanted}: {estimate.probability:.6f}{error}, the product of")
    print(verdict)
