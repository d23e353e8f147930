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
from cepheus.core.time import MAX_TIME, MIN_TIME
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


@inlined
def _timer(context: int, number: int) -> int:
    """The address of a timer."""
    return fixed(context, At.TIMERS) + _TIMER_BYTES * number


@inlined
def _timer_state(context: int, number: int) -> int:
    """The address of how far a timer has come."""
    return fixed(context, At.TIMER_STATE) + _STATE_BYTES * number


@inlined
def _at_place(context: int, place: int) -> int:
    """The timer at a place of the heap."""
    return peek(_timer_state(context, place), TimerState.HEAP)


@inlined
def _is_before(context: int, one: int, other: int) -> bool:
    """Whether a timer comes first: among those of one time, the one that was deployed first."""
    first = peek(_timer_state(context, one), TimerState.KEY)
    second = peek(_timer_state(context, other), TimerState.KEY)
    return first < second or (first == second and one < other)


@inlined
def _put(context: int, place: int, number: int) -> None:
    """Put a timer at a place of the heap."""
    poke(_timer_state(context, place), TimerState.HEAP, number)
    poke(_timer_state(context, number), TimerState.PLACE, place)


@compiled
def _sink(context: int, place: int) -> None:
    """Move a timer whose key has grown to where it belongs."""
    number, count = _at_place(context, place), fixed(context, At.TIMER_COUNT)
    while 2 * place + 1 < count:
        below = 2 * place + 1
        if below + 1 < count and _is_before(context, _at_place(context, below + 1), _at_place(context, below)):
            below += 1
        if not _is_before(context, _at_place(context, below), number):
            break
        _put(context, place, _at_place(context, below))
        place = below
    _put(context, place, number)


@compiled
def _rise(context: int, number: int) -> None:
    """Move a timer whose key has become less to where it belongs."""
    place = peek(_timer_state(context, number), TimerState.PLACE)
    while place > 0:
        above = _at_place(context, (place - 1) // 2)
        if not _is_before(context, number, above):
            break
        _put(context, place, above)
        place = (place - 1) // 2
    _put(context, place, number)


@compiled
def _put_in_order(context: int) -> None:
    """Make the heap of all timers."""
    count = fixed(context, At.TIMER_COUNT)
    for k in range(count):
        state = _timer_state(context, k)
        poke(state, TimerState.KEY, _due(context, _timer(context, k), state))
        _put(context, k, k)
    for place in range(count // 2 - 1, -1, -1):
        _sink(context, place)


@compiled
def wake(context: int, kind: int) -> None:
    """Tell the timers that wait after events of a type that one has come."""
    number = fixed(type_at(context, kind), TypeField.TIMER)
    while number >= 0 and peek(context, At.DUE) != MIN_TIME:
        timer, state = _timer(context, number), _timer_state(context, number)
        due = _due(context, timer, state)
        if due < peek(state, TimerState.KEY):
            poke(state, TimerState.KEY, due)
            _rise(context, number)
            poke(context, At.DUE, min(due, peek(context, At.DUE)))
        number = fixed(timer, TimerField.ANOTHER)


def _reach(context: int, until: int) -> int:
    """Evaluate rules at their moments up to a time; those of one time in the order of the rules' deployment.

    Timers stand in a heap by a time before which they have no moment, so that a moment costs hardly more with thousands
    of timers than with ten.
    """
    if fixed(context, At.TIMER_COUNT) == 0:
        return DONE
    if peek(context, At.DUE) == MIN_TIME:
        _put_in_order(context)
        poke(context, At.DUE, until)
    while True:
        first = _at_place(context, 0)
        timer, state = _timer(context, first), _timer_state(context, first)
        key = peek(state, TimerState.KEY)
        if key > until or key >= _NEVER:
            poke(context, At.DUE, key)
            return DONE
        due = _due(context, timer, state)
        if due == key:
            events = peek(context, At.OUTPUT_EVENTS)
            status = _fire(context, timer, state, due)
            if status != DONE:
                return status
            trace(context, events, MOMENT_ORIGIN)
        poke(state, TimerState.KEY, _due(context, timer, state))
        _sink(context, 0)
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
