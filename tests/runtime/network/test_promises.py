"""Sinks that ask are told how far everything has been delivered, and it is true: random networks, faults, losses."""

from __future__ import annotations

from collections import deque

import pytest
from promise_trials import check_promise_trial, check_promise_trial_with_faults, check_promise_trial_with_loss

import cepheus
from cepheus.core.event import Event
from cepheus.language.tesla import parse_event_pattern
from cepheus.runtime.network.processor.processor import Processor
from cepheus.runtime.network.protocol.messages import (
    AttachSink,
    AttachSource,
    Completed,
    Delivered,
    DeployRules,
    DetachSource,
    Lost,
    Message,
    Publish,
    Start,
    Tick,
)
from cepheus.runtime.network.protocol.strategy import Options, Order, Strategy
from cepheus.runtime.network.simulation.simulator import Network

LINE = {("p1", "p2"): 5, ("p2", "p3"): 40}


@pytest.mark.parametrize("strategy", list(Strategy), ids=lambda strategy: strategy.value)
def test_promises_hold_and_come(strategy: Strategy) -> None:
    assert sum(check_promise_trial(seed, strategy) for seed in range(8)) > 40


def test_promises_hold_with_faults() -> None:
    assert sum(check_promise_trial_with_faults(seed) for seed in range(3)) > 15


def test_promises_hold_when_a_processor_is_lost() -> None:
    assert sum(check_promise_trial_with_loss(seed) for seed in range(3)) > 15


def test_what_waits_for_answers_is_not_forgotten_when_all_sources_have_left() -> None:
    assert check_promise_trial(1251, Strategy.MT_PP) > 0


@pytest.mark.slow
@pytest.mark.parametrize("strategy", list(Strategy), ids=lambda strategy: strategy.value)
def test_many_promises(strategy: Strategy) -> None:
    for seed in range(1000, 1300):
        check_promise_trial(seed, strategy)
    for seed in range(1000, 1080):
        check_promise_trial_with_faults(seed, strategy)
        check_promise_trial_with_loss(seed, strategy)


def told(options: Options, *, promises: bool) -> tuple[list[Delivered], Network]:
    """What a sink at one end of a line is told of a source at the other."""
    network = Network(LINE, options)
    found: list[Delivered] = []
    network.on_delivered = found.append
    network.start()
    network.run()
    network.post(network.now, "p3", AttachSource("s", ("A",)), "s")
    network.post(network.now, "p1", AttachSink("k", parse_event_pattern("A()"), promises), "k")
    network.run()
    network.post(1000, "p3", Publish("s", (Event("A", 1000, {}),), 1000), "s")
    for name in ("p1", "p2", "p3"):
        network.post(1100, name, Tick(2000))
    network.run()
    return found, network


def test_who_does_not_ask_costs_nothing() -> None:
    asked, _ = told(Options(), promises=True)
    assert [(len(each.events), each.through) for each in asked if each.events or (each.through or 0) >= 1000] == [
        (1, None),
        (0, 1000),
        (0, 2000),
    ]
    sent: list[type] = []
    count = type(Network({}, Options()).traffic).count

    def counting(self: object, name: str, to: str, message: object) -> int:
        sent.append(type(message))
        return count(self, name, to, message)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cepheus.runtime.network.simulation.simulator.Traffic.count", counting)
        quiet, _ = told(Options(), promises=False)
        assert Completed not in sent
        told(Options(), promises=True)
        assert Completed in sent
    assert [each.through for each in quiet] == [None]


def test_where_nobody_waits_nothing_is_promised() -> None:
    found, _ = told(Options(order=Order.ARRIVAL), promises=True)
    assert [(len(each.events), each.through) for each in found] == [(1, None)]


class Line:
    """Processors in a row, the last of which may fall silent; ``told`` is what the sink at the first one is told."""

    def __init__(self, strategy: Strategy) -> None:
        options, self.told = Options(strategy, retain=60_000_000), list[Delivered]()
        near = {"p1": ("p2",), "p2": ("p1", "p3"), "p3": ("p2",)}
        self.processors = {name: Processor(name, neighbours, options) for name, neighbours in near.items()}
        for rank, name in enumerate(self.processors):
            self.tell(name, Start(rank))

    def tell(self, name: str, message: Message) -> None:
        under_way: deque[tuple[str, Message, str]] = deque([(name, message, "client")])
        while under_way:
            to, message, sender = under_way.popleft()
            for next_to, answer in self.processors[to].handle(message, 0, sender):
                if next_to in self.processors:
                    under_way.append((next_to, answer, to))
                elif isinstance(answer, Delivered):
                    self.told.append(answer)


@pytest.mark.parametrize("strategy", Strategy, ids=lambda strategy: strategy.value)
def test_what_a_source_has_left_behind_is_waited_for_when_trees_are_built_anew(strategy: Strategy) -> None:
    rules = cepheus.compile("define C() from A() and not B() within 20 us from A").rules.rules
    line = Line(strategy)
    line.tell("p1", DeployRules("r", tuple(rules)))
    line.tell("p1", AttachSink("k", parse_event_pattern("C()"), promises=True))
    for name, source, kind in (("p1", "ahead", "D"), ("p1", "near", "A"), ("p2", "gone", "A"), ("p3", "slow", "B")):
        line.tell(name, AttachSource(source, (kind,)))
    line.tell("p2", Publish("gone", (Event("A", 50, {}),), 50))
    line.tell("p2", DetachSource("gone"))
    line.tell("p1", Publish("ahead", (Event("D", 100, {}),), 100))
    line.tell("p1", Publish("near", (), 100))
    assert not [each for each in line.told if each.events or (each.through or 0) >= 50], "B may still come"
    del line.processors["p3"]
    line.tell("p2", Lost("p3"))
    times = [
        (tuple(event.time for event in each.events), each.through) for each in line.told if (each.through or 0) >= 0
    ]
    assert times == [((50,), None), ((), 100)]
