"""Code of functions of expressions: a Python function of numbers, compiled so that a machine can call it by address.

What is called takes the address of the arguments on the machine's stack, leaves the result at the place of the first,
and tells whether there is one: not if the function gives None, raises, or gives a double that is not finite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import BuiltinFunctionType, FunctionType
from typing import Any

from numba import njit, types

from cepheus.core.values import ValueType
from cepheus.kernel.compiled import entry_point, inlined
from cepheus.kernel.fingerprint import OWN
from cepheus.kernel.functions import NumberFunction
from cepheus.kernel.instructions import Gives
from cepheus.kernel.memory import peek, peek_float, poke, poke_float
from cepheus.kernel.parts import with_parts
from cepheus.kernel.python_integers import PythonIntegers


def compile_function(function: NumberFunction, *, floating: bool) -> Any | None:
    """Compile a function for doubles or for integers; None if it is nothing that Numba can compile.

    Who keeps the address of the result must keep the result.
    """
    as_integer = function.gives in (Gives.INT, Gives.BOOL) or (function.gives is Gives.AS_ARGUMENTS and not floating)
    readers = [peek_float if floating and not is_time else peek for is_time in function.times]
    name = f"{function.name}_of_{len(readers)}_{'floats' if floating else 'integers'}"
    meaning = _named(function.compute, name)
    give = _give_integer if as_integer else _give_float
    if as_integer and not _is_own(function.compute):
        kind = result_kind(function, tuple(floating for _ in function.times))
        give = _give_whole if kind is ValueType.FLOAT else give
    made = with_parts(
        _TEMPLATES[len(readers) - 1],
        meaning=meaning,
        give=give,
        **{f"read_{place}": reader for place, reader in enumerate(readers)},
        told=f"{name} {function.times} {function.result} {_body(function.compute)}",
    )
    made.__name__ = made.__qualname__ = f"call_{name}"
    try:
        return entry_point(made, keep=_is_own(function.compute))
    except Exception:  # Numba says in many ways, without a common root, that it cannot
        return None


@cache
def callable_of(compute: FunctionType) -> Any:
    """A function of a program as its compiled form computes it: with integers that may not leave 64 bits."""
    return njit(nogil=True, pipeline_class=PythonIntegers)(compute)


def result_kind(function: NumberFunction, floating: tuple[bool, ...]) -> ValueType | None:
    """What a function of a program gives for doubles or integers; None if that cannot be told."""
    both = zip(floating, function.times, strict=True)
    kinds = tuple(types.float64 if is_float and not is_time else types.int64 for is_float, is_time in both)
    compiled = callable_of(function.compute)
    try:
        compiled.compile(kinds)
    except Exception:  # Numba says in many ways, without a common root, that it cannot
        return None
    found = compiled.overloads[kinds].signature.return_type
    found = found.type if isinstance(found, types.Optional) else found
    known = {types.Float: ValueType.FLOAT, types.Boolean: ValueType.BOOL, types.Integer: ValueType.INT}
    return next((kind for each, kind in known.items() if isinstance(found, each)), None)


def _named(compute: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function as Numba calls it, under a name that no other has: see ``parts.py``."""
    if not isinstance(compute, FunctionType):
        return compute
    copy = FunctionType(compute.__code__, compute.__globals__, name, compute.__defaults__, compute.__closure__)
    copy.__qualname__ = name
    copy.__module__ = compute.__module__
    named: Callable[..., Any] = njit(nogil=True)(copy) if _is_own(compute) else callable_of(copy)
    return named


def _is_own(compute: Callable[..., Any]) -> bool:
    """Whether all that a function is made of is part of this package, or of Python."""
    if isinstance(compute, FunctionType):
        return OWN.source(compute.__module__) is not None
    return isinstance(compute, BuiltinFunctionType)


def _body(compute: Callable[..., Any]) -> str:
    code = getattr(compute, "__code__", None)
    return repr(compute.__name__ if code is None else (code.co_code, code.co_consts, code.co_names))


@inlined
def _give_float(at: int, result: float | None) -> int:
    if result is None:
        return 0
    value = result * 1.0  # out of what may be None
    poke_float(at, 0, value)
    return 1 if math.isfinite(value) else 0


@inlined
def _give_integer(at: int, result: int | None) -> int:
    if result is None:
        return 0
    poke(at, 0, result + 0)
    return 1


@inlined
def _give_whole(at: int, result: float | None) -> int:
    if result is None:
        return 0
    value = result * 1.0
    if value != math.floor(value) or not -_FIRST_TOO_LARGE <= value < _FIRST_TOO_LARGE:
        return 0
    poke(at, 0, int(value))
    return 1


_FIRST_TOO_LARGE = 2.0**63

meaning: Any = None
give: Any = None
read_0: Any = None
read_1: Any = None
read_2: Any = None
read_3: Any = None


def _of_one(at: int) -> int:
    try:
        answer: int = give(at, meaning(read_0(at, 0)))
    except Exception:
        return 0
    return answer


def _of_two(at: int) -> int:
    try:
        answer: int = give(at, meaning(read_0(at, 0), read_1(at, 1)))
    except Exception:
        return 0
    return answer


def _of_three(at: int) -> int:
    try:
        answer: int = give(at, meaning(read_0(at, 0), read_1(at, 1), read_2(at, 2)))
    except Exception:
        return 0
    return answer


def _of_four(at: int) -> int:
    try:
        answer: int = give(at, meaning(read_0(at, 0), read_1(at, 1), read_2(at, 2), read_3(at, 3)))
    except Exception:
        return 0
    return answer


_TEMPLATES = (_of_one, _of_two, _of_three, _of_four)
