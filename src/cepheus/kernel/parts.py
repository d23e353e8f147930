"""Functions that several kernels have in common but for some parts: written once, compiled for each with its own.

Compiled code cannot be handed a function at no cost. So the common function is plain Python that calls its parts by
name, and each kernel compiles it with the names standing for parts of its own. What is compiled has a name of its own,
too: Numba tells functions apart by names and by the order in which a process compiled them, and kernels that two
processes compiled meet in a third, which reads them from disk.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from types import FunctionType
from typing import TypeVar, cast

from cepheus.kernel.compiled import PARTS, part_name

F = TypeVar("F", bound=Callable[..., object])


def with_parts(function: F, **parts: object) -> F:
    """The same function, in which some names stand for something else.

    >>> def twice(x: int) -> int:
    ...     return step(step(x))
    >>> with_parts(twice, step=lambda x: x + 3)(1)
    7
    """
    assert isinstance(function, FunctionType)
    surroundings = {**function.__globals__, **parts}
    told = " ".join(f"{name}={part_name(part)}" for name, part in sorted(parts.items()))
    name = f"{function.__name__}_{hashlib.sha256(told.encode()).hexdigest()[:16]}"
    made = FunctionType(function.__code__, surroundings, name, function.__defaults__)
    made.__qualname__ = name
    made.__annotations__ = function.__annotations__
    setattr(made, PARTS, parts)
    return cast(F, made)
