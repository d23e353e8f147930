"""Raw memory for compiled code: words and floats at an address.

The kernel's functions call one another many times for every event. Handing arrays around costs more than the work
itself (each array is seven words and a reference count), so they hand around one address, that of a table of
addresses of all arrays: the context. Python owns the arrays and writes the context anew whenever one of them grows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.kernel.checked import CHECKED, remember
from cepheus.kernel.compiled import inlined
from cepheus.kernel.guard import guard, index_type
from cepheus.kernel.instructions import FunctionField
from cepheus.kernel.program import (
    ColumnField,
    ConstraintField,
    ConsumedField,
    GroupKeyField,
    IndexField,
    InstructionField,
    KeyField,
    ListenerField,
    ListingField,
    OutputField,
    RuleField,
    SpanField,
    StepField,
    TimerField,
    TypeField,
)
from cepheus.kernel.state import (
    Cursor,
    EntryField,
    GatheredField,
    GroupState,
    LaneState,
    MarkField,
    OutputHeader,
    TimerState,
    TypeState,
)
from cepheus.kernel.tables import Fields, cell, rows_of, size_of, words_at

_WORD = ir.IntType(64)
_HALF = ir.IntType(32)
_DOUBLE = ir.DoubleType()
_BYTES = {_WORD: 8, _HALF: 4, _DOUBLE: 8}


def _reader(
    kind: ir.Type, result: types.Type, *, constant: bool = False, unit: ir.Type | None = None
) -> Callable[[int, int], Any]:
    """A reader of one kind of number at an index, which counts units of that kind or of another."""
    unit = unit or kind

    def typing(_context: Any, _address: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            if CHECKED:
                guard(context, builder, tuple(arguments), index, _BYTES[unit], _BYTES[kind])
            pointer = builder.gep(builder.inttoptr(arguments[0], unit.as_pointer()), [arguments[1]])
            value = builder.load(builder.bitcast(pointer, kind.as_pointer()))
            if constant:
                value.set_metadata("invariant.load", builder.module.add_metadata([]))
            return builder.sext(value, _WORD) if kind is _HALF else value

        return result(types.int64, index_type(index)), generate

    return cast(Callable[[int, int], Any], intrinsic(typing))


def _writer(kind: ir.Type, value_type: types.Type) -> Callable[[int, int, Any], None]:
    def typing(_context: Any, _address: Any, index: Any, _value: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            if CHECKED:
                guard(context, builder, tuple(arguments[:2]), index, _BYTES[kind], _BYTES[kind])
            pointer = builder.inttoptr(arguments[0], kind.as_pointer())
            builder.store(arguments[2], builder.gep(pointer, [arguments[1]]))
            return context.get_dummy_value()

        return types.void(types.int64, index_type(index), value_type), generate

    return cast(Callable[[int, int, Any], None], intrinsic(typing))


peek: Callable[[int, int], int] = _reader(_WORD, types.int64)
"""Read the word at an index from an address."""

fixed: Callable[[int, int], int] = _reader(_WORD, types.int64, constant=True)
"""Read a word that does not change while the kernel runs: an array's address, a field of the program."""

fixed_float: Callable[[int, int], float] = _reader(_DOUBLE, types.float64, constant=True)
"""Read a float that does not change while the kernel runs."""

peek_half: Callable[[int, int], int] = _reader(_HALF, types.int64)
"""Read the 32-bit integer at an index from an address."""

fixed_half: Callable[[int, int], int] = _reader(_HALF, types.int64, constant=True)
"""Read a 32-bit integer that does not change while the kernel runs."""

fixed_pair: Callable[[int, int], int] = _reader(_WORD, types.int64, constant=True, unit=_HALF)
"""Read the word that begins at a half word, of those that do not change while the kernel runs."""

peek_float: Callable[[int, int], float] = _reader(_DOUBLE, types.float64)
"""Read the float at an index from an address."""

poke: Callable[[int, int, int], None] = _writer(_WORD, types.int64)
"""Write a word."""

poke_float: Callable[[int, int, float], None] = _writer(_DOUBLE, types.float64)
"""Write a float."""


def _prefetch(_context: Any, _address: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        half, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        signature = ir.FunctionType(ir.VoidType(), [pointer, half, half, half])
        instruction = builder.module.declare_intrinsic("llvm.prefetch", [pointer], signature)
        hints = [ir.Constant(half, hint) for hint in (0, 3, 1)]  # for reading, kept in all caches, data
        builder.call(instruction, [builder.inttoptr(arguments[0], pointer), *hints])
        return context.get_dummy_value()

    return types.void(types.int64), generate


prefetch: Callable[[int], None] = cast(Callable[[int], None], intrinsic(_prefetch))
"""Ask for the line of the cache at an address, which will be read soon."""


def _overflow(instruction: str) -> Callable[[int, int], bool]:
    def typing(_context: Any, _left: Any, _right: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.extract_value(getattr(builder, instruction)(*arguments), 1)

        return types.boolean(types.int64, types.int64), generate

    return cast(Callable[[int, int], bool], intrinsic(typing))


add_overflows = _overflow("sadd_with_overflow")
"""Whether the sum of two integers does not fit in 64 bits."""

subtract_overflows = _overflow("ssub_with_overflow")
"""Whether the difference of two integers does not fit in 64 bits."""

multiply_overflows = _overflow("smul_with_overflow")
"""Whether the product of two integers does not fit in 64 bits."""


def _leading_zeros(_context: Any, _value: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


leading_zeros: Callable[[np.uint64], int] = cast(Callable[[np.uint64], int], intrinsic(_leading_zeros))
"""Count the zero bits above the highest one of an unsigned word; 64 for zero."""


def _float_of_bits(_context: Any, _bits: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], _DOUBLE)

    return types.float64(types.int64), generate


float_of_bits: Callable[[int], float] = cast(Callable[[int], float], intrinsic(_float_of_bits))
"""The float that a word's bits stand for."""


class At(Fields):
    """Places in the context: addresses of arrays, and single numbers that the kernel reads or changes."""

    # the program
    TYPES = rows_of(TypeField)
    LISTENERS = rows_of(ListenerField)
    CONSTRAINTS = rows_of(ConstraintField)
    CODE = rows_of(InstructionField)
    COLUMNS = rows_of(ColumnField)
    RULES = rows_of(RuleField)
    STEPS = rows_of(StepField)
    KEYS = rows_of(KeyField)
    LISTINGS = rows_of(ListingField)
    GROUP_KEYS = rows_of(GroupKeyField)
    OUTPUTS = rows_of(OutputField)
    CONSUMING = rows_of(ConsumedField)
    TIMERS = rows_of(TimerField)
    TIMER_COUNT = size_of(TIMERS)
    INDEXES = rows_of(IndexField)
    POINTS = words_at()
    NODES = rows_of(SpanField)
    MEMBERS = words_at()
    RECORD_WIDTH = cell(0)
    TABLES = words_at()
    TABLE_WIDTH = cell(0)
    FUNCTIONS = rows_of(FunctionField)  # those of expressions that are compiled by themselves
    MEMORY = cell(0)  # the address of a table of its own that an engine may have
    # the state
    STORE = words_at()
    STORE_SIZE = size_of(STORE)
    STORE_USED = cell(0)
    TYPE_STATE = rows_of(TypeState)
    LANES = rows_of(LaneState)
    LANES_SIZE = size_of(LANES)
    LANE_COUNT = cell(0)
    SUMS = words_at()
    ENTRIES = rows_of(EntryField)
    ENTRIES_SIZE = size_of(ENTRIES)
    ENTRIES_USED = cell(0)
    VALUES = words_at()  # of entries: what their columns sum, if any does
    HAS_VALUES = size_of(VALUES)
    IN_ORDER = words_at()  # in the block of a lane: the values in its window, in order, where its column keeps them so
    HASH = words_at()
    HASH_SIZE = size_of(HASH)
    DIRECT = words_at()  # by column and small key of one part, the lane
    DIRECT_SIZE = size_of(DIRECT)
    DIRECT_WIDTH = cell(0)  # keys below this are small
    COLUMN_LANE = words_at()
    FREE = words_at()
    QUEUE = words_at()
    QUEUE_SIZE = size_of(QUEUE)
    QUEUE_FIRST = cell(0)
    QUEUE_NEXT = cell(0)
    TIME = cell(MIN_TIME)
    TIMER_STATE = rows_of(TimerState)
    DUE = cell(MAX_TIME)  # no timer has a moment before; at the beginning of time, timers are yet to be put in order
    # working space
    BOUND = words_at()
    CURSORS = rows_of(Cursor)
    RESULTS = words_at()
    RESULTS_DEFINED = words_at()
    STACK = words_at()
    STACK_DEFINED = words_at()
    ACCEPTED_RULES = words_at()
    ACCEPTED_COLUMNS = words_at()
    ACCEPTED_LANES = words_at()
    MARKS = rows_of(MarkField)
    MARKS_SIZE = size_of(MARKS)
    MARK_COUNT = cell(0)
    SCAN_SUM = words_at()
    CHOSEN = words_at()
    CHOSEN_SIZE = size_of(CHOSEN)
    CHOSEN_COUNT = cell(0)
    GROUPS = rows_of(GroupState)
    GROUPS_SIZE = size_of(GROUPS)
    GROUP_COUNT = cell(0)
    GROUP_STAMP = cell(0)
    GATHERED = rows_of(GatheredField)
    GATHERED_SIZE = size_of(GATHERED)
    GATHERED_COUNT = cell(0)
    GATHERED_NEXT = cell(0)  # as far as the current event has come
    NEEDED_TABLE = cell(-1)
    NEEDED_CODE = cell(0)
    # input
    CODES = words_at()  # half words
    KINDS = words_at()
    LEFT = words_at()  # by code, what is left to do with an event: a column that it enters, or a member of ``Left``
    TIMES = words_at()
    STARTS = words_at()
    IDS = words_at()  # 0 if they are consecutive numbers
    FIRST_ID = cell(0)
    SOURCES = words_at()  # of slots of all types: the address of what goes there, 0 for nothing
    ID_DIGESTS = words_at()
    ROWS = words_at()
    INPUT_SIZE = cell(0)
    INPUT_NEXT = cell(0)
    STORES_ONLY = cell(0)  # 1 if events are stored and no rule is evaluated
    IS_SETTLED = cell(0)  # 1 if the current event is known to satisfy what listeners ask of it alone
    UNTIL = cell(MIN_TIME)  # moments up to this time are reached when the input is over
    # output
    OUTPUT = words_at(OutputHeader)
    OUTPUT_SIZE = cell(0)
    OUTPUT_EVENTS = cell(0)
    FOUND_EVENTS = cell(0)
    LINEAGE = cell(0)
    LIMIT = cell(0)
    CULPRIT = cell(0)
    # simultaneous events: what was counted, and for the current event, which may have to be taken again
    TIES_DECIDED = cell(0)
    TIES_PASSED = cell(0)
    TIES_BOUNDED = cell(0)
    NEW_DECIDED = cell(0)
    NEW_PASSED = cell(0)
    NEW_BOUNDED = cell(0)
    IS_ORDERED = cell(0)  # 1 if rules take simultaneous events as ordered; rows have a slot for that then
    ORDER = cell(0)  # the place in the stream of the latest event, counted only then
    HOMES = words_at()  # of types: the slot that tells whether an event is at home, -1 for always; 0 if there are none


@inlined
def signed(unsigned: np.uint64) -> int:
    """The bits of an unsigned word as a signed one."""
    return int(np.int64(unsigned))


@inlined
def whole(value: float) -> int:
    """A float that is a whole number, as an integer; it must fit."""
    return int(np.int64(value))


@inlined
def word(context: int, array: int, index: int) -> int:
    """Read a word of one of the context's arrays."""
    return peek(fixed(context, array), index)


@inlined
def number(context: int, array: int, index: int) -> float:
    """Read a float of one of the context's arrays."""
    return peek_float(fixed(context, array), index)


@inlined
def put(context: int, array: int, index: int, value: int) -> None:
    """Write a word of one of the context's arrays."""
    poke(fixed(context, array), index, value)


@inlined
def put_number(context: int, array: int, index: int, value: float) -> None:
    """Write a float of one of the context's arrays."""
    poke_float(fixed(context, array), index, value)


@inlined
def table(context: int, array: int, index: int) -> int:
    """Read a word of one of the program's tables."""
    return fixed(fixed(context, array), index)


def address(array: np.ndarray[Any, Any], *tables: type[Fields], mixed: bool = False, label: str | Fields = "") -> int:
    """Return the address of an array's data; whoever keeps it must keep the array.

    The checked build learns what the array is called and that it holds rows of a table (or of several, ``mixed`` with
    other words); without any it holds plain words.
    """
    if CHECKED:
        remember(array, label, tables, mixed)
    return int(array.ctypes.data)


def words_in(array: np.ndarray[Any, np.dtype[np.int64]]) -> memoryview[int]:
    """The words of an array for reading and writing one at a time, which arrays themselves are slow at."""
    return memoryview(cast(Any, array))
