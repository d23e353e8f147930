"""Coding of columns of short texts, compiled: event types and keys are mostly short, and there are few of them.

A text of up to 16 bytes is two words and a length, so telling two apart takes no loop over their bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from cepheus.core import compiled

Codes = NDArray[np.int32]
Words = NDArray[np.int64]

_LONGEST = 16
_MOST = 1024
_TABLE = 4 * _MOST
_SHIFT = np.uint64(64 - (_TABLE - 1).bit_length())
_FOLDER = compiled.folder_for([Path(__file__), Path(compiled.__file__)])


def encode_short(array: pa.Array) -> pa.DictionaryArray | None:
    """Give an array of strings without nulls dictionary-coded; None if they are not all short, or not few.

    >>> encode_short(pa.array(["Temp", "Smoke", "Temp"])).indices.to_pylist()
    [0, 1, 0]
    """
    _, places, texts = array.buffers()
    if texts is None:
        return None
    offsets = np.frombuffer(places, np.int32)[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(texts, np.uint8)
    room = pa.allocate_buffer(4 * len(array))
    codes = np.frombuffer(room, np.int32)
    tables = (np.empty((_MOST, 3), np.uint64), np.full(_TABLE, -1, np.int32), np.empty(_MOST, np.int64))
    progress = np.zeros(2, np.int64)
    if not _code(offsets, data.ctypes.data, len(data), codes, _MASKS, *tables, progress):
        return None
    begin, end = int(offsets[progress[1]]), int(offsets[-1])  # of the last texts: a word may reach beyond the data
    tail = np.append(data[begin:end], np.zeros(_LONGEST, np.uint8))
    if not _code(offsets - np.int32(begin), tail.ctypes.data, len(tail), codes, _MASKS, *tables, progress):
        return None
    distinct = array.take(pa.array(tables[2][: progress[0]]))
    return pa.DictionaryArray.from_arrays(pa.Array.from_buffers(pa.int32(), len(array), [None, room]), distinct)


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
    keys: NDArray[np.uint64],
    table: Codes,
    firsts: Words,
    progress: Words,
) -> bool:
    """Code texts in order of appearance, from where ``progress`` (how many distinct, how many rows) says.

    Stops before a text whose two words reach beyond the data; False if a text is long, or if there are many.
    """
    count, row = progress[0], progress[1]
    while row < len(codes):
        begin = np.int64(offsets[row])
        length = np.int64(offsets[row + 1]) - begin
        if length > _LONGEST:
            return False
        if begin + _LONGEST > size:
            break
        low, high = _word_at(data + begin) & masks[length, 0], _word_at(data + begin + 8) & masks[length, 1]
        hashed = (low ^ (high * np.uint64(0x9E3779B97F4A7C15)) ^ np.uint64(length)) * np.uint64(0xBF58476D1CE4E5B9)
        hashed = (hashed ^ (hashed >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
        at = np.int64(hashed >> _SHIFT)
        code = table[at]
        while code >= 0 and not (keys[code, 0] == low and keys[code, 1] == high and keys[code, 2] == length):
            at = (at + 1) & (_TABLE - 1)
            code = table[at]
        if code < 0:
            if count == _MOST:
                return False
            keys[count, 0], keys[count, 1], keys[count, 2] = low, high, np.uint64(length)
            firsts[count] = row
            code = table[at] = count
            count += 1
        codes[row] = code
        row += 1
    progress[0], progress[1] = count, row
    return True


_code = compiled.compile_into(_FOLDER, _code_texts, inlined=False)
