"""``cepheus check``: are these rules right?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cepheus.cli.console import report
from cepheus.cli.run_options import Unit
from cepheus.core.errors import CepheusError, Diagnostic, OptionError, Severity

if TYPE_CHECKING:
    from cepheus.rules.model import RuleSet

Rules = Annotated[list[Path], typer.Argument(help="Rule files.", show_default=False)]
Facts = Annotated[
    list[str] | None,
    typer.Option("--facts", metavar="NAME=FILE", help="A CSV file of background knowledge. May be repeated."),
]


def check(
    rules: Rules,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as a JSON array on stdout.")] = False,
    facts: Facts = None,
    time_unit: Annotated[Unit, typer.Option(help="The unit of numbers without one in rules of ETALIS.")] = Unit.US,
) -> None:
    """Check rules: exit with 0 if they are right, with 1 and what is wrong with them on stderr if not.

    Files are checked together, as one rule set.
    """
    errors, warnings, summary = _findings(rules, facts, time_unit)
    if as_json:
        print(json.dumps([finding.to_json() for finding in (*errors, *warnings)], indent=2))
    else:
        report([*errors, *warnings])
        if not errors:
            print(summary)
    if errors:
        raise typer.Exit(1)


def _findings(paths: list[Path], facts: list[str] | None, unit: Unit) -> tuple[list[Diagnostic], list[Diagnostic], str]:
    """Check the files: errors, warnings and, if there are no errors, what was checked."""
    from cepheus.api import compile
    from cepheus.rules.model import RuleSet

    try:
        program = compile(read_all(paths, facts, unit.value))
    except CepheusError as error:
        return list(error.diagnostics), [], ""
    checked = f"{_count(len(program.rules.all_rules), 'rule')} in {_count(len(paths), 'file')}"
    empty = [warning_without_rules(paths)] if program.rules == RuleSet() else []
    return [], [*program.warnings, *empty], f"{checked}: no errors"


def read_all(paths: list[Path], facts: list[str] | None = None, unit: str = "us") -> RuleSet:
    """Read rule files and facts.

    ``unit`` is that of numbers without one in rules of the ETALIS language.
    """
    from cepheus.core.time import TimeUnit
    from cepheus.rules.model import RuleSet
    from cepheus.runtime.embedded.background import read_knowledge
    from cepheus.runtime.embedded.rule_sources import read_rules

    rules = read_rules(paths, TimeUnit(unit))
    for given in facts or ():
        name, _, file = given.partition("=")
        if not (name and file):
            message = f"'{given}' is not the name of facts and their file"
            raise OptionError.of("facts", message, hint="write --facts located=located.csv")
        rules += RuleSet(knowledge=read_knowledge({name: Path(file)}))
    return rules


def no_rules(paths: list[Path], code: str) -> OptionError:
    """The error for files without a rule, where one is needed."""
    return OptionError.of(code, f"there is no rule in {_named(paths)}", hint=_A_RULE)


def warning_without_rules(paths: list[Path]) -> Diagnostic:
    """The warning for files without a rule, where nothing can be found."""
    return Diagnostic("no-rules", f"there is no rule in {_named(paths)}", hint=_A_RULE, severity=Severity.WARNING)


_A_RULE = "write one, such as: define Fire() from Smoke()"


def _named(paths: list[Path]) -> str:
    return ", ".join(map(str, paths))


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
