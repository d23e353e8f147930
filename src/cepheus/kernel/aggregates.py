"""Aggregates over a range of a lane, compiled: running sums where the window slides, scans elsewhere.

Those that are read off values in order are in ``ordering``, where the window slides. An aggregate that is neither a
sum nor one of its members is a function of them all: a member of ``OverNumbers``, ``OverSeries`` or ``OverWords``,
called as its record is in ``rules/aggregates.py``, and a branch of ``over_numbers``, ``over_series`` or ``over_words``.
"""

from __future__ import annotations

import math
from enum import IntEnum, unique

import numpy as np

from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import (
    before,
    entry_row,
    entry_time,
    lane_at,
    row_offset,
    slide_sum,
)
from cepheus.kernel.machine import all_hold, compute
from cepheus.kernel.memory import At, fixed, fixed_float, number, peek, poke, put, put_number, word
from cepheus.kernel.program import Floats, FunctionCode, StepField, StepFlag, ValueKind, Words
from cepheus.kernel.sketch import REGISTERS, estimate, float_word, note_word
from cepheus.kernel.sorting import first_from, sort
from cepheus.kernel.state import TOO_MANY, LaneState
from cepheus.kernel.sums import LIMBS, add_float, add_integer, clear, read_float, read_integer, sum_floats

_SUM_BYTES = 8 * LIMBS
_STEP_BYTES = StepField.row_bytes()
_PARTIALS = 64
_MINUS_ZERO = -(2**63)  # the bits of -0.0 as an integer


@unique
class OverNumbers(IntEnum):
    """Aggregates computed from all members as doubles; what they come to is a double."""

    Stddev = 0
    Median = 1
    Percentile = 2


@unique
class OverSeries(IntEnum):
    """Aggregates computed from all members as doubles and from their times; what they come to is a double."""

    Slope = 0


@unique
class OverWords(IntEnum):
    """Aggregates computed from all members as words, equal where values are equal; what they come to is a word."""

    CountDistinct = 0
    Mode = 1
    ApproximateCountDistinct = 2


@inlined
def is_zero_of_nothing(function: int) -> bool:
    """Whether an aggregate of no members is 0; of the functions of all members the last bit tells."""
    return function <= FunctionCode.SUM or (function >= FunctionCode.OVER_NUMBERS and function & 1 == 1)


@compiled
def over_numbers(code: int, values: Floats, total: float, argument: float) -> float:
    """An aggregate of at least one member, not finite if undefined; it may overwrite them. ``total`` is their sum.

    ``argument`` is what a rule says besides, for the functions that ask for it.
    """
    function = (code - FunctionCode.OVER_NUMBERS) >> 1
    if function == OverNumbers.Stddev:
        return _deviation(values, total / len(values))
    if function == OverNumbers.Median:
        return _median(values)
    if function == OverNumbers.Percentile:
        return _percentile(values, argument)
    return math.nan


@compiled
def over_series(code: int, times: Words, values: Floats, total: float) -> float:
    """An aggregate of at least one member, not finite if undefined; it may overwrite them. ``total`` is their sum."""
    function = (code - FunctionCode.OVER_SERIES) >> 1
    if function == OverSeries.Slope:
        return _slope(times, values, total / len(values))
    return math.nan


@compiled
def over_words(code: int, values: Words) -> tuple[int, bool]:
    """An aggregate of at least one member, and whether it is defined; it may overwrite them."""
    function = (code - FunctionCode.OVER_WORDS) >> 1
    if function == OverWords.CountDistinct:
        return _distinct(values), True
    if function == OverWords.Mode:
        return _mode(values), True
    return 0, False


@compiled
def _deviation(values: Floats, mean: float) -> float:
    """The standard deviation of a sample, from exact sums of the values and of their squared distances."""
    count = len(values)
    if count < 2:
        return math.nan
    for k in range(count):
        distance = values[k] - mean
        values[k] = distance * distance
    squares = sum_floats(values, count, np.empty(_PARTIALS, np.float64))
    return math.sqrt(squares / (count - 1)) if math.isfinite(squares) else math.nan


@compiled
def _median(values: Floats) -> float:
    """The value in the middle, of two half their sum; zero has no sign."""
    sort(values)
    upper = len(values) // 2
    return halfway(values[upper if len(values) % 2 == 1 else upper - 1], values[upper], len(values))


@inlined
def halfway(lower: float, upper: float, count: int) -> float:
    """The median of so many members, of which these are in the middle: the same one of an odd number."""
    return (upper if count % 2 == 1 else (lower + upper) / 2.0) + 0.0


@compiled
def _percentile(values: Floats, percent: float) -> float:
    """The value below which so many percent lie, linear between the two next to it; zero has no sign."""
    sort(values)
    place = (len(values) - 1) * (percent / 100.0)
    below = int(place)
    return between_members(values[below], values[min(below + 1, len(values) - 1)], place - below)


@inlined
def between_members(lower: float, upper: float, share: float) -> float:
    """The value that lies so far from one member to the next."""
    gap = upper - lower
    found: float = lower + gap * share if share < 0.5 else upper - gap * (1.0 - share)
    return found + 0.0


@compiled
def _slope(times: Words, values: Floats, mean: float) -> float:
    """The slope, per second, of the line nearest to the values by least squares; not finite unless times differ."""
    count = len(values)
    across, partials = np.empty(count, np.float64), np.empty(_PARTIALS, np.float64)
    for k in range(count):
        across[k] = (float(times[k]) - float(times[0])) / 1e6
    mean_time = sum_floats(across, count, partials) / count
    squares = np.empty(count, np.float64)
    for k in range(count):
        distance = across[k] - mean_time
        squares[k] = distance * distance
        values[k] = distance * (values[k] - mean)
        if not (math.isfinite(squares[k]) and math.isfinite(values[k])):
            return math.nan
    square = sum_floats(squares, count, partials)
    return math.nan if square == 0.0 else sum_floats(values, count, partials) / square + 0.0


@compiled
def _mode(values: Words) -> int:
    """The most frequent word, of several the one that came latest."""
    ordered = values.copy()
    sort(ordered)
    most, run = 1, 1
    for k in range(1, len(ordered)):
        run = run + 1 if ordered[k] == ordered[k - 1] else 1
        most = max(most, run)
    for k in range(len(values) - 1, -1, -1):
        first = first_from(ordered, values[k])
        if first + most <= len(ordered) and ordered[first + most - 1] == values[k]:
            return int(values[k])
    return int(values[-1])


@compiled
def _distinct(values: Words) -> int:
    """How many words differ."""
    sort(values)
    count = 1
    for k in range(1, len(values)):
        if values[k] != values[k - 1]:
            count += 1
    return count


@inlined
def candidate(context: int, step: int, row_number: int) -> bool:
    """Bind a row to the step's position; tell whether it is visible to the rule and satisfies the constraints."""
    base = row_offset(context, fixed(step, StepField.TYPE), row_number)
    put(context, At.BOUND, fixed(step, StepField.POSITION), base)
    if fixed(step, StepField.FLAGS) & StepFlag.PLAIN:
        return True
    if row_number < fixed(step, StepField.SINCE):
        return False
    slot = fixed(step, StepField.CONSUMED_SLOT)
    if slot >= 0 and (word(context, At.STORE, base + slot) >> fixed(step, StepField.CONSUMED_BIT)) & 1:
        return False
    return all_hold(context, fixed(step, StepField.CONSTRAINTS), fixed(step, StepField.CONSTRAINTS_END))


@compiled
def running_aggregate(context: int, step: int, lane: int, now: int, ordered: bool) -> None:
    """Slide the sum of a lane to the window that refers to now and read it; if ordered, all in the lane precede now."""
    row = lane_at(context, lane)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    start = before(now, fixed(step, StepField.WINDOW))
    begin, end = peek(row, LaneState.SUM_NEXT), peek(row, LaneState.NEXT)
    entry = end if ordered else begin
    while entry < end and entry_time(context, offset + (entry & mask)) < now:
        entry += 1
    slide_sum(context, lane, begin, entry, False)
    poke(row, LaneState.SUM_NEXT, entry)
    if fixed(step, StepField.FLAGS) & StepFlag.SINCE_START:
        _give_total(context, step, lane)
        return
    end = entry
    begin = peek(row, LaneState.SUM_FIRST)
    entry = begin
    while entry < end and entry_time(context, offset + (entry & mask)) < start:
        entry += 1
    slide_sum(context, lane, begin, entry, True)
    poke(row, LaneState.SUM_FIRST, entry)
    count = end - entry
    if peek(row, LaneState.INEXACT) == 0 or fixed(step, StepField.FUNCTION) == FunctionCode.COUNT:
        _finish(context, step, count, fixed(context, At.SUMS) + _SUM_BYTES * lane)
        return
    values = np.empty(count, np.float64)
    for k in range(count):
        values[k] = number(context, At.VALUES, offset + ((entry + k) & mask))
    _finish_floats(context, step, values)


@compiled
def _give_total(context: int, step: int, lane: int) -> None:
    """Read the aggregate of all events since the start; undefined if their sum left the range of exact sums."""
    row, function = lane_at(context, lane), fixed(step, StepField.FUNCTION)
    count = peek(row, LaneState.SUM_NEXT) - peek(row, LaneState.SUM_FIRST)
    total = fixed(context, At.SUMS) + _SUM_BYTES * lane
    if function >= FunctionCode.MIN:
        give(context, fixed(step, StepField.RESULT), peek(total, 0), count > 0)
    elif peek(row, LaneState.INEXACT) != 0 and function != FunctionCode.COUNT:
        give(context, fixed(step, StepField.RESULT), 0, False)
    else:
        _finish(context, step, count, total)


@inlined
def give(context: int, at: int, value: int, defined: bool) -> None:
    """Make a word, or nothing, the result at a place."""
    put(context, At.RESULTS, at, value)
    put(context, At.RESULTS_DEFINED, at, defined)


@inlined
def give_float(context: int, at: int, value: float) -> None:
    """Make a double the result at a place, undefined if it is not finite."""
    put_number(context, At.RESULTS, at, value)
    put(context, At.RESULTS_DEFINED, at, math.isfinite(value))


@compiled
def _finish(context: int, step: int, count: int, limbs: int) -> None:
    """Compute Count, Sum or Avg from an exact sum."""
    function, at = fixed(step, StepField.FUNCTION), fixed(step, StepField.RESULT)
    if function == FunctionCode.COUNT:
        give(context, at, count, True)
    elif function == FunctionCode.AVG:
        give_float(context, at, read_float(limbs) / count if count > 0 else math.nan)
    elif fixed(step, StepField.VALUE_KIND) == ValueKind.INT:
        total, fits = read_integer(limbs)
        give(context, at, total, fits)
    else:
        give_float(context, at, read_float(limbs))


@compiled
def _finish_floats(context: int, step: int, values: Floats) -> None:
    """Compute Sum or Avg from the members themselves, where some lie outside the range of exact sums."""
    total = sum_floats(values, len(values), np.empty(_PARTIALS, np.float64))
    if fixed(step, StepField.FUNCTION) == FunctionCode.AVG:
        total = total / len(values) if len(values) > 0 else math.nan
    give_float(context, fixed(step, StepField.RESULT), total)


@compiled
def empty_aggregate(context: int, step: int) -> None:
    """The aggregate of nothing: 0 or undefined."""
    give(context, fixed(step, StepField.RESULT), 0, is_zero_of_nothing(fixed(step, StepField.FUNCTION)))


@compiled
def _value(context: int, step: int) -> bool:
    """Leave the value of the member under test at the bottom of the stack; False if it is undefined."""
    slot = fixed(step, StepField.VALUE_SLOT)
    if slot >= 0:
        place = word(context, At.BOUND, fixed(step, StepField.POSITION)) + slot
        put(context, At.STACK, 0, word(context, At.STORE, place))
        return True
    return fixed(step, StepField.VALUE_KIND) == ValueKind.NONE or compute(context, fixed(step, StepField.VALUE_CODE))


@compiled
def scanned_aggregate(context: int, step: int, lane: int, first: int, last: int) -> None:
    """Aggregate the members of a lane among its entries from ``first`` on, up to and without ``last``, one by one."""
    row = lane_at(context, lane)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    function, kind = fixed(step, StepField.FUNCTION), fixed(step, StepField.VALUE_KIND)
    flags = fixed(step, StepField.FLAGS)
    limbs = fixed(context, At.SCAN_SUM)
    clear(limbs)
    count = 0
    exact = True
    best = 0
    best_float = 0.0
    for entry in range(first, last):
        if not candidate(context, step, entry_row(context, offset + (entry & mask))):
            continue
        if not _value(context, step):
            if flags & StepFlag.EVEN_UNDEFINED:
                if function == FunctionCode.FIRST:
                    break
                count = 0  # as long as this member is the last
            continue
        integer, floating = word(context, At.STACK, 0), number(context, At.STACK, 0)
        count += 1
        if FunctionCode.MIN <= function <= FunctionCode.LAST:
            if kind == ValueKind.FLOAT:
                better = floating < best_float if function == FunctionCode.MIN else floating > best_float
            else:
                better = integer < best if function == FunctionCode.MIN else integer > best
            if count == 1 or function == FunctionCode.LAST or (better and function != FunctionCode.FIRST):
                best, best_float = integer, floating
        elif function == FunctionCode.COUNT or function >= FunctionCode.OVER_WORDS:
            continue  # members are counted, whatever their values add up to
        elif kind == ValueKind.INT:
            add_integer(limbs, integer, False)
        elif kind == ValueKind.FLOAT:
            exact = add_float(limbs, integer, False) and exact
    if function >= FunctionCode.OVER_NUMBERS:
        _over_members(context, step, lane, first, last, count)
    elif function >= FunctionCode.MIN:
        give(context, fixed(step, StepField.RESULT), best, count > 0)
    elif exact:
        _finish(context, step, count, limbs)
    else:
        _finish_floats(context, step, _collect(context, step, lane, first, last, count))


@compiled
def _collect(context: int, step: int, lane: int, first: int, last: int, count: int) -> Floats:
    """The members' values as floats."""
    row = lane_at(context, lane)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    integers = fixed(step, StepField.VALUE_KIND) == ValueKind.INT
    values = np.empty(count, np.float64)
    at = 0
    for entry in range(first, last):
        if candidate(context, step, entry_row(context, offset + (entry & mask))) and _value(context, step):
            values[at] = float(word(context, At.STACK, 0)) if integers else number(context, At.STACK, 0)
            at += 1
    return values


@compiled
def _collect_times(context: int, step: int, lane: int, first: int, last: int, count: int) -> Words:
    """The members' times."""
    row = lane_at(context, lane)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    times = np.empty(count, np.int64)
    at = 0
    for entry in range(first, last):
        place = offset + (entry & mask)
        if candidate(context, step, entry_row(context, place)) and _value(context, step):
            times[at] = entry_time(context, place)
            at += 1
    return times


@compiled
def _collect_words(context: int, step: int, lane: int, first: int, last: int, count: int) -> Words:
    """The members' values as words that are equal where the values are."""
    row = lane_at(context, lane)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    floats = fixed(step, StepField.VALUE_KIND) == ValueKind.FLOAT
    values = np.empty(count, np.int64)
    at = 0
    for entry in range(first, last):
        if candidate(context, step, entry_row(context, offset + (entry & mask))) and _value(context, step):
            value = word(context, At.STACK, 0)
            values[at] = 0 if floats and value == _MINUS_ZERO else value
            at += 1
    return values


@compiled
def _nearly_distinct(context: int, step: int, lane: int, first: int, last: int) -> int:
    """How many of the members' values differ, by a sketch of them."""
    row = lane_at(context, lane)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    floats = fixed(step, StepField.VALUE_KIND) == ValueKind.FLOAT
    texts = fixed(step, StepField.FLAGS) & StepFlag.OF_TEXTS
    registers = np.zeros(REGISTERS, np.uint8)
    for entry in range(first, last):
        if candidate(context, step, entry_row(context, offset + (entry & mask))) and _value(context, step):
            value = word(context, At.STACK, 0)
            if texts:
                value = peek(fixed(context, At.ID_DIGESTS), value)
            elif floats:
                value = float_word(value)
            note_word(registers, value)
    return estimate(registers)


@compiled
def _over_members(context: int, step: int, lane: int, first: int, last: int, count: int) -> None:
    """Compute an aggregate from all its members; the sum of integers has been taken already."""
    function, at = fixed(step, StepField.FUNCTION), fixed(step, StepField.RESULT)
    if count == 0:
        empty_aggregate(context, step)
    elif (function - FunctionCode.OVER_WORDS) >> 1 == OverWords.ApproximateCountDistinct:
        give(context, at, _nearly_distinct(context, step, lane, first, last), True)
    elif function >= FunctionCode.OVER_WORDS and count > fixed(context, At.LIMIT):
        poke(context, At.NEEDED_TABLE, TOO_MANY + (step - fixed(context, At.STEPS)) // _STEP_BYTES)
        empty_aggregate(context, step)
    elif function >= FunctionCode.OVER_WORDS:
        words = _collect_words(context, step, lane, first, last, count)
        result, defined = over_words(function, words)
        give(context, at, result, defined)
    else:
        values = _collect(context, step, lane, first, last, count)
        if fixed(step, StepField.VALUE_KIND) == ValueKind.INT:
            total = read_float(fixed(context, At.SCAN_SUM))
        else:
            total = sum_floats(values, count, np.empty(_PARTIALS, np.float64))
        if function >= FunctionCode.OVER_SERIES:
            times = _collect_times(context, step, lane, first, last, count)
            give_float(context, at, over_series(function, times, values, total))
        else:
            give_float(context, at, over_numbers(function, values, total, fixed_float(step, StepField.COUNT)))
