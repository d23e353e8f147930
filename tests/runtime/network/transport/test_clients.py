"""Clients without asyncio, figures for Prometheus, and nodes that come back as they were."""

from __future__ import annotations

import asyncio
import urllib.request
from pathlib import Path

import pytest
from node_servers import access, config, run, serving
from processes import NodeProcess, free_port

from cepheus import Event
from cepheus.core.errors import EventError, OptionError, RuleError, UnsupportedError
from cepheus.network import Access, AsyncClient, Client, NetworkError
from cepheus.runtime.network.transport.client import Session
from cepheus.runtime.network.transport.server import NodeServer
from cepheus.runtime.network.transport.status import serve_metrics

RULES = "define Fire(n: int) from Smoke(n=$n) and last Temp(n=$n) within 1 min from Smoke where n=Smoke.n"


def test_a_plain_program_publishes_subscribes_and_deploys(tmp_path: Path) -> None:
    node = NodeProcess(tmp_path, "p1")
    node.write([])
    node.start()
    try:
        with Client(Access(node.address)) as client:
            since = client.deploy(RULES)
            assert since is not None
            assert since < 0
            fires = client.subscribe("Fire(n > 1)")
            assert fires.take(timeout=0.05) == ()
            with client.source("s", ["Smoke", "Temp"]) as source:
                assert source.since < 0
                pairs = [(Event("Temp", 10 * n, {"n": n}), Event("Smoke", 10 * n + 1, {"n": n})) for n in range(4)]
                source.publish([event for pair in pairs for event in pair], through=100)
                source.publish([Event("Smoke", 50, {"n": 9})])
                assert [fire["n"] for _, fire in zip(range(2), fires, strict=False)] == [2, 3]
                source.promise(200)
            assert source.late == 1
            assert client.status()["rules"] == ["Fire"]
            assert client.status()["ties"]["uncounted"] == ["network"]
            with pytest.raises(RuleError, match="already deployed"):
                client.deploy(RULES)
            with pytest.raises(UnsupportedError, match="does not support min probability"):
                client.deploy("define F() from Smoke() min probability 0.5")
            client.withdraw(["Fire"])
            fires.close()
    finally:
        node.kill()
    with pytest.raises(NetworkError, match="no connection"):
        Client(Access(node.address, patience=0.1))


@pytest.mark.parametrize("strategy", ["ST", "MT"])
def test_a_moment_is_named_only_where_rules_hold_from_one_moment_on(tmp_path: Path, strategy: str) -> None:
    """With many trees each takes rules up at a moment of its own: events of long ago count, whatever the clock says."""

    async def check() -> tuple[int | None, list[int], int | None]:
        settings = config(tmp_path, f'strategy = "{strategy}"\n')
        async with serving(settings) as server, await AsyncClient.connect(access(server)) as client:
            alarms = await client.subscribe("Alarm")
            source = await client.source("s", ["Smoke"])
            await source.publish([Event("Smoke", 5)], 5)
            since = await client.deploy("define Alarm() from Smoke()")
            await client.deploy("define Other() from Alarm()")  # the first change is through once this one is
            await source.publish([Event("Smoke", 9)], 9)
            found = [alarm.time for alarm in await alarms.take(10)]
            gone = await client.withdraw(["Alarm"])
            await source.close()
            return since, found, gone

    since, found, gone = run(check())
    assert found == [9]
    if strategy == "ST":
        assert since is not None
        assert 5 < since <= 9
        assert gone is not None
        assert gone > 9
    else:
        assert (since, gone) == (None, None)


def test_figures_for_prometheus(tmp_path: Path) -> None:
    port = free_port()

    async def check() -> str:
        async with serving(config(tmp_path, f'metrics = "127.0.0.1:{port}"\n')) as server:
            with serve_metrics(server):
                async with await AsyncClient.connect(access(server)) as client:
                    source = await client.source("s", ["A"])
                    await source.publish([Event("A", 1), Event("A", 2)], 2)
                    await source.close()
                with pytest.raises(OptionError, match="cannot listen"), serve_metrics(server):
                    pass
                return await asyncio.to_thread(_get, f"http://127.0.0.1:{port}/metrics")

    text = run(check())
    assert "cepheus_events_total 2.0" in text
    assert "cepheus_journal_bytes" in text


def _get(address: str) -> str:
    with urllib.request.urlopen(address) as answer:
        found: bytes = answer.read()
    return found.decode()


def test_a_node_comes_back_as_it_was(tmp_path: Path) -> None:
    async def check() -> None:
        settings = config(tmp_path)
        async with serving(settings) as server, await AsyncClient.connect(access(server)) as client:
            await client.deploy(RULES)
            source = await client.source("s", ["Temp", "Smoke"])
            await source.publish([Event("Temp", 5, {"n": 1})], 5)
            await source.close()
        async with serving(settings) as server, await AsyncClient.connect(access(server)) as client:
            fires = await client.subscribe("Fire")
            source = await client.source("t", ["Smoke"])
            await source.publish([Event("Smoke", 9, {"n": 1})], 9)
            assert [fire["n"] for fire in await fires.take(10)] == [1]
            await source.close()
        with pytest.raises(OptionError, match="another name, neighbours or strategy"):
            NodeServer(config(tmp_path, 'strategy = "MT"\n'))

    run(check())


def test_a_client_whose_session_another_takes_up_is_told(tmp_path: Path) -> None:
    """Its connection just ended, it took that for the end of its own work, and waited for events for ever."""

    async def check() -> None:
        async with serving(config(tmp_path)) as server:
            first = await AsyncClient.connect(access(server), Session())
            fires = await first.subscribe("Fire")
            place = first.position
            second = AsyncClient(access(server), place)
            same = second.taken_up(fires.sink)
            await second.ready()
            with pytest.raises(NetworkError, match="another connection has taken up the session"):
                await fires.take()
            async with await AsyncClient.connect(access(server)) as client:
                source = await client.source("s", ["Fire"])
                await source.publish([Event("Fire", 5)], 5)
                await source.close()
            assert [fire.time for fire in await same.take()] == [5]
            await first.abandon()
            await second.close()

    run(check())


def test_a_client_that_is_cut_off_is_told(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(config(tmp_path, "[limits]\nbacklog_bytes = 500\n")) as server:
            slow = await AsyncClient.connect(access(server), Session())  # it confirms nothing
            fires = await slow.subscribe("Fire")
            async with await AsyncClient.connect(access(server)) as client:
                source = await client.source("s", ["Fire"])
                for time in range(1, 20):
                    await source.publish([Event("Fire", time)], time)
                await source.close()
            server.host.sweep()
            with pytest.raises(NetworkError, match="does not keep up"):
                async for _ in fires:
                    pass
            await slow.abandon()

    run(check())


def test_a_client_comes_back_when_the_node_closes_its_connection(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(config(tmp_path)) as server, await AsyncClient.connect(access(server)) as sink:
            fires = await sink.subscribe("Fire")
            for connection in server.host.connections.values():
                connection.close()
            async with await AsyncClient.connect(access(server)) as client:
                source = await client.source("s", ["Fire"])
                await source.publish([Event("Fire", 5)], 5)
                await source.close()
            assert [fire.time for fire in await fires.take()] == [5]

    run(check())


def test_a_node_counts_from_its_start(tmp_path: Path) -> None:
    """Links remember how many messages they ever carried; a status tells what came since the node was started."""

    async def check() -> None:
        settings = config(tmp_path, '[[neighbour]]\nname = "p2"\n')
        async with serving(settings) as server, await AsyncClient.connect(access(server)) as client:
            await client.drained()
            before = server.host.messages("p2")
            assert before[0] > 0  # it has told its neighbour of itself, who has not heard it yet
        async with serving(settings) as server, await AsyncClient.connect(access(server)) as client:
            (link,) = (await client.status())["links"]
            assert (link["sent"], link["received"]) == (0, 0)
            assert link["waiting"] == before[0]

    run(check())


def test_a_subscription_may_come_before_its_rule(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def check() -> None:
        async with serving(config(tmp_path)) as server, await AsyncClient.connect(access(server)) as client:
            fires = await client.subscribe("Fire")
            assert "no rule makes events of type 'Fire'" in caplog.text
            await client.deploy(RULES)
            source = await client.source("s", ["Temp", "Smoke"])
            await source.publish([Event("Temp", 5, {"n": 1}), Event("Smoke", 9, {"n": 1})], 9)
            assert [fire["n"] for fire in await fires.take(10)] == [1]
            with pytest.raises(EventError, match=r"Temp\.n is of type int, but the event at 11 has a text, 'one'"):
                await source.publish([Event("Temp", 10, {"n": 1}), Event("Temp", 11, {"n": "one"})])
            await source.close()

    run(check())
