"""Windows over lanes, compiled: which lane, which of its entries, and what they amount to."""

from __future__ import annotations

from cepheus.kernel.aggregates import candidate, empty_aggregate, running_aggregate, scanned_aggregate
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import (
    before,
    column_at,
    end_before,
    end_preceding,
    entry_row,
    entry_time,
    find_keyed_lane,
    first_following,
    first_not_before,
    is_ordered,
    is_small,
    lane_at,
    last_place,
    row_offset,
    small_lane,
)
from cepheus.kernel.machine import compute
from cepheus.kernel.memory import At, fixed, peek, poke, put, table, word
from cepheus.kernel.ordering import aggregate_in_order
from cepheus.kernel.program import SLOT_ORDER, SLOT_TIME, ColumnField, FunctionCode, StepField, StepFlag, ValueKind
from cepheus.kernel.state import LaneState
from cepheus.kernel.ties import (
    counting_by,
    first_at,
    is_at,
    member_choice_by,
    note_decided,
    note_passed_over,
    pass_over_plainly,
)

_MINUS_ZERO = -(2**63)  # the bits of -0.0 as an integer
_BEGINNING = -(2**63)


@inlined
def key_part(column: int, part: int, value: int) -> int:
    """A part of a key so that equal values have equal words: minus zero, a float, equals zero."""
    return 0 if value == _MINUS_ZERO and (fixed(column, ColumnField.FLOAT_KEYS) >> part) & 1 else value


@inlined
def lane_of(context: int, step: int) -> int:
    """Find the lane whose key the events bound so far ask for; -1 if there is none."""
    column, count = fixed(step, StepField.COLUMN), fixed(step, StepField.KEY_COUNT)
    if count == 0:
        return word(context, At.COLUMN_LANE, column)
    if count == 1:
        key = _sought(context, step, column_at(context, column), 0)
        if is_small(context, key):
            return small_lane(context, column, key)
    return _lane_by_key(context, step, column, count)


@inlined
def _sought(context: int, step: int, column: int, part: int) -> int:
    """What the events bound so far ask a part of the key to be."""
    source = 2 * (fixed(step, StepField.KEYS) + part)
    base = word(context, At.BOUND, table(context, At.KEYS, source))
    return key_part(column, part, word(context, At.STORE, base + table(context, At.KEYS, source + 1)))


@compiled
def _lane_by_key(context: int, step: int, column: int, count: int) -> int:
    """Find the lane whose key, of so many words, the events bound so far ask for; -1 if there is none."""
    row = column_at(context, column)
    key = fixed(context, At.STACK)
    for part in range(count):
        poke(key, part, _sought(context, step, row, part))
    return find_keyed_lane(context, column, key, count)


@inlined
def reference_time(context: int, step: int) -> int:
    """The time of the event that a window refers to."""
    return word(context, At.STORE, word(context, At.BOUND, fixed(step, StepField.REFERENCE)) + SLOT_TIME)


@inlined
def bind_latest(context: int, lane: int, kind: int, reference: int, window: int, position: int) -> bool:
    """Bind the latest event of a lane before the one that a window refers to, whatever it is like; False for none."""
    if lane < 0:
        return False
    base = word(context, At.BOUND, reference)
    until = word(context, At.STORE, base + SLOT_TIME)
    since = before(until, window)
    row = lane_at(context, lane)
    first, end = peek(row, LaneState.FIRST), peek(row, LaneState.NEXT)
    if first == end:
        return False
    time = peek(row, LaneState.LAST_TIME)
    if time < until:  # as a rule; then the lane tells where it is
        put(context, At.BOUND, position, last_place(row))
        if time < since:
            return False
        if peek(row, LaneState.LAST_PLACE) & 1:
            note_decided(context)
        return True
    entry = end_preceding(context, lane, base) - 1
    if is_at(context, row, entry + 1, until) and not is_ordered(context):
        pass_over_plainly(context, lane, kind, reference, entry + 1, until)
    place = peek(row, LaneState.OFFSET) + (entry & peek(row, LaneState.MASK))
    if entry < first or entry_time(context, place) < since:
        return False
    if is_at(context, row, entry - 1, entry_time(context, place)):
        note_decided(context)
    put(context, At.BOUND, position, row_offset(context, kind, entry_row(context, place)))
    return True


@inlined
def scope(context: int, step: int) -> tuple[int, int]:
    """The times that an aggregate or an absence looks at: from the first, up to and without the second."""
    until = reference_time(context, step)
    other = fixed(step, StepField.OTHER_REFERENCE)
    if other < 0:
        return before(until, fixed(step, StepField.WINDOW)), until
    since = word(context, At.STORE, word(context, At.BOUND, other) + SLOT_TIME)
    return min(since, until) + 1, max(since, until)


@inlined
def entries_in(context: int, step: int, lane: int) -> tuple[int, int]:
    """The entries of a lane that an aggregate or an absence looks at: from the first, up to and without the second."""
    if is_ordered(context):
        return _entries_in_order(context, step, lane)
    start, end = scope(context, step)
    return first_not_before(context, lane, start), end_before(context, lane, end)


@compiled
def _entries_in_order(context: int, step: int, lane: int) -> tuple[int, int]:
    base = word(context, At.BOUND, fixed(step, StepField.REFERENCE))
    if fixed(step, StepField.OTHER_REFERENCE) < 0:
        start, _ = scope(context, step)
        return first_not_before(context, lane, start), end_preceding(context, lane, base)
    other = word(context, At.BOUND, fixed(step, StepField.OTHER_REFERENCE))
    if _precedes(context, base, other):
        base, other = other, base
    end = end_preceding(context, lane, base)
    return min(first_following(context, lane, other), end), end


@inlined
def _precedes(context: int, base: int, other: int) -> bool:
    """Whether an event comes before another in the stream; a moment comes before all events of its time."""
    time, other_time = word(context, At.STORE, base + SLOT_TIME), word(context, At.STORE, other + SLOT_TIME)
    if time != other_time:
        return time < other_time
    return word(context, At.STORE, base + SLOT_ORDER) < word(context, At.STORE, other + SLOT_ORDER)


@inlined
def fitting(context: int, step: int, _place: int, row_number: int) -> bool:
    """Bind the event of an entry; return whether it satisfies what a step asks."""
    return candidate(context, step, row_number)


@inlined
def counts_as_member(context: int, step: int, _place: int, row_number: int) -> bool:
    """Whether the event of an entry is one that an aggregate is made of: one with a value."""
    if not candidate(context, step, row_number):
        return False
    if fixed(step, StepField.VALUE_SLOT) >= 0 or fixed(step, StepField.VALUE_KIND) == ValueKind.NONE:
        return True
    if fixed(step, StepField.FLAGS) & StepFlag.EVEN_UNDEFINED:
        return True
    return compute(context, fixed(step, StepField.VALUE_CODE))


COUNTING = counting_by(fitting, False, compiled)
_pass_over = COUNTING.pass_over
_seek_rival_member = member_choice_by(counts_as_member, False, compiled)


@inlined
def pass_over_edges(context: int, step: int, lane: int, start: int, end: int, edge: int) -> None:
    """Count who is passed over at the edges of a scope; ``edge`` is the first entry that is not before its end."""
    if is_ordered(context):
        return  # nobody is simultaneous
    if is_at(context, lane_at(context, lane), edge, end):
        _pass_over(context, step, lane, edge, end)
    if fixed(step, StepField.OTHER_REFERENCE) >= 0 and start <= end:  # between: those who would have to follow
        entry = first_at(context, lane, start - 1)
        if entry >= 0:
            _pass_over(context, step, lane, entry, start - 1)


@compiled
def compute_aggregate(context: int, step: int) -> None:
    """Compute an aggregate."""
    lane = lane_of(context, step)
    if lane < 0:
        empty_aggregate(context, step)
    elif fixed(step, StepField.INCREMENTAL):
        now = word(context, At.STORE, word(context, At.BOUND, 0) + SLOT_TIME)
        if fixed(step, StepField.FUNCTION) >= FunctionCode.OVER_NUMBERS:
            aggregate_in_order(context, step, lane, now, is_ordered(context))
        else:
            running_aggregate(context, step, lane, now, is_ordered(context))
        row = lane_at(context, lane)  # what the sum has not come to is of this very time, and all of it would do
        silent = fixed(step, StepField.FLAGS) & StepFlag.SILENT
        if peek(row, LaneState.SUM_NEXT) < peek(row, LaneState.NEXT) and not silent:
            note_passed_over(context, peek(row, LaneState.NEXT) - peek(row, LaneState.SUM_NEXT))
    else:
        start, end = scope(context, step)
        first, edge = entries_in(context, step, lane)
        scanned_aggregate(context, step, lane, first, edge)
        if not fixed(step, StepField.FLAGS) & StepFlag.SILENT:
            pass_over_edges(context, step, lane, start, end, edge)
        function = fixed(step, StepField.FUNCTION)
        if function == FunctionCode.FIRST or function == FunctionCode.LAST:
            _seek_rival_member(context, step, lane, first, edge)


@inlined
def occurred(context: int, step: int) -> bool:
    """Whether an event that must be absent is there."""
    lane = lane_of(context, step)
    if lane < 0:
        return False
    start, end = scope(context, step)
    row = lane_at(context, lane)
    offset, mask, first = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK), peek(row, LaneState.FIRST)
    if is_ordered(context):
        first, entry = entries_in(context, step, lane)
        start = _BEGINNING  # in an interval they may have the time of the event that they follow
    else:
        entry = end_before(context, lane, end)
    pass_over_edges(context, step, lane, start, end, entry)
    while entry > first and entry_time(context, offset + ((entry - 1) & mask)) >= start:
        entry -= 1
        if candidate(context, step, entry_row(context, offset + (entry & mask))):
            return True
    return False
