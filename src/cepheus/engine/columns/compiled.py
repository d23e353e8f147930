"""Compilation of the kernel: once per version of its source, kept on disk for later runs.

Numba's own cache looks only at the file of a function, not at the files of what it calls. Here the folder is named
after the content of all files that the kernel is made of, so a kernel never runs with parts of another version.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numba
from numba import config, njit

F = TypeVar("F", bound=Callable[..., object])

_HERE = Path(__file__).parent
_SOURCES = (*sorted(_HERE.glob("*.py")), _HERE.parents[1] / "plan" / "program.py")


def cache_folder() -> Path:
    """Give the folder of compiled kernels: under ``CEPHEUS_CACHE_DIR`` if set, else where the user keeps caches."""
    root = os.environ.get("CEPHEUS_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    digest = hashlib.blake2b(numba.__version__.encode(), digest_size=8)
    for source in _SOURCES:
        digest.update(source.read_bytes())
    return Path(root) / "cepheus" / f"kernel-{digest.hexdigest()}"


def _usable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


_FOLDER = cache_folder()
_CACHED = _usable(_FOLDER)


def compiled(function: F) -> F:
    """Compile a function when it is first called, without the interpreter lock, and keep the result on disk."""
    return _compile(function, inlined=False)


def inlined(function: F) -> F:
    """Compile a function into each of its callers: for what runs many times per event."""
    return _compile(function, inlined=True)


def _compile(function: F, *, inlined: bool) -> F:
    before = config.CACHE_DIR
    config.CACHE_DIR = str(_FOLDER)
    try:
        result: F = njit(nogil=True, cache=_CACHED, forceinline=inlined)(function)
    finally:
        config.CACHE_DIR = before
    return result


def announce_compilation() -> None:
    """Say what takes so long, if the kernel has never been compiled here."""
    if _CACHED and any(_FOLDER.rglob("*.nbi")):
        return
    print("Compiling the columns engine (once; this takes up to a minute)", file=sys.stderr, flush=True)
