"""The compiled exact sums give what math.fsum gives, whatever is added and taken away."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cepheus.kernel.memory import address
from cepheus.kernel.sums import LIMBS, add_float, add_integer, read_float, read_integer, sum_floats
from cepheus.plan.pattern.code import float_bits

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
INTEGERS = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(NUMBERS, max_size=20), st.lists(st.floats(-1e6, 1e6), max_size=10))
def test_floats_come_and_go_without_a_trace(kept: list[float], passing: list[float]) -> None:
    limbs = np.zeros(LIMBS, np.int64)
    exact = [number for number in kept if add_float(address(limbs), float_bits(number), False)]
    there = [number for number in passing if add_float(address(limbs), float_bits(number), False)]
    for number in there:
        assert add_float(address(limbs), float_bits(number), True)
    assert read_float(address(limbs)) == math.fsum(exact)


@given(st.lists(st.floats(-1e15, 1e15).filter(lambda number: number == 0 or abs(number) > 1e-20), max_size=20))
def test_ordinary_numbers_are_in_range(numbers: list[float]) -> None:
    limbs = np.zeros(LIMBS, np.int64)
    assert all(add_float(address(limbs), float_bits(number), False) for number in numbers)
    assert read_float(address(limbs)) == math.fsum(numbers)


@given(st.lists(INTEGERS, max_size=20))
def test_integers(numbers: list[int]) -> None:
    limbs = np.zeros(LIMBS, np.int64)
    for number in numbers:
        add_integer(address(limbs), number, False)
    total, fits = read_integer(address(limbs))
    assert fits == (-(2**63) <= sum(numbers) < 2**63)
    assert not fits or total == sum(numbers)
    assert read_float(address(limbs)) == float(sum(numbers))


@given(st.lists(NUMBERS, max_size=30))
def test_sums_of_anything(numbers: list[float]) -> None:
    total = sum_floats(np.array(numbers, np.float64), len(numbers), np.empty(64))
    try:
        expected = math.fsum(numbers)
    except OverflowError:
        assert not math.isfinite(total)
        return
    assert total == expected or not math.isfinite(total)
