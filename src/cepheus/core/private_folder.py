"""Folders in which nobody else can put or change a file: for what is run when it is found there.

A folder is private if it and all folders that it lies in belong to this user or to root, and nobody else may write
there. A folder such as ``/tmp``, in which everybody may write but nobody may touch what belongs to others, may lie
above it. Where the system does not tell whom files belong to, there is nothing to look at.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from cepheus.core.errors import OptionError, Place

CACHE_DIR = "CEPHEUS_CACHE_DIR"
"""The environment variable that names the folder of what is kept between runs."""

CACHE_KEY = "CEPHEUS_CACHE_KEY"
"""The environment variable that names the file with the key that compiled kernels are signed with."""

_ROOT = 0
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_PRIVATE_FOLDER = 0o700


def explicit_root() -> Path | None:
    """The folder that the user named for what is kept between runs, if any."""
    named = os.environ.get(CACHE_DIR)
    return Path(named) if named else None


def default_root() -> Path | None:
    """The user's cache folder; None if the user has no home."""
    named = os.environ.get("XDG_CACHE_HOME")
    if named:
        return Path(named)
    try:
        return Path.home() / ".cache"
    except RuntimeError:
        return None


def fallback_root() -> Path:
    """The folder that stands in for a cache folder that is not private, or cannot be written."""
    return Path(tempfile.gettempdir()) / f"cepheus-{os.geteuid() if hasattr(os, 'geteuid') else 'cache'}"


def private_folder(name: str) -> Path:
    """Return a private folder of that name for what is kept between runs; OptionError if there is none.

    The folder that the user named must be private, unless it holds a signed cache. If none is named, that is the user's
    cache, else one among the temporary files.
    """
    named = explicit_root()
    if named is not None:
        folder = own_part(named, name)
        problem = make_private(folder)
        if problem is None:
            return folder.resolve()
        if not os.environ.get(CACHE_KEY):  # what is signed may be shared, but a private folder is none of that
            raise unsafe_folder(folder, problem)
    folders = [own_part(root, name) for root in (default_root(), fallback_root()) if root is not None]
    for folder in folders:
        tighten(folder)
        if make_private(folder) is None and os.access(folder, os.W_OK):
            return folder.resolve()
    raise unsafe_folder(folders[-1], make_private(folders[-1]) or "it cannot be written")


def own_part(root: Path, name: str) -> Path:
    """The part of a cache folder that is ours."""
    return root / "cepheus" / name


def make_private(folder: Path) -> str | None:
    """Make a private folder unless it is there; tell why there is none, in words."""
    try:
        _make(folder)
    except OSError as error:
        return f"it cannot be made: {(error.strerror or 'it failed').lower()}"
    return why_not_private(folder)


def tighten(folder: Path) -> None:
    """Let nobody else write to a folder of ours and the one above it, which earlier versions made with any umask.

    Nothing that others put there before is believed: files are looked at one by one.
    """
    for each in (folder.parent, folder) if hasattr(os, "geteuid") else ():
        try:
            found = each.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and others_may_write(found):
                each.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS_WRITE)
        except OSError:
            continue


def _make(folder: Path) -> None:
    """Make a folder and those above it that are missing, all of them for this user alone, whatever the umask."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        try:
            each.mkdir(_PRIVATE_FOLDER)
        except FileExistsError:  # another process was faster; whose it is, is looked at afterwards
            continue
        each.chmod(_PRIVATE_FOLDER)


def why_not_private(folder: Path) -> str | None:
    """Say why a folder is not private, in words; None if it is. Links are followed first."""
    real = folder.resolve()
    if not hasattr(os, "geteuid"):
        return None
    for each in (real, *real.parents):
        try:
            found = each.lstat()
        except OSError as error:
            return f"{each} cannot be looked at: {(error.strerror or 'it failed').lower()}"
        if not stat.S_ISDIR(found.st_mode):
            return f"{each} is not a folder"
        if not is_ours(found):
            return f"{each} belongs to another user"
        kept_apart = each != real and found.st_mode & stat.S_ISVTX
        if found.st_mode & _OTHERS_WRITE and not kept_apart:
            return f"others may write to {each}"
    return None


def is_ours(found: os.stat_result) -> bool:
    """Whether a file belongs to this user, or to root, who may do anything anyway."""
    return not hasattr(os, "geteuid") or found.st_uid in (os.geteuid(), _ROOT)


def others_may_write(found: os.stat_result) -> bool:
    """Whether anybody but its owner may write to a file."""
    return hasattr(os, "geteuid") and bool(found.st_mode & _OTHERS_WRITE)


def unsafe_folder(folder: Path, problem: str) -> OptionError:
    """The error for a folder in which others could put code for us to run."""
    return OptionError.of(
        "cache-folder",
        f"no code is run from a folder that others could change: {problem}",
        place=Place(str(folder)),
        hint=f"let {CACHE_DIR} name a folder of your own (chmod 700), or sign what is compiled: {CACHE_KEY}",
    )
