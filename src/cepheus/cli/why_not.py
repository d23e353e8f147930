"""``cepheus why-not``: why did this rule not fire?"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cepheus.cli.check import Rules, no_rules, read_all
from cepheus.cli.console import report, warnings_reported
from cepheus.cli.detect import inputs_named
from cepheus.cli.run_options import with_run_options
from cepheus.core.errors import OptionError

if TYPE_CHECKING:
    from cepheus.explain.why_not import WhyNot

_PIPE_WIDTH = 400  # wide enough that no line is broken where no terminal sets the width
_MARKS = {"held": ("✔", "green"), "failed": ("✘", "bold red"), "undecided": ("?", "yellow")}


@with_run_options
def why_not(
    rules: Rules,
    events: Annotated[
        list[str], typer.Option("--events", metavar="[TYPE=]FILE", help="A file of events; may be repeated.")
    ],
    rule: Annotated[
        str | None, typer.Option("--rule", help="The name of the rule; not needed if there is only one.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="The moment: 2026-01-31T12:03:00Z, or a number in the time unit."),
    ] = None,
    event: Annotated[
        str | None, typer.Option(metavar="ID", help="Instead: the id of the event that should have completed the rule.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON.")] = False,
    *,
    options: dict[str, Any],
) -> None:
    """Say why a rule did not fire: for each of its parts what was there, what failed, and the nearest misses."""
    from cepheus.api import compile
    from cepheus.formats.cells import id_of_text

    program = compile(read_all(rules, None, options.get("time_unit", "us")), undeclared="allow")
    report(program.warnings)
    names = [str(each.name) for each in program.rules.all_rules]
    if not names:
        raise no_rules(rules, "why-not")
    if rule is None and len(names) != 1:
        raise OptionError.of("why-not", f"there are {len(names)} rules", hint=f"name one: --rule {names[0]}")
    if (at is None) == (event is None):
        hint = "--at 2026-01-31T12:03:00Z names a moment, --event ID an event"
        raise OptionError.of("why-not", "name either a moment or an event", hint=hint)
    files, of_type = inputs_named(events)
    if files and of_type:
        raise OptionError.of("why-not", "files with and without TYPE= cannot be mixed here", hint="name one kind")
    wanted = None if event is None else id_of_text(event)
    with warnings_reported():
        found = program.why_not(files or of_type, rule or names[0], at, event=wanted, **options)
    if as_json:
        print(json.dumps(found.to_json(), indent=2, default=str))
    else:
        _print(found)


def _print(found: WhyNot) -> None:
    from rich.console import Console
    from rich.text import Text
    from rich.tree import Tree

    from cepheus.explain.why_not import event_text, miss_text

    root = Tree(Text(found.headline(), "bold"), guide_style="dim")
    for part in found.parts:
        mark, style = _MARKS[part.outcome.value]
        branch = root.add(Text.assemble((f"{mark} ", style), part.part, (f"   {part.says}", "dim")))
        for miss in part.misses:
            branch.add(Text(f"near miss: {miss_text(miss)}"))
        if part.outcome.value == "failed" and not part.misses:
            for each in part.events[:3]:
                branch.add(Text(event_text(each)))
    (Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=_PIPE_WIDTH)).print(root)
