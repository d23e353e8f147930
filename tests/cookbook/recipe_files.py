"""The recipes of the cookbook, read from their file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("recipes.toml")
_LINE = re.compile(r"(?P<type>\w+) at (?P<time>\d+):(?P<rest>.*)")


@dataclass(frozen=True)
class Recipe:
    """A question, its rules, some events and what comes of them, one a line: ``Temp at 3: room=a, value=20.5``."""

    title: str
    question: str
    text: str
    rules: str
    events: str
    expected: str
    language: str = "tesla"
    until: str | int | None = None

    def __str__(self) -> str:
        return self.title

    @property
    def records(self) -> list[dict[str, Any]]:
        """The events as dicts, with times in seconds."""
        return [_record(line) for line in self.events.splitlines() if line]


def load_recipes() -> list[Recipe]:
    """Read all recipes in their order."""
    return [Recipe(**table) for table in tomllib.loads(FILE.read_text(encoding="utf-8"))["recipe"]]


def _record(line: str) -> dict[str, Any]:
    match = _LINE.fullmatch(line)
    assert match is not None, line
    parts = [part.strip().partition("=") for part in match["rest"].split(",") if part.strip()]
    return {"type": match["type"], "time": int(match["time"])} | {name: _value(text) for name, _, text in parts}


def _value(text: str) -> bool | int | float | str:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def lines_of(composites: Iterable[Mapping[str, Any]]) -> list[str]:
    """Composite events, or rows that have no time, as the file writes them, in a fixed order."""
    own = {"type", "time", "start", "id", "from", "probability"}
    lines = []
    for one in composites:
        values = ", ".join(f"{name}={value}" for name, value in one.items() if name not in own)
        head = f"{one['type']} at {one['time']}: " if "type" in one else ""
        lines.append(f"{head}{values}".rstrip())
    return sorted(lines)
