"""Which bucket an event falls into: a hash of its key, compiled for many events, the same in Python for one.

Values that rules can find equal have equal hashes. Numbers of all types are hashed as doubles, since an integer may
equal a double; two integers that are the same double share a bucket, which does no harm.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from cepheus.core.values import Value, as_float
from cepheus.kernel.compiled import compiled
from cepheus.kernel.memory import float_of_bits, peek, signed
from cepheus.kernel.program import Words

BUCKETS = 1 << 12
_UNUSED_BITS = 64 - 12
_MASK = 2**64 - 1
_FIRST_FACTOR, _SECOND_FACTOR = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


class KeyKind(IntEnum):
    """What the words of a key column are: integers, doubles, or hashes of texts."""

    INTEGER = 0
    DOUBLE = 1
    TEXT = 2


_INTEGER, _TEXT = int(KeyKind.INTEGER), int(KeyKind.TEXT)
_DOUBLES = struct.Struct("<d")
_UNSIGNED = struct.Struct("<Q")


def bucket_of(value: Value | None) -> int:
    """Give the bucket of an event with that key; an event without one meets no other, so any will do.

    >>> bucket_of(3) == bucket_of(3.0) != bucket_of("3")
    True
    """
    if value is None or isinstance(value, tuple):  # a list, which the engine that gets it refuses
        return 0
    word = hash_text(value) if isinstance(value, str) else _UNSIGNED.unpack(_DOUBLES.pack(as_float(value) + 0.0))[0]
    word = ((word ^ (word >> 30)) * _FIRST_FACTOR) & _MASK
    word = ((word ^ (word >> 27)) * _SECOND_FACTOR) & _MASK
    return int((word ^ (word >> 31)) >> _UNUSED_BITS)


def hash_text(text: str) -> int:
    """Give a hash of a text that is the same in every process."""
    return crc32(text.encode("utf-8", "surrogatepass"))


@compiled
def _bucket(word: np.uint64) -> int:
    word = (word ^ (word >> np.uint64(30))) * np.uint64(_FIRST_FACTOR)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(_SECOND_FACTOR)
    return signed((word ^ (word >> np.uint64(31))) >> np.uint64(_UNUSED_BITS))


@compiled
def _hash(kind: int, word: int, scratch: NDArray[np.float64], bits: NDArray[np.uint64]) -> np.uint64:
    """Give the word that stands for a key; ``bits`` are those of ``scratch``."""
    if kind == _TEXT:
        return np.uint64(word)
    scratch[0] = (float(word) if kind == _INTEGER else float_of_bits(word)) + 0.0
    return np.uint64(bits[0])


@compiled
def sort_rows(
    codes: NDArray[np.int32], rows: Words, columns: Words, kinds: Words, buckets: NDArray[np.int16], counts: Words
) -> None:
    """Give the bucket of each row, -1 for an event that does not matter, and count the rows of each bucket.

    For each type code, ``columns`` has the address of its keys, 0 if events of the type do not matter, and ``kinds``
    what they are.
    """
    scratch = np.zeros(1, np.float64)
    bits = scratch.view(np.uint64)
    for at in range(len(rows)):
        row = rows[at]
        code = codes[row]
        if columns[code] == 0:
            buckets[at] = -1
        else:
            bucket = _bucket(_hash(kinds[code], peek(columns[code], row), scratch, bits))
            buckets[at] = bucket
            counts[bucket] += 1


@compiled
def deal_rows(rows: Words, buckets: NDArray[np.int16], owners: Words, counts: Words, dealt: Words) -> None:
    """Deal rows out to the owners of their buckets; ``dealt`` has a line for each, of which ``counts`` are filled."""
    for at in range(len(rows)):
        if buckets[at] >= 0:
            owner = owners[buckets[at]]
            dealt[owner, counts[owner]] = rows[at]
            counts[owner] += 1
