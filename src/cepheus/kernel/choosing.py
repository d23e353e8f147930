"""Selection within a window: which entries of a lane a policy takes, in the order of the stream.

Whether an entry will do is a part that each kernel has of its own: ``fitting(context, step, place, row_number)`` binds
the event of the entry at ``place`` to the step's position and gives what it is worth, which is nothing if it will not
do. The worth may be yes or no, or a probability; that of the event that is taken is handed on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from cepheus.kernel.lanes import (
    before,
    end_preceding,
    entry_row,
    entry_time,
    first_not_before,
    is_ordered,
    lane_at,
)
from cepheus.kernel.memory import At, fixed, peek, poke, word
from cepheus.kernel.parts import with_parts
from cepheus.kernel.program import PolicyCode, StepField
from cepheus.kernel.state import Cursor, LaneState
from cepheus.kernel.ties import Counting, is_at
from cepheus.kernel.windows import lane_of, reference_time

Compile = Callable[[Any], Any]


class Choosing(NamedTuple):
    """Compiled functions: place a cursor on a window, bind the next event it takes, bind the one of a single ``last``.

    The latter two give what the event is worth, nothing if there is none.
    """

    open_window: Callable[[int, int, int], None]
    bind_next: Callable[[int, int, int], Any]
    bind_last: Callable[[int, int], Any]


def choosing_by(
    fitting: Callable[[int, int, int, int], Any], nothing: bool | float, compiled: Compile, counting: Counting
) -> Choosing:
    """Make the functions of a kernel: compiled with what it takes an entry to be worth, and what is nothing.

    ``counting`` counts simultaneous events by the same worth.
    """
    parts = {"fitting": fitting, "NOTHING": nothing, **counting._asdict()}
    return Choosing(*(compiled(with_parts(each, **parts)) for each in (_open_window, _bind_next, _bind_last)))


def fitting(context: int, step: int, place: int, row_number: int) -> Any:
    """Stand for what a kernel takes an entry to be worth."""
    raise NotImplementedError


def pass_over(context: int, step: int, lane: int, entry: int, time: int) -> None:
    """Stand for the counting of events that are passed over."""
    raise NotImplementedError


def seek_rival(context: int, step: int, lane: int, entry: int, direction: int, end: int) -> None:
    """Stand for the counting of choices that have a rival."""
    raise NotImplementedError


NOTHING: Any = None
"""Stands for what a kernel takes for nothing."""


def _bind_last(context: int, step: int) -> Any:
    """Bind the one event that a single ``last`` takes."""
    lane = lane_of(context, step)
    if lane < 0:
        return NOTHING
    until = reference_time(context, step)
    since = before(until, fixed(step, StepField.WINDOW))
    row = lane_at(context, lane)
    if peek(row, LaneState.LAST_TIME) < since:
        return NOTHING
    offset, mask, first = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK), peek(row, LaneState.FIRST)
    entry = end_preceding(context, lane, word(context, At.BOUND, fixed(step, StepField.REFERENCE)))
    if is_at(context, row, entry, until) and not is_ordered(context):
        pass_over(context, step, lane, entry, until)
    while entry > first and entry_time(context, offset + ((entry - 1) & mask)) >= since:
        entry -= 1
        place = offset + (entry & mask)
        worth = fitting(context, step, place, entry_row(context, place))
        if worth > NOTHING:
            if is_at(context, row, entry - 1, entry_time(context, place)):
                seek_rival(context, step, lane, entry, -1, first - 1)
            return worth
    return NOTHING


def _open_window(context: int, step: int, cursor: int) -> None:
    """Place a cursor on the entries of a window that a selection may take."""
    poke(cursor, Cursor.ENTRY, 0)
    poke(cursor, Cursor.END, 0)
    lane = lane_of(context, step)
    if lane < 0:
        return
    until = reference_time(context, step)
    since = before(until, fixed(step, StepField.WINDOW))
    end = end_preceding(context, lane, word(context, At.BOUND, fixed(step, StepField.REFERENCE)))
    wanted = fixed(step, StepField.COUNT)
    row = lane_at(context, lane)
    if is_at(context, row, end, until) and not is_ordered(context):
        pass_over(context, step, lane, end, until)
    if fixed(step, StepField.POLICY) == PolicyCode.LAST:
        offset, mask, first = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK), peek(row, LaneState.FIRST)
        entry, left = end, wanted
        while left > 0 and entry > first and entry_time(context, offset + ((entry - 1) & mask)) >= since:
            entry -= 1
            place = offset + (entry & mask)
            if fitting(context, step, place, entry_row(context, place)) > NOTHING:
                left -= 1
        if left == wanted:
            return
        if left == 0 and is_at(context, row, entry - 1, entry_time(context, offset + (entry & mask))):
            seek_rival(context, step, lane, entry, -1, first - 1)
    else:
        entry = first_not_before(context, lane, since)
    poke(cursor, Cursor.ENTRY, entry)
    poke(cursor, Cursor.END, end)
    poke(cursor, Cursor.LEFT, wanted)
    poke(cursor, Cursor.LANE, lane)


def _bind_next(context: int, step: int, cursor: int) -> Any:
    """Bind the next event that the selection takes."""
    entry, end = peek(cursor, Cursor.ENTRY), peek(cursor, Cursor.END)
    if entry >= end:
        return NOTHING
    row = lane_at(context, peek(cursor, Cursor.LANE))
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    while entry < end:
        place = offset + (entry & mask)
        worth = fitting(context, step, place, entry_row(context, place))
        entry += 1
        if worth > NOTHING:
            left = peek(cursor, Cursor.LEFT) - 1
            poke(cursor, Cursor.LEFT, left)
            poke(cursor, Cursor.ENTRY, end if left == 0 else entry)
            if left == 0 and entry < end and fixed(step, StepField.POLICY) == PolicyCode.FIRST:
                seek_rival(context, step, peek(cursor, Cursor.LANE), entry - 1, 1, end)
            return worth
    poke(cursor, Cursor.ENTRY, end)
    return NOTHING
