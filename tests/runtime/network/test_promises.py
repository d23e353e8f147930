"""Sinks that ask are told how far everything has been delivered, and it is true: random networks, faults, losses."""

from __future__ import annotations

import pytest
from promise_trials import check_promise_trial, check_promise_trial_with_faults, check_promise_trial_with_loss

from cepheus.core.event import Event
from cepheus.language.tesla import parse_event_pattern
from cepheus.runtime.network.protocol.messages import AttachSink, AttachSource, Completed, Delivered, Publish, Tick
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
