"""Signals at work: what they tell, what they keep, and the events they give rise to."""

from __future__ import annotations

import asyncio
import gc
import weakref
from datetime import UTC, datetime
from typing import Any

import pytest

import cepheus
from cepheus.core.errors import RuleError, UnsupportedError
from cepheus.reactive import KEY, Change, Emission, KeyedChange, Reactor, becomes, changes
from cepheus.typed import Composite, Event, last, rule


class Temp(Event):
    area: str
    value: float


class Smoke(Event):
    area: str


class Hot(Event):
    area: str
    value: float


class Fire(Composite):
    area: str


def temp(time: int, value: float, area: str = "A1") -> dict[str, Any]:
    return {"type": "Temp", "time": time, "area": area, "value": value}


def smoke(time: int, area: str = "A1") -> dict[str, Any]:
    return {"type": "Smoke", "time": time, "area": area}


def at(second: int) -> datetime:
    return datetime.fromtimestamp(second, UTC)


def test_every_change_is_told_once_at_its_moment() -> None:
    reactor = Reactor(time_unit="s")
    hot = reactor.latest(Temp.value) > 45
    number = reactor.count(Temp, within="10 s")
    told: list[object] = []
    hot.observe(told.append)
    number.observe(told.append)
    reactor.feed([temp(1, 40.0), temp(2, 50.0), temp(3, 51.0), temp(12, 52.0)])
    reactor.advance(30)
    assert told == [
        Change(at(1), False),
        Change(at(1), 1),
        Change(at(2), True),
        Change(at(2), 2),
        Change(at(3), 3),
        Change(at(11), 2),
        Change(at(12), 1),
        Change(at(12), 2),
        Change(at(13), 1),
        Change(at(22), 0),
    ]


def test_two_ways_to_one_signal_never_disagree() -> None:
    reactor = Reactor(time_unit="s")
    value = reactor.latest(Temp.value)
    same = (value + 1) - value
    told: list[Change[float]] = []
    same.observe(told.append)
    reactor.feed([temp(n, float(n)) for n in range(1, 100)])
    assert [change.value for change in told] == [1.0]


def test_functions_read_what_they_need() -> None:
    reactor = Reactor(time_unit="s")
    one, other = reactor.latest(Temp.value, Temp.area == "A1"), reactor.latest(Temp.value, Temp.area == "A2")
    first = reactor.count(Smoke) < 1
    asked: list[None] = []

    def choose() -> float | None:
        asked.append(None)
        found: float | None = one.value if first.value else other.value
        return found

    chosen = reactor.compute(choose, float)
    reactor.feed([temp(1, 1.0), temp(2, 2.0, "A2"), temp(3, 3.0)])
    assert (chosen.value, len(asked)) == (3.0, 3)  # when it was made, and at seconds 1 and 3
    reactor.feed([smoke(4), temp(5, 5.0), temp(6, 6.0, "A2")])
    assert (chosen.value, len(asked)) == (6.0, 5)
    later: list[Any] = []
    early = reactor.compute(lambda: later[0].value if later else chosen.value, float)
    later.append(reactor.latest(Temp.value))
    with pytest.raises(RuleError, match="made after it"):
        reactor.feed([temp(7, 7.0, "A2")])
    assert early.value == 6.0


def test_families_have_a_signal_for_each_key() -> None:
    reactor = Reactor(time_unit="s")
    by_area = reactor.latest(Temp.value, per=Temp.area)
    hot = by_area > 45
    told: list[KeyedChange[bool]] = []
    hot.observe(told.append)
    reactor.feed([temp(1, 50.0), temp(2, 40.0, "A2"), temp(3, 60.0, "A2")])
    assert by_area.value == {"A1": 50.0, "A2": 60.0}
    assert hot["A2"].value is True
    assert [(each.key, each.change.time, each.change.value) for each in told] == [
        ("A1", at(1), True),
        ("A2", at(2), False),
        ("A2", at(3), True),
    ]


def test_signals_give_rise_to_events_that_rules_use() -> None:
    @rule
    def fire(smoke: Smoke) -> Fire:
        hot = last(Hot, Hot.area == smoke.area).within("5 min", of=smoke)
        return Fire(area=hot.area)

    reactor = Reactor(cepheus.compile(fire).start(time_unit="s"))
    by_area = reactor.latest(Temp.value, per=Temp.area)
    reactor.emit(Hot, becomes(by_area > 45), area=KEY, value=by_area)
    fires = reactor.count(Fire)
    events = [temp(1, 50.0), temp(2, 51.0), smoke(3), temp(4, 40.0, "A2"), smoke(5, "A2"), temp(6, 46.0, "A2")]
    found = reactor.feed([*events, smoke(7, "A2")])
    assert [(event.type, event.time // 1_000_000) for event in found.to_events()] == [
        ("Fire", 3),
        ("Fire", 7),
        ("Hot", 1),
        ("Hot", 6),
    ]
    assert fires.value == 2


def test_events_of_signals_that_nobody_reads_come_in_batches() -> None:
    reactor = Reactor(time_unit="s")
    value = reactor.latest(Temp.value)
    emission = reactor.emit(Hot, changes(value), area="x", value=value)
    found = reactor.feed([temp(1, 50.0), temp(2, 50.0), temp(3, 51.0)])
    assert [(event.time, event["value"]) for event in found.to_events()] == [(1_000_000, 50.0), (3_000_000, 51.0)]
    assert not isinstance(emission, list)
    emission.cancel()
    assert len(reactor.feed([temp(4, 52.0)])) == 0


def test_events_do_not_come_from_themselves() -> None:
    reactor = Reactor(time_unit="s")
    with pytest.raises(RuleError, match="would come from themselves"):
        reactor.emit(Hot, becomes(reactor.count(Hot) < 3), area="x", value=1.0)
    with pytest.raises(RuleError, match="a Hot needs value"):
        reactor.emit(Hot, becomes(reactor.count(Temp) < 3), area="x")


def test_rules_that_signals_feed_take_events_in_order() -> None:
    reactor = Reactor(time_unit="s", lateness="10 s")
    reactor.emit(Hot, becomes(reactor.latest(Temp.value) > 45), area="x", value=1.0)
    seen = reactor.count(Hot)
    with pytest.raises(UnsupportedError, match="in order"):
        reactor.feed([temp(1, 50.0)])
    assert seen.value == 0


def test_signals_that_nobody_holds_are_collected() -> None:
    reactor = Reactor(time_unit="s")
    value = reactor.latest(Temp.value)
    hot = value > 45
    watched = weakref.ref(hot), weakref.ref(value)
    observer = hot.observe(lambda _: None)
    del hot, value
    gc.collect()
    assert all(reference() is not None for reference in watched)  # an observer holds what it observes
    observer.cancel()
    del observer
    gc.collect()
    assert [reference() for reference in watched] == [None, None]
    by_area = reactor.latest(Temp.value, per=Temp.area)
    reactor.feed([temp(1, 50.0)])
    member = weakref.ref(by_area["A1"])
    del by_area
    gc.collect()
    assert member() is None
    assert not list(reactor._signals.values())


def test_families_end_and_leave_nothing_behind() -> None:
    reactor = Reactor(time_unit="s")
    by_area = reactor.latest(Temp.value, per=Temp.area)
    told: list[object] = []
    observers = by_area.observe(told.append)
    emissions = reactor.emit(Hot, becomes(by_area > 45), area=KEY, value=by_area)
    assert not isinstance(emissions, Emission)
    assert len(reactor.feed([temp(1, 50.0)])) == 1
    before = len(by_area.keys.listeners)
    for _ in range(20):
        assert ((by_area > 45) & (by_area < 90)).value == {"A1": True}
    gc.collect()
    assert len(by_area.keys.listeners) == before
    observers.cancel()
    emissions.cancel()
    emissions.cancel()
    assert len(reactor.feed([{**temp(2, 60.0), "area": "new"}])) == 0
    assert len(told) == 1
    keys = weakref.ref(by_area.keys)
    del by_area, observers, emissions
    gc.collect()
    assert keys() is None
    assert not list(reactor._signals.values())


def test_a_family_that_is_observed_waits_for_its_first_key() -> None:
    reactor = Reactor(time_unit="s")
    told: list[KeyedChange[Any]] = []
    reactor.latest(Temp.value, per=Temp.area).observe(told.append)
    gc.collect()
    reactor.feed([temp(1, 50.0)])
    assert [each.key for each in told] == ["A1"]


def test_changes_can_be_awaited() -> None:
    async def listen() -> list[bool | None]:
        reactor = Reactor(time_unit="s")
        hot = reactor.latest(Temp.value) > 45

        async def feed() -> None:
            for time, value in ((1, 50.0), (2, 51.0), (3, 40.0)):
                reactor.feed([temp(time, value)])
                await asyncio.sleep(0)
            reactor.close()

        stream = hot.changes()
        task = asyncio.create_task(feed())
        found = [change.value async for change in stream]
        await task
        return found

    assert asyncio.run(listen()) == [True, False]


def test_what_makes_no_sense_is_refused() -> None:
    reactor = Reactor()
    value = reactor.latest(Temp.value)
    with pytest.raises(RuleError, match="neither true nor false"):
        bool(value > 3)
    with pytest.raises(RuleError):
        assert value > "a"
    with pytest.raises(RuleError, match="different reactors"):
        value + Reactor().latest(Temp.value)
    with pytest.raises(RuleError, match="no such aggregate"):
        reactor.aggregate("average", Temp.value, within="1 s")
    with pytest.raises(RuleError, match="without an end"):
        reactor.aggregate("avg", Temp.value)
    with pytest.raises(RuleError, match="which events are meant"):
        reactor.latest(3.0)
    with pytest.raises(RuleError, match="names 'Smoke' by its class"):
        reactor.latest(Temp.value, Smoke.area == "A1")
