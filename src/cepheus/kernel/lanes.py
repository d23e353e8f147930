"""Lanes of columns, compiled: look up, make room, append, search.

A column keeps its events in lanes, one per value of its key. A lane is a ring of entries in the order of the stream, so
a window is a range of it, found by binary search. An entry is the time of an event and its row in the store of its
type; the values that columns sum are beside the entries. Entries and rows are numbered from 0 and never renumbered.
"""

from __future__ import annotations

import numpy as np

from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.memory import At, fixed, peek, poke, put, signed, word
from cepheus.kernel.program import SLOT_ORDER, SLOT_TIME, ColumnField, Forgets, TotalKind, TypeField, ValueKind
from cepheus.kernel.state import (
    ENTRIES_FULL,
    ENTRY_WORDS,
    LANE_WORDS,
    LANES_FULL,
    SMALLEST_LANE,
    EntryField,
    LaneState,
    TypeState,
)
from cepheus.kernel.sums import LIMBS, add_floats, add_integer, clear, keep_extreme

_INT_MIN = -(2**63)
_LATEST_FEW = 16
"""The entries of a lane that keeps the latest events only, so that it need not forget at each."""
_LANE_BYTES = 8 * LANE_WORDS
_COLUMN_BYTES = ColumnField.row_bytes()
_TYPE_BYTES = TypeField.row_bytes()
_TYPE_STATE_BYTES = TypeState.row_bytes()
_SUM_BYTES = 8 * LIMBS
_ENTRY_BYTES = 8 * ENTRY_WORDS


@inlined
def before(time: int, duration: int) -> int:
    """``time - duration``, or the beginning of time where that does not fit."""
    return _INT_MIN if time < _INT_MIN + duration else time - duration


@inlined
def mix(digest: np.uint64, stirred: int) -> np.uint64:
    """Stir a word into a hash (one step of splitmix64)."""
    digest = (digest ^ np.uint64(stirred)) + np.uint64(0x9E3779B97F4A7C15)
    digest = (digest ^ (digest >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    digest = (digest ^ (digest >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return digest ^ (digest >> np.uint64(31))


@inlined
def entry_at(context: int, at: int) -> int:
    """The address of an entry."""
    return fixed(context, At.ENTRIES) + _ENTRY_BYTES * at


@inlined
def value_at(context: int, at: int) -> int:
    """The address of the value of an entry."""
    return fixed(context, At.VALUES) + 8 * at


@inlined
def entry_time(context: int, at: int) -> int:
    """The time of an entry."""
    return peek(entry_at(context, at), EntryField.TIME)


@inlined
def entry_row(context: int, at: int) -> int:
    """The row of an entry."""
    return peek(entry_at(context, at), EntryField.ROW)


@inlined
def lane_at(context: int, lane: int) -> int:
    """The address of a lane."""
    return fixed(context, At.LANES) + _LANE_BYTES * lane


@inlined
def last_place(lane: int) -> int:
    """The place of the row of the latest event of the lane at an address."""
    return peek(lane, LaneState.LAST_PLACE) >> 1


@inlined
def column_at(context: int, column: int) -> int:
    """The address of a column's row."""
    return fixed(context, At.COLUMNS) + _COLUMN_BYTES * column


@inlined
def type_at(context: int, kind: int) -> int:
    """The address of a type's row."""
    return fixed(context, At.TYPES) + _TYPE_BYTES * kind


@inlined
def type_state_at(context: int, kind: int) -> int:
    """The address of a type's state."""
    return fixed(context, At.TYPE_STATE) + _TYPE_STATE_BYTES * kind


@inlined
def _hash(column: int, key: int, count: int) -> int:
    """The hash of a key, the words at an address, within a column."""
    digest = np.uint64(column)
    for k in range(count):
        digest = (digest ^ np.uint64(peek(key, k))) * np.uint64(0x9E3779B97F4A7C15)
        digest ^= digest >> np.uint64(29)
    return signed(digest >> np.uint64(1))


@inlined
def find_lane(context: int, column: int, key: int) -> int:
    """Find the lane of a key, the words at an address, in a column; -1 if there is none."""
    count = fixed(column_at(context, column), ColumnField.KEYS)
    return word(context, At.COLUMN_LANE, column) if count == 0 else find_keyed_lane(context, column, key, count)


@compiled
def find_keyed_lane(context: int, column: int, key: int, count: int) -> int:
    """Find the lane of a key of so many words in a column; -1 if there is none."""
    if count == 1 and is_small(context, peek(key, 0)):
        return small_lane(context, column, peek(key, 0))
    hashed = _hash(column, key, count)
    mask = fixed(context, At.HASH_SIZE) - 1
    at = hashed & mask
    while True:
        lane = word(context, At.HASH, at)
        if lane < 0:
            return -1
        row = lane_at(context, lane)
        if peek(row, LaneState.KEY) == peek(key, 0) and peek(row, LaneState.COLUMN) == column:
            same = True
            for k in range(1, count):
                same = same and peek(row, LaneState.KEY + k) == peek(key, k)
            if same:
                return lane
        at = (at + 1) & mask


@inlined
def is_small(context: int, key: int) -> bool:
    """Whether lanes of that key are found directly: a small number, or a text's code, if it is all of the key."""
    return bool(np.uint64(key) < np.uint64(fixed(context, At.DIRECT_WIDTH)))


@inlined
def small_lane(context: int, column: int, key: int) -> int:
    """Find the lane of a small key in a column; -1 if there is none."""
    return word(context, At.DIRECT, _direct_place(context, column, key))


@inlined
def _direct_place(context: int, column: int, key: int) -> int:
    """Where the lane of a small key is noted."""
    return column * fixed(context, At.DIRECT_WIDTH) + key


@compiled
def enter_lane(context: int, lane: int) -> None:
    """Put a lane where its key finds it: into the direct table, or the hash table."""
    row = lane_at(context, lane)
    column, key = peek(row, LaneState.COLUMN), peek(row, LaneState.KEY)
    if fixed(column_at(context, column), ColumnField.KEYS) == 1 and is_small(context, key):
        put(context, At.DIRECT, _direct_place(context, column, key), lane)
        return
    mask = fixed(context, At.HASH_SIZE) - 1
    at = peek(row, LaneState.HASH) & mask
    while word(context, At.HASH, at) >= 0:
        at = (at + 1) & mask
    put(context, At.HASH, at, lane)


@compiled
def _take_block(context: int, power: int) -> int:
    """Get a block of ``2**power`` entries: a freed one or fresh space; -1 if there is none."""
    offset = word(context, At.FREE, power)
    if offset >= 0:
        put(context, At.FREE, power, entry_row(context, offset))
        return offset
    used = peek(context, At.ENTRIES_USED)
    if used + (1 << power) > fixed(context, At.ENTRIES_SIZE):
        return -1
    poke(context, At.ENTRIES_USED, used + (1 << power))
    return used


@compiled
def free_block(context: int, offset: int, power: int) -> None:
    """Free a block."""
    poke(entry_at(context, offset), EntryField.ROW, word(context, At.FREE, power))
    put(context, At.FREE, power, offset)


@compiled
def power_of(size: int) -> int:
    """The least power of two that is not below a size, by its exponent."""
    power = 0
    while (1 << power) < size:
        power += 1
    return power


@inlined
def _keeps_order(context: int, row: int) -> bool:
    """Whether the lane at an address keeps the values in its window in order; whatever moves them breaks that."""
    return fixed(column_at(context, peek(row, LaneState.COLUMN)), ColumnField.IN_ORDER) != 0


@compiled
def slide_sum(context: int, lane: int, first: int, end: int, subtract: bool) -> None:
    """Add the values of entries to (or take them from) the running sum of their lane."""
    row = lane_at(context, lane)
    column = column_at(context, peek(row, LaneState.COLUMN))
    kind, total = fixed(column, ColumnField.SUM_KIND), fixed(column, ColumnField.TOTAL)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    limbs = fixed(context, At.SUMS) + _SUM_BYTES * lane
    values = value_at(context, offset)
    inexact = 0
    if total > TotalKind.SUM:
        known = peek(row, LaneState.SUM_NEXT) > peek(row, LaneState.SUM_FIRST)
        keep_extreme(limbs, values, first, end, mask, total, kind, known)
    elif kind == ValueKind.FLOAT:
        inexact = add_floats(limbs, values, first, end, mask, subtract)
    elif kind == ValueKind.INT:
        for entry in range(first, end):
            add_integer(limbs, peek(values, entry & mask), subtract)
    poke(row, LaneState.INEXACT, peek(row, LaneState.INEXACT) + (-inexact if subtract else inexact))


@compiled
def forget_entries(context: int, lane: int, horizon: int) -> None:
    """Drop the entries of a lane that lie before the horizon."""
    row = lane_at(context, lane)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    first, end = peek(row, LaneState.FIRST), peek(row, LaneState.NEXT)
    while first < end and entry_time(context, offset + (first & mask)) < horizon:
        first += 1
    poke(row, LaneState.FIRST, first)
    sum_first, sum_next = peek(row, LaneState.SUM_FIRST), peek(row, LaneState.SUM_NEXT)
    if fixed(column_at(context, peek(row, LaneState.COLUMN)), ColumnField.TOTAL) != TotalKind.NONE:
        if sum_next < first:  # they go into the total, where they stay
            slide_sum(context, lane, sum_next, first, False)
            poke(row, LaneState.SUM_NEXT, first)
    elif sum_first < first:
        if _keeps_order(context, row):
            poke(row, LaneState.INEXACT, 1)
        else:
            slide_sum(context, lane, sum_first, min(sum_next, first), True)
        poke(row, LaneState.SUM_FIRST, first)
        poke(row, LaneState.SUM_NEXT, max(sum_next, first))


@compiled
def _new_lane(context: int, column: int, key: int) -> int:
    """Make a lane; minus a status if there is no room."""
    lane = peek(context, At.LANE_COUNT)
    if lane >= fixed(context, At.LANES_SIZE):
        return -LANES_FULL
    offset = _take_block(context, SMALLEST_LANE)
    if offset < 0:
        return -ENTRIES_FULL
    row = lane_at(context, lane)
    for k in range(LANE_WORDS):
        poke(row, k, 0)
    poke(row, LaneState.OFFSET, offset)
    poke(row, LaneState.MASK, (1 << SMALLEST_LANE) - 1)
    poke(row, LaneState.COLUMN, column)
    clear(fixed(context, At.SUMS) + _SUM_BYTES * lane)
    poke(context, At.LANE_COUNT, lane + 1)
    count = fixed(column_at(context, column), ColumnField.KEYS)
    if count == 0:
        put(context, At.COLUMN_LANE, column, lane)
        return lane
    for k in range(count):
        poke(row, LaneState.KEY + k, peek(key, k))
    poke(row, LaneState.HASH, _hash(column, key, count))
    enter_lane(context, lane)
    return lane


@compiled
def reserve_lane(context: int, column: int, key: int, now: int) -> int:
    """Find the lane of a key with room for one more entry, made if need be; minus a status if space must grow."""
    lane = find_lane(context, column, key)
    return _new_lane(context, column, key) if lane < 0 else with_room(context, lane, now)


@inlined
def with_room(context: int, lane: int, now: int) -> int:
    """Give a lane back once it has room for one more entry; minus a status if space must grow."""
    row = lane_at(context, lane)
    size = peek(row, LaneState.MASK) + 1
    if peek(row, LaneState.NEXT) - peek(row, LaneState.FIRST) == size and not _make_room_in_lane(context, lane, now):
        return -ENTRIES_FULL
    return lane


@compiled
def _make_room_in_lane(context: int, lane: int, now: int) -> bool:
    """Forget what nobody can ask a lane for; if little of it is, have a larger ring. False if there is no space."""
    row = lane_at(context, lane)
    column = column_at(context, peek(row, LaneState.COLUMN))
    size = peek(row, LaneState.MASK) + 1
    keeps_latest = fixed(column, ColumnField.FORGETS) == Forgets.ALL_BUT_LATEST
    if keeps_latest and size < _LATEST_FEW:
        return grow_lane(context, lane)
    forget_entries(context, lane, before(now, fixed(column, ColumnField.REACH)))
    if keeps_latest:
        _forget_all_but_latest(context, row)
    live = peek(row, LaneState.NEXT) - peek(row, LaneState.FIRST)
    return 4 * live <= 3 * size or grow_lane(context, lane)


@inlined
def _forget_all_but_latest(context: int, row: int) -> None:
    """Keep the events of the latest time, the latest before them, and the one before that, which may be its rival."""
    offset, mask, first = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK), peek(row, LaneState.FIRST)
    entry = peek(row, LaneState.NEXT)
    while entry > first and entry_time(context, offset + ((entry - 1) & mask)) == peek(row, LaneState.LAST_TIME):
        entry -= 1
    poke(row, LaneState.FIRST, max(first, entry - 2))


@inlined
def first_in_window(context: int, lane: int, since: int, is_reach: bool) -> int:
    """Find the first entry of a lane that is not before a time; if nobody looks further back, forget what is."""
    row = lane_at(context, lane)
    column = column_at(context, peek(row, LaneState.COLUMN))
    if not is_reach or fixed(column, ColumnField.FORGETS) == Forgets.WHEN_FULL:
        return first_not_before(context, lane, since)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    entry, end = peek(row, LaneState.FIRST), peek(row, LaneState.NEXT)
    while entry < end and entry_time(context, offset + (entry & mask)) < since:
        entry += 1
    poke(row, LaneState.FIRST, entry)
    return entry


@compiled
def grow_lane(context: int, lane: int) -> bool:
    """Move a lane to a block twice as large; False if there is none and the lane is full."""
    row = lane_at(context, lane)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    first, end = peek(row, LaneState.FIRST), peek(row, LaneState.NEXT)
    power = power_of(mask + 1)
    larger = _take_block(context, power + 1)
    if larger < 0:
        return end - first <= mask
    for entry in range(first, end):
        source, target = offset + (entry & mask), larger + (entry & (2 * mask + 1))
        for k in range(ENTRY_WORDS):
            poke(entry_at(context, target), k, peek(entry_at(context, source), k))
        if fixed(context, At.HAS_VALUES):
            put(context, At.VALUES, target, word(context, At.VALUES, source))
    free_block(context, offset, power)
    if _keeps_order(context, row):
        poke(row, LaneState.INEXACT, 1)
    poke(row, LaneState.OFFSET, larger)
    poke(row, LaneState.MASK, 2 * mask + 1)
    return True


@inlined
def append_entry(context: int, column: int, lane: int, base: int, time: int, row_number: int) -> None:
    """Put the event at ``base`` at the end of a lane of a column; room was reserved."""
    row = lane_at(context, lane)
    entry = peek(row, LaneState.NEXT)
    at = peek(row, LaneState.OFFSET) + (entry & peek(row, LaneState.MASK))
    place = entry_at(context, at)
    poke(place, EntryField.TIME, time)
    poke(place, EntryField.ROW, row_number)
    sums = column_at(context, column)
    if fixed(sums, ColumnField.SUM_KIND) != ValueKind.NONE:
        put(context, At.VALUES, at, word(context, At.STORE, base + fixed(sums, ColumnField.SUM_SLOT)))
    tied = entry > peek(row, LaneState.FIRST) and peek(row, LaneState.LAST_TIME) == time
    poke(row, LaneState.NEXT, entry + 1)
    poke(row, LaneState.LAST_TIME, time)
    poke(row, LaneState.LAST_PLACE, 2 * base + tied)


@inlined
def first_not_before(context: int, lane: int, time: int) -> int:
    """Find the first entry of a lane whose time is not before ``time``."""
    row = lane_at(context, lane)
    low, high = peek(row, LaneState.FIRST), peek(row, LaneState.NEXT)
    if low < high and peek(row, LaneState.LAST_TIME) < time:
        return high
    return _search(context, row, time, low, high)


@inlined
def end_before(context: int, lane: int, time: int) -> int:
    """Find the first entry of a lane not before ``time``, looked for from the end, which as a rule is near."""
    row = lane_at(context, lane)
    low, high = peek(row, LaneState.FIRST), peek(row, LaneState.NEXT)
    if low == high or peek(row, LaneState.LAST_TIME) < time:
        return high
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    high -= 1
    step = 1
    while high - step >= low and entry_time(context, offset + ((high - step) & mask)) >= time:
        high -= step
        step *= 2
    return _search(context, row, time, max(low, high - step), high)


@inlined
def end_preceding(context: int, lane: int, base: int) -> int:
    """Find the first entry of a lane that does not precede the event at ``base``: by time, or by place if ordered."""
    end = end_before(context, lane, word(context, At.STORE, base + SLOT_TIME))
    return _end_in_order(context, lane, end, word(context, At.STORE, base + SLOT_ORDER)) if is_ordered(context) else end


@inlined
def is_ordered(context: int) -> bool:
    """Whether rules take simultaneous events as coming one after the other."""
    return fixed(context, At.IS_ORDERED) != 0


@compiled
def first_following(context: int, lane: int, base: int) -> int:
    """Find the first entry of a lane that follows the event at ``base`` in the stream, where rules go by its order."""
    begin = first_not_before(context, lane, word(context, At.STORE, base + SLOT_TIME))
    return _end_in_order(context, lane, begin, word(context, At.STORE, base + SLOT_ORDER) + 1)


@compiled
def _end_in_order(context: int, lane: int, low: int, order: int) -> int:
    """Find the first entry from ``low`` on whose place in the stream is not before ``order``."""
    row = lane_at(context, lane)
    offset, mask, high = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK), peek(row, LaneState.NEXT)
    kind = fixed(column_at(context, peek(row, LaneState.COLUMN)), ColumnField.TYPE)
    while low < high:
        middle = (low + high) >> 1
        place = row_offset(context, kind, entry_row(context, offset + (middle & mask)))
        if word(context, At.STORE, place + SLOT_ORDER) < order:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _search(context: int, row: int, time: int, low: int, high: int) -> int:
    """Find the first entry from ``low`` on whose time is not before ``time``; ``high`` if there is none before it."""
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    while low < high:
        middle = (low + high) >> 1
        if entry_time(context, offset + (middle & mask)) < time:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def row_offset(context: int, kind: int, row_number: int) -> int:
    """The place of a row in the store."""
    row = type_state_at(context, kind)
    return peek(row, TypeState.OFFSET) + (row_number & peek(row, TypeState.MASK)) * peek(row, TypeState.WIDTH)
