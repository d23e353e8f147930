"""Expressions over rows computed for many rows at once, by Arrow; the same values as ``rules/rows/evaluate.py`` gives.

Times are integers of microseconds here. What Arrow has no function for, or computes differently, is computed value by
value with the definitions themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Protocol, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheus.core.lists import text_column
from cepheus.core.values import Value, ValueType
from cepheus.rules.functions import function_of
from cepheus.rules.rows.evaluate import applied, cast_value
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
)
from cepheus.rules.rows.types import type_of

Vector = Any
"""An Arrow array, one value a row, or an Arrow scalar, the same for all."""


class Surroundings(Protocol):
    """Where an expression is computed: so many rows, and what can be read at each."""

    @property
    def length(self) -> int:
        """How many rows there are."""

    @property
    def types(self) -> dict[str, ValueType]:
        """The types of the columns."""

    def column(self, name: str, at: At | None) -> Vector:
        """A column, read at a row found from each."""

    def classifier(self, at: At | None) -> Vector:
        """The variable that took a row found from each."""

    def number(self) -> Vector:
        """The number of each row's match."""

    def aggregate(self, expression: Aggregated) -> Vector:
        """An aggregate over rows of each row's match."""


def storage(kind: ValueType | None) -> pa.DataType:
    """The Arrow type in which values are computed with: that of the type, but for times, which are integers."""
    if kind is None:
        return pa.null()
    return pa.int64() if kind is ValueType.TIMESTAMP else kind.arrow


def compute(expression: RowExpression, rows: Surroundings) -> pa.Array:
    """The values of an expression, one for each row."""
    found = _compute(expression, rows)
    if isinstance(found, pa.Scalar):
        return pa.repeat(found, rows.length)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def holds(condition: RowExpression, rows: Surroundings) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Where a condition holds: NULL does not."""
    found = compute(condition, rows)
    if pa.types.is_null(found.type):
        return np.zeros(rows.length, np.bool_)
    array: np.ndarray[Any, np.dtype[np.bool_]] = pc.fill_null(found, False).to_numpy(zero_copy_only=False)
    return array


def _compute(expression: RowExpression, rows: Surroundings) -> Vector:
    match expression:
        case Literal(value=value, type=kind):
            return pa.scalar(value, storage(kind))
        case Column(name=name, at=at):
            return rows.column(name, at)
        case Classifier(at=at):
            return rows.classifier(at)
        case MatchNumber():
            return rows.number()
        case Aggregated():
            return rows.aggregate(expression)
        case Operation(operator=operator, operands=operands):
            given = [_compute(operand, rows) for operand in operands]
            found = _operation(operator, given)
            return _one_by_one(expression, given, rows) if found is None else found
        case Case(branches=branches, otherwise=otherwise):
            kind = storage(type_of(expression, rows.types))
            result = _as(_compute(otherwise, rows), kind)
            for condition, outcome in reversed(branches):
                met = pc.fill_null(_as(_compute(condition, rows), pa.bool_()), False)
                result = pc.if_else(met, _as(_compute(outcome, rows), kind), result)
            return result
        case FunctionCall(arguments=arguments):
            return _one_by_one(expression, [_compute(argument, rows) for argument in arguments], rows)
        case Cast(operand=operand):
            return _one_by_one(expression, [_compute(operand, rows)], rows)
        case _:
            assert_never(expression)


def _as(values: Vector, kind: pa.DataType) -> Vector:
    if values.type == kind:
        return values
    if not isinstance(values, pa.Scalar):
        return values.cast(kind, safe=False)
    value = values.as_py()
    return pa.scalar(float(value) if isinstance(value, int) and kind == pa.float64() else value, kind)


def _one_by_one(expression: Operation | FunctionCall | Cast, given: Sequence[Vector], rows: Surroundings) -> Vector:
    """Compute value by value, as the definition says."""
    length = 1 if all(isinstance(values, pa.Scalar) for values in given) else rows.length
    lists = [[values.as_py()] * length if isinstance(values, pa.Scalar) else values.to_pylist() for values in given]
    kind = type_of(expression, rows.types)
    found: list[Value | None] = []
    match expression:
        case Operation(operator=operator):
            found = [applied(operator, values) for values in zip(*lists, strict=True)]
        case FunctionCall(function=function):
            record = function_of(function)
            found = [record.apply(values) for values in zip(*lists, strict=True)]
        case Cast(type=wanted):
            found = [cast_value(value, wanted) for value in lists[0]]
        case _:
            assert_never(expression)
    if kind is ValueType.FLOAT:
        found = [float(value) if isinstance(value, int) else value for value in found]
    array = text_column(found) if kind is ValueType.LIST else pa.array(found, storage(kind))
    return array[0] if length == 1 != rows.length else array


_COMPARE = {
    Operator.EQUAL: pc.equal,
    Operator.UNEQUAL: pc.not_equal,
    Operator.LESS: pc.less,
    Operator.LESS_OR_EQUAL: pc.less_equal,
    Operator.GREATER: pc.greater,
    Operator.GREATER_OR_EQUAL: pc.greater_equal,
}
_CHECKED = {
    Operator.ADD: (pc.add_checked, pc.add),
    Operator.SUBTRACT: (pc.subtract_checked, pc.subtract),
    Operator.MULTIPLY: (pc.multiply_checked, pc.multiply),
}


def _operation(operator: Operator, given: list[Vector]) -> Vector | None:
    """An operation by Arrow, None where Arrow has none that means the same."""
    if all(isinstance(values, pa.Scalar) for values in given):
        return None
    match operator:
        case Operator.AND | Operator.OR:
            function = pc.and_kleene if operator is Operator.AND else pc.or_kleene
            return reduce(function, [_as(values, pa.bool_()) for values in given])
        case Operator.NOT:
            return pc.invert(_as(given[0], pa.bool_()))
        case Operator.IS_NULL:
            return pc.is_null(given[0])
        case Operator.ADD | Operator.SUBTRACT | Operator.MULTIPLY | Operator.DIVIDE:
            return _arithmetic(operator, given)
        case Operator.SAME | Operator.LIKE | Operator.JOIN | Operator.REMAINDER | Operator.NEGATIVE:
            return None
        case _:
            left, right = _alike(given)
            return _COMPARE[operator](left, right)


def _alike(given: Sequence[Vector]) -> list[Vector]:
    """Two vectors as one type: an integer beside a float is a float."""
    kinds = {values.type for values in given if not pa.types.is_null(values.type)}
    if len(kinds) > 1:
        return [_as(values, pa.float64()) for values in given]
    return [_as(values, next(iter(kinds), pa.int64())) for values in given]


def _arithmetic(operator: Operator, given: list[Vector]) -> Vector | None:
    if operator is Operator.DIVIDE:
        left, right = (_as(values, pa.float64()) for values in given)
        if isinstance(right, pa.Scalar):
            right = pa.scalar(None, pa.float64()) if right.as_py() == 0 else right
        else:
            right = pc.if_else(pc.equal(right, 0.0), pa.scalar(None, pa.float64()), right)
        return _finite(pc.divide(left, right))
    left, right = _alike(given)
    checked, plain = _CHECKED[operator]
    if left.type == pa.float64():
        return _finite(plain(left, right))
    try:
        return checked(left, right)
    except pa.ArrowInvalid:
        return None


def _finite(values: Vector) -> Vector:
    return pc.if_else(pc.is_finite(values), values, pa.scalar(None, pa.float64()))
