"""Rows in, what a query gives out: one query at work on rows as they come."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cepheus.core.values import ValueType
from cepheus.engine.base.snapshot import pack, restoring, unpack, wrong_content
from cepheus.engine.rows.engine import NO_TIME, Given, Parts, RowEngine
from cepheus.engine.rows.found import NO_ROW, Matches, Search, joined, no_matches
from cepheus.engine.rows.kernel import FoundMatch, Places
from cepheus.engine.rows.looking_back import ThreadSearch
from cepheus.engine.rows.marked import MarkedTable, usable_marks
from cepheus.engine.rows.output import as_type, given_rows
from cepheus.engine.rows.places import (
    by_partition,
    kept_rows,
    rows_of_none,
    shifted,
    taken_in_the_end,
)
from cepheus.engine.rows.situated import SituationSearch, has_situations
from cepheus.engine.rows.store import RowStore, moved_places
from cepheus.rules.rows.expressions import At, Classifier, Column, RowExpression, walk
from cepheus.rules.rows.model import RowQuery, RowsPerMatch
from cepheus.rules.rows.pattern import needs_end

KIND = "rows"
FORGET_FROM = 4096
"""So many rows are kept before it is worth a look which of them can be forgotten."""


class RowMatching:
    """The matches of one query in rows as they come (``engine/rows/__init__.py`` says what hosts may call)."""

    def __init__(self, engine: RowEngine) -> None:
        self._engine, self._query, self._given = engine, engine.query, engine.given
        self._far = _Distances(self._query)
        self._start()

    def _start(self) -> None:
        query, engine = self._query, self._engine
        wanted = engine.read if query.rows is not RowsPerMatch.ONE_ROW else query.kept()
        times = () if engine.time_column is None else (engine.time_column,)
        wanted = tuple(dict.fromkeys((*wanted, *times, *engine.parts)))
        self._store = RowStore(query.partition, engine.types, wanted)
        self._search: Search = (
            SituationSearch(query, self._store) if has_situations(query) else ThreadSearch(query, self._store)
        )
        self._waiting = np.empty(0, np.int32)
        self._pending = no_matches()
        self._floor = 0

    @property
    def held(self) -> int:
        """How many rows are kept because something may still look at them, or was not worth to be forgotten yet."""
        return self._store.length

    def whole(self, rows: pa.Table) -> pa.Table:
        """What the query gives for rows that are all there are, by partition."""
        marks = usable_marks(self._query)
        if marks is not None:
            columns = self._engine.columns(rows)
            return MarkedTable(self._query, marks, columns, rows.num_rows, self._engine.types).given(self._given)
        places = self._arrived(rows)
        found = joined([self._search.take(places), *self._ended()])
        lines = found.lines[by_partition(found.lines[:, FoundMatch.PARTITION])]
        found = Matches(lines, found.rows, found.variables, found.excluded)
        table, _, _, _ = given_rows(
            self._query, found, self._unmatched(found, self._all(), last=True), self._store, self._given
        )
        return table

    def feed(self, rows: pa.Table | pa.RecordBatch) -> Given:
        """Take rows, those of each partition in their order, and return what they decide."""
        places = self._arrived(rows)
        return self._settle(self._search.take(places), self._store.rows.partition[places])

    def _arrived(self, rows: pa.Table | pa.RecordBatch) -> Places:
        """Put rows into the store; those that may be taken."""
        columns = self._engine.columns(rows)
        times = None
        if self._query.within is not None:
            times = _times(columns[self._query.order[0].column])
        places = self._store.append(columns, rows.num_rows, times)
        if self._far.condition:
            places = self._seen_ahead(np.concatenate([self._waiting, places]))
        return places

    def advance(self, time: int) -> Given:
        """No row whose first column of ORDER BY is before a time will come: settle what WITHIN ends by then."""
        if self._query.within is None or needs_end(self._query.pattern):  # which time does not tell
            return self._settle(no_matches(), np.empty(0, np.int32))
        return self._settle(self._search.expire(time), self._all())

    def finish(self) -> Given:
        """No more rows come: settle everything."""
        return self._settle(joined(self._ended()), self._all(), last=True)

    def _ended(self) -> list[Matches]:
        """What is decided by the end of all partitions."""
        waiting, self._waiting = self._waiting, self._waiting[:0]
        return [self._search.take(waiting), self._search.end()]

    def _all(self) -> NDArray[np.int32]:
        return np.arange(len(self._store.keys), dtype=np.int32)

    def _seen_ahead(self, places: Places) -> Places:
        """Rows whose conditions can be decided: those that look ahead need the rows they look at."""
        rows = self._store.rows
        seen = shifted(places, self._far.condition, rows.before, rows.after)
        self._waiting = places[seen < 0]
        by_arrival = np.argsort(seen[seen >= 0], kind="stable")
        ready: Places = places[seen >= 0][by_arrival]
        return ready

    def _settle(self, found: Matches, touched: NDArray[np.int32], *, last: bool = False) -> Given:
        """What is given for matches that nothing more can change, and for rows that none of them has."""
        found = joined([self._pending, found])
        if not last and self._far.measures:
            ready = self._ready(found)
            self._pending, found = found.chosen(~ready), found.chosen(ready)
        else:
            self._pending = no_matches()
        unmatched = self._unmatched(found, touched, last=last)
        table, partitions, ends, lines = given_rows(self._query, found, unmatched, self._store, self._given)
        times = self._times(ends)
        parts = self._parts(found, lines, ends) if self._engine.parts else None
        self._forget()
        return Given(table, partitions, times, parts)

    def _parts(self, found: Matches, lines: NDArray[np.int64], ends: Places) -> Parts:
        """Some columns of the rows that matches were made of; ``ends`` are the rows given, or the last ones."""
        if len(found.lines):
            starts, lengths = found.lines[lines, FoundMatch.ROWS], found.lines[lines, FoundMatch.LENGTH]
        else:
            starts, lengths = np.zeros(len(lines), np.int64), np.zeros(len(lines), np.int64)
        lengths = np.where(lines < 0, 0, lengths)  # a row of no match
        begins = np.concatenate([[0], np.cumsum(np.maximum(lengths, 1))])
        flat = np.arange(begins[-1]) - np.repeat(begins[:-1] - starts, np.diff(begins))
        none = np.repeat(lengths == 0, np.diff(begins))
        places = np.repeat(ends, np.diff(begins))  # an empty match is given at the row at which it was found
        places[~none] = found.rows[flat[~none]]
        return Parts(self._taken(places), begins, self._taken(ends))

    def _taken(self, places: Places) -> dict[str, Any]:
        taken = {name: self._store.take(name, places.astype(np.int32)) for name in self._engine.parts}
        return {name: as_type(column, self._engine.types[name]) for name, column in taken.items()}

    @property
    def undecided_since(self) -> int | None:
        """The time of the first row that a match which is still to come may have; None if no row is such."""
        name = self._engine.time_column
        earliest = self._earliest(np.arange(len(self._store.keys)))
        places = earliest[earliest < self._store.length].astype(np.int32)
        if name is None or not len(places):
            return None
        return int(_times(self._store.take(name, places)).min())

    def _unmatched(self, found: Matches, touched: NDArray[np.int32], *, last: bool) -> Places:
        """The rows of partitions that were touched which no match has or can have any more, if they are asked for."""
        if self._query.rows is not RowsPerMatch.WITH_UNMATCHED:
            return np.empty(0, np.int32)
        store = self._store
        store.covered[found.rows] = 1
        store.covered[found.lines[found.lines[:, FoundMatch.LENGTH] == 0, FoundMatch.START]] = 1
        partitions = np.unique(np.concatenate([touched, found.lines[:, FoundMatch.PARTITION]]))
        earliest = np.full(len(partitions), NO_ROW) if last else self._earliest(partitions)
        return rows_of_none(partitions, earliest, store.parts, store.rows.after, store.covered)

    def _times(self, places: Places) -> NDArray[np.int64]:
        name = self._engine.time_column
        if name is None:
            return np.full(len(places), NO_TIME)
        return _times(self._store.take(name, places))

    def _ready(self, found: Matches) -> NDArray[np.bool_]:
        """Which matches have all rows that their measures look ahead at; a partition gives its matches in order."""
        rows = self._store.rows
        ready = np.ones(len(found.lines), np.bool_)
        names = self._query.variables
        for at in self._far.ahead:
            wanted = sum(1 << bit for bit, name in enumerate(names) if at.variables is None or name in at.variables)
            places = taken_in_the_end(found.lines, found.rows, found.variables, wanted, at.last, at.logical)
            ready &= (places < 0) | (shifted(places, at.physical, rows.before, rows.after) >= 0)
        held = np.full(len(self._store.keys), NO_ROW)
        np.minimum.at(held, found.lines[~ready, FoundMatch.PARTITION], np.flatnonzero(~ready))
        return ready & (np.arange(len(ready)) < held[found.lines[:, FoundMatch.PARTITION]])

    def _earliest(self, partitions: NDArray[np.int64]) -> NDArray[np.int64]:
        """By partition, the first row of which something is undecided."""
        earliest = self._search.earliest(partitions)
        if not len(self._pending.lines) and not len(self._waiting):
            return earliest
        first = np.full(len(self._store.keys), NO_ROW)
        np.minimum.at(first, self._pending.lines[:, FoundMatch.PARTITION], self._pending.lines[:, FoundMatch.START])
        if len(self._waiting):
            np.minimum.at(first, self._store.rows.partition[self._waiting], self._waiting)
        found: NDArray[np.int64] = np.minimum(first[partitions], earliest)
        return found

    def _forget(self) -> None:
        """Forget rows that nothing can look at any more, if they may be many."""
        store = self._store
        if store.length < max(2 * self._floor, FORGET_FROM):
            return
        partitions = np.arange(len(store.keys))
        earliest = self._earliest(partitions)
        kept = np.flatnonzero(kept_rows(store.length, earliest, store.parts, store.rows.before, self._far.behind))
        self._floor = len(kept)
        if len(kept) < store.length:
            moved = store.forget(kept)
            self._search.moved(moved)
            self._waiting = moved_places(self._waiting, moved)
            lines = self._pending.lines
            lines[:, FoundMatch.START] = moved_places(lines[:, FoundMatch.START].astype(np.int32), moved)
            rows = moved_places(self._pending.rows, moved)
            self._pending = Matches(lines, rows, self._pending.variables, self._pending.excluded)

    def snapshot(self) -> bytes:
        """All that later answers depend on, as bytes."""
        header, blobs = self._store.state()
        own, arrays = self._search.state()
        pending = self._pending
        blobs |= arrays | {
            "waiting": self._waiting.tobytes(),
            "pending": pending.lines.tobytes(),
            "pending rows": pending.rows.tobytes(),
            "pending variables": pending.variables.tobytes(),
            "pending excluded": pending.excluded.tobytes(),
        }
        return pack(KIND, {"query": self._fingerprint(), "store": header, "search": own}, blobs)

    def restore(self, data: bytes) -> None:
        """Take over a snapshot of the same query, instead of all that was seen; SnapshotError if that cannot be."""
        header, blobs = unpack(KIND, data)
        if header.get("query") != self._fingerprint():
            raise wrong_content("it is of another query, or of rows with other columns")
        with restoring(self):
            self._start()
            self._store.restore(header["store"], blobs)
            self._search.restore(header["search"], blobs)
            self._waiting = self._places(blobs["waiting"])
            lines = np.frombuffer(blobs["pending"], np.int64).reshape(-1, len(FoundMatch)).copy()
            rows = self._places(blobs["pending rows"])
            variables = np.frombuffer(blobs["pending variables"], np.int32).copy()
            excluded = np.frombuffer(blobs["pending excluded"], np.bool_).copy()
            _check_matches(lines, len(self._store.keys), self._store.length, len(rows))
            if not len(rows) == len(variables) == len(excluded):
                raise ValueError
            if len(variables) and not 0 <= variables.min() <= variables.max() < len(self._query.variables):
                raise ValueError
            self._pending = Matches(lines, rows, variables, excluded)

    def _places(self, blob: bytes) -> Places:
        places = np.frombuffer(blob, np.int32).copy()
        if len(places) and not 0 <= places.min() <= places.max() < self._store.length:
            raise ValueError
        return places

    def _fingerprint(self) -> str:
        types = sorted((name, kind.value) for name, kind in self._engine.types.items())
        return hashlib.sha256(repr((self._query, types, self._engine.time_column)).encode()).hexdigest()


def _check_matches(lines: NDArray[np.int64], partitions: int, rows: int, members: int) -> None:
    bounds = ((FoundMatch.PARTITION, partitions), (FoundMatch.START, rows))
    if len(lines) and any(lines[:, at].min() < 0 or lines[:, at].max() >= most for at, most in bounds):
        raise ValueError
    begins, lengths = lines[:, FoundMatch.ROWS], lines[:, FoundMatch.LENGTH]
    if np.any(lengths < 0) or np.any(begins != np.cumsum(lengths) - lengths) or int(lengths.sum()) != members:
        raise ValueError


class _Distances:
    """How far conditions and measures look beyond the rows of a match."""

    def __init__(self, query: RowQuery) -> None:
        conditions = _navigations(each.condition for each in query.definitions)
        measures = _navigations(each.expression for each in query.measures)
        self.condition = max((at.physical for at in conditions if at.physical > 0), default=0)
        self.ahead = tuple(dict.fromkeys(at for at in measures if at.physical > 0))
        self.measures = max((at.physical for at in self.ahead), default=0)
        self.behind = max((-at.physical for at in (*conditions, *measures)), default=0)
        self.behind = max(self.behind, 1)  # a row without one before it would be the first of its partition


def _navigations(expressions: Any) -> list[At]:
    parts: list[RowExpression] = [part for expression in expressions for part in walk(expression)]
    return [part.at for part in parts if isinstance(part, Column | Classifier) and part.at is not None]


def _times(column: Any) -> NDArray[np.int64]:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if column.type != pa.int64():
        column = column.cast(ValueType.TIMESTAMP.arrow, safe=False).cast(pa.int64())
    filled: NDArray[np.int64] = column.fill_null(NO_TIME).to_numpy()
    return filled
