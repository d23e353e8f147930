"""Signals over a network: what each level of consistency promises, shown on simulated networks of every kind."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1] / "network"))

from promise_trials import run_with_promises, with_sources
from trials import Trial, make_trial

from cepheus.core.batch import EventBatch
from cepheus.core.errors import OptionError, UnsupportedError
from cepheus.core.event import Event as EventRecord
from cepheus.core.time import MIN_TIME
from cepheus.reactive import Change, Follower, Reactor, Signal, follow
from cepheus.runtime.network.protocol.messages import Delivered
from cepheus.runtime.network.protocol.strategy import Strategy
from cepheus.runtime.reactive import following
from cepheus.typed import Composite, Event, event_type, rule


def signals_of(reactor: Reactor, types: tuple[str, ...], random: Random) -> list[Signal[Any]]:
    """Signals over events of some types, and signals over these."""
    found: list[Signal[Any]] = []
    for name in types:
        kind = type(name, (Event,), {"__annotations__": {}}, name=name)
        found.append(reactor.count(kind))
        found.append(reactor.count(kind, within=f"{random.choice((3, 10, 40))} us"))
    return [*found, found[0] + found[-1], found[1] * 2 > found[-2], found[0] == found[-1]]


def observed(reactor: Reactor, types: tuple[str, ...], seed: int) -> list[list[tuple[int, object]]]:
    """What observers of some signals are told, as lists that grow."""
    told: list[list[tuple[int, object]]] = []
    for signal in signals_of(reactor, types, Random(f"signals {seed}")):
        mine: list[tuple[int, object]] = []
        told.append(mine)

        def note(change: Change[Any], mine: list[tuple[int, object]] = mine) -> None:
            mine.append((int(change.time.timestamp() * 1_000_000 + 0.5), change.value))

        signal.observe(note)
        mine.append((-1, signal))  # observers alone do not hold a signal's name for the test
    return told


def delivered_to(trial: Trial) -> dict[str, list[Delivered]]:
    """What the sinks of a trial are told, in order."""
    found: dict[str, list[Delivered]] = {name: [] for name in trial.sinks}
    run_with_promises(trial, lambda message: found[message.sink].append(message))
    return found


@pytest.mark.parametrize("strategy", list(Strategy), ids=lambda strategy: strategy.value)
def test_glitch_free_is_what_one_process_sees(strategy: Strategy) -> None:
    """Every change of every signal is that of one reactor which gets all events, in order, at once."""
    changes = 0
    for seed in range(15):
        trial = with_sources(make_trial(seed, strategy))
        for sink, messages in delivered_to(trial).items():
            types = trial.sinks[sink][1]
            over, alone = Reactor(), Reactor()
            follower = Follower.of(over, "glitch-free")
            spread, whole = observed(over, types, seed), observed(alone, types, seed)
            for message in messages:
                follower.take(message.events, message.through)
            events = [event for message in messages for event in message.events]
            events.sort(key=lambda event: (event.time, bool(event.made_of)))
            if events:
                alone.feed(EventBatch.from_events(events))
            alone.advance(follower.through)
            assert [told[1:] for told in spread] == [told[1:] for told in whole], trial.describe()
            assert follower.late == 0
            changes += sum(len(told) - 1 for told in whole)
    assert changes > 150


@pytest.mark.parametrize("strategy", list(Strategy), ids=lambda strategy: strategy.value)
def test_causal_shows_each_event_at_once_and_never_goes_back(strategy: Strategy) -> None:
    for seed in range(6):
        trial = with_sources(make_trial(seed, strategy))
        for sink, messages in delivered_to(trial).items():
            reactor = Reactor()
            follower = Follower.of(reactor, "causal")
            kind = type(trial.sinks[sink][1][0], (Event,), {"__annotations__": {}}, name=trial.sinks[sink][1][0])
            count = reactor.count(kind)
            seen, before = 0, MIN_TIME
            for message in messages:
                follower.take(message.events, message.through)
                seen += sum(event.type == event_type(kind).name for event in message.events)
                assert count.value == seen
                assert follower.through >= before
                before = follower.through


class Temp(Event):
    value: float


class Hot(Composite):
    value: float


@rule
def hot(temp: Temp) -> Hot:
    return Hot(value=temp.value)


def test_what_is_not_promised_is_refused() -> None:
    import cepheus

    with pytest.raises(UnsupportedError, match="does not promise atomic"):
        Follower.of(Reactor(), "atomic")
    with pytest.raises(OptionError, match="'glitchfree' is not a choice"):
        Follower.of(Reactor(), "glitchfree")
    with pytest.raises(UnsupportedError, match="rules need events in the order of time"):
        Follower.of(Reactor(cepheus.compile(hot).start()), "causal")
    Follower.of(Reactor(cepheus.compile(hot).start()), "glitch-free")


def test_an_event_against_a_promise_is_told() -> None:
    late: list[EventRecord] = []
    reactor = Reactor()
    latest = reactor.latest(Temp.value)
    follower = Follower.of(reactor, "glitch-free", late.append)
    follower.take([EventRecord("Temp", 5, {"value": 1.0})])
    seen = [latest.value]
    follower.take((), 7)
    seen.append(latest.value)
    follower.take([EventRecord("Temp", 6, {"value": 2.0})], 9)
    assert [*seen, latest.value] == [None, 1.0, 1.0]
    assert (follower.late, [event.time for event in late]) == (1, [6])


def test_rules_of_a_reactor_run_over_what_is_delivered() -> None:
    import cepheus

    reactor = Reactor(cepheus.compile(hot).start())
    count = reactor.count(Hot)
    assert reactor.reads == {"Temp"}
    follower = Follower.of(reactor, "glitch-free")
    follower.take([EventRecord("Temp", 9, {"value": 2.0}), EventRecord("Temp", 5, {"value": 1.0})], 8)
    assert count.value == 1
    follower.take((), 9)
    assert count.value == 2


class Silent:
    """A subscription that delivers what is put into its queue; who asks for more is answered behind all of that."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.queue: asyncio.Queue[Delivered] = asyncio.Queue()
        self.closed = False

    async def subscribe(self, *patterns: str, promises: bool = False) -> Silent:
        assert promises
        self.asked.append(patterns)
        return self

    async def take_delivery(self) -> Delivered:
        return await self.queue.get()

    async def extend(self, *patterns: str) -> None:
        while not self.queue.empty():
            await asyncio.sleep(0)
        self.asked.append(patterns)

    async def close(self) -> None:
        self.closed = True


def test_signals_that_are_made_later_are_followed_before_anything_is_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "GLANCE_SECONDS", 0.01)

    async def check() -> None:
        reactor, network = Reactor(), Silent()
        task = asyncio.ensure_future(follow(network, reactor))
        await asyncio.sleep(0.05)
        latest = reactor.latest(Temp.value)
        async with asyncio.timeout(5):
            while len(network.asked) < 2:
                await asyncio.sleep(0.01)
        assert network.asked == [(), ("Temp",)]
        await network.queue.put(Delivered("k", (EventRecord("Temp", 5, {"value": 1.0}),), 7))
        async with asyncio.timeout(5):
            while latest.value != 1.0:
                await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert network.closed

    asyncio.run(check())


def test_deliveries_are_taken_while_more_is_asked_for() -> None:
    async def check() -> None:
        reactor, network = Reactor(), Silent()
        temps = reactor.count(Temp)
        made: list[Signal[int]] = []

        def ask_for_more(_: object) -> None:
            if not made:
                made.append(reactor.count(Hot))

        temps.observe(ask_for_more)
        for time in range(1, 40):
            network.queue.put_nowait(Delivered("k", (EventRecord("Temp", time, {"value": 1.0}),), time))
        task = asyncio.ensure_future(follow(network, reactor))
        async with asyncio.timeout(20):
            while len(network.asked) < 2:
                await asyncio.sleep(0.01)
        assert (temps.value, network.asked) == (39, [("Temp",), ("Hot",)])
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(check())
