"""Values put in order, compiled: by merging, as NumPy's own sorting is far more code to compile than all it is for."""

from __future__ import annotations

from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.program import Floats, Words

_RUN = 16
"""So many values are put in order by moving each to its place; more are merged from such runs."""


@compiled
def sort(values: Words | Floats) -> None:
    """Put values in order, in place."""
    count = len(values)
    for begin in range(0, count, _RUN):
        _sort_run(values, begin, min(begin + _RUN, count))
    if count > _RUN:
        spare, width = values.copy(), _RUN
        while width < count:  # there and back, so that they end where they were
            _merge_runs(values, spare, width)
            _merge_runs(spare, values, 2 * width)
            width *= 4


@inlined
def _sort_run(values: Words | Floats, begin: int, end: int) -> None:
    for k in range(begin + 1, end):
        value, at = values[k], k
        while at > begin and values[at - 1] > value:
            values[at] = values[at - 1]
            at -= 1
        values[at] = value


@compiled
def _merge_runs(values: Words | Floats, merged: Words | Floats, width: int) -> None:
    """Merge every two runs of so many values in order to one."""
    count = len(values)
    for begin in range(0, count, 2 * width):
        left, right = begin, min(begin + width, count)
        middle, end = right, min(begin + 2 * width, count)
        for k in range(begin, end):
            if right == end or (left < middle and values[left] <= values[right]):
                merged[k] = values[left]
                left += 1
            else:
                merged[k] = values[right]
                right += 1


@inlined
def first_from(values: Words, value: int) -> int:
    """The place of the first of values in order that is not less than one; their number if there is none."""
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
