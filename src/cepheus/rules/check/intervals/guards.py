"""Background knowledge in the place of an event: a guard."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from cepheus.rules.check.findings import Findings
from cepheus.rules.interval.model import (
    Aggregated,
    Atom,
    Combined,
    IntervalPattern,
    IntervalRule,
    Known,
    Operator,
    Where,
)
from cepheus.rules.walk import transform, walk


def with_guards(rule: IntervalRule, relations: Collection[str], findings: Findings) -> IntervalRule:
    """Give a rule in which ``p AND known(..)`` has become ``p WHERE known(..)``.

    Before: ``alarm(X) <- temp(X, V) AND located(X, hall).``
    After: ``alarm(X) <- temp(X, V) WHERE located(X, hall).``
    """

    def change(node: object) -> object:
        if isinstance(node, Combined) and node.operator is Operator.AND:
            for guard, pattern in ((node.right, node.left), (node.left, node.right)):
                if _is_guard(guard, relations) and not _is_guard(pattern, relations):
                    assert isinstance(guard, Atom)
                    return Where(pattern, (Known(guard.type, guard.arguments, guard.span),), node.span)
        return node

    pattern: IntervalPattern = transform(rule.pattern, change)
    aggregated = {id(node.atom) for node in walk(pattern) if isinstance(node, Aggregated)}
    for node in walk(pattern):
        if isinstance(node, Atom) and _is_guard(node, relations):
            hint = "join it to an event with AND, or ask for it in WHERE"
            if id(node) in aggregated:
                hint = "an aggregate is taken over events; if that is an event, give one of the two another name"
            findings.error("guard", f"'{node.type}' is background knowledge, which has no time", node.span, hint)
    return replace(rule, pattern=pattern)


def _is_guard(pattern: IntervalPattern, relations: Collection[str]) -> bool:
    return isinstance(pattern, Atom) and pattern.type in relations
