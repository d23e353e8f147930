"""Questions that users of other systems asked, as files: the question, its rules, and where known what comes out."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
NATURAL = "natural"
AWKWARD = "awkward"
"""The rules give the outcome, and nobody would think of them at once."""


@dataclass(frozen=True)
class Question:
    """A question with its rules; ``expected`` is None where the source states no outcome."""

    id: str
    source: str
    question: str
    language: str
    verdict: str
    why: str
    rules: str
    unit: str
    until: int | str | None
    events: list[dict[str, Any]]
    columns: dict[str, list[str]]
    expected: list[list[Any]] | None

    def __str__(self) -> str:
        return self.id

    def rows(self, composites: Iterable[Mapping[str, Any]]) -> list[list[Any]]:
        """The values that the outcome states, of each composite event that it is about; times in the unit of the input.

        A list that a rule has collected has its latest element first; it is told the other way round. Of several types,
        the type comes first. ``from.eid`` are the events that it is made of, by their attribute ``eid``.
        """
        rows = []
        for composite in composites:
            columns = self.columns.get(composite["type"])
            if columns is not None:
                row = [self._made_of(composite) if column == "from.eid" else composite[column] for column in columns]
                flat = [value for part in row for value in (reversed(part) if isinstance(part, tuple) else [part])]
                rows.append([composite["type"], *flat] if len(self.columns) > 1 else flat)
        return rows

    def _made_of(self, composite: Mapping[str, Any]) -> tuple[Any, ...]:
        """The events of a composite event, each once, the latest first."""
        return tuple(self.events[place]["eid"] for place in sorted(set(composite["from"]), reverse=True))


def load_questions() -> list[Question]:
    """Read all questions of all files."""
    found = []
    for path in sorted(FOLDER.glob("*.toml")):
        file = tomllib.loads(path.read_text(encoding="utf-8"))
        found += [_question(file["source"], table) for table in file["question"]]
    return found


def _question(source: str, table: dict[str, Any]) -> Question:
    return Question(
        id=table["id"],
        source=source,
        question=table["question"],
        language=table["language"],
        verdict=table["verdict"],
        why=table.get("why", ""),
        rules=table["rules"],
        unit=table.get("unit", "s"),
        until=table.get("until"),
        events=[json.loads(line) for line in table.get("events", "").splitlines() if line],
        columns=table.get("columns", {}),
        expected=table.get("expected"),
    )
