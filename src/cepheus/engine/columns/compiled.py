"""Compilation of the kernel; files that only surround it may change without a new compilation."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from cepheus.core.compiled import compile_into, folder_for

F = TypeVar("F", bound=Callable[..., object])

_HERE = Path(__file__).parent
_PLAN = _HERE.parents[1] / "plan"
_SURROUNDINGS = {
    "context.py",
    "engine.py",
    "growth.py",
    "intake.py",
    "outlet.py",
    "output.py",
    "single.py",
    "snapshot.py",
    "texts.py",
}
_SOURCES = (
    *(path for path in sorted(_HERE.glob("*.py")) if path.name not in _SURROUNDINGS),
    _PLAN / "program.py",
)


def cache_folder(more_sources: Sequence[Path] = ()) -> Path:
    """Give the folder of the kernel, or of one that is made of this one and of more files."""
    return folder_for((*_SOURCES, *more_sources))


_FOLDER = cache_folder()


def compiled(function: F) -> F:
    """Compile a function of the columns engine when it is first called."""
    return compile_into(_FOLDER, function, inlined=False)


def inlined(function: F) -> F:
    """Compile a function into each of its callers: for what runs many times per event."""
    return compile_into(_FOLDER, function, inlined=True)


@cache
def announce_compilation(folder: Path = _FOLDER) -> None:
    """Say on a terminal what takes so long, if the kernel of a folder has never been compiled here."""
    if sys.stderr.isatty() and not any(folder.rglob("*.nbi")):
        print("Compiling the engine (once; this takes up to a minute)", file=sys.stderr, flush=True)
