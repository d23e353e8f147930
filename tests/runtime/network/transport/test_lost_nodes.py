"""A node that is gone is noticed, and trees are built anew; nothing is lost or doubled, even if it comes back."""

from __future__ import annotations

import asyncio
import shutil
import signal
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from node_servers import access, config, run
from processes import NodeProcess, free_port

from cepheus import Event
from cepheus.core.values import as_int
from cepheus.network import AsyncClient, AsyncSource, Subscription
from cepheus.runtime.network.transport.server import NodeServer

RULES = "define Fire(n: int) from Smoke(n=$n) and last Temp(n=$n) within 1 min from Smoke where n=Smoke.n"
NAMES = ("p1", "p2", "p3")


async def _start(folder: Path, ports: dict[str, int], name: str) -> NodeServer:
    """Start one corner of a triangle; p1 is the leader as long as it is there."""
    text = f'rank = {NAMES.index(name)}\ngone_after = "0.4s"\n'
    for other in NAMES:
        if other != name:
            text += f'[[neighbour]]\nname = "{other}"\naddress = "127.0.0.1:{ports[other]}"\n'
    path = folder / f"{name}.toml"
    settings = config(folder, text, name)
    path.write_text(path.read_text().replace("127.0.0.1:0", f"127.0.0.1:{ports[name]}"))
    from cepheus.runtime.network.transport.config import read_config

    settings = read_config(path)
    server = NodeServer(settings)
    await server.start()
    return server


def test_a_process_that_hangs_is_given_up_by_both_its_neighbours(tmp_path: Path) -> None:
    """Found by trying: one of them, which had been connected to, took more than a minute."""
    nodes = {name: NodeProcess(tmp_path, name) for name in ("west", "middle", "east")}
    nodes["west"].write([("middle", nodes["middle"].port)], gone_after="1s")
    nodes["middle"].write([("west", None), ("east", nodes["east"].port)], gone_after="1s")
    nodes["east"].write([("middle", None)], gone_after="1s")
    try:
        for node in nodes.values():
            node.start()
        ends = [nodes["west"], nodes["east"]]
        _wait_for_words(ends, "middle connected", 60)
        hanging = nodes["middle"].process
        assert hanging is not None
        hanging.send_signal(signal.SIGSTOP)
        _wait_for_words(ends, "'middle' is gone", 45)
        hanging.send_signal(signal.SIGCONT)
        _wait_for_words(ends, "'middle' is back", 60)
    finally:
        for node in nodes.values():
            node.kill()


def _wait_for_words(nodes: Sequence[NodeProcess], words: str, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not all(words in node.log() for node in nodes):
        assert time.monotonic() < end, "\n".join(node.log() for node in nodes)
        time.sleep(0.1)


@pytest.mark.parametrize("keeps_its_state", [True, False])
def test_trees_are_built_anew_without_the_leader_and_again_with_it(tmp_path: Path, *, keeps_its_state: bool) -> None:
    async def check() -> None:
        ports = {name: free_port() for name in NAMES}
        servers = {name: await _start(tmp_path, ports, name) for name in NAMES}
        async with (
            await AsyncClient.connect(access(servers["p2"])) as two,
            await AsyncClient.connect(access(servers["p3"])) as three,
        ):
            await three.deploy(RULES)
            temps, smokes = await two.source("temps", ["Temp"]), await three.source("smokes", ["Smoke"])
            fires = await three.subscribe("Fire")
            got: Counter[int] = Counter()
            watching = asyncio.ensure_future(_watch(fires, got))
            await _publish(temps, smokes, range(1, 20))
            await _until(lambda: len(got) == 19)
            assert servers["p2"].host.node.processor.leader == "p1"
            await servers.pop("p1").stop()
            await _publish(temps, smokes, range(20, 40))
            await _until(lambda: servers["p2"].host.node.processor.leader == "p2")
            await _publish(temps, smokes, range(40, 60))
            await _until(lambda: len(got) == 59)
            if not keeps_its_state:
                shutil.rmtree(tmp_path / "p1.state")
            servers["p1"] = await _start(tmp_path, ports, "p1")
            await _publish(temps, smokes, range(60, 80))
            await _until(lambda: servers["p3"].host.node.processor.leader == "p1")
            await _publish(temps, smokes, range(80, 100))
            await _until(lambda: len(got) == 99)
            assert await three.withdraw(["Fire"])
            await asyncio.gather(temps.close(), smokes.close())
            watching.cancel()
        assert got == Counter(range(1, 100))
        for server in servers.values():
            await server.stop()

    run(check())


async def _publish(temps: AsyncSource, smokes: AsyncSource, numbers: range) -> None:
    for number in numbers:
        time = number * 1000
        await temps.publish([Event("Temp", time - 1, {"n": number})], time)
        await smokes.publish([Event("Smoke", time, {"n": number})], time)


async def _watch(fires: Subscription, got: Counter[int]) -> None:
    async for fire in fires:
        got[as_int(fire["n"] or 0)] += 1


async def _until(holds: object) -> None:
    assert callable(holds)
    while not holds():
        await asyncio.sleep(0.02)
