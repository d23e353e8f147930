"""Real processes: killed and restarted, cut off, and nothing is lost or doubled."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

import pytest
from processes import NodeProcess, Proxy, line_of_three

import cepheus
from cepheus import Event
from cepheus.network import AsyncClient, AsyncSource, Subscription

RULES = """
define Fire(area: string, temp: double)
from Smoke(area=$a) and last Temp(area=$a and value>45) within 5 min from Smoke
where area=Smoke.area and temp=Temp.value
"""
STEP = 20_000
END = -1

Seen = Counter[tuple[str, int, tuple[tuple[str, object], ...]]]


def test_a_killed_processor_comes_back_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    nodes = line_of_three(tmp_path)

    async def trouble(batch: int) -> None:
        if batch in (20, 45):
            nodes["middle"].kill()
        if batch in (30, 55):
            nodes["middle"].start()

    check_line(nodes, batches=70, trouble=trouble)


def test_a_link_that_was_cut_for_a_while_loses_and_doubles_nothing(tmp_path: Path) -> None:
    check_cut(tmp_path, lasting=20)


@pytest.mark.slow
def test_a_link_that_was_cut_for_five_seconds_loses_and_doubles_nothing(tmp_path: Path) -> None:
    check_cut(tmp_path, lasting=250)


@pytest.mark.slow
def test_any_processor_may_be_killed_again_and_again(tmp_path: Path) -> None:
    nodes = line_of_three(tmp_path, extra="checkpoint_bytes = 20000")
    random = Random(5)
    names = list(nodes)

    async def trouble(batch: int) -> None:
        if batch % 25 == 10:
            nodes[names[batch // 25 % 3]].kill()
        if batch % 25 == 10 + random.randrange(3, 10) or batch % 25 == 22:
            for node in nodes.values():
                if node.process is None:
                    node.start()

    check_line(nodes, batches=250, trouble=trouble)


def test_a_node_whose_disk_is_full_ends_and_has_answered_nothing_that_it_forgets(tmp_path: Path) -> None:
    """Found by trying: it went on, and acknowledged what it had not written."""
    node = NodeProcess(tmp_path, "p1")
    node.write([])
    node.start(longest_file=200)
    try:
        found = asyncio.run(_publish_until_it_ends(node, count=2000))
    finally:
        node.kill()
    assert "error[journal-broken]: the journal cannot be written: file too large" in node.log()
    assert "Traceback" not in node.log()
    assert found == [*range(1, 2001)]


async def _publish_until_it_ends(node: NodeProcess, count: int) -> list[int]:
    """Publish to a node whose disk is full at some time, and start it again when it has ended."""
    async with await AsyncClient.connect(node.address) as client:
        seen = await client.subscribe("A")
        source = await client.source("s", ["A"])
        watching = asyncio.ensure_future(_times(seen, count))
        starting = asyncio.ensure_future(_start_again(node))
        for time in range(1, count + 1):
            await source.publish([Event("A", time, {"text": "x" * 100})], time)
        await source.close()
        await starting
        return await asyncio.wait_for(watching, 120)


async def _times(seen: Subscription, count: int) -> list[int]:
    return [(await anext(seen)).time for _ in range(count)]


async def _start_again(node: NodeProcess) -> None:
    assert node.process is not None
    while node.process.poll() is None:
        await asyncio.sleep(0.02)
    assert node.process.poll() == 1
    node.start()


def test_snapshots_are_written_beside_a_node_under_load(tmp_path: Path) -> None:
    """Found by trying: the copy of the process that writes them crashed in gRPC, and journals grew for ever."""
    nodes = line_of_three(tmp_path, extra="checkpoint_bytes = 20000")
    check_line(nodes, batches=60, trouble=_no_trouble)
    for name, node in nodes.items():
        assert "could not be written" not in node.log()
        written = [int(path.suffix[1:]) for path in (tmp_path / f"{name}.state").glob("snapshot.*")]
        assert max(written) >= 2, f"{name} has written {written}"


async def _no_trouble(batch: int) -> None:
    del batch


def check_cut(folder: Path, lasting: int) -> None:
    middle = NodeProcess(folder, "middle")
    proxy = Proxy(middle.port)
    nodes = line_of_three(folder, middle=middle, middle_port=proxy.port)

    async def trouble(batch: int) -> None:
        if batch == 0:
            await proxy.start()
        if batch == 15:
            await proxy.cut()
        if batch == 15 + lasting:
            await proxy.start()
        if batch == END:
            await proxy.cut()

    check_line(nodes, batches=lasting + 40, trouble=trouble)


def check_line(nodes: dict[str, NodeProcess], batches: int, trouble: Callable[[int], Awaitable[None]]) -> None:
    """Publish at both ends of the links while something happens; the sink gets what one processor would give it."""
    try:
        published, got = asyncio.run(_run(nodes, batches, trouble))
    finally:
        for node in nodes.values():
            node.kill()
    want = Counter(map(_key, _at_one_place(published)))
    assert want
    assert got == want, f"missing: {dict(want - got)}\ntoo many: {dict(got - want)}"


async def _run(
    nodes: dict[str, NodeProcess], batches: int, trouble: Callable[[int], Awaitable[None]]
) -> tuple[list[Event], Seen]:
    random = Random(3)
    await trouble(0)
    async with (
        await AsyncClient.connect(nodes["west"].address) as west,
        await AsyncClient.connect(nodes["middle"].address) as middle,
        await AsyncClient.connect(nodes["east"].address) as east,
    ):
        await west.deploy(RULES)
        fires = await east.subscribe("Fire")
        temps, smokes = await asyncio.gather(west.source("temps", ["Temp"]), middle.source("smokes", ["Smoke"]))
        got: Seen = Counter()
        watching = asyncio.ensure_future(_watch(fires, got))
        published: list[Event] = []
        for batch in range(1, batches):
            await trouble(batch)
            published += await _publish(random, batch * STEP, temps, smokes)
            await asyncio.sleep(0.02)
        await trouble(batches)
        await asyncio.gather(temps.close(), smokes.close())
        published.sort(key=lambda event: event.time)
        expected = len(_at_one_place(published))
        for _ in range(1000):
            if got.total() >= expected:
                break
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)  # for what should not come
        watching.cancel()
        await trouble(END)
        return published, got


async def _publish(random: Random, time: int, temps: AsyncSource, smokes: AsyncSource) -> list[Event]:
    hot = [
        Event("Temp", time + 10 * n, {"area": f"A{random.randrange(9)}", "value": random.random() * 60})
        for n in range(40)
    ]
    smoke = [Event("Smoke", time + 55 * n + 3, {"area": f"A{random.randrange(9)}"}) for n in range(5)]
    through = time + STEP - 1
    await asyncio.gather(temps.publish(hot, through), smokes.publish(smoke, through))
    return [*hot, *smoke]


async def _watch(fires: Subscription, got: Seen) -> None:
    async for fire in fires:
        got[_key(fire)] += 1


def _at_one_place(published: list[Event]) -> list[Event]:
    return cepheus.compile(RULES, undeclared="allow").detect(published).to_events()


def _key(event: Event) -> tuple[str, int, tuple[tuple[str, object], ...]]:
    return event.type, event.time, tuple(sorted(event.attributes.items()))
