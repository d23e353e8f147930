"""Events fed one at a time, each timed by itself."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns

from cepheus.core.event import Event
from cepheus.engine.interface import Engine


def feed_singly(engine: Engine, events: Sequence[Event]) -> tuple[list[int], int]:
    """Feed events one by one; give the nanoseconds that each took and the number of composite events.

    The time of an event ends when its composite events are there as a list of events.
    """
    taken = [0] * len(events)
    count = 0
    feed = engine.feed_event
    for number, event in enumerate(events):
        begin = perf_counter_ns()
        found = feed(event)
        taken[number] = perf_counter_ns() - begin
        count += len(found)
    return taken, count
