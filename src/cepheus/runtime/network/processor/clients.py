"""What a processor knows of its clients: sources and sinks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cepheus.core.event import Event
from cepheus.core.time import MIN_TIME
from cepheus.rules.expressions import EventPattern
from cepheus.runtime.network.protocol.interests import any_matches


@dataclass(slots=True)
class Source:
    """A source at this processor: how far it has published, and since when its events count in each tree.

    While a tree is being settled, it is ``holding``: the source must not be overtaken.
    """

    client: str
    types: frozenset[str]
    through: int = MIN_TIME
    latest: int = MIN_TIME
    since: dict[str, int] = field(default_factory=dict)
    holding: set[str] = field(default_factory=set)
    counter: int = 0
    admitted: bool = False
    gone: bool = False

    def is_settled(self, tree: str, ticked: int) -> bool:
        """Tell whether all that the source publishes counts in a tree, until the tree or the source changes."""
        return self.since[tree] <= max(self.through, ticked) and tree not in self.holding

    def bound(self, tree: str, ticked: int) -> int:
        """Give the time up to which everything that the source has for a tree is known, ticks included."""
        since = self.since[tree]
        if tree in self.holding:
            return since
        return max(since - 1, self.through, ticked)


@dataclass(slots=True)
class Sink:
    """A sink at this processor and what it has subscribed to."""

    client: str
    patterns: list[EventPattern] = field(default_factory=list)
    types: set[str] = field(default_factory=set)

    def wanted(self, events: Sequence[Event]) -> tuple[Event, ...]:
        """Give the events that the sink has subscribed to."""
        return tuple([event for event in events if event.type in self.types and any_matches(self.patterns, event)])
