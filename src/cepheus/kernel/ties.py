"""Simultaneous events, compiled: how often their order decides, how often one is passed over. It changes no answer.

Counts are provisional until the event at work is done, for it may have to be taken again. Whoever finds that the entry
next to a choice or to the end of a window has the same time calls what is here; where all times are distinct, nobody
does. Whether an entry would do is a part that each kernel has of its own, as in ``choosing``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import (
    entry_row,
    entry_time,
    first_not_before,
    lane_at,
    row_offset,
)
from cepheus.kernel.memory import At, fixed, peek, poke, put, word
from cepheus.kernel.parts import with_parts
from cepheus.kernel.program import MOST_COMPARED, FunctionCode, StepField
from cepheus.kernel.state import LaneState

Compile = Callable[[Any], Any]


class Counting(NamedTuple):
    """Compiled functions: count who is passed over from an entry on, and whether a choice has a rival."""

    pass_over: Callable[[int, int, int, int, int], None]
    seek_rival: Callable[[int, int, int, int, int, int], None]


def counting_by(fitting: Callable[[int, int, int, int], Any], nothing: bool | float, compiled: Compile) -> Counting:
    """Make the functions of a kernel: compiled with what it takes an entry to be worth, and what is nothing."""
    functions = (_pass_over, _seek_rival)
    return Counting(*(compiled(with_parts(each, fitting=fitting, NOTHING=nothing)) for each in functions))


def member_choice_by(
    fitting: Callable[[int, int, int, int], Any], nothing: bool | float, compiled: Compile
) -> Callable[[int, int, int, int, int], None]:
    """Make ``_seek_rival_member`` of a kernel, compiled with what it takes a member to be worth."""
    made: Callable[[int, int, int, int, int], None]
    made = compiled(with_parts(_seek_rival_member, fitting=fitting, NOTHING=nothing))
    return made


def fitting(context: int, step: int, place: int, row_number: int) -> Any:
    """Stand for what a kernel takes an entry to be worth."""
    raise NotImplementedError


NOTHING: Any = None
"""Stands for what a kernel takes for nothing."""


@inlined
def begin_ties(context: int) -> None:
    """Begin to count for another event."""
    poke(context, At.NEW_DECIDED, 0)
    poke(context, At.NEW_PASSED, 0)
    poke(context, At.NEW_BOUNDED, 0)


@inlined
def commit_ties(context: int, kind: int, base: int) -> None:
    """Make what was counted for the event at ``base`` count for good; as a rule there is nothing."""
    if peek(context, At.NEW_DECIDED) | peek(context, At.NEW_PASSED) | peek(context, At.NEW_BOUNDED):
        _commit(context, kind, base)


@compiled
def _commit(context: int, kind: int, base: int) -> None:
    homes = fixed(context, At.HOMES)
    if homes != 0:
        slot = fixed(homes, kind)
        if slot >= 0 and word(context, At.STORE, base + slot) == 0:
            return  # it is counted where the event is at home
    poke(context, At.TIES_DECIDED, peek(context, At.TIES_DECIDED) + peek(context, At.NEW_DECIDED))
    poke(context, At.TIES_PASSED, peek(context, At.TIES_PASSED) + peek(context, At.NEW_PASSED))
    poke(context, At.TIES_BOUNDED, peek(context, At.TIES_BOUNDED) | peek(context, At.NEW_BOUNDED))


@inlined
def note_decided(context: int) -> None:
    """Count a choice that the order of simultaneous events decided."""
    poke(context, At.NEW_DECIDED, peek(context, At.NEW_DECIDED) + 1)


@inlined
def note_passed_over(context: int, count: int) -> None:
    """Count events that were passed over."""
    poke(context, At.NEW_PASSED, peek(context, At.NEW_PASSED) + count)


@inlined
def is_at(context: int, row: int, entry: int, time: int) -> bool:
    """Whether the lane at an address has an entry of that number, and it is of that time."""
    if entry < peek(row, LaneState.FIRST) or entry >= peek(row, LaneState.NEXT):
        return False
    return entry_time(context, peek(row, LaneState.OFFSET) + (entry & peek(row, LaneState.MASK))) == time


@compiled
def pass_over_plainly(context: int, lane: int, kind: int, reference: int, entry: int, time: int) -> None:
    """Count the events from an entry on that have exactly that time, other than the one a window refers to."""
    row = lane_at(context, lane)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    bound = word(context, At.BOUND, reference)
    count = 0
    for k in range(MOST_COMPARED + 1):
        if not is_at(context, row, entry + k, time):
            break
        if k == MOST_COMPARED:
            poke(context, At.NEW_BOUNDED, 1)
        elif row_offset(context, kind, entry_row(context, offset + ((entry + k) & mask))) != bound:
            count += 1
    note_passed_over(context, count)


@inlined
def _is_reference(context: int, step: int, base: int) -> bool:
    """Whether the row at ``base`` is that of an event which a step's window or interval refers to."""
    other = fixed(step, StepField.OTHER_REFERENCE)
    if other >= 0 and base == word(context, At.BOUND, other):
        return True
    return base == word(context, At.BOUND, fixed(step, StepField.REFERENCE))


def _pass_over(context: int, step: int, lane: int, entry: int, time: int) -> None:
    """Count the events from an entry on that have exactly that time and would do but for it."""
    row = lane_at(context, lane)
    offset, mask, kind = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK), fixed(step, StepField.TYPE)
    count = 0
    for k in range(MOST_COMPARED + 1):
        if not is_at(context, row, entry + k, time):
            break
        if k == MOST_COMPARED:
            poke(context, At.NEW_BOUNDED, 1)
            break
        place = offset + ((entry + k) & mask)
        number = entry_row(context, place)
        if _is_reference(context, step, row_offset(context, kind, number)):
            continue
        if fitting(context, step, place, number) > NOTHING:
            count += 1
    note_passed_over(context, count)


def _seek_rival(context: int, step: int, lane: int, entry: int, direction: int, end: int) -> None:
    """Count a choice, whose outermost event is at an entry, if an event of that time beyond it would do as well.

    It looks in a direction, 1 or -1, and not as far as ``end``. What is bound stays bound.
    """
    row = lane_at(context, lane)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    position = fixed(step, StepField.POSITION)
    chosen = word(context, At.BOUND, position)
    time = entry_time(context, offset + (entry & mask))
    for k in range(1, MOST_COMPARED + 2):
        other = entry + direction * k
        if other == end or not is_at(context, row, other, time):
            break
        if k > MOST_COMPARED:
            poke(context, At.NEW_BOUNDED, 1)
            break
        place = offset + (other & mask)
        if fitting(context, step, place, entry_row(context, place)) > NOTHING:
            note_decided(context)
            break
    put(context, At.BOUND, position, chosen)


def _seek_rival_member(context: int, step: int, lane: int, begin: int, end: int) -> None:
    """Count an aggregate First or Last, over the entries of a range, if members of one time contend for it."""
    row = lane_at(context, lane)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    forward = fixed(step, StepField.FUNCTION) == FunctionCode.FIRST
    taken = False
    time = 0
    compared = 0
    for k in range(end - begin):
        place = offset + ((begin + k if forward else end - 1 - k) & mask)
        if taken:
            if entry_time(context, place) != time:
                return
            if compared == MOST_COMPARED:
                poke(context, At.NEW_BOUNDED, 1)
                return
            compared += 1
        if fitting(context, step, place, entry_row(context, place)) > NOTHING:
            if taken:
                note_decided(context)
                return
            taken = True
            time = entry_time(context, place)


@inlined
def first_at(context: int, lane: int, time: int) -> int:
    """Find the first entry of a lane that has exactly a time; -1 if there is none."""
    entry = first_not_before(context, lane, time)
    return entry if is_at(context, lane_at(context, lane), entry, time) else -1
