"""Windows over lanes, compiled: which lane, which of its entries, and what they amount to."""

from __future__ import annotations

from cepheus.core.compiled import compiled, inlined
from cepheus.engine.columns.aggregates import candidate, empty_aggregate, running_aggregate, scanned_aggregate
from cepheus.engine.columns.lanes import (
    before,
    column_at,
    end_before,
    entry_row,
    entry_time,
    find_keyed_lane,
    lane_at,
    row_offset,
)
from cepheus.engine.columns.memory import At, fixed, peek, poke, put, table, word
from cepheus.engine.columns.state import LaneState
from cepheus.plan.program import SLOT_TIME, ColumnField, StepField

_MINUS_ZERO = -(2**63)  # the bits of -0.0 as an integer


@inlined
def key_part(column: int, part: int, value: int) -> int:
    """Give a part of a key so that equal values have equal words: minus zero, a float, equals zero."""
    return 0 if value == _MINUS_ZERO and (fixed(column, ColumnField.FLOAT_KEYS) >> part) & 1 else value


@inlined
def lane_of(context: int, step: int) -> int:
    """Find the lane whose key the events bound so far ask for; -1 if there is none."""
    column, count = fixed(step, StepField.COLUMN), fixed(step, StepField.KEY_COUNT)
    if count == 0:
        return word(context, At.COLUMN_LANE, column)
    row = column_at(context, column)
    key = fixed(context, At.STACK)
    for part in range(count):
        source = 2 * (fixed(step, StepField.KEYS) + part)
        base = word(context, At.BOUND, table(context, At.KEYS, source))
        poke(key, part, key_part(row, part, word(context, At.STORE, base + table(context, At.KEYS, source + 1))))
    return find_keyed_lane(context, column, key, count)


@inlined
def reference_time(context: int, step: int) -> int:
    """Give the time of the event that a window refers to."""
    return word(context, At.STORE, word(context, At.BOUND, fixed(step, StepField.REFERENCE)) + SLOT_TIME)


@inlined
def bind_latest(context: int, lane: int, kind: int, reference: int, window: int, position: int) -> bool:
    """Bind the latest event of a lane before the one that a window refers to, whatever it is like; False for none."""
    if lane < 0:
        return False
    until = word(context, At.STORE, word(context, At.BOUND, reference) + SLOT_TIME)
    since = before(until, window)
    row = lane_at(context, lane)
    first, end = peek(row, LaneState.FIRST), peek(row, LaneState.NEXT)
    if first == end:
        return False
    time = peek(row, LaneState.LAST_TIME)
    if time < until:  # as a rule; then the lane tells where it is
        put(context, At.BOUND, position, peek(row, LaneState.LAST_PLACE))
        return time >= since
    entry = end_before(context, lane, until) - 1
    place = peek(row, LaneState.OFFSET) + (entry & peek(row, LaneState.MASK))
    if entry < first or entry_time(context, place) < since:
        return False
    put(context, At.BOUND, position, row_offset(context, kind, entry_row(context, place)))
    return True


@inlined
def scope(context: int, step: int) -> tuple[int, int]:
    """Give the times that an aggregate or an absence looks at: from the first, up to and without the second."""
    until = reference_time(context, step)
    other = fixed(step, StepField.OTHER_REFERENCE)
    if other < 0:
        return before(until, fixed(step, StepField.WINDOW)), until
    since = word(context, At.STORE, word(context, At.BOUND, other) + SLOT_TIME)
    return min(since, until) + 1, max(since, until)


@compiled
def compute_aggregate(context: int, step: int) -> None:
    """Compute an aggregate."""
    lane = lane_of(context, step)
    if lane < 0:
        empty_aggregate(context, step)
    elif fixed(step, StepField.INCREMENTAL):
        running_aggregate(context, step, lane, word(context, At.STORE, word(context, At.BOUND, 0) + SLOT_TIME))
    else:
        start, end = scope(context, step)
        scanned_aggregate(context, step, lane, start, end)


@inlined
def occurred(context: int, step: int) -> bool:
    """Tell whether an event that must be absent is there."""
    lane = lane_of(context, step)
    if lane < 0:
        return False
    start, end = scope(context, step)
    row = lane_at(context, lane)
    offset, mask, first = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK), peek(row, LaneState.FIRST)
    entry = end_before(context, lane, end)
    while entry > first and entry_time(context, offset + ((entry - 1) & mask)) >= start:
        entry -= 1
        if candidate(context, step, entry_row(context, offset + (entry & mask))):
            return True
    return False
