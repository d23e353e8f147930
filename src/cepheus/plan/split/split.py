"""From checked rules to a split: the best way that keeps the answer exact, and the reasons where there is no better."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from cepheus.core.schema import EventType
from cepheus.plan.split.component import (
    AttributeKey,
    Component,
    components,
    reads,
    reads_in_order,
    reads_of_rows,
)
from cepheus.plan.split.model import ByBand, ByKey, BySlice, Reason, RuleGroup, Split, Way, WayName, Whole
from cepheus.plan.split.search import Attributes
from cepheus.plan.split.ways import as_doubles, find_bands, find_keys, find_slices
from cepheus.rules.check import Checked
from cepheus.rules.resolve import resolve

T = TypeVar("T")
ALL_WAYS = frozenset(WayName)


def split(
    checked: Checked,
    *,
    ways: Collection[WayName] = ALL_WAYS,
    shards: int = 1,
    uncertain: frozenset[AttributeKey] = frozenset(),
) -> Split:
    """Split a rule set.

    ``ways`` are those that the host allows; what cannot be split in any of them stays whole, in at most ``shards``
    groups. Components that go by the same keys form one group, so that events travel once; so do all that go by time.
    Attributes that are ``uncertain`` are neither keys nor bands.
    """
    types = {**checked.composites, **checked.inputs}
    read = reads(resolve(rule) for rule in checked.rules.rules)
    read |= reads_in_order(checked.rules.interval_rules, types)
    for name, columns in reads_of_rows(checked.rules.row_rules).items():
        read[name] = read.get(name, frozenset()) | columns
    inputs = tuple(_pruned(checked.inputs[name], read[name]) for name in read if name in checked.inputs)
    drafts: list[_Draft] = []
    for component in components(checked.rules.all_rules, types):
        _place(component, checked, ways, shards, uncertain, drafts)
    names = frozenset(event_type.name for event_type in inputs)
    return Split(tuple(draft.group(checked, names) for draft in drafts), inputs)


def _pruned(event_type: EventType, read: frozenset[str]) -> EventType:
    return EventType(event_type.name, tuple(a for a in event_type.attributes if a.name in read))


@dataclass(slots=True)
class _Draft:
    """A group that may still take in components; ``keys`` are set if it goes by keys."""

    components: list[Component]
    way: Way
    keys: Attributes = field(default_factory=dict)
    reasons: list[Reason] = field(default_factory=list)

    def group(self, checked: Checked, inputs: frozenset[str]) -> RuleGroup:
        rules = tuple(rule for component in self.components for rule in component.rules)
        looked = inputs.intersection(name for component in self.components for name in component.types)
        way = self.way
        match way:
            case ByKey():
                way = ByKey(_only(self.keys, looked), as_doubles(checked, self.keys))
            case ByBand(attributes=attributes, margins=margins):
                way = ByBand(_only(attributes, looked), _only(margins, looked))
            case BySlice(reaches=reaches):
                way = BySlice(_only(reaches, looked))
            case Whole():
                pass
        return RuleGroup(rules, tuple(sorted(looked)), way, tuple(self.reasons))


def _only(found: Mapping[str, T], names: frozenset[str]) -> dict[str, T]:
    return {name: value for name, value in found.items() if name in names}


def _place(
    component: Component,
    checked: Checked,
    ways: Collection[WayName],
    shards: int,
    uncertain: frozenset[AttributeKey],
    drafts: list[_Draft],
) -> None:
    """Put a component into the group where it fits best, or into one of its own."""
    reasons: list[Reason] = []
    if WayName.KEYS in ways:
        for draft in drafts:
            if isinstance(draft.way, ByKey):
                shared = find_keys(component, draft.keys, uncertain)
                if not isinstance(shared, Reason):
                    draft.components.append(component)
                    draft.keys = shared
                    return
        keys = find_keys(component, {}, uncertain)
        if not isinstance(keys, Reason):
            drafts.append(_Draft([component], ByKey({}), keys))
            return
        reasons.append(keys)
    if WayName.BANDS in ways:
        bands = find_bands(component, checked, uncertain)
        if not isinstance(bands, Reason):
            drafts.append(_Draft([component], bands, reasons=reasons))
            return
        reasons.append(bands)
    if WayName.SLICES in ways:
        slices = find_slices(component)
        if not isinstance(slices, Reason):
            _join_slices(component, slices, reasons, drafts)
            return
        reasons.append(slices)
    _join_whole(component, reasons, shards, drafts)


def _join_slices(component: Component, way: BySlice, reasons: list[Reason], drafts: list[_Draft]) -> None:
    """Let a component share the slices of others; an event matters as long as it matters to any of them."""
    for draft in drafts:
        if isinstance(draft.way, BySlice):
            names = draft.way.reaches.keys() | way.reaches.keys()
            reaches = {name: max(draft.way.reaches.get(name, 0), way.reaches.get(name, 0)) for name in names}
            draft.components.append(component)
            draft.way = BySlice(reaches)
            draft.reasons += reasons
            return
    drafts.append(_Draft([component], way, reasons=reasons))


def _join_whole(component: Component, reasons: list[Reason], shards: int, drafts: list[_Draft]) -> None:
    """Put a component into a shard of its own, or once there are enough of them the one with the fewest rules."""
    whole = [draft for draft in drafts if isinstance(draft.way, Whole)]
    if len(whole) < shards:
        drafts.append(_Draft([component], Whole(), reasons=reasons))
        return
    smallest = min(whole, key=lambda draft: sum(len(c.rules) for c in draft.components))
    smallest.components.append(component)
    smallest.reasons += reasons
