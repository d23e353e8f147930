"""A subject of NATS JetStream as a sink: each message has the composite event's key as its id, ``Nats-Msg-Id``, by
which the stream drops what it has already, within its window of duplicates: two minutes unless the stream says
otherwise.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from cepheus.core.extras import require
from cepheus.runtime.live.contract import Output, Position, Surroundings
from cepheus.runtime.live.nats_link import connected, lost_as_disconnected

_AT_ONCE = 500
_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ToNats:
    """A subject that a stream takes; ``{type}`` in it stands for the type of the composite event."""

    subject: str
    url: str = "nats://127.0.0.1:4222"

    def build(self, around: Surroundings) -> NatsWriter:
        """Make the writer."""
        require("nats", "a sink in NATS")
        return NatsWriter(self, around)


class NatsWriter:
    """Publishes messages, and waits until the stream has them."""

    sure = True

    def __init__(self, described: ToNats, around: Surroundings) -> None:
        self._described = described
        self._around = around
        self._connection: Any = None
        self._stream: Any = None

    async def open(self, position: Position) -> None:
        """Connect."""
        del position  # keys tell what is there
        self._connection = await connected(self._described.url, self._around)
        self._stream = self._connection.jetstream(timeout=_TIMEOUT_SECONDS)

    async def write(self, output: Output) -> None:
        """Publish, many at a time; they keep their order."""
        rows = list(zip(output.keys, output.types, output.lines, strict=True))
        with lost_as_disconnected(self._around):
            for start in range(0, len(rows), _AT_ONCE):
                # not a TaskGroup: that wraps what is raised, and a lost connection would not be known as one
                await asyncio.gather(
                    *(
                        self._stream.publish(
                            self._described.subject.replace("{type}", name), line.encode(), headers={"Nats-Msg-Id": key}
                        )
                        for key, name, line in rows[start : start + _AT_ONCE]
                    )
                )

    async def flush(self) -> Position:
        """The stream has acknowledged each message."""
        return True

    async def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()
