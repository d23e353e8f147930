"""``cepheus explain``: what does this rule mean?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cepheus.cli.check import Rules, read_all
from cepheus.cli.console import note, report
from cepheus.core.errors import Diagnostic, OptionError, RuleError

_PIPE_WIDTH = 400  # wide enough that no line is broken where no terminal sets the width


def explain(
    rules: Rules,
    svg: Annotated[
        Path | None, typer.Option("--svg", help="Also draw each rule, its automaton and its columns, into this file.")
    ] = None,
) -> None:
    """Explain rules as trees: what each waits for, what it chooses, what must not be there, what it makes."""
    from rich.console import Console

    from cepheus.explain import anatomy, draw, tree
    from cepheus.rules.check import check

    errors: list[Diagnostic] = []
    found = read_all(rules, errors)
    if errors:
        raise RuleError(errors)
    checked = check(found, closed=False)
    report(checked.warnings)
    anatomies = [anatomy(rule) for rule in checked.rules.rules]
    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=_PIPE_WIDTH)
    for index, each in enumerate(anatomies):
        if index:
            console.print()
        console.print(tree(each))
    if svg is not None:
        _write(svg, draw(anatomies))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OptionError.of("file", f"'{path}' cannot be written: {(error.strerror or 'it failed').lower()}") from None
    note(f"drawn to {path}")
