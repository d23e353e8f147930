"""Split by time: slices that overlap by as much as rules look back."""

from __future__ import annotations

from cepheus.core.time import MAX_TIME
from cepheus.plan.split.component import Component
from cepheus.plan.split.margins import Demand, margins
from cepheus.plan.split.model import BySlice, Reason, WayName
from cepheus.rules.reach import reach


def find_slices(component: Component) -> BySlice | Reason:
    """Find how long events of each type matter; the reason if there is no end to it.

    What a rule has consumed depends on all that came before, so a rule with ``consuming`` is not sliced.
    """
    demands = []
    for member in component.members:
        rule = member.resolved
        if rule.consuming:
            return Reason(WayName.SLICES, rule.name, "what it consumes depends on all events before")
        back = reach(rule)
        needs = tuple((site.type, back) for site in member.sites)
        demands.append(Demand(rule.name, rule.terminator.type, needs, rule.composite.name if member.feeds else None))
    found = margins(demands)
    if isinstance(found, str):
        return Reason(WayName.SLICES, found, "events feed back into the rule, so windows add up without end")
    return BySlice({name: int(min(length, MAX_TIME)) for name, length in found.items()})
