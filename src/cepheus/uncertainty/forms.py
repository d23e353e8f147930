"""Constraints as conditions on linear forms of uncertain quantities, the groups that they fall into, and intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from cepheus.rules.evaluate import Test, tester
from cepheus.rules.expressions import FLIPPED, Comparison, Constraint
from cepheus.uncertainty.laws import Law
from cepheus.uncertainty.quantities import Key, Linear, Quantity, UncertainSituation, linear, links, quantities
from cepheus.uncertainty.trials import without_presence


@dataclass(frozen=True, slots=True)
class LinearCondition:
    """``form operator 0``."""

    form: Linear
    operator: str


@dataclass(frozen=True, slots=True, eq=False)
class Pending:
    """A constraint with the quantities it reads, and the linear conditions it comes to, None if it has other parts."""

    constraint: Constraint
    situation: UncertainSituation
    quantities: dict[Key, Quantity]
    conditions: tuple[LinearCondition, ...] | None

    @classmethod
    def of(cls, constraint: Constraint, situation: UncertainSituation) -> Pending:
        """Look into a constraint."""
        read = quantities(without_presence(constraint), situation)
        conditions: list[LinearCondition] | None = None
        if read and isinstance(constraint, Comparison):
            conditions = []
            for left, operator, right in links(constraint):
                one, other = linear(left, situation), linear(right, situation)
                if one is None or other is None:
                    conditions = None
                    break
                conditions.append(LinearCondition(one.plus(other, -1.0), operator))
        return cls(constraint, situation, read, None if conditions is None else tuple(conditions))

    def is_settled(self) -> bool:
        """Whether the constraint compares a quantity with itself, as one that binds a parameter does."""
        return self.conditions is not None and not any(condition.form.coefficients for condition in self.conditions)

    def test(self) -> Test:
        """The function that tells whether the constraint holds."""
        return tester(self.constraint)


T = TypeVar("T")


def connected(items: Sequence[T], keys_of: Callable[[T], Collection[Key]]) -> list[list[T]]:
    """Put items that share a key together, directly or by way of others, both in the order given."""
    groups: list[tuple[set[Key], list[int]]] = []
    for place, item in enumerate(items):
        keys, members = set(keys_of(item)), [place]
        apart = []
        for other_keys, others in groups:
            if keys & other_keys:
                keys |= other_keys
                members = others + members
            else:
                apart.append((other_keys, others))
        groups = [*apart, (keys, members)]
    return [[items[place] for place in sorted(members)] for members in sorted(members for _, members in groups)]


@dataclass(slots=True)
class Interval:
    """All numbers between two bounds, each of which may belong to it or not, without the excluded ones."""

    low: float = -math.inf
    low_inclusive: bool = False
    high: float = math.inf
    high_inclusive: bool = False
    excluded: set[float] = field(default_factory=set)

    def restrict(self, operator: str, bound: float) -> None:
        """Keep the numbers that compare so with a bound."""
        if operator == "!=":
            self.excluded.add(bound)
        if operator in (">", ">=", "="):
            inclusive = operator != ">"
            if bound > self.low or (bound == self.low and not inclusive):
                self.low, self.low_inclusive = bound, inclusive
        if operator in ("<", "<=", "="):
            inclusive = operator != "<"
            if bound < self.high or (bound == self.high and not inclusive):
                self.high, self.high_inclusive = bound, inclusive

    def probability(self, law: Law) -> float:
        """The probability that a value of the law lies in the interval.

        >>> from cepheus.uncertainty.laws import Component, Spreads
        >>> near = Interval(-10.0, False, 10.0, False)
        >>> round(near.probability(Spreads((Component(1.0, 0.2, 3.0),))), 6)
        1.0
        """
        if self.low > self.high:
            return 0.0
        upper = 1.0 if self.high == math.inf else law.below(self.high, inclusive=self.high_inclusive)
        lower = 0.0 if self.low == -math.inf else law.below(self.low, inclusive=not self.low_inclusive)
        total = upper - lower
        for left_out in self.excluded:
            if self._contains(left_out):
                total -= law.below(left_out, inclusive=True) - law.below(left_out, inclusive=False)
        return max(total, 0.0)

    def _contains(self, point: float) -> bool:
        above = point > self.low or (point == self.low and self.low_inclusive)
        return above and (point < self.high or (point == self.high and self.high_inclusive))


@dataclass(frozen=True, slots=True)
class Direction:
    """A linear form without its constant, by quantity; the first coefficient is 1."""

    coefficients: dict[Key, float]

    @classmethod
    def of(cls, form: Linear) -> Direction:
        """The direction of a form that is not constant."""
        scale = next(iter(form.coefficients.values()))
        return cls({key: coefficient / scale for key, coefficient in form.coefficients.items()})

    def factor(self, form: Linear) -> float | None:
        """By what a form is a multiple of this one; None if it is none."""
        key = next(iter(self.coefficients))
        factor = form.coefficients.get(key)
        if factor is None or form.coefficients.keys() != self.coefficients.keys():
            return None
        alike = (math.isclose(c, factor * self.coefficients[k], rel_tol=1e-12) for k, c in form.coefficients.items())
        return factor if all(alike) else None


def flipped(operator: str, factor: float) -> str:
    """An operator as it reads after both sides are divided by a factor."""
    return operator if factor > 0 else FLIPPED[operator]
