"""A topic of Kafka as a source.

Where each partition was read to is part of the run's own state; what the broker remembers of a group is only for those
who watch it. A position is, by partition, the offset of the next message.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cepheus.core.extras import require
from cepheus.runtime.live.contract import Disconnected, Messages, Position, Surroundings

_POLL_SECONDS = 0.2
_METADATA_SECONDS = 10.0
_LOOK_FOR_PARTITIONS_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class FromKafka:
    """All partitions of a topic; ``options`` are those of librdkafka, such as ``security.protocol``.

    With a ``group`` the broker is told how far the topic was read, so that others can see the lag.
    """

    topic: str
    brokers: str = "127.0.0.1:9092"
    group: str | None = None
    most: int = 10_000
    options: Mapping[str, str] = field(default_factory=dict)

    def build(self, around: Surroundings) -> KafkaReader:
        """Make the reader."""
        require("confluent_kafka", "a source in Kafka")
        return KafkaReader(self, around)


class KafkaReader:
    """Reads partitions, each in its order."""

    def __init__(self, described: FromKafka, around: Surroundings) -> None:
        self._described = described
        self._around = around
        self._consumer: Any = None
        self._offsets: dict[str, int] = {}
        self._ready: deque[Messages] = deque()
        self._looked = 0.0
        self._known: list[int] = []
        self._behind: dict[int, bool] = {}
        self._ends: dict[int, int] = {}

    async def open(self, position: Position) -> None:
        """Connect, and begin where each partition was left; a new partition begins at its start."""
        import confluent_kafka

        self._offsets = dict(position or {})
        self._ready.clear()
        described = self._described
        settings = {
            "bootstrap.servers": described.brokers,
            "group.id": described.group or "cepheus-live",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,  # where a partition ends in what is no message, that alone tells
            "fetch.wait.max.ms": 5,
            "log_level": 0,
            **described.options,
        }
        try:
            self._consumer = confluent_kafka.Consumer(settings, logger=None)
        except confluent_kafka.KafkaException as error:
            raise self._around.refused(f"Kafka refuses the options: {error.args[0].str()}") from None
        partitions = await self._partitions()
        first = confluent_kafka.OFFSET_BEGINNING
        self._consumer.assign(
            [
                confluent_kafka.TopicPartition(described.topic, number, self._offsets.get(str(number), first))
                for number in partitions
            ]
        )
        self._known = partitions
        for number in partitions:
            self._behind[number] = await asyncio.to_thread(self._is_behind_at_first, number)
            self._ready.append(self._announced(number, behind=self._behind[number]))

    async def read(self) -> Messages | None:
        """The messages that were added, of one partition."""
        while not self._ready:
            if self._is_time_to_look() and await self._partitions() != self._known:
                raise Disconnected("the topic has other partitions than before")
            found = await asyncio.to_thread(self._consumer.consume, self._described.most, _POLL_SECONDS)
            received = time.perf_counter()
            if found:
                self._sort(found, received)
        return self._ready.popleft()

    async def acknowledge(self, position: Position) -> None:
        """Tell the broker how far the topic was read, for those who watch."""
        import confluent_kafka

        if self._described.group is None or self._consumer is None:
            return
        offsets = [
            confluent_kafka.TopicPartition(self._described.topic, int(number), offset)
            for number, offset in position.items()
        ]
        try:
            self._consumer.commit(offsets=offsets, asynchronous=True)
        except confluent_kafka.KafkaException as error:
            raise Disconnected(f"Kafka does not take the position ({error.args[0].str()})") from None

    async def close(self) -> None:
        """End the connection."""
        if self._consumer is not None:
            consumer, self._consumer = self._consumer, None
            await asyncio.to_thread(consumer.close)

    def _sort(self, found: list[Any], received: float) -> None:
        """Put messages together by partition, each in its order; first it is told of which partitions more is there."""
        import confluent_kafka

        lanes: dict[int, list[Any]] = {}
        for message in found:
            error = message.error()
            if error is None:
                lanes.setdefault(message.partition(), []).append(message)
            elif error.code() == confluent_kafka.KafkaError._PARTITION_EOF:
                self._ends[message.partition()] = int(message.offset())
            else:
                self._refuse(error)
        behind = {number: self._is_behind(number, lanes.get(number)) for number in self._known}
        for partition in self._known:
            changed = behind[partition] != self._behind[partition]
            if changed and (behind[partition] or partition not in lanes):
                self._ready.append(self._announced(partition, behind=behind[partition]))
        self._behind = behind
        for partition, messages in lanes.items():
            numbers = np.array([message.offset() for message in messages], np.int64)
            self._offsets[str(partition)] = int(numbers[-1]) + 1
            self._ready.append(
                Messages(
                    dict(self._offsets),
                    numbers,
                    [message.value() or b"null" for message in messages],
                    lane=str(partition),
                    origins=[self._described.topic] * len(messages),
                    received=received,
                    more=behind[partition],
                )
            )

    def _announced(self, partition: int, *, behind: bool) -> Messages:
        """No message, but word of whether more of a partition is there."""
        return Messages(dict(self._offsets), range(0), lane=str(partition), origins=(), more=behind)

    def _is_behind(self, partition: int, messages: list[Any] | None) -> bool:
        """Whether more of a partition is there behind some messages, by what the broker has said lately."""
        import confluent_kafka

        place = confluent_kafka.TopicPartition(self._described.topic, partition)
        _, end = self._consumer.get_watermark_offsets(place, cached=True)
        if end < 0:
            return self._behind[partition]
        read_to = messages[-1].offset() + 1 if messages else self._offsets.get(str(partition), 0)
        return bool(end > max(read_to, self._ends.get(partition, 0)))

    def _is_behind_at_first(self, partition: int) -> bool:
        import confluent_kafka

        place = confluent_kafka.TopicPartition(self._described.topic, partition)
        try:
            first, end = self._consumer.get_watermark_offsets(place, _METADATA_SECONDS)
        except confluent_kafka.KafkaException as error:
            raise Disconnected(f"no connection to Kafka ({error.args[0].str()})") from None
        return bool(end > self._offsets.get(str(partition), first))

    def _refuse(self, error: Any) -> None:
        import confluent_kafka

        if error.code() == confluent_kafka.KafkaError._AUTO_OFFSET_RESET:
            raise self._around.refused(
                f"messages were removed from the topic before they were read: {error.str()}",
                "begin anew with --fresh, and keep messages longer",
            )
        if error.fatal() or error.code() in (
            confluent_kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED,
            confluent_kafka.KafkaError._AUTHENTICATION,
        ):
            raise self._around.refused(f"Kafka refuses: {error.str()}")
        raise Disconnected(f"Kafka: {error.str()}")

    def _is_time_to_look(self) -> bool:
        return time.monotonic() - self._looked > _LOOK_FOR_PARTITIONS_SECONDS

    async def _partitions(self) -> list[int]:
        import confluent_kafka

        self._looked = time.monotonic()
        try:
            found = await asyncio.to_thread(self._consumer.list_topics, self._described.topic, _METADATA_SECONDS)
        except confluent_kafka.KafkaException as error:
            raise Disconnected(f"no connection to Kafka ({error.args[0].str()})") from None
        topic = found.topics.get(self._described.topic)
        if topic is None or topic.error is not None or not topic.partitions:
            raise Disconnected(f"there is no topic '{self._described.topic}' in Kafka")
        return sorted(topic.partitions)
