"""Constraints in the words of the language."""

from __future__ import annotations

from collections.abc import Mapping

from cepheus.language.tesla.print import format_expression
from cepheus.rules.expressions import Comparison, Constraint, Expression


def constraint_text(constraint: Constraint, names: Mapping[Expression, str] | None = None) -> str:
    """Write a constraint; expressions that have a name of their own are written by that name.

    >>> from cepheus.core.values import ValueType
    >>> from cepheus.rules.expressions import AttributeRef, Constant
    >>> constraint_text(Comparison((AttributeRef(None, "value"), Constant(45, ValueType.INT)), (">",)))
    'value > 45'
    """
    names = names or {}
    if not isinstance(constraint, Comparison):
        return names.get(constraint) or format_expression(constraint)
    words = [names.get(constraint.operands[0]) or format_expression(constraint.operands[0])]
    for symbol, operand in zip(constraint.operators, constraint.operands[1:], strict=True):
        words += [symbol, names.get(operand) or format_expression(operand)]
    return " ".join(words)
