"""Integers of compiled functions: each is that of Python, or an error."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from numba import types
from numba.core.errors import NumbaError

from cepheus.kernel.function_code import callable_of

NUMBERS = (0, 1, -1, 2, -2, 5, -5, 62, 63, 64, 2**53 + 1, 2**62, -(2**62), 2**63 - 1, -(2**63))

COMPILED: tuple[Callable[[int], int], ...] = (
    lambda x: x + 18446744073709551615,
    lambda x: 18446744073709551615 - x,
    lambda x: x * 9223372036854775808,
    lambda x: 18446744073709551615 // x,
    lambda x: x % 18446744073709551615,
    lambda x: 18446744073709551615 ** (x % 3),
    lambda x: 18446744073709551615 >> (x % 70),
    lambda x: x & 18446744073709551615,
    lambda x: x | 9223372036854775808,
    lambda x: (x ^ 14695981039346656037) % 1000,
    lambda x: ~(18446744073709551615 & x),
    lambda x: -9223372036854775808 + x,
    lambda x: abs(18446744073709551615) + x,
    lambda x: math.floor(18446744073709551615) + x,
    lambda x: x < 18446744073709551615,
    lambda x: 3 if x > 18446744073709551615 else x,
    lambda x: x << 63,
    lambda x: -1 << (x % 70),
    lambda x: ~(x > 1),
)
REFUSED: tuple[Callable[[int], int], ...] = (
    lambda x: 18446744073709551615 if x > 1 else x,
    lambda x: min(x, 18446744073709551615),
    lambda x: len(range(18446744073709551615)) + x,
    lambda x: (x, 18446744073709551615)[0],
)


def _python(function: Callable[[int], int], x: int) -> int | None:
    try:
        return function(x)
    except (ArithmeticError, ValueError):
        return None


@pytest.mark.parametrize("place", range(len(COMPILED)))
def test_a_compiled_integer_is_that_of_python_or_an_error(place: int) -> None:
    compiled = callable_of(COMPILED[place])
    compiled.compile((types.int64,))
    for x in NUMBERS:
        assert _python(compiled, x) in (None, _python(COMPILED[place], x)), x


@pytest.mark.parametrize(
    ("function", "x", "value"),
    [
        (lambda x: x & 18446744073709551615, 5, 5),
        (lambda x: x << 63, -1, -(2**63)),
        (lambda x: x << 63, 0, 0),
        (lambda x: x < 18446744073709551615, 5, True),
        (lambda x: x + 18446744073709551615, 5, None),
        (lambda x: x << 63, 1, None),
        (lambda x: x << 64, -1, None),
    ],
)
def test_what_64_bits_hold_is_not_lost(function: Callable[[int], int], x: int, value: int | None) -> None:
    assert _python(callable_of(function), x) == value


@pytest.mark.parametrize("function", REFUSED)
def test_a_literal_that_nobody_looks_at_is_not_compiled(function: Callable[[int], int]) -> None:
    """It would become a double, or begin again from the other end."""
    with pytest.raises(NumbaError, match="more than 64 bits"):
        callable_of(function).compile((types.int64,))
