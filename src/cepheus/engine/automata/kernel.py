"""The kernel of AIP: events in, composite events out, in one compiled loop.

For each event: find the rules it terminates, the columns of negations and aggregates it belongs to, and the entrances
to states of sequences. Let terminators settle what is complete; start and clone sequences; then store the event.
Nothing is changed for good before all of that has succeeded: when space runs out, instances made for the event are
taken back, the caller grows what is full, and the event is taken again.

A terminator settles what the instances that it completes have left open by the search of all kernels: choices are made
as the rule says them, from the terminator backwards, each among the instances whose later events are those chosen
already. They stand side by side in their lane, in the order of the stream.
"""

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
    take_back,
)
from cepheus.engine.automata.state import In, InstanceLane
from cepheus.engine.automata.tables import ChoiceField, NeedField, StateField
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.emit import commit_output, emit, enqueue
from cepheus.kernel.lanes import row_offset, type_state_at
from cepheus.kernel.loop import loop_over
from cepheus.kernel.machine import all_hold
from cepheus.kernel.memory import At, fixed, peek, poke, put, table, word
from cepheus.kernel.process import accept, reserve, store_entry
from cepheus.kernel.program import SLOT_TIME, PolicyCode, StepField
from cepheus.kernel.search import Steps, constraints_hold, keep_all, search_all_with, search_with
from cepheus.kernel.state import DONE, STRING_NEEDED, Cursor, TypeState
from cepheus.kernel.type_rows import append_row
from cepheus.kernel.windows import compute_aggregate

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
    """Whether an instance and the event bound after it satisfy the constraints of the transition."""
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
    """Find the first of the instances whose latest event is one of the last that fit, as many as the policy takes."""
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
    """Find the first instance whose events after ``index`` are the bound ones, or lie beyond them (if 1)."""
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


@inlined
def _columns_first(context: int, memory: int, accepted: int) -> int:
    """Put the columns among what was accepted before the entrances, and return how many there are."""
    columns = 0
    for k in range(accepted):
        number = word(context, At.ACCEPTED_COLUMNS, k)
        if number < fixed(memory, In.COLUMN_COUNT):
            put(context, At.ACCEPTED_COLUMNS, k, word(context, At.ACCEPTED_COLUMNS, columns))
            put(context, At.ACCEPTED_COLUMNS, columns, number)
            columns += 1
    return columns


@inlined
def _queue_later(_context: int) -> int:
    """Leave composite events where they are until the sequences have advanced: these may still run out of room."""
    return DONE


_settle_all = search_all_with(settle, _queue_later, inlined)


@compiled
def _process(context: int, kind: int, base: int, now: int) -> int:
    """Take the event at ``base``; if that fails, leave everything as it was."""
    memory = fixed(context, At.MEMORY)
    put(context, At.BOUND, 0, base)
    rules, accepted = accept(context, kind)
    if peek(context, At.NEEDED_TABLE) >= 0:
        return STRING_NEEDED
    if rules + accepted == 0:
        return DONE
    columns = _columns_first(context, memory, accepted)
    row_number = peek(type_state_at(context, kind), TypeState.NEXT)
    status = reserve(context, base, columns, now)
    if status == DONE:
        status = _settle_all(context, rules)
    poke(memory, In.MADE_COUNT, 0)
    for k in range(columns, accepted):
        if status == DONE:
            entrance = word(context, At.ACCEPTED_COLUMNS, k) - fixed(memory, In.COLUMN_COUNT)
            status = advance(context, memory, entrance, base, row_number, now)
    if peek(context, At.NEEDED_TABLE) >= 0:
        status = STRING_NEEDED
    if status == DONE and rules > 0:
        status = enqueue(context)
    if status != DONE:
        take_back(memory)
        return status
    if rules > 0:
        commit_output(context)
    if accepted > 0:
        append_row(context, kind)
        for k in range(columns):
            store_entry(context, k, base, now, row_number)
    return DONE


run = loop_over(_process)
"""Process the queue of composite events and then the input of a context, from where the last call left it."""


@compiled
def put_back(context: int, memory: int, state: int, instances: int, stride: int, begin: int, end: int) -> int:
    """Add saved instances of a state, records one after the other at an address; return where it had to stop.

    What was too little is then in ``SHORTAGE``.
    """
    for at in range(begin, end):
        poke(memory, In.MADE_COUNT, 0)
        status = add_instance(context, memory, state, instances + 8 * stride * at)
        if status != DONE:
            poke(memory, In.SHORTAGE, status)
            return at
    return end
