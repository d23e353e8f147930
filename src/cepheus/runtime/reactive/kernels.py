"""Compiled loops over sliding windows."""

from __future__ import annotations

from typing import Any

from cepheus.kernel.compiled import compiled
from cepheus.kernel.sums import add_float, clear, read_float


@compiled
def sliding_sums(bits: Any, drops: Any, adds: Any, limbs: int, sums: Any) -> bool:
    """Sum the floats of each window, given by their bits, exactly; False if one lies too far out."""
    clear(limbs)
    low = 0
    high = 0
    for moment in range(len(adds)):
        while high < adds[moment]:
            if not add_float(limbs, bits[high], False):
                return False
            high += 1
        while low < drops[moment]:
            if not add_float(limbs, bits[low], True):
                return False
            low += 1
        sums[moment] = read_float(limbs)
    return True


@compiled
def sliding_extremes(values: Any, drops: Any, adds: Any, least: bool, waiting: Any, found: Any) -> None:
    """Find the place of the least, or greatest, member of each window; of several the earliest."""
    first = 0
    end = 0
    high = 0
    for moment in range(len(adds)):
        while high < adds[moment]:
            value = values[high]
            while end > first and (
                (least and values[waiting[end - 1]] > value) or (not least and values[waiting[end - 1]] < value)
            ):
                end -= 1
            waiting[end] = high
            end += 1
            high += 1
        while first < end and waiting[first] < drops[moment]:
            first += 1
        if first < end:
            found[moment] = waiting[first]
