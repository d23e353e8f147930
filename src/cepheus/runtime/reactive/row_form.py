"""Expressions of rules as expressions over rows, which are computed for many rows at once."""

from __future__ import annotations

from functools import reduce
from typing import assert_never

from cepheus.core.errors import RuleError
from cepheus.rules.expressions import (
    Aggregate,
    Arithmetic,
    AttributeRef,
    Call,
    Comparison,
    Constant,
    Expression,
    Negative,
    Parameter,
)
from cepheus.rules.rows.expressions import HERE, Case, Column, FunctionCall, Literal, Operation, Operator, RowExpression

_OPERATORS = {each.value: each for each in Operator} | {"!=": Operator.UNEQUAL}


def row_form(node: Expression) -> RowExpression:
    """An expression over the attributes of one event, or over signals, which are parameters."""
    match node:
        case Constant(value=value, type=kind):
            return Literal(value, kind, node.span)
        case AttributeRef(event=None, name=name) | Parameter(name=name):
            return Column(name, HERE, node.span)
        case Arithmetic(operator=operator, left=left, right=right):
            return Operation(_OPERATORS[operator], (row_form(left), row_form(right)), node.span)
        case Negative(operand=operand):
            return Operation(Operator.NEGATIVE, (row_form(operand),), node.span)
        case Comparison():
            links = [Operation(_OPERATORS[sign], (row_form(a), row_form(b)), node.span) for a, sign, b in node.links]
            return reduce(lambda one, other: Operation(Operator.AND, (one, other), node.span), links)
        case Call():
            return _call(node)
        case AttributeRef() | Aggregate():
            hint = "a signal is made of the attributes of one class of events; combine signals with one another"
            raise RuleError.of("signal", "this reads more than one event", span=node.span, hint=hint)
        case _:
            assert_never(node)


def _call(node: Call) -> RowExpression:
    parts = tuple(map(row_form, node.arguments))
    match node.function:
        case "and" | "or" as word:
            return Operation(Operator[word.upper()], parts, node.span)
        case "not":
            return Operation(Operator.NOT, parts, node.span)
        case "is null":
            return Operation(Operator.IS_NULL, parts, node.span)
        case "in":
            equal = tuple(Operation(Operator.EQUAL, (parts[0], choice), node.span) for choice in parts[1:])
            return equal[0] if len(equal) == 1 else Operation(Operator.OR, equal, node.span)
        case "if":
            return Case(((parts[0], parts[1]),), parts[2], node.span)
        case function:
            return FunctionCall(function, parts, node.span)
