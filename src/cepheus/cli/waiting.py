"""Says what a command waits for, if it takes longer than a moment."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING, TypeVar

from cepheus.cli.console import note

if TYPE_CHECKING:
    from cepheus.runtime.network.transport.access import Access
    from cepheus.runtime.network.transport.client import AsyncClient

T = TypeVar("T")
_MOMENT = 1.0


async def announced(work: Awaitable[T], waits_for: str) -> T:
    """Wait for something; after a second, say on stderr what for."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait([task], timeout=_MOMENT)
        if not task.done():
            note(f"waiting for {waits_for}")
        return await task
    finally:
        task.cancel()


async def connected(given: Access) -> AsyncClient:
    """Connect to a node; say so if it does not answer at once."""
    from cepheus.runtime.network.transport.client import AsyncClient

    words = f"the node at {given.address}, for {given.patience:g} s at most (--patience)"
    return await announced(AsyncClient.connect(given), words)
