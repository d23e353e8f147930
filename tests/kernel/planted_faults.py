"""Compiled functions that miss their arrays, each in a way of its own; run by ``test_checked`` in the checked build.

Prints what each is stopped with, a line each.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from cepheus.kernel.addresses import Addresses
from cepheus.kernel.calls import call_2
from cepheus.kernel.checked import KernelFaultError
from cepheus.kernel.compiled import compiled, entry_point
from cepheus.kernel.memory import At, address, fixed_half, fixed_pair, peek, poke, put, word
from cepheus.kernel.program import BriefField, RuleField, Words
from cepheus.kernel.state import LaneState, TypeState

_LANE, _RULE, _BRIEF = LaneState.row_bytes(), RuleField.row_bytes(), 4 * RuleField.BRIEF


@compiled
def lane_end(lanes: int, lane: int) -> int:
    """Read a field of a lane."""
    return peek(lanes + _LANE * lane, LaneState.NEXT)


@compiled
def set_type(types: int) -> None:
    """Write a field of a type."""
    poke(types, TypeState.FIRST, 1)


@compiled
def outer(words: int, at: int) -> int:
    """Read a word through another function."""
    return _inner(words, at) + 1


@compiled
def _inner(words: int, at: int) -> int:
    return peek(words, at)


@compiled
def hashed(context: int, at: int) -> int:
    """Read a word of an array that the context names."""
    return word(context, At.HASH, at)


@compiled
def queue(context: int, at: int) -> None:
    """Write a word of an array that the context names."""
    put(context, At.QUEUE, at, 1)


@compiled
def brief(rule: int, offset: int) -> int:
    """Read a row inside another, in half words and in a whole one."""
    return fixed_half(rule + offset, BriefField.TYPE) + fixed_pair(rule + offset, BriefField.WINDOW)


@compiled
def behind(function: int, words: int, at: int) -> int:
    """Read a word in a function that is called by its address."""
    return call_2(function, words, at)


def read_behind(words: int, at: int) -> int:
    """Read a word."""
    return peek(words, at)


@compiled
def element(words: Words, at: int) -> int:
    """Read an element of an array that Numba knows."""
    return int(words[at])


@dataclass
class Arrays:
    """What the functions are to read."""

    lanes: Words = field(default_factory=lambda: LaneState.zeros(4))
    types: Words = field(default_factory=lambda: TypeState.zeros(2))
    rules: Words = field(default_factory=lambda: RuleField.zeros(2))
    hash: Words = field(default_factory=lambda: np.zeros(8, np.int64))


def _freed(lanes: int, arrays: Arrays) -> int:
    arrays.lanes = LaneState.zeros(0)
    gc.collect()
    return lane_end(lanes, 0)


def main() -> None:
    """Call each function where it may read, and where it may not."""
    arrays = Arrays()
    context = Addresses(At)
    context.point(At.HASH, arrays.hash)
    lanes = address(arrays.lanes, LaneState, label=At.LANES)
    types = address(arrays.types, TypeState, label=At.TYPE_STATE)
    rules = address(arrays.rules, RuleField, label=At.RULES)
    seam = entry_point(read_behind).address
    allowed: list[Callable[[], object]] = [
        lambda: lane_end(lanes, 3),
        lambda: set_type(types),
        lambda: outer(lanes, 63),
        lambda: hashed(context.address, 7),
        lambda: brief(rules, _BRIEF + BriefField.row_bytes()),
        lambda: behind(seam, lanes, 0),
        lambda: element(arrays.hash, 7),
    ]
    for call in allowed:
        call()
    faults: dict[str, Callable[[], object]] = {
        "another table": lambda: set_type(lanes),
        "another context": lambda: hashed(lanes, 0),
        "beyond the end": lambda: outer(lanes, 64),
        "before the beginning": lambda: outer(lanes, -1),
        "a row too many": lambda: brief(rules, 2 * _RULE),
        "between rows": lambda: lane_end(lanes + 8, 0),
        "between inner rows": lambda: brief(rules, _BRIEF + 8),
        "between words": lambda: outer(lanes + 4, 0),
        "an array of the context": lambda: hashed(context.address, 8),
        "nothing to point at": lambda: queue(context.address, 0),
        "behind a seam": lambda: behind(seam, lanes, 64),
        "an element": lambda: element(arrays.hash, 8),
        "freed": lambda: _freed(lanes, arrays),
    }
    for name, call in faults.items():
        try:
            call()
        except (KernelFaultError, IndexError) as error:
            print(f"{name}|{error}")
        else:
            print(f"{name}|nothing happened")


if __name__ == "__main__":
    main()
