"""Matches of one row pattern in rows as they come: conditions for many rows at once, then the compiled loop.

This serves patterns whose conditions look only at a row and its neighbours (``runs_compiled``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cepheus.core.errors import LimitError
from cepheus.core.values import ValueType
from cepheus.engine.rows.kernel import (
    MATCH_WIDTH,
    NOW_WIDTH,
    Found,
    FoundMatch,
    Now,
    Numbers,
    Places,
    Program,
    Skip,
    State,
    Stop,
    run,
)
from cepheus.engine.rows.places import shifted
from cepheus.engine.rows.store import RowStore
from cepheus.engine.rows.vectors import Vector, holds
from cepheus.plan.rows.automaton import automaton, shortened
from cepheus.plan.rows.near import all_near
from cepheus.plan.rows.situations import Situations
from cepheus.rules.rows.expressions import Aggregated, At, Column, walk
from cepheus.rules.rows.matches import skip_failed
from cepheus.rules.rows.model import RowQuery, RowsPerMatch, SkipKind

_SKIPS = {
    SkipKind.PAST_LAST_ROW: Skip.PAST_LAST_ROW,
    SkipKind.TO_NEXT_ROW: Skip.TO_NEXT_ROW,
    SkipKind.TO_FIRST: Skip.TO_FIRST,
    SkipKind.TO_LAST: Skip.TO_LAST,
}
STEPS_PER_ROW = 2_000
"""How often a row may be looked at again, on average, before a pattern is given up."""


def runs_compiled(query: RowQuery) -> bool:
    """Whether the compiled loop runs a query; what it does not run has histories (``histories.py``)."""
    return len(query.variables) <= 62 and all_near(query)


@dataclass(frozen=True, slots=True)
class Matches:
    """Matches found: a line each (``FoundMatch``), all their rows, and the variable and state that took each."""

    lines: Numbers
    rows: Places
    variables: Places
    excluded: NDArray[np.bool_]


class RowMatcher:
    """Finds the matches of a query; rows come in order, in portions of any size."""

    def __init__(self, query: RowQuery, types: Mapping[str, ValueType]) -> None:
        self.query = query
        wanted = query.kept() if query.rows is RowsPerMatch.ONE_ROW else tuple(types)
        self.store = RowStore(query.partition, types, wanted)
        self._automaton = automaton(query.pattern)
        self._situations = Situations(self._automaton, one_start=query.within is not None)
        self._conditions = {each.variable: each.condition for each in query.definitions}
        next_of = self._automaton.next_of
        self._next_of = np.array([goal for goals in next_of for goal in goals] or [0], np.int32)
        self._next_begins = np.cumsum([0, *map(len, next_of)]).astype(np.int32)
        self._variable = np.array(self._automaton.variable, np.int32)
        self._excluded = np.array(self._automaton.excluded, np.bool_)
        self._starts = np.empty((0, 4), np.int32)
        self._now = np.zeros(NOW_WIDTH, np.int64)
        self._room = (256, 1024, 4096)
        self._found: Found | None = None
        self._ahead = max((at.physical for at in self._navigations() if at.physical > 0), default=0)
        self._waiting = np.empty(0, np.int32)

    def _navigations(self) -> list[At]:
        parts = [part for condition in self._conditions.values() for part in walk(condition)]
        return [part.at for part in parts if isinstance(part, Column) and part.at is not None]

    def feed(self, columns: Mapping[str, Any]) -> Matches:
        """Take rows in their order, and return the matches that they decide."""
        times = None
        if self.query.within is not None:
            times = _times(columns[self.query.order[0].column])
        places = self.store.append(columns, times)
        if self._ahead:
            places = self._seen_ahead(np.concatenate([self._waiting, places]))
        self._classify(places)
        self._now[Now.ARRIVED], self._now[Now.ROW] = 0, -1
        return self._run(places)

    def finish(self) -> Matches:
        """No more rows come: return the matches that are decided by that."""
        first = Matches(*_nothing())
        if len(self._waiting):
            self._classify(self._waiting)
            self._now[Now.ARRIVED], self._now[Now.ROW] = 0, -1
            first = self._run(self._waiting)
            self._waiting = self._waiting[:0]
        self._now[Now.ARRIVED], self._now[Now.ROW] = 0, -1
        return joined(first, self._run(None))

    def _seen_ahead(self, places: Places) -> Places:
        """Rows whose conditions can be decided: those that look ahead need the rows they look at."""
        rows = self.store.rows
        seen = shifted(places, self._ahead, rows.before, rows.after)
        self._waiting = places[seen < 0]
        by_arrival = np.argsort(seen[seen >= 0], kind="stable")
        ready: Places = places[seen >= 0][by_arrival]
        return ready

    def _classify(self, places: Places) -> None:
        names = self._automaton.names
        kind: type[Any] = np.uint8 if len(names) <= 8 else np.int64
        masks: NDArray[Any] = np.zeros(len(places), kind)
        at_hand = RowsAtHand(self.store, places)
        for bit, name in enumerate(names):
            condition = self._conditions.get(name)
            if condition is None:
                masks |= kind(1 << bit)
            else:
                at_hand.variable = name
                masks |= holds(condition, at_hand).astype(kind) << kind(bit)
        if self.query.within is not None:
            masks[self.store.rows.time[places] == NO_TIME] = 0
        if len(names) <= 8:
            classes = self._situations.class_numbers(len(names))[masks]
        else:
            classes = self._situations.classes_of(masks)
        self.store.classify(places, classes)

    def _run(self, todo: Places | None) -> Matches:
        """Run the loop over rows, or to the end of all partitions, and give it what it asks for."""
        store = self.store
        limit = int(self._now[Now.STEPS]) + STEPS_PER_ROW * (store.length + 10_000)
        parts = list[Matches]()
        self._expect(0 if todo is None else len(todo))
        while True:
            if self._found is None:
                self._found = self._new_room()
            self._fit_starts()
            state = State(self._now, store.parts, self._starts, np.empty(self._starts.shape[1], np.int32))
            program, rows = self._program(), store.rows
            stop = run(program, rows, state, self._found, self._waiting if todo is None else todo, todo is None, limit)
            if stop == Stop.DONE:
                parts.append(self._taken())
                return joined(*parts)
            if stop == Stop.TRANSITION:
                self._situations.find(int(self._now[Now.SITUATION]), int(self._now[Now.CLASS]))
            elif stop in (Stop.ROOM_FOR_MATCHES, Stop.ROOM_FOR_ROWS):
                if self._room == _MOST and not self._now[Now.MATCHES]:
                    raise self._limit("has a match that is too long")
                parts.append(self._taken())
                self._room = _larger(self._room)
                self._found = None
            elif stop == Stop.STEPS:
                raise self._limit(f"looks at each row more than {STEPS_PER_ROW} times")
            else:
                raise skip_failed(self.query, nothing=stop == Stop.SKIP_TO_NOTHING)

    def _limit(self, what: str) -> LimitError:
        return LimitError.of(
            "too-many-steps",
            f"the pattern {shortened(self.query.pattern)} {what}",
            span=self.query.pattern.span,
            hint="bound it with WITHIN, or let its matches begin with a variable that holds for fewer rows",
        )

    def _new_room(self) -> Found:
        matches, rows, scratch = self._room
        return Found(
            np.empty((matches, MATCH_WIDTH), np.int64),
            np.empty(rows, np.int32),
            np.empty(rows, np.int32),
            np.empty(scratch + len(self._variable), np.int32),
        )

    def _taken(self) -> Matches:
        """Take the matches out of where the loop has written them."""
        assert self._found is not None
        count, filled = int(self._now[Now.MATCHES]), int(self._now[Now.ROWS])
        self._now[Now.MATCHES] = self._now[Now.ROWS] = 0
        lines, rows, states = self._found.matches[:count], self._found.rows[:filled], self._found.states[:filled]
        if count > 1000:  # too much to copy: the loop gets new room
            self._found = None
        else:
            lines, rows = lines.copy(), rows.copy()
        return Matches(lines, rows, self._variable[states], self._excluded[states])

    def _expect(self, rows: int) -> None:
        """Make room for the matches of so many rows, as many as there usually are."""
        matches, match_rows, scratch = self._room
        wanted = (max(matches, rows // 3), max(match_rows, rows), scratch)
        if wanted != self._room:
            self._room = (min(wanted[0], _MOST[0]), min(wanted[1], _MOST[1]), scratch)
            self._found = None

    def _fit_starts(self) -> None:
        lines, width = len(self.store.parts), max(self._situations.width, 1)
        if self._starts.shape[0] < lines or self._starts.shape[1] < width:
            fresh = np.zeros((lines, max(2 * width, 4)), np.int32)
            fresh[: self._starts.shape[0], : self._starts.shape[1]] = self._starts
            self._starts = fresh

    def _program(self) -> Program:
        made = self._situations
        target = self.query.after.target
        skip_to = 0
        for name in () if target is None else self.query.members(target):
            skip_to |= 1 << self._automaton.names.index(name)
        return Program(
            made.table,
            made.to,
            made.candidate,
            made.stays,
            made.begins,
            made.came_from,
            made.over,
            made.waits,
            made.ends,
            self._next_of,
            self._next_begins,
            self._variable,
            np.array(made.classes or [0], np.int64),
            int(_SKIPS[self.query.after.kind]),
            skip_to,
            self.query.within or 0,
            int(made.one_start),
        )


_MOST = (1 << 24, 1 << 26, 1 << 27)
NO_TIME = -(2**63)


def _larger(room: tuple[int, int, int]) -> tuple[int, int, int]:
    matches, rows, scratch = (min(4 * size, most) for size, most in zip(room, _MOST, strict=True))
    return matches, rows, scratch


def _times(column: Any) -> NDArray[np.int64]:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    whole = column if column.type == pa.int64() else column.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
    filled: NDArray[np.int64] = whole.fill_null(NO_TIME).to_numpy()
    return filled


def _nothing() -> tuple[Numbers, Places, Places, NDArray[np.bool_]]:
    empty = np.empty(0, np.int32)
    return np.empty((0, MATCH_WIDTH), np.int64), empty, empty, np.empty(0, np.bool_)


def joined(*parts: Matches) -> Matches:
    """Matches one after the other."""
    if len(parts) == 1:
        return parts[0]
    offset = 0
    lines = []
    for part in parts:
        moved = part.lines.copy()
        moved[:, FoundMatch.ROWS] += offset
        offset += len(part.rows)
        lines.append(moved)
    return Matches(
        np.concatenate(lines),
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.variables for part in parts]),
        np.concatenate([part.excluded for part in parts]),
    )


class RowsAtHand:
    """Rows that a variable may take: what its condition reads, as far as it looks at neighbours only."""

    def __init__(self, store: RowStore, places: Places) -> None:
        self._store, self._places = store, places
        self._is_range = len(places) > 0 and int(places[-1]) - int(places[0]) == len(places) - 1
        self._is_range &= bool(np.all(np.diff(places) == 1))
        self._read: dict[tuple[str, int], Vector] = {}
        self._shifted: dict[int, Places] = {0: places}
        self.variable = ""

    @property
    def length(self) -> int:
        """How many rows there are."""
        return len(self._places)

    @property
    def types(self) -> dict[str, ValueType]:
        """The types of the columns."""
        return self._store.types

    def column(self, name: str, at: At | None) -> Vector:
        """A column at the rows or at neighbours of them."""
        by = 0 if at is None else at.physical
        if (name, by) not in self._read:
            if by == 0 and self._is_range:
                read = self._store.between(name, int(self._places[0]), int(self._places[-1]) + 1)
            else:
                read = self._store.take(name, self._moved(by))
            self._read[name, by] = read
        return self._read[name, by]

    def _moved(self, by: int) -> Places:
        if by not in self._shifted:
            rows = self._store.rows
            self._shifted[by] = shifted(self._places, by, rows.before, rows.after)
        return self._shifted[by]

    def classifier(self, at: At | None) -> Vector:
        """The variable itself."""
        assert at is not None
        return pa.scalar(self.variable, pa.string())

    def number(self) -> Vector:
        """Conditions on the number of a match are not run here."""
        raise AssertionError("refused before")

    def aggregate(self, expression: Aggregated) -> Vector:
        """Conditions on aggregates are not run here."""
        raise AssertionError(expression)
