"""Topics of an MQTT broker as a source.

The broker keeps, for a client that is known to it, what was published with quality 1 or 2 while the client was away. A
message is acknowledged when it is on the disk here, so that no crash of either side loses it. What the broker sends
again because it missed the acknowledgement has its old packet number, by which it is known.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import deque
from dataclasses import dataclass, replace
from typing import Any

from cepheus.core.extras import require
from cepheus.runtime.live.contract import Disconnected, Messages, Position, Surroundings
from cepheus.runtime.live.mqtt_link import MqttAddress, connected_client
from cepheus.runtime.live.receiver import Receiver

_AT_ONCE = 5000
_REMEMBERED = 200_000
_MARK = "\0"


@dataclass(frozen=True, slots=True)
class FromMqtt:
    """The messages of topics, which may have wildcards.

    ``client`` is the name by which the broker knows this run: no two runs may have the same. Messages that were
    published with quality 0 are not kept by the broker while nobody listens.
    """

    topics: tuple[str, ...]
    client: str
    url: str = "mqtt://127.0.0.1:1883"
    quality: int = 1

    def build(self, around: Surroundings) -> MqttReceiver:
        """Make the receiver."""
        require("paho.mqtt.client", "a source in MQTT")
        return MqttReceiver(self, around)


class MqttReceiver(Receiver):
    """Subscribes; the library's thread hands messages to the loop, which writes them down and acknowledges them."""

    def __init__(self, described: FromMqtt, around: Surroundings) -> None:
        super().__init__(around)
        self._described = described
        self._client: Any = None
        self._inbox: deque[Any] = deque()
        self._wake = asyncio.Event()
        self._lost: asyncio.Future[str] | None = None
        self._task: asyncio.Task[None] | None = None
        self._written: dict[tuple[str, int], None] = {}

    async def open(self, position: Position) -> None:
        """Connect and subscribe."""
        loop = asyncio.get_running_loop()
        self.open_spool(position)
        self._lost = loop.create_future()
        self._written = dict.fromkeys(self._latest())

        def arrived(_client: Any, _data: Any, message: Any) -> None:
            self._inbox.append(message)
            loop.call_soon_threadsafe(self._wake.set)

        def lost(reason: str) -> None:
            if self._lost is not None and not self._lost.done():
                self._lost.set_result(reason)

        address = MqttAddress.of(self._described.url)
        self._client = await connected_client(
            address,
            self._described.client,
            self._around,
            arrived,
            lambda reason: loop.call_soon_threadsafe(lost, reason),
        )
        # with quality 2 the broker forgets a message before it is on the disk here; by quality 1 nothing is lost
        quality = min(self._described.quality, 1)
        self._client.subscribe([(topic, quality) for topic in self._described.topics])
        self._task = asyncio.create_task(self._write_down())

    async def read(self) -> Messages | None:
        """What has arrived; once the connection is lost and all is read, it is opened anew."""
        assert self._lost is not None
        assert self._task is not None
        reading = asyncio.ensure_future(super().read())
        waited: list[asyncio.Future[Any]] = [reading, self._lost, self._task]
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        if reading.done():
            found = reading.result()
            return None if found is None else self._without_marks(found)
        reading.cancel()
        if self._task.done():
            self._task.result()
        raise Disconnected(f"the connection to the MQTT broker was closed ({self._lost.result()})")

    async def close(self) -> None:
        """End the connection; the broker keeps what comes, and what was not acknowledged."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._client is not None:
            client, self._client = self._client, None
            client.disconnect()
            await asyncio.to_thread(client.loop_stop)
        self.close_spool()

    async def _write_down(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._inbox:
                messages = [self._inbox.popleft() for _ in range(min(len(self._inbox), _AT_ONCE))]
                while self.is_full:
                    await asyncio.sleep(0.05)
                await self._take_new(messages)
                client = self._client
                for message in messages if client is not None else ():
                    if message.qos:
                        client.ack(message.mid, message.qos)

    async def _take_new(self, messages: list[Any]) -> None:
        """Write down what was not written down before."""
        new: list[tuple[bytes, str]] = []
        for message in messages:
            mark = (f"{message.mid}", zlib.crc32(message.payload))
            if message.dup and mark in self._written:
                continue
            self._written[mark] = None
            if len(self._written) > _REMEMBERED:
                self._written.pop(next(iter(self._written)))
            new.append((bytes(message.payload), f"{message.topic}{_MARK}{message.mid}"))
        if new:
            await self.take(new)

    def _latest(self) -> list[tuple[str, int]]:
        """The packet numbers and checksums of what was written down last."""
        found = None if self._spool is None else self._spool.latest()
        if found is None or found.origins is None:
            return []
        marks = [name.rpartition(_MARK)[2] for name in found.origins]
        return list(zip(marks, map(zlib.crc32, found.payloads), strict=True))[-_REMEMBERED:]

    def _without_marks(self, messages: Messages) -> Messages:
        names = [name.rpartition(_MARK)[0] for name in messages.origins or ()]
        return replace(messages, origins=names)
