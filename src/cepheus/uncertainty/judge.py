"""The probability that constraints hold, all of them at once.

Constraints over the same uncertain quantities are one joint event; those that share none are independent. So the
constraints fall into groups, and the probability is the product over these. A group over one linear form is an interval
of it, perhaps without some points, with a closed form, and so is each stretch of it where conditions are joined by
``or``; a discrete group is enumerated; a group that one quantity ties together is integrated over that quantity by
adaptive quadrature; the rest is simulated.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeVar

import numpy as np

from cepheus.core.calculus import DEFAULT_CALCULUS, Calculus
from cepheus.core.extras import missing
from cepheus.core.values import ValueType
from cepheus.rules.evaluate import Test, tester
from cepheus.rules.expressions import (
    FLIPPED,
    AttributeRef,
    Call,
    Comparison,
    Constant,
    Constraint,
    Parameter,
    joined_by,
)
from cepheus.rules.functions import AND, OR, takes_undefined
from cepheus.rules.walk import transform, walk
from cepheus.uncertainty.closed_forms import normal_density, settled
from cepheus.uncertainty.laws import Component, Foreign, Law, Spreads, added, point
from cepheus.uncertainty.quantities import Drawn, Key, Linear, Quantity, UncertainSituation, linear, links, quantities
from cepheus.uncertainty.stretches import stretches
from cepheus.uncertainty.verdict import CERTAIN, IMPOSSIBLE, Estimate, Method, conjunction

_MOST_OUTCOMES = 4096


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a group of constraints is worth; ``constraints`` are those of the group, in order."""

    constraints: tuple[Constraint, ...]
    estimate: Estimate


def judge(
    constraints: Iterable[tuple[Constraint, UncertainSituation]], calculus: Calculus = DEFAULT_CALCULUS
) -> tuple[Judgement, ...]:
    """The groups that constraints fall into and what each is worth; their product is the joint probability."""
    pending = [_Pending.of(constraint, situation) for constraint, situation in constraints]
    found = []
    for group in _connected(pending, lambda member: member.quantities):
        estimate = _group(group, calculus)
        found.append(
            Judgement(
                tuple(member.constraint for member in group if not member.is_settled()) or (group[0].constraint,),
                Estimate(settled(estimate.probability), estimate.method, estimate.standard_error),
            )
        )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Condition:
    """``form operator 0``."""

    form: Linear
    operator: str


@dataclass(frozen=True, slots=True, eq=False)
class _Pending:
    """A constraint with the quantities it reads, and the linear conditions it comes to, None if it has other parts."""

    constraint: Constraint
    situation: UncertainSituation
    quantities: dict[Key, Quantity]
    conditions: tuple[_Condition, ...] | None

    @classmethod
    def of(cls, constraint: Constraint, situation: UncertainSituation) -> _Pending:
        read = quantities(_without_presence(constraint), situation)
        conditions: list[_Condition] | None = None
        if read and isinstance(constraint, Comparison):
            conditions = []
            for left, operator, right in links(constraint):
                one, other = linear(left, situation), linear(right, situation)
                if one is None or other is None:
                    conditions = None
                    break
                conditions.append(_Condition(one.plus(other, -1.0), operator))
        return cls(constraint, situation, read, None if conditions is None else tuple(conditions))

    def is_settled(self) -> bool:
        """Whether the constraint compares a quantity with itself, as one that binds a parameter does."""
        return self.conditions is not None and not any(condition.form.coefficients for condition in self.conditions)

    def test(self) -> Test:
        return tester(self.constraint)


def _without_presence(constraint: Constraint) -> Constraint:
    """A constraint without its ``is null`` of attributes: that a number is off by an error does not make it doubtful
    whether it is there.
    """

    def change(node: Constraint) -> Constraint:
        match node:
            case Call(function="is null", arguments=(AttributeRef(),)):
                return Constant(False, ValueType.BOOL)
            case _:
                return node

    found: Constraint = transform(constraint, change)
    return found


T = TypeVar("T")


def _connected(items: Sequence[T], keys_of: Callable[[T], Collection[Key]]) -> list[list[T]]:
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


def _group(group: Sequence[_Pending], calculus: Calculus) -> Estimate:
    read = {key: quantity for member in group for key, quantity in member.quantities.items()}
    if any(_lacks(member) for member in group):
        return IMPOSSIBLE
    if not read:
        return CERTAIN if all(member.test()(member.situation) for member in group) else IMPOSSIBLE
    if all(member.conditions is not None for member in group):
        conditions = [condition for member in group for condition in member.conditions or ()]
        laws = {key: quantity.law for key, quantity in read.items()}
        estimate = _linear_group(conditions, laws)
        if estimate is not None:
            return estimate
    exact = _enumerated(group, read) or _along_a_form(group, read) or _either(group, calculus)
    return exact or _simulated(group, read, calculus)


def _either(group: Sequence[_Pending], calculus: Calculus) -> Estimate | None:
    """Judge an ``or`` whose sides share no quantity: none of them holds with the product of what each lacks."""
    if len(group) > 1:
        return None
    situation = group[0].situation
    sides = [_Pending.of(side, situation) for side in joined_by(OR, group[0].constraint)]
    apart = _connected(sides, lambda side: side.quantities)
    if len(apart) == 1:
        return None
    estimates = []
    for together in apart:
        parts = tuple(side.constraint for side in together)
        whole = joined_by(AND, parts[0]) if len(parts) == 1 else (Call(OR, parts),)
        estimates.append(
            conjunction([found.estimate for found in judge([(one, situation) for one in whole], calculus)])
        )
    missing_all = math.prod(1.0 - estimate.probability for estimate in estimates)
    error = math.sqrt(math.fsum(estimate.standard_error**2 for estimate in estimates))
    worst = max(estimates, key=lambda estimate: estimate.standard_error)
    return Estimate(1.0 - missing_all, worst.method, error)


def _along_a_form(group: Sequence[_Pending], read: dict[Key, Quantity]) -> Estimate | None:
    """Judge conditions joined by ``or`` and the like over one linear form, stretch by stretch of it."""
    found = stretches((member.constraint, member.situation) for member in group)
    if found is None:
        return None
    laws = [read[key].law.moved(coefficient, 0.0) for key, coefficient in found.direction.items()]
    estimates = []
    for part in found.parts:
        estimate = _of_form(Interval(part.low, part.low_inclusive, part.high, part.high_inclusive), laws)
        if estimate is None:
            return None
        estimates.append(estimate)
    if not estimates:
        return IMPOSSIBLE
    total = min(1.0, math.fsum(estimate.probability for estimate in estimates))
    return Estimate(total, estimates[0].method, math.fsum(estimate.standard_error for estimate in estimates))


def _lacks(member: _Pending) -> bool:
    """Whether a constraint needs a value that is not there."""
    nodes = list(walk(member.constraint))
    if any(isinstance(node, Call) and takes_undefined(node.function) for node in nodes):
        return False
    situation = member.situation
    return any(
        (isinstance(node, AttributeRef) and situation.attribute(node.event, node.name) is None)
        or (isinstance(node, Parameter) and situation.computed(node.name) is None)
        for node in nodes
    )


def _linear_group(conditions: Sequence[_Condition], laws: dict[Key, Law]) -> Estimate | None:
    """Judge linear conditions; None if neither a closed form nor quadrature applies."""
    varying = [condition for condition in conditions if condition.form.coefficients]
    for condition in conditions:
        if not condition.form.coefficients and not _holds(condition.form.constant, condition.operator):
            return IMPOSSIBLE
    if not varying:
        return CERTAIN
    estimates = []
    for part in _connected(varying, _keys):
        estimate = _parallel(part, laws) or _conditioned(part, laws)
        if estimate is None:
            return None
        estimates.append(estimate)
    return conjunction(estimates)


def _keys(condition: _Condition) -> Collection[Key]:
    return condition.form.coefficients


def _holds(number: float, operator: str) -> bool:
    interval = Interval()
    interval.restrict(operator, 0.0)
    return interval.probability(point(number)) == 1.0


def _parallel(conditions: Sequence[_Condition], laws: dict[Key, Law]) -> Estimate | None:
    """Judge conditions on one and the same linear form, as an interval of it; None if there are several forms."""
    first = conditions[0].form.coefficients
    key, scale = next(iter(first.items()))
    direction = {other: coefficient / scale for other, coefficient in first.items()}
    interval = Interval()
    for condition in conditions:
        coefficients = condition.form.coefficients
        factor = coefficients.get(key)
        if factor is None or coefficients.keys() != direction.keys():
            return None
        if any(not math.isclose(c, factor * direction[k], rel_tol=1e-12) for k, c in coefficients.items()):
            return None
        interval.restrict(
            condition.operator if factor > 0 else FLIPPED[condition.operator], -condition.form.constant / factor
        )
    return _of_form(interval, [laws[other].moved(c, 0.0) for other, c in direction.items()])


def _of_form(interval: Interval, laws: Sequence[Law]) -> Estimate | None:
    """The probability that a sum of independent values lies in an interval; None if it has to be simulated."""
    closed = [law for law in laws if isinstance(law, Spreads)]
    rest = [law for law in laws if not isinstance(law, Spreads)]
    if not rest:
        total = added(closed)
        return None if total is None else Estimate(interval.probability(total), Method.CLOSED)
    if len(rest) > 1:
        return None
    if not closed:
        return Estimate(interval.probability(rest[0]), Method.CLOSED)
    total = added(closed)
    if total is None or not isinstance(rest[0], Foreign):
        return None
    return expectation(rest[0], lambda value: interval.probability(total.moved(1.0, value)))


def _conditioned(conditions: Sequence[_Condition], laws: dict[Key, Law]) -> Estimate | None:
    """Judge conditions that fall apart into intervals once the quantity most of them share is known."""
    counts: dict[Key, int] = {}
    for condition in conditions:
        for key in condition.form.coefficients:
            counts[key] = counts.get(key, 0) + 1
    pivot = max(counts, key=lambda key: counts[key])

    def given(value: float) -> list[_Condition]:
        return [_with(condition, pivot, value) for condition in conditions]

    trial = [condition for condition in given(0.5) if condition.form.coefficients]
    if any(_parallel(part, laws) is None for part in _connected(trial, _keys)):
        return None

    def probability(value: float) -> float:
        estimate = _linear_group(given(value), laws)
        assert estimate is not None
        return estimate.probability

    return expectation(laws[pivot], probability)


def _with(condition: _Condition, key: Key, value: float) -> _Condition:
    coefficients = dict(condition.form.coefficients)
    factor = coefficients.pop(key, 0.0)
    return _Condition(Linear(condition.form.constant + factor * value, coefficients), condition.operator)


def _enumerated(group: Sequence[_Pending], read: dict[Key, Quantity]) -> Estimate | None:
    """Judge constraints over discrete quantities by going through all outcomes."""
    laws = [quantity.law for quantity in read.values()]
    discrete = [law for law in laws if isinstance(law, Spreads) and law.is_discrete]
    if len(discrete) < len(laws) or math.prod(len(law.components) for law in discrete) > _MOST_OUTCOMES:
        return None
    tests = [(member.test(), Drawn(member.situation, {})) for member in group]
    weights = []
    for outcome in product(*(law.components for law in discrete)):
        values = {key: component.mean for key, component in zip(read, outcome, strict=True)}
        for _, drawn in tests:
            drawn.values = values
        if all(test(drawn) for test, drawn in tests):
            weights.append(math.prod(component.weight for component in outcome))
    return Estimate(math.fsum(weights), Method.ENUMERATED)


def _simulated(group: Sequence[_Pending], read: dict[Key, Quantity], calculus: Calculus) -> Estimate:
    """Judge constraints by drawing values for the quantities, from the seed that the settings name."""
    generator = np.random.default_rng(calculus.seed)
    columns = [quantity.law.draw(generator, calculus.draws).tolist() for quantity in read.values()]
    tests = [(member.test(), Drawn(member.situation, {})) for member in group]
    held = 0
    for row in zip(*columns, strict=True):
        values = dict(zip(read, row, strict=True))
        for _, drawn in tests:
            drawn.values = values
        held += all(test(drawn) for test, drawn in tests)
    share = held / calculus.draws
    return Estimate(share, Method.SIMULATED, math.sqrt(share * (1.0 - share) / calculus.draws))


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


_TOLERANCE = 1e-11
_REACH = 8.5


def expectation(law: Law, function: Callable[[float], float]) -> Estimate | None:
    """The expected value of a function between 0 and 1; None for a law that is not integrated over."""
    if isinstance(law, Foreign):
        total, error = _integrate(lambda share: function(law.quantile(share)), 1e-12, 1.0 - 1e-12)
        return Estimate(total, Method.QUADRATURE, error)
    if not isinstance(law, Spreads) or any(_is_compound(component) for component in law.components):
        return None
    total, error = 0.0, 0.0
    for component in law.components:
        value, inaccuracy = _over(component, function)
        total += component.weight * value
        error += component.weight * inaccuracy
    return Estimate(total, Method.CLOSED if law.is_discrete else Method.QUADRATURE, error)


def _is_compound(component: Component) -> bool:
    return len(component.widths) > 1 or (bool(component.widths) and component.variance > 0.0)


def _over(component: Component, function: Callable[[float], float]) -> tuple[float, float]:
    mean = component.mean
    if component.is_point:
        return function(mean), 0.0
    if component.widths:
        (width,) = component.widths
        total, error = _integrate(function, mean - width, mean + width)
        return total / (2.0 * width), error / (2.0 * width)
    sd = math.sqrt(component.variance)
    return _integrate(lambda z: normal_density(z) * function(mean + sd * z), -_REACH, _REACH)


def _integrate(function: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    try:
        from scipy.integrate import IntegrationWarning, quad
    except ModuleNotFoundError:
        raise missing("scipy", "a constraint that ties several uncertain values together") from None

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IntegrationWarning)  # kinks cost digits, which the error estimate tells
        total, error = quad(function, low, high, epsabs=_TOLERANCE, epsrel=_TOLERANCE, limit=200)
    return float(total), float(error)
