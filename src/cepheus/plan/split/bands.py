"""Split by band: a number per event type that is never far apart for events that a rule brings together."""

from __future__ import annotations

from cepheus.core.values import ValueType
from cepheus.plan.split.component import Component, Member
from cepheus.plan.split.margins import Demand, margins
from cepheus.plan.split.model import ByBand, Reason, WayName
from cepheus.plan.split.search import Attributes, Obstacle, carries, search
from cepheus.plan.split.ties import Distance, at_site, at_terminator, learn
from cepheus.plan.split.uncertain import AttributeKey
from cepheus.rules.check import Checked


def find_bands(
    component: Component, checked: Checked, uncertain: frozenset[AttributeKey] = frozenset()
) -> ByBand | Reason:
    """Find the number that every event type of a component goes by, and how far its events reach; else the reason.

    ``Smoke(km = $k) and last Temp($k - 10 < km < $k + 10) within 5 min from Smoke`` goes by ``km``, and a Temp
    matters up to 10 away. The number must be certain: what is ``uncertain`` may be farther off than observed.
    """

    def close(event_type: str, attribute: str, distance: Distance) -> bool:
        certain = (event_type, attribute) not in uncertain
        return certain and distance.is_bounded and _is_number(checked, event_type, attribute)

    if component.interval_members:
        words = "events are tied by equal values, not by distances"
        return Reason(WayName.BANDS, str(component.interval_members[0].rule.name), words)
    obstacle = Obstacle()
    found = search(component, {}, close, "a bounded distance", obstacle)
    if found is None:
        return Reason(WayName.BANDS, obstacle.rule, obstacle.words)
    reach = margins([_demand(member, found) for member in component.members])
    if isinstance(reach, str):
        return Reason(WayName.BANDS, reach, "events feed back into the rule, so distances add up without end")
    return ByBand(found, reach)


def _is_number(checked: Checked, event_type: str, name: str) -> bool:
    known = checked.inputs.get(event_type) or checked.composites[event_type]
    attribute = known.attribute(name)
    return attribute is not None and attribute.type in (ValueType.INT, ValueType.FLOAT)


def _demand(member: Member, attributes: Attributes) -> Demand:
    rule = member.resolved
    attribute = attributes[rule.terminator.type]
    known = at_terminator(rule, attribute)
    needs: list[tuple[str, float]] = []
    for site in member.sites:
        needs.append((site.type, at_site(site, known)[attributes[site.type]].size))
        learn(site, known)
    shift = 0.0
    if member.feeds:
        shift = carries(member, attribute, known)[attributes[rule.composite.name]].size
    return Demand(rule.name, rule.terminator.type, tuple(needs), rule.composite.name if member.feeds else None, shift)
