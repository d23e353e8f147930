"""A query over rows: the clause MATCH_RECOGNIZE with what stands around it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

from cepheus.core.schema import Attribute, EventType
from cepheus.core.source import Source, Span
from cepheus.rules.rows.expressions import Column, Literal, RowExpression, columns_of, transform
from cepheus.rules.rows.pattern import RowPattern, variables

ALL_EVENTS = "events"
"""The source that has the events of all types, with ``type`` and ``time`` as columns."""

DEFAULT_NAME = "Match"
"""The type of matches as events where the query gives none by an alias."""


class RowsPerMatch(Enum):
    """Which rows a match gives; the value is how it is written."""

    ONE_ROW = "ONE ROW PER MATCH"
    SHOW_EMPTY = "ALL ROWS PER MATCH SHOW EMPTY MATCHES"
    OMIT_EMPTY = "ALL ROWS PER MATCH OMIT EMPTY MATCHES"
    WITH_UNMATCHED = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"


class SkipKind(Enum):
    """Where the search goes on after a match; the value is how it is written, without the variable."""

    PAST_LAST_ROW = "PAST LAST ROW"
    TO_NEXT_ROW = "TO NEXT ROW"
    TO_FIRST = "TO FIRST"
    TO_LAST = "TO LAST"


@dataclass(frozen=True, slots=True)
class AfterMatch:
    """``AFTER MATCH SKIP ..``; ``target`` is the variable of ``TO FIRST`` and ``TO LAST``."""

    kind: SkipKind = SkipKind.PAST_LAST_ROW
    target: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class OrderKey:
    """A column of ORDER BY; nulls come last unless ``nulls_first``."""

    column: str
    descending: bool = False
    nulls_first: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Named:
    """An expression and the name of the column that it becomes: a measure, or an item of SELECT."""

    name: str
    expression: RowExpression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Subset:
    """``U = (A, B)``: one name for what several variables take."""

    name: str
    variables: tuple[str, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Definition:
    """``A AS condition``: when a row may be taken by a variable."""

    variable: str
    condition: RowExpression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RowQuery:
    """Matches of a row pattern in the rows of each partition, in their order.

    ``within`` is how long a match may take, in microseconds: its last row comes less than that after its first, by the
    first column of ``order``. ``select`` is None for all columns; ``where`` keeps some of the rows given. Both
    read the columns given, ``HERE``.
    """

    pattern: RowPattern
    source: str = ALL_EVENTS
    name: str = DEFAULT_NAME
    partition: tuple[str, ...] = ()
    order: tuple[OrderKey, ...] = ()
    measures: tuple[Named, ...] = ()
    rows: RowsPerMatch = RowsPerMatch.ONE_ROW
    after: AfterMatch = AfterMatch()
    within: int | None = None
    subsets: tuple[Subset, ...] = ()
    definitions: tuple[Definition, ...] = ()
    select: tuple[Named, ...] | None = None
    where: RowExpression | None = None
    text: Source | None = field(default=None, compare=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the pattern, in the order of the text."""
        return variables(self.pattern)

    def members(self, name: str) -> tuple[str, ...]:
        """The variables that a variable or subset stands for."""
        for subset in self.subsets:
            if subset.name == name:
                return subset.variables
        return (name,)

    def read(self) -> tuple[str, ...]:
        """The columns of rows that the query names, each once."""
        return tuple(
            dict.fromkeys((*self.partition, *(key.column for key in self.order), *self.kept(), *self._shown()))
        )

    def _shown(self) -> list[str]:
        """The columns of rows that SELECT and WHERE name: where all rows are given, they have them."""
        if self.rows is RowsPerMatch.ONE_ROW:
            return []
        measures = {each.name for each in self.measures}
        named = [*(each.expression for each in self.select or ()), *(() if self.where is None else (self.where,))]
        return [name for expression in named for name in columns_of(expression) if name not in measures]

    def kept(self) -> tuple[str, ...]:
        """The columns of rows that conditions and measures read, each once."""
        names: list[str] = []
        for expression in (
            *(each.condition for each in self.definitions),
            *(each.expression for each in self.measures),
        ):
            names += columns_of(expression)
        return tuple(dict.fromkeys(names))

    def without_values(self, names: frozenset[str]) -> RowQuery:
        """The query for rows in which some columns are NULL throughout, so that nobody knows their types."""

        def change(part: RowExpression) -> RowExpression:
            return Literal(None, None, part.span) if isinstance(part, Column) and part.name in names else part

        return replace(
            self,
            definitions=tuple(replace(each, condition=transform(each.condition, change)) for each in self.definitions),
            measures=tuple(replace(each, expression=transform(each.expression, change)) for each in self.measures),
        )

    def given(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """The names of the columns of MATCH_RECOGNIZE, before SELECT, where its rows have these columns."""
        measures = tuple(each.name for each in self.measures)
        if self.rows is RowsPerMatch.ONE_ROW:
            return (*self.partition, *measures)
        ordered = tuple(dict.fromkeys((*self.partition, *(key.column for key in self.order))))
        return (*ordered, *measures, *(name for name in columns if name not in ordered))


@dataclass(frozen=True, slots=True)
class RowRule:
    """A query over rows as a rule: each of its matches is an event, at the time of its last row.

    With ALL ROWS PER MATCH each row that is given is an event, at its own time. ``composite`` has what is given: the
    columns of partitions and the measures, for all rows also their other columns, or those of SELECT. ``columns``
    are those that the query reads, with their types as far as the checks know them. ``name`` is None until given
    (``name_rules``).
    """

    query: RowQuery
    composite: EventType
    columns: tuple[Attribute, ...] = ()
    name: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def source(self) -> str | None:
        """The type of events that are its rows; None for events of all types."""
        return None if self.query.source == ALL_EVENTS else self.query.source

    @property
    def carried(self) -> dict[str, str]:
        """The attributes of matches that are columns of PARTITION BY, and these columns."""
        query = self.query
        if query.select is None:
            return {name: name for name in query.partition}
        plain = ((each.name, each.expression) for each in query.select)
        return {
            name: column.name for name, column in plain if isinstance(column, Column) and column.name in query.partition
        }

    @classmethod
    def of(cls, query: RowQuery) -> RowRule:
        """A query as a rule, before anything is known of its columns."""
        names = query.given(()) if query.select is None else [each.name for each in query.select]
        attributes = tuple(Attribute(name, None, optional=True) for name in dict.fromkeys(names))
        return cls(query, EventType(query.name, attributes, query.span), span=query.span)
