"""Advancing, compiled: an event starts sequences, and clones those it leads on from."""

from __future__ import annotations

from cepheus.engine.automata.instances import (
    add_instance,
    drop_expired,
    end_before,
    find,
    instance_at,
    key_of_event,
    lane_at,
    state_at,
)
from cepheus.engine.automata.state import In, InstanceLane
from cepheus.engine.automata.tables import NeedField, StateField
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import row_offset
from cepheus.kernel.machine import all_hold
from cepheus.kernel.memory import At, fixed, peek, poke, put, table
from cepheus.kernel.program import PolicyCode
from cepheus.kernel.state import DONE

_NEED_BYTES = NeedField.row_bytes()


@inlined
def advance(context: int, memory: int, entrance: int, base: int, row_number: int, now: int) -> int:
    """Take the event at ``base`` into every state that an entrance leads to; 0, or what there is too little of."""
    for at in range(table(memory, In.ENTRANCES, 2 * entrance), table(memory, In.ENTRANCES, 2 * entrance + 1)):
        number = table(memory, In.ENTERED, at)
        record = fixed(memory, In.RECORD)
        poke(record, 0, now)
        if fixed(state_at(memory, number), StateField.LENGTH) == 1:
            poke(record, 1, row_number)
            status = add_instance(context, memory, number, record)
        else:
            status = _lead_on(context, memory, number - 1, base, row_number, now)
        if status != DONE:
            return status
    return DONE


@compiled
def _lead_on(context: int, memory: int, number: int, base: int, row_number: int, now: int) -> int:
    """Clone the instances of a state that the event at ``base`` leads on from, and advance the clones.

    Where this event settles which of the latest events is chosen, the instances of the others go no further.
    """
    state = state_at(memory, number)
    found = find(memory, number, key_of_event(context, memory, state, base))
    if found < 0:
        return DONE
    lane = lane_at(memory, found)
    drop_expired(memory, lane, fixed(state, StateField.WINDOW), now)
    length, policy = fixed(state, StateField.LENGTH), fixed(state, StateField.POLICY)
    put(context, At.BOUND, table(memory, In.PATHS, fixed(state, StateField.PATH) + length), base)
    begin, end = peek(lane, InstanceLane.FIRST), end_before(memory, lane, now)
    if policy == PolicyCode.LAST:
        begin = _first_of_last(context, memory, state, lane, begin, end)
    left = fixed(state, StateField.COUNT) if policy == PolicyCode.FIRST else -1
    latest = -1
    record = fixed(memory, In.RECORD)
    for entry in range(begin, end):
        instance = instance_at(memory, lane, entry)
        if not _fits(context, memory, state, instance):
            continue
        if peek(instance, length) != latest:
            if left == 0:
                break
            left -= 1
            latest = peek(instance, length)
        for k in range(length):
            poke(record, 1 + k, peek(instance, 1 + k))
        poke(record, 1 + length, row_number)
        status = add_instance(context, memory, number + 1, record)
        if status != DONE:
            return status
    return DONE


@inlined
def _fits(context: int, memory: int, state: int, instance: int) -> bool:
    """Tell whether an instance and the event bound after it satisfy the constraints of the transition."""
    begin, end = fixed(state, StateField.CONSTRAINTS), fixed(state, StateField.CONSTRAINTS_END)
    if begin == end:
        return True
    for at in range(fixed(state, StateField.NEEDS), fixed(state, StateField.NEEDS_END)):
        need = fixed(memory, In.NEEDS) + _NEED_BYTES * at
        number = peek(instance, 1 + fixed(need, NeedField.INDEX))
        put(
            context,
            At.BOUND,
            fixed(need, NeedField.POSITION),
            row_offset(context, fixed(need, NeedField.TYPE), number),
        )
    return all_hold(context, begin, end)


@compiled
def _first_of_last(context: int, memory: int, state: int, lane: int, begin: int, end: int) -> int:
    """Give the first of the instances whose latest event is one of the last that fit, as many as the policy takes."""
    length, left = fixed(state, StateField.LENGTH), fixed(state, StateField.COUNT)
    latest = -1
    first = end
    entry = end
    while entry > begin:
        entry -= 1
        instance = instance_at(memory, lane, entry)
        if left == 0 and peek(instance, length) != latest:
            break
        if _fits(context, memory, state, instance):
            if peek(instance, length) != latest:
                latest = peek(instance, length)
                left -= 1
            first = entry
    return first
