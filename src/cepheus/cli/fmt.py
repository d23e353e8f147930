"""``cepheus fmt``: rule files in their canonical layout."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated

import typer

from cepheus.cli.console import note, replace_file, report
from cepheus.core.errors import CepheusError, UnsupportedError


def fmt(
    rules: Annotated[list[Path], typer.Argument(help="Rule files.", show_default=False)],
    only_check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 1 and list the files that would change.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Change nothing; exit with 1 and show what would change.")
    ] = False,
) -> None:
    """Rewrite rule files in their canonical layout; comments are kept. Files of SQL are left to formatters of SQL."""
    from cepheus.language import etalis, tesla
    from cepheus.runtime.embedded.rule_sources import ETALIS_EXTENSION, SQL_EXTENSION, read_text

    failed = False
    for path in rules:
        try:
            before = read_text(path)
            if path.suffix.lower() == SQL_EXTENSION:
                raise UnsupportedError.of(
                    "unsupported",
                    f"'{path}' is SQL, which has no layout of its own here",
                    hint="leave it out, or use a formatter of SQL that knows MATCH_RECOGNIZE",
                )
            reformat = etalis.reformat if path.suffix.lower() == ETALIS_EXTENSION else tesla.reformat
            after = reformat(before, str(path))
            if before == after:
                continue
            if diff:
                print(_difference(before, after, str(path)), end="")
            if only_check:
                print(f"would reformat {path}")
            if diff or only_check:
                failed = True
            else:
                replace_file(path, after)
                note(f"reformatted {path}")
        except CepheusError as error:
            report(error.diagnostics)
            failed = True
    if failed:
        raise typer.Exit(1)


def _difference(before: str, after: str, name: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name, f"{name} (reformatted)", lineterm="")
    return "".join(f"{line}\n" for line in lines)
