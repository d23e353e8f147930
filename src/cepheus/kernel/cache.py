"""Where compiled kernels are kept between runs, and which of them are believed.

A kernel is machine code in a pickle: whoever can write it can run code as this user. So it is read only from a private
folder, where nobody else can write, or if it is signed with a key that nobody else has. One file is one compiled
function for one signature and processor; it is written under another name and then put in place at once, so processes
that compile at the same time do each other no harm; those that need the same kernel wait for the first of them.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import monotonic, sleep
from uuid import uuid4

from cepheus.core.errors import OptionError, Place
from cepheus.core.private_folder import (
    CACHE_DIR,
    CACHE_KEY,
    default_root,
    explicit_root,
    fallback_root,
    is_ours,
    make_private,
    others_may_write,
    own_part,
    tighten,
    unsafe_folder,
    why_not_private,
)

try:
    import fcntl
except ImportError:  # not a Unix
    fcntl = None  # type: ignore[assignment]

_MAGIC = b"CEPHKRN1"
_SUFFIX = ".kernel"
_SEAL = 32
_SHORTEST_KEY = 32
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)  # a pipe that somebody put there would keep us waiting


_LONGEST_WAIT = 120.0
"""Seconds after which a process makes a kernel itself that another one has begun and not finished."""

_PAUSE = 0.05


class CacheWarning(UserWarning):
    """Compiled kernels are not kept where they would be."""


@dataclass(frozen=True, slots=True)
class KernelStore:
    """A folder of kernels; those of a shared one are signed with ``key``."""

    folder: Path
    key: bytes | None = None

    def read(self, name: str) -> bytes | None:
        """Read the content of a kernel; None if there is none, it is damaged, or it may not be ours."""
        try:
            handle = os.open(self._path(name), os.O_RDONLY | _NO_LINKS | _NO_WAITING)
        except OSError:
            return None
        try:
            data = self._read(handle)
        finally:
            os.close(handle)
        if data is None:
            return None
        seal, content = data[len(_MAGIC) : len(_MAGIC) + _SEAL], data[len(_MAGIC) + _SEAL :]
        if data[: len(_MAGIC)] != _MAGIC or not hmac.compare_digest(seal, self._seal(name, content)):
            return None
        return content

    def _read(self, handle: int) -> bytes | None:
        """Read the content of an open file, None if it is none or others could have written it."""
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            return None
        if self.key is None and (not is_ours(found) or others_may_write(found)):
            return None
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read()

    def write(self, name: str, content: bytes) -> None:
        """Keep a kernel; without a word if there is no room for it, or the folder is only for reading."""
        path = self._path(name)
        part = path.with_name(f"{path.name}.{uuid4().hex}")
        try:
            handle = os.open(
                part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINKS, 0o600 if self.key is None else 0o666
            )
            with os.fdopen(handle, "wb") as file:
                if self.key is None and hasattr(os, "fchmod"):
                    os.fchmod(handle, 0o600)
                file.write(_MAGIC + self._seal(name, content) + content)
            part.replace(path)
        except OSError:
            with suppress(OSError):
                part.unlink(missing_ok=True)

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """Wait while another process makes the same kernel, which is then found; at most for some time."""
        lock = None if self.read(name) is not None else self._lock(self.folder / f"{name}.making")
        try:
            yield
        finally:
            if lock is not None:
                with suppress(OSError):
                    (self.folder / f"{name}.making").unlink(missing_ok=True)
                os.close(lock)

    def _lock(self, path: Path) -> int | None:
        """Open a file that one process at a time may hold; None if it cannot be had, or is held for too long."""
        if fcntl is None:
            return None
        try:
            handle = os.open(
                path, os.O_RDWR | os.O_CREAT | _NO_LINKS | _NO_WAITING, 0o600 if self.key is None else 0o666
            )
        except OSError:
            return None
        until = monotonic() + _LONGEST_WAIT
        while monotonic() < until:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                sleep(_PAUSE)
            except OSError:  # a file system without locks
                break
            else:
                return handle
        os.close(handle)
        return None

    def has(self, stem: str) -> bool:
        """Whether there is any kernel whose name begins so."""
        return any(self._beginning(stem))

    def _beginning(self, stem: str) -> Iterator[str]:
        with suppress(OSError):
            yield from (each for each in os.listdir(self.folder) if each.startswith(stem) and each.endswith(_SUFFIX))

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{_SUFFIX}"

    def _seal(self, name: str, content: bytes) -> bytes:
        """Sign a kernel and its name, or without a key only tell whether it is damaged."""
        told = name.encode() + b"\0" + content
        return hashlib.sha256(told).digest() if self.key is None else hmac.digest(self.key, told, "sha256")


def kernel_store() -> KernelStore | None:
    """Find the folder of compiled kernels, None if none can be kept.

    OptionError if the user named a folder that others could change, or a key that others could know.
    """
    environment = tuple(os.environ.get(name) for name in (CACHE_DIR, CACHE_KEY, "XDG_CACHE_HOME", "HOME"))
    return _kernel_store(environment)


@cache
def _kernel_store(_environment: tuple[str | None, ...]) -> KernelStore | None:
    named, key = explicit_root(), os.environ.get(CACHE_KEY)
    if key:
        root = named or default_root() or fallback_root()
        return _signed_store(own_part(root, "signed-kernels"), _read_key(Path(key)))
    if named is not None:
        return _named_store(own_part(named, "kernels"))
    return _default_store()


def _signed_store(folder: Path, key: bytes) -> KernelStore | None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _warn(f"compiled kernels are not kept: {folder} cannot be made: {(error.strerror or 'it failed').lower()}")
        return None
    return KernelStore(folder, key)


def _named_store(folder: Path) -> KernelStore:
    problem = make_private(folder)
    if problem is not None:
        raise unsafe_folder(folder, problem)
    return KernelStore(folder.resolve())


def _default_store() -> KernelStore | None:
    problems: list[str] = []
    for root in (default_root(), fallback_root()):
        if root is None:
            continue
        folder = own_part(root, "kernels")
        tighten(folder)
        problem = make_private(folder)
        if problem is None and os.access(folder, os.W_OK):
            if problems:
                _warn(f"compiled kernels are kept in {folder}, not in your cache folder: {problems[0]}")
            return KernelStore(folder.resolve())
        problems.append(problem or f"{folder} cannot be written")
    _warn(f"compiled kernels are not kept, so every run compiles anew: {problems[0]}")
    return None


def _warn(message: str) -> None:
    warnings.warn(f"{message}; let {CACHE_DIR} name a folder of your own", CacheWarning, stacklevel=2)


def _read_key(path: Path) -> bytes:
    """Read the key that kernels are signed with; OptionError if others could read or change it."""
    try:
        found = path.stat()
        problem = _why_no_key(path, found)
        key = path.read_bytes() if problem is None else b""
    except OSError as error:
        problem, key = f"it cannot be read: {(error.strerror or 'it failed').lower()}", b""
    if problem is None and len(key) < _SHORTEST_KEY:
        problem = f"it has fewer than {_SHORTEST_KEY} bytes"
    if problem is not None:
        raise OptionError.of(
            "cache-key",
            f"this is no key to sign compiled code with: {problem}",
            place=Place(str(path)),
            hint="make one: (umask 077 && head -c 32 /dev/urandom > key)",
        )
    return key


def _why_no_key(path: Path, found: os.stat_result) -> str | None:
    if not stat.S_ISREG(found.st_mode):
        return "it is not a file"
    if not hasattr(os, "geteuid"):
        return None
    if not is_ours(found):
        return "it belongs to another user"
    if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return "others may read or change it"
    return why_not_private(path.resolve().parent)
