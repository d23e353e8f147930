"""Which attributes may have an error, as far as rules and data tell beforehand."""

from __future__ import annotations

from cepheus.rules.check import Checked
from cepheus.rules.expressions import AttributeRef, Expression, Parameter
from cepheus.rules.resolve import ResolvedRule, resolve
from cepheus.rules.walk import walk

AttributeKey = tuple[str, str]
"""An event type and an attribute of it."""


def uncertain_attributes(
    checked: Checked, given: frozenset[AttributeKey] = frozenset(), *, doubtful: bool = False
) -> frozenset[AttributeKey]:
    """Find the attributes that may have an error: those given, those declared, and what is computed from them.

    An aggregate may have one as soon as there is anything uncertain, be it only whether an event has happened at all,
    which ``doubtful`` says of events from outside: how many members it has is uncertain then.

    >>> from cepheus.language.tesla import parse
    >>> from cepheus.rules.check import check
    >>> rules = "error Temp.value ~ N(0, 1) define Hot(temp: double, n: int) from Temp() where temp = Temp.value, n = 1"
    >>> sorted(uncertain_attributes(check(parse(rules))))
    [('Hot', 'temp'), ('Temp', 'value')]
    """
    found = set(given)
    found |= {(t.name, a.name) for t in checked.inputs.values() for a in t.attributes if a.error is not None}
    if not found and not doubtful:
        return frozenset()
    resolved = [resolve(rule) for rule in checked.rules.rules]
    while True:
        made = {
            (rule.composite.name, assignment.attribute)
            for rule in resolved
            for assignment in rule.assignments
            if _is_number(checked, rule.composite.name, assignment.attribute)
            and _is_uncertain(assignment.value, rule, found)
        }
        if made <= found:
            return frozenset(found)
        found |= made


def _is_number(checked: Checked, event_type: str, name: str) -> bool:
    attribute = checked.composites[event_type].attribute(name)
    return attribute is None or attribute.type is None or attribute.type.is_numeric


def _is_uncertain(value: Expression, rule: ResolvedRule, found: set[AttributeKey]) -> bool:
    types = {position.name: position.type for position in rule.positions}
    for node in walk(value):
        if isinstance(node, Parameter):  # what is left of parameters stands for aggregates
            return True
        if isinstance(node, AttributeRef) and node.event is not None and (types[node.event], node.name) in found:
            return True
    return False
