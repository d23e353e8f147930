"""Compilation of what surrounds the engines of several threads: kept on disk like their kernel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from cepheus.core.compiled import compile_into
from cepheus.engine.columns.compiled import cache_folder

F = TypeVar("F", bound=Callable[..., object])

_HERE = Path(__file__).parent
_FOLDER = cache_folder((_HERE / "merge_runs.py", _HERE / "route.py"))


def compiled(function: F) -> F:
    """Compile a function when it is first called."""
    return compile_into(_FOLDER, function, inlined=False)
