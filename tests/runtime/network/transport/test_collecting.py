"""The cycle collector of a node."""

from __future__ import annotations

import asyncio
import gc

from cepheus.runtime.network.transport.server import collect_rarely


def test_a_server_collects_everything_only_now_and_then() -> None:
    before = gc.get_threshold()
    full: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "stop" and info["generation"] == 2:
            full.append(info["collected"])

    async def serve() -> None:
        collecting = asyncio.ensure_future(collect_rarely(every=0.05))
        await asyncio.sleep(0)
        at_start = len(full)
        held = [[n] for n in range(300_000)]  # enough for full collections, were they left to the collector
        assert len(held) == 300_000
        assert len(full) == at_start
        await asyncio.sleep(0.1)
        assert len(full) > at_start
        collecting.cancel()
        await asyncio.gather(collecting, return_exceptions=True)

    gc.callbacks.append(note)
    try:
        asyncio.run(serve())
    finally:
        gc.callbacks.remove(note)
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
