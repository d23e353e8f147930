"""Timers, compiled: rules that are evaluated at moments, in the order in which time reaches them.

A rule that waits for some time after an event has the events it waits after in a column like any other, so that they
are stored, forgotten and kept in snapshots as all events are. For one rule deadlines come in the order of the events:
the timer is no more than the number of the next entry of that column, and a million pending deadlines cost nothing but
their rows.

At its moment a rule has a terminator with the moment's time, a copy of the event it waits after, at the beginning of
the store; the event itself is bound to a position of its own. Moments of ``every`` are rows without attributes.
"""

from __future__ import annotations

from collections.abc import Callable

from cepheus.core.event import DIGEST_MASK
from cepheus.core.time import MAX_TIME
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.emit import commit_output, trace
from cepheus.kernel.lanes import entry_row, entry_time, lane_at, row_offset, type_at
from cepheus.kernel.memory import At, fixed, peek, poke, put, word
from cepheus.kernel.parts import with_parts
from cepheus.kernel.program import SLOT_ID, SLOT_ORDER, SLOT_START, SLOT_TIME, TimerField, TypeField
from cepheus.kernel.state import COMPOSITE_ID_BASE, DONE, LaneState, TimerState
from cepheus.kernel.ties import commit_ties

Reach = Callable[[int, int], int]

_TIMER_BYTES = TimerField.row_bytes()
_STATE_BYTES = TimerState.row_bytes()
_NEVER = MAX_TIME
MOMENT_ORIGIN = -(2**62)
"""Where composite events come from that no event of the input completes, in the output of a traced engine."""


def reach_with(search_all: Callable[[int, int], int], process_queue: Callable[[int], int]) -> Reach:
    """How a kernel evaluates rules at all moments up to a time, one after the other; it gives a status."""
    fire = compiled(with_parts(_fire, search_all=search_all))
    made: Reach = compiled(with_parts(_reach, _fire=fire, process_queue=process_queue))
    return made


def search_all(context: int, rules: int) -> int:
    """Stand for the search of a kernel."""
    raise NotImplementedError


def process_queue(context: int) -> int:
    """Stand for how a kernel processes the queue of composite events."""
    raise NotImplementedError


@inlined
def _later(time: int, duration: int) -> int:
    """``time + duration``, or the end of time where that does not fit."""
    return _NEVER if time > _NEVER - duration else time + duration


@inlined
def _next_entry(state: int, lane: int) -> int:
    """The entry of a lane that a timer comes to next; what is forgotten is long done."""
    return max(peek(state, TimerState.ENTRY), peek(lane, LaneState.FIRST))


@inlined
def _due(context: int, timer: int, state: int) -> int:
    """When the next moment of a timer is."""
    if fixed(timer, TimerField.PERIOD) > 0:
        return peek(state, TimerState.TIME)
    number = word(context, At.COLUMN_LANE, fixed(timer, TimerField.COLUMN))
    if number < 0:
        return _NEVER
    lane = lane_at(context, number)
    entry = _next_entry(state, lane)
    if entry >= peek(lane, LaneState.NEXT):
        return _NEVER
    time = entry_time(context, peek(lane, LaneState.OFFSET) + (entry & peek(lane, LaneState.MASK)))
    return _later(time, fixed(timer, TimerField.DELAY))


def _reach(context: int, until: int) -> int:
    """Evaluate rules at their moments up to a time; those of one time in the order of the rules' deployment.

    Events that come from then on set no moment earlier than the shortest delay after that time.
    """
    timers, states = fixed(context, At.TIMERS), fixed(context, At.TIMER_STATE)
    while True:
        first, due = -1, _NEVER
        for k in range(fixed(context, At.TIMER_COUNT)):
            time = _due(context, timers + _TIMER_BYTES * k, states + _STATE_BYTES * k)
            if time < due:
                first, due = k, time
        if first < 0 or due > until:
            poke(context, At.DUE, min(due, _later(until, fixed(context, At.SHORTEST_DELAY))))
            return DONE
        events = peek(context, At.OUTPUT_EVENTS)
        status = _fire(context, timers + _TIMER_BYTES * first, states + _STATE_BYTES * first, due)
        if status != DONE:
            return status
        trace(context, events, MOMENT_ORIGIN)
        if peek(context, At.QUEUE_NEXT) > 0:
            status = process_queue(context)
            if status != DONE:
                return status


def _fire(context: int, timer: int, state: int, due: int) -> int:
    """Evaluate a rule at a moment; nothing has changed if the status is not DONE."""
    kind, store = fixed(timer, TimerField.TYPE), fixed(context, At.STORE)
    every = fixed(timer, TimerField.PERIOD) > 0
    entry = 0
    base = 0
    width = fixed(type_at(context, kind), TypeField.WIDTH)
    if every:
        for k in range(width):
            poke(store, k, 0)
        poke(store, SLOT_ID, COMPOSITE_ID_BASE + (due & DIGEST_MASK))
        poke(store, SLOT_START, due)
    else:
        lane = lane_at(context, word(context, At.COLUMN_LANE, fixed(timer, TimerField.COLUMN)))
        entry = _next_entry(state, lane)
        number = entry_row(context, peek(lane, LaneState.OFFSET) + (entry & peek(lane, LaneState.MASK)))
        base = row_offset(context, kind, number)
        slot = fixed(timer, TimerField.CONSUMED_SLOT)
        if slot >= 0 and (peek(store, base + slot) >> fixed(timer, TimerField.CONSUMED_BIT)) & 1:
            poke(state, TimerState.ENTRY, entry + 1)
            return DONE
        for k in range(width):
            poke(store, k, peek(store, base + k))
        put(context, At.BOUND, fixed(timer, TimerField.POSITION), base)
    poke(store, SLOT_TIME, due)
    if fixed(context, At.IS_ORDERED):
        poke(store, SLOT_ORDER, 0)  # it comes before the events of its time
    put(context, At.BOUND, 0, 0)
    put(context, At.ACCEPTED_RULES, 0, fixed(timer, TimerField.RULE))
    status = search_all(context, 1)
    if status != DONE:
        return status
    commit_output(context)
    commit_ties(context, kind, base)
    if every:
        poke(state, TimerState.TIME, _later(due, fixed(timer, TimerField.PERIOD)))
    else:
        poke(state, TimerState.ENTRY, entry + 1)
    return DONE
