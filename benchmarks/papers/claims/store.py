"""The figures that claims are judged by, in files that are kept with the source: one for each part that is measured.

A long measurement adds to its file run by run, so that it can be interrupted and goes on where it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from benchmarks.papers.claims.model import Runs, Samples

FOLDER = Path(__file__).parents[1] / "results"


def load(part: str, folder: Path = FOLDER) -> dict[str, dict[int, float]]:
    """The figures of one part, as far as they have been measured."""
    path = folder / f"{part}.json"
    if not path.exists():
        return {}
    found = json.loads(path.read_text(encoding="utf-8"))
    return {name: {int(run): value for run, value in runs.items()} for name, runs in found.items()}


def load_all(folder: Path = FOLDER) -> dict[str, dict[int, float]]:
    """The figures of all parts."""
    found: dict[str, dict[int, float]] = {}
    for path in sorted(folder.glob("*.json")):
        found |= load(path.stem, folder)
    return found


def save(part: str, samples: Samples, folder: Path = FOLDER) -> Path:
    """Write the figures of one part, a sample a line, with as many digits as matter."""
    path = folder / f"{part}.json"
    lines = [f"  {json.dumps(name)}: {_line(samples[name])}" for name in sorted(samples)]
    folder.mkdir(parents=True, exist_ok=True)
    replacement = path.with_suffix(".new")
    replacement.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    replacement.replace(path)
    return path


def _line(runs: Runs) -> str:
    return "{" + ", ".join(f'"{run}": {_short(value)}' for run, value in sorted(runs.items())) + "}"


def _short(value: float) -> str:
    """A number with six digits, which is more than any figure here is worth."""
    return f"{value:.6g}"


def numbered(values: Mapping[str, list[float]]) -> dict[str, dict[int, float]]:
    """Figures of runs that have no seeds, numbered from one."""
    return {name: dict(enumerate(each, 1)) for name, each in values.items()}
