"""The types of expressions over rows, given those of the columns; what does not fit together is found here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import assert_never

from cepheus.core.errors import Diagnostic, RuleError, did_you_mean
from cepheus.core.source import Span
from cepheus.core.values import ValueType
from cepheus.rules.aggregates import AGGREGATES, Takes
from cepheus.rules.function_record import Kind
from cepheus.rules.functions import FUNCTIONS
from cepheus.rules.rows.expressions import (
    Aggregated,
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
)
from cepheus.rules.rows.model import RowQuery, RowsPerMatch

Columns = Mapping[str, ValueType | None]
"""The types of columns; None is that of a column of which only the data can tell it."""
Tell = Callable[[str, str, Span | None, str | None], object]
"""Takes what is wrong: its code, a message, the place, a hint."""

_KINDS: dict[Kind, tuple[ValueType, ...]] = {
    Kind.NUMBER: (ValueType.INT, ValueType.FLOAT),
    Kind.STRING: (ValueType.STRING,),
    Kind.TIMESTAMP: (ValueType.TIMESTAMP,),
    Kind.SIZED: (ValueType.STRING, ValueType.LIST),
    Kind.LIST: (ValueType.LIST,),
    Kind.TRUTH: (ValueType.BOOL,),
    Kind.SAME: tuple(ValueType),
}


def output_types(query: RowQuery, columns: Mapping[str, ValueType]) -> dict[str, ValueType]:
    """The columns that a query gives and their types; a RuleError tells all that does not fit its rows."""
    found: list[Diagnostic] = []
    given = given_types(query, columns, lambda *told: found.append(Diagnostic(*told)))
    if found:
        raise RuleError(sorted(found, key=lambda each: -1 if each.span is None else each.span.start))
    return {name: kind or ValueType.STRING for name, kind in given.items()}


def given_types(query: RowQuery, columns: Columns, tell: Tell) -> dict[str, ValueType | None]:
    """The columns that a query gives and their types, as far as those of its rows tell; what is wrong is told."""
    typer = _Typer(columns, tell)
    for name, span in (*((name, query.span) for name in query.partition), *((k.column, k.span) for k in query.order)):
        if name not in columns:
            typer.no_column(name, span)
    for definition in query.definitions:
        typer.condition(definition.condition, f"the condition of {definition.variable}")
    measures = {each.name: typer.type_of(each.expression) for each in query.measures}
    if query.within is not None and columns.get(query.order[0].column) not in (None, ValueType.TIMESTAMP):
        tell("interval", "WITHIN needs a time as the first column of ORDER BY", query.order[0].span, None)
    for name in measures if query.rows is not RowsPerMatch.ONE_ROW else query.partition:
        if name in (columns if query.rows is not RowsPerMatch.ONE_ROW else measures):
            span = next((each.span for each in query.measures if each.name == name), query.span)
            tell("measure", f"a column is called '{name}' like a measure", span, "rename the measure")
    known = {**columns, **measures}
    given = {name: known.get(name) for name in query.given(tuple(columns))}
    outer = _Typer(given, tell)
    if query.where is not None:
        outer.condition(query.where, "the condition of WHERE")
    if query.select is None:
        return given
    return {each.name: outer.type_of(each.expression) for each in query.select}


def type_of(expression: RowExpression, columns: Columns) -> ValueType | None:
    """The type of an expression that has been checked; None is that of NULL."""
    return _Typer(columns, lambda *_: None).type_of(expression)


def checked_type(expression: RowExpression, columns: Columns) -> ValueType | None:
    """The type of an expression; a RuleError tells all that does not fit together."""
    wrong: list[Diagnostic] = []
    found = _Typer(columns, lambda *told: wrong.append(Diagnostic(*told))).type_of(expression)
    if wrong:
        raise RuleError(wrong)
    return found


class _Typer:
    """Finds types; None is that of NULL, which fits everywhere."""

    def __init__(self, columns: Columns, tell: Tell) -> None:
        self._columns, self._tell = columns, tell

    def no_column(self, name: str, span: Span | None) -> None:
        hint = did_you_mean(name, self._columns) or f"the columns are {', '.join(self._columns)}"
        self._tell("column", f"the rows have no column '{name}'", span, hint)

    def condition(self, expression: RowExpression, what: str) -> None:
        kind = self.type_of(expression)
        if kind not in (None, ValueType.BOOL):
            self._tell("type", f"{what} is {_article(kind)}, not true or false", expression.span, None)

    def type_of(self, expression: RowExpression) -> ValueType | None:
        match expression:
            case Literal(type=kind):
                return kind
            case Cast(operand=operand, type=kind):
                if self.type_of(operand) is ValueType.TIMESTAMP and kind is ValueType.STRING:
                    hint = "leave it a time, or join what year, month, day and so on give"
                    self._wrong("a time cannot be cast to a text", expression, hint)
                return kind
            case Column(name=name, span=span):
                if name not in self._columns:
                    self.no_column(name, span)
                return self._columns.get(name)
            case Classifier():
                return ValueType.STRING
            case MatchNumber():
                return ValueType.INT
            case Aggregated():
                return self._aggregated(expression)
            case Operation():
                return self._operation(expression)
            case Case(branches=branches, otherwise=otherwise):
                for condition, _ in branches:
                    self.condition(condition, "the condition of WHEN")
                kinds = [self.type_of(value) for _, value in branches]
                return self._one_of([*kinds, self.type_of(otherwise)], expression)
            case FunctionCall():
                return self._call(expression)
            case _:
                assert_never(expression)

    def _wrong(self, message: str, expression: RowExpression, hint: str | None = None) -> None:
        self._tell("type", message, expression.span, hint)

    def _one_of(self, kinds: list[ValueType | None], expression: RowExpression) -> ValueType | None:
        known = {kind for kind in kinds if kind is not None}
        if known == {ValueType.INT, ValueType.FLOAT}:
            return ValueType.FLOAT
        if len(known) > 1:
            self._wrong(f"{_list(known)} cannot be values of one expression", expression)
        return next(iter(sorted(known, key=list(ValueType).index)), None)

    def _operation(self, expression: Operation) -> ValueType | None:
        operator = expression.operator
        kinds = [self.type_of(operand) for operand in expression.operands]
        known = {kind for kind in kinds if kind is not None}
        match operator:
            case Operator.AND | Operator.OR | Operator.NOT:
                if known - {ValueType.BOOL}:
                    self._wrong(f"{operator.value} takes what is true or false, not {_list(known)}", expression)
                return ValueType.BOOL
            case Operator.IS_NULL:
                return ValueType.BOOL
            case Operator.LIKE | Operator.JOIN:
                if known - {ValueType.STRING}:
                    self._wrong(f"{operator.value} takes strings, not {_list(known)}", expression)
                return ValueType.BOOL if operator is Operator.LIKE else ValueType.STRING
            case Operator.NEGATIVE:
                if known and not known <= _NUMBERS:
                    self._wrong(f"- takes a number, not {_list(known)}", expression)
                return kinds[0]
            case _ if operator.is_arithmetic:
                return self._arithmetic(expression, kinds)
            case _:
                ordered = operator not in (Operator.EQUAL, Operator.UNEQUAL, Operator.SAME)
                if len(known) > 1 and known != _NUMBERS:
                    hint = "write TIMESTAMP '2026-01-31 12:00:00'" if ValueType.TIMESTAMP in known else None
                    self._wrong(f"{operator.value} cannot compare {_list(known)}", expression, hint)
                elif ordered and known & {ValueType.BOOL, ValueType.LIST}:
                    self._wrong(f"{_list(known)} has no order", expression)
                return ValueType.BOOL

    def _arithmetic(self, expression: Operation, kinds: list[ValueType | None]) -> ValueType | None:
        operator = expression.operator
        left, right = kinds
        if ValueType.TIMESTAMP in kinds:
            if operator is Operator.SUBTRACT and left is right:
                return ValueType.INT
            moved = operator is Operator.SUBTRACT and left is ValueType.TIMESTAMP
            fits = left is not right and {left, right} <= {ValueType.TIMESTAMP, ValueType.INT, None}
            if fits and (operator is Operator.ADD or moved):
                return ValueType.TIMESTAMP
            self._wrong(f"{operator.value} cannot take {_list({k for k in kinds if k is not None})}", expression)
            return ValueType.TIMESTAMP
        known = {kind for kind in kinds if kind is not None}
        if known - _NUMBERS:
            self._wrong(f"{operator.value} takes numbers, not {_list(known - _NUMBERS)}", expression)
        if operator is Operator.DIVIDE or ValueType.FLOAT in known:
            return ValueType.FLOAT
        return ValueType.INT

    def _aggregated(self, expression: Aggregated) -> ValueType | None:
        if expression.condition is not None:
            self.condition(expression.condition, "the condition of FILTER")
        kinds = [self.type_of(argument) for argument in expression.arguments]
        function = expression.function
        if function == "array_agg":
            return ValueType.LIST
        if function in ("max_by", "min_by"):
            if len(kinds) != 2:
                self._wrong(f"{function} takes two arguments", expression)
                return None
            return kinds[0]
        record = AGGREGATES[function]
        if function == "count":
            return ValueType.INT
        if len(kinds) != 1:
            self._wrong(f"{function} takes one argument", expression)
            return None
        numbers = record.takes is Takes.NUMBERS
        if kinds[0] is not None and kinds[0] not in (_NUMBERS if numbers else _ORDERED):
            self._wrong(f"{function} takes {record.takes.value}, not {_article(kinds[0])}", expression)
        return kinds[0] if record.result is None else record.result

    def _call(self, expression: FunctionCall) -> ValueType | None:
        record = FUNCTIONS[expression.function]
        kinds = [self.type_of(argument) for argument in expression.arguments]
        same: list[ValueType | None] = []
        for place, kind in enumerate(kinds):
            wanted = record.kind(place)
            if kind is not None and kind not in _KINDS[wanted]:
                self._wrong(f"{record.name} takes {wanted.value}, not {_article(kind)}", expression)
            same.append(kind)
        return self._one_of(same, expression) if record.result is None else record.result


_NUMBERS = {ValueType.INT, ValueType.FLOAT}
_ORDERED = {*_NUMBERS, ValueType.STRING, ValueType.TIMESTAMP}


def _article(kind: ValueType | None) -> str:
    if kind is None:
        return "NULL"
    return {ValueType.INT: "an int", ValueType.BOOL: "true or false"}.get(kind, f"a {kind.value}")


def _list(kinds: set[ValueType]) -> str:
    return " and ".join(_article(kind) for kind in sorted(kinds, key=list(ValueType).index))
