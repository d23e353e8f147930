"""Putting stored rows back into columns, compiled: what restoring a snapshot does."""

from __future__ import annotations

from cepheus.engine.columns.kernel import accept, reserve
from cepheus.kernel.compiled import compiled
from cepheus.kernel.lanes import append_entry, append_row, place_row, type_at, type_state_at
from cepheus.kernel.memory import At, fixed, peek, poke, put, word
from cepheus.kernel.program import SLOT_TIME, TypeField
from cepheus.kernel.state import DONE, STORE_FULL, STRING_NEEDED, TypeState


@compiled
def replay(context: int, kind: int, rows: int, count: int, born: int) -> int:
    """Store the rows of a type, given one after the other at an address, and enter them into its columns.

    ``born`` is the address of a word per column: the first row that the column may hold. The type's next row number
    tells where to go on after the caller has grown what was full.
    """
    width = fixed(type_at(context, kind), TypeField.WIDTH)
    for at in range(peek(context, At.INPUT_NEXT), count):
        row = rows + 8 * at * width
        time = peek(row, SLOT_TIME)
        base = place_row(context, kind, time)
        if base < 0:
            return STORE_FULL
        for k in range(width):
            put(context, At.STORE, base + k, peek(row, k))
        put(context, At.BOUND, 0, base)
        _, columns = accept(context, kind)
        if peek(context, At.NEEDED_TABLE) >= 0:
            return STRING_NEEDED
        number = peek(type_state_at(context, kind), TypeState.NEXT)
        kept = 0
        for k in range(columns):
            column = word(context, At.ACCEPTED_COLUMNS, k)
            if peek(born, column) <= number:
                put(context, At.ACCEPTED_COLUMNS, kept, column)
                kept += 1
        status = reserve(context, base, kept, time)
        if status != DONE:
            return status
        append_row(context, kind)
        for k in range(kept):
            append_entry(context, word(context, At.ACCEPTED_LANES, k), base, time, number)
        poke(context, At.INPUT_NEXT, at + 1)
    return DONE
