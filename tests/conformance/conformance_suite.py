"""The conformance suite: small cases in files, the same for every engine and host.

A case has rules, events in the papers' notation (times in seconds) and the composite events they give, in any order.
In ``from`` of an expected event, ``#n`` stands for the id of the n-th expected event. ``rule`` is the name of the rule
that made it, by default its type. A case whose ``provenance`` is ``full`` expects what aggregates ``counted``, too.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cepheus.core.event import EventId, composite_id, with_counted
from cepheus.core.options import ProvenanceDepth
from cepheus.formats.papers_notation import parse_notation_line
from cepheus.language.tesla import parse
from cepheus.rules.model import RuleSet
from cepheus.rules.run_settings import with_provenance

FOLDER = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Case:
    """Rules, events as dicts with times in seconds, and the composite events as dicts with their ids."""

    name: str
    rules: str
    events: list[dict[str, Any]]
    expected: list[dict[str, Any]]
    sequence: str | None
    provenance: ProvenanceDepth

    @property
    def options(self) -> dict[str, Any]:
        """What sessions and runs are told besides the engine."""
        return {"time_unit": "s", "sequence": self.sequence, "provenance": self.provenance.value}

    @property
    def model(self) -> RuleSet:
        """The rules, which know how much of the provenance is asked for."""
        return with_provenance(parse(self.rules), self.provenance)

    def __str__(self) -> str:
        return self.name


def load_cases() -> list[Case]:
    """Read every case of every file."""
    return [
        _case(path.stem, table)
        for path in sorted(FOLDER.glob("*.toml"))
        for table in tomllib.loads(path.read_text(encoding="utf-8"))["case"]
    ]


def outcome(composites: list[dict[str, Any]]) -> list[str]:
    """Give composite events in a form in which two answers compare as multisets.

    An attribute without a value may be None or left out. When the earliest part happened follows from the parts.
    """
    return sorted(
        repr(sorted((name, value) for name, value in composite.items() if value is not None and name != "start"))
        for composite in composites
    )


def _case(topic: str, table: dict[str, Any]) -> Case:
    known = {"name", "rules", "declarations", "events", "expected", "sequence", "provenance"}
    assert table.keys() <= known, f"{topic}: unknown keys {table.keys() - known}"
    return Case(
        name=f"{topic}: {table['name']}",
        rules=f"{table.get('declarations', '')};{table['rules']}" if "declarations" in table else table["rules"],
        events=_lines(table["events"]),
        expected=_expected(_lines(table["expected"])),
        sequence=table.get("sequence"),
        provenance=ProvenanceDepth(table.get("provenance", "parts")),
    )


def _lines(text: str) -> list[dict[str, Any]]:
    return [dict(record) for line in text.splitlines() if (record := parse_notation_line(line)) is not None]


def _expected(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    ids: list[str] = []
    for record in records:
        rule = record.pop("rule", record["type"])
        made_of: tuple[EventId, ...] = tuple(
            ids[int(part[1:])] if isinstance(part, str) and part.startswith("#") else part for part in record["from"]
        )
        whole = with_counted(made_of, record.pop("counted", ()))
        record |= {"from": list(whole), "id": composite_id(record["type"], rule, made_of)}
        record["time"] *= 1_000_000
        ids.append(record["id"])
    return records
