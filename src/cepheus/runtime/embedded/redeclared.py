"""What rules at work count on: event types keep the attributes that these have taken for good."""

from __future__ import annotations

from cepheus.core.errors import RuleError
from cepheus.core.schema import Attribute, EventType, Schema
from cepheus.engine.assembly.mixed import types_read
from cepheus.rules.model import RuleSet


def refuse_redeclared(rules: RuleSet, before: Schema, after: Schema) -> None:
    """Refuse further rules with which event types would have other attributes than rules at work have read.

    Rules over intervals have taken the names of attributes by their order, and those of TESLA the types of what rules
    over intervals make. ``before`` and ``after`` are the types without and with the further rules.
    """
    heads = {rule.head.name for rule in rules.interval_rules}
    positional = dict.fromkeys(name for rule in rules.interval_rules for name in sorted(types_read(rule))) | (
        dict.fromkeys(sorted(heads))
    )
    for name in positional:
        if name in before and name in after:
            _refuse_other_names(before[name], after[name])
    for name in dict.fromkeys(name for rule in rules.rules for name in sorted(types_read(rule))):
        if name in heads and name in before and name in after:
            _refuse_other_types(before[name], after[name])


def _refuse_other_names(one: EventType, other: EventType) -> None:
    if _names(one) == _names(other):
        return
    written = ", ".join(f"{a.name}: {'..' if b.type is None else b.type.value}" for a, b in _pairs(one, other))
    raise RuleError.of(
        "type-conflict",
        f"rules at work know the attributes of '{one.name}' as {_listed(one)}, and here they are {_listed(other)}",
        span=other.span,
        hint=f"declare it with the names that it has: event {one.name}({written}); or withdraw those rules first",
    )


def _refuse_other_types(one: EventType, other: EventType) -> None:
    for first, second in _pairs(one, other):
        if first.type is not None and second.type is not None and first.type is not second.type:
            raise RuleError.of(
                "type-conflict",
                f"{one.name}.{first.name} is {first.type.value} to rules at work, "
                f"and with these it would be {second.type.value}",
                span=other.span,
                hint="withdraw the rules that read it first, or start a new session for all of them",
            )


def _names(event_type: EventType) -> list[str]:
    return [attribute.name for attribute in event_type.attributes]


def _listed(event_type: EventType) -> str:
    return ", ".join(_names(event_type)) or "none"


def _pairs(one: EventType, other: EventType) -> list[tuple[Attribute, Attribute]]:
    return list(zip(one.attributes, other.attributes, strict=False))
