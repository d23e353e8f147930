"""Lists of values that a variable gets one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cepheus.rules.check.intervals.variables import bound_after, bound_variables
from cepheus.rules.expressions import Call, Parameter
from cepheus.rules.functions import LIST_OF
from cepheus.rules.interval.model import (
    AnyOf,
    Condition,
    Deduction,
    Element,
    IntervalPattern,
    IntervalRule,
    Member,
    NoneOf,
    Where,
)
from cepheus.rules.walk import transform


def with_elements(rule: IntervalRule) -> IntervalRule:
    """Give a rule in which ``X in [Y, 2]`` gives X each element of a list, where X has no value before.

    Before: a ``Member``, which compares X with Y and with 2. After: an ``Element`` of the list of both.
    """

    def change(node: object) -> object:
        if isinstance(node, Where):
            return replace(node, conditions=_changed(node.conditions, bound_variables(node.pattern)))
        return node

    pattern: IntervalPattern = transform(rule.pattern, change)
    return replace(rule, pattern=pattern)


def with_elements_in_body(rule: Deduction) -> Deduction:
    """Give a rule of the background knowledge that is changed in the same way."""
    return replace(rule, body=_changed(rule.body, frozenset()))


def _changed(conditions: Sequence[Condition], bound: frozenset[str]) -> tuple[Condition, ...]:
    found: list[Condition] = []
    for condition in conditions:
        changed: Condition = condition
        match condition:
            case Member(value=Parameter(name=name) as value, options=options, span=span):
                if condition.gives is None and name not in bound:
                    changed = Element(value, Call(LIST_OF, options, span), span)
            case AnyOf(alternatives=alternatives):
                ways = (replace(each, conditions=_changed(each.conditions, bound)) for each in alternatives)
                changed = replace(condition, alternatives=tuple(ways))
            case NoneOf(conditions=inner):
                changed = replace(condition, conditions=_changed(inner, bound))
            case _:
                pass
        found.append(changed)
        bound = bound_after(changed, bound)
    return tuple(found)
