"""Compilation of this engine's kernel: kept on disk by the content of its own files and of those it builds on.

Numba compiles all that a function calls into it, and again into each of its callers. At a few seams, functions are
called by an address in the context instead, so that what lies behind a seam is compiled once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar, cast

from llvmlite import ir
from numba import cfunc, config, types
from numba.extending import intrinsic

from cepheus.core.compiled import compile_into
from cepheus.engine.columns.compiled import cache_folder

F = TypeVar("F", bound=Callable[..., object])

_HERE = Path(__file__).parent
_KERNEL = (
    "absence",
    "commit",
    "compiled",
    "conditions",
    "kernel",
    "known",
    "layout",
    "machine",
    "matches",
    "pairs",
    "plans",
    "program",
    "restricting",
    "steps",
    "store",
    "upkeep",
    "waiting",
)

FOLDER = cache_folder([_HERE / f"{name}.py" for name in _KERNEL])
"""Where the compiled kernel is kept."""


def compiled(function: F) -> F:
    """Compile a function when it is first called."""
    return compile_into(FOLDER, function, inlined=False)


def inlined(function: F) -> F:
    """Compile a function into each of its callers."""
    return compile_into(FOLDER, function, inlined=True)


_CACHE_DIR = "CACHE_DIR"  # set by Numba from the environment, hence unknown to type checkers


@cache
def entry_point(function: Callable[..., int]) -> Any:
    """Compile a function of words so that it can be called by its address; whoever keeps that must keep the result."""
    words = len(signature(function).parameters)
    before = getattr(config, _CACHE_DIR)
    setattr(config, _CACHE_DIR, str(FOLDER))
    try:
        FOLDER.mkdir(parents=True, exist_ok=True)
        kept = os.access(FOLDER, os.W_OK)
    except OSError:
        kept = False
    try:
        return cfunc(types.int64(*[types.int64] * words), cache=kept)(function)
    finally:
        setattr(config, _CACHE_DIR, before)


def _call(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    word = ir.IntType(64)
    kind = ir.FunctionType(word, [word] * (len(arguments) - 1)).as_pointer()
    return builder.call(builder.inttoptr(arguments[0], kind), arguments[1:])


def _typed(words: int) -> Any:
    return types.int64(*[types.int64] * (1 + words)), _call


def _with_2(_context: Any, _address: Any, _a: Any, _b: Any) -> Any:
    return _typed(2)


def _with_3(_context: Any, _address: Any, _a: Any, _b: Any, _c: Any) -> Any:
    return _typed(3)


def _with_6(_context: Any, _address: Any, _a: Any, _b: Any, _c: Any, _d: Any, _e: Any, _f: Any) -> Any:
    return _typed(6)


call_2 = cast(Callable[[int, int, int], int], intrinsic(_with_2))
"""Call a function of two words by its address."""

call_3 = cast(Callable[[int, int, int, int], int], intrinsic(_with_3))
"""Call a function of three words by its address."""

call_6 = cast(Callable[[int, int, int, int, int, int, int], int], intrinsic(_with_6))
"""Call a function of six words by its address."""
