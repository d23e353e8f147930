"""Signals over what a network delivers: in which order a reactor takes it, and what may therefore be relied on.

The levels are those of DREAM (Margara and Salvaneschi, DEBS 2014). What the protocol keeps without waiting are the
order of each source and that of causes and effects; promises of how far everything has been delivered give complete
glitch freedom; nothing gives atomicity, for which all reactors would have to be locked at every change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Protocol

from cepheus.core.batch import EventBatch
from cepheus.core.errors import UnsupportedError
from cepheus.core.event import Event
from cepheus.core.options import chosen
from cepheus.core.time import MIN_TIME
from cepheus.runtime.reactive.reactor import Reactor

GLANCE_SECONDS = 0.5
"""While nothing is delivered it is looked so often for signals that were made meanwhile."""


class Consistency(Enum):
    """What may be relied on when a signal is read.

    ``fifo``: the events of a source are seen in their order. ``causal``: no composite event is seen before the events
    that it was made of. ``glitch-free``: all signals are at one moment, and nothing of that moment or of earlier ones
    is still to come. ``atomic``: all reactors of the network change at the same instant.
    """

    FIFO = "fifo"
    CAUSAL = "causal"
    GLITCH_FREE = "glitch-free"
    ATOMIC = "atomic"

    @property
    def waits(self) -> bool:
        """Whether events are held back until it is certain that none is missing before them."""
        return self is Consistency.GLITCH_FREE


class Delivered(Protocol):
    """What came together: events, and up to which time no more will come (None: nothing is promised)."""

    @property
    def events(self) -> tuple[Event, ...]:
        """The events."""

    @property
    def through(self) -> int | None:
        """The promise."""


class Subscribed(Protocol):
    """A subscription to events of a network."""

    async def take_delivery(self) -> Delivered:
        """Wait for what comes next."""

    async def extend(self, *patterns: str) -> None:
        """Subscribe to more."""

    async def close(self) -> None:
        """End it."""


class Subscriber(Protocol):
    """A client of a node, such as ``cepheus.network.AsyncClient``."""

    async def subscribe(self, *patterns: str, promises: bool = False) -> Subscribed:
        """Subscribe to events of some types."""


@dataclass(slots=True)
class Follower:
    """Hands a reactor what a network delivers, as a level of consistency asks.

    ``late`` counts events that came after a promise that nothing so early would: a source that was lost and is back, or
    what was not found as long as it was there.
    """

    reactor: Reactor
    level: Consistency
    on_late: Callable[[Event], object] | None = None
    through: int = MIN_TIME
    late: int = 0
    _held: list[Event] = field(default_factory=list)

    @classmethod
    def of(cls, reactor: Reactor, consistency: str, on_late: Callable[[Event], object] | None = None) -> Follower:
        """A follower at a level; UnsupportedError for what no network promises, or not to this reactor."""
        level = chosen("consistency", consistency, Consistency, "consistency")
        if level is Consistency.ATOMIC:
            raise UnsupportedError.of(
                "consistency",
                "a network does not promise atomic consistency: reactors at two nodes are at different moments",
                hint="take 'glitch-free', let one reactor decide, and publish the events that it emits",
            )
        if not level.waits and reactor.session.rules.all_rules:
            raise UnsupportedError.of(
                "consistency",
                f"rules need events in the order of time, which '{level.value}' does not keep",
                hint="take 'glitch-free', or deploy the rules in the network and follow what they find",
            )
        return cls(reactor, level, on_late)

    def take(self, events: Sequence[Event], through: int | None = None) -> None:
        """Take what was delivered, and a promise that no more comes up to a time."""
        if self.level.waits:
            self._hold(events)
            if through is not None and through > self.through:
                self._release(through)
            return
        ordered = []
        for event in events:
            self.through = max(self.through, event.time)  # a moment that has been shown is not taken back
            ordered.append(event if event.time == self.through else replace(event, time=self.through, start=None))
        if ordered:
            self.reactor.feed(EventBatch.from_events(ordered))

    def _hold(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.time > self.through:
                self._held.append(event)
                continue
            self.late += 1
            if self.on_late is not None:
                self.on_late(event)

    def _release(self, through: int) -> None:
        """Let the reactor have all up to a time: primitive events before composite ones, else as they came."""
        self.through = through
        ready = [event for event in self._held if event.time <= through]
        self._held = [event for event in self._held if event.time > through]
        if ready:
            ready.sort(key=lambda event: (event.time, event.rule is not None))
            self.reactor.feed(EventBatch.from_events(ready))
        self.reactor.advance(through)


async def follow(
    client: Subscriber,
    reactor: Reactor,
    *,
    consistency: str = "glitch-free",
    on_late: Callable[[Event], object] | None = None,
) -> None:
    """Subscribe to all that the signals and rules of a reactor read, and keep it up to date until this is cancelled.

    ``consistency`` is ``fifo``, ``causal`` or ``glitch-free``; the first two show each event as soon as it is there.
    Signals that are made meanwhile are followed, too. An event that comes against a promise, because a source
    was lost, or is back, is left out and given to ``on_late``.
    """
    follower = Follower.of(reactor, consistency, on_late)
    known = reactor.reads
    subscription = await client.subscribe(*sorted(known), promises=follower.level.waits)
    asking: set[asyncio.Task[None]] = set()
    try:
        while True:
            try:
                delivery = await asyncio.wait_for(subscription.take_delivery(), GLANCE_SECONDS)
            except TimeoutError:
                pass
            else:
                follower.take(delivery.events, delivery.through)
            more = reactor.reads - known
            if more:
                known |= more
                # not waited for: the answer comes behind deliveries, and those wait until they are taken
                asking.add(asyncio.ensure_future(subscription.extend(*sorted(more))))
            for asked in [each for each in asking if each.done()]:
                asking.remove(asked)
                asked.result()
    finally:
        for each in asking:
            each.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        await subscription.close()
