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
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.emit import commit_output, enqueue
from cepheus.kernel.lanes import append_row, type_state_at
from cepheus.kernel.loop import loop_over
from cepheus.kernel.memory import At, fixed, peek, poke, put, word
from cepheus.kernel.process import accept, reserve, store_entry
from cepheus.kernel.search import search_all_with
from cepheus.kernel.state import DONE, STRING_NEEDED, TypeState


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
