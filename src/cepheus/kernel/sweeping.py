"""Lanes that are swept, compiled: what is out of reach is forgotten, lanes that are empty are given back."""

from __future__ import annotations

from cepheus.kernel.compiled import compiled
from cepheus.kernel.lanes import before, column_at, enter_lane, forget_entries, free_block, lane_at, power_of
from cepheus.kernel.memory import At, fixed, peek, poke, put, word
from cepheus.kernel.program import ColumnField, TotalKind
from cepheus.kernel.state import LANE_WORDS, LaneState
from cepheus.kernel.sums import LIMBS


@compiled
def rebuild_hash(context: int) -> None:
    """Enter all lanes into emptied tables."""
    for at in range(fixed(context, At.DIRECT_SIZE)):
        put(context, At.DIRECT, at, -1)
    for at in range(fixed(context, At.HASH_SIZE)):
        put(context, At.HASH, at, -1)
    for lane in range(peek(context, At.LANE_COUNT)):
        if peek(column_at(context, peek(lane_at(context, lane), LaneState.COLUMN)), ColumnField.KEYS) > 0:
            enter_lane(context, lane)


@compiled
def sweep(context: int, now: int, dropped: int) -> None:
    """Forget all that is out of reach; give back lanes that are empty then, or whose column has a 1 in ``dropped``."""
    kept = 0
    for lane in range(peek(context, At.LANE_COUNT)):
        row = lane_at(context, lane)
        column = peek(row, LaneState.COLUMN)
        keyed = fixed(column_at(context, column), ColumnField.KEYS) > 0
        gone = peek(dropped, column) != 0
        if not gone:
            forget_entries(context, lane, before(now, fixed(column_at(context, column), ColumnField.REACH)))
            gone = keyed and peek(row, LaneState.FIRST) == peek(row, LaneState.NEXT)
            gone = gone and fixed(column_at(context, column), ColumnField.TOTAL) == TotalKind.NONE
        if gone:
            free_block(context, peek(row, LaneState.OFFSET), power_of(peek(row, LaneState.MASK) + 1))
            if not keyed:
                put(context, At.COLUMN_LANE, column, -1)
            continue
        if kept != lane:
            target = lane_at(context, kept)
            for k in range(LANE_WORDS):
                poke(target, k, peek(row, k))
            for k in range(LIMBS):
                put(context, At.SUMS, LIMBS * kept + k, word(context, At.SUMS, LIMBS * lane + k))
            if not keyed:
                put(context, At.COLUMN_LANE, column, kept)
        kept += 1
    poke(context, At.LANE_COUNT, kept)
    rebuild_hash(context)
