"""What sources share to which messages are pushed: they are written to a spool first, and read from there."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from cepheus.runtime.live.contract import Messages, Position, Surroundings
from cepheus.runtime.live.spool import Spool

MOST_UNREAD = 256 << 20
"""With so many bytes that were not read yet, no more are taken."""


class Receiver:
    """Takes messages, puts them on the disk, and gives them to the loop; the side that a server or client calls is
    ``take``, the rest is that of a source.
    """

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._spool: Spool | None = None
        self._position: Position = None
        self._arrived = asyncio.Event()
        self._syncing: asyncio.Task[None] | None = None
        self._next_sync: asyncio.Task[None] | None = None
        self._unread = 0

    @property
    def is_full(self) -> bool:
        """Whether so much is unread that senders should wait."""
        return self._unread > MOST_UNREAD

    def open_spool(self, position: Position) -> None:
        """Go on with what is behind a position."""
        self._spool = Spool(self._around.folder)
        self._position = position
        self._arrived.set()

    async def take(self, messages: Sequence[tuple[bytes, str]]) -> None:
        """Take messages with their topics; once this returns, no crash loses them."""
        assert self._spool is not None
        self._spool.append(messages)
        self._unread += sum(len(payload) for payload, _ in messages)
        self._arrived.set()
        await self.synced()

    async def synced(self) -> None:
        """Wait until all that was appended is on the disk; those that wait together share one trip."""
        if self._next_sync is None or self._next_sync.done():
            self._next_sync = asyncio.create_task(self._sync(self._syncing))
        await asyncio.shield(self._next_sync)

    async def _sync(self, before: asyncio.Task[None] | None) -> None:
        if before is not None and not before.done():
            await asyncio.wait([before])
        self._syncing, self._next_sync = self._next_sync, None
        assert self._spool is not None
        await asyncio.to_thread(self._spool.sync)

    async def read(self) -> Messages | None:
        """The messages that have arrived."""
        assert self._spool is not None
        while True:
            self._arrived.clear()
            messages = self._spool.read(self._position)
            if messages is not None:
                self._position = messages.position
                self._unread = max(0, self._unread - sum(map(len, messages.payloads)))
                return messages
            await self._arrived.wait()

    async def acknowledge(self, position: Position) -> None:
        """Remove files of the spool that are not needed any more."""
        if self._spool is not None:
            self._spool.forget(position)

    def close_spool(self) -> None:
        """End."""
        if self._spool is not None:
            spool, self._spool = self._spool, None
            spool.close()
