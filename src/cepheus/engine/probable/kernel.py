"""The kernel of uncertain events: CDP as for certain ones, with a probability where those have yes or no.

An event enters a column or terminates a rule if its probability of satisfying what they ask is high enough to matter.
The probability of a match is the product over its steps; a match that falls below the rule's least probability is
given up at once, for nothing that follows can raise it.
"""

from __future__ import annotations

from cepheus.core.error_column import ErrorKind
from cepheus.engine.columns.aggregates import candidate
from cepheus.engine.columns.emit import commit_output, emit, enqueue, rule_at
from cepheus.engine.columns.kernel import accept, load_input, load_queued, reserve
from cepheus.engine.columns.lanes import (
    append_entry,
    append_row,
    before,
    column_at,
    entry_at,
    entry_row,
    entry_time,
    first_not_before,
    lane_at,
    row_offset,
)
from cepheus.engine.columns.machine import all_hold
from cepheus.engine.columns.memory import (
    At,
    fixed,
    fixed_float,
    number,
    peek,
    peek_float,
    peek_half,
    poke,
    poke_float,
    put,
    table,
    word,
)
from cepheus.engine.columns.state import DONE, STORE_FULL, STRING_NEEDED, Cursor, EntryField, LaneState, OutputHeader
from cepheus.engine.columns.windows import compute_aggregate, lane_of, reference_time
from cepheus.engine.probable.compiled import compiled, inlined, settled
from cepheus.engine.probable.state import REMEMBERED, SHARED_WORDS, Of
from cepheus.engine.probable.tables import (
    ColumnWorthField,
    ErrorField,
    StepWorthField,
    TermField,
    WorthField,
)
from cepheus.engine.probable.worth import bands_worth, error_at
from cepheus.plan.program import (
    SLOT_TIME,
    ColumnField,
    FunctionCode,
    PolicyCode,
    RuleField,
    StepField,
    StepFlag,
    StepKind,
)

_STEP_BYTES = 8 * len(StepField)
_CURSOR_BYTES = 8 * len(Cursor)
_RULE_WORTH_BYTES = 8 * len(WorthField)
_STEP_WORTH_BYTES = 8 * len(StepWorthField)
_COLUMN_WORTH_BYTES = 8 * len(ColumnWorthField)
_ERROR_BYTES = 8 * len(ErrorField)
_TERM_BYTES = 8 * len(TermField)
_NORMAL, _UNIFORM = int(ErrorKind.NORMAL), int(ErrorKind.UNIFORM)


@compiled
def run(context: int, memory: int) -> int:
    """Process the queue of composite events and then the input, from where the last call left it."""
    count = fixed(context, At.INPUT_SIZE)
    rows = fixed(context, At.ROWS)
    next_row = peek(context, At.INPUT_NEXT)
    status = _process_queue(context, memory)
    while status == DONE and next_row < count:
        at = next_row if rows == 0 else peek(rows, next_row)
        kind = table(context, At.KINDS, peek_half(fixed(context, At.CODES), at))
        if kind >= 0:
            base = load_input(context, kind, at)
            status = STORE_FULL
            if base >= 0:
                status = _process(context, memory, kind, base, peek(fixed(context, At.TIMES), at))
            if status != DONE:
                break
            if peek(context, At.QUEUE_NEXT) > 0:
                status = _process_queue(context, memory)
        next_row += 1
    poke(context, At.INPUT_NEXT, next_row)
    return status


@compiled
def _process_queue(context: int, memory: int) -> int:
    """Process the composite events that rules listen to, and those that they complete in turn."""
    at = peek(context, At.QUEUE_FIRST)
    while at < peek(context, At.QUEUE_NEXT):
        record = fixed(context, At.QUEUE) + 8 * at
        base = load_queued(context, record)
        status = STORE_FULL
        if base >= 0:
            status = _process(context, memory, peek(record, 0), base, peek(record, 1 + SLOT_TIME))
        if status != DONE:
            poke(context, At.QUEUE_FIRST, at)
            return status
        at += fixed(context, At.RECORD_WIDTH)
    poke(context, At.QUEUE_FIRST, 0)
    poke(context, At.QUEUE_NEXT, 0)
    return DONE


@compiled
def _process(context: int, memory: int, kind: int, base: int, now: int) -> int:
    """Take the event at ``base``: find who is concerned, reserve room, evaluate, commit."""
    poke(context, At.TIME, now)
    put(context, At.BOUND, 0, base)
    rules, columns = accept(context, kind)
    if peek(context, At.NEEDED_TABLE) >= 0:
        return STRING_NEEDED
    occurrence = 1.0 - number(context, At.STORE, base + table(memory, Of.DOUBTS, kind))
    rules = _worthy_rules(context, memory, rules, occurrence)
    columns = worthy_columns(context, memory, columns, occurrence)
    if rules + columns == 0:
        return DONE
    status = reserve(context, base, columns, now)
    if rules > 0 and status == DONE:
        status = _evaluate_all(context, memory, rules)
    if status != DONE:
        return status
    if rules > 0:
        commit_output(context)
    if columns > 0:
        row_number = append_row(context, kind)
        for k in range(columns):
            append_worth(context, memory, k, base, now, row_number)
    return status


@inlined
def append_worth(context: int, memory: int, k: int, base: int, now: int, row_number: int) -> None:
    """Append an entry that has, where the column sums nothing, the event's own probability as its value."""
    lane = word(context, At.ACCEPTED_LANES, k)
    append_entry(context, lane, base, now, row_number)
    row = lane_at(context, lane)
    if fixed(column_at(context, peek(row, LaneState.COLUMN)), ColumnField.SUM_KIND) == 0:
        place = peek(row, LaneState.OFFSET) + ((peek(row, LaneState.NEXT) - 1) & peek(row, LaneState.MASK))
        poke_float(entry_at(context, place), EntryField.VALUE, peek_float(fixed(memory, Of.ENTRANCES), k))


@inlined
def _worthy_rules(context: int, memory: int, rules: int, occurrence: float) -> int:
    """Keep the accepted rules whose terminator the event is with a probability that may still be enough."""
    kept = 0
    for k in range(rules):
        rule = word(context, At.ACCEPTED_RULES, k)
        worth = fixed(memory, Of.RULES) + _RULE_WORTH_BYTES * rule
        begin, end = fixed(worth, WorthField.BANDS), fixed(worth, WorthField.BANDS_END)
        probability = occurrence
        if begin < end:
            probability *= bands_worth(context, memory, begin, end)
        if probability > 0.0 and probability >= fixed_float(worth, WorthField.FLOOR):
            put(context, At.ACCEPTED_RULES, kept, rule)
            poke_float(fixed(memory, Of.OPENINGS), kept, probability)
            kept += 1
    return kept


@inlined
def worthy_columns(context: int, memory: int, columns: int, occurrence: float) -> int:
    """Keep the accepted columns that the event belongs to with a probability that may be enough."""
    kept = 0
    for k in range(columns):
        column = word(context, At.ACCEPTED_COLUMNS, k)
        worth = fixed(memory, Of.COLUMNS) + _COLUMN_WORTH_BYTES * column
        begin, end = fixed(worth, ColumnWorthField.BANDS), fixed(worth, ColumnWorthField.BANDS_END)
        probability = occurrence
        if begin < end:
            probability *= bands_worth(context, memory, begin, end)
        if probability > 0.0 and probability >= fixed_float(worth, ColumnWorthField.FLOOR):
            put(context, At.ACCEPTED_COLUMNS, kept, column)
            poke_float(fixed(memory, Of.ENTRANCES), kept, probability)
            kept += 1
    return kept


@compiled
def _evaluate_all(context: int, memory: int, rules: int) -> int:
    """Evaluate the accepted rules; what they find stays provisional until it is committed."""
    events = peek(context, At.OUTPUT_EVENTS)
    poke(context, At.FOUND_EVENTS, events)
    poke(context, At.MARK_COUNT, 0)
    poke(fixed(memory, Of.LAST_SCAN), 0, -1)
    poke(memory, Of.STAMP, peek(memory, Of.STAMP) + 1)
    for k in range(rules):
        poke_float(fixed(memory, Of.PRODUCTS), 0, peek_float(fixed(memory, Of.OPENINGS), k))
        status = _evaluate(context, memory, word(context, At.ACCEPTED_RULES, k), events)
        if status != DONE:
            return status
    if peek(context, At.NEEDED_TABLE) >= 0:
        return STRING_NEEDED
    if peek(context, At.FOUND_EVENTS) == events:
        return DONE
    queued = peek(context, At.QUEUE_NEXT)
    status = enqueue(context)
    if status == DONE and peek(context, At.QUEUE_NEXT) > queued:
        _queue_errors(context, memory, queued)
    return status


@compiled
def _evaluate(context: int, memory: int, rule_number: int, events_before: int) -> int:
    """Find every combination of choices for the current terminator, depth first, in order of the stream."""
    rule = rule_at(context, rule_number)
    worth = fixed(memory, Of.RULES) + _RULE_WORTH_BYTES * rule_number
    floor = fixed_float(worth, WorthField.FLOOR)
    steps, cursors = fixed(context, At.STEPS), fixed(context, At.CURSORS)
    products = fixed(memory, Of.PRODUCTS)
    begin, end = fixed(rule, RuleField.STEPS), fixed(rule, RuleField.ABSENCES)
    at = begin
    forward = True
    while at >= begin:
        done = at - begin
        if at == end:
            status = _emit(context, memory, rule, rule_number, events_before, peek_float(products, done))
            if status != DONE:
                return status
            forward = False
            at -= 1
            continue
        step = steps + _STEP_BYTES * at
        step_worth = fixed(memory, Of.STEPS) + _STEP_WORTH_BYTES * at
        kind = fixed(step, StepField.KIND)
        probability = 0.0
        if kind == StepKind.CHOOSE:
            cursor = cursors + _CURSOR_BYTES * done
            if forward and fixed(step, StepField.FLAGS) & StepFlag.SINGLE:
                poke(cursor, Cursor.END, 0)
                poke(cursor, Cursor.ENTRY, 0)
                probability = _bind_last(context, memory, step, step_worth, floor)
            else:
                if forward:
                    _open_window(context, memory, step, step_worth, cursor, floor)
                probability = _bind_next(context, memory, step, step_worth, cursor, floor)
        elif forward and kind == StepKind.COMPUTE:
            _aggregate(context, memory, step, step_worth)
            probability = 1.0
        elif forward and all_hold(context, fixed(step, StepField.CONSTRAINTS), fixed(step, StepField.CONSTRAINTS_END)):
            bands, bands_end = fixed(step_worth, StepWorthField.BANDS), fixed(step_worth, StepWorthField.BANDS_END)
            probability = bands_worth(context, memory, bands, bands_end)
        forward = probability > 0.0
        if forward:
            probability *= peek_float(products, done)
            poke_float(products, done + 1, probability)
            if probability < floor:  # in vain; another choice may do better, if there is one
                forward = False
                if kind == StepKind.CHOOSE:
                    continue
        at += 1 if forward else -1
    return DONE


@inlined
def _own(context: int, memory: int, step: int, step_worth: int, place: int) -> float:
    """Bind the row of an entry to the step's position; give the probability that it occurred and satisfies all."""
    entry = entry_at(context, place)
    if not candidate(context, step, peek(entry, EntryField.ROW)):
        return 0.0
    own = peek_float(entry, EntryField.VALUE)
    begin, end = fixed(step_worth, StepWorthField.BANDS), fixed(step_worth, StepWorthField.BANDS_END)
    if begin == end:
        return own
    if fixed(step_worth, StepWorthField.REMEMBERED) == 0:
        return settled(own * bands_worth(context, memory, begin, end))
    base = word(context, At.BOUND, fixed(step, StepField.POSITION))
    memo = fixed(memory, Of.MEMORY) + 24 * ((base + 7 * begin) & (REMEMBERED - 1))
    stamp = peek(memory, Of.STAMP)
    key = (base << 20) + begin
    if peek(memo, 0) != stamp or peek(memo, 1) != key:
        poke(memo, 0, stamp)
        poke(memo, 1, key)
        poke_float(memo, 2, bands_worth(context, memory, begin, end))
    return settled(own * peek_float(memo, 2))


@inlined
def _fits(own: float, floor: float) -> bool:
    """Tell whether a candidate's own probability exceeds the least one, or is all there can be."""
    return own > floor or own == 1.0


@compiled
def _bind_last(context: int, memory: int, step: int, step_worth: int, floor: float) -> float:
    """Bind the one event that a plain ``last`` takes; give its own probability, 0 if there is none."""
    lane = lane_of(context, step)
    if lane < 0:
        return 0.0
    until = reference_time(context, step)
    since = before(until, fixed(step, StepField.WINDOW))
    row = lane_at(context, lane)
    offset, mask, first = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK), peek(row, LaneState.FIRST)
    entry = first_not_before(context, lane, until)
    while entry > first and entry_time(context, offset + ((entry - 1) & mask)) >= since:
        entry -= 1
        own = _own(context, memory, step, step_worth, offset + (entry & mask))
        if _fits(own, floor):
            return own
    return 0.0


@compiled
def _open_window(context: int, memory: int, step: int, step_worth: int, cursor: int, floor: float) -> None:
    """Place a cursor on the entries of a window that a selection may take."""
    poke(cursor, Cursor.ENTRY, 0)
    poke(cursor, Cursor.END, 0)
    lane = lane_of(context, step)
    if lane < 0:
        return
    until = reference_time(context, step)
    since = before(until, fixed(step, StepField.WINDOW))
    end = first_not_before(context, lane, until)
    wanted = fixed(step, StepField.COUNT)
    if fixed(step, StepField.POLICY) == PolicyCode.LAST:
        row = lane_at(context, lane)
        offset, mask, first = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK), peek(row, LaneState.FIRST)
        entry, left = end, wanted
        while left > 0 and entry > first and entry_time(context, offset + ((entry - 1) & mask)) >= since:
            entry -= 1
            own = _own(context, memory, step, step_worth, offset + (entry & mask))
            if _fits(own, floor):
                left -= 1
        if left == wanted:
            return
    else:
        entry = first_not_before(context, lane, since)
    poke(cursor, Cursor.ENTRY, entry)
    poke(cursor, Cursor.END, end)
    poke(cursor, Cursor.LEFT, wanted)
    poke(cursor, Cursor.LANE, lane)


@compiled
def _bind_next(context: int, memory: int, step: int, step_worth: int, cursor: int, floor: float) -> float:
    """Bind the next event that the selection takes; give its own probability, 0 if there is none."""
    entry, end = peek(cursor, Cursor.ENTRY), peek(cursor, Cursor.END)
    if entry >= end:
        return 0.0
    row = lane_at(context, peek(cursor, Cursor.LANE))
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    exceeds = fixed(step_worth, StepWorthField.EXCEEDS) != 0
    while entry < end:
        own = _own(context, memory, step, step_worth, offset + (entry & mask))
        entry += 1
        if own > 0.0 and (not exceeds or _fits(own, floor)):
            left = peek(cursor, Cursor.LEFT) - 1
            poke(cursor, Cursor.LEFT, left)
            poke(cursor, Cursor.ENTRY, end if left == 0 else entry)
            return own
    poke(cursor, Cursor.ENTRY, end)
    return 0.0


@inlined
def _shared(memory: int, step_worth: int) -> int:
    """Give where what rules share about a step is kept; 0 if they share nothing."""
    number_shared = fixed(step_worth, StepWorthField.SHARED)
    return 0 if number_shared < 0 else fixed(memory, Of.SHARED) + 8 * SHARED_WORDS * number_shared


@inlined
def _absent(context: int, memory: int, at: int) -> float:
    """Give the probability that no event occurred that must be absent, worked out once for all rules that ask it."""
    step_worth = fixed(memory, Of.STEPS) + _STEP_WORTH_BYTES * at
    shared = _shared(memory, step_worth)
    if shared == 0:
        return _absence(context, memory, at)
    if peek(shared, 0) != peek(memory, Of.STAMP):
        poke_float(shared, 1, _absence(context, memory, at))
        poke(shared, 0, peek(memory, Of.STAMP))
    return peek_float(shared, 1)


@inlined
def _aggregate(context: int, memory: int, step: int, step_worth: int) -> None:
    """Compute an aggregate and its error, once for all rules that ask it."""
    shared = _shared(memory, step_worth)
    result = fixed(step, StepField.RESULT)
    error = fixed(memory, Of.RESULT_ERRORS) + 24 * result
    if shared != 0 and peek(shared, 0) == peek(memory, Of.STAMP):
        put(context, At.RESULTS, result, peek(shared, 1))
        put(context, At.RESULTS_DEFINED, result, peek(shared, 2))
        for k in range(3):
            poke(error, k, peek(shared, 3 + k))
        return
    compute_aggregate(context, step)
    _compute_error(context, memory, step, step_worth)
    if shared != 0:
        poke(shared, 0, peek(memory, Of.STAMP))
        poke(shared, 1, word(context, At.RESULTS, result))
        poke(shared, 2, word(context, At.RESULTS_DEFINED, result))
        for k in range(3):
            poke(shared, 3 + k, peek(error, k))


@compiled
def _absence(context: int, memory: int, at: int) -> float:
    """Give the probability that no event occurred that must be absent."""
    step = fixed(context, At.STEPS) + _STEP_BYTES * at
    step_worth = fixed(memory, Of.STEPS) + _STEP_WORTH_BYTES * at
    lane = lane_of(context, step)
    if lane < 0:
        return 1.0
    until = reference_time(context, step)
    other = fixed(step, StepField.OTHER_REFERENCE)
    if other < 0:
        since = before(until, fixed(step, StepField.WINDOW))
    else:
        second = word(context, At.STORE, word(context, At.BOUND, other) + SLOT_TIME)
        since, until = min(second, until) + 1, max(second, until)
    row = lane_at(context, lane)
    offset, mask, first = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK), peek(row, LaneState.FIRST)
    entry = first_not_before(context, lane, until)
    printed = fixed(memory, Of.NEGATION_AS_PRINTED) != 0
    total = 1.0
    possible = False
    while entry > first and entry_time(context, offset + ((entry - 1) & mask)) >= since:
        entry -= 1
        own = _own(context, memory, step, step_worth, offset + (entry & mask))
        if own > 0.0:
            possible = True
            total *= own if printed else 1.0 - own
            if total == 0.0:
                break
    return settled(1.0 - total if printed and possible else total)


@compiled
def _emit(context: int, memory: int, rule: int, rule_number: int, events_before: int, probability: float) -> int:
    """Weigh the absences and the rule itself, and write a composite event if enough is left."""
    worth = fixed(memory, Of.RULES) + _RULE_WORTH_BYTES * rule_number
    probability *= fixed_float(worth, WorthField.FACTOR)
    floor = fixed_float(worth, WorthField.FLOOR)
    for at in range(fixed(worth, WorthField.ABSENCES), fixed(worth, WorthField.ABSENCES_END)):
        if probability == 0.0 or probability < floor:
            return DONE
        probability *= _absent(context, memory, at)
    probability = settled(probability)
    if probability == 0.0 or probability < floor:
        return DONE
    event = peek(context, At.FOUND_EVENTS)
    status = emit(context, rule, rule_number, events_before)
    if status == DONE and peek(context, At.FOUND_EVENTS) > event:
        fields = fixed(context, At.OUTPUT) + 8 * fixed(memory, Of.FIRST_EXTRA)
        poke_float(fixed(fields, 0), event, probability)
        _write_errors(context, memory, rule, worth, event, fields + 8)
    return status


@compiled
def _write_errors(context: int, memory: int, rule: int, worth: int, event: int, fields: int) -> None:
    """Write the errors of a composite event's attributes: kind and two parameters each."""
    outputs = fixed(rule, RuleField.OUTPUTS_END) - fixed(rule, RuleField.OUTPUTS)
    for k in range(outputs):
        error = fixed(memory, Of.ERRORS) + _ERROR_BYTES * (fixed(worth, WorthField.ERRORS) + k)
        begin, end = fixed(error, ErrorField.TERMS), fixed(error, ErrorField.TERMS_END)
        kind, first, second = 0, 0.0, 0.0
        for at in range(begin, end):
            term = fixed(memory, Of.TERMS) + _TERM_BYTES * at
            source = error_at(context, memory, term)
            own = peek(source, 0)
            if own == 0:
                continue
            coefficient = fixed_float(term, TermField.COEFFICIENT)
            one, two = peek_float(source, 1), peek_float(source, 2)
            if own == _NORMAL:
                first += coefficient * one
                second += coefficient * coefficient * two
            elif own == _UNIFORM and coefficient < 0.0:
                first, second = coefficient * two, coefficient * one
            elif own == _UNIFORM:
                first, second = coefficient * one, coefficient * two
            else:
                first, second = one, two
            kind = own
        poke(fixed(fields, 3 * k), event, kind)
        poke_float(fixed(fields, 3 * k + 1), event, first)
        poke_float(fixed(fields, 3 * k + 2), event, second)


@compiled
def _queue_errors(context: int, memory: int, queued: int) -> None:
    """Give the composite events that were queued just now the errors of their attributes."""
    record = fixed(context, At.QUEUE) + 8 * queued
    rules = fixed(fixed(context, At.OUTPUT), OutputHeader.RULE)
    fields = fixed(context, At.OUTPUT) + 8 * (fixed(memory, Of.FIRST_EXTRA) + 1)
    for event in range(peek(context, At.OUTPUT_EVENTS), peek(context, At.FOUND_EVENTS)):
        rule_number = peek(rules, event)
        rule = rule_at(context, rule_number)
        if fixed(rule, RuleField.FEEDS) == 0:
            continue
        worth = fixed(memory, Of.RULES) + _RULE_WORTH_BYTES * rule_number
        for k in range(fixed(rule, RuleField.OUTPUTS_END) - fixed(rule, RuleField.OUTPUTS)):
            error = fixed(memory, Of.ERRORS) + _ERROR_BYTES * (fixed(worth, WorthField.ERRORS) + k)
            slot = fixed(error, ErrorField.TYPE_SLOT)
            if slot >= 0:
                for part in range(3):
                    poke(record, 1 + slot + part, peek(fixed(fields, 3 * k + part), event))
        record += 8 * fixed(context, At.RECORD_WIDTH)


@compiled
def _compute_error(context: int, memory: int, step: int, step_worth: int) -> None:
    """Give the error of a sum or average of members whose values have Normal errors."""
    result = fixed(memory, Of.RESULT_ERRORS) + 24 * fixed(step, StepField.RESULT)
    poke(result, 0, 0)
    slot = fixed(step_worth, StepWorthField.VALUE_ERROR)
    if slot < 0:
        return
    lane = lane_of(context, step)
    if lane < 0:
        return
    row = lane_at(context, lane)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    if fixed(step, StepField.INCREMENTAL):
        begin, end = peek(row, LaneState.SUM_FIRST), peek(row, LaneState.SUM_NEXT)
    else:
        until = reference_time(context, step)
        other = fixed(step, StepField.OTHER_REFERENCE)
        if other < 0:
            since = before(until, fixed(step, StepField.WINDOW))
        else:
            second = word(context, At.STORE, word(context, At.BOUND, other) + SLOT_TIME)
            since, until = min(second, until) + 1, max(second, until)
        begin, end = first_not_before(context, lane, since), first_not_before(context, lane, until)
    scan = fixed(memory, Of.LAST_SCAN)
    plain = fixed(step, StepField.FLAGS) & StepFlag.PLAIN != 0
    known = (
        plain and peek(scan, 0) == lane and peek(scan, 1) == begin and peek(scan, 2) == end and peek(scan, 3) == slot
    )
    if not known:
        mean, variance, uncertain, members = 0.0, 0.0, 0, 0
        kind = fixed(step, StepField.TYPE)
        for entry in range(begin, end):
            row_number = entry_row(context, offset + (entry & mask))
            if plain:
                base = row_offset(context, kind, row_number)
            elif candidate(context, step, row_number):
                base = word(context, At.BOUND, fixed(step, StepField.POSITION))
            else:
                continue
            members += 1
            error = fixed(context, At.STORE) + 8 * (base + slot)
            if peek(error, 0) != 0:
                uncertain += 1
                mean += peek_float(error, 1)
                variance += peek_float(error, 2)
        poke(scan, 0, lane if plain else -1)
        poke(scan, 1, begin)
        poke(scan, 2, end)
        poke(scan, 3, slot)
        poke(scan, 4, uncertain)
        poke(scan, 5, members)
        poke_float(scan, 6, mean)
        poke_float(scan, 7, variance)
    if peek(scan, 4) == 0:
        return
    scale = 1.0
    if fixed(step, StepField.FUNCTION) == FunctionCode.AVG:
        scale = 1.0 / peek(scan, 5)
    poke(result, 0, _NORMAL)
    poke_float(result, 1, scale * peek_float(scan, 6))
    poke_float(result, 2, scale * scale * peek_float(scan, 7))
