"""Split by time: slices that overlap by as much as rules look back."""

from __future__ import annotations

from math import inf

from cepheus.core.time import MAX_TIME
from cepheus.plan.split.component import Component, IntervalMember
from cepheus.plan.split.margins import Demand, margins
from cepheus.plan.split.model import BySlice, Reason, WayName
from cepheus.rules.interval.reach import chooses, points
from cepheus.rules.interval.reach import reach as reach_of_intervals
from cepheus.rules.reach import reach


def find_slices(component: Component) -> BySlice | Reason:
    """Find how long events of each type matter; the reason if there is no end to it.

    What a rule has consumed depends on all that came before, so a rule with ``consuming`` is not sliced; nor is an
    interval rule whose policy chooses.
    """
    demands: list[Demand] = []
    for member in component.members:
        rule = member.resolved
        if rule.consuming:
            return Reason(WayName.SLICES, rule.name, "what it consumes depends on all events before")
        back = reach(rule)
        needs = tuple((site.type, back) for site in member.sites)
        demands.append(Demand(rule.name, rule.terminator.type, needs, rule.composite.name if member.feeds else None))
    for interval_member in component.interval_members:
        demand = _demand(interval_member)
        if isinstance(demand, Reason):
            return demand
        demands.append(demand)
    found = margins(demands)
    if isinstance(found, str):
        return Reason(WayName.SLICES, found, "events feed back into the rule, so windows add up without end")
    return BySlice({name: int(min(length, MAX_TIME)) for name, length in found.items()})


def _demand(member: IntervalMember) -> Demand | Reason:
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
