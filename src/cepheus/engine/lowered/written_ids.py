"""Ids as Arrow texts: all at once, because a Python value for each costs more than finding the event did."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cepheus.kernel.program import Words

_DIGITS = np.frombuffer("".join(f"{byte:02x}" for byte in range(256)).encode(), np.uint16)
"""The two hexadecimal digits of each byte."""


def composite_ids(names: Sequence[str], which: Words, digests: Words) -> pa.Array:
    """The ids of composite events: the name of each, by its number, and its digest.

    >>> composite_ids(["Fire"], np.array([0]), np.array([1])).to_pylist()
    ['Fire:0000000000000001']
    >>> composite_ids(["Fire", "Alarm"], np.array([1, 0]), np.array([255, 16])).to_pylist()
    ['Alarm:00000000000000ff', 'Fire:0000000000000010']
    """
    if len(set(names)) == 1:
        return _behind(f"{names[0]}:".encode(), digests)
    prefixes = pa.array([f"{name}:" for name in names], pa.string())
    return pc.binary_join_element_wise(prefixes.take(pa.array(which)), _behind(b"", digests), "")


def _behind(prefix: bytes, numbers: Words) -> pa.Array:
    """Texts of a prefix and a number's sixteen hexadecimal digits."""
    digits: NDArray[np.uint16] = _DIGITS[numbers.astype(">i8").view(np.uint8)]
    length = len(prefix) + 16
    texts = np.empty((len(numbers), length), np.uint8)
    texts[:, : len(prefix)] = np.frombuffer(prefix, np.uint8)
    texts[:, len(prefix) :] = digits.view(np.uint8).reshape(len(numbers), 16)
    ends = np.arange(0, length * len(numbers) + 1, length, dtype=np.int32)
    return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(ends), pa.py_buffer(texts))


def lists_of_ids(lengths: Words, words: Words, told: Callable[[int, int], str]) -> pa.Array:
    """Lists of ids, so many in each, null for none; ids are given as words, one list after the other.

    A word from 0 up is itself. Another one is ``told`` by the number of its list and its place there.

    >>> lists_of_ids(np.array([1, 0, 2]), np.array([7, 5, -1]), lambda which, place: f"{which}.{place}").to_pylist()
    [['7'], None, ['5', '2.1']]
    """
    begins = np.concatenate(([0], np.cumsum(lengths)))
    texts = pa.array(words, pa.int64()).cast(pa.string())
    others = words < 0
    if others.any():
        at = np.flatnonzero(others)
        lists = np.searchsorted(begins, at, "right") - 1
        told_texts = [told(*each) for each in zip(lists.tolist(), (at - begins[lists]).tolist(), strict=True)]
        texts = pc.replace_with_mask(texts, others, pa.array(told_texts, pa.string()))
    ends = pa.array(begins, pa.int32(), mask=np.append(lengths == 0, False) if (lengths == 0).any() else None)
    return pa.ListArray.from_arrays(ends, texts)
