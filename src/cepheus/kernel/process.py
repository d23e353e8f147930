"""What is done with an event, compiled: find whom it concerns, make room, search, commit, store.

Nothing is changed before the search has succeeded and room for storing the event is reserved. So when space runs out,
the kernel comes back with a status, the caller grows what is full, and the same event is taken again. The rows of a
snapshot go the same way, without the search.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.emit import commit_output, rule_at
from cepheus.kernel.index import accept_indexed, take
from cepheus.kernel.lanes import (
    append_entry,
    before,
    column_at,
    entry_at,
    is_small,
    lane_at,
    last_place,
    reserve_lane,
    small_lane,
    type_at,
    type_state_at,
    with_room,
)
from cepheus.kernel.loop import Process
from cepheus.kernel.memory import At, fixed, fixed_half, fixed_pair, peek, poke, prefetch, put, word
from cepheus.kernel.parts import with_parts
from cepheus.kernel.program import (
    SLOT_ORDER,
    SLOT_TIME,
    BriefField,
    ColumnField,
    RuleField,
    RuleFlag,
    StepField,
    TypeField,
)
from cepheus.kernel.state import DONE, STORE_FULL, STRING_NEEDED, LaneState, TypeState
from cepheus.kernel.ties import commit_ties
from cepheus.kernel.type_rows import append_row, place_row
from cepheus.kernel.windows import key_part

Compile = Callable[[Any], Any]
Replay = Callable[[int, int, int, int, int], int]

_STEP_BYTES = StepField.row_bytes()
_BRIEF_BYTES = BriefField.row_bytes()
_FEW = 4
"""Fewer rules and columns than these are looked at without asking for them beforehand."""


class Handling(NamedTuple):
    """How a kernel handles an event: compiled functions that get the context first.

    ``accept(context, kind)`` finds whom the current event concerns and returns how many rules and columns these are.
    ``fetch(context, rules, columns)`` asks for what they will look at. ``search_all(context, rules)`` finds the matches
    and returns a status. ``store_entry(context, k, base, now, row_number)`` enters the event into the k-th column.
    """

    accept: Callable[[int, int], tuple[int, int]]
    fetch: Callable[[int, int, int], None]
    search_all: Callable[[int, int], int]
    store_entry: Callable[[int, int, int, int, int], None]


def process_with(handling: Handling, compiled: Compile) -> Process:
    """What a kernel does with an event."""
    made: Process = compiled(with_parts(_process, **handling._asdict()))
    return made


def replay_with(
    accept: Callable[[int, int], tuple[int, int]], store_entry: Callable[[int, int, int, int, int], None]
) -> Replay:
    """How a kernel puts the rows of a snapshot back."""
    made: Replay = compiled(with_parts(_replay, accept=accept, store_entry=store_entry))
    return made


def search_all(context: int, rules: int) -> int:
    """Stand for the search of a kernel."""
    raise NotImplementedError


@inlined
def accept(context: int, kind: int) -> tuple[int, int]:
    """Find the rules that the current event terminates, in order of deployment, and the columns it enters.

    Returns how many there are of each; their numbers are in the working space.
    """
    row = type_at(context, kind)
    rules, columns = take(context, fixed(row, TypeField.MEMBERS), fixed(row, TypeField.MEMBERS_END), 0, 0)
    if fixed(row, TypeField.INDEXES) < fixed(row, TypeField.INDEXES_END):
        return accept_indexed(context, kind, rules, columns)
    return rules, columns


@inlined
def store_entry(context: int, k: int, base: int, now: int, row_number: int) -> None:
    """Enter the event at ``base`` into the k-th of the columns that took it."""
    append_entry(
        context, word(context, At.ACCEPTED_COLUMNS, k), word(context, At.ACCEPTED_LANES, k), base, now, row_number
    )


@inlined
def _reserve_in(context: int, column: int, base: int, now: int) -> int:
    """Find the lane of a column that the event at ``base`` enters, with room for it; minus a status for none."""
    row = column_at(context, column)
    count = fixed(row, ColumnField.KEYS)
    lane = -1
    if count == 0:
        lane = word(context, At.COLUMN_LANE, column)
    elif count == 1:
        key = key_part(row, 0, word(context, At.STORE, base + fixed(row, ColumnField.KEY)))
        if is_small(context, key):
            lane = small_lane(context, column, key)
    return _reserve_by_key(context, column, base, now) if lane < 0 else with_room(context, lane, now)


@compiled
def _reserve_by_key(context: int, column: int, base: int, now: int) -> int:
    """Find or make the lane for the key of the event at ``base``, with room for it; minus a status for none."""
    key = fixed(context, At.STACK)  # room that is free between two computations
    row = column_at(context, column)
    for part in range(fixed(row, ColumnField.KEYS)):
        value = word(context, At.STORE, base + fixed(row, ColumnField.KEY + part))
        poke(key, part, key_part(row, part, value))
    return reserve_lane(context, column, key, now)


@inlined
def enter(context: int, kind: int, column: int, base: int, now: int) -> int:
    """Take the event at ``base``, which does nothing but enter a column."""
    lane = _reserve_in(context, column, base, now)
    if lane < 0:
        return -lane
    append_entry(context, column, lane, base, now, append_row(context, kind))
    return DONE


@inlined
def reserve(context: int, base: int, columns: int, now: int) -> int:
    """Find the lanes that the event at ``base`` enters and make room in them."""
    for k in range(columns):
        lane = _reserve_in(context, word(context, At.ACCEPTED_COLUMNS, k), base, now)
        if lane < 0:
            return -lane
        put(context, At.ACCEPTED_LANES, k, lane)
    return DONE


@inlined
def steps_of(context: int, rule: int) -> tuple[int, int, int]:
    """Where the steps of a rule begin and end, and how many bytes each of them takes."""
    begin, end = fixed_half(rule, RuleField.STEPS), fixed_half(rule, RuleField.ABSENCES)
    if fixed_half(rule, RuleField.FLAGS) & RuleFlag.BRIEF:
        brief = rule + 4 * RuleField.BRIEF
        return brief, brief + _BRIEF_BYTES * (end - begin), _BRIEF_BYTES
    steps = fixed(context, At.STEPS)
    return steps + _STEP_BYTES * begin, steps + _STEP_BYTES * end, _STEP_BYTES


@compiled
def fetch(context: int, rules: int, columns: int) -> None:
    """Ask for what the accepted rules and columns will look at, all at once.

    Of thousands of rules little is in the cache, and following one chain after the other (a rule, its steps, their
    columns, their lanes, the latest entries) would wait at every link of each.
    """
    for k in range(rules):
        prefetch(rule_at(context, word(context, At.ACCEPTED_RULES, k)))
    for k in range(columns):
        prefetch(column_at(context, word(context, At.ACCEPTED_COLUMNS, k)))
    for k in range(columns):
        _fetch_lane(context, word(context, At.ACCEPTED_COLUMNS, k))
    for k in range(rules):
        begin, end, width = steps_of(context, rule_at(context, word(context, At.ACCEPTED_RULES, k)))
        for step in range(begin, end, width):
            if width == _BRIEF_BYTES:
                _fetch_lane(context, fixed_half(step, BriefField.COLUMN))
            else:
                prefetch(step)
    for k in range(columns):
        _fetch_entry(context, word(context, At.ACCEPTED_COLUMNS, k), 0)
    for k in range(rules):
        begin, end, width = steps_of(context, rule_at(context, word(context, At.ACCEPTED_RULES, k)))
        if width == _BRIEF_BYTES:
            _fetch_brief(context, begin, end)
        else:
            for step in range(begin, end, width):
                _fetch_lane(context, fixed(step, StepField.COLUMN))
                prefetch(type_state_at(context, fixed(step, StepField.TYPE)))
    for k in range(rules):
        begin, end, width = steps_of(context, rule_at(context, word(context, At.ACCEPTED_RULES, k)))
        if width != _BRIEF_BYTES:
            for step in range(begin, end, width):
                _fetch_row(context, fixed(step, StepField.COLUMN))


@inlined
def _fetch_brief(context: int, begin: int, end: int) -> None:
    """Ask for the rows that steps in brief will take, as far as their lanes tell; mostly that is all the way."""
    until = word(context, At.STORE, word(context, At.BOUND, 0) + SLOT_TIME)
    for step in range(begin, end, _BRIEF_BYTES):
        lane = word(context, At.COLUMN_LANE, fixed_half(step, BriefField.COLUMN))
        if lane < 0:
            return
        row = lane_at(context, lane)
        time = peek(row, LaneState.LAST_TIME)
        if time < before(until, fixed_pair(step, BriefField.WINDOW)):
            return
        if time >= until:
            prefetch(type_state_at(context, fixed_half(step, BriefField.TYPE)))
            _fetch_entry(context, fixed_half(step, BriefField.COLUMN), 2)
            return
        prefetch(fixed(context, At.STORE) + 8 * last_place(row))
        until = time


@inlined
def _only_lane(context: int, column: int) -> int:
    """The only lane of a column without keys; -1 if there is none yet, or the step looks at no column."""
    return word(context, At.COLUMN_LANE, column) if column >= 0 else -1


@inlined
def _fetch_lane(context: int, column: int) -> None:
    """Ask for the only lane of a column without keys."""
    lane = _only_lane(context, column)
    if lane >= 0:
        prefetch(lane_at(context, lane))


@inlined
def _fetch_entry(context: int, column: int, back: int) -> None:
    """Ask for the place of the next entry of such a lane, or so many before it."""
    lane = _only_lane(context, column)
    if lane >= 0:
        row = lane_at(context, lane)
        entry = (peek(row, LaneState.NEXT) - back) & peek(row, LaneState.MASK)
        prefetch(entry_at(context, peek(row, LaneState.OFFSET) + entry))


@inlined
def _fetch_row(context: int, column: int) -> None:
    """Ask for the row of the latest event of such a lane, and for its entry, which other than plain steps read."""
    lane = _only_lane(context, column)
    if lane >= 0:
        prefetch(fixed(context, At.STORE) + 8 * last_place(lane_at(context, lane)))
        _fetch_entry(context, column, 1)


def _process(context: int, kind: int, base: int, now: int) -> int:
    """Take the event at ``base``: find whom it concerns, reserve room, search, commit."""
    put(context, At.BOUND, 0, base)
    rules, columns = accept(context, kind)
    if peek(context, At.NEEDED_TABLE) >= 0:
        return STRING_NEEDED
    if fixed(context, At.STORES_ONLY):
        rules = 0
    if rules + columns == 0:
        return DONE
    if rules + columns > _FEW:
        fetch(context, rules, columns)
    status = reserve(context, base, columns, now)
    if rules > 0 and status == DONE:
        status = search_all(context, rules)
    if status != DONE:
        return status
    if rules > 0:
        commit_output(context)
        commit_ties(context, kind, base)
    if columns > 0:
        row_number = append_row(context, kind)
        for k in range(columns):
            store_entry(context, k, base, now, row_number)
    return status


def _replay(context: int, kind: int, rows: int, count: int, born: int) -> int:
    """Store the rows of a type, given one after the other at an address, and enter them into its columns.

    ``born`` is the address of a word per column: the first row that the column may hold. The type's next row number
    tells where to go on after the caller has grown what was full.
    """
    width = fixed(type_at(context, kind), TypeField.WIDTH)
    poke(context, At.IS_SETTLED, 0)
    for at in range(peek(context, At.INPUT_NEXT), count):
        row = rows + 8 * at * width
        time = peek(row, SLOT_TIME)
        base = place_row(context, kind, time)
        if base < 0:
            return STORE_FULL
        for k in range(width):
            put(context, At.STORE, base + k, peek(row, k))
        if fixed(context, At.IS_ORDERED):
            poke(context, At.ORDER, max(peek(context, At.ORDER), peek(row, SLOT_ORDER)))
        put(context, At.BOUND, 0, base)
        _, columns = accept(context, kind)
        if peek(context, At.NEEDED_TABLE) >= 0:
            return STRING_NEEDED
        number = peek(type_state_at(context, kind), TypeState.NEXT)
        kept = 0
        for k in range(columns):
            column = word(context, At.ACCEPTED_COLUMNS, k)
            if peek(born, column) <= number:
                put(context, At.ACCEPTED_COLUMNS, kept, column)
                kept += 1
        status = reserve(context, base, kept, time)
        if status != DONE:
            return status
        append_row(context, kind)
        for k in range(kept):
            store_entry(context, k, base, time, number)
        poke(context, At.INPUT_NEXT, at + 1)
    return DONE


replay = replay_with(accept, store_entry)
"""Put the rows of a snapshot back: rows of certain events."""
