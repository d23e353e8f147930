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
from cepheus.kernel.emit import emit
from cepheus.kernel.lanes import row_offset
from cepheus.kernel.machine import all_hold
from cepheus.kernel.memory import At, fixed, peek, poke, put, table, word
from cepheus.kernel.program import SLOT_TIME, PolicyCode, StepField
from cepheus.kernel.search import Steps, constraints_hold, keep_all, search_with
from cepheus.kernel.state import Cursor
from cepheus.kernel.windows import compute_aggregate

_CHOICE_BYTES = ChoiceField.row_bytes()


@inlined
def _choose(
    context: int, at: int, step: int, cursor: int, forward: bool, _rule_number: int, _events_before: int
) -> bool:
    """Bind an event that a selection takes, among those of the instances that lead on from what is bound."""
    memory = fixed(context, At.MEMORY)
    choice = fixed(memory, In.CHOICES) + _CHOICE_BYTES * at
    if forward:
        now = word(context, At.STORE, word(context, At.BOUND, 0) + SLOT_TIME)
        _open(context, memory, step, choice, cursor, now)
    return _next(context, memory, step, choice, cursor)


@inlined
def _compute(context: int, _at: int, step: int) -> bool:
    """Compute an aggregate; what requires it to be defined is a step of its own."""
    compute_aggregate(context, step)
    return True


@inlined
def _complete(context: int, rule: int, rule_number: int, events_before: int, _depth: int) -> int:
    """Make a composite event, unless an event that must be absent is there."""
    return emit(context, rule, rule_number, events_before)


settle = search_with(Steps(_choose, _compute, constraints_hold, keep_all, _complete), compiled)
"""Find every combination of choices for the current terminator, among the instances that it completes."""


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
