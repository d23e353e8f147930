"""When a later goal stands in for earlier ones: nothing that is still to come could prefer one of those to it.

Take ``a(X, P) SEQ b(X, Q) WHERE P < Q`` under the policy recent, and two ``a`` with the same X. If every ``b`` to come
is an instant, it starts after both of them, and it takes the later one if that satisfies the condition. So the earlier
one is of use only if its P is smaller. A ``b`` that started before the later ``a`` would need the earlier one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from cepheus.rules.expressions import Arithmetic, Comparison, Constant, Constraint, Expression, Negative, Parameter
from cepheus.rules.interval.model import (
    Atom,
    Choice,
    Combined,
    Condition,
    ConsumptionPolicy,
    Holds,
    Lasting,
    Operator,
    Where,
)
from cepheus.rules.walk import walk


@dataclass(frozen=True, slots=True)
class SidesCompared:
    """A comparison of something of the left operand with something of the right one.

    What the left one has must be at most what the right one has; ``downward`` it must be at least that.
    """

    condition: Holds
    left: Expression
    right: Expression
    downward: bool


def sides_compared(
    conditions: Sequence[Condition], left: Collection[str], right: Collection[str]
) -> SidesCompared | None:
    """The first comparison of the one operand with the other, by the names of their variables, if there is one."""
    for condition in conditions:
        if isinstance(condition, Holds) and isinstance(condition.constraint, Comparison):
            for smaller, larger in _orders(condition.constraint):
                for one, other, downward in ((smaller, larger, False), (larger, smaller, True)):
                    if _reads_only(one, left) and _reads_only(other, right):
                        return SidesCompared(condition, one, other, downward)
    return None


def awaited_instants(
    node: Combined,
    conditions: Sequence[Condition],
    policy: ConsumptionPolicy,
    left: Collection[str],
    right: Collection[str],
) -> str | None:
    """The type of events that an operator waits for, if later goals stand in for earlier ones while they are instants.

    ``conditions`` stand directly around the operator, ``left`` and ``right`` are the variables of its operands. Each
    condition must ask something of what is to come alone, except for one that compares the two sides.
    """
    recent = policy.choice is Choice.RECENT and not (policy.once or policy.renewing or policy.onesided)
    awaited = node.right
    while isinstance(awaited, Lasting | Where):
        awaited = awaited.pattern
    if not recent or node.operator is not Operator.SEQ or not isinstance(awaited, Atom):
        return None
    fresh = set(right) - set(left)
    compared = sides_compared(conditions, left, right)
    for condition in conditions:
        if not isinstance(condition, Holds):
            return None
        constraint = condition.constraint
        chained = isinstance(constraint, Comparison) and len(constraint.operators) > 1
        the_one = compared is not None and condition is compared.condition and not chained
        the_one = the_one and compared is not None and _names(compared.right) <= fresh
        if not the_one and not _names(constraint) <= fresh:
            return None
    return awaited.type


def _orders(comparison: Comparison) -> Iterator[tuple[Expression, Expression]]:
    """Yield what a comparison puts in order, the smaller or equal before the larger."""
    for place, operator in enumerate(comparison.operators):
        left, right = comparison.operands[place : place + 2]
        if operator in ("<", "<="):
            yield left, right
        elif operator in (">", ">="):
            yield right, left


def _reads_only(expression: Expression, names: Collection[str]) -> bool:
    """Whether an expression is arithmetic of variables that have these names."""
    used = _names(expression)
    plain = all(isinstance(node, Constant | Parameter | Arithmetic | Negative) for node in walk(expression))
    return plain and bool(used) and used <= set(names)


def _names(expression: Constraint) -> set[str]:
    return {node.name for node in walk(expression) if isinstance(node, Parameter)}
