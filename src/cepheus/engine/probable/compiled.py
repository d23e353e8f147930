"""Compilation of this engine's kernel: kept on disk by the content of its own files and of those it builds on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from cepheus.core.compiled import compile_into
from cepheus.engine.columns.compiled import cache_folder
from cepheus.engine.columns.parts import with_parts
from cepheus.uncertainty import closed_forms

F = TypeVar("F", bound=Callable[..., object])

_CLOSED_FORMS = Path(closed_forms.__file__)
_SURROUNDINGS = {"engine.py", "error_plan.py", "lists.py", "others.py", "past.py", "profile.py", "single.py"}
_KERNEL = [path for path in sorted(Path(__file__).parent.glob("*.py")) if path.name not in _SURROUNDINGS]
FOLDER = cache_folder([*_KERNEL, _CLOSED_FORMS])
"""Where the compiled kernel is kept."""


def compiled(function: F) -> F:
    """Compile a function when it is first called."""
    return compile_into(FOLDER, function, inlined=False)


def inlined(function: F) -> F:
    """Compile a function into each of its callers."""
    return compile_into(FOLDER, function, inlined=True)


def _all_closed() -> dict[str, Any]:
    known: dict[str, Any] = {}
    for name in (
        "settled",
        "normal_density",
        "normal_cdf",
        "_once",
        "_twice",
        "_uniform_normal",
        "_two_uniform_normal",
        "_two_uniform",
        "_lower",
        "spread_cdf",
    ):
        known[name] = compiled(with_parts(getattr(closed_forms, name), **known))
    return known


_FORMS = _all_closed()
settled = cast(Callable[[float], float], _FORMS["settled"])
spread_cdf = cast(Callable[[float, float, float, float], float], _FORMS["spread_cdf"])
