"""Compiled functions: once per version of their source, kept on disk for later runs.

Numba's own cache looks only at the file of a function, not at the files of what it calls. Here the folder is named
after the content of all files that a function is made of, so it never runs with parts of another version.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar, cast

import numba
from numba import config, njit

F = TypeVar("F", bound=Callable[..., object])

_CACHE_DIR = "CACHE_DIR"  # set by Numba from the environment, hence unknown to type checkers


def folder_for(sources: Iterable[Path]) -> Path:
    """Give the folder of functions made of some files: under ``CEPHEUS_CACHE_DIR`` if set, else the user's cache."""
    root = os.environ.get("CEPHEUS_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    digest = hashlib.blake2b(numba.__version__.encode(), digest_size=8)
    for source in sources:
        digest.update(source.read_bytes())
    return Path(root) / "cepheus" / f"kernel-{digest.hexdigest()}"


def compile_into(folder: Path, function: F, *, inlined: bool) -> F:
    """Compile a function when it is first called, without the interpreter lock; keep the result in the folder."""
    before = getattr(config, _CACHE_DIR)
    setattr(config, _CACHE_DIR, str(folder))
    try:
        return cast(F, njit(nogil=True, cache=_usable(folder), forceinline=inlined)(function))
    finally:
        setattr(config, _CACHE_DIR, before)


def _usable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)
