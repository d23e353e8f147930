"""One live connection of a link: writes what the link's log holds, at the pace at which the other side takes it.

The log is the queue: a connection only knows how far it has written. What the other side did not acknowledge when a
connection breaks is written again by the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

from cepheus.runtime.network.link import Frame, LinkEnd, encode_frame
from cepheus.runtime.network.transport.hello import encode_bundle

_BUNDLE = 256 * 1024


class Stream(Protocol):
    """A stream of bytes messages in both directions."""

    async def read(self) -> bytes | None:
        """Give the next message; None at the end."""

    async def write(self, data: bytes) -> None:
        """Send a message; waits while the other side takes no more."""


@dataclass(slots=True, eq=False)
class Connection:
    """A stream and the link it serves.

    ``acknowledges`` gives the number up to which messages may be acknowledged: less than was received, to slow the
    other side down. Whoever serves the connection ends it when it is ``closed``.
    """

    stream: Stream
    link: LinkEnd
    acknowledges: Callable[[], int]
    dialled: bool = False
    bytes_in: int = 0
    bytes_out: int = 0
    _written: int = 0
    _acknowledged: int = 0
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._written = self.link.log[0][0] - 1 if self.link.log else self.link.sent
        self._acknowledged = self.link.received
        self._wake.set()

    def wake(self) -> None:
        """There may be something to write."""
        self._wake.set()

    async def write_all(self) -> None:
        """Write as long as the connection lasts."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while (bundle := self._take()) is not None:
                self.bytes_out += len(bundle)
                await self.stream.write(bundle)

    def _take(self) -> bytes | None:
        """Give the next messages of the log, or an acknowledgement, or None if there is nothing to say."""
        acknowledged = self.acknowledges()
        frames: list[bytes] = []
        size = 0
        log = self.link.log
        skipped = max(0, self._written + 1 - log[0][0]) if log else 0
        for number, message in islice(log, skipped, None):
            frame = encode_frame(Frame(number, acknowledged, message))
            frames.append(frame)
            size += len(frame)
            self._written = number
            if size >= _BUNDLE:
                break
        if not frames:
            if acknowledged == self._acknowledged:
                return None
            frames.append(encode_frame(Frame(0, acknowledged)))
        self._acknowledged = acknowledged
        return encode_bundle(frames)
