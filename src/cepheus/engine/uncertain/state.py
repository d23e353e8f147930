"""The table by which compiled code finds what is known of uncertainty, and the working space of one evaluation."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from cepheus.engine.uncertain.gaussian import gaussian_table
from cepheus.engine.uncertain.tables import Worths
from cepheus.kernel.memory import address
from cepheus.kernel.program import Words


class Of(IntEnum):
    """Places in the table of addresses and numbers."""

    BANDS = 0
    TERMS = 1
    BOUNDS = 2
    RULES = 3
    STEPS = 4
    COLUMNS = 5
    ERRORS = 6
    DOUBTS = 7
    SPREADS = 8
    RANGES = 9
    # working space: errors of computed values, products of probabilities by step, of the terminator by rule
    RESULT_ERRORS = 10
    PRODUCTS = 11
    OPENINGS = 12
    ENTRANCES = 17
    PLACES = 13
    LAST_SCAN = 14
    MEMORY = 15
    SHARED = 16
    # numbers
    FIRST_EXTRA = 20
    NEGATION_AS_PRINTED = 21
    STAMP = 22
    FLOOR = 23
    # the index of uncertain values, and room for what it finds
    VICINITY_TYPES = 24
    VICINITIES = 25
    VICINITY_POINTS = 26
    VICINITY_NODES = 27
    VICINITY_HUNG = 28
    VICINITY_LOWS = 29
    VICINITY_LOW_MEMBERS = 30
    VICINITY_MEMBERS = 31
    CANDIDATES = 32
    CHANCES = 33
    GAUSSIAN = 34
    VICINITY_RESTS = 35
    # lists of members: where those of each result end, the lists, their room and what was wanted; those given away
    LIST_ENDS = 36
    MEMBERS = 37
    MEMBERS_ROOM = 38
    MEMBERS_NEEDED = 39
    LAWS = 40
    LAWS_ROOM = 41
    LAWS_NEEDED = 42
    LAWS_USED = 43
    # settings of the calculus, the latter two as bits
    EXACT_MEMBERS = 44
    IGNORE = 45
    ACCEPT = 46


_TABLE_WORDS = 48
_LINE_WORDS = 8
MOST_TERMS = 16
REMEMBERED = 1024
"""How many worths of bands are remembered for one terminator: a power of two."""

SHARED_WORDS = 8
"""Of what rules share: the terminator it holds for, then a probability, or a result with its error, then counts."""

SHARED_PASSED, SHARED_DECIDED = 6, 7
"""Where what rules share has its counts of simultaneous events: every rule that asks counts them."""


_GAUSSIAN = gaussian_table()


class WorthTable:
    """The table of addresses and numbers of one engine's uncertainty."""

    def __init__(self) -> None:
        self.words = np.zeros(_TABLE_WORDS, np.int64)
        self.address = address(self.words)
        self._kept: dict[Of, Words] = {}
        self.point(Of.GAUSSIAN, _GAUSSIAN)

    def __getitem__(self, at: Of) -> int:
        return int(self.words[at])

    def __setitem__(self, at: Of, value: int) -> None:
        self.words[at] = value

    def point(self, at: Of, array: Words) -> None:
        """Point at a copy of an array that begins where a line of the cache does, and keep it."""
        kept = np.zeros(array.size + _LINE_WORDS, np.int64)
        begin = -(address(kept) // 8) % _LINE_WORDS
        kept[begin : begin + array.size] = array.ravel()
        self._kept[at] = kept
        self.words[at] = address(kept) + 8 * begin

    def lend(self, at: Of, array: Words) -> None:
        """Point at an array that its owner goes on writing to."""
        self._kept[at] = array
        self.words[at] = address(array)

    def use(self, worths: Worths, steps: int) -> None:
        """Point at the tables of bands, with working space for rules of so many steps."""
        near = worths.vicinities
        for at, array in (
            (Of.VICINITY_TYPES, near.types),
            (Of.VICINITIES, near.indexes),
            (Of.VICINITY_POINTS, near.points),
            (Of.VICINITY_NODES, near.nodes),
            (Of.VICINITY_HUNG, near.hung),
            (Of.VICINITY_LOWS, near.lows),
            (Of.VICINITY_LOW_MEMBERS, near.low_members),
            (Of.VICINITY_MEMBERS, near.members),
            (Of.VICINITY_RESTS, near.rests),
            (Of.CANDIDATES, np.zeros(len(near.members) + 1, np.int64)),
            (Of.CHANCES, np.zeros(len(near.members) + 1, np.int64)),
            (Of.BANDS, worths.bands),
            (Of.TERMS, worths.terms),
            (Of.BOUNDS, worths.bounds),
            (Of.RULES, worths.rules),
            (Of.STEPS, worths.steps),
            (Of.COLUMNS, worths.columns),
            (Of.ERRORS, worths.errors),
            (Of.DOUBTS, worths.doubts),
            (Of.RESULT_ERRORS, np.zeros(3 * (steps + 1), np.int64)),
            (Of.LIST_ENDS, np.zeros(steps + 2, np.int64)),
            (Of.PRODUCTS, np.zeros(steps + 2, np.int64)),
            (Of.OPENINGS, np.zeros(len(worths.rules) + 1, np.int64)),
            (Of.ENTRANCES, np.zeros(len(worths.columns) + 1, np.int64)),
            (Of.PLACES, np.zeros(MOST_TERMS, np.int64)),
            (Of.LAST_SCAN, np.full(8, -1, np.int64)),
            (Of.MEMORY, np.zeros((REMEMBERED, 3), np.int64)),
            (Of.SHARED, np.zeros((worths.shared + 1, SHARED_WORDS), np.int64)),
        ):
            self.point(at, array)
