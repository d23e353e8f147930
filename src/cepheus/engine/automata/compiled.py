"""Compilation of this engine's kernel: kept on disk by the content of its own files and of those it builds on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from cepheus.core.compiled import compile_into
from cepheus.engine.columns.compiled import cache_folder

F = TypeVar("F", bound=Callable[..., object])

FOLDER = cache_folder(sorted(Path(__file__).parent.glob("*.py")))
"""Where the compiled kernel is kept."""


def compiled(function: F) -> F:
    """Compile a function when it is first called."""
    return compile_into(FOLDER, function, inlined=False)


def inlined(function: F) -> F:
    """Compile a function into each of its callers."""
    return compile_into(FOLDER, function, inlined=True)
