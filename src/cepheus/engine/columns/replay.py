"""Putting stored rows back into columns, compiled: what restoring a snapshot does."""

from __future__ import annotations

import numpy as np

from cepheus.engine.columns.compiled import compiled
from cepheus.engine.columns.index import accept_indexed, accept_listener
from cepheus.engine.columns.kernel import reserve
from cepheus.engine.columns.lanes import append_entry, append_row, type_at, type_state_at
from cepheus.engine.columns.memory import At, peek, poke, put, word
from cepheus.engine.columns.state import Status, TypeState
from cepheus.plan.program import SLOT_TIME, TypeField


@compiled
def replay(context: int, kind: int, rows: int, count: int, born: int) -> int:
    """Store the rows of a type, given one after the other at an address, and enter them into its columns.

    ``born`` is the address of a word per column: the first row that the column may hold. The type's next row number
    tells where to go on after the caller has grown what was full.
    """
    width = peek(type_at(context, kind), TypeField.WIDTH)
    first = peek(context, At.INPUT_NEXT)
    for at in range(first, count):
        for k in range(width):
            put(context, At.STORE, k, peek(rows, at * width + k))
        poke(context, At.NEEDED_TABLE, -1)
        poke(context, At.RULE_COUNT, 0)
        poke(context, At.COLUMN_COUNT, 0)
        put(context, At.BOUND, 0, 0)
        row = type_at(context, kind)
        for listener in range(peek(row, TypeField.LISTENERS), peek(row, TypeField.LISTENERS_END)):
            accept_listener(context, listener)
        if peek(row, TypeField.INDEXES) < peek(row, TypeField.INDEXES_END):
            accept_indexed(context, kind)
        if peek(context, At.NEEDED_TABLE) >= 0:
            return np.int64(Status.STRING_NEEDED)
        number = peek(type_state_at(context, kind), TypeState.NEXT)
        kept = 0
        for k in range(peek(context, At.COLUMN_COUNT)):
            column = word(context, At.ACCEPTED_COLUMNS, k)
            if peek(born, column) <= number:
                put(context, At.ACCEPTED_COLUMNS, kept, column)
                kept += 1
        time = word(context, At.STORE, SLOT_TIME)
        status = reserve(context, kind, kept, time)
        if status != Status.DONE:
            return status
        append_row(context, kind)
        for k in range(kept):
            append_entry(context, word(context, At.ACCEPTED_LANES, k), time, number)
        poke(context, At.INPUT_NEXT, at + 1)
    return np.int64(Status.DONE)
