"""Counts what goes over the links: event notifications as the papers count them, and separately what they leave out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from cepheus.core.event import Event
from cepheus.runtime.network.protocol.messages import (
    Awaken,
    Deliver,
    Entry,
    Events,
    Message,
    Pulled,
)

_HEADER = 24
_EVENT = 32
_VALUE = 8
_ENTRY = 16
_PROMISE = 12
_SHORT = _HEADER + 8


def _size(events: Sequence[Event]) -> int:
    """Give the size of a message of events in bytes, as a compact binary encoding would have it."""
    size = _HEADER + _EVENT * len(events)
    for event in events:
        size += _VALUE * len(event.attributes)
    return size


def _size_of_entries(entries: Sequence[Entry]) -> int:
    """Do the same for events that say where they come from and which trees they are for."""
    size = _HEADER + (_ENTRY + _EVENT) * len(entries)
    for entry in entries:
        size += _VALUE * len(entry.event.attributes)
    return size


@dataclass(slots=True)
class Traffic:
    """Counts by direction of a link.

    ``notifications`` are events, primitive or composite, each time they cross a link; ``awakenings`` the questions of
    pull mode; ``heartbeats`` messages that only carry promises, or say that a question has been answered; ``control``
    all others. ``bytes`` are of notifications and awakenings, ``other_bytes`` of the rest.
    """

    notifications: Counter[tuple[str, str]] = field(default_factory=Counter)
    bytes: Counter[tuple[str, str]] = field(default_factory=Counter)
    awakenings: int = 0
    heartbeats: int = 0
    control: int = 0
    other_bytes: int = 0

    def count(self, name: str, to: str, message: Message) -> int:
        """Count one message; give its size in bytes."""
        match message:
            case Events(entries=entries, through=through):
                if entries:
                    size = _size_of_entries(entries) + _PROMISE * len(through)
                    return self._count_events(name, to, len(entries), size)
                self.heartbeats += 1
                size = _HEADER + _PROMISE * len(through)
            case Deliver(events=events):
                return self._count_events(name, to, len(events), _size(events))
            case Awaken(values=values):
                self.awakenings += 1
                size = _HEADER + 24 + 16 * len(values)
                self.bytes[name, to] += size
                return size
            case Pulled():
                self.heartbeats += 1
                size = _SHORT
            case _:
                self.control += 1
                size = _SHORT
        self.other_bytes += size
        return size

    def _count_events(self, name: str, to: str, count: int, size: int) -> int:
        link = name, to
        self.notifications[link] += count
        self.bytes[link] += size
        return size

    @property
    def total(self) -> int:
        """All notifications and awakenings: the papers' traffic."""
        return self.notifications.total() + self.awakenings
