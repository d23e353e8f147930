"""Runs a scenario in virtual time and measures what the papers measured: traffic and delay."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

from cepheus.core.event import Event
from cepheus.core.values import Value
from cepheus.language.tesla import parse_event_pattern
from cepheus.runtime.network.messages import AttachSink, AttachSource, DeployRules, Publish, Tick
from cepheus.runtime.network.scenario import Draw, Plan, Scenario, draw
from cepheus.runtime.network.simulation import Network
from cepheus.runtime.network.strategy import Order
from cepheus.runtime.network.traffic import Traffic


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured: per second of simulated time, and in milliseconds.

    ``delay`` is the mean time from the occurrence of a composite event to its receipt by a sink. ``speed`` is how many
    seconds of simulated time passed in a second of computing.
    """

    seed: int
    traffic: float
    bytes: float
    delay: float
    worst_delay: float
    published: int
    composites: int
    awakenings: float
    heartbeats: float
    speed: float


@dataclass(slots=True)
class Run:
    """A simulation that is over: its plan, its network, and the outcome."""

    plan: Plan
    network: Network
    outcome: Outcome


def run_scenario(scenario: Scenario, seed: int) -> Run:
    """Draw a scenario and simulate it."""
    return run_plan(draw(scenario, seed))


def run_plan(plan: Plan) -> Run:
    """Simulate a plan: first everything is set up, then sources publish and traffic is counted after a warm-up."""
    with _seldom_collecting():
        return _run(plan)


@contextmanager
def _seldom_collecting() -> Iterator[None]:
    """Look for cycles of garbage a hundred times less often: events and messages have none, and there are many."""
    before = gc.get_threshold()
    gc.set_threshold(100 * before[0], *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _run(plan: Plan) -> Run:
    scenario = plan.scenario
    network = Network(plan.links, scenario.options, plan.processors, scenario.bandwidth)
    _set_up(plan, network)
    feed = _Feed(plan, network)
    feed.begin()
    network.run(feed.start + scenario.warm_up)
    network.traffic = Traffic()
    network.receipts.clear()
    published = feed.published
    began = time.process_time()
    network.run(feed.end)
    spent = time.process_time() - began
    seconds = scenario.duration / 1_000_000
    delays = [receipt.received - receipt.event.time for receipt in network.receipts]
    traffic = network.traffic
    outcome = Outcome(
        seed=plan.seed,
        traffic=traffic.total / seconds,
        bytes=traffic.bytes.total() / seconds,
        delay=sum(delays) / len(delays) / 1000 if delays else 0.0,
        worst_delay=max(delays, default=0) / 1000,
        published=feed.published - published,
        composites=len(delays),
        awakenings=traffic.awakenings / seconds,
        heartbeats=traffic.heartbeats / seconds,
        speed=seconds / spent if spent else 0.0,
    )
    return Run(plan, network, outcome)


def _set_up(plan: Plan, network: Network) -> None:
    """Build trees, attach sources and sinks, deploy the rules."""
    network.start()
    network.run()
    for source in plan.sources:
        network.post(network.now, source.processor, AttachSource(source.name, (source.type,)), source.name)
    network.run()
    network.post(network.now, plan.processors[0], DeployRules("rules", plan.rules, plan.declarations), "deployer")
    network.run()
    for sink, processor, kind in plan.sinks:
        network.post(network.now, processor, AttachSink(sink, parse_event_pattern(kind)), sink)
    network.run()


class _Feed:
    """Sources that publish at random, each with its own rate, drawn as time goes on."""

    def __init__(self, plan: Plan, network: Network) -> None:
        self._plan = plan
        self._network = network
        self._random = Random(f"feed {plan.seed}")
        self.start = network.now + 1000
        self.end = self.start + plan.scenario.warm_up + plan.scenario.duration
        self.published = 0
        self._hosts = sorted({source.processor for source in plan.sources})

    def begin(self) -> None:
        """Draw the first event of each source, and the heartbeats."""
        network, scenario = self._network, self._plan.scenario
        for number, source in enumerate(self._plan.sources):
            network.call(self.start + self._gap(source.rate), self._publish, number)
        if scenario.options.order is Order.PROGRESS:
            network.call(self.start + scenario.heartbeat, self._beat, 0)

    def _publish(self, number: int) -> None:
        network = self._network
        source = self._plan.sources[number]
        attributes = {name: self._value(values) for name, values in source.attributes}
        event = Event(source.type, network.now, attributes)
        self.published += 1
        network.hand(source.processor, Publish(source.name, (event,), network.now))
        network.call(network.now + 1 + self._gap(source.rate), self._publish, number)

    def _beat(self, number: int) -> None:
        network = self._network
        tick = Tick(network.now - 1)
        for name in self._hosts:
            network.hand(name, tick)
        network.call(network.now + self._plan.scenario.heartbeat, self._beat, number)

    def _value(self, values: Draw) -> Value:
        """Draw a value: between two floats, or one of several."""
        if len(values) == 2 and all(isinstance(value, float) for value in values):
            low, high = values
            return self._random.uniform(float(low), float(high))
        return self._random.choice(values)

    def _gap(self, rate: float) -> int:
        return round(self._random.expovariate(rate) * 1_000_000)
