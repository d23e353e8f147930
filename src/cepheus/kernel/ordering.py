"""Aggregates read off the values of a sliding window in order, compiled: medians, percentiles, distinct values.

A column that keeps order has, in the block of each lane, the values in its window from the least to the greatest. What
enters the window is put in its place, what leaves is taken out, and the number of values that differ is known at any
time. Where much has changed since the last look the order is made anew. Doubles stand as integers of the same order.
"""

from __future__ import annotations

import math

import numpy as np

from cepheus.kernel.aggregates import (
    OverNumbers,
    OverWords,
    between_members,
    empty_aggregate,
    give,
    give_float,
    halfway,
)
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import before, entry_time, lane_at
from cepheus.kernel.memory import At, fixed, fixed_float, float_of_bits, peek, poke, put, word
from cepheus.kernel.program import FunctionCode, StepField, ValueKind
from cepheus.kernel.sorting import sort
from cepheus.kernel.state import TOO_MANY, LaneState
from cepheus.kernel.sums import LIMBS

_SUM_BYTES = 8 * LIMBS
_STEP_BYTES = StepField.row_bytes()
_MINUS_ZERO = -(2**63)  # the bits of -0.0 as an integer
_ALL_BUT_SIGN = 2**63 - 1

_DISTINCT, _MOST = 0, 1
"""In place of the sum of a lane: how many values differ, and how often the most frequent is there, 0 if unknown."""

_FEW = 64
"""So many values are put in their places one by one; if more have come and gone, all are put in order at once."""


@inlined
def ordered_word(bits: int) -> int:
    """The bits of a float as an integer of the same order, and back; zero has no sign."""
    if bits == _MINUS_ZERO:
        return 0
    return bits ^ _ALL_BUT_SIGN if bits < 0 else bits


@compiled
def aggregate_in_order(context: int, step: int, lane: int, now: int, ordered: bool) -> None:
    """Slide the window of a lane to the one that refers to now and read off it; if ordered, all in it precede now."""
    row = lane_at(context, lane)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    start = before(now, fixed(step, StepField.WINDOW))
    end, last = peek(row, LaneState.SUM_NEXT), peek(row, LaneState.NEXT)
    if ordered:
        end = last
    while end < last and entry_time(context, offset + (end & mask)) < now:
        end += 1
    begin = peek(row, LaneState.SUM_FIRST)
    while begin < end and entry_time(context, offset + (begin & mask)) < start:
        begin += 1
    floats = fixed(step, StepField.VALUE_KIND) == ValueKind.FLOAT
    _slide(context, lane, begin, end, floats)
    function = fixed(step, StepField.FUNCTION)
    if begin == end:
        empty_aggregate(context, step)
    elif function >= FunctionCode.OVER_WORDS and end - begin > fixed(context, At.LIMIT):
        poke(context, At.NEEDED_TABLE, TOO_MANY + (step - fixed(context, At.STEPS)) // _STEP_BYTES)
        empty_aggregate(context, step)
    elif function >= FunctionCode.OVER_WORDS:
        _give_word(context, step, lane, begin, end, floats)
    else:
        _give_number(context, step, offset, end - begin, floats)


@compiled
def _slide(context: int, lane: int, begin: int, end: int, floats: bool) -> None:
    """Have the values of these entries in order, and no others."""
    row = lane_at(context, lane)
    first, last = peek(row, LaneState.SUM_FIRST), peek(row, LaneState.SUM_NEXT)
    poke(row, LaneState.SUM_FIRST, begin)
    poke(row, LaneState.SUM_NEXT, end)
    if peek(row, LaneState.INEXACT) != 0 or begin - first + end - last > _FEW:
        _order_anew(context, lane, begin, end, floats)
        return
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    known = fixed(context, At.SUMS) + _SUM_BYTES * lane
    count = last - first
    for entry in range(last, end):
        _put_in(context, offset, count, _value(context, offset + (entry & mask), floats), known)
        count += 1
    for entry in range(first, begin):
        _take_out(context, offset, count, _value(context, offset + (entry & mask), floats), known)
        count -= 1


@inlined
def _value(context: int, place: int, floats: bool) -> int:
    """The value of an entry as a word by which it is ordered."""
    value = word(context, At.VALUES, place)
    return ordered_word(value) if floats else value


@compiled
def _order_anew(context: int, lane: int, begin: int, end: int, floats: bool) -> None:
    row = lane_at(context, lane)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    values = np.empty(end - begin, np.int64)
    for k in range(end - begin):
        values[k] = _value(context, offset + ((begin + k) & mask), floats)
    sort(values)
    distinct = 0
    for k in range(end - begin):
        distinct += k == 0 or values[k] != values[k - 1]
        put(context, At.IN_ORDER, offset + k, values[k])
    known = fixed(context, At.SUMS) + _SUM_BYTES * lane
    poke(known, _DISTINCT, distinct)
    poke(known, _MOST, 0)
    poke(row, LaneState.INEXACT, 0)


@compiled
def _put_in(context: int, offset: int, count: int, value: int, known: int) -> None:
    """Put a value in its place among so many."""
    at = _first_from(context, offset, count, value)
    if at == count or word(context, At.IN_ORDER, offset + at) != value:
        poke(known, _DISTINCT, peek(known, _DISTINCT) + 1)
    elif peek(known, _MOST) > 0:
        poke(known, _MOST, max(peek(known, _MOST), _times(context, offset, count, at, value) + 1))
    for k in range(count - at):
        put(context, At.IN_ORDER, offset + count - k, word(context, At.IN_ORDER, offset + count - k - 1))
    put(context, At.IN_ORDER, offset + at, value)


@compiled
def _take_out(context: int, offset: int, count: int, value: int, known: int) -> None:
    """Take one of a value out of so many."""
    at = _first_from(context, offset, count, value)
    if at + 1 == count or word(context, At.IN_ORDER, offset + at + 1) != value:
        poke(known, _DISTINCT, peek(known, _DISTINCT) - 1)
    if peek(known, _MOST) > 0 and _times(context, offset, count, at, value) == peek(known, _MOST):
        poke(known, _MOST, 0)
    for k in range(at, count - 1):
        put(context, At.IN_ORDER, offset + k, word(context, At.IN_ORDER, offset + k + 1))


@inlined
def _first_from(context: int, offset: int, count: int, value: int) -> int:
    """The place of the first of so many that is not less than a value; their number if there is none."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if word(context, At.IN_ORDER, offset + middle) < value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _times(context: int, offset: int, count: int, at: int, value: int) -> int:
    """How often a value is there that begins at a place."""
    low, high = at, count
    while low < high:
        middle = (low + high) >> 1
        if word(context, At.IN_ORDER, offset + middle) <= value:
            low = middle + 1
        else:
            high = middle
    return low - at


@compiled
def _give_word(context: int, step: int, lane: int, begin: int, end: int, floats: bool) -> None:
    """Read off how many values differ, or which is the most frequent, of several the one that came latest."""
    known = fixed(context, At.SUMS) + _SUM_BYTES * lane
    result, function = fixed(step, StepField.RESULT), fixed(step, StepField.FUNCTION)
    if (function - FunctionCode.OVER_WORDS) >> 1 == OverWords.CountDistinct:
        give(context, result, peek(known, _DISTINCT), True)
        return
    if (function - FunctionCode.OVER_WORDS) >> 1 != OverWords.Mode:
        give(context, result, 0, False)
        return
    row = lane_at(context, lane)
    offset, mask, count = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK), end - begin
    if peek(known, _MOST) == 0:
        poke(known, _MOST, _longest_run(context, offset, count))
    most = peek(known, _MOST)
    entry = end - 1
    value = _value(context, offset + (entry & mask), floats)
    while entry > begin:
        at = _first_from(context, offset, count, value)
        if at + most <= count and word(context, At.IN_ORDER, offset + at + most - 1) == value:
            break
        entry -= 1
        value = _value(context, offset + (entry & mask), floats)
    give(context, result, ordered_word(value) if floats else value, True)


@compiled
def _longest_run(context: int, offset: int, count: int) -> int:
    most, run = 1, 1
    for k in range(1, count):
        same = word(context, At.IN_ORDER, offset + k) == word(context, At.IN_ORDER, offset + k - 1)
        run = run + 1 if same else 1
        most = max(most, run)
    return most


@compiled
def _give_number(context: int, step: int, offset: int, count: int, floats: bool) -> None:
    """Read off the median or a percentile."""
    result, function = fixed(step, StepField.RESULT), fixed(step, StepField.FUNCTION)
    if (function - FunctionCode.OVER_NUMBERS) >> 1 == OverNumbers.Median:
        upper = count // 2
        lower = upper if count % 2 == 1 else upper - 1
        found = halfway(_number(context, offset + lower, floats), _number(context, offset + upper, floats), count)
        give_float(context, result, found)
        return
    if (function - FunctionCode.OVER_NUMBERS) >> 1 != OverNumbers.Percentile:
        give_float(context, result, math.nan)
        return
    place = (count - 1) * (fixed_float(step, StepField.COUNT) / 100.0)
    below = int(place)
    one = _number(context, offset + below, floats)
    other = _number(context, offset + min(below + 1, count - 1), floats)
    give_float(context, result, between_members(one, other, place - below))


@inlined
def _number(context: int, place: int, floats: bool) -> float:
    """A value in order as a double."""
    value = word(context, At.IN_ORDER, place)
    return float_of_bits(ordered_word(value)) if floats else float(value)
