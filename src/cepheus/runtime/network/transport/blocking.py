"""The client of a node for programs without asyncio: the same client, on a thread in the background."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar

from cepheus.core.event import Event
from cepheus.rules.model import RuleSet
from cepheus.runtime.network.transport.access import Access
from cepheus.runtime.network.transport.attachments import AsyncSource, Subscription
from cepheus.runtime.network.transport.client import AsyncClient

T = TypeVar("T")

_lock = threading.Lock()
_loops: dict[int, asyncio.AbstractEventLoop] = {}


def background_loop() -> asyncio.AbstractEventLoop:
    """The loop of this process, running."""
    with _lock:
        found = _loops.get(os.getpid())
        if found is None:
            found = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=found.run_forever, name="cepheus-clients", daemon=True).start()
        return found


def wait(work: Coroutine[Any, Any, T]) -> T:
    """Let the loop do something and wait for it."""
    future = asyncio.run_coroutine_threadsafe(work, background_loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


class Client:
    """A client of one node; every call waits for its outcome.

    with Client("127.0.0.1:7600") as client:
        client.deploy("define Fire() from Smoke()")
        with client.source("sensors", ["Smoke"]) as source:
            source.publish([Event("Smoke", now)], through=now)
    """

    def __init__(self, access: Access | str) -> None:
        self._client = wait(AsyncClient.connect(access))

    def source(self, name: str, types: Iterable[str]) -> Source:
        """Become a source of events of some types; returns once the network is ready for them."""
        return Source(self, wait(self._client.source(name, types)))

    def subscribe(self, *patterns: str) -> Events:
        """Subscribe to events of types, or of types and content such as ``Fire(area = 'A1')``."""
        return Events(self, wait(self._client.subscribe(*patterns)))

    def deploy(self, rules: str | RuleSet) -> int | None:
        """Deploy rules; gives the time, in microseconds, from which they hold. RuleError if they are refused.

        None where there is no such time: with many trees each takes the rules up at a moment of its own.
        """
        return wait(self._client.deploy(rules))

    def withdraw(self, names: Iterable[str]) -> int | None:
        """Withdraw rules by name; gives the time from which they no longer hold, None if each tree has its own."""
        return wait(self._client.withdraw(names))

    def status(self) -> dict[str, Any]:
        """How the node is: trees, rules, clients, traffic."""
        return wait(self._client.status())

    def close(self) -> None:
        """Leave the node, with everything said."""
        wait(self._client.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
            return
        wait(self._client.abandon())


@dataclass(slots=True)
class Source:
    """A source of events, see ``AsyncSource``."""

    client: Client
    inner: AsyncSource

    @property
    def since(self) -> int:
        """The time, in microseconds, from which its events count."""
        return self.inner.since

    @property
    def late(self) -> int:
        """How many events came too late so far."""
        return self.inner.late

    def publish(self, events: Sequence[Event], through: int | None = None) -> None:
        """Publish events; ``through`` promises that no more come up to that time, in microseconds."""
        wait(self.inner.publish(events, through))

    def promise(self, through: int) -> None:
        """Promise that no more events come up to a time, in microseconds."""
        wait(self.inner.promise(through))

    def close(self) -> None:
        """Leave: what was published still counts, and nobody waits for more."""
        wait(self.inner.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()


@dataclass(slots=True)
class Events:
    """Events as they are delivered, see ``Subscription``."""

    client: Client
    inner: Subscription

    def take(self, timeout: float | None = None) -> tuple[Event, ...]:
        """Wait for the next events, and give all that came together; none after ``timeout`` seconds."""
        return wait(self.inner.take(timeout))

    def __iter__(self) -> Iterator[Event]:
        while True:
            yield from self.take()

    def close(self) -> None:
        """End the subscription."""
        wait(self.inner.close())
