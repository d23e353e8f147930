"""A topic of Kafka as a sink, each composite event once, also after a kill.

The key of a message is that of the composite event. The state knows how long each partition was; a run that goes on
reads what was written behind that, and does not write it again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cepheus.core.extras import require
from cepheus.runtime.live.contract import NOWHERE, Disconnected, Output, Position, Surroundings

_METADATA_SECONDS = 10.0
_FLUSH_SECONDS = 30.0
_GLANCE_SECONDS = 0.5
"""A thread cannot be cancelled, so none waits longer than that."""


@dataclass(frozen=True, slots=True)
class ToKafka:
    """A topic; ``options`` are those of librdkafka."""

    topic: str
    brokers: str = "127.0.0.1:9092"
    options: Mapping[str, str] = field(default_factory=dict)

    def build(self, around: Surroundings) -> KafkaWriter:
        """Make the writer."""
        require("confluent_kafka", "a sink in Kafka")
        return KafkaWriter(self, around)


class KafkaWriter:
    """Produces messages, in order and without doubles as long as it lives."""

    sure = False

    def __init__(self, described: ToKafka, around: Surroundings) -> None:
        self._described = described
        self._around = around
        self._producer: Any = None
        self._there: set[str] = set()
        self._ends: dict[str, int] = {}
        self._failed: Any = None
        self._before: Position = NOWHERE

    async def open(self, position: Position) -> None:
        """Connect, and find what was written since a position."""
        import confluent_kafka

        self._before = position

        common = {"bootstrap.servers": self._described.brokers, "log_level": 0, **self._described.options}
        try:
            self._producer = confluent_kafka.Producer(
                {"enable.idempotence": True, "linger.ms": 2, "delivery.timeout.ms": 30_000, **common}, logger=None
            )
            self._ends, self._there = await asyncio.to_thread(self._written_since, common, position)
        except confluent_kafka.KafkaException as error:
            raise Disconnected(f"no connection to Kafka ({error.args[0].str()})") from None

    async def write(self, output: Output) -> None:
        """Hand messages to the producer."""
        for key, line in zip(output.keys, output.lines, strict=True):
            if key in self._there:
                self._there.discard(key)
                continue
            while True:
                try:
                    self._producer.produce(
                        self._described.topic, line.encode(), key.encode(), on_delivery=self._delivered
                    )
                    break
                except BufferError:
                    await asyncio.to_thread(self._producer.poll, 0.1)
        self._producer.poll(0)
        self._raise_failed()

    async def flush(self) -> Position:
        """Wait until the brokers have everything; give how long the partitions are.

        While there is something that was written before a kill and has not been found again yet, the run stands where
        it stood then.
        """
        end = time.monotonic() + _FLUSH_SECONDS
        while (left := await asyncio.to_thread(self._producer.flush, _GLANCE_SECONDS)) and time.monotonic() < end:
            self._raise_failed()
        self._raise_failed()
        if left:
            raise Disconnected("Kafka does not acknowledge")
        return self._before if self._there else dict(self._ends)

    async def close(self) -> None:
        """End."""
        if self._producer is not None:
            producer, self._producer = self._producer, None
            await asyncio.to_thread(producer.flush, 1.0)

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None:
            self._failed = self._failed or error
        else:
            name = str(message.partition())
            self._ends[name] = max(self._ends.get(name, 0), message.offset() + 1)

    def _raise_failed(self) -> None:
        if self._failed is not None:
            raise Disconnected(f"Kafka: {self._failed.str()}")

    def _written_since(self, common: dict[str, Any], position: Position) -> tuple[dict[str, int], set[str]]:
        """How long the partitions are, and the keys of what was written behind a position."""
        import confluent_kafka

        consumer = confluent_kafka.Consumer(
            {"group.id": "cepheus-live-sink", "enable.auto.commit": False, **common}, logger=None
        )
        try:
            topic = self._described.topic
            known = consumer.list_topics(topic, _METADATA_SECONDS).topics[topic]
            ends: dict[str, int] = {}
            keys: set[str] = set()
            if known.error is not None:  # the first message creates it, if the brokers do so
                return ends, keys
            for number in known.partitions:
                partition = confluent_kafka.TopicPartition(topic, number)
                _, end = consumer.get_watermark_offsets(partition, _METADATA_SECONDS)
                ends[str(number)] = end
                start = end if position is NOWHERE else min(position.get(str(number), 0), end)
                partition.offset = start
                consumer.assign([partition])
                while start < end:
                    message = consumer.poll(_METADATA_SECONDS)
                    if message is None:
                        raise Disconnected("Kafka does not give back what was written")
                    if message.error() is None:
                        start = int(message.offset() or 0) + 1
                        keys.add((message.key() or b"").decode())
            return ends, keys
        finally:
            consumer.close()
