"""The kernel: events in, composite events out. One compiled loop for one event or a million, one rule or thousands.

For each event: find the rules it terminates and the columns it enters; evaluate those rules against the columns, as
CDP does, last column first; then store the event. Nothing is changed before the evaluation of an event has succeeded
and room for storing it is reserved, so when space runs out the kernel comes back with a status, the caller grows what
is full, and the same event is taken again.
"""

from __future__ import annotations

import numpy as np

from cepheus.engine.columns.aggregates import candidate, empty_aggregate, running_aggregate, scanned_aggregate
from cepheus.engine.columns.compiled import compiled
from cepheus.engine.columns.index import accept_indexed, accept_listener
from cepheus.engine.columns.lanes import (
    append_entry,
    append_row,
    before,
    column_at,
    find_lane,
    first_not_before,
    lane_at,
    mix,
    reserve_lane,
    reserve_row,
    type_at,
)
from cepheus.engine.columns.machine import all_hold, compute
from cepheus.engine.columns.memory import At, peek, peek_half, poke, put, word
from cepheus.engine.columns.state import (
    COMPOSITE_ID_BASE,
    OUTPUT_HEADER,
    STRING_ID_FLOOR,
    Cursor,
    LaneState,
    OutputRecord,
    Status,
)
from cepheus.plan.program import (
    HEADER,
    SLOT_ID,
    SLOT_START,
    SLOT_TIME,
    ColumnField,
    OutputField,
    PolicyCode,
    RuleField,
    StepField,
    StepKind,
    TypeField,
)

_DIGEST_MASK = np.uint64(2**62 - 1)
_MINUS_ZERO = -(2**63)  # the bits of -0.0 as an integer
_RULE_BYTES = 8 * len(RuleField)
_STEP_BYTES = 8 * len(StepField)
_OUTPUT_BYTES = 8 * len(OutputField)
_CURSOR_BYTES = 8 * len(Cursor)


@compiled
def run(context: int) -> int:
    """Process the queue of composite events and then the input, from where the last call left it."""
    count = peek(context, At.INPUT_SIZE)
    while True:
        queued = peek(context, At.QUEUE_FIRST) < peek(context, At.QUEUE_NEXT)
        if queued:
            at = peek(context, At.QUEUE_FIRST)
            kind = word(context, At.QUEUE, at)
            for k in range(peek(type_at(context, kind), TypeField.WIDTH)):
                put(context, At.STORE, k, word(context, At.QUEUE, at + 1 + k))
        else:
            at = peek(context, At.INPUT_NEXT)
            if at >= count:
                return np.int64(Status.DONE)
            kind = word(context, At.KINDS, peek_half(peek(context, At.CODES), at))
            if kind < 0:
                poke(context, At.INPUT_NEXT, at + 1)
                continue
            _load_event(context, kind, at)
        status = _process(context, kind)
        if status != Status.DONE:
            return status
        if not queued:
            poke(context, At.INPUT_NEXT, at + 1)
            continue
        at += peek(context, At.RECORD_WIDTH)
        if at == peek(context, At.QUEUE_NEXT):
            at = 0
            poke(context, At.QUEUE_NEXT, 0)
        poke(context, At.QUEUE_FIRST, at)


@compiled
def _load_event(context: int, kind: int, at: int) -> None:
    """Copy an input event into the current row."""
    store = peek(context, At.STORE)
    time = word(context, At.TIMES, at)
    poke(store, SLOT_ID, word(context, At.IDS, at))
    poke(store, SLOT_TIME, time)
    poke(store, SLOT_START, time)
    row = type_at(context, kind)
    inputs = peek(row, TypeField.INPUTS)
    for slot in range(HEADER, peek(row, TypeField.WIDTH)):
        column = word(context, At.SLOTS, inputs + slot)
        poke(store, slot, 0 if column < 0 else peek(word(context, At.ADDRESSES, column), at))


@compiled
def _process(context: int, kind: int) -> int:
    """Take the current event: reserve, evaluate, commit."""
    now = word(context, At.STORE, SLOT_TIME)
    events_before, words_before = peek(context, At.OUTPUT_EVENTS), peek(context, At.OUTPUT_WORDS)
    put(context, At.BOUND, 0, 0)
    poke(context, At.MARK_COUNT, 0)
    poke(context, At.NEEDED_TABLE, -1)
    _accept(context, kind)
    columns = peek(context, At.COLUMN_COUNT)
    status = reserve(context, kind, columns, now) if columns > 0 else np.int64(Status.DONE)
    for k in range(peek(context, At.RULE_COUNT)):
        if status == Status.DONE:
            status = _evaluate(context, word(context, At.ACCEPTED_RULES, k), events_before)
    if peek(context, At.NEEDED_TABLE) >= 0:
        status = np.int64(Status.STRING_NEEDED)
    if status == Status.DONE and peek(context, At.OUTPUT_EVENTS) > events_before:
        status = _enqueue(context, words_before)
    if status != Status.DONE:
        poke(context, At.OUTPUT_EVENTS, events_before)
        poke(context, At.OUTPUT_WORDS, words_before)
        return status
    for k in range(peek(context, At.MARK_COUNT)):
        place = word(context, At.MARKS, 2 * k)
        put(context, At.STORE, place, word(context, At.STORE, place) | word(context, At.MARKS, 2 * k + 1))
    if columns > 0:
        row_number = append_row(context, kind)
        for k in range(columns):
            append_entry(context, word(context, At.ACCEPTED_LANES, k), now, row_number)
    poke(context, At.TIME, now)
    return status


@compiled
def _accept(context: int, kind: int) -> None:
    """Find the rules that the current event terminates, in order of deployment, and the columns it enters."""
    poke(context, At.RULE_COUNT, 0)
    poke(context, At.COLUMN_COUNT, 0)
    row = type_at(context, kind)
    for at in range(peek(row, TypeField.LISTENERS), peek(row, TypeField.LISTENERS_END)):
        accept_listener(context, at)
    if peek(row, TypeField.INDEXES) < peek(row, TypeField.INDEXES_END):
        accept_indexed(context, kind)


@compiled
def reserve(context: int, kind: int, columns: int, now: int) -> int:
    """Make room for the current event in the store and in the lanes it enters."""
    if not reserve_row(context, kind, now):
        return np.int64(Status.STORE_FULL)
    key = peek(context, At.STACK)  # room that is free between two computations
    for k in range(columns):
        column = word(context, At.ACCEPTED_COLUMNS, k)
        row = column_at(context, column)
        for part in range(peek(row, ColumnField.KEYS)):
            poke(key, part, _key_part(row, part, word(context, At.STORE, peek(row, ColumnField.KEY_0 + part))))
        lane = reserve_lane(context, column, key, now)
        if lane < 0:
            return -lane
        put(context, At.ACCEPTED_LANES, k, lane)
    return np.int64(Status.DONE)


@compiled
def _key_part(column: int, part: int, value: int) -> int:
    """Give a part of a key so that equal values have equal words: minus zero, a float, equals zero."""
    return 0 if value == _MINUS_ZERO and (peek(column, ColumnField.FLOAT_KEYS) >> part) & 1 else value


@compiled
def _lane_of(context: int, step: int) -> int:
    """Find the lane whose key the events bound so far ask for; -1 if there is none."""
    column = peek(step, StepField.COLUMN)
    row = column_at(context, column)
    key = peek(context, At.STACK)
    for part in range(peek(row, ColumnField.KEYS)):
        source = 2 * (peek(step, StepField.KEYS) + part)
        base = word(context, At.BOUND, word(context, At.KEYS, source))
        poke(key, part, _key_part(row, part, word(context, At.STORE, base + word(context, At.KEYS, source + 1))))
    return find_lane(context, column, key)


@compiled
def _evaluate(context: int, rule_number: int, events_before: int) -> int:
    """Find every combination of choices for the current terminator, depth first, in order of the stream."""
    rule = peek(context, At.RULES) + _RULE_BYTES * rule_number
    steps, cursors = peek(context, At.STEPS), peek(context, At.CURSORS)
    begin, end = peek(rule, RuleField.STEPS), peek(rule, RuleField.ABSENCES)
    at = begin
    forward = True
    while at >= begin:
        if at == end:
            status = _emit(context, rule, rule_number, events_before)
            if status != Status.DONE:
                return status
            forward = False
            at -= 1
            continue
        step = steps + _STEP_BYTES * at
        kind = peek(step, StepField.KIND)
        if kind == StepKind.CHOOSE:
            cursor = cursors + _CURSOR_BYTES * (at - begin)
            if forward:
                _open(context, step, cursor)
            forward = _next(context, step, cursor)
        elif forward and kind == StepKind.COMPUTE:
            _compute(context, step)
        elif forward:
            forward = all_hold(context, peek(step, StepField.CONSTRAINTS), peek(step, StepField.CONSTRAINTS_END))
        at += 1 if forward else -1
    return np.int64(Status.DONE)


@compiled
def _open(context: int, step: int, cursor: int) -> None:
    """Place a cursor on the entries of a window that a selection may take."""
    poke(cursor, Cursor.ENTRY, 0)
    poke(cursor, Cursor.END, 0)
    lane = _lane_of(context, step)
    if lane < 0:
        return
    until = word(context, At.STORE, word(context, At.BOUND, peek(step, StepField.REFERENCE)) + SLOT_TIME)
    since = before(until, peek(step, StepField.WINDOW))
    end = first_not_before(context, lane, until)
    wanted = peek(step, StepField.COUNT)
    if peek(step, StepField.POLICY) == PolicyCode.LAST:
        row = lane_at(context, lane)
        offset, mask, first = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK), peek(row, LaneState.FIRST)
        entry, left = end, wanted
        while left > 0 and entry > first and word(context, At.ENTRY_TIME, offset + ((entry - 1) & mask)) >= since:
            entry -= 1
            if candidate(context, step, word(context, At.ENTRY_ROW, offset + (entry & mask))):
                left -= 1
        if left == wanted:
            return
        if wanted == 1:
            end = entry + 1
    else:
        entry = first_not_before(context, lane, since)
    poke(cursor, Cursor.ENTRY, entry)
    poke(cursor, Cursor.END, end)
    poke(cursor, Cursor.LEFT, wanted)
    poke(cursor, Cursor.LANE, lane)


@compiled
def _next(context: int, step: int, cursor: int) -> bool:
    """Bind the next event that the selection takes."""
    entry, end = peek(cursor, Cursor.ENTRY), peek(cursor, Cursor.END)
    if entry >= end:
        return False
    row = lane_at(context, peek(cursor, Cursor.LANE))
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    while entry < end:
        row_number = word(context, At.ENTRY_ROW, offset + (entry & mask))
        entry += 1
        if candidate(context, step, row_number):
            left = peek(cursor, Cursor.LEFT) - 1
            poke(cursor, Cursor.LEFT, left)
            poke(cursor, Cursor.ENTRY, end if left == 0 else entry)
            return True
    poke(cursor, Cursor.ENTRY, end)
    return False


@compiled
def _scope(context: int, step: int) -> tuple[int, int]:
    """Give the times that an aggregate or an absence looks at: from the first, up to and without the second."""
    until = word(context, At.STORE, word(context, At.BOUND, peek(step, StepField.REFERENCE)) + SLOT_TIME)
    other = peek(step, StepField.OTHER_REFERENCE)
    if other < 0:
        return before(until, peek(step, StepField.WINDOW)), until
    since = word(context, At.STORE, word(context, At.BOUND, other) + SLOT_TIME)
    return min(since, until) + 1, max(since, until)


@compiled
def _compute(context: int, step: int) -> None:
    """Compute an aggregate."""
    lane = _lane_of(context, step)
    if lane < 0:
        empty_aggregate(context, step)
    elif peek(step, StepField.INCREMENTAL):
        running_aggregate(context, step, lane, word(context, At.STORE, SLOT_TIME))
    else:
        start, end = _scope(context, step)
        scanned_aggregate(context, step, lane, start, end)


@compiled
def _occurred(context: int, step: int) -> bool:
    """Tell whether an event that must be absent is there."""
    lane = _lane_of(context, step)
    if lane < 0:
        return False
    start, end = _scope(context, step)
    row = lane_at(context, lane)
    offset, mask, first = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK), peek(row, LaneState.FIRST)
    entry = first_not_before(context, lane, end)
    while entry > first and word(context, At.ENTRY_TIME, offset + ((entry - 1) & mask)) >= start:
        entry -= 1
        if candidate(context, step, word(context, At.ENTRY_ROW, offset + (entry & mask))):
            return True
    return False


@compiled
def _emit(context: int, rule: int, rule_number: int, events_before: int) -> int:
    """Check the absences, compute the attributes and write a composite event."""
    for at in range(peek(rule, RuleField.ABSENCES), peek(rule, RuleField.ABSENCES_END)):
        if _occurred(context, peek(context, At.STEPS) + _STEP_BYTES * at):
            return np.int64(Status.DONE)
    events, words = peek(context, At.OUTPUT_EVENTS), peek(context, At.OUTPUT_WORDS)
    if events - events_before >= peek(context, At.LIMIT):
        poke(context, At.CULPRIT, rule_number)
        return np.int64(Status.LIMIT)
    if words + OUTPUT_HEADER + peek(rule, RuleField.STRIDE) > peek(context, At.OUTPUT_SIZE):
        return np.int64(Status.OUTPUT_FULL)
    output, store, bound = peek(context, At.OUTPUT), peek(context, At.STORE), peek(context, At.BOUND)
    record = output + 8 * words
    at = OUTPUT_HEADER
    start = peek(store, SLOT_START)
    for position in range(peek(rule, RuleField.POSITIONS)):
        base = peek(bound, position)
        poke(record, at, peek(store, base + SLOT_ID))
        start = min(start, peek(store, base + SLOT_START))
        at += 1
    for k in range(peek(rule, RuleField.OUTPUTS), peek(rule, RuleField.OUTPUTS_END)):
        value = peek(context, At.OUTPUTS) + _OUTPUT_BYTES * k
        code = peek(value, OutputField.CODE)
        if code < 0:
            base = peek(bound, peek(value, OutputField.POSITION))
            poke(record, at, peek(store, base + peek(value, OutputField.SLOT)))
        else:
            defined = compute(context, code)
            optional = peek(value, OutputField.OPTIONAL)
            if not defined and not optional:
                return np.int64(Status.DONE)
            poke(record, at, word(context, At.STACK, 0))
            if optional:
                at += 1
                poke(record, at, defined)
        at += 1
    if not _mark(context, rule):
        return np.int64(Status.MARKS_FULL)
    poke(record, OutputRecord.RULE, rule_number)
    poke(record, OutputRecord.TIME, peek(store, SLOT_TIME))
    poke(record, OutputRecord.START, start)
    poke(context, At.OUTPUT_EVENTS, events + 1)
    poke(context, At.OUTPUT_WORDS, words + at)
    return np.int64(Status.DONE)


@compiled
def _mark(context: int, rule: int) -> bool:
    """Note which events this firing consumes; they are marked when the terminator is done. False if out of room."""
    marks = peek(context, At.MARK_COUNT)
    for at in range(peek(rule, RuleField.CONSUMING), peek(rule, RuleField.CONSUMING_END)):
        if marks >= peek(context, At.MARKS_SIZE):
            return False
        base = word(context, At.BOUND, word(context, At.CONSUMING, 3 * at))
        put(context, At.MARKS, 2 * marks, base + word(context, At.CONSUMING, 3 * at + 1))
        put(context, At.MARKS, 2 * marks + 1, np.int64(1) << word(context, At.CONSUMING, 3 * at + 2))
        marks += 1
    poke(context, At.MARK_COUNT, marks)
    return True


@compiled
def _enqueue(context: int, words_before: int) -> int:
    """Put the composite events that some rule listens to at the end of the queue, in order."""
    next_record = peek(context, At.QUEUE_NEXT)
    words = words_before
    while words < peek(context, At.OUTPUT_WORDS):
        record = peek(context, At.OUTPUT) + 8 * words
        rule = peek(context, At.RULES) + _RULE_BYTES * peek(record, OutputRecord.RULE)
        if peek(rule, RuleField.FEEDS):
            if next_record + peek(context, At.RECORD_WIDTH) > peek(context, At.QUEUE_SIZE):
                return np.int64(Status.QUEUE_FULL)
            _write_record(context, rule, record, peek(context, At.QUEUE) + 8 * next_record)
            next_record += peek(context, At.RECORD_WIDTH)
        words += OUTPUT_HEADER + peek(rule, RuleField.STRIDE)
    poke(context, At.QUEUE_NEXT, next_record)
    return np.int64(Status.DONE)


@compiled
def _write_record(context: int, rule: int, found: int, record: int) -> None:
    """Write a composite event of the output as a row of its type, its type before it."""
    for k in range(peek(context, At.RECORD_WIDTH)):
        poke(record, k, 0)
    digest = np.uint64(peek(rule, RuleField.SEED))
    at = OUTPUT_HEADER
    for _ in range(peek(rule, RuleField.POSITIONS)):
        part = peek(found, at)
        if part < STRING_ID_FLOOR:
            part -= COMPOSITE_ID_BASE
        elif part < 0:
            part = word(context, At.ID_DIGESTS, ~part)
        digest = mix(digest, part)
        at += 1
    poke(record, 0, peek(rule, RuleField.TYPE))
    row = record + 8
    poke(row, SLOT_ID, np.int64(digest & _DIGEST_MASK) + COMPOSITE_ID_BASE)
    poke(row, SLOT_TIME, peek(found, OutputRecord.TIME))
    poke(row, SLOT_START, peek(found, OutputRecord.START))
    for k in range(peek(rule, RuleField.OUTPUTS), peek(rule, RuleField.OUTPUTS_END)):
        value = peek(context, At.OUTPUTS) + _OUTPUT_BYTES * k
        slot, flag = peek(value, OutputField.TYPE_SLOT), peek(value, OutputField.FLAG_SLOT)
        if slot >= 0:
            poke(row, slot, peek(found, at))
        if peek(value, OutputField.OPTIONAL):
            at += 1
        if flag >= 0:
            poke(row, flag, peek(found, at) if peek(value, OutputField.OPTIONAL) else 1)
        at += 1


@compiled
def split(output: int, strides: int, count: int, places: int, rules: int, times: int, starts: int) -> None:
    """Write, for each composite event of the output, where its parts begin, its rule, time and start."""
    at = 0
    for event in range(count):
        record = output + 8 * at
        rule = peek(record, OutputRecord.RULE)
        poke(places, event, at + OUTPUT_HEADER)
        poke(rules, event, rule)
        poke(times, event, peek(record, OutputRecord.TIME))
        poke(starts, event, peek(record, OutputRecord.START))
        at += OUTPUT_HEADER + peek(strides, rule)
