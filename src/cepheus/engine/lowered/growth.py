"""Growing: larger arrays when the kernel runs out of room, and state brought in line with new rules."""

from __future__ import annotations

import numpy as np

from cepheus.core.time import MIN_TIME
from cepheus.kernel.context import Context, Scratch, State
from cepheus.kernel.memory import At, address
from cepheus.kernel.program import ColumnField, Program, TypeField, Words
from cepheus.kernel.state import EntryField, GroupState, LaneState, Status, TypeState
from cepheus.kernel.sweeping import rebuild_hash, sweep
from cepheus.kernel.tables import zeros_in_lines
from cepheus.plan.pattern.lower import Lowering

_LEAST_STORE = 1024

_SMALL = 1 << 16
_FEW_KEYS = 64
"""Keys below this are small from the beginning, keys below the other may become so."""

_FIRST_ROWS = 24
"""There is room for so many rows of every type that is stored, and for a third as many entries of every column."""

_MANY_EVENTS = 1 << 12
"""Where at least so many are to come, room is made for many at once: coming back for it costs more than the room."""

_MUCH_STORE, _MANY_ENTRIES = 1 << 17, 1 << 15
"""The words and entries that there is room for then, at least; what is not used takes up no memory."""


def adapt(context: Context, state: State, program: Program, lowering: Lowering) -> None:
    """Give the state room for all types and columns of a program; rows get the slots that were added."""
    widths = program.types[:, TypeField.WIDTH]
    current = int(widths.max(initial=0))
    types = TypeState.zeros(len(widths))
    types[:, TypeState.MASK] = -1
    types[: len(state.type_state)] = state.type_state
    types[:, TypeState.WIDTH] = widths
    unused = program.types[:, TypeField.STORED] == 0  # rows that a withdrawn rule needed are gone, their numbers stay
    types[unused, TypeState.FIRST] = types[unused, TypeState.NEXT]
    blocks: list[Words] = []
    used = current
    for kind in range(len(state.type_state)):
        size = int(types[kind, TypeState.MASK]) + 1
        offset, old_width = int(types[kind, TypeState.OFFSET]), lowering.stored_width(kind)
        block = np.zeros((size, int(widths[kind])), np.int64)
        block[:, :old_width] = state.store[offset : offset + size * old_width].reshape(size, old_width)
        types[kind, TypeState.OFFSET] = used
        used += block.size
        blocks.append(block.ravel())
    lowering.note_widths()
    stored = program.types[:, TypeField.STORED] != 0
    state.store = np.zeros(max(_LEAST_STORE, 2 * used, current + _FIRST_ROWS * int(widths[stored].sum())), np.int64)
    if blocks:
        state.store[current:used] = np.concatenate(blocks)
    state.type_state = types
    column_lane = np.full(max(1, lowering.column_count), -1, np.int64)
    column_lane[: len(state.column_lane)] = state.column_lane
    state.column_lane = column_lane
    state.queue = np.zeros(max(len(state.queue), 4 * program.record_width), np.int64)
    while len(state.lanes) < lowering.column_count:
        _double_lanes(state)
    while len(state.entries) < _FIRST_ROWS // 3 * lowering.column_count:
        _more_entries(state, 2 * len(state.entries))
    summing = lowering.doubtful or program.columns[:, ColumnField.SUM_KIND].any()
    if summing and len(state.values) == 0:
        state.values = np.zeros(len(state.entries), np.int64)
    if program.columns[:, ColumnField.IN_ORDER].any() and len(state.in_order) == 0:
        state.in_order = np.zeros(len(state.entries), np.int64)
    context[At.STORE_USED] = used
    _point_lanes(context, state, program)
    _fit_direct(context, state, program)


def grow(status: Status, context: Context, state: State, scratch: Scratch, program: Program) -> None:
    """Make more of what ran out."""
    match status:
        case Status.STORE_FULL:
            _grow_store(context, state, program)
        case Status.ENTRIES_FULL:
            _more_entries(state, max(2 * len(state.entries), _MANY_ENTRIES if _many_come(context) else 0))
        case Status.LANES_FULL:
            _grow_lanes(context, state, program, len(scratch.accepted_lanes))
        case Status.QUEUE_FULL:
            _grow_queue(context, state)
        case Status.MARKS_FULL:
            scratch.marks = _larger(scratch.marks)
            context.use_scratch(scratch)
        case Status.LISTS_FULL:
            scratch.chosen = _larger(scratch.chosen)
            context.use_scratch(scratch)
        case Status.GROUPS_FULL:
            scratch.groups = GroupState.zeros(2 * len(scratch.groups))
            context.use_scratch(scratch)
        case Status.GATHERED_FULL:
            scratch.gathered = _larger(scratch.gathered)
            context.use_scratch(scratch)
        case _:
            raise AssertionError(f"nothing to grow for {status!r}")
    context.use_state(state)


def sweep_lanes(context: Context, state: State, dropped: list[int] | None = None, until: int | None = None) -> None:
    """Forget what is out of reach at a time, by default the present, and the lanes of dropped columns."""
    drop = np.zeros(len(state.column_lane) + 1, np.int64)
    drop[dropped or []] = 1
    sweep(context.address, context[At.TIME] if until is None else until, address(drop))


def forget_all(context: Context, state: State, numbers: Words) -> None:
    """Forget all that is stored and keep the room; the next rows of the types have these numbers."""
    state.type_state[:, TypeState.FIRST] = state.type_state[:, TypeState.NEXT] = numbers
    state.column_lane[:] = state.free[:] = state.hash[:] = state.direct[:] = -1
    for at in (At.LANE_COUNT, At.ENTRIES_USED, At.QUEUE_FIRST, At.QUEUE_NEXT):
        context[at] = 0
    context[At.TIME] = MIN_TIME


def _larger(array: Words, size: int = 0) -> Words:
    """An array of so many rows, or twice as many as there are, that begins with the same."""
    grown = np.zeros((size or 2 * len(array), *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown


def _more_lines(table: Words, rows: int) -> Words:
    grown = zeros_in_lines(rows, table.shape[1])
    grown[: len(table)] = table
    return grown


def _more_entries(state: State, rows: int) -> None:
    state.entries = _more_lines(state.entries, rows)
    if len(state.values):
        state.values = _larger(state.values, rows)
    if len(state.in_order):
        state.in_order = _larger(state.in_order, rows)


def _double_lanes(state: State) -> None:
    """Make room for twice as many lanes; the table by which keys find them is empty then."""
    state.lanes = _more_lines(state.lanes, 2 * len(state.lanes))
    state.sums = _larger(state.sums)
    state.hash = np.full(2 * len(state.hash), -1, np.int64)


def _many_come(context: Context) -> bool:
    """Whether much of the input is still to come."""
    return context[At.INPUT_SIZE] - context[At.INPUT_NEXT] >= _MANY_EVENTS


def _grow_store(context: Context, state: State, program: Program) -> None:
    """Move the rings of all types into a larger store, without the gaps that outgrown ones left."""
    widths = program.types[:, TypeField.WIDTH]
    sizes = (state.type_state[:, TypeState.MASK] + 1) * widths
    current = int(widths.max(initial=0))
    live = current + int(sizes.sum())
    much = _MUCH_STORE if _many_come(context) else 0
    store: Words = np.zeros(max(len(state.store), 4 * live, much), np.int64)
    store[:current] = state.store[:current]
    used = current
    for row, size in zip(state.type_state, sizes.tolist(), strict=True):
        offset = int(row[TypeState.OFFSET])
        store[used : used + size] = state.store[offset : offset + size]
        row[TypeState.OFFSET] = used
        used += size
    state.store = store
    context[At.STORE_USED] = used
    _point_lanes(context, state, program)


def _point_lanes(context: Context, state: State, program: Program) -> None:
    """Tell each lane where the row of its latest event is now."""
    lanes = state.lanes[: context[At.LANE_COUNT]]
    types = state.type_state[program.columns[lanes[:, LaneState.COLUMN], ColumnField.TYPE]]
    latest = lanes[:, LaneState.OFFSET] + ((lanes[:, LaneState.NEXT] - 1) & lanes[:, LaneState.MASK])
    numbers = state.entries[latest, EntryField.ROW] & types[:, TypeState.MASK]
    places = types[:, TypeState.OFFSET] + numbers * types[:, TypeState.WIDTH]
    lanes[:, LaneState.LAST_PLACE] = 2 * places + (lanes[:, LaneState.LAST_PLACE] & 1)


def _grow_lanes(context: Context, state: State, program: Program, most: int) -> None:
    """Free the lanes of keys that are long gone; if most are alive, make room for more.

    There is room then for the lanes that one event may need, ``most`` of them.
    """
    sweep_lanes(context, state)
    wanted = context[At.LANE_COUNT] + max(context[At.LANE_COUNT], most)
    if wanted <= len(state.lanes):
        return
    while len(state.lanes) < wanted:
        _double_lanes(state)
    _fit_direct(context, state, program)


def _fit_direct(context: Context, state: State, program: Program) -> None:
    """Have small keys, as far as there are any, find their lanes directly; then enter all lanes.

    There may be a few times as many places as lanes.
    """
    single = program.columns[:, ColumnField.KEYS] == 1
    lanes = state.lanes[: context[At.LANE_COUNT]]
    keys = lanes[single[lanes[:, LaneState.COLUMN]], LaneState.KEY]
    largest = int(keys[(keys >= 0) & (keys < _SMALL)].max(initial=_FEW_KEYS - 1))
    width = 1 << largest.bit_length()
    while width >= _FEW_KEYS and width * len(single) > _FEW_KEYS * len(state.lanes):
        width //= 2
    state.direct = np.full((len(single), width if single.any() and width >= _FEW_KEYS else 0), -1, np.int64)
    context.use_state(state)
    rebuild_hash(context.address)


def _grow_queue(context: Context, state: State) -> None:
    first, end = context[At.QUEUE_FIRST], context[At.QUEUE_NEXT]
    queue = np.zeros(2 * len(state.queue), np.int64)
    queue[: end - first] = state.queue[first:end]
    state.queue = queue
    context[At.QUEUE_FIRST] = 0
    context[At.QUEUE_NEXT] = end - first
