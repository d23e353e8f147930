"""Split by key: an attribute per event type that is equal for all events that a rule brings together."""

from __future__ import annotations

from cepheus.core.values import ValueType
from cepheus.plan.split.component import Component
from cepheus.plan.split.model import Reason, WayName
from cepheus.plan.split.search import Attributes, Obstacle, search
from cepheus.plan.split.ties import Distance
from cepheus.plan.split.uncertain import AttributeKey
from cepheus.rules.check import Checked


def find_keys(
    component: Component, given: Attributes, uncertain: frozenset[AttributeKey] = frozenset()
) -> Attributes | Reason:
    """Find the key of every event type of a component, those given included; the reason if there is none.

    ``Smoke(area = $a) and last Temp(area = $a) within 5 min from Smoke`` has the key ``area`` for both. A key must be
    certain: what is ``uncertain`` may differ from what was observed.
    """

    def equal(event_type: str, attribute: str, distance: Distance) -> bool:
        return distance.equal and (event_type, attribute) not in uncertain

    obstacle = Obstacle()
    found = search(component, given, equal, "an equality", obstacle)
    return found if found is not None else Reason(WayName.KEYS, obstacle.rule, obstacle.words)


def as_doubles(checked: Checked, attributes: Attributes) -> bool:
    """Whether doubles are among the keys, so that integers must be compared as doubles, too."""
    for event_type, name in attributes.items():
        known = checked.inputs.get(event_type) or checked.composites[event_type]
        attribute = known.attribute(name)
        if attribute is not None and attribute.type is ValueType.FLOAT:
            return True
    return False
