"""Compiled functions: once per version of all that they are made of, kept on disk for later runs.

Numba's own cache looks only at the file of a function, not at the files of what it calls, and believes whatever it
finds. Here a kernel is found by the sources of all modules that it can see (``fingerprint.py``) and by the versions of
what compiles it, and only where nobody else could have put it (``cache.py``).
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from inspect import signature
from typing import Any, TypeVar, cast

import llvmlite
import numba
import numpy as np
from numba import config, types
from numba.core.caching import _Cache as NumbaCache
from numba.core.ccallback import CFunc
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from cepheus.kernel.cache import KernelStore, kernel_store
from cepheus.kernel.checked import CHECKED
from cepheus.kernel.fingerprint import OWN
from cepheus.kernel.linking import Kernel, WholeCompiler, undisturbed

F = TypeVar("F", bound=Callable[..., object])

ANNOUNCE = "CEPHEUS_ANNOUNCE"
"""The environment variable that, if it is 0, has kernels compiled without a word."""

PARTS = "__parts__"
"""The attribute of a function in which some names stand for something else: what they stand for, by name."""

_SETTINGS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT")
"""What Numba is told by its environment that changes the code it makes."""


def compiled(function: F) -> F:
    """Compile a function when it is first called, without the interpreter lock; keep the result."""
    return _compiled(function, inlined=False)


def inlined(function: F) -> F:
    """Compile a function into each of its callers: for what runs many times per event."""
    return _compiled(function, inlined=True)


def _compiled(function: F, *, inlined: bool) -> F:
    # code that is checked is several times as large: it is not put into each of its callers as well
    options = {"nopython": True, "nogil": True, "forceinline": inlined and not CHECKED, "boundscheck": CHECKED}
    dispatcher: Any = Kernel(function, options)
    dispatcher._cache = KernelCache(function)
    return cast(F, dispatcher)


@cache
def entry_point(function: Callable[..., int], *, keep: bool = True) -> Any:
    """Compile a function of words so that it can be called by its address; whoever keeps that must keep the result.

    What sees code from outside this package must not be kept on disk: nothing tells when that code changes.
    """
    words = len(signature(function).parameters)
    words_in = ((types.int64,) * words, types.int64)
    callback: Any = cast(Any, CFunc)(function, words_in, locals={}, options={}, pipeline_class=WholeCompiler)
    if not keep:
        callback.compile()
        return callback
    callback._cache = KernelCache(function)
    with callback._cache.turn(callback._sig, callback._targetdescr.target_context), undisturbed():
        callback.compile()
    return callback


@cache
def _announce_compilation() -> None:
    """Say what takes so long, once in a process; not with ``CEPHEUS_ANNOUNCE=0``."""
    if os.environ.get(ANNOUNCE) != "0":
        print(
            "Compiling the engine (once for this version; some seconds; `cepheus warm-up` does it ahead)",
            file=sys.stderr,
            flush=True,
        )


def seen_by(function: object) -> tuple[frozenset[str], tuple[str, ...]]:
    """The modules that a function is written in, those of its parts included, and what else its parts are."""
    function = getattr(function, "py_func", function)
    modules = {str(getattr(function, "__module__", ""))}
    others: list[str] = []
    for name, part in getattr(function, PARTS, {}).items():
        others.append(f"{name}={part_name(part)}")
        if callable(part):
            inner_modules, inner = seen_by(part)
            modules |= inner_modules
            others += inner
    return frozenset(modules), tuple(others)


def part_name(part: object) -> str:
    """What tells a part from all others: where a function is written and its name there, or a value as it is."""
    return f"{part.__module__}.{getattr(part, '__qualname__', '')}" if callable(part) else repr(part)


class KernelCache(NumbaCache):
    """What Numba asks for a function that was compiled before, and tells what it has compiled."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function
        self._modules, self._others = seen_by(function)
        self._key: str | None = None

    @property
    def modules(self) -> frozenset[str]:
        """The modules of this package that the function is made of."""
        return frozenset().union(*map(OWN.reachable, self._modules))

    @property
    def key(self) -> str:
        """What the function is found by: equal only if all is equal that can make a difference to it."""
        if self._key is None:
            self._key = OWN.key(self._modules, (*_surroundings(), *self._others))
        return self._key

    @property
    def cache_path(self) -> str | None:
        """The folder of the compiled function."""
        store = self._store()
        return None if store is None else str(store.folder)

    def turn(self, sig: Any, target_context: Any) -> AbstractContextManager[None]:
        """Have one process at a time compile the function for a signature, and say so; others find it afterwards."""
        store, name = self._store(), self._name(sig, target_context.codegen())
        if store is None or not store.has(name):
            _announce_compilation()
        return nullcontext() if store is None else store.turn(name)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load the function compiled for a signature; None if that has not been done."""
        store = self._store()
        if store is None:
            return None
        target_context.refresh()
        content = store.read(self._name(sig, target_context.codegen()))
        if content is None:
            return None
        payload = pickle.loads(content)  # noqa: S301  # the store gives only what nobody else can have written
        rebuild: Any = CompileResult._rebuild
        found = rebuild(target_context, *payload)
        return found if tuple(found.signature.args) == _arguments(sig) else None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the function compiled for a signature."""
        store = self._store()
        if store is None or data.library.has_dynamic_globals or any(not each.can_cache for each in data.lifted):
            return
        store.write(self._name(sig, data.codegen), cast(Any, dumps)(data._reduce()))

    def enable(self) -> None:
        """Part of what Numba may ask for; kernels are always kept."""

    def disable(self) -> None:
        """Part of what Numba may ask for; kernels are always kept."""

    def flush(self) -> None:
        """Part of what Numba may ask for; kernels stay until somebody removes the folder."""

    def _store(self) -> KernelStore | None:
        """Where the function may be kept, if anywhere: what is written elsewhere has no sources to go by."""
        return None if not self.modules or OWN.is_replaced(self._modules) else kernel_store()

    @property
    def _stem(self) -> str:
        name = f"{self._function.__module__.rpartition('.')[2]}.{self._function.__qualname__}"
        return f"{re.sub(r'[^A-Za-z0-9_.]', '', name)[:80]}-{self.key}"

    def _name(self, sig: Any, codegen: Any) -> str:
        code = cast(Any, self._function).__code__.co_code
        told = f"{' '.join(map(_told, _arguments(sig)))}\0{codegen.magic_tuple()!r}\0{hashlib.sha256(code).hexdigest()}"
        return f"{self._stem}-{hashlib.sha256(told.encode()).hexdigest()[:32]}"


def _arguments(sig: Any) -> tuple[Any, ...]:
    """The types of arguments that a function was compiled for."""
    return tuple(getattr(sig, "args", sig))


def _told(kind: Any) -> str:
    """A type in words, with where it is written if it is an enumeration: several have the same name."""
    enumeration = getattr(kind, "instance_class", None)
    return f"{kind}" if enumeration is None else f"{kind} {enumeration.__module__}.{enumeration.__qualname__}"


@cache
def _surroundings() -> tuple[str, ...]:
    """What compiles: versions, whether accesses are checked, and settings that change the code."""
    versions = (numba.__version__, llvmlite.__version__, np.__version__, sys.version)
    return (*versions, f"checked={CHECKED}", *(f"{name}={getattr(config, name, None)!r}" for name in _SETTINGS))
