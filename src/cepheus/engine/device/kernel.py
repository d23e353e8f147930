"""The kernel of the device engine: that of columns, except that terminators of some rules are put off.

A terminator that is put off is written down with its row, and evaluated later together with others, on a device or, by
``evaluate_here``, on the host. Windows end strictly before their terminators, so events that come in between do not
matter, if two things are seen to: nothing that a terminator may look at is forgotten before it is evaluated, and no
event of its very time enters a column before, because simultaneous events are counted. ``ready`` sees to both.
"""

from __future__ import annotations

from cepheus.engine.columns.kernel import search_all
from cepheus.engine.device.put_off import HEAD, PutOffAt, RecordField
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.emit import commit_output
from cepheus.kernel.lanes import row_offset, type_at, type_state_at
from cepheus.kernel.loop import loop_over
from cepheus.kernel.memory import At, fixed, peek, poke, put, word
from cepheus.kernel.process import Handling, accept, enter, fetch, process_with, store_entry
from cepheus.kernel.program import SLOT_ID, SLOT_TIME, TypeField
from cepheus.kernel.state import DONE, PUT_OFF, OutputHeader, TypeState
from cepheus.kernel.ties import commit_ties


@inlined
def _record_at(memory: int, at: int) -> int:
    """The address of a terminator that was put off."""
    return fixed(memory, PutOffAt.RECORDS) + 8 * fixed(memory, PutOffAt.WIDTH) * at


@inlined
def _ready(context: int, kind: int, time: int) -> int:
    """Whether an event can be taken before what was put off is evaluated."""
    memory = fixed(context, At.MEMORY)
    left = peek(memory, PutOffAt.LEFT)
    if left <= 0:
        return PUT_OFF
    simultaneous = peek(memory, PutOffAt.COUNT) > 0 and time == peek(memory, PutOffAt.TIME)
    if simultaneous and fixed(type_at(context, kind), TypeField.STORED):
        return PUT_OFF
    poke(memory, PutOffAt.LEFT, left - 1)
    return DONE


@compiled
def _search_or_put_off(context: int, rules: int) -> int:
    """Search for matches of the accepted rules; of some the current event is written down for later."""
    memory = fixed(context, At.MEMORY)
    flags, count = fixed(memory, PutOffAt.RULES), peek(memory, PutOffAt.COUNT)
    last = count
    kept = 0
    for k in range(rules):
        rule = word(context, At.ACCEPTED_RULES, k)
        if peek(flags, rule) == 0:
            put(context, At.ACCEPTED_RULES, kept, rule)
            kept += 1
            continue
        if last >= fixed(memory, PutOffAt.MOST):
            return PUT_OFF
        poke(_record_at(memory, last), RecordField.RULE, rule)
        last += 1
    status = search_all(context, kept)
    if status == DONE and last > count:
        _write_down(context, memory, count, last)
    return status


@compiled
def _write_down(context: int, memory: int, first: int, end: int) -> None:
    """Write down the current event for the rules of so many records, and where in the output what it makes belongs."""
    base = word(context, At.BOUND, 0)
    store = fixed(context, At.STORE) + 8 * base
    kind = _kind_of(context, memory, peek(_record_at(memory, first), RecordField.RULE))
    rules = fixed(fixed(context, At.OUTPUT), OutputHeader.RULE)
    place, found = peek(context, At.OUTPUT_EVENTS), peek(context, At.FOUND_EVENTS)
    others = found - place
    serial = peek(memory, PutOffAt.SERIAL) + 1
    for at in range(first, end):
        record = _record_at(memory, at)
        while place < found and peek(rules, place) < peek(record, RecordField.RULE):
            place += 1
        poke(record, RecordField.PLACE, place)
        poke(record, RecordField.OTHERS, others)
        poke(record, RecordField.SERIAL, serial)
        poke(record, RecordField.KIND, kind)
        poke(record, RecordField.ROW, peek(type_state_at(context, kind), TypeState.NEXT))
        for k in range(fixed(type_at(context, kind), TypeField.WIDTH)):
            poke(record, HEAD + k, peek(store, k))
    poke(memory, PutOffAt.SERIAL, serial)
    poke(memory, PutOffAt.TIME, peek(store, SLOT_TIME))
    poke(memory, PutOffAt.COUNT, end)


@inlined
def _kind_of(_context: int, memory: int, rule: int) -> int:
    """The type of the terminators of a rule."""
    return fixed(fixed(memory, PutOffAt.TYPES), rule)


@compiled
def evaluate_here(context: int) -> int:
    """Evaluate what was put off on the host, from where the last call left it; note what each terminator made.

    What is found is put behind what is in the output.
    """
    memory = fixed(context, At.MEMORY)
    for at in range(peek(memory, PutOffAt.DONE), peek(memory, PutOffAt.COUNT)):
        record = _record_at(memory, at)
        kind, number = peek(record, RecordField.KIND), peek(record, RecordField.ROW)
        width = fixed(type_at(context, kind), TypeField.WIDTH)
        base = 0
        if number < peek(type_state_at(context, kind), TypeState.NEXT):
            base = row_offset(context, kind, number)
            stored = fixed(context, At.STORE) + 8 * base
            if peek(stored, SLOT_ID) != peek(record, HEAD + SLOT_ID) or peek(stored, SLOT_TIME) != peek(
                record, HEAD + SLOT_TIME
            ):
                base = 0  # it was not stored, and another event has the number
        if base == 0:
            for k in range(width):
                put(context, At.STORE, k, peek(record, HEAD + k))
        put(context, At.BOUND, 0, base)
        put(context, At.ACCEPTED_RULES, 0, peek(record, RecordField.RULE))
        before = peek(context, At.OUTPUT_EVENTS)
        status = search_all(context, 1)
        if status != DONE:
            poke(memory, PutOffAt.DONE, at)
            return status
        commit_output(context)
        commit_ties(context, kind, base)
        poke(record, RecordField.MADE, peek(context, At.OUTPUT_EVENTS) - before)
    poke(memory, PutOffAt.DONE, peek(memory, PutOffAt.COUNT))
    return DONE


run = loop_over(
    process_with(Handling(accept, fetch, _search_or_put_off, store_entry), inlined), search_all, enter, _ready
)
"""Process the queue of composite events and then the input of a context, from where the last call left it."""
