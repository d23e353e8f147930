"""The loop that every kernel of columns is: the queue of composite events first, then one event of the input at a time.

Before each event the rules are evaluated whose moments have come by its time, and after the last those that come by
the time up to which the input tells all.

What is done with an event is a part that each kernel has of its own: ``process(context, kind, base, now)`` takes the
event at ``base`` and gives a status. Nothing may have changed if that is not DONE: the caller grows what is full, and
the same event is taken again.
"""

from __future__ import annotations

from collections.abc import Callable

from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.emit import trace
from cepheus.kernel.lanes import type_at, type_state_at
from cepheus.kernel.memory import At, fixed, peek, peek_half, poke, put, table
from cepheus.kernel.parts import with_parts
from cepheus.kernel.program import HEADER, ROW_ENDS, SLOT_ID, SLOT_ORDER, SLOT_START, SLOT_TIME, Left, TypeField
from cepheus.kernel.state import DONE, STORE_FULL, TypeState
from cepheus.kernel.timers import reach_with, wake
from cepheus.kernel.type_rows import place_row

Process = Callable[[int, int, int, int], int]
Enter = Callable[[int, int, int, int, int], int]
Ready = Callable[[int, int, int], int]


def loop_over(
    process: Process,
    search_all: Callable[[int, int], int] | None = None,
    enter: Enter | None = None,
    ready: Ready | None = None,
) -> Callable[[int], int]:
    """Make the loop of a kernel, compiled: it works on a context and gives the status it stopped with.

    A kernel that evaluates rules also at moments says by which search. One that is told of events which do nothing but
    enter a column (``Left``) says how these are entered. One that may have to come back before it takes an event says
    when it is ``ready(context, kind, time)``: a status that is not DONE stops it before anything is touched.
    """
    ready = ready or _always_ready
    process_queue = compiled(with_parts(_process_queue, process=process, ready=ready))
    reach = _never_reached if search_all is None else reach_with(search_all, process_queue)
    take = inlined(with_parts(_take, process=process, enter=enter or _never_entered, ready=ready))
    loop: Callable[[int], int] = compiled(with_parts(_run, _take=take, _process_queue=process_queue, reach=reach))
    return loop


@inlined
def _never_reached(_context: int, _until: int) -> int:
    """Evaluate nothing: no rule has a timer."""
    return DONE


@inlined
def _never_entered(_context: int, _kind: int, _column: int, _base: int, _now: int) -> int:
    """Enter nothing: every event is processed."""
    return DONE


@inlined
def _always_ready(_context: int, _kind: int, _time: int) -> int:
    """Take every event at once."""
    return DONE


def ready(context: int, kind: int, time: int) -> int:
    """Stand for whether a kernel can take an event."""
    raise NotImplementedError


def enter(context: int, kind: int, column: int, base: int, now: int) -> int:
    """Stand for how a kernel enters an event into the only column that it concerns."""
    raise NotImplementedError


def reach(context: int, until: int) -> int:
    """Stand for how a kernel evaluates rules at moments."""
    raise NotImplementedError


def process(context: int, kind: int, base: int, now: int) -> int:
    """Stand for what a kernel does with an event."""
    raise NotImplementedError


def _run(context: int) -> int:
    """Process the queue of composite events and then the input, from where the last call left it."""
    count = fixed(context, At.INPUT_SIZE)
    rows = fixed(context, At.ROWS)
    next_row = peek(context, At.INPUT_NEXT)
    status = _process_queue(context)
    at = -1
    while status == DONE and next_row < count:
        at = next_row if rows == 0 else peek(rows, next_row)
        time = peek(fixed(context, At.TIMES), at)
        if time >= peek(context, At.DUE):
            status = reach(context, time)
            if status != DONE:
                break
        code = peek_half(fixed(context, At.CODES), at)
        kind = table(context, At.KINDS, code)
        if kind >= 0:
            rows_before = _rows_of(context, kind)
            status = _take(context, kind, table(context, At.LEFT, code), at, time)
            if status != DONE:
                break
            if fixed(context, At.TIMER_COUNT) > 0 and _rows_of(context, kind) > rows_before:
                wake(context, kind)
            if peek(context, At.QUEUE_NEXT) > 0:
                status = _process_queue(context)
        next_row += 1
    if status == DONE and peek(context, At.UNTIL) >= peek(context, At.DUE):
        status = reach(context, peek(context, At.UNTIL))
    poke(context, At.INPUT_NEXT, next_row)
    if at >= 0:
        poke(context, At.TIME, peek(fixed(context, At.TIMES), at))
    return status


def _take(context: int, kind: int, left: int, at: int, time: int) -> int:
    """Take an event of the input, of which something is left to do."""
    status = ready(context, kind, time)
    if status != DONE:
        return status
    base = _load_input(context, kind, at, time)
    if base < 0:
        return STORE_FULL
    if left >= 0:
        return enter(context, kind, left, base, time)
    poke(context, At.IS_SETTLED, left == Left.SETTLED)
    events = peek(context, At.OUTPUT_EVENTS)
    status = process(context, kind, base, time)
    if status == DONE:
        trace(context, events, at)
    return status


def _process_queue(context: int) -> int:
    """Process the composite events that rules listen to, and those that they complete in turn."""
    at = peek(context, At.QUEUE_FIRST)
    poke(context, At.IS_SETTLED, 0)
    while at < peek(context, At.QUEUE_NEXT):
        record = fixed(context, At.QUEUE) + 8 * at
        status = ready(context, peek(record, 0), peek(record, 1 + SLOT_TIME))
        base = _load_queued(context, record) if status == DONE else 0
        rows_before = _rows_of(context, peek(record, 0))
        events = peek(context, At.OUTPUT_EVENTS)
        if base < 0:
            status = STORE_FULL
        elif status == DONE:
            status = process(context, peek(record, 0), base, peek(record, 1 + SLOT_TIME))
        if status != DONE:
            poke(context, At.QUEUE_FIRST, at)
            return status
        if fixed(context, At.TIMER_COUNT) > 0 and _rows_of(context, peek(record, 0)) > rows_before:
            wake(context, peek(record, 0))
        trace(context, events, ~peek(record, fixed(context, At.RECORD_WIDTH) - 1))
        at += fixed(context, At.RECORD_WIDTH)
    poke(context, At.QUEUE_FIRST, 0)
    poke(context, At.QUEUE_NEXT, 0)
    return DONE


@inlined
def _rows_of(context: int, kind: int) -> int:
    """How many rows of a type were stored so far; an event that adds none is none that a timer waits after."""
    return peek(type_state_at(context, kind), TypeState.NEXT)


@inlined
def _load_input(context: int, kind: int, at: int, time: int) -> int:
    """Load an input event into the place where its row would be stored; return the place, -1 if the store must grow."""
    base = place_row(context, kind, time)
    if base < 0:
        return base
    row = fixed(context, At.STORE) + 8 * base
    ids = fixed(context, At.IDS)
    poke(row, SLOT_ID, fixed(context, At.FIRST_ID) + at if ids == 0 else peek(ids, at))
    poke(row, SLOT_TIME, time)
    poke(row, SLOT_START, peek(fixed(context, At.STARTS), at))
    sources = fixed(context, At.SOURCES) + 8 * fixed(type_at(context, kind), TypeField.INPUTS)
    slot = HEADER
    source = fixed(sources, slot)
    while source != ROW_ENDS:  # a mark, not a count: a compiler that knew the count would make much of a few words
        poke(row, slot, 0 if source == 0 else peek(source, at))
        slot += 1
        source = fixed(sources, slot)
    _take_place(context, row)
    return base


@inlined
def _take_place(context: int, row: int) -> None:
    """Give the event at an address the next place in the stream, where rules go by it."""
    if fixed(context, At.IS_ORDERED):
        order = peek(context, At.ORDER) + 1
        poke(context, At.ORDER, order)
        poke(row, SLOT_ORDER, order)


@inlined
def _load_queued(context: int, record: int) -> int:
    """Load a composite event of the queue into the place where its row would be stored; -1 if the store must grow."""
    kind = peek(record, 0)
    base = place_row(context, kind, peek(record, 1 + SLOT_TIME))
    if base >= 0:
        for k in range(fixed(type_at(context, kind), TypeField.WIDTH)):
            put(context, At.STORE, base + k, peek(record, 1 + k))
        _take_place(context, fixed(context, At.STORE) + 8 * base)
    return base
