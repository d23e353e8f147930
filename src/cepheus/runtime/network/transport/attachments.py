"""What a client has attached to a node: sources of events, and subscriptions."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from cepheus.core.errors import CepheusError, EventError, did_you_mean
from cepheus.core.event import Event
from cepheus.runtime.network.protocol.codec import encode
from cepheus.runtime.network.protocol.event_columns import EventColumns
from cepheus.runtime.network.protocol.messages import DetachSource, Publish
from cepheus.runtime.network.transport.known_types import KnownTypes, check_events

if TYPE_CHECKING:
    from cepheus.runtime.network.transport.client import AsyncClient


class Delivery(NamedTuple):
    """Events that came together, the number of their message, and the time up to which no more will come.

    ``through`` is None where nothing is promised; a promise may come without events.
    """

    number: int
    events: tuple[Event, ...]
    through: int | None = None


@dataclass(slots=True)
class Subscription:
    """Events as they are delivered; iterate over it, or take them as they come, many at a time."""

    client: AsyncClient
    sink: str
    queue: asyncio.Queue[Delivery | CepheusError]
    promises: bool = False
    _ready: deque[Event] = field(default_factory=deque)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        while not self._ready:
            self._ready.extend(await self.take())
        return self._ready.popleft()

    async def take(self, timeout: float | None = None) -> tuple[Event, ...]:
        """Wait for the next events, and give all that came together; none after ``timeout`` seconds."""
        try:
            return (await asyncio.wait_for(self.take_delivery(), timeout)).events
        except TimeoutError:
            return ()

    async def take_delivery(self) -> Delivery:
        """Wait for the next events, or for a promise where the subscription has asked for them."""
        found = await self.queue.get()
        if isinstance(found, CepheusError):
            raise found
        return found

    def fail(self, error: CepheusError) -> None:
        """Let whoever waits know that nothing more comes."""
        if self.queue.full():
            self.queue.get_nowait()
        self.queue.put_nowait(error)

    def drop(self) -> None:
        """Let go of what nobody takes any more: whoever has one more delivery for it must not wait for room."""
        while not self.queue.empty():
            self.queue.get_nowait()

    async def extend(self, *patterns: str) -> None:
        """Subscribe to more, with promises if there were promises before."""
        await self.client.extend(self, patterns)

    async def close(self) -> None:
        """End the subscription."""
        await self.client.leave(self)


_CHUNK = 2000
"""Events of one message at most."""


@dataclass(slots=True)
class AsyncSource:
    """A source of events: publishes them in order of time, and promises how far it has got.

    Events at or before what was promised, or before ``since``, are dropped and counted by the node as late.
    """

    client: AsyncClient
    name: str
    since: int
    types: frozenset[str]
    known: KnownTypes = field(default_factory=KnownTypes)

    async def publish(self, events: Sequence[Event], through: int | None = None) -> None:
        """Publish events; ``through`` promises that no more come up to that time, in microseconds.

        Returns when they are on their way; waits while the network is behind. EventError, and nothing is published, if
        a value is none that a network carries, or not of the type that the network knows for the attribute.
        """
        if isinstance(events, EventColumns) or len(events) <= _CHUNK:
            chunks = [EventColumns.of(events)]
        else:
            chunks = [EventColumns.of(events[start : start + _CHUNK]) for start in range(0, len(events), _CHUNK)]
        await self._check(chunks)
        messages = [fitted for chunk in chunks[:-1] for fitted in self._fitting(Publish(self.name, chunk))]
        for body, message in [*messages, *self._fitting(Publish(self.name, chunks[-1], through))]:
            await self.client.say_encoded(body, message)

    def _fitting(self, message: Publish) -> list[tuple[bytes, Publish]]:
        """Encode a message, in as many parts as the node needs to take it."""
        body = encode(message)
        if len(body) <= self.client.takes:
            return [(body, message)]
        events, half = message.events, len(message.events) // 2
        if not half:
            raise EventError.of(
                "event-size",
                f"the event of type '{events[0].type}' at {events[0].time} makes a message of {len(body)} bytes, "
                f"more than the node takes: {self.client.takes}",
                hint="publish less of it, or let the node take more: [limits] message_bytes",
            )
        first = Publish(self.name, EventColumns.of(events[:half]))
        return self._fitting(first) + self._fitting(replace(message, events=EventColumns.of(events[half:])))

    async def _check(self, chunks: Sequence[EventColumns]) -> None:
        """Refuse events that do not fit; rules may have changed since the node was asked what it knows."""
        for kind in (kind for chunk in chunks for kind, _ in chunk.shapes if kind not in self.types):
            raise EventError.of(
                "event-type",
                f"the source '{self.name}' has not announced events of type '{kind}'",
                hint=did_you_mean(kind, self.types) or "name all types of its events when the source is made",
            )
        try:
            for chunk in chunks:
                check_events(chunk, self.known)
        except EventError:
            self.known = await self.client.known_types(self.known)
            for chunk in chunks:
                check_events(chunk, self.known)

    async def promise(self, through: int) -> None:
        """Promise that no more events come up to a time, in microseconds."""
        await self.client.say(Publish(self.name, (), through))

    @property
    def late(self) -> int:
        """How many events came too late so far."""
        return self.client.late.get(self.name, 0)

    async def close(self) -> None:
        """Leave: what was published still counts, and nobody waits for more."""
        await self.client.say(DetachSource(self.name))
        await self.client.drained()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self.close()
