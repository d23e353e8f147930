"""Rows of event types in the store, compiled: place, make room, append.

Each type has a ring of rows, numbered from 0 and never renumbered. What no window can reach makes room for what comes.
"""

from __future__ import annotations

from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import (
    before,
    column_at,
    forget_entries,
    grow_lane,
    lane_at,
    last_place,
    row_offset,
    type_at,
    type_state_at,
)
from cepheus.kernel.memory import At, fixed, peek, poke, put, word
from cepheus.kernel.program import SLOT_TIME, ColumnField, TypeField
from cepheus.kernel.state import ENTRIES_FULL, SMALLEST_LANE, STORE_FULL, LaneState, TypeState


@inlined
def place_row(context: int, kind: int, now: int) -> int:
    """The place in the store where the next row of a type goes; -1 if the store must grow first.

    The row does not count before ``append_row``. A type that nothing stores has its only row at the beginning.
    """
    if not fixed(type_at(context, kind), TypeField.STORED):
        return 0
    row = type_state_at(context, kind)
    if peek(row, TypeState.NEXT) - peek(row, TypeState.FIRST) > peek(row, TypeState.MASK) and not _make_room(
        context, kind, now
    ):
        return -1
    return row_offset(context, kind, peek(row, TypeState.NEXT))


@compiled
def _make_room(context: int, kind: int, now: int) -> bool:
    """Free rows that no window can reach, or move to a ring twice as large; False if the store is too small."""
    row = type_state_at(context, kind)
    offset, mask = peek(row, TypeState.OFFSET), peek(row, TypeState.MASK)
    first, end = peek(row, TypeState.FIRST), peek(row, TypeState.NEXT)
    width = fixed(type_at(context, kind), TypeField.WIDTH)
    horizon = before(now, fixed(type_at(context, kind), TypeField.REACH))
    while first < end and word(context, At.STORE, offset + (first & mask) * width + SLOT_TIME) < horizon:
        first += 1
    poke(row, TypeState.FIRST, first)
    size = mask + 1
    if size > 0 and 4 * (end - first) <= 3 * size:
        return True
    larger = max(4, 2 * size)
    used = peek(context, At.STORE_USED)
    if used + larger * width > fixed(context, At.STORE_SIZE):
        return end - first <= mask
    for entry in range(first, end):
        source = offset + (entry & mask) * width
        target = used + (entry & (larger - 1)) * width
        for k in range(width):
            put(context, At.STORE, target + k, word(context, At.STORE, source + k))
    _point_lanes(context, kind, used, larger - 1)
    poke(context, At.STORE_USED, used + larger * width)
    poke(row, TypeState.OFFSET, used)
    poke(row, TypeState.MASK, larger - 1)
    return True


@compiled
def _point_lanes(context: int, kind: int, new_offset: int, new_mask: int) -> None:
    """Note in a type's lanes where the row of their latest event will be, while the type's ring is still the old."""
    row = type_state_at(context, kind)
    offset, mask, width = peek(row, TypeState.OFFSET), peek(row, TypeState.MASK), peek(row, TypeState.WIDTH)
    last = peek(row, TypeState.NEXT) - 1
    for at in range(peek(context, At.LANE_COUNT)):
        lane = lane_at(context, at)
        if fixed(column_at(context, peek(lane, LaneState.COLUMN)), ColumnField.TYPE) != kind:
            continue
        place = (last_place(lane) - offset) // width
        if place < 0 or place > mask:  # it had none yet
            continue
        number = last - ((last - place) & mask)
        moved = new_offset + (number & new_mask) * width
        poke(lane, LaneState.LAST_PLACE, 2 * moved + (peek(lane, LaneState.LAST_PLACE) & 1))


@compiled
def room_in_column(context: int, column: int, now: int) -> int:
    """How many events may enter a column without keys before anything in it, or of its type, is forgotten.

    What no window can reach at a time is forgotten now, and where little room is left more is made, so that it is about
    a quarter of what there is. Minus a status if space must grow first.
    """
    kind = fixed(column_at(context, column), ColumnField.TYPE)
    row = type_state_at(context, kind)
    size = peek(row, TypeState.MASK) + 1
    if 4 * (peek(row, TypeState.NEXT) - peek(row, TypeState.FIRST)) >= 3 * size and not _make_room(context, kind, now):
        return -STORE_FULL
    room = peek(row, TypeState.MASK) + 1 - (peek(row, TypeState.NEXT) - peek(row, TypeState.FIRST))
    lane = word(context, At.COLUMN_LANE, column)
    if lane < 0:
        return min(room, 1 << SMALLEST_LANE)
    row = lane_at(context, lane)
    size = peek(row, LaneState.MASK) + 1
    if 4 * (peek(row, LaneState.NEXT) - peek(row, LaneState.FIRST)) >= 3 * size:
        forget_entries(context, lane, before(now, fixed(column_at(context, column), ColumnField.REACH)))
        if 4 * (peek(row, LaneState.NEXT) - peek(row, LaneState.FIRST)) >= 3 * size and not grow_lane(context, lane):
            return -ENTRIES_FULL
    return min(room, peek(row, LaneState.MASK) + 1 - (peek(row, LaneState.NEXT) - peek(row, LaneState.FIRST)))


@inlined
def append_row(context: int, kind: int) -> int:
    """Make the row that was placed last count, and return its number."""
    row = type_state_at(context, kind)
    entry = peek(row, TypeState.NEXT)
    poke(row, TypeState.NEXT, entry + 1)
    return entry
