"""Functions that several kernels have in common but for one part: written once, compiled for each with its own.

Compiled code cannot be handed a function at no cost. So the common function is plain Python that calls the part by
name, and each kernel compiles it with the name standing for a part of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TypeVar, cast

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
    return cast(F, FunctionType(function.__code__, surroundings, function.__name__, function.__defaults__))
