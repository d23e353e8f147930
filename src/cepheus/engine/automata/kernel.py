"""The kernel of AIP: events in, composite events out, in one compiled loop.

For each event: find the rules it terminates, the columns of negations and aggregates it belongs to, and the entrances
to states of sequences. Let terminators settle what is complete; start and clone sequences; then store the event.
Like the kernel of columns, it changes nothing for good before all of that has succeeded: when space runs out, instances
made for the event are taken back, the caller grows what is full, and the event is taken again.
"""

from __future__ import annotations

from cepheus.engine.automata.advance import advance
from cepheus.engine.automata.instances import add_instance, take_back
from cepheus.engine.automata.settle import settle
from cepheus.engine.automata.state import In
from cepheus.engine.columns.kernel import accept, reserve
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.emit import commit_output, enqueue
from cepheus.kernel.lanes import append_entry, append_row, type_state_at
from cepheus.kernel.loop import loop_over
from cepheus.kernel.memory import At, fixed, peek, poke, put, word
from cepheus.kernel.state import DONE, STRING_NEEDED, TypeState


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
        status = _settle_all(context, memory, rules, now)
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
            append_entry(context, word(context, At.ACCEPTED_LANES, k), base, now, row_number)
    return DONE


@inlined
def _columns_first(context: int, memory: int, accepted: int) -> int:
    """Put the columns among what was accepted before the entrances, and give how many there are."""
    columns = 0
    for k in range(accepted):
        number = word(context, At.ACCEPTED_COLUMNS, k)
        if number < fixed(memory, In.COLUMN_COUNT):
            put(context, At.ACCEPTED_COLUMNS, k, word(context, At.ACCEPTED_COLUMNS, columns))
            put(context, At.ACCEPTED_COLUMNS, columns, number)
            columns += 1
    return columns


@inlined
def _settle_all(context: int, memory: int, rules: int, now: int) -> int:
    """Settle the accepted rules; what they find stays provisional until it is committed."""
    events = peek(context, At.OUTPUT_EVENTS)
    poke(context, At.FOUND_EVENTS, events)
    poke(context, At.MARK_COUNT, 0)
    for k in range(rules):
        status = settle(context, memory, word(context, At.ACCEPTED_RULES, k), now, events)
        if status != DONE:
            return status
    return DONE


run = loop_over(_process)
"""Process the queue of composite events and then the input of a context, from where the last call left it."""


@compiled
def put_back(context: int, memory: int, state: int, instances: int, stride: int, begin: int, end: int) -> int:
    """Add saved instances of a state, records one after the other at an address; give where it had to stop.

    What was too little is then in ``SHORTAGE``.
    """
    for at in range(begin, end):
        poke(memory, In.MADE_COUNT, 0)
        status = add_instance(context, memory, state, instances + 8 * stride * at)
        if status != DONE:
            poke(memory, In.SHORTAGE, status)
            return at
    return end
