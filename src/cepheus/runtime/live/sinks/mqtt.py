"""A topic of an MQTT broker as a sink. MQTT cannot tell a message from one that was sent before: after a kill, what was
found since the state was last saved is published again. The key is in the user property ``key``.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from cepheus.core.extras import require
from cepheus.runtime.live.contract import Disconnected, Output, Position, Surroundings
from cepheus.runtime.live.mqtt_link import MqttAddress, connected_client

_PATIENCE_SECONDS = 30.0
_GLANCE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class ToMqtt:
    """A topic; ``{type}`` in it stands for the type of the composite event."""

    topic: str
    url: str = "mqtt://127.0.0.1:1883"
    quality: int = 1
    client: str = ""

    def build(self, around: Surroundings) -> MqttWriter:
        """Make the writer."""
        require("paho.mqtt.client", "a sink in MQTT")
        return MqttWriter(self, around)


class MqttWriter:
    """Publishes messages."""

    sure = False

    def __init__(self, described: ToMqtt, around: Surroundings) -> None:
        self._described = described
        self._around = around
        self._client: Any = None
        self._on_their_way: list[Any] = []
        self._lost = ""

    async def open(self, position: Position) -> None:
        """Connect."""
        del position  # keys tell what is there

        def lost(reason: str) -> None:
            self._lost = reason

        address = MqttAddress.of(self._described.url)
        self._client = await connected_client(address, self._described.client, self._around, None, lost)

    async def write(self, output: Output) -> None:
        """Publish."""
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        for key, name, line in zip(output.keys, output.types, output.lines, strict=True):
            properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
            properties.UserProperty = [("key", key)]
            topic = self._described.topic.replace("{type}", name)
            sent = self._client.publish(topic, line.encode(), self._described.quality, properties=properties)
            if sent.rc:
                raise Disconnected(f"the MQTT broker is gone ({self._lost or sent.rc})")
            self._on_their_way.append(sent)

    async def flush(self) -> Position:
        """Wait until the broker has acknowledged all."""
        try:
            for sent in self._on_their_way:
                end = time.monotonic() + _PATIENCE_SECONDS
                while not sent.is_published():
                    if self._lost or time.monotonic() > end:
                        raise Disconnected(f"the MQTT broker does not acknowledge ({self._lost or 'it is silent'})")
                    await asyncio.to_thread(sent.wait_for_publish, _GLANCE_SECONDS)
        except (RuntimeError, ValueError) as error:
            raise Disconnected(f"the MQTT broker is gone ({error})") from None
        if self._lost:
            raise Disconnected(f"the MQTT broker is gone ({self._lost})")
        self._on_their_way.clear()
        return True

    async def close(self) -> None:
        """End the connection."""
        if self._client is not None:
            client, self._client = self._client, None
            client.disconnect()
            await asyncio.to_thread(client.loop_stop)
