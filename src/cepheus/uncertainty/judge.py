"""The probability that constraints hold, all of them at once.

Constraints over the same uncertain quantities are one joint event; those that share none are independent. So the
constraints fall into groups, and the probability is the product over these. A group over one linear form is an interval
of it, perhaps without some points, with a closed form, and so is each stretch of it where conditions are joined by
``or``; a discrete group is enumerated; a group that one quantity ties together is integrated over that quantity by
adaptive quadrature; the rest is simulated.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from cepheus.core.calculus import DEFAULT_CALCULUS, Calculus
from cepheus.rules.expressions import AttributeRef, Call, Constraint, Parameter, joined_by
from cepheus.rules.functions import AND, OR, takes_undefined
from cepheus.rules.walk import walk
from cepheus.uncertainty.closed_forms import settled
from cepheus.uncertainty.conditioning import conditioned
from cepheus.uncertainty.forms import Direction, Interval, LinearCondition, Pending, connected, flipped
from cepheus.uncertainty.laws import Floats, Foreign, Law, Spreads, added, point
from cepheus.uncertainty.quadrature import mean_of
from cepheus.uncertainty.quantities import Drawn, Key, Quantity, UncertainSituation
from cepheus.uncertainty.stretches import stretches
from cepheus.uncertainty.trials import Condition
from cepheus.uncertainty.verdict import CERTAIN, IMPOSSIBLE, Estimate, Method, conjunction
from cepheus.uncertainty.worlds import simulated

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
    pending = [Pending.of(constraint, situation) for constraint, situation in constraints]
    found = []
    for group in connected(pending, lambda member: member.quantities):
        estimate = _group(group, calculus)
        found.append(
            Judgement(
                tuple(member.constraint for member in group if not member.is_settled()) or (group[0].constraint,),
                Estimate(settled(estimate.probability), estimate.method, estimate.standard_error),
            )
        )
    return tuple(found)


def _group(group: Sequence[Pending], calculus: Calculus) -> Estimate:
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
    if exact is not None:
        return exact
    parts = [Condition(member.constraint, member.situation) for member in group]
    return conditioned(parts, {}) or simulated(parts, {}, calculus)


def _either(group: Sequence[Pending], calculus: Calculus) -> Estimate | None:
    """Judge an ``or`` whose sides share no quantity: none of them holds with the product of what each lacks."""
    if len(group) > 1:
        return None
    situation = group[0].situation
    sides = [Pending.of(side, situation) for side in joined_by(OR, group[0].constraint)]
    apart = connected(sides, lambda side: side.quantities)
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


def _along_a_form(group: Sequence[Pending], read: dict[Key, Quantity]) -> Estimate | None:
    """Judge conditions joined by ``or`` and the like over one linear form, stretch by stretch of it."""
    found = stretches((member.constraint, member.situation) for member in group)
    if found is None:
        return None
    laws = [read[key].law.moved(coefficient, 0.0) for key, coefficient in found.direction.items()]
    estimates = []
    for part in found.parts:
        estimate = of_form(Interval(part.low, part.low_inclusive, part.high, part.high_inclusive), laws)
        if estimate is None:
            return None
        estimates.append(estimate)
    if not estimates:
        return IMPOSSIBLE
    total = min(1.0, math.fsum(estimate.probability for estimate in estimates))
    return Estimate(total, estimates[0].method, math.fsum(estimate.standard_error for estimate in estimates))


def _lacks(member: Pending) -> bool:
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


def _linear_group(conditions: Sequence[LinearCondition], laws: dict[Key, Law]) -> Estimate | None:
    """Judge linear conditions; None if neither a closed form nor quadrature applies."""
    varying = [condition for condition in conditions if condition.form.coefficients]
    for condition in conditions:
        if not condition.form.coefficients and not _holds(condition.form.constant, condition.operator):
            return IMPOSSIBLE
    if not varying:
        return CERTAIN
    estimates = []
    for part in connected(varying, _keys):
        estimate = _parallel(part, laws)
        if estimate is None:
            return None
        estimates.append(estimate)
    return conjunction(estimates)


def _keys(condition: LinearCondition) -> Collection[Key]:
    return condition.form.coefficients


def _holds(number: float, operator: str) -> bool:
    interval = Interval()
    interval.restrict(operator, 0.0)
    return interval.probability(point(number)) == 1.0


def _parallel(conditions: Sequence[LinearCondition], laws: dict[Key, Law]) -> Estimate | None:
    """Judge conditions on one and the same linear form, as an interval of it; None if there are several forms."""
    direction = Direction.of(conditions[0].form)
    interval = Interval()
    for condition in conditions:
        factor = direction.factor(condition.form)
        if factor is None:
            return None
        interval.restrict(flipped(condition.operator, factor), -condition.form.constant / factor)
    return of_form(interval, [laws[other].moved(c, 0.0) for other, c in direction.coefficients.items()])


def of_form(interval: Interval, laws: Sequence[Law]) -> Estimate | None:
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
    if not rest[0].has_density:
        return None

    def function(values: Floats) -> Floats:
        return np.array([interval.probability(total.moved(1.0, value)) for value in values.tolist()])

    found, error = mean_of(rest[0], function, ())
    return Estimate(found, Method.QUADRATURE, error)


def _enumerated(group: Sequence[Pending], read: dict[Key, Quantity]) -> Estimate | None:
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
