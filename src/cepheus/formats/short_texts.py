"""Coding of columns of short texts, compiled: event types and keys are mostly short, and there are few of them.

A text of up to 16 bytes is two words and a length, so telling two apart takes no loop over their bytes.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, cast

import numpy as np
import pyarrow as pa
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from cepheus.kernel.compiled import compiled

Codes = NDArray[np.int32]
Words = NDArray[np.int64]

_LONGEST = 16
_MOST = 1024
_TABLE = 4 * _MOST
_SHIFT = np.uint64(64 - (_TABLE - 1).bit_length())
_STIR_LOW, _STIR_HIGH = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


class _Slot(IntEnum):
    """Of a place in the table of texts: a text's words, its length plus one, its code. All zeros are no text."""

    LOW = 0
    HIGH = 1
    LENGTH = 2
    CODE = 3


_LOW, _HIGH, _LENGTH, _CODE = map(int, _Slot)


def encode_short(array: pa.Array) -> pa.DictionaryArray | None:
    """Return an array of strings without nulls dictionary-coded; None if they are not all short, or not few.

    >>> encode_short(pa.array(["Temp", "Smoke", "Temp"])).indices.to_pylist()
    [0, 1, 0]
    """
    _, places, texts = array.buffers()
    if texts is None:
        return None
    offsets = np.frombuffer(places, np.int32)[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(texts, np.uint8)
    buffer = pa.allocate_buffer(4 * len(array))
    codes = np.frombuffer(buffer, np.int32)
    table, firsts = np.zeros((_TABLE, len(_Slot)), np.uint64), np.empty(_MOST, np.int64)
    distinct, done = _code(offsets, data.ctypes.data, len(data), codes, _MASKS, table, firsts, 0)
    if distinct < 0:
        return None
    begin, end = int(offsets[done]), int(offsets[-1])  # of the last texts: a word may reach beyond the data
    tail = np.append(data[begin:end], np.zeros(_LONGEST, np.uint8))
    offsets = offsets[done:] - np.int32(begin)
    known = distinct
    distinct, _ = _code(offsets, tail.ctypes.data, len(tail), codes[done:], _MASKS, table, firsts, known)
    if distinct < 0:
        return None
    firsts[known:distinct] += done
    texts = array.take(pa.array(firsts[:distinct]))
    return pa.DictionaryArray.from_arrays(pa.Array.from_buffers(pa.int32(), len(array), [None, buffer]), texts)


def _reader(_context: Any, _address: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        word = builder.load(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()))
        word.align = 1
        return word

    return types.uint64(types.int64), generate


_word_at = cast(Any, intrinsic(_reader))
"""Read the eight bytes at an address."""

_MASKS = np.array(
    [[(1 << 8 * min(length, 8)) - 1, (1 << 8 * max(0, length - 8)) - 1] for length in range(_LONGEST + 1)], np.uint64
)
"""By length, the bytes of the two words that belong to a text."""


def _code_texts(
    offsets: Codes,
    data: int,
    size: int,
    codes: Codes,
    masks: NDArray[np.uint64],
    table: NDArray[np.uint64],
    firsts: Words,
    count: int,
) -> tuple[int, int]:
    """Code texts in order of appearance, of which ``count`` distinct ones are known; give how many are, and the rows.

    Stops before a text whose two words reach beyond the data; -1 if a text is long, or if there are many.
    """
    for row in range(len(codes)):
        begin = np.int64(offsets[row])
        length = np.int64(offsets[row + 1]) - begin
        if length > _LONGEST:
            return -1, row
        if begin + _LONGEST > size:
            return count, row
        low, high = _word_at(data + begin) & masks[length, 0], _word_at(data + begin + 8) & masks[length, 1]
        at = np.int64((low * _STIR_LOW + high * _STIR_HIGH) >> _SHIFT)
        while not (table[at, _LOW] == low and table[at, _HIGH] == high and table[at, _LENGTH] == length + 1):
            if table[at, _LENGTH] == 0:
                if count == _MOST:
                    return -1, row
                table[at, _LOW], table[at, _HIGH], table[at, _LENGTH] = low, high, np.uint64(length + 1)
                table[at, _CODE] = np.uint64(count)
                firsts[count] = row
                count += 1
                break
            at = (at + 1) & (_TABLE - 1)
        codes[row] = table[at, _CODE]
    return count, len(codes)


_code = compiled(_code_texts)
