"""``cepheus bench``: hands over to the laboratory, the package ``benchmarks`` of the source tree.

The measurements are not part of what is installed. They are imported when the command is called, completed or asked
for its help, from the source tree that this package itself lies in, or else from the one that the command is typed in.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from cepheus import __version__
from cepheus.core.errors import OptionError

_DISTRIBUTION = "cepheus-cep"


class HandedOver(TyperCommand):
    """Stands for the laboratory's command: in a source tree that one takes the arguments, with options of its own."""

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        """Parse the command line, here or over there; what comes back runs the command."""
        root = source_tree()
        if root is None:
            return super().make_context(*arguments, **settings)
        return _laboratory(root).make_context(*arguments, **settings)


def bench() -> None:
    """Measure Cepheus beside DuckDB and Polars, as the papers did, and as rules, events, windows and networks grow.

    The measurements come with the source tree: run this in a clone of the repository.
    """
    raise OptionError.of(
        "source-tree",
        "the measurements come with the source tree of Cepheus, which is not here",
        hint="clone the repository, run 'make setup' in it, and then '.venv/bin/cepheus bench' or 'make bench'",
    )


def source_tree() -> Path | None:
    """Find the source tree that this package lies in, or else the one around the current directory."""
    here = Path.cwd()
    places = (Path(__file__).resolve().parents[3], here, *here.parents)
    return next((place for place in places if _project(place).get("name") == _DISTRIBUTION), None)


def _project(folder: Path) -> dict[str, Any]:
    """Read what a folder with a laboratory says of its project."""
    import tomllib

    if not (folder / "benchmarks" / "command.py").is_file():
        return {}
    try:
        project: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    except (OSError, ValueError, KeyError):
        return {}
    return project


def _laboratory(root: Path) -> Any:
    """Import the laboratory and give its command."""
    version = _project(root).get("version")
    if version != __version__:
        raise OptionError.of(
            "source-tree",
            f"the source tree in '{root}' is Cepheus {version}, and {__version__} is installed",
            hint="run 'make setup' there, and then '.venv/bin/cepheus bench'",
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return typer.main.get_command(import_module("benchmarks.command").app)
