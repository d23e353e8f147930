"""Aggregates over a range of a lane, compiled: running sums where the window slides, scans elsewhere."""

from __future__ import annotations

import math

import numpy as np

from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import (
    before,
    end_before,
    entry_row,
    entry_time,
    first_not_before,
    lane_at,
    row_offset,
    slide_sum,
)
from cepheus.kernel.machine import all_hold, compute
from cepheus.kernel.memory import At, fixed, number, peek, poke, put, put_number, word
from cepheus.kernel.program import Floats, FunctionCode, StepField, StepFlag, ValueKind
from cepheus.kernel.state import LaneState
from cepheus.kernel.sums import LIMBS, add_float, add_integer, clear, read_float, read_integer, sum_floats

_SUM_BYTES = 8 * LIMBS
_PARTIALS = 64


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
def running_aggregate(context: int, step: int, lane: int, now: int) -> None:
    """Slide the sum of a lane to the window that ends now and read it."""
    row = lane_at(context, lane)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    start = before(now, fixed(step, StepField.WINDOW))
    begin, end = peek(row, LaneState.SUM_NEXT), peek(row, LaneState.NEXT)
    entry = begin
    while entry < end and entry_time(context, offset + (entry & mask)) < now:
        entry += 1
    slide_sum(context, lane, begin, entry, False)
    poke(row, LaneState.SUM_NEXT, entry)
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


@inlined
def _give(context: int, at: int, value: int, defined: bool) -> None:
    put(context, At.RESULTS, at, value)
    put(context, At.RESULTS_DEFINED, at, defined)


@inlined
def _give_float(context: int, at: int, value: float) -> None:
    put_number(context, At.RESULTS, at, value)
    put(context, At.RESULTS_DEFINED, at, math.isfinite(value))


@compiled
def _finish(context: int, step: int, count: int, limbs: int) -> None:
    """Give Count, Sum or Avg from an exact sum."""
    function, at = fixed(step, StepField.FUNCTION), fixed(step, StepField.RESULT)
    if function == FunctionCode.COUNT:
        _give(context, at, count, True)
    elif function == FunctionCode.AVG:
        _give_float(context, at, read_float(limbs) / count if count > 0 else math.nan)
    elif fixed(step, StepField.VALUE_KIND) == ValueKind.INT:
        total, fits = read_integer(limbs)
        _give(context, at, total, fits)
    else:
        _give_float(context, at, read_float(limbs))


@compiled
def _finish_floats(context: int, step: int, values: Floats) -> None:
    """Give Sum or Avg from the members themselves, where some lie outside the range of exact sums."""
    total = sum_floats(values, len(values), np.empty(_PARTIALS, np.float64))
    if fixed(step, StepField.FUNCTION) == FunctionCode.AVG:
        total = total / len(values) if len(values) > 0 else math.nan
    _give_float(context, fixed(step, StepField.RESULT), total)


@compiled
def empty_aggregate(context: int, step: int) -> None:
    """Give the aggregate of nothing: 0 for Count and Sum, undefined for the others."""
    _give(context, fixed(step, StepField.RESULT), 0, fixed(step, StepField.FUNCTION) <= FunctionCode.SUM)


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
def scanned_aggregate(context: int, step: int, lane: int, start: int, end: int) -> None:
    """Aggregate the members of a lane whose time lies in ``[start, end)``, one by one."""
    row = lane_at(context, lane)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    function, kind = fixed(step, StepField.FUNCTION), fixed(step, StepField.VALUE_KIND)
    first, last = first_not_before(context, lane, start), end_before(context, lane, end)
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
            continue
        integer, floating = word(context, At.STACK, 0), number(context, At.STACK, 0)
        count += 1
        if function >= FunctionCode.MIN and function != FunctionCode.STDDEV:
            if kind == ValueKind.FLOAT:
                better = floating < best_float if function == FunctionCode.MIN else floating > best_float
            else:
                better = integer < best if function == FunctionCode.MIN else integer > best
            if count == 1 or function == FunctionCode.LAST or (better and function != FunctionCode.FIRST):
                best, best_float = integer, floating
        elif function == FunctionCode.COUNT:
            continue  # members are counted, whatever their values add up to
        elif kind == ValueKind.INT:
            add_integer(limbs, integer, False)
        elif kind == ValueKind.FLOAT:
            exact = add_float(limbs, integer, False) and exact
    if function == FunctionCode.STDDEV:
        _deviation(context, step, lane, first, last, count)
    elif function >= FunctionCode.MIN:
        _give(context, fixed(step, StepField.RESULT), best, count > 0)
    elif exact:
        _finish(context, step, count, limbs)
    else:
        _finish_floats(context, step, _collect(context, step, lane, first, last, count))


@compiled
def _collect(context: int, step: int, lane: int, first: int, last: int, count: int) -> Floats:
    """Give the members' values as floats."""
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
def _deviation(context: int, step: int, lane: int, first: int, last: int, count: int) -> None:
    """Give the standard deviation of a sample, from exact sums of the values and of their squared distances."""
    at = fixed(step, StepField.RESULT)
    put(context, At.RESULTS_DEFINED, at, 0)
    if count < 2:
        return
    values = _collect(context, step, lane, first, last, count)
    partials = np.empty(_PARTIALS, np.float64)
    if fixed(step, StepField.VALUE_KIND) == ValueKind.INT:
        mean = read_float(fixed(context, At.SCAN_SUM)) / count
    else:
        mean = sum_floats(values, count, partials) / count
    for k in range(count):
        distance = values[k] - mean
        values[k] = distance * distance
    squares = sum_floats(values, count, partials)
    _give_float(context, at, math.sqrt(squares / (count - 1)) if math.isfinite(squares) else math.nan)
