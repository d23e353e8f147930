"""The table by which compiled code finds what is known of uncertainty, and the working space of one evaluation."""

from __future__ import annotations

import numpy as np

from cepheus.engine.uncertain.index_tables import BandIndexField, MemberField, RestField
from cepheus.engine.uncertain.spread import gaussian_table
from cepheus.engine.uncertain.tables import (
    BandField,
    BoundField,
    ErrorField,
    ListedField,
    ListField,
    PivotField,
    SpreadField,
    TermField,
    UncertainColumnField,
    UncertainRuleField,
    UncertainStepField,
    UncertainTables,
)
from cepheus.kernel.addresses import Addresses
from cepheus.kernel.program import SpanField, Words
from cepheus.kernel.tables import Fields, cell, rows_of, size_of, words_at, zeros_in_lines


class Of(Fields):
    """Places in the table of addresses and numbers."""

    BANDS = rows_of(BandField)
    TERMS = rows_of(TermField)
    BOUNDS = rows_of(BoundField)
    RULES = rows_of(UncertainRuleField)
    PIVOTS = rows_of(PivotField)
    STEPS = rows_of(UncertainStepField)
    COLUMNS = rows_of(UncertainColumnField)
    ERRORS = rows_of(ErrorField)
    DOUBTS = words_at()
    SPREADS = rows_of(SpreadField)
    RANGES = rows_of(SpanField)
    # working space: errors of computed values, products of probabilities by step, of the terminator by rule
    RESULT_ERRORS = words_at()
    PRODUCTS = words_at()
    OPENINGS = words_at()
    ENTRANCES = words_at()
    PLACES = words_at()
    LAST_SCAN = words_at()
    MEMORY = words_at()
    SHARED = words_at()
    # of the match under way, by step: what it is worth, the chosen event's own probability, that no nearer one fits
    WORTHS = words_at()
    ENTRANCE = words_at()
    NEAREST = words_at()
    # what depends on the pivot, its room and what was wanted, and all that as it was when it was last integrated; a
    # question to Python and whom to ask
    ITEMS = words_at()
    ITEMS_ROOM = size_of(ITEMS)
    ITEMS_NEEDED = cell(0)
    LAST_ITEMS = words_at()
    QUESTION = words_at()
    ASK = cell(0)
    # numbers
    FIRST_EXTRA = cell(0)
    NEGATION_AS_PRINTED = cell(0)
    CHOICE_AS_PRINTED = cell(0)
    IS_PIVOTED = cell(0)
    STAMP = cell(0)
    FLOOR = cell(0)
    # the index of uncertain values, and room for what it finds
    INDEX_TYPES = words_at()
    INDEXES = rows_of(BandIndexField)
    INDEX_POINTS = words_at()
    INDEX_NODES = rows_of(SpanField)
    INDEX_HUNG = words_at()
    INDEX_LOWS = words_at()
    INDEX_LOW_MEMBERS = words_at()
    INDEX_MEMBERS = rows_of(MemberField)
    INDEX_RESTS = rows_of(RestField)
    CANDIDATES = words_at()
    CHANCES = words_at()
    GAUSSIAN = words_at()
    # lists of members: where those of each result end, the lists, their room and what was wanted; those given away
    LIST_ENDS = words_at()
    MEMBERS = words_at(ListField, ListedField)
    MEMBERS_ROOM = size_of(MEMBERS)
    MEMBERS_NEEDED = cell(0)
    LAWS = words_at(ListField, ListedField)
    LAWS_ROOM = size_of(LAWS)
    LAWS_NEEDED = cell(0)
    LAWS_USED = cell(0)
    # settings of the calculus, the latter two as bits
    EXACT_MEMBERS = cell(0)
    IGNORE = cell(0)
    ACCEPT = cell(0)


MOST_TERMS = 16
QUESTION_HEAD, QUESTION_TERM = 6, 5
"""Words of a question: the answer, then an interval or what else is asked; of each term, what it is."""

LAST_HEAD = 6
"""Words before what was last integrated: how long it is, the pivot's error and value, and what came out."""

ASKED_FORM, ASKED_LIST = 0, 1
"""What is asked: the probability that a form lies in an interval, or that an aggregate of a list is below a bound."""

REMEMBERED = 1024
"""How many probabilities of bands are remembered for one terminator: a power of two."""

SHARED_WORDS = 8
"""Of what rules share: the terminator it holds for, then a probability, or a result with its error, then counts."""

JOINT_STAMP, JOINT_PIVOT, JOINT_PROBABILITY, JOINT_PASSED = 2, 3, 4, 5
"""Of an absence, the same once more as what it is worth together with the pivot of the rules that ask it."""

SHARED_PASSED, SHARED_DECIDED = 6, 7
"""Where what rules share has its counts of simultaneous events: every rule that asks counts them."""


_GAUSSIAN = gaussian_table()


class UncertainAddresses(Addresses[Of]):
    """The table of addresses and numbers of one engine's uncertainty; it keeps the arrays that it points at."""

    def __init__(self) -> None:
        super().__init__(Of)
        self._kept: dict[Of, Words] = {}
        self.copy(Of.GAUSSIAN, _GAUSSIAN)

    def copy(self, at: Of, array: Words) -> None:
        """Point at a copy of an array that begins where a line of the cache does."""
        copied = zeros_in_lines(1, array.size)
        copied[0] = array.ravel()
        self.lend(at, copied)

    def kept(self, at: Of) -> Words:
        """An array that it points at."""
        return self._kept[at]

    def lend(self, at: Of, array: Words) -> None:
        """Point at an array that its owner goes on writing to."""
        self._kept[at] = array
        self.point(at, array)

    def use(self, tables: UncertainTables, steps: int) -> None:
        """Point at the tables of bands, with working space for rules of so many steps."""
        near = tables.band_indexes
        for at, array in (
            (Of.INDEX_TYPES, near.types),
            (Of.INDEXES, near.indexes),
            (Of.INDEX_POINTS, near.points),
            (Of.INDEX_NODES, near.nodes),
            (Of.INDEX_HUNG, near.hung),
            (Of.INDEX_LOWS, near.lows),
            (Of.INDEX_LOW_MEMBERS, near.low_members),
            (Of.INDEX_MEMBERS, near.members),
            (Of.INDEX_RESTS, near.rests),
            (Of.CANDIDATES, np.zeros(len(near.members) + 1, np.int64)),
            (Of.CHANCES, np.zeros(len(near.members) + 1, np.int64)),
            (Of.BANDS, tables.bands),
            (Of.TERMS, tables.terms),
            (Of.BOUNDS, tables.bounds),
            (Of.RULES, tables.rules),
            (Of.PIVOTS, tables.pivots),
            (Of.QUESTION, np.zeros(QUESTION_HEAD + QUESTION_TERM * MOST_TERMS, np.int64)),
            (Of.WORTHS, np.zeros(steps + 2, np.int64)),
            (Of.ENTRANCE, np.zeros(steps + 2, np.int64)),
            (Of.NEAREST, np.zeros(steps + 2, np.int64)),
            (Of.STEPS, tables.steps),
            (Of.COLUMNS, tables.columns),
            (Of.ERRORS, tables.errors),
            (Of.DOUBTS, tables.doubts),
            (Of.RESULT_ERRORS, np.zeros(3 * (steps + 1), np.int64)),
            (Of.LIST_ENDS, np.zeros(steps + 2, np.int64)),
            (Of.PRODUCTS, np.zeros(steps + 2, np.int64)),
            (Of.OPENINGS, np.zeros(len(tables.rules) + 1, np.int64)),
            (Of.ENTRANCES, np.zeros(len(tables.columns) + 1, np.int64)),
            (Of.PLACES, np.zeros(MOST_TERMS, np.int64)),
            (Of.LAST_SCAN, np.full(8, -1, np.int64)),
            (Of.MEMORY, np.zeros((REMEMBERED, 3), np.int64)),
            (Of.SHARED, np.zeros((tables.shared + 1, SHARED_WORDS), np.int64)),
        ):
            self.copy(at, array)
