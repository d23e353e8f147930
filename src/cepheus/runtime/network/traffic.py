"""Counts what goes over the links: event notifications as the papers count them, and separately what they leave out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from cepheus.runtime.network.messages import (
    Awaken,
    Deliver,
    Events,
    Message,
    Pulled,
)

_HEADER = 24
_EVENT = 32
_VALUE = 8
_ENTRY = 16
_PROMISE = 12


def size_of(message: Message) -> int:
    """Give the size of a message in bytes, as a compact binary encoding would have it."""
    match message:
        case Events(entries=entries, through=through):
            size = _HEADER + _PROMISE * len(through)
            for entry in entries:
                size += _ENTRY + _EVENT + _VALUE * len(entry.event.attributes)
            return size
        case Deliver(events=events):
            return _HEADER + sum(_EVENT + _VALUE * len(event.attributes) for event in events)
        case Awaken(values=values):
            return _HEADER + 24 + 16 * len(values)
        case _:
            return _HEADER + 8


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

    def count(self, name: str, to: str, message: Message, size: int) -> None:
        """Count one message."""
        match message:
            case Events(entries=entries) if entries:
                self.notifications[name, to] += len(entries)
                self.bytes[name, to] += size
            case Events():
                self.heartbeats += 1
                self.other_bytes += size
            case Deliver(events=events):
                self.notifications[name, to] += len(events)
                self.bytes[name, to] += size
            case Awaken():
                self.awakenings += 1
                self.bytes[name, to] += size
            case Pulled():
                self.heartbeats += 1
                self.other_bytes += size
            case _:
                self.control += 1
                self.other_bytes += size

    @property
    def total(self) -> int:
        """All notifications and awakenings: the papers' traffic."""
        return self.notifications.total() + self.awakenings
