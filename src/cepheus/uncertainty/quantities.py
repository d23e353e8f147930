"""Uncertain quantities and the situations that expressions over them are evaluated in."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, assert_never

from cepheus.core.distribution import Distribution
from cepheus.core.values import Value
from cepheus.rules.evaluate import Situation, evaluator
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
from cepheus.rules.walk import walk
from cepheus.uncertainty.laws import Law, law_of

T = TypeVar("T")

Key = Hashable
"""What makes two mentions of a quantity the same: an attribute of one event, or one aggregate of a match."""


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """A number that is not known for certain; quantities of different keys are independent of one another.

    ``law`` is how the true value is distributed, ``error`` what the observed one is off by, ``written`` that error as
    the event has it. ``bias`` is what the values of one source are off by together: the true value is then the sum of
    the two.
    """

    key: Key
    law: Law
    error: Law
    written: Distribution | None = None
    bias: Quantity | None = None

    @property
    def parts(self) -> tuple[Quantity, ...]:
        """What the value is the sum of: the quantity itself and, if it has one, the bias of its source."""
        return (self,) if self.bias is None else (self, self.bias)

    def form(self) -> Linear:
        """The value as a linear form."""
        return Linear(0.0, {part.key: 1.0 for part in self.parts})

    def value(self, values: Mapping[Key, T]) -> T:
        """The value, where something is known for the keys of its parts."""
        if self.bias is None:
            return values[self.key]
        return values[self.key] + values[self.bias.key]  # type: ignore[operator, no-any-return]  # numbers or arrays

    @classmethod
    def observed(cls, key: Key, value: float, error: Distribution) -> Quantity:
        """The quantity of a measured value."""
        return cls(key, law_of(error, value), law_of(error, 0.0).moved(-1.0, 0.0), error)

    @classmethod
    def computed(cls, key: Key, value: float, law: Law) -> Quantity:
        """The quantity of a computed value."""
        return cls(key, law, law.moved(-1.0, value))


class UncertainSituation(Situation, Protocol):
    """A situation in which some values are uncertain."""

    def quantity(self, reference: AttributeRef | Parameter) -> Quantity | None:
        """The quantity that an attribute or a computed value is, None if it is certain."""


@dataclass(slots=True)
class Drawn:
    """A situation with a value drawn for each uncertain quantity; of one without, it matters only that it is there."""

    situation: UncertainSituation
    values: Mapping[Key, float]

    def attribute(self, event: str | None, name: str) -> Value | None:
        """An attribute of an event."""
        quantity = self.situation.quantity(AttributeRef(event, name))
        if quantity is None or quantity.key not in self.values:
            return self.situation.attribute(event, name)
        return quantity.value(self.values)

    def computed(self, name: str) -> Value | None:
        """A computed value."""
        quantity = self.situation.quantity(Parameter(name))
        return self.situation.computed(name) if quantity is None else self.values[quantity.key]


@dataclass(slots=True)
class Linear:
    """``constant + sum of coefficient * quantity``."""

    constant: float
    coefficients: dict[Key, float] = field(default_factory=dict)

    def plus(self, other: Linear, factor: float) -> Linear:
        """Add a multiple of another form."""
        coefficients = dict(self.coefficients)
        for key, coefficient in other.coefficients.items():
            total = coefficients.get(key, 0.0) + factor * coefficient
            if total == 0.0:
                coefficients.pop(key, None)
            else:
                coefficients[key] = total
        return Linear(self.constant + factor * other.constant, coefficients)

    def times(self, factor: float) -> Linear:
        """Multiply by a number."""
        return Linear(0.0).plus(self, factor)


def quantities(node: Constraint, situation: UncertainSituation) -> dict[Key, Quantity]:
    """The uncertain quantities that a constraint or expression reads."""
    found: dict[Key, Quantity] = {}
    for child in walk(node):
        if isinstance(child, AttributeRef | Parameter):
            quantity = situation.quantity(child)
            if quantity is not None:
                found.update((part.key, part) for part in quantity.parts)
    return found


def linear(expression: Expression, situation: UncertainSituation) -> Linear | None:
    """An expression as a linear form of the uncertain quantities; None if it is none, or not a number."""
    match expression:
        case Constant(value=value):
            return _number(value)
        case AttributeRef(event=event, name=name):
            quantity = situation.quantity(expression)
            return _number(situation.attribute(event, name)) if quantity is None else quantity.form()
        case Parameter(name=name):
            quantity = situation.quantity(expression)
            return _number(situation.computed(name)) if quantity is None else quantity.form()
        case Negative(operand=operand):
            form = linear(operand, situation)
            return None if form is None else form.times(-1.0)
        case Arithmetic(operator=operator, left=left, right=right):
            return _combine(operator, linear(left, situation), linear(right, situation))
        case Call() | Comparison():
            return _if_certain(expression, situation)
        case Aggregate():
            raise AssertionError("aggregates are computed as steps of their own")
        case _:
            assert_never(expression)


def _number(value: Value | None) -> Linear | None:
    return None if value is None or isinstance(value, str | tuple) else Linear(float(value))


def _combine(operator: str, left: Linear | None, right: Linear | None) -> Linear | None:
    if left is None or right is None:
        return None
    if operator in ("+", "-"):
        return left.plus(right, 1.0 if operator == "+" else -1.0)
    if operator == "*" and not right.coefficients:
        return left.times(right.constant)
    if operator == "*" and not left.coefficients:
        return right.times(left.constant)
    if operator == "/" and not right.coefficients and right.constant != 0.0:
        return left.times(1.0 / right.constant)
    return None


def _if_certain(node: Call | Comparison, situation: UncertainSituation) -> Linear | None:
    return None if quantities(node, situation) else _number(evaluator(node)(situation))


def links(constraint: Comparison) -> list[tuple[Expression, str, Expression]]:
    """The comparisons that a chain is made of."""
    return list(zip(constraint.operands, constraint.operators, constraint.operands[1:], strict=False))
