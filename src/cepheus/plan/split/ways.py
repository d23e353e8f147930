"""The ways to split rules that hang together: by key, by band of a number, by slice of time.

Where rules feed one another, distances and windows add up along the way: ``margins`` computes how far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from cepheus.core.time import MAX_TIME
from cepheus.core.values import ValueType
from cepheus.plan.split.component import AttributeKey, Component, IntervalMember, Member
from cepheus.plan.split.links import Distance, at_site, at_terminator, learn
from cepheus.plan.split.model import ByBand, BySlice, Reason, WayName
from cepheus.plan.split.search import Attributes, Obstacle, carries, search
from cepheus.rules.check import Checked
from cepheus.rules.interval.reach import chooses, points
from cepheus.rules.interval.reach import reach as reach_of_intervals
from cepheus.rules.resolved import reach, since_start


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
    if component.row_members:
        words = "its rows follow one another, whatever lies between their numbers"
        return Reason(WayName.BANDS, str(component.row_members[0].rule.name), words)
    timed = next((member.resolved.name for member in component.members if member.resolved.timer is not None), None)
    if timed is not None:
        return Reason(WayName.BANDS, timed, "its moments would come in every shard that an event is sent to")
    obstacle = Obstacle()
    found = search(component, {}, close, "a bounded distance", obstacle)
    if found is None:
        return Reason(WayName.BANDS, obstacle.rule, obstacle.words)
    reach = margins([_demand_of_band(member, found) for member in component.members])
    if isinstance(reach, str):
        return Reason(WayName.BANDS, reach, "events feed back into the rule, so distances add up without end")
    return ByBand(found, reach)


def _is_number(checked: Checked, event_type: str, name: str) -> bool:
    known = checked.inputs.get(event_type) or checked.composites[event_type]
    attribute = known.attribute(name)
    return attribute is not None and attribute.type in (ValueType.INT, ValueType.FLOAT)


def _demand_of_band(member: Member, attributes: Attributes) -> Demand:
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


def find_slices(component: Component) -> BySlice | Reason:
    """Find how long events of each type matter; the reason if there is no end to it.

    What a rule has consumed depends on all that came before, so a rule with ``consuming`` is not sliced; nor is an
    interval rule whose policy chooses.
    """
    if component.row_members:
        words = "where a match begins depends on all rows before"
        return Reason(WayName.SLICES, str(component.row_members[0].rule.name), words)
    demands: list[Demand] = []
    for member in component.members:
        rule = member.resolved
        if rule.timer is not None:
            return Reason(WayName.SLICES, rule.name, "its moments lie in other slices than the events they follow")
        if rule.consuming:
            return Reason(WayName.SLICES, rule.name, "what it consumes depends on all events before")
        if since_start(rule):
            return Reason(WayName.SLICES, rule.name, "what it aggregates since the start depends on all events before")
        back = reach(rule)
        needs = tuple((site.type, back) for site in member.sites)
        demands.append(Demand(rule.name, rule.terminator.type, needs, rule.composite.name if member.feeds else None))
    for interval_member in component.interval_members:
        demand = _demand_of_slice(interval_member)
        if isinstance(demand, Reason):
            return demand
        demands.append(demand)
    found = margins(demands)
    if isinstance(found, str):
        return Reason(WayName.SLICES, found, "events feed back into the rule, so windows add up without end")
    return BySlice({name: int(min(length, MAX_TIME)) for name, length in found.items()})


def _demand_of_slice(member: IntervalMember) -> Demand | Reason:
    """What an interval rule asks for; any of its events may complete it, so what it makes is in their place."""
    rule = member.rule
    name = str(rule.name)
    if chooses(rule):
        return Reason(WayName.SLICES, name, "what its policy chooses depends on all events before")
    if points([rule]):
        return Reason(WayName.SLICES, name, "a point in time happens in every slice")
    back = reach_of_intervals(rule.pattern)
    if back == inf:
        return Reason(WayName.SLICES, name, "no window says how far back it looks")
    return Demand(name, rule.head.name, tuple((event_type, back) for event_type in sorted(member.types)))


@dataclass(frozen=True, slots=True)
class Demand:
    """What one rule asks for, per event type: how far from its terminator it looks for events of that type.

    ``makes`` is the composite type, if rules look at it; ``shift`` is how far it may lie from the terminator.
    """

    rule: str
    terminator: str
    needs: tuple[tuple[str, float], ...]
    makes: str | None = None
    shift: float = 0


def margins(demands: Sequence[Demand]) -> dict[str, float] | str:
    """Compute how far from home the events of each type matter; the name of a rule if that has no end.

    >>> margins([Demand("Fire", "Smoke", (("Temp", 10),), "Fire"), Demand("Alarm", "Alert", (("Fire", 5),))])
    {'Smoke': 5, 'Temp': 15, 'Alert': 0, 'Fire': 5}
    """
    found: dict[str, float] = {}
    for demand in demands:
        for name in (demand.terminator, *(name for name, _ in demand.needs)):
            found[name] = 0
    # A composite event belongs to the shard of its first terminator, from which it may have been shifted away.
    for passes in range(len(demands) + 1):
        moved = [d for d in demands if d.makes and _raise(found, d.makes, found[d.terminator] + d.shift)]
        if not moved:
            break
        if passes == len(demands):
            return moved[0].rule
    for _ in range(2 * len(demands) + 2):
        grown = ""
        for demand in demands:
            if demand.makes and _raise(found, demand.terminator, found[demand.makes] + demand.shift):
                grown = demand.rule
            for name, distance in demand.needs:
                if _raise(found, name, found[demand.terminator] + distance):
                    grown = demand.rule
        if not grown:
            return found
    return grown


def _raise(found: dict[str, float], name: str, distance: float) -> bool:
    if found.get(name, 0) >= distance:
        return False
    found[name] = distance
    return True
