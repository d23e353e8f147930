"""How many values differ, nearly, compiled: what ``core/sketch.py`` has in Python, bit by bit the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cepheus.core.sketch import BITS, BY_EMPTY, FEW, LONGEST, REGISTERS, SCALE
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import mix
from cepheus.kernel.memory import float_of_bits, leading_zeros

__all__ = ["REGISTERS", "estimate", "float_word", "note_word"]

_BY_EMPTY = np.array(BY_EMPTY, np.int64)
_SHIFT, _UP = np.uint64(64 - BITS), np.uint64(BITS)
_INTEGERS = 2.0**63


@inlined
def float_word(bits: int) -> int:
    """The word that stands for a double: a whole one as the integer that it equals."""
    value = float_of_bits(bits)
    if -_INTEGERS <= value < _INTEGERS and value == np.floor(value):
        return int(value)
    return bits


@inlined
def note_word(registers: NDArray[np.uint8], word: int) -> None:
    """Note a word in the registers."""
    stirred = mix(np.uint64(0), word)
    place = np.int64(stirred >> _SHIFT)
    run = min(leading_zeros(stirred << _UP) + 1, LONGEST)
    registers[place] = max(registers[place], run)


@compiled
def estimate(registers: NDArray[np.uint8]) -> int:
    """How many different words the registers have noted, nearly."""
    counts = np.zeros(LONGEST + 1, np.int64)
    for register in registers:
        counts[register] += 1
    total = 0.0
    for back in range(LONGEST + 1):
        run = LONGEST - back
        total += counts[run] * float_of_bits((1023 - run) << 52)
    found = SCALE / total
    if found <= FEW and counts[0] > 0:
        return int(_BY_EMPTY[counts[0]])
    return int(found + 0.5)
