"""Small streams with a known rule behind their labels."""

from __future__ import annotations

import numpy as np

import cepheus
from cepheus.core.batch import EventBatch
from cepheus.core.event import Event
from cepheus.core.time import SECOND


def stream(seed: int, length: int = 6_000, types: int = 4) -> list[Event]:
    """Events of a few types, one a second on average, with a number, a whole number and a text."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.exponential(1.0, length) * SECOND).astype(np.int64) + np.arange(length)
    kinds, values, rooms = rng.integers(0, types, length), rng.uniform(0, 100, length), rng.integers(0, 5, length)
    return [
        Event("ABCDEFGHIJ"[kind], int(time), {"value": round(float(value), 2), "room": f"r{room}", "level": int(level)})
        for kind, time, value, room, level in zip(kinds, times, values, rooms, rng.integers(0, 8, length), strict=True)
    ]


def labelled(events: list[Event], rule: str, late: int = 0) -> list[Event]:
    """The events and, for everything that a rule finds in them, a label."""
    found = cepheus.compile(rule).detect(events).to_events()
    once = {event.time: event for event in found}
    labels = [Event("Incident", time + late, event.attributes) for time, event in once.items()]
    return sorted([*events, *labels], key=lambda event: event.time)


def batch(events: list[Event]) -> EventBatch:
    """Events in columns."""
    return EventBatch.from_events(events)
