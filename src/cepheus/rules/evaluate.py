"""What an expression is worth and when a constraint holds: the definition that every engine must meet.

None stands for an undefined value: a missing optional attribute, an aggregate of nothing, a division by zero, an
integer result that does not fit in 64 bits, a float result that is not finite, arithmetic on texts, truths or lists, a
list that is too large. Whatever is computed from an undefined value is undefined, comparisons included; ``coalesce``,
``if``, ``is null`` and what joins conditions have rules of their own. Only a constraint that is true holds.

An expression is turned into a function once and called many times. What it is called with, the situation, gives the
value of each attribute and computed value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any, Protocol, assert_never

from cepheus.core.values import Value, representable
from cepheus.rules.comparisons import compare, truth
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
from cepheus.rules.functions import AND, function_of


class Situation(Protocol):
    """The events and computed values that an expression is evaluated in."""

    def attribute(self, event: str | None, name: str) -> Value | None:
        """Read an attribute of the event of that name; None is the event under test."""

    def computed(self, name: str) -> Value | None:
        """The value that an aggregate was computed to."""


Evaluator = Callable[[Situation], Value | None]
Test = Callable[[Situation], bool]


def evaluator(expression: Expression) -> Evaluator:
    """Make the function that computes an expression; it gives None where the expression is undefined."""
    match expression:
        case Constant(value=value):
            return lambda _: value
        case AttributeRef(event=event, name=name):
            return lambda situation: situation.attribute(event, name)
        case Parameter(name=name):
            return lambda situation: situation.computed(name)
        case Negative(operand=operand):
            return _arithmetic("-", lambda _: 0, evaluator(operand))
        case Arithmetic(operator=symbol, left=left, right=right):
            return _arithmetic(symbol, evaluator(left), evaluator(right))
        case Call(function=function, arguments=arguments):
            called = _call(function, [evaluator(argument) for argument in arguments])
            return _as_double(called) if expression.gives_double else called
        case Comparison():
            return _comparison(expression)
        case Aggregate():
            raise AssertionError("aggregates are computed as steps of their own")
        case _:
            assert_never(expression)


def group_of(per: Sequence[AttributeRef], situation: Situation) -> tuple[Value | None, ...]:
    """The group that an event belongs to: the values of its attributes, None where it lacks one; -0.0 is 0."""
    values = (situation.attribute(attribute.event, attribute.name) for attribute in per)
    return tuple(value + 0.0 if isinstance(value, float) else value for value in values)


def tester(constraint: Constraint) -> Test:
    """Make the function that tells whether a constraint holds."""
    if not isinstance(constraint, Comparison):
        condition = evaluator(constraint)
        return lambda situation: condition(situation) is True
    links = _links(constraint)
    if len(links) == 1:
        ((left, symbol, right),) = links
        return lambda situation: compare(symbol, left(situation), right(situation))
    return lambda situation: all(compare(symbol, left(situation), right(situation)) for left, symbol, right in links)


def _links(chain: Comparison) -> list[tuple[Evaluator, str, Evaluator]]:
    """Every two operands of a chain that stand side by side, made into functions, and the operator between them."""
    operands = [evaluator(operand) for operand in chain.operands]
    return list(zip(operands, chain.operators, operands[1:], strict=False))


def _comparison(chain: Comparison) -> Evaluator:
    """What a chain of comparisons says as part of a larger condition: true, false or nothing."""
    links = _links(chain)
    both = function_of(AND).compute

    def compute(situation: Situation) -> bool | None:
        truths = [truth(symbol, left(situation), right(situation)) for left, symbol, right in links]
        result: bool | None = both(*truths)
        return result

    return compute


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


_NO_NUMBER = (NoneType, str, bool, tuple)


def _arithmetic(symbol: str, left: Evaluator, right: Evaluator) -> Evaluator:
    def compute(situation: Situation) -> Value | None:
        a, b = left(situation), right(situation)
        if isinstance(a, _NO_NUMBER) or isinstance(b, _NO_NUMBER):
            return None
        if symbol == "/":
            return None if b == 0 else representable(float(a) / float(b))
        if isinstance(a, float) or isinstance(b, float):
            a, b = float(a), float(b)
        return representable(_ARITHMETIC[symbol](a, b))

    return compute


def _as_double(value: Evaluator) -> Evaluator:
    def compute(situation: Situation) -> Value | None:
        found = value(situation)
        return float(found) if type(found) is int else found

    return compute


def _call(function: str, arguments: list[Evaluator]) -> Evaluator:
    apply = function_of(function).apply
    return lambda situation: apply([argument(situation) for argument in arguments])
