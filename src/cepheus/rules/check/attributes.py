"""Do the attributes, functions and aggregates that a rule uses exist, and are they used in the right shape?"""

from __future__ import annotations

from cepheus.core.errors import did_you_mean
from cepheus.core.schema import RESERVED, TIME_ATTRIBUTE
from cepheus.core.values import ValueType
from cepheus.rules.aggregates import AGGREGATES, aggregate_named, aggregate_names
from cepheus.rules.check.calls import check_call, place_of_name
from cepheus.rules.check.findings import Findings
from cepheus.rules.check.known import KnownTypes
from cepheus.rules.check.scope import RuleScope
from cepheus.rules.check.wording import find_name, text_of
from cepheus.rules.expressions import Aggregate, AttributeRef, Call

_NULLS = ("null", "none", "nil")
_NULL_HINT = "coalesce(x, -1) = -1 asks whether x is undefined, x = x whether it is not"

LISTS_HINT = "let a rule of ETALIS take the list apart, and read what that makes"
"""What to do about a list where rules of TESLA read."""


def attributes(scope: RuleScope, known: KnownTypes, findings: Findings) -> None:
    """Check every attribute, function call and aggregate of a rule.

    Found here: attributes that a known type does not have, names of an event's own fields used as attributes, functions
    that do not exist or get the wrong number of arguments, aggregates without a value or in a place where none can be.
    """
    for site in scope.sites:
        for node in site.nodes:
            if isinstance(node, AttributeRef):
                type_name = scope.type_of(node, site.own)
                if type_name is not None:
                    _attribute(node, type_name, known, findings)
            elif isinstance(node, Call):
                check_call(node, findings)
    for attribute in scope.rule.composite.attributes:
        if attribute.type is ValueType.LIST:
            message = f"'{attribute.name}' is a list, which rules of TESLA cannot make"
            findings.error("list-attribute", message, attribute.span, "let a rule of ETALIS make the event")
    for aggregate, _ in scope.aggregates:
        _aggregate(aggregate, findings)
    for aggregate in scope.misplaced:
        findings.error(
            "misplaced-aggregate",
            f"{text_of(aggregate)} cannot stand here: an aggregate stands by itself in the pattern, or in where",
            aggregate.span,
            f"write '$x = {text_of(aggregate)}' as a part of the pattern of its own, and use $x here",
        )


def _attribute(node: AttributeRef, type_name: str, known: KnownTypes, findings: Findings) -> None:
    found = known.attributes(type_name)
    if found is None:
        if node.name.lower() in _NULLS and node.event is None:
            message = f"'{node.name}' is read as an attribute of '{type_name}', as there is no such value"
            findings.warning("null", message, node.span, _NULL_HINT)
        if node.name in RESERVED and node.name != TIME_ATTRIBUTE:
            span = find_name(node.span, node.name, last=True)
            findings.error(
                "reserved-name",
                f"'{node.name}' is a field of the event itself, which rules do not read",
                span,
                f"of these fields, only 'time' can be read; give the data's attribute another name than '{node.name}'",
            )
    elif node.name not in found:
        hint = did_you_mean(node.name, found) or f"{type_name} has the attributes {', '.join(found)}"
        hint = _NULL_HINT if node.name.lower() in _NULLS else hint
        span = find_name(node.span, node.name, last=True)
        findings.error("unknown-attribute", f"'{type_name}' has no attribute '{node.name}'", span, hint)
    else:
        event_type = known.get(type_name)
        attribute = None if event_type is None else event_type.attribute(node.name)
        if attribute is not None and attribute.type is ValueType.LIST:
            span = find_name(node.span, node.name, last=True)
            message = f"{type_name}.{node.name} is a list, which rules of TESLA cannot read"
            findings.error("list-attribute", message, span, LISTS_HINT)


def _aggregate(node: Aggregate, findings: Findings) -> None:
    names = aggregate_names()
    if node.function not in names:
        hint = did_you_mean(node.function, names) or f"there are {', '.join(names)}"
        findings.error("unknown-aggregate", f"there is no aggregate '{node.function}'", place_of_name(node), hint)
    elif node.value is None and aggregate_named(node.function).needs_value:
        without = " and ".join(record.name for record in AGGREGATES.values() if not record.needs_value)
        findings.error(
            "aggregate-value",
            f"{node.function} needs a value of the events it runs over; only {without} goes without",
            node.span,
            f"write '{node.function}({node.event.type}(..).attribute ..)'",
        )
