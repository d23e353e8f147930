"""The kernel: events in, composite events out. One compiled loop for one event or a million, one rule or thousands.

For each event: find the rules it terminates and the columns it enters; evaluate those rules against the columns, as
CDP does, last column first; then store the event. Nothing is changed before the evaluation of an event has succeeded
and room for storing it is reserved, so when space runs out the kernel comes back with a status, the caller grows what
is full, and the same event is taken again.
"""

from __future__ import annotations

import numpy as np

from cepheus.engine.columns.aggregates import candidate, empty_aggregate, running_aggregate, scanned_aggregate
from cepheus.engine.columns.compiled import compiled, inlined
from cepheus.engine.columns.index import LISTENER_BYTES, accept_indexed
from cepheus.engine.columns.lanes import (
    append_entry,
    append_row,
    before,
    column_at,
    entry_row,
    entry_time,
    find_lane,
    first_not_before,
    lane_at,
    mix,
    place_row,
    reserve_lane,
    type_at,
)
from cepheus.engine.columns.machine import all_hold, compute
from cepheus.engine.columns.memory import At, fixed, peek, peek_half, poke, put, signed, table, word
from cepheus.engine.columns.state import (
    COMPOSITE_ID_BASE,
    DONE,
    LIMIT,
    MARKS_FULL,
    OUTPUT_FULL,
    OUTPUT_HEADER,
    QUEUE_FULL,
    STORE_FULL,
    STRING_ID_FLOOR,
    STRING_NEEDED,
    Cursor,
    LaneState,
    OutputRecord,
)
from cepheus.plan.program import (
    HEADER,
    SLOT_ID,
    SLOT_START,
    SLOT_TIME,
    ColumnField,
    ListenerField,
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
    count = fixed(context, At.INPUT_SIZE)
    rows = fixed(context, At.ROWS)
    next_row = peek(context, At.INPUT_NEXT)
    status = _process_queue(context)
    at = -1
    while status == DONE and next_row < count:
        at = next_row if rows == 0 else peek(rows, next_row)
        kind = table(context, At.KINDS, peek_half(fixed(context, At.CODES), at))
        if kind >= 0:
            status = _process_input(context, kind, at)
            if status != DONE:
                break
            if peek(context, At.QUEUE_NEXT) > 0:
                status = _process_queue(context)
        next_row += 1
    poke(context, At.INPUT_NEXT, next_row)
    if at >= 0:
        poke(context, At.TIME, peek(fixed(context, At.TIMES), at))
    return status


@inlined
def load_input(context: int, kind: int, at: int) -> int:
    """Load an input event into the place where its row would be stored; give the place, -1 if the store must grow."""
    time = peek(fixed(context, At.TIMES), at)
    base = place_row(context, kind, time)
    if base < 0:
        return base
    row = fixed(context, At.STORE) + 8 * base
    poke(row, SLOT_ID, peek(fixed(context, At.IDS), at))
    poke(row, SLOT_TIME, time)
    poke(row, SLOT_START, time)
    layout = type_at(context, kind)
    inputs = fixed(layout, TypeField.INPUTS)
    for slot in range(HEADER, fixed(layout, TypeField.WIDTH)):
        column = table(context, At.SLOTS, inputs + slot)
        poke(row, slot, 0 if column < 0 else peek(table(context, At.ADDRESSES, column), at))
    return base


@inlined
def load_queued(context: int, record: int) -> int:
    """Load a composite event of the queue into the place where its row would be stored; -1 if the store must grow."""
    kind = peek(record, 0)
    base = place_row(context, kind, peek(record, 1 + SLOT_TIME))
    if base >= 0:
        for k in range(fixed(type_at(context, kind), TypeField.WIDTH)):
            put(context, At.STORE, base + k, peek(record, 1 + k))
    return base


@inlined
def _process_input(context: int, kind: int, at: int) -> int:
    """Process an input event."""
    base = load_input(context, kind, at)
    if base < 0:
        return STORE_FULL
    return _process(context, kind, base, peek(fixed(context, At.TIMES), at))


@compiled
def _process_queue(context: int) -> int:
    """Process the composite events that rules listen to, and those that they complete in turn."""
    at = peek(context, At.QUEUE_FIRST)
    while at < peek(context, At.QUEUE_NEXT):
        record = fixed(context, At.QUEUE) + 8 * at
        base = load_queued(context, record)
        status = STORE_FULL
        if base >= 0:
            status = _process(context, peek(record, 0), base, peek(record, 1 + SLOT_TIME))
        if status != DONE:
            poke(context, At.QUEUE_FIRST, at)
            return status
        at += fixed(context, At.RECORD_WIDTH)
    poke(context, At.QUEUE_FIRST, 0)
    poke(context, At.QUEUE_NEXT, 0)
    return DONE


@inlined
def _process(context: int, kind: int, base: int, now: int) -> int:
    """Take the event at ``base``: find who is concerned, reserve room, evaluate, commit."""
    put(context, At.BOUND, 0, base)
    rules, columns = accept(context, kind)
    if peek(context, At.NEEDED_TABLE) >= 0:
        return STRING_NEEDED
    if rules + columns == 0:
        return DONE
    status = reserve(context, base, columns, now)
    if rules > 0 and status == DONE:
        status = _evaluate_all(context, rules)
    if status != DONE:
        return status
    if rules > 0:
        commit_output(context)
    if columns > 0:
        row_number = append_row(context, kind)
        for k in range(columns):
            append_entry(context, word(context, At.ACCEPTED_LANES, k), base, now, row_number)
    return status


@inlined
def accept(context: int, kind: int) -> tuple[int, int]:
    """Find the rules that the current event terminates, in order of deployment, and the columns it enters.

    Gives how many there are of each; their numbers are in the working space.
    """
    rules, columns = 0, 0
    row = type_at(context, kind)
    for at in range(fixed(row, TypeField.LISTENERS), fixed(row, TypeField.LISTENERS_END)):
        listener = fixed(context, At.LISTENERS) + LISTENER_BYTES * at
        begin, end = fixed(listener, ListenerField.CONSTRAINTS), fixed(listener, ListenerField.CONSTRAINTS_END)
        if all_hold(context, begin, end):
            if fixed(listener, ListenerField.IS_RULE):
                put(context, At.ACCEPTED_RULES, rules, fixed(listener, ListenerField.TARGET))
                rules += 1
            else:
                put(context, At.ACCEPTED_COLUMNS, columns, fixed(listener, ListenerField.TARGET))
                columns += 1
    if fixed(row, TypeField.INDEXES) < fixed(row, TypeField.INDEXES_END):
        return accept_indexed(context, kind, rules, columns)
    return rules, columns


@inlined
def _evaluate_all(context: int, rules: int) -> int:
    """Evaluate the accepted rules; what they find stays provisional until it is committed."""
    events, words = peek(context, At.OUTPUT_EVENTS), peek(context, At.OUTPUT_WORDS)
    poke(context, At.FOUND_EVENTS, events)
    poke(context, At.FOUND_WORDS, words)
    poke(context, At.MARK_COUNT, 0)
    for k in range(rules):
        status = _evaluate(context, word(context, At.ACCEPTED_RULES, k), events)
        if status != DONE:
            return status
    if peek(context, At.NEEDED_TABLE) >= 0:
        return STRING_NEEDED
    return enqueue(context, words) if peek(context, At.FOUND_EVENTS) > events else DONE


@inlined
def commit_output(context: int) -> None:
    """Make what was found part of the output, queue what feeds other rules, mark what was consumed."""
    poke(context, At.OUTPUT_EVENTS, peek(context, At.FOUND_EVENTS))
    poke(context, At.OUTPUT_WORDS, peek(context, At.FOUND_WORDS))
    for k in range(peek(context, At.MARK_COUNT)):
        place = word(context, At.MARKS, 2 * k)
        put(context, At.STORE, place, word(context, At.STORE, place) | word(context, At.MARKS, 2 * k + 1))


@inlined
def reserve(context: int, base: int, columns: int, now: int) -> int:
    """Find the lanes that the event at ``base`` enters and make room in them."""
    key = fixed(context, At.STACK)  # room that is free between two computations
    for k in range(columns):
        column = word(context, At.ACCEPTED_COLUMNS, k)
        row = column_at(context, column)
        for part in range(fixed(row, ColumnField.KEYS)):
            value = word(context, At.STORE, base + fixed(row, ColumnField.KEY_0 + part))
            poke(key, part, _key_part(row, part, value))
        lane = reserve_lane(context, column, key, now)
        if lane < 0:
            return -lane
        put(context, At.ACCEPTED_LANES, k, lane)
    return DONE


@inlined
def _key_part(column: int, part: int, value: int) -> int:
    """Give a part of a key so that equal values have equal words: minus zero, a float, equals zero."""
    return 0 if value == _MINUS_ZERO and (fixed(column, ColumnField.FLOAT_KEYS) >> part) & 1 else value


@inlined
def _lane_of(context: int, step: int) -> int:
    """Find the lane whose key the events bound so far ask for; -1 if there is none."""
    column = fixed(step, StepField.COLUMN)
    row = column_at(context, column)
    key = fixed(context, At.STACK)
    for part in range(fixed(row, ColumnField.KEYS)):
        source = 2 * (fixed(step, StepField.KEYS) + part)
        base = word(context, At.BOUND, table(context, At.KEYS, source))
        poke(key, part, _key_part(row, part, word(context, At.STORE, base + table(context, At.KEYS, source + 1))))
    return find_lane(context, column, key)


@inlined
def _evaluate(context: int, rule_number: int, events_before: int) -> int:
    """Find every combination of choices for the current terminator, depth first, in order of the stream."""
    rule = fixed(context, At.RULES) + _RULE_BYTES * rule_number
    steps, cursors = fixed(context, At.STEPS), fixed(context, At.CURSORS)
    begin, end = fixed(rule, RuleField.STEPS), fixed(rule, RuleField.ABSENCES)
    at = begin
    forward = True
    while at >= begin:
        if at == end:
            status = emit(context, rule, rule_number, events_before)
            if status != DONE:
                return status
            forward = False
            at -= 1
            continue
        step = steps + _STEP_BYTES * at
        kind = fixed(step, StepField.KIND)
        if kind == StepKind.CHOOSE:
            cursor = cursors + _CURSOR_BYTES * (at - begin)
            if forward and fixed(step, StepField.SINGLE):
                poke(cursor, Cursor.END, 0)
                poke(cursor, Cursor.ENTRY, 0)
                forward = _bind_last(context, step)
            else:
                if forward:
                    _open(context, step, cursor)
                forward = _next(context, step, cursor)
        elif forward and kind == StepKind.COMPUTE:
            compute_aggregate(context, step)
        elif forward:
            forward = all_hold(context, fixed(step, StepField.CONSTRAINTS), fixed(step, StepField.CONSTRAINTS_END))
        at += 1 if forward else -1
    return DONE


@inlined
def _bind_last(context: int, step: int) -> bool:
    """Bind the one event that a plain ``last`` takes; False if there is none."""
    lane = _lane_of(context, step)
    if lane < 0:
        return False
    until = word(context, At.STORE, word(context, At.BOUND, fixed(step, StepField.REFERENCE)) + SLOT_TIME)
    since = before(until, fixed(step, StepField.WINDOW))
    row = lane_at(context, lane)
    offset, mask, first = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK), peek(row, LaneState.FIRST)
    entry = first_not_before(context, lane, until)
    while entry > first and entry_time(context, offset + ((entry - 1) & mask)) >= since:
        entry -= 1
        if candidate(context, step, entry_row(context, offset + (entry & mask))):
            return True
    return False


@inlined
def _open(context: int, step: int, cursor: int) -> None:
    """Place a cursor on the entries of a window that a selection may take."""
    poke(cursor, Cursor.ENTRY, 0)
    poke(cursor, Cursor.END, 0)
    lane = _lane_of(context, step)
    if lane < 0:
        return
    until = word(context, At.STORE, word(context, At.BOUND, fixed(step, StepField.REFERENCE)) + SLOT_TIME)
    since = before(until, fixed(step, StepField.WINDOW))
    end = first_not_before(context, lane, until)
    wanted = fixed(step, StepField.COUNT)
    if fixed(step, StepField.POLICY) == PolicyCode.LAST:
        row = lane_at(context, lane)
        offset, mask, first = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK), peek(row, LaneState.FIRST)
        entry, left = end, wanted
        while left > 0 and entry > first and entry_time(context, offset + ((entry - 1) & mask)) >= since:
            entry -= 1
            if candidate(context, step, entry_row(context, offset + (entry & mask))):
                left -= 1
        if left == wanted:
            return
    else:
        entry = first_not_before(context, lane, since)
    poke(cursor, Cursor.ENTRY, entry)
    poke(cursor, Cursor.END, end)
    poke(cursor, Cursor.LEFT, wanted)
    poke(cursor, Cursor.LANE, lane)


@inlined
def _next(context: int, step: int, cursor: int) -> bool:
    """Bind the next event that the selection takes."""
    entry, end = peek(cursor, Cursor.ENTRY), peek(cursor, Cursor.END)
    if entry >= end:
        return False
    row = lane_at(context, peek(cursor, Cursor.LANE))
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    while entry < end:
        row_number = entry_row(context, offset + (entry & mask))
        entry += 1
        if candidate(context, step, row_number):
            left = peek(cursor, Cursor.LEFT) - 1
            poke(cursor, Cursor.LEFT, left)
            poke(cursor, Cursor.ENTRY, end if left == 0 else entry)
            return True
    poke(cursor, Cursor.ENTRY, end)
    return False


@inlined
def _scope(context: int, step: int) -> tuple[int, int]:
    """Give the times that an aggregate or an absence looks at: from the first, up to and without the second."""
    until = word(context, At.STORE, word(context, At.BOUND, fixed(step, StepField.REFERENCE)) + SLOT_TIME)
    other = fixed(step, StepField.OTHER_REFERENCE)
    if other < 0:
        return before(until, fixed(step, StepField.WINDOW)), until
    since = word(context, At.STORE, word(context, At.BOUND, other) + SLOT_TIME)
    return min(since, until) + 1, max(since, until)


@compiled
def compute_aggregate(context: int, step: int) -> None:
    """Compute an aggregate."""
    lane = _lane_of(context, step)
    if lane < 0:
        empty_aggregate(context, step)
    elif fixed(step, StepField.INCREMENTAL):
        running_aggregate(context, step, lane, word(context, At.STORE, word(context, At.BOUND, 0) + SLOT_TIME))
    else:
        start, end = _scope(context, step)
        scanned_aggregate(context, step, lane, start, end)


@inlined
def _occurred(context: int, step: int) -> bool:
    """Tell whether an event that must be absent is there."""
    lane = _lane_of(context, step)
    if lane < 0:
        return False
    start, end = _scope(context, step)
    row = lane_at(context, lane)
    offset, mask, first = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK), peek(row, LaneState.FIRST)
    entry = first_not_before(context, lane, end)
    while entry > first and entry_time(context, offset + ((entry - 1) & mask)) >= start:
        entry -= 1
        if candidate(context, step, entry_row(context, offset + (entry & mask))):
            return True
    return False


@inlined
def emit(context: int, rule: int, rule_number: int, events_before: int) -> int:
    """Check the absences, compute the attributes and write a composite event."""
    for at in range(fixed(rule, RuleField.ABSENCES), fixed(rule, RuleField.ABSENCES_END)):
        if _occurred(context, fixed(context, At.STEPS) + _STEP_BYTES * at):
            return DONE
    events, words = peek(context, At.FOUND_EVENTS), peek(context, At.FOUND_WORDS)
    if events - events_before >= fixed(context, At.LIMIT):
        poke(context, At.CULPRIT, rule_number)
        return LIMIT
    if words + OUTPUT_HEADER + fixed(rule, RuleField.STRIDE) > fixed(context, At.OUTPUT_SIZE):
        return OUTPUT_FULL
    output, store, bound = fixed(context, At.OUTPUT), fixed(context, At.STORE), fixed(context, At.BOUND)
    record = output + 8 * words
    at = OUTPUT_HEADER
    terminator = peek(bound, 0)
    start = peek(store, terminator + SLOT_START)
    for position in range(fixed(rule, RuleField.POSITIONS)):
        base = peek(bound, position)
        poke(record, at, peek(store, base + SLOT_ID))
        start = min(start, peek(store, base + SLOT_START))
        at += 1
    for k in range(fixed(rule, RuleField.OUTPUTS), fixed(rule, RuleField.OUTPUTS_END)):
        value = fixed(context, At.OUTPUTS) + _OUTPUT_BYTES * k
        code = fixed(value, OutputField.CODE)
        if code < 0:
            base = peek(bound, fixed(value, OutputField.POSITION))
            poke(record, at, peek(store, base + fixed(value, OutputField.SLOT)))
        else:
            defined = compute(context, code)
            optional = fixed(value, OutputField.OPTIONAL)
            if not defined and not optional:
                return DONE
            poke(record, at, word(context, At.STACK, 0))
            if optional:
                at += 1
                poke(record, at, defined)
        at += 1
    if not _mark(context, rule):
        return MARKS_FULL
    poke(record, OutputRecord.RULE, rule_number)
    poke(record, OutputRecord.TIME, peek(store, terminator + SLOT_TIME))
    poke(record, OutputRecord.START, start)
    poke(context, At.FOUND_EVENTS, events + 1)
    poke(context, At.FOUND_WORDS, words + at)
    return DONE


@compiled
def _mark(context: int, rule: int) -> bool:
    """Note which events this firing consumes; they are marked when the terminator is done. False if out of room."""
    marks = peek(context, At.MARK_COUNT)
    for at in range(fixed(rule, RuleField.CONSUMING), fixed(rule, RuleField.CONSUMING_END)):
        if marks >= fixed(context, At.MARKS_SIZE):
            return False
        base = word(context, At.BOUND, table(context, At.CONSUMING, 3 * at))
        put(context, At.MARKS, 2 * marks, base + table(context, At.CONSUMING, 3 * at + 1))
        put(context, At.MARKS, 2 * marks + 1, 1 << table(context, At.CONSUMING, 3 * at + 2))
        marks += 1
    poke(context, At.MARK_COUNT, marks)
    return True


@compiled
def enqueue(context: int, words_before: int) -> int:
    """Put the composite events that some rule listens to at the end of the queue, in order."""
    next_record = peek(context, At.QUEUE_NEXT)
    words = words_before
    while words < peek(context, At.FOUND_WORDS):
        record = fixed(context, At.OUTPUT) + 8 * words
        rule = fixed(context, At.RULES) + _RULE_BYTES * peek(record, OutputRecord.RULE)
        if fixed(rule, RuleField.FEEDS):
            if next_record + fixed(context, At.RECORD_WIDTH) > fixed(context, At.QUEUE_SIZE):
                return QUEUE_FULL
            _write_record(context, rule, record, fixed(context, At.QUEUE) + 8 * next_record)
            next_record += fixed(context, At.RECORD_WIDTH)
        words += OUTPUT_HEADER + fixed(rule, RuleField.STRIDE)
    poke(context, At.QUEUE_NEXT, next_record)
    return DONE


@compiled
def _write_record(context: int, rule: int, found: int, record: int) -> None:
    """Write a composite event of the output as a row of its type, its type before it."""
    for k in range(fixed(context, At.RECORD_WIDTH)):
        poke(record, k, 0)
    digest = np.uint64(fixed(rule, RuleField.SEED))
    at = OUTPUT_HEADER
    for _ in range(fixed(rule, RuleField.POSITIONS)):
        part = peek(found, at)
        if part < STRING_ID_FLOOR:
            part -= COMPOSITE_ID_BASE
        elif part < 0:
            part = word(context, At.ID_DIGESTS, ~part)
        digest = mix(digest, part)
        at += 1
    poke(record, 0, fixed(rule, RuleField.TYPE))
    row = record + 8
    poke(row, SLOT_ID, signed(digest & _DIGEST_MASK) + COMPOSITE_ID_BASE)
    poke(row, SLOT_TIME, peek(found, OutputRecord.TIME))
    poke(row, SLOT_START, peek(found, OutputRecord.START))
    for k in range(fixed(rule, RuleField.OUTPUTS), fixed(rule, RuleField.OUTPUTS_END)):
        value = fixed(context, At.OUTPUTS) + _OUTPUT_BYTES * k
        slot, flag = fixed(value, OutputField.TYPE_SLOT), fixed(value, OutputField.FLAG_SLOT)
        if slot >= 0:
            poke(row, slot, peek(found, at))
        if fixed(value, OutputField.OPTIONAL):
            at += 1
        if flag >= 0:
            poke(row, flag, peek(found, at) if fixed(value, OutputField.OPTIONAL) else 1)
        at += 1


@compiled
def split(output: int, strides: int, words: int, places: int, rules: int) -> int:
    """Write, for each record of the output, where it begins and its rule; give how many there are."""
    at, count = 0, 0
    while at < words:
        rule = peek(output, at + OutputRecord.RULE)
        poke(places, count, at)
        poke(rules, count, rule)
        at += OUTPUT_HEADER + peek(strides, rule)
        count += 1
    return count


@compiled
def turn(records: int, width: int, count: int, matrix: int, total: int) -> None:
    """Write records of one width as columns: field ``k`` of record ``i`` goes to ``k * total + i``."""
    for begin in range(0, count, 64):  # a few records at a time, so that they are read from the cache
        end = min(begin + 64, count)
        for k in range(width):
            column = matrix + 8 * k * total
            for i in range(begin, end):
                poke(column, i, peek(records, i * width + k))
