"""How many values differ, nearly: HyperLogLog, the same on every host for the same values.

Each value is stirred into 64 bits. The first of them choose one of 4,096 registers, which keeps the longest run of
zeros that the others began with. How long these runs are tells how many different values there were, to 1.6 percent as
a rule (one standard error), and equal values change nothing. Few values are counted by the registers that stay empty.
Kernels have the same in ``kernel/sketch.py``.

Flajolet, Fusy, Gandouet, Meunier: HyperLogLog, the analysis of a near-optimal cardinality estimation algorithm, 2007.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable

from cepheus.core.event import id_word, stir
from cepheus.core.values import Value

BITS = 12
REGISTERS = 1 << BITS
LONGEST = 64 - BITS + 1
"""The longest run that a register may hold, counted from 1."""

SCALE = 0.7213 / (1.0 + 1.079 / REGISTERS) * REGISTERS * REGISTERS
FEW = 2.5 * REGISTERS
"""Up to so many, empty registers tell more than the runs."""

BY_EMPTY = tuple(round(REGISTERS * math.log(REGISTERS / max(empty, 1))) for empty in range(REGISTERS + 1))
"""How many values there were if so many registers are still empty."""

_WORD = 2**64 - 1


def value_word(value: Value) -> int:
    """The 64 bits that stand for a value: equal values have equal ones, also an integer and a double.

    >>> value_word(2) == value_word(2.0) != value_word(2.5), value_word(0.0) == value_word(-0.0)
    (True, True)
    """
    if isinstance(value, str):
        return id_word(value)
    if isinstance(value, float):
        if value.is_integer() and -(2.0**63) <= value < 2.0**63:
            return int(value) & _WORD
        return int.from_bytes(struct.pack("<d", value), "little")
    assert isinstance(value, int)
    return value & _WORD


def estimate(words: Iterable[int]) -> int:
    """How many of the words differ, nearly.

    >>> estimate([7, 7, 8]), abs(estimate(range(100_000)) - 100_000) < 5_000
    (2, True)
    """
    registers = bytearray(REGISTERS)
    for word in words:
        stirred = stir(0, word)
        place = stirred >> (64 - BITS)
        run = LONGEST - (stirred & ((1 << (64 - BITS)) - 1)).bit_length()
        registers[place] = max(registers[place], run)
    counts = [registers.count(run) for run in range(LONGEST + 1)]
    return estimate_by_runs(counts)


def estimate_by_runs(counts: list[int]) -> int:
    """How many values differ, given how many registers hold each run; in the order in which kernels add up."""
    total = 0.0
    for run in range(LONGEST, -1, -1):
        total += counts[run] * 2.0**-run
    found = SCALE / total
    return BY_EMPTY[counts[0]] if found <= FEW and counts[0] > 0 else int(found + 0.5)
