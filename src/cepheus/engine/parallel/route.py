"""Which shard an event goes to: a hash of its key, compiled for many events, the same in Python for one.

Values that rules can find equal have equal hashes. Numbers of all types are hashed as doubles, since an integer may
equal a double; two integers that are the same double share a shard, which does no harm.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from cepheus.core.values import Value
from cepheus.engine.columns.memory import float_of_bits, peek, signed
from cepheus.engine.parallel.compiled import compiled
from cepheus.plan.program import Words

_MASK = 2**64 - 1
_FIRST_FACTOR, _SECOND_FACTOR = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


class KeyKind(IntEnum):
    """What the words of a key column are: integers, doubles, or hashes of texts."""

    INTEGER = 0
    DOUBLE = 1
    TEXT = 2


_INTEGER, _DOUBLE, _TEXT = map(int, KeyKind)
_DOUBLES = struct.Struct("<d")
_UNSIGNED = struct.Struct("<Q")


def shard_of(value: Value | None, shards: int) -> int:
    """Give the shard of an event with that key; an event without one meets no other, so any will do.

    >>> shard_of(3, 8) == shard_of(3.0, 8), shard_of("A1", 1)
    (True, 0)
    """
    if value is None:
        return 0
    word = hash_text(value) if isinstance(value, str) else _UNSIGNED.unpack(_DOUBLES.pack(float(value) + 0.0))[0]
    word = ((word ^ (word >> 30)) * _FIRST_FACTOR) & _MASK
    word = ((word ^ (word >> 27)) * _SECOND_FACTOR) & _MASK
    return (((word ^ (word >> 31)) >> 32) * shards) >> 32


def hash_text(text: str) -> int:
    """Give a hash of a text that is the same in every process."""
    return crc32(text.encode("utf-8", "surrogatepass"))


@compiled
def _shard(word: np.uint64, shards: int) -> int:
    word = (word ^ (word >> np.uint64(30))) * np.uint64(_FIRST_FACTOR)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(_SECOND_FACTOR)
    return signed(((word ^ (word >> np.uint64(31))) >> np.uint64(32)) * np.uint64(shards) >> np.uint64(32))


@compiled
def _hash(kind: int, word: int, scratch: NDArray[np.float64], bits: NDArray[np.uint64]) -> np.uint64:
    """Give the word that stands for a key; ``bits`` are those of ``scratch``."""
    if kind == _TEXT:
        return np.uint64(word)
    scratch[0] = (float(word) if kind == _INTEGER else float_of_bits(word)) + 0.0
    return np.uint64(bits[0])


@compiled
def route(codes: NDArray[np.int32], rows: Words, columns: Words, kinds: Words, counts: Words, routed: Words) -> None:
    """Deal rows out to shards.

    For each type code, ``columns`` has the address of its keys and ``kinds`` what they are; an address of 0 says that
    events of the type do not matter. ``routed`` has a line for each shard, of which ``counts`` words are filled.
    """
    scratch = np.zeros(1, np.float64)
    bits = scratch.view(np.uint64)
    shards = len(counts)
    for row in rows:
        code = codes[row]
        if columns[code] != 0:
            shard = _shard(_hash(kinds[code], peek(columns[code], row), scratch, bits), shards)
            routed[shard, counts[shard]] = row
            counts[shard] += 1
