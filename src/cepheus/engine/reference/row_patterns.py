"""What a query over rows means: the ways to meet a pattern, tried in the order of preferment until one succeeds.

Nothing here is clever. A way is the list of variables that took the rows so far; a part of a pattern goes on from a way
in none, one or several ways, the preferred one first. The engine of rows must give what this gives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from cepheus.core.errors import LimitError
from cepheus.core.values import as_int
from cepheus.rules.rows.evaluate import Moment, value_of
from cepheus.rules.rows.matches import RowSearch, Way
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


@dataclass(slots=True)
class ReferenceSearch(RowSearch):
    """The matches in the rows of one partition, by backtracking."""

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
