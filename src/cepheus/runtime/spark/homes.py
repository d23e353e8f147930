"""Composite events that know whether they are at home: how a shard tells its own from those of its neighbours.

Where events go to several shards, several shards find the same composite event. It belongs to the shard that owns the
event at the beginning of its chain of terminators. A hidden attribute carries that along:

Before::

    define Fire() from Smoke(km = $k) and last Temp($k - 10 < km < $k + 10) within 5 min from Smoke

After: the same, with ``where #home = Smoke.#home``.
"""

from __future__ import annotations

from dataclasses import replace

from cepheus.core.schema import HOME_ATTRIBUTE, Attribute, EventType, Schema
from cepheus.core.values import ValueType
from cepheus.rules.expressions import AttributeRef
from cepheus.rules.model import Assignment, Rule

HOME_COLUMN = (HOME_ATTRIBUTE, ValueType.BOOL)


def with_home(rule: Rule) -> Rule:
    """Give a rule whose composite events are at home where their terminators are."""
    value = AttributeRef(rule.pattern.terminator.name, HOME_ATTRIBUTE)
    return replace(
        rule,
        composite=_with_attribute(rule.composite),
        assignments=(*rule.assignments, Assignment(HOME_ATTRIBUTE, value)),
    )


def with_homes(schema: Schema) -> Schema:
    """Give event types that have the hidden attribute."""
    return Schema((_with_attribute(event_type) for event_type in schema.values()), closed=schema.closed)


def _with_attribute(event_type: EventType) -> EventType:
    return replace(event_type, attributes=(*event_type.attributes, Attribute(HOME_ATTRIBUTE, ValueType.BOOL)))
