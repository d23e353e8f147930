"""The errors page, made from one example for each code: what a user sees is what the code prints."""

from __future__ import annotations

import ast
import tempfile
import tomllib
import warnings
from dataclasses import dataclass
from pathlib import Path

from blocks import ROOT

import cepheus
from cepheus.core.errors import CepheusError, CepheusWarning, Diagnostic, render
from cepheus.language.sql import parse_query

PAGE = ROOT / "docs" / "errors.md"
CASES = Path(__file__).with_name("errors.toml")


@dataclass(frozen=True)
class Case:
    """A code, what to do about it, and, where a rule or an event can show it, an example that brings it about."""

    code: str
    section: str
    remedy: str
    rules: str | None = None
    events: str | None = None
    file: str = "events.jsonl"
    language: str = "tesla"


def cases() -> list[Case]:
    """Give all cases in the order of the page."""
    return [Case(**entry) for entry in tomllib.loads(CASES.read_text(encoding="utf-8"))["case"]]


def findings(case: Case, folder: Path) -> list[Diagnostic]:
    """Give what Cepheus says to the example of a case."""
    assert case.rules is not None
    if case.language == "sql":
        try:
            parse_query(case.rules, "query.sql")
        except CepheusError as error:
            return list(error.diagnostics)
    rules = folder / f"rules.{case.language}"
    rules.write_text(case.rules, encoding="utf-8")
    try:
        program = cepheus.compile(rules)
        if case.events is None:
            return list(program.warnings)
        events = folder / case.file
        events.write_text(case.events, encoding="utf-8")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", CepheusWarning)
            program.detect(events, time_unit="s")
        return [each.message.diagnostic for each in caught if isinstance(each.message, CepheusWarning)]
    except CepheusError as error:
        return list(error.diagnostics)


def shown(case: Case, folder: Path) -> str:
    """Give the message as it is printed, without the folder's name."""
    return render(findings(case, folder)).replace(f"{folder}/", "")


def codes_in_source() -> set[str]:
    """Find the codes that the source uses: in kebab case, first arguments of what makes a finding, last of others."""
    makers = {"of", "error", "warning", "Diagnostic", "_error", "_fail", "LiteralError"}
    makers_by_last = {"TomlFile", "require_whole", "chosen"}
    found: set[str] = set()
    for path in (path for folder in ("src", "benchmarks") for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Name(id=name) | ast.Attribute(attr=name), args=[ast.Constant(value=str(code)), *_]
                ):
                    if name in makers and code == code.lower() and " " not in code:
                        found.add(code)
            match node:
                case ast.Call(
                    func=ast.Name(id=name) | ast.Attribute(attr=name), args=[*_, ast.Constant(value=str(code))]
                ):
                    if name in makers_by_last and path.name != "toml_file.py":
                        found.add(code)
    return found


_SECTIONS = {
    "text": ("The text of rules", "Found while reading a rule file."),
    "rules": ("The meaning of rules", "Found by `cepheus check`; errors stop, warnings do not."),
    "intervals": ("Rules over intervals", "Of the ETALIS language for events; found by `cepheus check`."),
    "rows": ("Row patterns", "Of MATCH_RECOGNIZE; found when a query is read, or when its rows are known."),
    "python": (
        "Rules in Python, reactive values",
        "Found while a rule is read from its function, or a signal is made; the place is one in the program.",
    ),
    "networks": ("The networks of rules", "Found by `cepheus check`, and when a network is edited or read."),
    "events": ("Events", "A bad event stops the run, or is skipped and counted under `--on-bad-event skip`."),
    "running": ("Options, sessions, snapshots", "Wrong use of a command or of the API, and limits."),
}

_HEAD = """# Errors

Every error has a code, a message, a place and, where one is known, a hint. On the command line it looks like the
examples below; `cepheus check --json` prints the same as JSON; in Python it is a `CepheusError` whose `diagnostics`
hold the parts. This page is made from the code: each example shows what Cepheus {version} prints.

| class | raised for |
| --- | --- |
| `RuleError` | rule text that cannot be read, rules that do not make sense |
| `EventError` | an event, or a file of events, that is not what it should be |
| `OptionError` | a wrong option or argument |
| `UnsupportedError` | a rule that the chosen engine cannot run |
| `LimitError` | a limit that was reached |
| `SnapshotError` | a snapshot that is damaged or of another kind |
| `NetworkError` | a node that cannot be reached, or refuses |

All of them are `CepheusError`.
"""


def error_page() -> str:
    """Write the page."""
    lines = [_HEAD.format(version=cepheus.__version__)]
    all_cases = cases()
    for section, (title, about) in _SECTIONS.items():
        lines.append(f"## {title}\n\n{about}\n")
        for case in (case for case in all_cases if case.section == section):
            lines.append(f"### {case.code}\n\n{case.remedy}\n")
            if case.rules is not None:
                with tempfile.TemporaryDirectory() as folder:
                    lines.append(f"```text\n{shown(case, Path(folder))}\n```\n")
    return "\n".join(lines).rstrip("\n") + "\n"
