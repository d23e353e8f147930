"""Bands: constraints over uncertain attributes, as linear forms that must lie in an interval.

Before: ``$a-10 < km < $a+10`` where both kilometres are uncertain. After: ``a - km`` between -10 and 10, whose
probability has a closed form. Constraints that share an uncertain attribute must come to one form; anything else is
left to the reference engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cepheus.core.values import ValueType
from cepheus.kernel.instructions import Instruction
from cepheus.plan.pattern.code import LoweredConstraint
from cepheus.plan.pattern.constructs import Construct, unsupported
from cepheus.rules.evaluate import evaluator
from cepheus.rules.expressions import (
    Arithmetic,
    AttributeRef,
    Comparison,
    Constant,
    Constraint,
    Expression,
    Negative,
    Parameter,
)
from cepheus.rules.walk import walk

Reference = AttributeRef | Parameter
"""What may be uncertain: an attribute, or a computed value."""

IsUncertain = Callable[[Reference], bool]

_FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Bound:
    """``form operator bound``: a constant, or the expression that gives it."""

    operator: str
    constant: float | None
    expression: Expression


@dataclass(frozen=True, slots=True)
class Band:
    """A linear form of uncertain references and the bounds it must keep; ``constraints`` are what it came from."""

    terms: tuple[tuple[Reference, float], ...]
    bounds: tuple[Bound, ...]
    constraints: tuple[Constraint, ...]


@dataclass(frozen=True, slots=True)
class LoweredTerm:
    """A term of a form: the coefficient, and where value and error are found: in a row, or (position -1) a result.

    ``source`` is the event type and the attribute of a term in a row.
    """

    coefficient: float
    position: int
    slot: int
    error_slot: int
    is_integer: bool
    source: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class LoweredBound:
    """A bound: the operator, and a constant or the instructions that give it."""

    operator: str
    constant: float
    code: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class LoweredBand:
    """A band ready to be written as rows; ``certain`` decides it where nothing of it is uncertain."""

    terms: tuple[LoweredTerm, ...]
    bounds: tuple[LoweredBound, ...]
    certain: tuple[LoweredConstraint, ...]


def binds(constraint: Constraint) -> bool:
    """Whether a constraint compares an attribute with itself, as one that binds a parameter does: that it is there."""
    match constraint:
        case Comparison(operands=(AttributeRef() as left, right), operators=(("=" | "<=" | ">="),)):
            return left == right
        case _:
            return False


def blurred(node: object, uncertain: IsUncertain) -> bool:
    """Whether an expression or constraint reads anything uncertain."""
    return any(isinstance(child, AttributeRef | Parameter) and uncertain(child) for child in walk(node))


def bands(constraints: Sequence[Constraint], uncertain: IsUncertain) -> list[Band]:
    """Put constraints that read something uncertain into bands, those that share an uncertain reference together.

    One that compares an expression with itself is left out.
    """
    groups: list[tuple[set[Reference], list[_Condition], list[Constraint]]] = []
    for constraint in constraints:
        conditions = [c for c in _conditions(constraint, uncertain) if c is not None]
        if not conditions:
            continue
        keys = {reference for condition in conditions for reference in condition.terms}
        members, sources = conditions, [constraint]
        apart = []
        for other_keys, others, other_sources in groups:
            if keys & other_keys:
                keys |= other_keys
                members, sources = others + members, other_sources + sources
            else:
                apart.append((other_keys, others, other_sources))
        groups = [*apart, (keys, members, sources)]
    return [_band(members, sources) for _, members, sources in groups]


def linear_terms(expression: Expression, uncertain: IsUncertain) -> dict[Reference, float] | None:
    """The coefficients of the uncertain references in a linear expression, None if it is not linear in them."""
    split = _split(expression, uncertain)
    return None if split is None else split[0]


@dataclass(frozen=True, slots=True)
class _Condition:
    """``sum of coefficient * reference operator bound``."""

    terms: dict[Reference, float]
    operator: str
    bound: Expression


def _conditions(constraint: Constraint, uncertain: IsUncertain) -> Iterable[_Condition | None]:
    if not isinstance(constraint, Comparison):
        raise unsupported(Construct.UNCERTAIN_FORMS, constraint.span)
    for left, operator, right in zip(constraint.operands, constraint.operators, constraint.operands[1:], strict=False):
        one, other = _split(left, uncertain), _split(right, uncertain)
        if one is None or other is None:
            raise unsupported(Construct.UNCERTAIN_FORMS, constraint.span)
        terms = _plus(one[0], other[0], -1.0)
        if terms:
            yield _Condition(terms, operator, Arithmetic("-", other[1], one[1]))
        elif not (left == right and operator in ("=", "<=", ">=")):
            raise unsupported(Construct.UNCERTAIN_FORMS, constraint.span)
        else:
            yield None


def _band(conditions: Sequence[_Condition], constraints: Sequence[Constraint]) -> Band:
    first = conditions[0].terms
    pivot, scale = next(iter(first.items()))
    direction = {reference: coefficient / scale for reference, coefficient in first.items()}
    bounds = []
    for condition in conditions:
        factor = condition.terms.get(pivot)
        if factor is None or condition.terms.keys() != direction.keys():
            raise unsupported(Construct.UNCERTAIN_FORMS, constraints[0].span)
        if any(not math.isclose(c, factor * direction[r], rel_tol=1e-12) for r, c in condition.terms.items()):
            raise unsupported(Construct.UNCERTAIN_FORMS, constraints[0].span)
        operator = condition.operator if factor > 0 else _FLIPPED[condition.operator]
        bound = condition.bound
        if factor != 1.0:
            bound = Arithmetic("/", bound, Constant(factor, ValueType.FLOAT))
        bounds.append(Bound(operator, _constant(bound), bound))
    if sum(bound.operator == "!=" for bound in bounds) > 1:
        raise unsupported(Construct.UNCERTAIN_FORMS, constraints[0].span)
    return Band(tuple(direction.items()), tuple(bounds), tuple(constraints))


def _constant(expression: Expression) -> float | None:
    if any(isinstance(node, AttributeRef | Parameter) for node in walk(expression)):
        return None
    value = evaluator(expression)(_NOWHERE)
    return float(value) if isinstance(value, int | float) else None


class _Nowhere:
    """A situation without events."""

    def attribute(self, event: str | None, name: str) -> None:
        raise AssertionError(f"{event}.{name} is not constant")

    def computed(self, name: str) -> None:
        raise AssertionError(f"${name} is not constant")


_NOWHERE = _Nowhere()
_ZERO = Constant(0, ValueType.INT)


def _split(expression: Expression, uncertain: IsUncertain) -> tuple[dict[Reference, float], Expression] | None:
    """Split off the uncertain terms of a linear expression and what is left of it without them."""
    if not blurred(expression, uncertain):
        return {}, expression
    match expression:
        case AttributeRef() | Parameter():
            return {expression: 1.0}, _ZERO
        case Negative(operand=operand):
            inner = _split(operand, uncertain)
            return None if inner is None else (_plus({}, inner[0], -1.0), Negative(inner[1]))
        case Arithmetic(operator="+" | "-" as operator, left=left, right=right):
            one, other = _split(left, uncertain), _split(right, uncertain)
            if one is None or other is None:
                return None
            return _plus(one[0], other[0], 1.0 if operator == "+" else -1.0), Arithmetic(operator, one[1], other[1])
        case Arithmetic(operator="*", left=left, right=right):
            scale = _constant(right)
            if scale is not None:
                return _scaled(_split(left, uncertain), scale, expression, left_is_form=True)
            scale = _constant(left)
            return None if scale is None else _scaled(_split(right, uncertain), scale, expression, left_is_form=False)
        case Arithmetic(operator="/", left=left, right=right):
            scale = _constant(right)
            if scale is None or scale == 0.0:
                return None
            return _scaled(_split(left, uncertain), 1.0 / scale, expression, left_is_form=True)
        case _:
            return None


def _scaled(
    split: tuple[dict[Reference, float], Expression] | None, scale: float, whole: Arithmetic, *, left_is_form: bool
) -> tuple[dict[Reference, float], Expression] | None:
    if split is None or scale == 0.0:
        return None
    terms, rest = split
    left, right = (rest, whole.right) if left_is_form else (whole.left, rest)
    return _plus({}, terms, scale), Arithmetic(whole.operator, left, right)


def _plus(one: dict[Reference, float], other: dict[Reference, float], factor: float) -> dict[Reference, float]:
    total = dict(one)
    for reference, coefficient in other.items():
        value = total.get(reference, 0.0) + factor * coefficient
        if value == 0.0:
            total.pop(reference, None)
        else:
            total[reference] = value
    return total
