"""Acceptance, compiled: a terminator joins the instances it completes and settles what they left open.

Choices are made as the rule says them, from the terminator backwards, each among the instances whose later events are
those chosen already. They stand side by side in their lane, in the order of the stream.
"""

from __future__ import annotations

from cepheus.engine.automata.instances import (
    drop_expired,
    end_before,
    find,
    instance_at,
    key_of_event,
    lane_at,
    state_at,
)
from cepheus.engine.automata.state import In, InstanceLane
from cepheus.engine.automata.tables import ChoiceField, StateField
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.emit import emit, rule_at
from cepheus.kernel.lanes import row_offset
from cepheus.kernel.machine import all_hold
from cepheus.kernel.memory import At, fixed, fixed_half, peek, poke, put, table, word
from cepheus.kernel.program import PolicyCode, RuleField, StepField, StepKind
from cepheus.kernel.state import DONE, Cursor
from cepheus.kernel.windows import compute_aggregate

_STEP_BYTES = StepField.row_bytes()
_CURSOR_BYTES = Cursor.row_bytes()
_CHOICE_BYTES = ChoiceField.row_bytes()


@compiled
def settle(context: int, memory: int, rule_number: int, now: int, events_before: int) -> int:
    """Find every combination of choices for the current terminator, depth first, in order of the stream."""
    rule = rule_at(context, rule_number)
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
        step = fixed(context, At.STEPS) + _STEP_BYTES * at
        kind = fixed(step, StepField.KIND)
        if kind == StepKind.CHOOSE:
            cursor = fixed(context, At.CURSORS) + _CURSOR_BYTES * (at - begin)
            choice = fixed(memory, In.CHOICES) + _CHOICE_BYTES * at
            if forward:
                _open(context, memory, step, choice, cursor, now)
            forward = _next(context, memory, step, choice, cursor)
        elif forward and kind == StepKind.COMPUTE:
            compute_aggregate(context, step)
        elif forward:
            forward = all_hold(context, fixed(step, StepField.CONSTRAINTS), fixed(step, StepField.CONSTRAINTS_END))
        at += 1 if forward else -1
    return DONE


@compiled
def _open(context: int, memory: int, step: int, choice: int, cursor: int, now: int) -> None:
    """Place a cursor on the instances that a selection may take."""
    poke(cursor, Cursor.ENTRY, 0)
    poke(cursor, Cursor.END, 0)
    number = fixed(choice, ChoiceField.STATE)
    state = state_at(memory, number)
    found = find(memory, number, key_of_event(context, memory, state, word(context, At.BOUND, 0)))
    if found < 0:
        return
    lane = lane_at(memory, found)
    drop_expired(memory, lane, fixed(state, StateField.WINDOW), now)
    index = fixed(choice, ChoiceField.INDEX)
    begin, end = peek(lane, InstanceLane.FIRST), end_before(memory, lane, now)
    if index + 1 < fixed(state, StateField.LENGTH):
        begin = _bound_from(memory, state, lane, index, begin, end, 0)
        end = _bound_from(memory, state, lane, index, begin, end, 1)
    wanted = fixed(step, StepField.COUNT)
    if fixed(step, StepField.POLICY) == PolicyCode.LAST:
        entry, left = end, wanted
        while left > 0 and entry > begin:
            entry -= 1
            if _candidate(context, memory, step, instance_at(memory, lane, entry), index):
                left -= 1
        if left == wanted:
            return
        begin = entry
    poke(cursor, Cursor.ENTRY, begin)
    poke(cursor, Cursor.END, end)
    poke(cursor, Cursor.LEFT, wanted)
    poke(cursor, Cursor.LANE, lane)


@inlined
def _bound_from(memory: int, state: int, lane: int, index: int, begin: int, end: int, beyond: int) -> int:
    """Give the first instance whose events after ``index`` are the bound ones, or lie beyond them (if 1)."""
    low, high = begin, end
    while low < high:
        middle = (low + high) >> 1
        if _order(memory, state, instance_at(memory, lane, middle), index) < beyond:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _order(memory: int, state: int, instance: int, index: int) -> int:
    """Compare the events of an instance after ``index`` with the bound ones, the latest first: -1, 0 or 1."""
    at = fixed(state, StateField.LENGTH)
    while at > index + 1:
        at -= 1
        bound = word(memory, In.ROWS, table(memory, In.PATHS, fixed(state, StateField.PATH) + at))
        number = peek(instance, 1 + at)
        if number != bound:
            return -1 if number < bound else 1
    return 0


@inlined
def _candidate(context: int, memory: int, step: int, instance: int, index: int) -> bool:
    """Bind an event of an instance; tell whether it is still there for the rule and satisfies what is left to check."""
    position, number = fixed(step, StepField.POSITION), peek(instance, 1 + index)
    base = row_offset(context, fixed(step, StepField.TYPE), number)
    put(context, At.BOUND, position, base)
    put(memory, In.ROWS, position, number)
    slot = fixed(step, StepField.CONSUMED_SLOT)
    if slot >= 0 and (word(context, At.STORE, base + slot) >> fixed(step, StepField.CONSUMED_BIT)) & 1:
        return False
    return all_hold(context, fixed(step, StepField.CONSTRAINTS), fixed(step, StepField.CONSTRAINTS_END))


@inlined
def _next(context: int, memory: int, step: int, choice: int, cursor: int) -> bool:
    """Bind the next event that the selection takes; instances that have the same event there are passed together."""
    entry, end = peek(cursor, Cursor.ENTRY), peek(cursor, Cursor.END)
    if entry >= end:
        return False
    index = fixed(choice, ChoiceField.INDEX)
    lane = peek(cursor, Cursor.LANE)
    while entry < end:
        instance = instance_at(memory, lane, entry)
        number = peek(instance, 1 + index)
        entry += 1
        if index > 0:
            while entry < end and peek(instance_at(memory, lane, entry), 1 + index) == number:
                entry += 1
        if _candidate(context, memory, step, instance, index):
            left = peek(cursor, Cursor.LEFT) - 1
            poke(cursor, Cursor.LEFT, left)
            poke(cursor, Cursor.ENTRY, end if left == 0 else entry)
            return True
    poke(cursor, Cursor.ENTRY, end)
    return False
