"""Totals since the start, compiled: what lanes know of events that are long gone is put back from a snapshot.

A column with a total takes the values of its entries into it before they are forgotten (``lanes``), so that an
aggregate since the start costs a lane, whatever the number of events.
"""

from __future__ import annotations

from cepheus.kernel.compiled import compiled
from cepheus.kernel.lanes import lane_at, reserve_lane
from cepheus.kernel.memory import At, peek, poke, put
from cepheus.kernel.program import MAX_KEYS
from cepheus.kernel.state import DONE, LaneState
from cepheus.kernel.sums import LIMBS

TOTAL_WORDS = MAX_KEYS + 1 + LIMBS + 1
"""Of the total of a lane: its key, the number of its events, their sum or extreme, how many are too far out."""


@compiled
def put_total(context: int, column: int, total: int, now: int) -> int:
    """Have a lane know what is written at an address of all its events: their key, number, sum, how much is inexact.

    It gives a status; nothing has changed if that is not DONE.
    """
    lane = reserve_lane(context, column, total, now)
    if lane < 0:
        return -lane
    row = lane_at(context, lane)
    poke(row, LaneState.SUM_FIRST, -peek(total, MAX_KEYS))
    for k in range(LIMBS):
        put(context, At.SUMS, LIMBS * lane + k, peek(total, MAX_KEYS + 1 + k))
    poke(row, LaneState.INEXACT, peek(total, MAX_KEYS + 1 + LIMBS))
    return DONE
