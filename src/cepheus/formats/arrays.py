"""Arrow arrays as NumPy arrays of a known type, sharing memory where the layouts allow it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cepheus.core.batch import IntArray

BoolArray = NDArray[np.bool_]
Number = TypeVar("Number", bound=np.generic)


def int_array(array: pa.Array) -> IntArray:
    """View integers of 64 bits, or timestamps, without nulls as a NumPy array that shares their memory.

    >>> int_array(pa.array([1, 2, 3])[1:]).tolist()
    [2, 3]
    """
    return _shared(array, np.int64)


def float_array(array: pa.Array) -> NDArray[np.float64]:
    """View doubles without nulls as a NumPy array that shares their memory."""
    return _shared(array, np.float64)


def code_array(indices: pa.Array) -> NDArray[np.int32]:
    """The indices of a dictionary, of any width and without nulls, as a NumPy array."""
    return _shared(indices if indices.type == pa.int32() else indices.cast(pa.int32()), np.int32)


def encoded(texts: pa.Array) -> pa.DictionaryArray:
    """Return an array of strings dictionary-coded, as it is if it is coded already.

    >>> encoded(pa.array(["Temp", "Smoke", "Temp"])).indices.to_pylist()
    [0, 1, 0]
    """
    if pa.types.is_dictionary(texts.type):
        return texts
    if len(texts) >= _MANY and texts.null_count == 0 and texts.type == pa.string():
        from cepheus.formats.short_texts import encode_short

        coded = encode_short(texts)
        if coded is not None:
            return coded
    return texts.dictionary_encode()


_MANY = 1 << 14
"""Compiled code is worth its loading from so many rows on."""


def validity(array: pa.Array) -> BoolArray:
    """Mark each row of an array, whether it has a value.

    >>> validity(pa.array([1, None])).tolist()
    [True, False]
    """
    if array.null_count == 0:
        return np.ones(len(array), np.bool_)
    bits = array.buffers()[0]
    if bits is None:  # an array of nothing but nulls has no bits at all
        return np.zeros(len(array), np.bool_)
    return _bits(bits, array.offset, len(array))


_FEW = 8


def rows_with(codes: NDArray[np.int32], wanted: Sequence[int], total: int) -> BoolArray:
    """Mark the rows with one of the wanted codes; codes run from 0 up to ``total``.

    Comparing whole columns is several times faster than looking codes up, as long as there are few.

    >>> rows_with(np.array([2, 0, 1, 2], np.int32), [0, 2], 3).tolist()
    [True, True, False, True]
    """
    if len(wanted) > _FEW:
        marked = np.zeros(total, np.bool_)
        marked[list(wanted)] = True
        found: BoolArray = marked[codes]
        return found
    if not wanted:
        return np.zeros(len(codes), np.bool_)
    rows: BoolArray = codes == wanted[0]
    for code in wanted[1:]:
        rows |= codes == code
    return rows


def all_finite(numbers: NDArray[np.float64]) -> bool:
    """Whether no number is infinite or not a number: their sum tells, unless it is too large itself.

    >>> all_finite(np.array([1.0, -2.0])), all_finite(np.array([1.0, np.nan])), all_finite(np.array([1e308, 1e308]))
    (True, False, True)
    """
    with np.errstate(all="ignore"):
        total = numbers.sum()
    return bool(np.isfinite(total)) or bool(np.isfinite(numbers).all())


def _shared(array: pa.Array, scalar: type[Number]) -> NDArray[Number]:
    if len(array) == 0:
        return np.empty(0, scalar)
    return np.frombuffer(array.buffers()[1], scalar)[array.offset : array.offset + len(array)]


def _bits(bits: pa.Buffer, offset: int, length: int) -> BoolArray:
    if length == 0:
        return np.empty(0, np.bool_)
    unpacked = np.unpackbits(np.frombuffer(bits, np.uint8), count=offset + length, bitorder="little")
    return unpacked[offset:].view(np.bool_)
