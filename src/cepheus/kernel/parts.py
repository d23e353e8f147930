"""Functions that several kernels have in common but for one part: written once, compiled for each with its own.

Compiled code cannot be handed a function at no cost. So the common function is plain Python that calls the part by
name, and each kernel compiles it with the name standing for a part of its own. What is compiled has a name of its own,
too: Numba tells functions apart by names and by the order in which a process compiled them, and kernels that two
processes compiled meet in a third, which reads them from disk.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TypeVar, cast

from cepheus.kernel.compiled import PARTS

F = TypeVar("F", bound=Callable[..., object])


def with_parts(function: F, **parts: object) -> F:
    """Give a function in which some names stand for something else.

    >>> def twice(x: int) -> int:
    ...     return step(step(x))
    >>> with_parts(twice, step=lambda x: x + 3)(1)
    7
    """
    assert isinstance(function, FunctionType)
    surroundings = {**function.__globals__, **parts}
    owners = dict.fromkeys(str(part.__module__) for part in parts.values() if hasattr(part, "__module__"))
    name = "_of_".join([function.__name__, *(owner.replace(".", "_") for owner in owners)])
    made = FunctionType(function.__code__, surroundings, name, function.__defaults__)
    made.__qualname__ = name
    setattr(made, PARTS, parts)
    return cast(F, made)
