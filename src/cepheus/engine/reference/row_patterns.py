"""What a query over rows means: the ways to meet a pattern, tried in the order of preferment until one succeeds.

Nothing here is clever. A way is the list of variables that took the rows so far; a part of a pattern goes on from a way
in none, one or several ways, the preferred one first. The engine of rows must give what this gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from cepheus.core.errors import LimitError
from cepheus.core.values import Value, as_int
from cepheus.rules.rows.evaluate import Moment, Row, value_of
from cepheus.rules.rows.expressions import RowExpression
from cepheus.rules.rows.model import RowQuery, RowsPerMatch, SkipKind
from cepheus.rules.rows.pattern import (
    Alternation,
    Concatenation,
    Empty,
    Exclusion,
    PartitionEnd,
    PartitionStart,
    Permutation,
    Quantified,
    RowPattern,
    Variable,
    orders,
    written,
)
from cepheus.rules.rows.skipping import skip_failed

Way = tuple[tuple[str, bool], ...]
"""The variables that took the rows from the start on, each with whether its row is excluded from what is shown."""


@dataclass(frozen=True, slots=True)
class RowMatch:
    """A match: where it begins in its partition, the variables of its rows, its number."""

    start: int
    way: Way
    number: int

    @property
    def labels(self) -> tuple[str, ...]:
        """The variables of the rows."""
        return tuple(label for label, _ in self.way)


@dataclass(slots=True)
class Search:
    """The matches in the rows of one partition."""

    query: RowQuery
    rows: Sequence[Row]
    conditions: Mapping[str, RowExpression] = field(init=False)
    start: int = 0
    number: int = 1

    def __post_init__(self) -> None:
        self.conditions = {each.variable: each.condition for each in self.query.definitions}

    def matches(self) -> Iterator[RowMatch | int]:
        """The matches in their order, and in between the places of rows from which there is none."""
        while self.start < len(self.rows):
            way = self._preferred()
            if way is None:
                yield self.start
                self.start += 1
                continue
            match = RowMatch(self.start, way, self.number)
            yield match
            self.number += 1
            self.start = self._next_start(match)

    def _preferred(self) -> Way | None:
        try:
            return next(self._ways(self.query.pattern, (), False), None)
        except RecursionError:
            raise LimitError.of(
                "too-many-rows",
                f"a match of ({written(self.query.pattern)}) is too long for the reference engine",
                span=self.query.pattern.span,
                hint="choose the engine rows",
            ) from None

    def _next_start(self, match: RowMatch) -> int:
        after = self.query.after
        if not match.way or after.kind is SkipKind.TO_NEXT_ROW:
            return match.start + 1
        if after.target is None:
            return match.start + len(match.way)
        members = self.query.members(after.target)
        taken = [place for place, label in enumerate(match.labels) if label in members]
        place = (taken[0] if after.kind is SkipKind.TO_FIRST else taken[-1]) if taken else -1
        if place <= 0:
            raise skip_failed(self.query, nothing=place < 0)
        return match.start + place

    def _ways(self, pattern: RowPattern, way: Way, excluded: bool) -> Iterator[Way]:
        """The ways to go on with a pattern, the preferred one first."""
        match pattern:
            case Variable(name=name):
                if self._takes(name, way):
                    yield (*way, (name, excluded))
            case Empty():
                yield way
            case PartitionStart():
                if self.start + len(way) == 0:
                    yield way
            case PartitionEnd():
                if self.start + len(way) == len(self.rows):
                    yield way
            case Concatenation(parts=parts):
                yield from self._sequence(parts, way, excluded)
            case Alternation(parts=parts):
                for part in parts:
                    yield from self._ways(part, way, excluded)
            case Permutation():
                for order in orders(pattern):
                    yield from self._ways(order, way, excluded)
            case Quantified():
                yield from self._repeated(pattern, way, excluded, 0)
            case Exclusion(part=part):
                yield from self._ways(part, way, True)
            case _:
                assert_never(pattern)

    def _sequence(self, parts: tuple[RowPattern, ...], way: Way, excluded: bool) -> Iterator[Way]:
        if not parts:
            yield way
            return
        for gone in self._ways(parts[0], way, excluded):
            yield from self._sequence(parts[1:], gone, excluded)

    def _repeated(self, pattern: Quantified, way: Way, excluded: bool, done: int) -> Iterator[Way]:
        may_end = done >= pattern.least
        if may_end and not pattern.greedy:
            yield way
        if pattern.most is None or done < pattern.most:
            for gone in self._ways(pattern.part, way, excluded):
                if may_end and len(gone) == len(way):
                    yield gone  # a repetition without rows is the last one
                else:
                    yield from self._repeated(pattern, gone, excluded, done + 1)
        if may_end and pattern.greedy:
            yield way

    def _takes(self, name: str, way: Way) -> bool:
        """Whether a variable may take the next row."""
        row = self.start + len(way)
        if row >= len(self.rows):
            return False
        if self.query.within is not None:
            column = self.query.order[0].column
            first, last = self.rows[self.start].get(column), self.rows[row].get(column)
            if first is None or last is None or as_int(last) - as_int(first) >= self.query.within:
                return False
        condition = self.conditions.get(name)
        if condition is None:
            return True
        labels = [*(label for label, _ in way), name]
        return value_of(condition, Moment(self.rows, self.start, labels, row, self.number)) is True


def rows_given(query: RowQuery, rows: Sequence[Row]) -> Iterator[dict[str, Value | None]]:
    """What a query gives for the rows of one partition, in their order."""
    columns = tuple(dict.fromkeys(name for row in rows for name in row))
    covered = -1
    for found in Search(query, rows).matches():
        if isinstance(found, int):
            if query.rows is RowsPerMatch.WITH_UNMATCHED and found > covered:
                nothing = {each.name: None for each in query.measures}
                yield from _selected(query, {**rows[found], **nothing}, columns)
            continue
        covered = max(covered, found.start + max(len(found.way), 1) - 1)
        for given in _of_match(query, rows, found):
            yield from _selected(query, given, columns)


def _of_match(query: RowQuery, rows: Sequence[Row], match: RowMatch) -> Iterator[dict[str, Value | None]]:
    labels = match.labels
    if query.rows is RowsPerMatch.ONE_ROW or not match.way:
        if not match.way and query.rows is RowsPerMatch.OMIT_EMPTY:
            return
        moment = Moment(rows, match.start, labels, match.start + max(len(labels) - 1, 0), match.number)
        yield {**rows[match.start], **_measures(query, moment)}
        return
    for place, (_, excluded) in enumerate(match.way):
        if not excluded:
            row = match.start + place
            yield {**rows[row], **_measures(query, Moment(rows, match.start, labels, row, match.number))}


def _measures(query: RowQuery, moment: Moment) -> dict[str, Value | None]:
    return {each.name: value_of(each.expression, moment) for each in query.measures}


def _selected(
    query: RowQuery, given: Mapping[str, Value | None], columns: tuple[str, ...]
) -> Iterator[dict[str, Value | None]]:
    """WHERE and SELECT."""
    given = {name: given.get(name) for name in query.given(columns)}
    moment = Moment([given], 0, (), 0)
    if query.where is not None and value_of(query.where, moment) is not True:
        return
    if query.select is None:
        yield given
    else:
        yield {each.name: value_of(each.expression, moment) for each in query.select}
