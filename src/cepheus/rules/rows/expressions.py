"""Expressions over the rows of a match: what conditions test and measures compute.

A column, or the name of the variable that took a row (``CLASSIFIER``), is read at a row that is found from the match
(``At``). The languages write every way to say so in this one form: ``A.price`` is the last row of ``A``,
``PREV(A.price, 2)`` the row two before it, ``FIRST(A.price, 1)`` the second row of ``A``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import assert_never

from cepheus.core.source import Span
from cepheus.core.values import Value, ValueType


@dataclass(frozen=True, slots=True)
class At:
    """A row found from a match.

    Of the rows that ``variables`` took (None: all rows of the match), the first or last, then ``logical`` rows of
    those further inside the match, then ``physical`` rows further in the partition (negative: before it). ``final``
    looks at the whole match, otherwise at what lies up to the row at hand.
    """

    variables: tuple[str, ...] | None = None
    last: bool = True
    logical: int = 0
    physical: int = 0
    final: bool = False


HERE = None
"""Instead of an ``At``: the row at hand itself, among those that an aggregate is taken over or that a query gives."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A value as it is written, None for NULL; an interval is an int of microseconds."""

    value: Value | None
    type: ValueType | None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Column:
    """The value of a column at a row."""

    name: str
    at: At | None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Classifier:
    """The name of the variable that took a row."""

    at: At | None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class MatchNumber:
    """The number of the match in its partition, counted from 1."""

    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Aggregated:
    """An aggregate over the rows that ``variables`` took (None: all), in their order; its arguments are read ``HERE``.

    Without arguments it counts rows. Rows for which ``condition`` does not hold are left out.
    """

    function: str
    arguments: tuple[RowExpression, ...]
    variables: tuple[str, ...] | None = None
    final: bool = False
    distinct: bool = False
    condition: RowExpression | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


class Operator(Enum):
    """What operations do; the value is the sign or word of SQL."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    REMAINDER = "%"
    EQUAL = "="
    UNEQUAL = "<>"
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="
    AND = "AND"
    OR = "OR"
    NOT = "NOT"
    NEGATIVE = "negative"
    IS_NULL = "IS NULL"
    SAME = "IS NOT DISTINCT FROM"
    LIKE = "LIKE"
    JOIN = "||"

    @property
    def compares(self) -> bool:
        """Whether it compares two values by their order or equality."""
        return self in _COMPARE

    @property
    def is_arithmetic(self) -> bool:
        """Whether it computes a number from two."""
        return self in _ARITHMETIC


_ARITHMETIC = (Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY, Operator.DIVIDE, Operator.REMAINDER)
_COMPARE = (
    Operator.EQUAL,
    Operator.UNEQUAL,
    Operator.LESS,
    Operator.LESS_OR_EQUAL,
    Operator.GREATER,
    Operator.GREATER_OR_EQUAL,
)


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator applied to its operands; NULL as SQL has it."""

    operator: Operator
    operands: tuple[RowExpression, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Case:
    """``CASE WHEN condition THEN value .. ELSE otherwise END``."""

    branches: tuple[tuple[RowExpression, RowExpression], ...]
    otherwise: RowExpression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A built-in function applied to arguments (``rules/functions.py``)."""

    function: str
    arguments: tuple[RowExpression, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Cast:
    """A value as one of another type; NULL where it has none."""

    operand: RowExpression
    type: ValueType
    span: Span | None = field(default=None, compare=False, repr=False)


RowExpression = Literal | Column | Classifier | MatchNumber | Aggregated | Operation | Case | FunctionCall | Cast


def operands_of(expression: RowExpression) -> tuple[RowExpression, ...]:
    """The expressions directly inside of one."""
    match expression:
        case Literal() | Column() | Classifier() | MatchNumber():
            return ()
        case Aggregated(arguments=arguments, condition=condition):
            return arguments if condition is None else (*arguments, condition)
        case Operation(operands=operands):
            return operands
        case Case(branches=branches, otherwise=otherwise):
            return (*(part for branch in branches for part in branch), otherwise)
        case FunctionCall(arguments=arguments):
            return arguments
        case Cast(operand=operand):
            return (operand,)
        case _:
            assert_never(expression)


def walk(expression: RowExpression) -> Iterator[RowExpression]:
    """An expression and all inside of it, each before its operands."""
    yield expression
    for operand in operands_of(expression):
        yield from walk(operand)


def transform(expression: RowExpression, change: Callable[[RowExpression], RowExpression]) -> RowExpression:
    """The expression with every part changed, the inner ones first."""

    def inner(part: RowExpression) -> RowExpression:
        return transform(part, change)

    match expression:
        case Literal() | Column() | Classifier() | MatchNumber():
            return change(expression)
        case Aggregated(arguments=arguments, condition=condition):
            changed = tuple(map(inner, arguments))
            kept = None if condition is None else inner(condition)
            return change(replace(expression, arguments=changed, condition=kept))
        case Operation(operands=operands):
            return change(replace(expression, operands=tuple(map(inner, operands))))
        case Case(branches=branches, otherwise=otherwise):
            pairs = tuple((inner(condition), inner(value)) for condition, value in branches)
            return change(replace(expression, branches=pairs, otherwise=inner(otherwise)))
        case FunctionCall(arguments=arguments):
            return change(replace(expression, arguments=tuple(map(inner, arguments))))
        case Cast(operand=operand):
            return change(replace(expression, operand=inner(operand)))
        case _:
            assert_never(expression)


def columns_of(expression: RowExpression) -> tuple[str, ...]:
    """The names of the columns that an expression reads, each once."""
    return tuple(dict.fromkeys(part.name for part in walk(expression) if isinstance(part, Column)))


def truth_by_counts(asked: Aggregated, *, either: bool) -> RowExpression:
    """Whether ``either`` one or else every value of an aggregate is true, by how many decide; NULL if none is known."""
    (value,), span = asked.arguments, asked.span
    deciding = value if either else Operation(Operator.NOT, (value,), value.span)
    if asked.condition is not None:
        deciding = Operation(Operator.AND, (asked.condition, deciding), span)
    decided = replace(asked, function="count", arguments=(), distinct=False, condition=deciding)
    known = replace(asked, function="count", distinct=False)
    branches = tuple(
        (Operation(Operator.GREATER, (count, Literal(0, ValueType.INT)), span), Literal(outcome, ValueType.BOOL))
        for count, outcome in ((decided, either), (known, not either))
    )
    return Case(branches, Literal(None, None), span)
