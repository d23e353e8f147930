"""Queues between nodes: messages of any length go through, and what cannot go on does not fill the memory."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from node_servers import access, config, run, serving
from processes import Proxy, free_port

from cepheus import Event
from cepheus.network import AsyncClient, AsyncSource
from cepheus.runtime.network.transport.server import NodeServer


class Line:
    """The nodes p1 (the root), p2 and p3 in a line; p2 reaches p1 through a proxy."""

    def __init__(self, folder: Path, limits: str) -> None:
        self._folder, self._limits = folder, limits
        self._ports = (free_port(), free_port(), 0)
        self.proxy = Proxy(self._ports[0])
        self.servers: list[NodeServer] = []

    async def start(self, stack: AsyncExitStack) -> None:
        neighbours: list[dict[str, int]] = [{"p2": 0}, {"p1": self.proxy.port, "p3": 0}, {"p2": self._ports[1]}]
        for place, known in enumerate(neighbours):
            text = f'rank = {place}\ngone_after = "0s"\n[limits]\n{self._limits}\n'
            for name, port in known.items():
                address = f'address = "127.0.0.1:{port}"\n' if port else ""
                text += f'[[neighbour]]\nname = "{name}"\n{address}'
            settings = config(self._folder, text, f"p{place + 1}", self._ports[place])
            self.servers.append(await stack.enter_async_context(serving(settings)))
        await self.proxy.start()
        stack.push_async_callback(self.proxy.cut)

    async def client(self, stack: AsyncExitStack, place: int) -> AsyncClient:
        connecting = AsyncClient.connect(access(self.servers[place], patience=30.0))
        return await stack.enter_async_context(await connecting)


def test_messages_between_nodes_may_be_longer_than_those_of_clients(tmp_path: Path) -> None:
    """Found by trying: rules that a client deployed in parts are one message when they go on to another node."""

    async def check() -> None:
        async with AsyncExitStack() as stack:
            line = Line(tmp_path, "message_bytes = 100000")
            await line.start(stack)
            near, far = await line.client(stack, 0), await line.client(stack, 2)
            for part in range(8):
                rules = [f"define R{part}_{n}(t: string) from A() where t='{'x' * 2000}'" for n in range(10)]
                await near.deploy("\n".join(rules))
            seen = await near.subscribe("R7_9")
            source = await far.source("s", ["A"])
            await source.publish([Event("A", 7)], 7)
            assert [event.time for event in await seen.take(30)] == [7]
            await source.close()

    run(check(), 120)


def test_a_queue_two_links_away_lets_sources_wait(tmp_path: Path) -> None:
    """Found by trying: while the root could not be reached, the queue of the node next to it grew for ever."""

    async def check() -> None:
        async with AsyncExitStack() as stack:
            line = Line(tmp_path, "window_bytes = 50000")
            await line.start(stack)
            near, far = await line.client(stack, 0), await line.client(stack, 2)
            seen = await near.subscribe("A")
            source = await far.source("s", ["A"])
            await line.proxy.cut()
            publishing = asyncio.ensure_future(_publish(source, 3000))
            longest = await _longest_queue(line.servers, publishing)
            assert not publishing.done(), "the source was not held up"
            assert longest < 500_000, f"{longest} bytes wait"
            assert (await far.status())["held_up_by"] == ["p2"]
            await line.proxy.start()
            found: list[int] = []
            while len(found) < 3000:
                found += [event.time for event in await seen.take(60)]
            await publishing
            assert found == [*range(1, 3001)]
            await source.close()

    run(check(), 120)


async def _publish(source: AsyncSource, count: int) -> None:
    for time in range(1, count + 1):
        await source.publish([Event("A", time, {"text": "x" * 1000})], time)


async def _longest_queue(servers: list[NodeServer], publishing: asyncio.Future[None]) -> int:
    """Watch for three seconds after a queue has become long."""
    longest, left = 0, 150
    while left and not publishing.done():
        await asyncio.sleep(0.02)
        queues = [server.host.link(name).waiting for server in servers for name in server.host.neighbours]
        longest = max([longest, *queues])
        if longest > 50_000:
            left -= 1
    return longest
