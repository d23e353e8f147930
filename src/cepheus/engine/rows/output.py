"""What a query gives for matches found: measures computed for many rows at once, then WHERE and SELECT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cepheus.core.lists import text_column
from cepheus.core.values import Value, ValueType
from cepheus.engine.rows.engine import Given
from cepheus.engine.rows.found import Matches
from cepheus.engine.rows.kernel import FoundMatch, Numbers, Places
from cepheus.engine.rows.places import by_partition, shifted, taken_counts, taken_in_the_end, taken_places
from cepheus.engine.rows.store import RowStore
from cepheus.engine.rows.vectors import Vector, compute, holds, storage
from cepheus.rules.rows.evaluate import aggregate_rows
from cepheus.rules.rows.expressions import Aggregated, At, RowExpression
from cepheus.rules.rows.model import RowQuery, RowsPerMatch
from cepheus.rules.rows.types import type_of

_EMPTY, _UNMATCHED = -1, -2

Columns = dict[str, Any]


def given_rows(
    query: RowQuery, matches: Matches, unmatched: Places, store: RowStore, types: Mapping[str, ValueType]
) -> tuple[pa.Table, NDArray[np.int64], Places, NDArray[np.int64]]:
    """What a query gives for matches and for rows of none; of each row the partition, the row it ends at, its match.

    ``types`` are those of its result.
    """
    shown = MatchRows(query, matches, unmatched, store)
    partitions, ends, lines = store.rows.partition[shown.rows].astype(np.int64), shown.ends, shown.lines
    measures = {each.name: shown.measure(each.expression) for each in query.measures}
    given: Columns = {}
    for name in query.given(tuple(store.types)):
        given[name] = measures[name] if name in measures else shown.own(name)
    table, kept = selected(query, given, shown.length, store.types, types)
    if kept is not None:
        partitions, ends, lines = partitions[kept], ends[kept], lines[kept]
    return table, partitions, ends, lines


def selected(
    query: RowQuery, given: Columns, length: int, read: Mapping[str, ValueType], types: Mapping[str, ValueType]
) -> tuple[pa.Table, NDArray[np.bool_] | None]:
    """What WHERE and SELECT make of rows that are given, and which of them were kept (None: all).

    ``read`` are the types of the columns of rows, ``types`` those of the result.
    """
    inner = {each.name: type_of(each.expression, read) or ValueType.STRING for each in query.measures}
    known = {**read, **inner}
    names = query.given(tuple(read))
    result = GivenRows({name: given[name] for name in names}, {name: known[name] for name in names}, length)
    chosen: NDArray[np.bool_] | None = None
    if query.where is not None:
        chosen = holds(query.where, result)
        kept = pa.array(chosen)
        result = GivenRows({name: result.columns[name].filter(kept) for name in names}, result.types, kept.true_count)
    if query.select is None:
        columns = {name: as_type(column, types[name]) for name, column in result.columns.items()}
    else:
        columns = {each.name: as_type(compute(each.expression, result), types[each.name]) for each in query.select}
    return pa.table(columns), chosen


def together(parts: Sequence[Given]) -> pa.Table:
    """What was given at one time after the other, put together by partition."""
    tables = [part.table for part in parts if part.table.num_rows] or [parts[0].table]
    order = by_partition(np.concatenate([part.partitions for part in parts]))
    if bool(np.all(np.diff(order) == 1)):
        return pa.concat_tables(tables)
    return pa.concat_tables(tables).combine_chunks().take(pa.array(order))


def as_type(column: Any, kind: ValueType) -> Any:
    """A column in the type that users get it in."""
    return column if column.type == kind.arrow else column.cast(kind.arrow, safe=False)


class GivenRows:
    """The rows of MATCH_RECOGNIZE, as WHERE and SELECT see them."""

    def __init__(self, columns: Columns, types: dict[str, ValueType], length: int) -> None:
        self.columns, self.types, self.length = columns, types, length

    def column(self, name: str, at: At | None) -> Vector:
        """A column of what is given."""
        assert at is None
        return self.columns[name]

    def classifier(self, at: At | None) -> Vector:
        """Not part of SELECT and WHERE."""
        raise AssertionError(at)

    def number(self) -> Vector:
        """Not part of SELECT and WHERE."""
        raise AssertionError("MATCH_NUMBER outside of the clause")

    def aggregate(self, expression: Aggregated) -> Vector:
        """Not part of SELECT and WHERE."""
        raise AssertionError(expression)


class MatchRows:
    """The rows to be given, each with its match and its place there.

    ``_line`` is the match of each, ``_flat`` its place among the rows of all matches (-1 in an empty match, -2 for a
    row of none), ``_row`` the row of the store that its own columns come from.
    """

    def __init__(self, query: RowQuery, matches: Matches, unmatched: Places, store: RowStore) -> None:
        self._query, self._matches, self._store = query, matches, store
        self._names = query.variables
        if query.rows is RowsPerMatch.ONE_ROW:
            self._line, self._flat, self._row = _one_each(matches)
        else:
            self._line, self._flat, self._row = _all_rows(query, matches, unmatched, store.rows.partition)

    @property
    def length(self) -> int:
        """How many rows are given."""
        return len(self._flat)

    @property
    def types(self) -> dict[str, ValueType]:
        """The types of the columns."""
        return self._store.types

    @property
    def lines(self) -> NDArray[np.int64]:
        """The match of each row that is given, -1 for those of none."""
        return self._line

    @property
    def rows(self) -> Places:
        """The rows of the store that are given, or at which the matches that are given begin."""
        return self._row

    @property
    def ends(self) -> Places:
        """The rows of the store that are given, or at which the matches that are given end."""
        if self._query.rows is not RowsPerMatch.ONE_ROW or not len(self._matches.rows):
            return self._row
        return np.where(self._flat >= 0, self._matches.rows[self._flat], self._row).astype(np.int32)

    def own(self, name: str) -> Vector:
        """A column of the rows themselves."""
        if name not in self._store.columns:
            return self._store.key_column(name, self._matches.lines[self._line, FoundMatch.PARTITION])
        return self._store.take(name, self._row)

    def measure(self, expression: RowExpression) -> Vector:
        """The values of a measure; a row of no match has none."""
        found = compute(expression, self)
        outside = self._flat == _UNMATCHED
        return pc.if_else(pa.array(outside), pa.scalar(None, found.type), found) if outside.any() else found

    def column(self, name: str, at: At | None) -> Vector:
        """A column at a row found from the match."""
        assert at is not None
        return self._store.take(name, self._places(at))

    def classifier(self, at: At | None) -> Vector:
        """The variable of a row found from the match, NULL outside of it."""
        assert at is not None
        places = self._places(at)
        first, length = self._bounds()
        offset = self._within_match(places)
        inside = (places >= 0) & (offset >= 0) & (offset < length)
        flat = np.where(inside, first + offset, 0)
        codes = self._matches.variables[flat] if len(self._matches.variables) else np.zeros(len(flat), np.int32)
        return pa.array(list(self._names)).take(pa.array(codes, mask=~inside))

    def number(self) -> Vector:
        """The number of each row's match."""
        if not len(self._matches.lines):
            return pa.array(np.zeros(self.length, np.int64))
        return pa.array(self._matches.lines[np.maximum(self._line, 0), FoundMatch.NUMBER])

    def aggregate(self, expression: Aggregated) -> Vector:
        """An aggregate over rows of the match, up to each row or over all."""
        if expression.function == "count" and not expression.arguments and expression.condition is None:
            if expression.variables is None and self._query.rows is RowsPerMatch.ONE_ROW:
                return pa.array(self._matches.lines[:, FoundMatch.LENGTH])
            wanted = self._wanted(expression.variables)
            counts = taken_counts(self._matches.lines, self._matches.variables, wanted, expression.final)
            return pa.array(np.where(self._flat >= 0, _at(counts, self._flat), 0))
        return self._one_by_one(expression)

    def _one_by_one(self, expression: Aggregated) -> Vector:
        """Aggregate as the definition says, for each row anew."""
        members = MatchMembers(self._names, self._matches, self._store)
        arguments = [compute(argument, members).to_pylist() for argument in expression.arguments]
        wanted = self._wanted(expression.variables)
        kept = (wanted >> self._matches.variables.astype(np.int64) & 1).astype(np.bool_)
        if expression.condition is not None:
            kept &= holds(expression.condition, members)
        first, length = self._bounds()
        found: list[Value | None] = []
        for flat, begin, rows in zip(self._flat.tolist(), first.tolist(), length.tolist(), strict=True):
            end = begin + rows if expression.final else flat + 1
            places = [k for k in range(begin, end) if kept[k]] if flat >= 0 else []
            lines = [[values[k] for values in arguments] for k in places]
            found.append(aggregate_rows(expression.function, expression.distinct, lines))
        kind = type_of(expression, self.types)
        return text_column(found) if kind is ValueType.LIST else pa.array(found, storage(kind))

    def _wanted(self, variables: tuple[str, ...] | None) -> int:
        if variables is None:
            return (1 << len(self._names)) - 1
        return sum(1 << self._names.index(name) for name in variables)

    def _places(self, at: At) -> Places:
        if self._query.rows is RowsPerMatch.ONE_ROW:
            lines, rows, variables = self._matches.lines, self._matches.rows, self._matches.variables
            wanted = self._wanted(at.variables)
            return self._shifted(taken_in_the_end(lines, rows, variables, wanted, at.last, at.logical), at.physical)
        found = taken_places(
            self._matches.lines,
            self._matches.rows,
            self._matches.variables,
            self._wanted(at.variables),
            at.last,
            at.logical,
            at.final,
        )
        places = np.where(self._flat >= 0, _at(found, self._flat), -1).astype(np.int32)
        return self._shifted(places, at.physical)

    def _shifted(self, places: Places, by: int) -> Places:
        rows = self._store.rows
        return shifted(places, by, rows.before, rows.after) if by else places

    def _bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the match of each row begins among the rows of all matches, and how many it has."""
        if not len(self._matches.lines):
            nothing = np.zeros(self.length, np.int64)
            return nothing, nothing
        lines = self._matches.lines[np.maximum(self._line, 0)]
        return lines[:, FoundMatch.ROWS], np.where(self._flat >= 0, lines[:, FoundMatch.LENGTH], 0)

    def _within_match(self, places: Places) -> NDArray[np.int64]:
        """How many rows places lie behind the first row of each row's match, -1 for those outside of it."""
        first, length = self._bounds()
        offsets = np.full(len(places), -1, np.int64)
        for k, (place, begin, rows) in enumerate(zip(places.tolist(), first.tolist(), length.tolist(), strict=True)):
            if place >= 0 and rows:
                members = self._matches.rows[begin : begin + rows]
                at = int(np.searchsorted(members, place))
                if at < rows and members[at] == place:
                    offsets[k] = at
        return offsets


class MatchMembers:
    """All rows of all matches, as the arguments of aggregates read them."""

    def __init__(self, names: tuple[str, ...], matches: Matches, store: RowStore) -> None:
        self._names, self._matches, self._store = names, matches, store

    @property
    def length(self) -> int:
        """How many rows there are."""
        return len(self._matches.rows)

    @property
    def types(self) -> dict[str, ValueType]:
        """The types of the columns."""
        return self._store.types

    def column(self, name: str, at: At | None) -> Vector:
        """A column of the rows."""
        assert at is None
        return self._store.take(name, self._matches.rows)

    def classifier(self, at: At | None) -> Vector:
        """The variable of each row."""
        assert at is None
        return pa.array(list(self._names)).take(pa.array(self._matches.variables))

    def number(self) -> Vector:
        """The number of each row's match."""
        lines = self._matches.lines
        return pa.array(lines[line_of_each(lines), FoundMatch.NUMBER])

    def aggregate(self, expression: Aggregated) -> Vector:
        """Aggregates have no aggregates inside."""
        raise AssertionError(expression)


def line_of_each(lines: Numbers) -> NDArray[np.int64]:
    """By row of all matches, the line of its match."""
    order = np.argsort(lines[:, FoundMatch.ROWS], kind="stable")
    return np.repeat(order, lines[order, FoundMatch.LENGTH])


def _at(values: NDArray[Any], places: NDArray[np.int64]) -> NDArray[Any]:
    """Values at places; anything where a place is negative."""
    if not len(values):
        return np.zeros(len(places), values.dtype)
    found: NDArray[Any] = values[np.maximum(places, 0)]
    return found


def _one_each(matches: Matches) -> tuple[NDArray[np.int64], NDArray[np.int64], Places]:
    lines = matches.lines
    last = lines[:, FoundMatch.ROWS] + lines[:, FoundMatch.LENGTH] - 1
    flat = np.where(lines[:, FoundMatch.LENGTH] > 0, last, _EMPTY)
    return np.arange(len(lines)), flat, lines[:, FoundMatch.START].astype(np.int32)


def _all_rows(
    query: RowQuery, matches: Matches, unmatched: Places, partition: Places
) -> tuple[NDArray[np.int64], NDArray[np.int64], Places]:
    lines = matches.lines
    empty = lines[:, FoundMatch.LENGTH] == 0
    if query.rows is RowsPerMatch.OMIT_EMPTY:
        empty &= False
    members = line_of_each(lines)
    shown = ~matches.excluded
    line = np.concatenate([members[shown], np.flatnonzero(empty), np.full(len(unmatched), -1)])
    count = int(empty.sum())
    flat = np.concatenate([np.flatnonzero(shown), np.full(count, _EMPTY), np.full(len(unmatched), _UNMATCHED)]).astype(
        np.int64
    )
    row = np.concatenate([matches.rows[shown], lines[empty, FoundMatch.START].astype(np.int32), unmatched])
    if len(unmatched):  # by partition, where a match stands at its first row
        start = np.concatenate([lines[:, FoundMatch.START], np.zeros(1, np.int64)])
        order = np.lexsort((row, line, np.where(line < 0, row, start[line]), partition[row]))
    else:  # in the order of matches, those of a match in the order of its rows
        order = np.lexsort((row, line))
    return line[order].astype(np.int64), flat[order], row[order].astype(np.int32)
