"""The kernel: events in, composite events out. One compiled loop for one event or a million, one rule or thousands.

For each event: find the rules it terminates and the columns it enters; evaluate those rules against the columns, as
CDP does, last column first; then store the event. Nothing is changed before the evaluation of an event has succeeded
and room for storing it is reserved, so when space runs out the kernel comes back with a status, the caller grows what
is full, and the same event is taken again.
"""

from __future__ import annotations

from cepheus.kernel.choosing import choosing_by
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.emit import commit_output, emit, emit_window, enqueue, rule_at
from cepheus.kernel.index import accept_indexed, take
from cepheus.kernel.lanes import (
    append_entry,
    append_row,
    before,
    column_at,
    entry_at,
    lane_at,
    last_place,
    reserve_lane,
    type_at,
    type_state_at,
)
from cepheus.kernel.loop import loop_over
from cepheus.kernel.machine import all_hold
from cepheus.kernel.memory import At, fixed, fixed_half, fixed_pair, peek, poke, prefetch, put, word
from cepheus.kernel.program import (
    SLOT_TIME,
    BriefField,
    ColumnField,
    RuleField,
    RuleFlag,
    StepField,
    StepFlag,
    StepKind,
    TypeField,
)
from cepheus.kernel.state import DONE, STRING_NEEDED, Cursor, LaneState
from cepheus.kernel.ties import begin_ties, commit_ties
from cepheus.kernel.windows import COUNTING, bind_latest, compute_aggregate, fitting, key_part, lane_of

_STEP_BYTES = StepField.row_bytes()
_BRIEF_BYTES = BriefField.row_bytes()
_CURSOR_BYTES = Cursor.row_bytes()
FEW = 4
"""Fewer rules and columns than these are looked at without asking for them beforehand."""


@inlined
def _process(context: int, kind: int, base: int, now: int) -> int:
    """Take the event at ``base``: find who is concerned, reserve room, evaluate, commit."""
    put(context, At.BOUND, 0, base)
    rules, columns = accept(context, kind)
    if peek(context, At.NEEDED_TABLE) >= 0:
        return STRING_NEEDED
    if rules + columns == 0:
        return DONE
    if rules + columns > FEW:
        fetch(context, rules, columns)
    status = reserve(context, base, columns, now)
    if rules > 0 and status == DONE:
        status = _evaluate_all(context, rules)
    if status != DONE:
        return status
    if rules > 0:
        commit_output(context)
        commit_ties(context, kind, base)
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
    row = type_at(context, kind)
    rules, columns = take(context, fixed(row, TypeField.MEMBERS), fixed(row, TypeField.MEMBERS_END), 0, 0)
    if fixed(row, TypeField.INDEXES) < fixed(row, TypeField.INDEXES_END):
        return accept_indexed(context, kind, rules, columns)
    return rules, columns


@compiled
def fetch(context: int, rules: int, columns: int) -> None:
    """Ask for what the accepted rules and columns will look at, all at once.

    Of thousands of rules little is in the cache, and following one chain after the other (a rule, its steps, their
    columns, their lanes, the latest entries) would wait at every link of each.
    """
    for k in range(rules):
        prefetch(rule_at(context, word(context, At.ACCEPTED_RULES, k)))
    for k in range(columns):
        prefetch(column_at(context, word(context, At.ACCEPTED_COLUMNS, k)))
    for k in range(columns):
        _fetch_lane(context, word(context, At.ACCEPTED_COLUMNS, k))
    for k in range(rules):
        begin, end, width = _steps_of(context, rule_at(context, word(context, At.ACCEPTED_RULES, k)))
        for step in range(begin, end, width):
            if width == _BRIEF_BYTES:
                _fetch_lane(context, fixed_half(step, BriefField.COLUMN))
            else:
                prefetch(step)
    for k in range(columns):
        _fetch_entry(context, word(context, At.ACCEPTED_COLUMNS, k), 0)
    for k in range(rules):
        begin, end, width = _steps_of(context, rule_at(context, word(context, At.ACCEPTED_RULES, k)))
        if width == _BRIEF_BYTES:
            _fetch_brief(context, begin, end)
        else:
            for step in range(begin, end, width):
                _fetch_lane(context, fixed(step, StepField.COLUMN))
                prefetch(type_state_at(context, fixed(step, StepField.TYPE)))
    for k in range(rules):
        begin, end, width = _steps_of(context, rule_at(context, word(context, At.ACCEPTED_RULES, k)))
        if width != _BRIEF_BYTES:
            for step in range(begin, end, width):
                _fetch_row(context, fixed(step, StepField.COLUMN))


@inlined
def _fetch_brief(context: int, begin: int, end: int) -> None:
    """Ask for the rows that steps in brief will take, as far as their lanes tell; mostly that is all the way."""
    until = word(context, At.STORE, word(context, At.BOUND, 0) + SLOT_TIME)
    for step in range(begin, end, _BRIEF_BYTES):
        lane = word(context, At.COLUMN_LANE, fixed_half(step, BriefField.COLUMN))
        if lane < 0:
            return
        row = lane_at(context, lane)
        time = peek(row, LaneState.LAST_TIME)
        if time < before(until, fixed_pair(step, BriefField.WINDOW)):
            return
        if time >= until:
            prefetch(type_state_at(context, fixed_half(step, BriefField.TYPE)))
            _fetch_entry(context, fixed_half(step, BriefField.COLUMN), 2)
            return
        prefetch(fixed(context, At.STORE) + 8 * last_place(row))
        until = time


@inlined
def _steps_of(context: int, rule: int) -> tuple[int, int, int]:
    """Give where the steps of a rule begin and end, and how wide they are."""
    begin, end = fixed_half(rule, RuleField.STEPS), fixed_half(rule, RuleField.ABSENCES)
    if fixed_half(rule, RuleField.FLAGS) & RuleFlag.BRIEF:
        brief = rule + 4 * RuleField.BRIEF
        return brief, brief + _BRIEF_BYTES * (end - begin), _BRIEF_BYTES
    steps = fixed(context, At.STEPS)
    return steps + _STEP_BYTES * begin, steps + _STEP_BYTES * end, _STEP_BYTES


@inlined
def _only_lane(context: int, column: int) -> int:
    """Give the only lane of a column without keys; -1 if there is none yet, or the step looks at no column."""
    return word(context, At.COLUMN_LANE, column) if column >= 0 else -1


@inlined
def _fetch_lane(context: int, column: int) -> None:
    """Ask for the only lane of a column without keys."""
    lane = _only_lane(context, column)
    if lane >= 0:
        prefetch(lane_at(context, lane))


@inlined
def _fetch_entry(context: int, column: int, back: int) -> None:
    """Ask for the place of the next entry of such a lane, or so many before it."""
    lane = _only_lane(context, column)
    if lane >= 0:
        row = lane_at(context, lane)
        entry = (peek(row, LaneState.NEXT) - back) & peek(row, LaneState.MASK)
        prefetch(entry_at(context, peek(row, LaneState.OFFSET) + entry))


@inlined
def _fetch_row(context: int, column: int) -> None:
    """Ask for the row of the latest event of such a lane, and for its entry, which other than plain steps read."""
    lane = _only_lane(context, column)
    if lane >= 0:
        prefetch(fixed(context, At.STORE) + 8 * last_place(lane_at(context, lane)))
        _fetch_entry(context, column, 1)


@compiled
def _evaluate_all(context: int, rules: int) -> int:
    """Evaluate the accepted rules; what they find stays provisional until it is committed."""
    events = peek(context, At.OUTPUT_EVENTS)
    poke(context, At.FOUND_EVENTS, events)
    poke(context, At.MARK_COUNT, 0)
    begin_ties(context)
    for k in range(rules):
        status = _evaluate(context, word(context, At.ACCEPTED_RULES, k), events)
        if status != DONE:
            return status
    if peek(context, At.NEEDED_TABLE) >= 0:
        return STRING_NEEDED
    return enqueue(context) if peek(context, At.FOUND_EVENTS) > events else DONE


@inlined
def reserve(context: int, base: int, columns: int, now: int) -> int:
    """Find the lanes that the event at ``base`` enters and make room in them."""
    key = fixed(context, At.STACK)  # room that is free between two computations
    for k in range(columns):
        column = word(context, At.ACCEPTED_COLUMNS, k)
        row = column_at(context, column)
        for part in range(fixed(row, ColumnField.KEYS)):
            value = word(context, At.STORE, base + fixed(row, ColumnField.KEY + part))
            poke(key, part, key_part(row, part, value))
        lane = reserve_lane(context, column, key, now)
        if lane < 0:
            return -lane
        put(context, At.ACCEPTED_LANES, k, lane)
    return DONE


_CHOOSING = choosing_by(fitting, False, inlined, COUNTING)
open_window, bind_next, bind_last = _CHOOSING.open_window, _CHOOSING.bind_next, _CHOOSING.bind_last


@inlined
def _bind_single(context: int, step: int) -> bool:
    """Bind the one event that a single ``last`` takes."""
    if not fixed(step, StepField.FLAGS) & StepFlag.PLAIN:
        found: bool = bind_last(context, step)
        return found
    window, position = fixed(step, StepField.WINDOW), fixed(step, StepField.POSITION)
    kind, reference = fixed(step, StepField.TYPE), fixed(step, StepField.REFERENCE)
    return bind_latest(context, lane_of(context, step), kind, reference, window, position)


@inlined
def _bind_brief(context: int, rule: int) -> bool:
    """Bind the events of steps that are told in brief, all of them."""
    begin, end, width = _steps_of(context, rule)
    position = 1
    for step in range(begin, end, width):
        lane = word(context, At.COLUMN_LANE, fixed_half(step, BriefField.COLUMN))
        kind, window = fixed_half(step, BriefField.TYPE), fixed_pair(step, BriefField.WINDOW)
        if not bind_latest(context, lane, kind, position - 1, window, position):
            return False
        position += 1
    return True


@inlined
def _evaluate(context: int, rule_number: int, events_before: int) -> int:
    """Find every combination of choices for the current terminator, depth first, in order of the stream."""
    rule = rule_at(context, rule_number)
    if fixed_half(rule, RuleField.FLAGS) & RuleFlag.BRIEF:
        return emit(context, rule, rule_number, events_before) if _bind_brief(context, rule) else DONE
    steps, cursors = fixed(context, At.STEPS), fixed(context, At.CURSORS)
    begin, end = fixed_half(rule, RuleField.STEPS), fixed_half(rule, RuleField.ABSENCES)
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
        if kind == StepKind.CHOOSE and fixed(step, StepField.FLAGS) & StepFlag.COMPLETES:
            status = emit_window(context, step, rule_number, events_before)
            if status != DONE:
                return status
            forward = False
        elif kind == StepKind.CHOOSE:
            cursor = cursors + _CURSOR_BYTES * (at - begin)
            if forward and fixed(step, StepField.FLAGS) & StepFlag.SINGLE:
                poke(cursor, Cursor.END, 0)
                poke(cursor, Cursor.ENTRY, 0)
                forward = _bind_single(context, step)
            else:
                if forward:
                    open_window(context, step, cursor)
                forward = bind_next(context, step, cursor)
        elif forward and kind == StepKind.COMPUTE:
            compute_aggregate(context, step)
        elif forward:
            forward = all_hold(context, fixed(step, StepField.CONSTRAINTS), fixed(step, StepField.CONSTRAINTS_END))
        at += 1 if forward else -1
    return DONE


run = loop_over(_process)
"""Process the queue of composite events and then the input of a context, from where the last call left it."""
