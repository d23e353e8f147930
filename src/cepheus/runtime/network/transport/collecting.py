"""Python's cycle collector in a server, which should not stand still while everything it knows is walked over."""

from __future__ import annotations

import asyncio
import gc

_YOUNG, _YOUNG_ROUNDS, _NEVER = 10_000, 10, 1 << 30
_FULL_EVERY = 600.0


async def collect_rarely(every: float = _FULL_EVERY) -> None:
    """Let the collector walk over everything only once in so many seconds, for as long as this runs.

    A server with much state stands still while it does: tens of milliseconds for a hundred thousand objects. Young
    objects are collected as usual, and what was there from the beginning not at all.
    """
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _YOUNG_ROUNDS, _NEVER)
    try:
        while True:
            await asyncio.sleep(every)
            gc.collect()
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
