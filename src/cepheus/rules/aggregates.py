"""What an aggregate of values is: the definition that every engine must meet, to the last bit.

Sums are exact and rounded once at the end, so neither the order of adding nor a sliding window changes a result. A sum
that leaves the range of floats on the way is undefined.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cepheus.core.values import INT_MAX, INT_MIN, Value

_LOW_HALF = 2**32 - 1


def aggregate(function: str, values: Sequence[Any]) -> Value | None:
    """Apply an aggregate function to the values of its members, given in the order of the stream.

    None is an undefined result: Count and Sum of nothing are 0, the others of nothing are undefined.

    >>> aggregate("Avg", [1.0, 2.0, 4.5]), aggregate("Count", []), aggregate("Max", [])
    (2.5, 0, None)
    """
    if function == "Count":
        return len(values)
    if function == "Sum":
        return _sum(values)
    if not values:
        return None
    result: Value
    match function:
        case "Avg":
            return _finite(float(_exact_sum(values)) / len(values))
        case "Stddev":
            return _deviation(values)
        case "Min":
            result = min(values)
        case "Max":
            result = max(values)
        case "First":
            result = values[0]
        case "Last":
            result = values[-1]
        case _:
            raise AssertionError(f"no aggregate {function}")
    return result


def is_aggregable(function: str, values: Sequence[Value]) -> bool:
    """Tell whether an aggregate function has a meaning for values whose types only the data tells.

    >>> is_aggregable("Sum", [1, "a"]), is_aggregable("Max", ["a", "b"]), is_aggregable("Max", [True, True])
    (False, True, False)
    """
    if function in ("Count", "First", "Last"):
        return True
    are_numbers = {type(value) in (int, float) for value in values}
    if False not in are_numbers:
        return True
    return function in ("Min", "Max") and {type(value) for value in values} == {str}


def _exact_sum(numbers: Sequence[float]) -> float:
    if all(isinstance(number, int) for number in numbers):
        return sum(numbers)
    try:
        return math.fsum(part for number in numbers for part in _exact_parts(number))
    except OverflowError:
        return math.inf


def _exact_parts(number: float) -> tuple[float, ...]:
    """Give numbers that floats hold and that add up to a number: an integer of 64 bits has two halves."""
    return (number & ~_LOW_HALF, number & _LOW_HALF) if isinstance(number, int) else (number,)


def _sum(numbers: Sequence[float]) -> Value | None:
    total = _exact_sum(numbers)
    if isinstance(total, int):
        return total if INT_MIN <= total <= INT_MAX else None
    return _finite(total)


def _deviation(numbers: Sequence[float]) -> float | None:
    """Give the standard deviation of a sample; undefined for fewer than two members."""
    if len(numbers) < 2:
        return None
    mean = float(_exact_sum(numbers)) / len(numbers)
    squares = [(float(number) - mean) * (float(number) - mean) for number in numbers]
    return _finite(math.sqrt(_exact_sum(squares) / (len(numbers) - 1)))


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
