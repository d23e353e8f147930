"""Whole tables, where the rows that measures look at can be marked while a match is found.

The table is taken in portions that stay in the processor's cache: classes of rows, the loop, then the measures of the
matches that it found. Nothing is kept of the rows but their partitions, classes and neighbours. What matches give is
put in order of partitions at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cepheus.core.values import ValueType
from cepheus.engine.rows import marking
from cepheus.engine.rows.at_hand import RowsAtHand
from cepheus.engine.rows.columns import GrowingColumn
from cepheus.engine.rows.comparing import Compared, Comparison, compared_once, comparisons_of
from cepheus.engine.rows.kernel import Places, Stop
from cepheus.engine.rows.output import selected
from cepheus.engine.rows.places import shifted
from cepheus.engine.rows.situated import SKIPS, STEPS_PER_ROW, has_situations, too_many_steps
from cepheus.engine.rows.store import table_keys
from cepheus.engine.rows.vectors import Vector, compute, holds, storage
from cepheus.plan.rows.automaton import ACCEPT, FIRST, LATER, automaton
from cepheus.plan.rows.marks import MarkMoves, Marks, marks_of
from cepheus.plan.rows.situations import Situations
from cepheus.rules.rows.expressions import Aggregated, At, Column, RowExpression, walk
from cepheus.rules.rows.matches import skip_failed
from cepheus.rules.rows.model import RowQuery, RowsPerMatch

PORTION = 1 << 16
"""So many rows are worked on at a time: what is computed of them fits into the cache of a core."""

ROOM = 1 << 14
"""So many matches have room at a time."""

MOST_VARIABLES = 8
MOST_MARKS = 16


def usable_marks(query: RowQuery) -> Marks | None:
    """The marks of a query that can be found by them alone."""
    plain = query.rows is RowsPerMatch.ONE_ROW and query.within is None and len(query.variables) <= MOST_VARIABLES
    marks = marks_of(query, automaton(query.pattern)) if plain and has_situations(query) else None
    return marks if marks is not None and len(marks.all_of) <= MOST_MARKS else None


def _looks_ahead(query: RowQuery) -> bool:
    expressions = (*(each.condition for each in query.definitions), *(each.expression for each in query.measures))
    parts = (part for expression in expressions for part in walk(expression))
    return any(isinstance(part, Column) and part.at is not None and part.at.physical > 0 for part in parts)


class MarkedTable:
    """The matches of one query in a table, whose rows are in order."""

    def __init__(
        self, query: RowQuery, marks: Marks, columns: Mapping[str, Any], count: int, types: Mapping[str, ValueType]
    ) -> None:
        self._query, self._marks, self.types = query, marks, dict(types)
        self._columns = {name: GrowingColumn(types[name]) for name in query.kept()}
        for name, column in self._columns.items():
            column.append(columns[name])
        codes, self._keys = table_keys({name: columns[name] for name in query.partition}, types, count)
        self._first, last = (np.full(len(self._keys), -1, np.int32) for _ in range(2))
        before, after = marking.neighbours(codes, self._first, last), np.empty(count, np.int32)
        self.rows = marking.MarkRows(codes, np.empty(count, np.uint8), before, after, last)
        self._situations = Situations(automaton(query.pattern))
        self._situations.class_numbers(len(query.variables))  # a class for each set of variables, known by its bits
        self.may_be_empty = any(ACCEPT in self._situations.automaton.next_of[state] for state in (FIRST, LATER))
        self._moves = MarkMoves(self._situations, marks)
        self._lines = np.zeros((len(self._keys), self._moves.width), np.int32)
        self._notes = np.zeros(marking.NOTES, np.int64)
        if _looks_ahead(query):
            marking.follow(before, after)
            self._notes[marking.FOLLOWED] = 1
        self._room = np.empty((marking.MARKS + len(marks.all_of), ROOM), np.int32)
        self._found: list[Places] = []

    def given(self, types: Mapping[str, ValueType]) -> pa.Table:
        """What the query gives, by partition; ``types`` are those of its result."""
        count = len(self.rows.partition)
        compared, others = self._conditions()
        for begin in range(0, count, PORTION):
            end = min(begin + PORTION, count)
            self._classify(compared, others, begin, end)
            self._run(end)
        self._run(len(self._keys), ending=True)
        self._keep()
        shown = MarkedMatches(self, self._marks, self._found)
        given = {each.name: compute(each.expression, shown) for each in self._query.measures}
        for place, name in enumerate(self._query.partition):
            values = pa.array([key[place] for key in self._keys], storage(self.types[name]))
            given[name] = values.take(pa.array(np.repeat(shown.partitions.astype(np.int32), shown.counts)))
        return selected(self._query, given, shown.length, self.types, types)[0]

    def ranked(self) -> NDArray[np.int64]:
        """The partitions in the order in which they first came."""
        there = np.flatnonzero(self._first >= 0)
        ranked: NDArray[np.int64] = there[np.argsort(self._first[there])]
        return ranked

    def _conditions(self) -> tuple[list[Compared], dict[int, RowExpression]]:
        """What is compared, and by variable the conditions that say something else."""
        compared: list[tuple[int, Comparison]] = []
        others: dict[int, RowExpression] = {}
        numbers = cache(self.numbers)  # the same numbers are the same object
        for each in self._query.definitions:
            bit = self._query.variables.index(each.variable)
            plain = comparisons_of(each.condition, numbers)
            if plain is None:
                others[bit] = each.condition
            else:
                compared += ((bit, comparison) for comparison in plain)
        return compared_once(compared), others

    def _classify(self, compared: list[Compared], others: Mapping[int, RowExpression], begin: int, end: int) -> None:
        """Find the classes of the rows from one to another: the variables that may take them, as bits."""
        masks = self.rows.row_class[begin:end]
        masks[:] = (1 << len(self._query.variables)) - 1
        for each in compared:
            each.clear(masks, begin, self.rows.before)
        if not others:
            return
        at_hand = RowsAtHand(self, np.arange(begin, end, dtype=np.int32))
        for bit, condition in others.items():
            at_hand.variable = self._query.variables[bit]
            masks &= ~((~holds(condition, at_hand)).astype(np.uint8) << np.uint8(bit))

    def numbers(self, name: str) -> NDArray[Any] | None:
        """The numbers of a column, None if it has none or some are NULL."""
        return self._columns[name].numbers()

    def take(self, name: str, places: Places) -> Any:
        """The values of a column at places; NULL where there is no row."""
        return self._columns[name].take(places)

    def between(self, name: str, begin: int, end: int) -> Any:
        """The values of a column at the places from one to another, which is left out."""
        return self._columns[name].between(begin, end)

    def _run(self, until: int, *, ending: bool = False) -> None:
        """Take rows up to one, or end so many partitions, and give the loop what it asks for."""
        notes = self._notes
        notes[marking.ROW] = -1
        if ending:
            notes[marking.AT] = 0
        limit = STEPS_PER_ROW * (len(self.rows.partition) + 10_000)
        stop = -1
        while stop != Stop.DONE:
            program = self._program()
            stop = marking.run_marked(program, self.rows, self._lines.ravel(), self._room, notes, until, ending, limit)
            if stop == Stop.TRANSITION:
                self._situations.find(int(notes[marking.SITUATION]), int(notes[marking.CLASS]))
            elif stop == Stop.ROOM_FOR_MATCHES:
                self._keep()
            elif stop == Stop.STEPS:
                raise too_many_steps(self._query)
            elif stop != Stop.DONE:
                raise skip_failed(self._query, nothing=stop == Stop.SKIP_TO_NOTHING)

    def _keep(self) -> None:
        """Keep the matches found, and make room for others."""
        self._found.append(self._room[:, : int(self._notes[marking.MATCHES])])
        self._notes[marking.MATCHES] = 0
        self._room = np.empty_like(self._room)

    def _program(self) -> marking.MarkProgram:
        made, moves = self._situations, self._moves
        moves.follow()
        if self._lines.shape[1] < moves.width:
            wider = np.zeros((len(self._lines), moves.width), np.int32)
            wider[:, : self._lines.shape[1]] = self._lines
            self._lines = wider
        return marking.MarkProgram(
            made.table.ravel(),
            made.table.shape[1],
            made.waits,
            made.ends,
            moves.steps.ravel(),
            moves.endings.ravel(),
            moves.moves,
            len(self._marks.all_of),
            moves.width,
            int(SKIPS[self._query.after.kind]),
            self._marks.skip_to,
        )


class MarkedMatches:
    """All matches found by their marks, by partition, as measures read them.

    ``partitions`` are in the order in which they first came, ``counts`` how many matches each has.
    """

    def __init__(self, table: MarkedTable, marks: Marks, found: list[Places]) -> None:
        self._table, self._marks = table, marks
        self.partitions = table.ranked()
        counts = np.zeros(int(self.partitions.max(initial=-1)) + 1, np.int64)
        for part in found:
            marking.counted(part[marking.PARTITION], counts)
        self.counts: NDArray[np.int64] = counts[self.partitions]
        self._begins = np.cumsum(self.counts) - self.counts
        next_of = np.zeros_like(counts)
        next_of[self.partitions] = self._begins
        self._parts = [(part, marking.positions(part[marking.PARTITION], next_of)) for part in found]

    @property
    def length(self) -> int:
        """How many matches there are."""
        return int(self.counts.sum())

    @property
    def types(self) -> dict[str, ValueType]:
        """The types of the columns of rows."""
        return self._table.types

    def column(self, name: str, at: At | None) -> Vector:
        """A column at a row found from the match."""
        assert at is not None
        place = self._marks.place(at)
        mark = marking.END if place < 0 else marking.MARKS + place
        outside = mark == marking.MARKS and self._table.may_be_empty  # an empty match begins at a row that it has not
        numbers = None if at.physical or outside else self._table.numbers(name)
        if numbers is not None and len(numbers):
            given = np.empty(self.length, numbers.dtype)
            if all(marking.put_values(part[mark], places, numbers, given) for part, places in self._parts):
                return pa.array(given)
        rows = self._marked(mark)
        if outside:
            rows[self._marked(marking.END) < 0] = -1
        if at.physical:
            rows = shifted(rows, at.physical, self._table.rows.before, self._table.rows.after)
        return self._table.take(name, rows)

    def _marked(self, mark: int) -> Places:
        rows = np.empty(self.length, np.int32)
        for part, places in self._parts:
            marking.put_marks(part[mark], places, rows)
        return rows

    def classifier(self, at: At | None) -> Vector:
        """Variables are not marked."""
        raise AssertionError(at)

    def number(self) -> Vector:
        """The number of each match in its partition."""
        return pa.array(np.arange(1, self.length + 1) - np.repeat(self._begins, self.counts))

    def aggregate(self, expression: Aggregated) -> Vector:
        """The number of rows."""
        return pa.array(self._marked(marking.MARKS + self._marks.count(expression.variables)).astype(np.int64))
