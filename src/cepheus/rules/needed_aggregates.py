"""Which aggregates a rule cannot do without: where one of these has no value, it does not fire."""

from __future__ import annotations

from cepheus.rules.expressions import Call, Comparison, Constraint, Expression, Parameter
from cepheus.rules.functions import takes_undefined
from cepheus.rules.resolved import Choose, Compute, Require, ResolvedRule
from cepheus.rules.walk import children


def needed_aggregates(rule: ResolvedRule) -> tuple[str, ...]:
    """The aggregates without which the rule does not fire: not those that only optional attributes read.

    What ``coalesce``, ``is null`` or one side of an ``or`` reads the rule can do without, too.
    """
    computed = [step.name for step in rule.steps if isinstance(step, Compute)]
    needed: set[str] = set()
    for step in rule.steps:
        match step:
            case Require(constraint=constraint):
                needed |= needed_to_hold(constraint)
            case Choose(constraints=constraints):
                needed |= {name for constraint in constraints for name in needed_to_hold(constraint)}
            case Compute():
                pass
    for assignment in rule.assignments:
        declared = rule.composite.attribute(assignment.attribute)
        if declared is not None and not declared.optional:
            needed |= needed_to_be_defined(assignment.value)
    return tuple(name for name in computed if name in needed)


def needed_to_hold(condition: Constraint) -> frozenset[str]:
    """The computed values without which a condition cannot be true."""
    match condition:
        case Call(function="and", arguments=parts):
            return frozenset().union(*map(needed_to_hold, parts))
        case Call(function="or", arguments=parts):
            return frozenset.intersection(*map(needed_to_hold, parts))
        case Call(function="not", arguments=(Call(function="is null", arguments=(value,)),)):
            return needed_to_be_defined(value)
        case Comparison(operands=operands):
            return frozenset().union(*map(needed_to_be_defined, operands))
        case _:
            return needed_to_be_defined(condition)


def needed_to_be_defined(expression: Expression) -> frozenset[str]:
    """The computed values without which an expression has no value."""
    match expression:
        case Parameter(name=name):
            return frozenset((name,))
        case Call(function="in", arguments=(value, *_)):
            return needed_to_be_defined(value)
        case Comparison(links=links):  # false, not undefined, as soon as one link is
            return frozenset.intersection(
                *(needed_to_be_defined(left) | needed_to_be_defined(right) for left, _, right in links)
            )
        case Call(function="if", arguments=(_, *values)):
            return frozenset.intersection(*map(needed_to_be_defined, values))
        case Call(function="is null"):
            return frozenset()
        case Call(function=function, arguments=parts) if takes_undefined(function):
            return frozenset.intersection(*map(needed_to_be_defined, parts))
        case _:
            return frozenset().union(*map(needed_to_be_defined, children(expression)))
