"""Matches of a row pattern, one after the other, and what a query gives for them: what engines in Python share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cepheus.core.errors import RuleError
from cepheus.core.values import Value
from cepheus.rules.rows.evaluate import Moment, Row, value_of
from cepheus.rules.rows.expressions import RowExpression
from cepheus.rules.rows.model import RowQuery, RowsPerMatch, SkipKind

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
class RowSearch:
    """The matches in the rows of one partition; how the preferred one from a row is found is up to an engine."""

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
        """The match from the row at which the search is, None if there is none."""
        raise NotImplementedError

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


def rows_given(query: RowQuery, rows: Sequence[Row], search: type[RowSearch]) -> Iterator[dict[str, Value | None]]:
    """What a query gives for the rows of one partition, in their order."""
    columns = tuple(dict.fromkeys(name for row in rows for name in row))
    covered = -1
    for found in search(query, rows).matches():
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


def skip_failed(query: RowQuery, *, nothing: bool) -> RuleError:
    """The error for AFTER MATCH SKIP to a row from which the search could not go on."""
    target = query.after.target
    why = f"the match has no row of {target}"
    if not nothing:
        why = f"{target} is the first row of the match, which would be found again for ever"
    return RuleError.of(
        "skip",
        f"AFTER MATCH SKIP {query.after.kind.value} {target} has nowhere to go: {why}",
        span=query.after.span,
        hint="skip to a variable that every match has, and never as its first row, or PAST LAST ROW",
    )
