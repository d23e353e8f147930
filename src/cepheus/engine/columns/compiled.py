"""Compilation of kernels: once per version of their source, kept on disk for later runs.

Numba's own cache looks only at the file of a function, not at the files of what it calls. Here the folder is named
after the content of all files that a kernel is made of, so a kernel never runs with parts of another version. Files
that only surround the kernel may change without a new compilation.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar, cast

import numba
from numba import config, njit

F = TypeVar("F", bound=Callable[..., object])

_CACHE_DIR = "CACHE_DIR"  # set by Numba from the environment, hence unknown to type checkers
_HERE = Path(__file__).parent
_PLAN = _HERE.parents[1] / "plan"
_SURROUNDINGS = {"engine.py", "growth.py", "intake.py", "outlet.py", "snapshot.py", "texts.py"}
_SOURCES = (
    *(path for path in sorted(_HERE.glob("*.py")) if path.name not in _SURROUNDINGS),
    _PLAN / "program.py",
)


def cache_folder(more_sources: Sequence[Path] = ()) -> Path:
    """Give the folder of compiled kernels: under ``CEPHEUS_CACHE_DIR`` if set, else where the user keeps caches."""
    root = os.environ.get("CEPHEUS_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    digest = hashlib.blake2b(numba.__version__.encode(), digest_size=8)
    for source in (*_SOURCES, *more_sources):
        digest.update(source.read_bytes())
    return Path(root) / "cepheus" / f"kernel-{digest.hexdigest()}"


def _usable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def compile_into(folder: Path, function: F, *, inlined: bool) -> F:
    """Compile a function when it is first called, without the interpreter lock; keep the result in the folder."""
    before = getattr(config, _CACHE_DIR)
    setattr(config, _CACHE_DIR, str(folder))
    try:
        return cast(F, njit(nogil=True, cache=_usable(folder), forceinline=inlined)(function))
    finally:
        setattr(config, _CACHE_DIR, before)


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
