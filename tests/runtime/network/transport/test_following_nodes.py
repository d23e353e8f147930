"""A reactor that follows real nodes: signals over what sources at another node publish."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from node_servers import access, config, run, serving
from processes import free_port

from cepheus import Event as EventRecord
from cepheus.core.errors import UnsupportedError
from cepheus.network import Access, AsyncClient
from cepheus.reactive import Reactor, follow
from cepheus.typed import Composite, Event


class Temp(Event):
    value: float


class Smoke(Event):
    value: float


class Fire(Composite):
    value: float


RULES = "define Fire(value: double) from Smoke() and last Temp(value > 45) within 5 s from Smoke where value=Temp.value"


@pytest.mark.parametrize("strategy", ["ST", "MT"])
def test_signals_over_a_network(tmp_path: Path, strategy: str) -> None:
    async def check() -> None:
        text = f'strategy = "{strategy}"\n[[neighbour]]\nname = "{{other}}"\n'
        first, port = text.format(other="p2"), free_port()
        async with serving(config(tmp_path, first, "p1", port)) as one:
            second = text.format(other="p1") + f'address = "127.0.0.1:{port}"\n'
            async with serving(config(tmp_path, second, "p2")) as two:
                await watch(access(one), access(two))

    async def watch(near: Access, far: Access) -> None:
        async with await AsyncClient.connect(near) as watcher, await AsyncClient.connect(far) as client:
            await client.deploy(RULES)
            reactor = Reactor()
            hottest, fires = reactor.max(Temp.value, within="1 h"), reactor.count(Fire)
            following = asyncio.ensure_future(follow(watcher, reactor))
            async with (
                await client.source("temps", ["Temp"]) as temps,
                await client.source("smoke", ["Smoke"]) as smoke,
            ):
                base = max(temps.since, smoke.since, 0)
                await asyncio.sleep(0.3)
                await smoke.publish([EventRecord("Smoke", base + 2_000_000, {"value": 1.0})], base + 3_000_000)
                await asyncio.sleep(0.3)
                assert (hottest.value, fires.value) == (None, 0), "the temperatures may still come"
                made = [
                    EventRecord("Temp", base + at, {"value": value})
                    for at, value in ((1_000_000, 51.0), (2_500_000, 60.0))
                ]
                await temps.publish(made, base + 3_000_000)
                while fires.value != 1 or hottest.value != 60.0:
                    await asyncio.sleep(0.02)
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            with pytest.raises(UnsupportedError, match="atomic"):
                await follow(watcher, reactor, consistency="atomic")

    run(check())
