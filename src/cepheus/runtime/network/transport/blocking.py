"""The client of a node for programs without asyncio: the same client, on a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar

from cepheus.core.event import Event
from cepheus.rules.model import RuleSet
from cepheus.runtime.network.transport.client import Access, AsyncClient, AsyncSource, Subscription

T = TypeVar("T")


class Client:
    """A client of one node; every call waits for its outcome.

    with Client("127.0.0.1:7600") as client:
        client.deploy("define Fire() from Smoke()")
        with client.source("sensors", ["Smoke"]) as source:
            source.publish([Event("Smoke", now)], through=now)
    """

    def __init__(self, access: Access | str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="cepheus-client", daemon=True)
        self._thread.start()
        try:
            self._client = self.wait(AsyncClient.connect(access))
        except BaseException:
            self._stop()
            raise

    def source(self, name: str, types: Iterable[str]) -> Source:
        """Become a source of events of some types; returns once the network is ready for them."""
        return Source(self, self.wait(self._client.source(name, types)))

    def subscribe(self, *patterns: str) -> Events:
        """Subscribe to events of types, or of types and content such as ``Fire(area = 'A1')``."""
        return Events(self, self.wait(self._client.subscribe(*patterns)))

    def deploy(self, rules: str | RuleSet) -> int:
        """Deploy rules; gives the time, in microseconds, from which they hold. RuleError if they are refused."""
        return self.wait(self._client.deploy(rules))

    def withdraw(self, names: Iterable[str]) -> int:
        """Withdraw rules by name; gives the time from which they no longer hold."""
        return self.wait(self._client.withdraw(names))

    def status(self) -> dict[str, Any]:
        """Give how the node is: trees, rules, clients, traffic."""
        return self.wait(self._client.status())

    def close(self) -> None:
        """Leave the node, with everything said."""
        try:
            self.wait(self._client.close())
        finally:
            self._stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
            return
        self.wait(self._client.abandon())
        self._stop()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Let the thread do something and wait for it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


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
        self.client.wait(self.inner.publish(events, through))

    def promise(self, through: int) -> None:
        """Promise that no more events come up to a time, in microseconds."""
        self.client.wait(self.inner.promise(through))

    def close(self) -> None:
        """Leave: what was published still counts, and nobody waits for more."""
        self.client.wait(self.inner.close())

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
        return self.client.wait(self.inner.take(timeout))

    def __iter__(self) -> Iterator[Event]:
        while True:
            yield from self.take()

    def close(self) -> None:
        """End the subscription."""
        self.client.wait(self.inner.close())
