"""Calls by address.

Numba compiles all that a function calls into it, and again into each of its callers. At a few seams, functions are
called by an address in the context instead, so that what lies behind a seam is compiled once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from cepheus.kernel.checked import CHECKED
from cepheus.kernel.guard import forget_fault, raise_fault


def _call(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    word = ir.IntType(64)
    kind = ir.FunctionType(word, [word] * (len(arguments) - 1)).as_pointer()
    if CHECKED:  # what is called by address cannot raise
        forget_fault(builder)
    result = builder.call(builder.inttoptr(arguments[0], kind), arguments[1:])
    if CHECKED:
        raise_fault(context, builder)
    return result


def _typed(words: int) -> Any:
    return types.int64(*[types.int64] * (1 + words)), _call


def _with_1(_context: Any, _address: Any, _a: Any) -> Any:
    return _typed(1)


def _with_2(_context: Any, _address: Any, _a: Any, _b: Any) -> Any:
    return _typed(2)


def _with_3(_context: Any, _address: Any, _a: Any, _b: Any, _c: Any) -> Any:
    return _typed(3)


def _with_6(_context: Any, _address: Any, _a: Any, _b: Any, _c: Any, _d: Any, _e: Any, _f: Any) -> Any:
    return _typed(6)


call_1 = cast(Callable[[int, int], int], intrinsic(_with_1))
"""Call a function of one word by its address."""

call_2 = cast(Callable[[int, int, int], int], intrinsic(_with_2))
"""Call a function of two words by its address."""

call_3 = cast(Callable[[int, int, int, int], int], intrinsic(_with_3))
"""Call a function of three words by its address."""

call_6 = cast(Callable[[int, int, int, int, int, int, int], int], intrinsic(_with_6))
"""Call a function of six words by its address."""
