"""Selections whose events are listed before any is taken, compiled: a choice for each group, the greatest of many.

A plain selection stops at the last event that it takes. Here the whole window is walked once, in the direction of the
policy. What is taken of it, in the order of the stream, stands in one working space that all selections of a rule share
like a stack: the search opens and leaves them in that way. Groups are found by a table that counts as empty as soon as
its stamp is old.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import (
    before,
    end_preceding,
    entry_row,
    entry_time,
    first_not_before,
    is_ordered,
    lane_at,
    mix,
    row_offset,
)
from cepheus.kernel.machine import compute
from cepheus.kernel.memory import At, fixed, peek, poke, put, signed, word
from cepheus.kernel.ordering import ordered_word
from cepheus.kernel.parts import with_parts
from cepheus.kernel.program import GroupKeyField, ListingField, PolicyCode, StepField, ValueKind, Words
from cepheus.kernel.sorting import sort
from cepheus.kernel.state import DONE, GROUPS_FULL, LISTS_FULL, Cursor, GroupState, LaneState
from cepheus.kernel.ties import Counting, is_at, note_decided
from cepheus.kernel.windows import compute_aggregate, lane_of, reference_time

_STEP_BYTES = StepField.row_bytes()
_LISTING_BYTES = ListingField.row_bytes()
_KEY_BYTES = GroupKeyField.row_bytes()
_GROUP_BYTES = GroupState.row_bytes()
_MINUS_ZERO = -(2**63)  # the bits of -0.0 as an integer


class Listing(NamedTuple):
    """Compiled functions: list what a selection takes of a window, and bind the next of it.

    The first returns a status, the second what the event is worth, nothing if there is none left.
    """

    list_window: Callable[[int, int, int, int], int]
    bind_listed: Callable[[int, int, int], Any]


def listing_by(fitting: Callable[[int, int, int, int], Any], nothing: bool | float, counting: Counting) -> Listing:
    """Make the functions of a kernel: compiled with what it takes an entry to be worth, and what is nothing."""
    parts = {"fitting": fitting, "NOTHING": nothing, "pass_over": counting.pass_over}
    return Listing(compiled(with_parts(_list_window, **parts)), compiled(with_parts(_bind_listed, **parts)))


def fitting(context: int, step: int, place: int, row_number: int) -> Any:
    """Stand for what a kernel takes an entry to be worth."""
    raise NotImplementedError


def pass_over(context: int, step: int, lane: int, entry: int, time: int) -> None:
    """Stand for the counting of events that are passed over."""
    raise NotImplementedError


NOTHING: Any = None
"""Stands for what a kernel takes for nothing."""


def _list_window(context: int, at: int, step: int, cursor: int) -> int:
    """List the entries of a window that a selection takes, and place a cursor on the first; return a status."""
    begin = peek(context, At.CHOSEN_COUNT)
    poke(cursor, Cursor.ENTRY, begin)
    poke(cursor, Cursor.END, begin)
    poke(cursor, Cursor.LEFT, begin)
    lane = lane_of(context, step)
    if lane < 0:
        return DONE
    until = reference_time(context, step)
    row = lane_at(context, lane)
    end = end_preceding(context, lane, word(context, At.BOUND, fixed(step, StepField.REFERENCE)))
    if is_at(context, row, end, until) and not is_ordered(context):
        pass_over(context, step, lane, end, until)
    first = first_not_before(context, lane, before(until, fixed(step, StepField.WINDOW)))
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    listing = fixed(context, At.LISTINGS) + _LISTING_BYTES * fixed(step, StepField.LISTING)
    grouped = fixed(listing, ListingField.GROUPS) < fixed(listing, ListingField.GROUPS_END)
    latest_first = fixed(step, StepField.POLICY) == PolicyCode.LAST
    poke(context, At.GROUP_STAMP, peek(context, At.GROUP_STAMP) + 1)
    poke(context, At.GROUP_COUNT, 0)
    count = begin
    for k in range(end - first):
        entry = end - 1 - k if latest_first else first + k
        place = offset + (entry & mask)
        if not fitting(context, step, place, entry_row(context, place)) > NOTHING:
            continue
        if grouped:
            taken = _enter_group(context, step, listing, entry_time(context, place))
            if taken < 0:
                return GROUPS_FULL
            if taken == 0:
                continue
        if count >= fixed(context, At.CHOSEN_SIZE):
            return LISTS_FULL
        put(context, At.CHOSEN, count, entry)
        count += 1
    if latest_first:
        _reverse(context, begin, count)
    if fixed(listing, ListingField.RANKED) > 0:
        count = _rank(context, at, step, listing, lane, begin, count)
    poke(cursor, Cursor.END, count)
    poke(cursor, Cursor.LANE, lane)
    poke(context, At.CHOSEN_COUNT, count)
    return DONE


def _bind_listed(context: int, step: int, cursor: int) -> Any:
    """Bind the next event that was listed; leave the list behind after the last."""
    at = peek(cursor, Cursor.ENTRY)
    if at >= peek(cursor, Cursor.END):
        poke(context, At.CHOSEN_COUNT, peek(cursor, Cursor.LEFT))
        return NOTHING
    poke(cursor, Cursor.ENTRY, at + 1)
    row = lane_at(context, peek(cursor, Cursor.LANE))
    entry = word(context, At.CHOSEN, at)
    place = peek(row, LaneState.OFFSET) + (entry & peek(row, LaneState.MASK))
    return fitting(context, step, place, entry_row(context, place))


@inlined
def _reverse(context: int, begin: int, end: int) -> None:
    """Turn a part of the list around."""
    for k in range((end - begin) // 2):
        kept = word(context, At.CHOSEN, begin + k)
        put(context, At.CHOSEN, begin + k, word(context, At.CHOSEN, end - 1 - k))
        put(context, At.CHOSEN, end - 1 - k, kept)


@compiled
def _enter_group(context: int, step: int, listing: int, time: int) -> int:
    """Count the bound event in its group: 1 if it is taken, 0 if the group has all it takes, -1 for want of room.

    The order of simultaneous events decides for a group, once, if one that is not taken has the time of the last taken.
    """
    base, wanted = word(context, At.BOUND, fixed(step, StepField.POSITION)), fixed(step, StepField.COUNT)
    keys, keys_end = fixed(listing, ListingField.GROUPS), fixed(listing, ListingField.GROUPS_END)
    digest = np.uint64(0)
    for at in range(keys, keys_end):
        digest = mix(digest, _group_word(context, at, base))
    size, stamp = fixed(context, At.GROUPS_SIZE), peek(context, At.GROUP_STAMP)
    place = signed(digest & np.uint64(size - 1))
    while True:
        group = fixed(context, At.GROUPS) + _GROUP_BYTES * place
        if peek(group, GroupState.STAMP) != stamp:
            break
        if _same_group(context, keys, keys_end, base, peek(group, GroupState.BASE)):
            count = peek(group, GroupState.COUNT)
            if count < wanted:
                poke(group, GroupState.COUNT, count + 1)
                poke(group, GroupState.TIME, time)
                return 1
            if count == wanted and peek(group, GroupState.TIME) == time:
                poke(group, GroupState.COUNT, count + 1)
                note_decided(context)
            return 0
        place = (place + 1) & (size - 1)
    groups = peek(context, At.GROUP_COUNT) + 1
    if 2 * groups > size:
        return -1
    poke(context, At.GROUP_COUNT, groups)
    poke(group, GroupState.STAMP, stamp)
    poke(group, GroupState.BASE, base)
    poke(group, GroupState.COUNT, 1)
    poke(group, GroupState.TIME, time)
    return 1


@inlined
def _group_word(context: int, at: int, base: int) -> int:
    """A part of an event's group so that equal values have equal words; 0 where the event lacks the attribute."""
    key = fixed(context, At.GROUP_KEYS) + _KEY_BYTES * at
    flag = fixed(key, GroupKeyField.FLAG_SLOT)
    if flag >= 0 and word(context, At.STORE, base + flag) == 0:
        return 0
    value = word(context, At.STORE, base + fixed(key, GroupKeyField.SLOT))
    return 0 if value == _MINUS_ZERO and fixed(key, GroupKeyField.IS_FLOAT) else value


@inlined
def _same_group(context: int, keys: int, keys_end: int, base: int, other: int) -> bool:
    """Whether two events are of one group."""
    for at in range(keys, keys_end):
        if _group_word(context, at, base) != _group_word(context, at, other):
            return False
        flag = fixed(fixed(context, At.GROUP_KEYS) + _KEY_BYTES * at, GroupKeyField.FLAG_SLOT)
        if flag >= 0 and word(context, At.STORE, base + flag) != word(context, At.STORE, other + flag):
            return False
    return True


@compiled
def _rank(context: int, at: int, step: int, listing: int, lane: int, begin: int, end: int) -> int:
    """Keep the listed entries with the greatest values, of equal ones the later; return where the list ends then.

    The aggregates that a value is computed from are the steps behind this one.
    """
    row = lane_at(context, lane)
    offset, mask, kind = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK), fixed(step, StepField.TYPE)
    entries, values = np.empty(end - begin, np.int64), np.empty(end - begin, np.int64)
    floats = fixed(listing, ListingField.VALUE_KIND) == ValueKind.FLOAT
    count = 0
    for k in range(begin, end):
        entry = word(context, At.CHOSEN, k)
        base = row_offset(context, kind, entry_row(context, offset + (entry & mask)))
        put(context, At.BOUND, fixed(step, StepField.POSITION), base)
        for later in range(1, 1 + fixed(listing, ListingField.COMPUTED)):
            compute_aggregate(context, fixed(context, At.STEPS) + _STEP_BYTES * (at + later))
        if compute(context, fixed(listing, ListingField.VALUE_CODE)):
            value = word(context, At.STACK, 0)
            entries[count], values[count] = entry, ordered_word(value) if floats else value
            count += 1
    wanted = min(fixed(listing, ListingField.RANKED), count)
    if wanted > 0:
        _keep_greatest(context, lane, begin, wanted, entries[:count], values[:count])
    return begin + wanted


@compiled
def _keep_greatest(context: int, lane: int, begin: int, wanted: int, entries: Words, values: Words) -> None:
    """List so many of the entries, those with the greatest values; count the tie that decides which."""
    count, ordered = len(values), values.copy()
    sort(ordered)
    least, alike = ordered[count - wanted], 0
    while alike < wanted and ordered[count - wanted + alike] == least:
        alike += 1
    earliest, beaten, place = -1, -1, begin + wanted
    for k in range(count - 1, -1, -1):
        if values[k] > least or (values[k] == least and alike > 0):
            place -= 1
            put(context, At.CHOSEN, place, entries[k])
            if values[k] == least:
                earliest, alike = entries[k], alike - 1
        elif values[k] == least and beaten < 0:
            beaten = entries[k]
    row = lane_at(context, lane)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    if beaten >= 0 and entry_time(context, offset + (earliest & mask)) == entry_time(context, offset + (beaten & mask)):
        note_decided(context)
