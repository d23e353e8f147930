"""What an expression is worth and when a constraint holds: the definition that every engine must meet.

None stands for an undefined value: a missing optional attribute, a division by zero, an integer result that does not
fit in 64 bits, a float result that is not finite. Whatever is computed from an undefined value is undefined
(``coalesce`` aside), and a constraint that needs one does not hold.
"""

from __future__ import annotations

import math
import operator as operators
from collections.abc import Callable
from typing import Any, assert_never

from cepheus.core.values import INT_MAX, INT_MIN, Value
from cepheus.rules.expressions import (
    Aggregate,
    Arithmetic,
    AttributeRef,
    Call,
    Comparison,
    Constant,
    Constraint,
    Expression,
    Negative,
    Parameter,
)
from cepheus.rules.functions import FUNCTIONS

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operators.eq,
    "!=": operators.ne,
    "<": operators.lt,
    "<=": operators.le,
    ">": operators.gt,
    ">=": operators.ge,
}

Leaf = AttributeRef | Parameter | Aggregate
Lookup = Callable[[Leaf], Value | None]
"""Gives the value of an attribute, parameter or aggregate in the situation at hand."""


def evaluate(expression: Expression, lookup: Lookup) -> Value | None:
    """Compute an expression; None if it is undefined.

    >>> from cepheus.core.values import ValueType
    >>> evaluate(Arithmetic("/", Constant(1, ValueType.INT), Constant(4, ValueType.INT)), lambda leaf: None)
    0.25
    """
    match expression:
        case Constant(value=value):
            return value
        case AttributeRef() | Parameter() | Aggregate():
            return lookup(expression)
        case Arithmetic(operator=operator, left=left, right=right):
            return _arithmetic(operator, evaluate(left, lookup), evaluate(right, lookup))
        case Negative(operand=operand):
            return _arithmetic("-", 0, evaluate(operand, lookup))
        case Call(function=function, arguments=arguments):
            values = [evaluate(argument, lookup) for argument in arguments]
            if function != "coalesce" and None in values:
                return None
            return FUNCTIONS[function].compute(*values)
        case _:
            assert_never(expression)


def holds(constraint: Constraint, lookup: Lookup) -> bool:
    """Tell whether a constraint is true."""
    if not isinstance(constraint, Comparison):
        return evaluate(constraint, lookup) is True
    left = evaluate(constraint.operands[0], lookup)
    for operator, operand in zip(constraint.operators, constraint.operands[1:], strict=True):
        right = evaluate(operand, lookup)
        if not compare(operator, left, right):
            return False
        left = right
    return True


def compare(operator: str, left: Value | None, right: Value | None) -> bool:
    """Compare two values; an integer and a float are compared as floats.

    >>> compare("<=", 2, 2.0), compare("=", "2", 2), compare("!=", None, 2)
    (True, False, False)
    """
    if left is None or right is None:
        return False
    if isinstance(left, str) != isinstance(right, str) or isinstance(left, bool) != isinstance(right, bool):
        return False
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    return _COMPARE[operator](left, right)


def _arithmetic(operator: str, left: Value | None, right: Value | None) -> Value | None:
    if left is None or right is None:
        return None
    assert not isinstance(left, str)
    assert not isinstance(right, str)
    if operator == "/":
        return None if right == 0 else _defined(float(left) / float(right))
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    match operator:
        case "+":
            return _defined(left + right)
        case "-":
            return _defined(left - right)
        case "*":
            return _defined(left * right)
    raise AssertionError(f"no operator {operator}")


def _defined(number: float) -> Value | None:
    if isinstance(number, int):
        return number if INT_MIN <= number <= INT_MAX else None
    return number if math.isfinite(number) else None
