"""``cepheus check``: are these rules right?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cepheus.cli.console import report
from cepheus.core.errors import CepheusError, Diagnostic

if TYPE_CHECKING:
    from cepheus.rules.model import RuleSet

Rules = Annotated[list[Path], typer.Argument(help="Rule files.", show_default=False)]


def check(
    rules: Rules,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as a JSON array on stdout.")] = False,
) -> None:
    """Check rules: exit with 0 if they are right, with 1 and all that is wrong with them on stderr if not.

    Files are checked together, as one rule set.
    """
    errors, warnings, summary = _findings(rules)
    if as_json:
        print(json.dumps([finding.to_json() for finding in (*errors, *warnings)], indent=2))
    else:
        report([*errors, *warnings])
        if not errors:
            print(summary)
    if errors:
        raise typer.Exit(1)


def _findings(paths: list[Path]) -> tuple[list[Diagnostic], list[Diagnostic], str]:
    """Give errors, warnings and, if there are no errors, what was checked."""
    from cepheus.rules.check import check as check_rules
    from cepheus.uncertainty.bayes.networks import networks_of

    errors: list[Diagnostic] = []
    rules = read_all(paths, errors)
    if errors:
        return errors, [], ""
    try:
        checked = check_rules(rules)
        networks_of(checked.rules)  # what a match observes must be possible
    except CepheusError as error:
        return list(error.diagnostics), [], ""
    return [], list(checked.warnings), f"{_count(len(rules.rules), 'rule')} in {_count(len(paths), 'file')}: no errors"


def read_all(paths: list[Path], errors: list[Diagnostic]) -> RuleSet:
    """Read rule files; what is wrong with any of them is added to ``errors``, so that all is told at once."""
    from cepheus.rules.model import RuleSet
    from cepheus.runtime.embedded.sources import read_rules

    rules = RuleSet()
    for path in paths:
        try:
            rules += read_rules(path)
        except CepheusError as error:
            errors += error.diagnostics
    return rules


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
