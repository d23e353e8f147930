"""A client's subscription: events as they are delivered."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cepheus.core.errors import CepheusError
from cepheus.core.event import Event

if TYPE_CHECKING:
    from cepheus.runtime.network.transport.client import AsyncClient


@dataclass(slots=True)
class Subscription:
    """Events as they are delivered; iterate over it, or take them as they come, many at a time."""

    client: AsyncClient
    sink: str
    queue: asyncio.Queue[tuple[int, tuple[Event, ...]] | CepheusError]
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
            return (await asyncio.wait_for(self.take_numbered(), timeout))[1]
        except TimeoutError:
            return ()

    async def take_numbered(self) -> tuple[int, tuple[Event, ...]]:
        """Wait for the next events, and give them with the number of their message."""
        found = await self.queue.get()
        if isinstance(found, CepheusError):
            raise found
        return found

    def fail(self, error: CepheusError) -> None:
        """Let whoever waits know that nothing more comes."""
        if self.queue.full():
            self.queue.get_nowait()
        self.queue.put_nowait(error)

    async def close(self) -> None:
        """End the subscription."""
        await self.client.leave(self)
