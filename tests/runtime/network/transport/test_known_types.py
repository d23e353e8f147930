"""What a node tells clients of types of events, and what clients make of it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from node_servers import access, config, run, serving

import cepheus
from cepheus import Event
from cepheus.core.errors import EventError
from cepheus.network import AsyncClient, AsyncSource
from cepheus.rules.check import check
from cepheus.rules.model import Rule
from cepheus.runtime.network.processor.processor import Processor
from cepheus.runtime.network.protocol.event_columns import EventColumns
from cepheus.runtime.network.protocol.messages import DeployRules, Ordered, Renew, Start
from cepheus.runtime.network.protocol.strategy import Options, Strategy
from cepheus.runtime.network.transport.known_types import KnownTypes, TypeBook, check_events

HEAT = "define Hot(k: int) from Heat(k=$k) where k=$k"
CONFLICT = ("define Fire(n: int, m: int) from Smoke() where n=1, m=1", "define Fire(n: string) from Fog() where n='x'")


def rule_of(text: str, name: str) -> Rule:
    (rule,) = cepheus.compile(text).rules.rules
    assert isinstance(rule, Rule)
    return replace(rule, name=name)


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Notes how many rules each check of rules for the types of a node had."""
    seen: list[int] = []

    def counted(rules: Any, **options: Any) -> Any:
        seen.append(len(rules.rules))
        return check(rules, **options)

    monkeypatch.setattr("cepheus.runtime.network.transport.known_types.check", counted)
    return seen


def test_rules_are_checked_again_only_when_they_have_changed(checks: list[int]) -> None:
    book, processor = TypeBook(), Processor("p", ())
    processor.handle(Start(), 0)
    assert book.known(processor) == KnownTypes({}, frozenset(), rules_known=True)
    processor.handle(DeployRules("r1", (rule_of(HEAT, "R1"),)), 0, "client")
    first = book.known(processor)
    assert first.attributes == {"Heat": {"k": "int"}, "Hot": {"k": "int"}}
    assert first.declared == {"Hot"}
    processor.handle(Renew(0, (0, 0)), 1)  # nothing new in it
    assert book.known(processor) == first
    assert checks == [1]
    processor.handle(DeployRules("r2", (rule_of("define Fire() from Smoke()", "R2"),)), 2, "client")
    assert set(book.known(processor).attributes) == {"Heat", "Hot", "Smoke", "Fire"}
    assert checks == [1, 2]


def test_a_node_is_asked_often_and_checks_its_rules_once(tmp_path: Path, checks: list[int]) -> None:
    async def work() -> None:
        async with serving(config(tmp_path)) as server, await AsyncClient.connect(access(server)) as client:
            await client.deploy(HEAT)
            await client.status()
            await client.subscribe("Hot")
            await (await client.source("s", ["Heat"])).close()
            assert (await client.known_types()).attributes["Heat"] == {"k": "int"}

    run(work())
    assert checks == [1]


def test_rules_that_do_not_fit_together_leave_what_is_known(tmp_path: Path) -> None:
    """With many trees, parts of a network that were apart may take up such rules, and a Renew brings them together."""
    parts = [Ordered(rule_of(text, f"R{n}"), n, f"p{n}", 0) for n, text in enumerate(CONFLICT)]
    processor = Processor("p", (), Options(Strategy.MT))
    processor.handle(Start(), 0)
    processor.handle(Renew(0, (0, 0), tuple(parts)), 0)
    found = TypeBook().known(processor)
    assert found.attributes == {"Fire": {"n": None, "m": "int"}, "Smoke": {}, "Fog": {}}
    assert found.declared == {"Fire"}
    assert found.rules_known

    async def work() -> None:
        async with (
            serving(config(tmp_path, 'strategy = "MT"\n')) as server,
            await AsyncClient.connect(access(server)) as client,
        ):
            server.host.tell(Renew(0, (0, 0), tuple(parts)))
            assert (await client.status())["rules"] == ["R0", "R1"]
            assert await client.known_types() == found

    run(work())


def test_what_nobody_knows_is_said_once_and_together(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async with serving(config(tmp_path)) as server, await AsyncClient.connect(access(server)) as client:
            await client.deploy("define Fire(area: string) from Smoke() where area=Smoke.area")
            for _ in range(3):
                await client.subscribe("Flood", "Storm(level > 3)", "Storm(level > 5)", "Fier", "Fire(are = 'A1')")
            await client.subscribe("Quake", "Flood")

    run(work())
    said = [record.getMessage() for record in caplog.records if "network-types" in record.getMessage()]
    assert len(said) == 2, said
    assert said[0].count("warning[network-types]") == 2
    assert "no rule makes events of types 'Flood', 'Storm' and 'Fier'" in said[0]
    assert "did you mean 'Fire' instead of 'Fier'?" in said[0]
    assert "'Fire' has no attribute 'are'" in said[0]
    assert "no rule makes events of type 'Quake'" in said[1]


def test_a_source_learns_that_rules_have_changed(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(config(tmp_path)) as server, await AsyncClient.connect(access(server)) as client:
            await client.deploy(HEAT)
            source = await client.source("s", ["Heat"])
            with pytest.raises(EventError, match=r"Heat\.k is of type int"):
                await source.publish([Event("Heat", 1, {"k": "three"})])
            await client.withdraw(["Hot"])
            await client.deploy("define Warm() from Heat(k = 'three')")
            warm = await client.subscribe("Warm")
            await source.publish([Event("Heat", 2, {"k": "three"})], 2)
            assert [event.time for event in await warm.take(10)] == [2]
            with pytest.raises(EventError, match=r"Heat\.k is of type string"):
                await source.publish([Event("Heat", 3, {"k": 3})])
            await source.close()

    run(work())


def test_what_was_known_holds_while_the_node_is_away(tmp_path: Path) -> None:
    async def work() -> None:
        async with serving(config(tmp_path)) as server:
            client = await AsyncClient.connect(access(server))
            await client.deploy(HEAT)
            source = await client.source("s", ["Heat"])
        for _ in range(2):
            with pytest.raises(EventError, match=r"Heat\.k is of type int"):
                await source.publish([Event("Heat", 1, {"k": "three"})])
        assert await client.known_types() == KnownTypes()
        await client.abandon()

    run(work())


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ((1, 2), "the attribute 'x' has lists, which a network does not carry"),
        ([1, 2], "the attribute 'x' has lists, which a network does not carry"),
        (math.nan, r"A\.x: nan is not a finite number"),
        (-math.inf, r"A\.x: -inf is not a finite number"),
        (2**63, r"A\.x: 9223372036854775808 does not fit in 64 bits"),
        (b"x", r"A\.x: b'x' is no value of an event"),
        (np.int64(3), "is no value of an event"),
    ],
)
def test_what_a_network_does_not_carry_is_refused_and_the_session_goes_on(
    tmp_path: Path, value: Any, message: str
) -> None:
    async def work() -> None:
        async with serving(config(tmp_path)) as server, await AsyncClient.connect(access(server)) as client:
            seen = await client.subscribe("A")
            source = await client.source("s", ["A"])
            with pytest.raises(EventError, match=message):
                await source.publish([Event("A", 1, {"x": None}), Event("A", 1, {"x": 1}), Event("A", 2, {"x": value})])
            await source.publish([Event("A", 3, {"x": 1})], 3)
            assert [event.time for event in await seen.take(10)] == [3]
            await source.close()

    run(work(), seconds=20)


def test_a_value_of_numpy_is_one_of_its_kind() -> None:
    known = KnownTypes({"A": {"x": "double", "y": "int"}})
    check_events([Event("A", 1, {"x": np.float64(1.5), "y": None})], known)
    with pytest.raises(EventError, match=r"A\.y is of type int, but the event at 2 has a double"):
        check_events([Event("A", 1, {"y": 1}), Event("A", 2, {"y": np.float64(1.5)})], known)


def test_events_are_put_into_columns_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []
    of = EventColumns.of

    def counted(events: Any) -> EventColumns:
        if not isinstance(events, EventColumns):
            rows.append(len(events := list(events)))
        return of(events)

    async def work() -> None:
        async with serving(config(tmp_path)) as server, await AsyncClient.connect(access(server)) as client:
            source: AsyncSource = await client.source("s", ["A"])
            monkeypatch.setattr(EventColumns, "of", counted)
            await source.publish([Event("A", n, {"x": n}) for n in range(4500)], 4500)
            await client.drained()
            assert rows == [2000, 2000, 500]
            monkeypatch.undo()
            await source.close()

    run(work())
