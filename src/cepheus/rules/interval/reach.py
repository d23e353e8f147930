"""How far back an interval rule can look."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import inf
from typing import assert_never

from cepheus.core.time import MAX_TIME
from cepheus.rules.interval.model import (
    Absence,
    Aggregated,
    Atom,
    Choice,
    Combined,
    ConsumptionPolicy,
    Either,
    IntervalPattern,
    IntervalRule,
    Lasting,
    Operator,
    TimePoint,
    Where,
)
from cepheus.rules.interval.operators import OPERATORS, Ends, Length, operators_that_end
from cepheus.rules.walk import walk

LEFT_ENDS_FIRST = operators_that_end(Ends.LEFT_FIRST)
"""Operators whose right operand always arrives after the left one, so that it never waits."""

END_TOGETHER = operators_that_end(Ends.TOGETHER)
"""Operators whose operands end at the same time, so that neither waits for longer than an instant."""


def reach(pattern: IntervalPattern) -> float:
    """The longest time, in microseconds, between the end of a match and an event that it depends on.

    Infinite if no window sets a limit. The time of an event is that of its end.
    """
    windows = (node.window for node in walk(pattern) if isinstance(node, Aggregated))
    # what an aggregate looks at lies before the end of some event of the match
    return _back(pattern) + max(windows, default=0)


def chooses(rule: IntervalRule) -> bool:
    """Whether the policy of a rule chooses among partners, so that what it finds depends on all it has found."""
    restricted = rule.policy is not None and rule.policy.choice is not Choice.UNRESTRICTED
    return restricted and any(isinstance(node, Combined | Absence) for node in walk(rule.pattern))


def effective_policy(rule: IntervalRule) -> ConsumptionPolicy:
    """The policy of a rule, without ``onesided`` where no operator has matches that wait on both sides.

    There it changes nothing, and without it windows limit what is kept.
    """
    policy = rule.policy or ConsumptionPolicy()
    operators = {node.operator for node in walk(rule.pattern) if isinstance(node, Combined)}
    return policy if operators - set(LEFT_ENDS_FIRST) else replace(policy, onesided=False)


def reach_below(operator: Operator, policy: ConsumptionPolicy, reach: int) -> int:
    """How long what waits at an operator, and below it, can be of use, from what the windows around it say.

    Under ``onesided`` what has left a window still keeps others from waiting where both operands wait.
    """
    return MAX_TIME if policy.onesided and operator not in LEFT_ENDS_FIRST else reach


def points(rules: Iterable[object]) -> tuple[int, ...]:
    """The points in time, in order and in microseconds since the epoch, that are part of interval rules."""
    patterns = (rule.pattern for rule in rules if isinstance(rule, IntervalRule))
    nodes = (node for pattern in patterns for node in walk(pattern))
    return tuple(sorted({node.time for node in nodes if isinstance(node, TimePoint)}))


def _back(pattern: IntervalPattern) -> float:
    """How long before the end of a match the events of it may end."""
    match pattern:
        case Atom() | TimePoint():
            return 0
        case Lasting(pattern=inner, duration=duration):
            return min(_back(inner), duration)
        case Where(pattern=inner):
            return _back(inner)
        case Either(left=left, right=right):
            return max(_back(left), _back(right))
        case Combined(operator=operator, left=left, right=right) if operator in END_TOGETHER:
            return min(_length(pattern), max(_back(left), _back(right)))
        case Combined() | Absence():
            return _length(pattern)
        case _:
            assert_never(pattern)


def _length(pattern: IntervalPattern) -> float:
    """How long a match can be; an event can be of any length."""
    match pattern:
        case TimePoint():
            return 0
        case Lasting(pattern=inner, duration=duration):
            return min(_length(inner), duration)
        case Where(pattern=inner):
            return _length(inner)
        case Either(left=left, right=right):
            return max(_length(left), _length(right))
        case Combined(operator=operator, left=left, right=right):
            return _length_of_both(OPERATORS[operator].length, _length(left), _length(right))
        case Atom() | Absence():
            return inf
        case _:
            assert_never(pattern)


def _length_of_both(length: Length, left: float, right: float) -> float:
    match length:
        case Length.SAME:
            return min(left, right)
        case Length.SIDE_BY_SIDE:
            return left + right
        case Length.AS_RIGHT:
            return right
        case Length.OPEN:
            return inf
        case _:
            assert_never(length)
