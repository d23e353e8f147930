"""A stream of NATS JetStream as a source.

Messages are asked for by their sequence numbers, from a consumer that lives as long as the connection; nothing that the
server remembers of it matters. A position is the sequence number of the last message that was read.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from cepheus.core.extras import require
from cepheus.runtime.live.contract import Disconnected, Messages, Position, Surroundings
from cepheus.runtime.live.nats_link import connected, lost_as_disconnected

_WAIT_SECONDS = 5.0
_GONE_AFTER_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class FromNats:
    """The messages of a stream on a subject, which may have wildcards; at most ``most`` are asked for at once.

    >>> FromNats("READINGS").subject
    '>'
    """

    stream: str
    subject: str = ">"
    url: str = "nats://127.0.0.1:4222"
    most: int = 2_000

    def build(self, around: Surroundings) -> NatsReader:
        """Make the reader."""
        require("nats", "a source in NATS")
        return NatsReader(self, around)


class NatsReader:
    """Reads messages in the order of the stream."""

    def __init__(self, described: FromNats, around: Surroundings) -> None:
        self._described = described
        self._around = around
        self._connection: Any = None
        self._consumer: Any = None
        self._last = 0
        self._delivered = 0

    async def open(self, position: Position) -> None:
        """Connect, and ask for what comes after a position."""
        from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

        self._last = position or 0
        self._delivered = 0
        self._connection = await connected(self._described.url, self._around)
        stream = self._connection.jetstream()
        config = ConsumerConfig(
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=self._last + 1,
            ack_policy=AckPolicy.NONE,
            inactive_threshold=_GONE_AFTER_SECONDS,
        )
        with lost_as_disconnected(self._around):
            self._consumer = await stream.pull_subscribe(
                self._described.subject, stream=self._described.stream, config=config
            )
            state = (await stream.stream_info(self._described.stream)).state
        if self._last and state.first_seq > self._last + 1 and state.first_seq > 1:
            self._around.say(
                f"{self._around.name}: messages {self._last + 1} to {state.first_seq - 1} were removed before they "
                "were read, as far as they were on this subject"
            )

    async def read(self) -> Messages | None:
        """The messages that were added."""
        import nats.errors

        with lost_as_disconnected(self._around):
            while True:
                try:
                    found = await self._consumer.fetch(self._described.most, timeout=_WAIT_SECONDS)
                    break
                except nats.errors.TimeoutError:
                    if not self._connection.is_connected:
                        raise Disconnected("the connection to NATS was closed") from None
        received = time.perf_counter()
        numbers = np.empty(len(found), np.int64)
        for place, message in enumerate(found):
            # $JS.ACK.<stream>.<consumer>.<deliveries>.<in the stream>.<to this consumer>.<time>.<left>, from the end
            parts = message.reply.rsplit(".", 5)
            numbers[place], delivered = int(parts[-4]), int(parts[-3])
            if delivered != self._delivered + 1:
                raise Disconnected("messages of NATS were lost on the way")
            self._delivered = delivered
        self._last = int(numbers[-1])
        return Messages(
            self._last,
            numbers,
            [message.data for message in found],
            origins=[message.subject for message in found],
            received=received,
        )

    async def acknowledge(self, position: Position) -> None:
        """The stream keeps its messages by its own limits."""

    async def close(self) -> None:
        """End the connection, and the consumer with it."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()
