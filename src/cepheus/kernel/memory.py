"""Raw memory for compiled code: words and floats at an address.

The kernel's functions call one another many times for every event. Handing arrays around costs more than the work
itself (each array is seven words and a reference count), so they hand around one address, that of a table of
addresses of all arrays: the context. Python owns the arrays and writes the context anew whenever one of them grows.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from cepheus.kernel.compiled import inlined

_WORD = ir.IntType(64)
_HALF = ir.IntType(32)
_DOUBLE = ir.DoubleType()


def _reader(kind: ir.Type, result: types.Type, *, constant: bool = False) -> Callable[[int, int], Any]:
    def typing(_context: Any, _address: Any, _index: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], kind.as_pointer())
            value = builder.load(builder.gep(pointer, [arguments[1]]))
            if constant:
                value.set_metadata("invariant.load", builder.module.add_metadata([]))
            return builder.sext(value, _WORD) if kind is _HALF else value

        return result(types.int64, types.int64), generate

    return cast(Callable[[int, int], Any], intrinsic(typing))


def _writer(kind: ir.Type, value_type: types.Type) -> Callable[[int, int, Any], None]:
    def typing(_context: Any, _address: Any, _index: Any, _value: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], kind.as_pointer())
            builder.store(arguments[2], builder.gep(pointer, [arguments[1]]))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, value_type), generate

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
"""Tell whether the sum of two integers does not fit in 64 bits."""

subtract_overflows = _overflow("ssub_with_overflow")
"""Tell whether the difference of two integers does not fit in 64 bits."""

multiply_overflows = _overflow("smul_with_overflow")
"""Tell whether the product of two integers does not fit in 64 bits."""


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
"""Give the float that a word's bits stand for."""


class At(IntEnum):
    """Places in the context: addresses of arrays, and single numbers that the kernel reads or changes."""

    # the program
    TYPES = 0
    LISTENERS = 1
    CONSTRAINTS = 2
    CODE = 3
    COLUMNS = 4
    RULES = 5
    STEPS = 6
    KEYS = 7
    OUTPUTS = 8
    CONSUMING = 9
    TABLES = 10
    TABLE_WIDTH = 11
    INDEXES = 12
    POINTS = 13
    NODES = 14
    MEMBERS = 15
    RECORD_WIDTH = 16
    FUNCTIONS = 18  # compiled functions of expressions
    MEMORY = 17  # the address of a table of its own that an engine may have
    # the state
    STORE = 20
    TYPE_STATE = 21
    LANES = 22
    SUMS = 23
    ENTRIES = 24
    VALUES = 25  # of entries: what their columns sum, if any does
    HAS_VALUES = 26
    HASH = 27
    COLUMN_LANE = 28
    FREE = 29
    QUEUE = 30
    # working space
    BOUND = 40
    CURSORS = 41
    RESULTS = 42
    RESULTS_DEFINED = 43
    STACK = 44
    STACK_DEFINED = 45
    ACCEPTED_RULES = 46
    ACCEPTED_COLUMNS = 47
    ACCEPTED_LANES = 48
    MARKS = 49
    SCAN_SUM = 58
    # input and output
    CODES = 50
    KINDS = 51
    TIMES = 52
    IDS = 53  # 0 if they are consecutive numbers
    FIRST_ID = 86
    ADDRESSES = 54
    SLOTS = 55
    ID_DIGESTS = 56
    OUTPUT = 57
    ROWS = 59
    STARTS = 85
    LINEAGE = 69
    # sizes
    STORE_SIZE = 60
    ENTRIES_SIZE = 61
    LANES_SIZE = 62
    HASH_SIZE = 63
    QUEUE_SIZE = 64
    MARKS_SIZE = 65
    OUTPUT_SIZE = 66
    INPUT_SIZE = 67
    LIMIT = 68
    # numbers that change
    INPUT_NEXT = 70
    STORE_USED = 71
    ENTRIES_USED = 72
    LANE_COUNT = 73
    QUEUE_FIRST = 74
    QUEUE_NEXT = 75
    OUTPUT_EVENTS = 76
    CULPRIT = 78
    TIME = 79
    MARK_COUNT = 80
    FOUND_EVENTS = 81
    NEEDED_TABLE = 83
    NEEDED_CODE = 84
    # simultaneous events: what was counted, and for the current event, which may have to be taken again
    TIES_DECIDED = 87
    TIES_PASSED = 88
    TIES_BOUNDED = 89
    NEW_DECIDED = 90
    NEW_PASSED = 91
    NEW_BOUNDED = 92
    HOMES = 93  # of types: the slot that tells whether an event is at home, -1 for always; 0 if there are none


CONTEXT_SIZE = 96


@inlined
def signed(unsigned: np.uint64) -> int:
    """Give the bits of an unsigned word as a signed one."""
    return int(np.int64(unsigned))


@inlined
def whole(value: float) -> int:
    """Give a float that is a whole number as an integer; it must fit."""
    return int(np.int64(value))


@inlined
def fixed_pair(address: int, half: int) -> int:
    """Read the word that begins at a half word, of those that do not change while the kernel runs."""
    return fixed(address, half >> 1)


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


def address(array: np.ndarray[Any, Any]) -> int:
    """Give the address of an array's data; whoever keeps it must keep the array."""
    return int(array.ctypes.data)


def words_in(array: np.ndarray[Any, np.dtype[np.int64]]) -> memoryview[int]:
    """Give the words of an array for reading and writing one at a time, which arrays themselves are slow at."""
    return memoryview(cast(Any, array))
