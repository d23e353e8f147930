"""What expressions over rows are worth: the definition that every engine must meet.

None is NULL. What is computed from NULL is NULL, AND and OR have three values, and a result that is undefined (a
division by zero, a number beyond 64 bits) is NULL.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeGuard, assert_never

from cepheus.core.lists import list_value
from cepheus.core.time import parse_time
from cepheus.core.values import Value, ValueType, representable
from cepheus.rules.aggregates import aggregate
from cepheus.rules.comparisons import compare
from cepheus.rules.functions import function_of
from cepheus.rules.rows.expressions import (
    Aggregated,
    At,
    Case,
    Cast,
    Classifier,
    Column,
    FunctionCall,
    Literal,
    MatchNumber,
    Operation,
    Operator,
    RowExpression,
    transform,
    walk,
)

Row = Mapping[str, Value | None]


@dataclass(frozen=True, slots=True)
class Moment:
    """A match, or the beginning of one, in the rows of its partition, and the row at hand.

    ``labels`` are the variables that took the rows from ``start`` on. ``current`` is the place in the partition of the
    row at hand: what is not final looks at the labels up to it.
    """

    rows: Sequence[Row]
    start: int
    labels: Sequence[str]
    current: int
    number: int = 1

    def place(self, at: At | None) -> int | None:
        """The place in the partition of a row, None if there is no such row."""
        if at is None:
            return self.current
        taken = self.taken(at.variables, final=at.final)
        if at.logical >= len(taken):
            return None
        place = taken[-1 - at.logical if at.last else at.logical] + at.physical
        return place if 0 <= place < len(self.rows) else None

    def taken(self, variables: tuple[str, ...] | None, *, final: bool) -> list[int]:
        """The places of the rows that variables took, up to the row at hand or in the whole match."""
        seen = len(self.labels) if final else min(self.current - self.start + 1, len(self.labels))
        return [
            self.start + place
            for place, label in enumerate(self.labels[:seen])
            if variables is None or label in variables
        ]

    def label(self, place: int | None) -> str | None:
        """The variable that took a row, None if the match does not have that row."""
        if place is None or not 0 <= place - self.start < len(self.labels):
            return None
        return self.labels[place - self.start]

    def at(self, place: int) -> Moment:
        """The same match with another row at hand."""
        return Moment(self.rows, self.start, self.labels, place, self.number)


def value_of(expression: RowExpression, moment: Moment) -> Value | None:
    """What an expression is worth."""
    match expression:
        case Literal(value=value):
            return value
        case Column(name=name, at=at):
            place = moment.place(at)
            return None if place is None else moment.rows[place].get(name)
        case Classifier(at=at):
            return moment.label(moment.place(at))
        case MatchNumber():
            return moment.number
        case Aggregated():
            return _aggregated(expression, moment)
        case Operation(operator=operator, operands=operands):
            return applied(operator, [value_of(operand, moment) for operand in operands])
        case Case(branches=branches, otherwise=otherwise):
            for condition, result in branches:
                if value_of(condition, moment) is True:
                    return value_of(result, moment)
            return value_of(otherwise, moment)
        case FunctionCall(function=function, arguments=arguments):
            return function_of(function).apply([value_of(argument, moment) for argument in arguments])
        case Cast(operand=operand, type=kind):
            return cast_value(value_of(operand, moment), kind)
        case _:
            assert_never(expression)


def null_without_row(expression: RowExpression) -> RowExpression | None:
    """An expression read at one row that is NULL where there is no such row; None if it cannot be made so.

    Most are as they stand: what they read is NULL there. ``coalesce(v, 0)`` needs to be asked first whether the match
    has the row; whether the partition has one beyond the match cannot be asked.
    """
    if _is_null(transform(expression, _without_row)):
        return expression
    at = next(part.at for part in walk(expression) if isinstance(part, Column | Classifier))
    if at is None or at.physical:
        return None
    missing = Operation(Operator.IS_NULL, (Classifier(at, expression.span),), expression.span)
    return Case(((missing, Literal(None, None)),), expression, expression.span)


def _without_row(part: RowExpression) -> RowExpression:
    """What is left of a part where the row that is read is not there, its own parts done: a literal if one value is.

    What differs from match to match, their number and aggregates over them, is left as it stands.
    """
    match part:
        case Literal() | MatchNumber() | Aggregated():
            return part
        case Column() | Classifier():
            return Literal(None, None)
        case Case(branches=branches, otherwise=otherwise):
            return _case_without_row(branches, otherwise)
        case Operation(operator=operator, operands=operands):
            decisive = {Operator.AND: False, Operator.OR: True}.get(operator)
            if decisive is not None and any(isinstance(each, Literal) and each.value is decisive for each in operands):
                return Literal(decisive, None)
            strict = operator not in (Operator.AND, Operator.OR, Operator.IS_NULL, Operator.SAME)
            unknown = strict and any(map(_is_null, operands))
        case FunctionCall(function=function, arguments=operands):
            unknown = not function_of(function).takes_undefined and any(map(_is_null, operands))
        case Cast(operand=operand):
            operands, unknown = (operand,), _is_null(operand)
        case _:
            assert_never(part)
    if unknown:
        return Literal(None, None)
    settled = all(isinstance(each, Literal) for each in operands)
    return Literal(value_of(part, Moment([], 0, (), 0)), None) if settled else part


def _case_without_row(
    branches: Sequence[tuple[RowExpression, RowExpression]], otherwise: RowExpression
) -> RowExpression:
    possible = []
    for condition, result in branches:
        if not isinstance(condition, Literal):
            possible.append((condition, result))
        elif condition.value is True:
            otherwise = result
            break
    if _is_null(otherwise) and all(_is_null(result) for _, result in possible):
        return Literal(None, None)
    return Case(tuple(possible), otherwise) if possible else otherwise


def _is_null(expression: RowExpression) -> bool:
    return isinstance(expression, Literal) and expression.value is None


def _aggregated(expression: Aggregated, moment: Moment) -> Value | None:
    places = moment.taken(expression.variables, final=expression.final)
    members = [moment.at(place) for place in places]
    condition = expression.condition
    if condition is not None:
        members = [member for member in members if value_of(condition, member) is True]
    rows = [[value_of(argument, member) for argument in expression.arguments] for member in members]
    return aggregate_rows(expression.function, expression.distinct, rows)


def aggregate_rows(function: str, distinct: bool, rows: Sequence[Sequence[Value | None]]) -> Value | None:
    """An aggregate over rows of arguments; rows whose first argument is NULL or not a number do not count.

    >>> aggregate_rows("sum", False, [[1], [None], [2]]), aggregate_rows("count", False, [])
    (3, 0)
    >>> aggregate_rows("max_by", False, [["a", 1], ["b", 3], ["c", 2]])
    'b'
    """
    if function == "array_agg":
        if not rows:
            return None
        members = [row[0] for row in rows if _counts(row[0])]
        return list_value(dict.fromkeys(members) if distinct else members)
    if function in ("max_by", "min_by"):
        known = [(row[1], row[0]) for row in rows if _counts(row[1])]
        if not known:
            return None
        best = 0
        for place, (key, _) in enumerate(known):
            if compare(">" if function == "max_by" else "<", key, known[best][0]):
                best = place
        return known[best][1]
    values = [row[0] for row in rows if _counts(row[0])] if rows and rows[0] else [True for _ in rows]
    if distinct:
        values = list(dict.fromkeys(values))
    if not values and function != "count":
        return None
    return aggregate(function, values)


def _counts(value: Value | None) -> TypeGuard[Value]:
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def applied(operator: Operator, values: Sequence[Value | None]) -> Value | None:
    """An operator applied to values.

    >>> applied(Operator.AND, [None, False]), applied(Operator.OR, [None, False]), applied(Operator.DIVIDE, [1, 0])
    (False, None, None)
    """
    match operator:
        case Operator.AND:
            return False if False in values else None if None in values else True
        case Operator.OR:
            return True if True in values else None if None in values else False
        case Operator.IS_NULL:
            return values[0] is None
        case Operator.SAME:
            left, right = values
            return left is right if left is None or right is None else compare("=", left, right)
        case _:
            pass
    if any(value is None for value in values):
        return None
    return _of_values(operator, values)


def _of_values(operator: Operator, values: Sequence[Any]) -> Value | None:
    match operator:
        case Operator.NOT:
            return not values[0]
        case Operator.NEGATIVE:
            return representable(-values[0])
        case Operator.LIKE:
            return like(values[1]).fullmatch(values[0]) is not None
        case Operator.JOIN:
            return str(values[0]) + str(values[1])
        case Operator.UNEQUAL:
            return compare("!=", values[0], values[1])
        case _ if operator.compares:
            return compare(operator.value, values[0], values[1])
        case _:
            return _arithmetic(operator, values[0], values[1])


_ARITHMETIC: dict[Operator, Callable[[Any, Any], Any]] = {
    Operator.ADD: lambda a, b: a + b,
    Operator.SUBTRACT: lambda a, b: a - b,
    Operator.MULTIPLY: lambda a, b: a * b,
    Operator.DIVIDE: lambda a, b: float(a) / float(b),
    Operator.REMAINDER: lambda a, b: math.fmod(a, b) if isinstance(a, float) or isinstance(b, float) else _rest(a, b),
}


def _rest(a: int, b: int) -> int:
    return abs(a) % abs(b) * (1 if a >= 0 else -1)


def _arithmetic(operator: Operator, left: Any, right: Any) -> Value | None:
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    if right == 0 and operator in (Operator.DIVIDE, Operator.REMAINDER):
        return None
    try:
        return representable(_ARITHMETIC[operator](left, right))
    except OverflowError:
        return None


@cache
def like(pattern: str) -> re.Pattern[str]:
    """The regular expression of a pattern of LIKE.

    >>> like("a_c%").fullmatch("abcd") is not None
    True
    """
    parts = {"%": ".*", "_": "."}
    return re.compile("".join(parts.get(sign, re.escape(sign)) for sign in pattern), re.DOTALL)


def cast_value(value: Value | None, kind: ValueType) -> Value | None:
    """A value as one of another type, NULL where it has none.

    >>> cast_value("1.5", ValueType.FLOAT), cast_value(2.7, ValueType.INT), cast_value("1_0", ValueType.INT)
    (1.5, 2, None)
    """
    if value is None or isinstance(value, tuple) or (isinstance(value, str) and kind.is_numeric and "_" in value):
        return None
    try:
        match kind:
            case ValueType.STRING:
                return str(value).lower() if isinstance(value, bool) else str(value)
            case ValueType.INT:
                return representable(int(value))
            case ValueType.FLOAT:
                return representable(float(value))
            case ValueType.BOOL:
                return {"true": True, "false": False}[value.lower()] if isinstance(value, str) else bool(value)
            case ValueType.TIMESTAMP:
                return parse_time(value) if isinstance(value, str) else int(value)
            case ValueType.LIST:
                return None
            case _:
                assert_never(kind)
    except (ValueError, OverflowError, KeyError):
        return None
