"""What WHERE asks of whole partitions, as conditions of Spark: rows of other partitions never leave it.

A row of a partition may part two others, so nothing that DEFINE asks of rows can leave one out. But a condition that
names only columns of PARTITION BY holds for all rows of a partition or for none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cepheus.core.values import ValueType
from cepheus.rules.rows.expressions import Column as RowColumn
from cepheus.rules.rows.expressions import Literal, Operation, Operator, RowExpression, columns_of
from cepheus.rules.rows.model import RowQuery
from cepheus.runtime.spark.sources import column

if TYPE_CHECKING:
    from pyspark.sql import Column

_PLAIN = (ValueType.INT, ValueType.STRING, ValueType.BOOL)
"""Types of which Spark compares values as rules do."""


def partition_conditions(query: RowQuery) -> list[Column]:
    """The parts of WHERE that name only columns of PARTITION BY and mean the same to Spark."""
    if query.where is None:
        return []
    found = (_as_condition(part) for part in conjuncts(query.where) if set(columns_of(part)) <= set(query.partition))
    return [condition for condition in found if condition is not None]


def conjuncts(condition: RowExpression) -> Iterator[RowExpression]:
    """The conditions that must all hold."""
    if isinstance(condition, Operation) and condition.operator is Operator.AND:
        for part in condition.operands:
            yield from conjuncts(part)
    else:
        yield condition


def _as_condition(part: RowExpression) -> Column | None:
    """A condition as Spark has it; None if it is none that is known to mean the same there."""
    if not isinstance(part, Operation):
        return None
    match part.operator, part.operands:
        case Operator.OR, operands:
            sides = [_as_condition(each) for each in operands]
            found = None
            for side in sides:
                if side is None:
                    return None
                found = side if found is None else found | side
            return found
        case Operator.IS_NULL, (RowColumn(name=name),):
            return column(name).isNull()
        case Operator.EQUAL, (RowColumn(name=name), Literal(value=int() | str() as value, type=kind)) if kind in _PLAIN:
            return column(name).eqNullSafe(value)
        case Operator.EQUAL, (Literal(value=int() | str() as value, type=kind), RowColumn(name=name)) if kind in _PLAIN:
            return column(name).eqNullSafe(value)
        case _:
            return None
