"""Brings a scenario to a network in virtual time, lets sources publish, and measures what the papers measured."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice, takewhile, tee
from random import Random
from time import process_time

from cepheus.core.event import Event, primitive_event
from cepheus.core.garbage_collector import collector_at_rest
from cepheus.core.values import Value, as_float
from cepheus.language.tesla import parse_event_pattern
from cepheus.runtime.network.protocol.messages import (
    Admitted,
    AttachSink,
    AttachSource,
    DeployRules,
    Message,
    Publish,
    Tick,
)
from cepheus.runtime.network.protocol.strategy import Order
from cepheus.runtime.network.simulation.faults import Faults, FaultyNetwork
from cepheus.runtime.network.simulation.scenario import Draw, Plan
from cepheus.runtime.network.simulation.simulator import Network, Traffic

Publication = tuple[int, int, Event]
"""When an event is published, the number of its source, and the event."""


def publications(plan: Plan, start: int) -> Iterator[Publication]:
    """Draw the events of all sources in order of time, without end: the same for every strategy, with faults or not."""
    random = Random(f"feed {plan.seed}")
    waiting = [(start + _gap(random, source.rate), n, n) for n, source in enumerate(plan.sources)]
    heapq.heapify(waiting)
    count = len(waiting)
    counters = [0] * count
    while waiting:
        time, _, number = waiting[0]
        source = plan.sources[number]
        attributes = {name: _value(random, values) for name, values in source.attributes} if source.attributes else {}
        counters[number] += 1
        yield time, number, primitive_event(source.type, time, attributes, f"{source.name}:{counters[number]}")
        count += 1
        heapq.heapreplace(waiting, (time + 1 + _gap(random, source.rate), count, number))


def _value(random: Random, values: Draw) -> Value:
    """Draw a value: between two floats, or one of several."""
    if len(values) == 2 and all(isinstance(value, float) for value in values):
        low, high = values
        return random.uniform(as_float(low), as_float(high))
    return random.choice(values)


def _gap(random: Random, rate: float) -> int:
    return round(random.expovariate(rate) * 1_000_000)


def _sources(plan: Plan) -> Iterator[tuple[str, Message, str]]:
    for source in plan.sources:
        yield source.processor, AttachSource(source.name, (source.type,)), source.name


def _rules(plan: Plan) -> Iterator[tuple[str, Message, str]]:
    yield plan.processors[0], DeployRules("rules", plan.rules, plan.declarations), "deployer"


def _sinks(plan: Plan) -> Iterator[tuple[str, Message, str]]:
    for sink, processor, kind in plan.sinks:
        yield processor, AttachSink(sink, parse_event_pattern(kind)), sink


def set_up(plan: Plan, network: Network) -> None:
    """Build trees, attach sources and sinks, deploy the rules."""
    network.start()
    network.run()
    for step in (_sources, _rules, _sinks):
        for processor, message, client in step(plan):
            network.post(network.now, processor, message, client)
        network.run()


def set_up_faulty(plan: Plan, network: FaultyNetwork) -> None:
    """Do the same before anything goes wrong."""
    network.start()
    network.settle(network.retry)
    for step in (_sources, _rules, _sinks):
        for processor, message, client in step(plan):
            network.post(network.now, processor, message, client)
        network.settle(network.retry)
    assert sum(isinstance(message, Admitted) for _, _, message in network.told) == len(plan.sources)


class Feed:
    """Sources that publish as time goes on, and the heartbeats of their processors."""

    def __init__(self, plan: Plan, network: Network) -> None:
        self._plan = plan
        self._network = network
        self.start = network.now + 1000
        self.end = self.start + plan.scenario.warm_up + plan.scenario.duration
        self.published = 0
        self._events = publications(plan, self.start)
        self._hosts = sorted({source.processor for source in plan.sources})

    def begin(self) -> None:
        """Draw the first event, and begin with the heartbeats."""
        self._wait_for_next()
        if self._plan.scenario.options.order is Order.PROGRESS:
            self._network.call(self.start + self._plan.scenario.heartbeat, self._beat)

    def _wait_for_next(self) -> None:
        following = next(self._events, None)
        if following is not None:
            time, number, event = following
            self._network.call(time, lambda: self._publish(number, event))

    def _publish(self, number: int, event: Event) -> None:
        source = self._plan.sources[number]
        self.published += 1
        self._network.hand(source.processor, Publish(source.name, (event,), event.time))
        self._wait_for_next()

    def _beat(self) -> None:
        network = self._network
        tick = Tick(network.now - 1)
        for name in self._hosts:
            network.hand(name, tick)
        network.call(network.now + self._plan.scenario.heartbeat, self._beat)


def feed_faulty(plan: Plan, network: FaultyNetwork, events: Iterable[Publication], until: int) -> int:
    """Let sources publish the events up to a time; give how many there were.

    Sources promise progress themselves: what a processor knows of it dies with it.
    """
    every = plan.scenario.heartbeat if plan.scenario.options.order is Order.PROGRESS else 0
    beats = iter(range(network.now + every, until + 1, every) if every else ())
    beat = next(beats, None)
    published = 0
    for time, number, event in takewhile(lambda each: each[0] <= until, events):
        while beat is not None and beat <= time:
            _promise(plan, network, beat)
            beat = next(beats, None)
        network.run(time)
        source = plan.sources[number]
        network.post(time, source.processor, Publish(source.name, (event,), time), source.name)
        published += 1
    for late in beats if beat is None else chain([beat], beats):
        _promise(plan, network, late)
    network.run(until)
    return published


def _promise(plan: Plan, network: FaultyNetwork, time: int) -> None:
    network.run(time)
    for source in plan.sources:
        network.post(time, source.processor, Publish(source.name, (), time - 1), source.name)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured: per second of simulated time, and in milliseconds.

    ``delay`` is the mean time from the occurrence of a composite event to its receipt by a sink, ``worst_delay`` the
    longest; a run in which no sink received any has neither. ``speed`` is how many seconds of simulated time passed in
    a second of computing.
    """

    seed: int
    traffic: float
    bytes: float
    delay: float | None
    worst_delay: float | None
    published: int
    composites: int
    awakenings: float
    heartbeats: float
    speed: float


@dataclass(slots=True)
class Run:
    """A simulation that is over: its plan, its network, and the outcome."""

    plan: Plan
    network: Network | FaultyNetwork
    outcome: Outcome


Counting = Callable[[Network | FaultyNetwork], Traffic]
"""Makes what traffic is counted by, when counting begins."""


def run_plan(plan: Plan, counting: Counting = lambda _: Traffic()) -> Run:
    """Simulate a plan: first everything is set up, then sources publish and traffic is counted after a warm-up."""
    with collector_at_rest():  # events and messages have no cycles, and there are many of them
        faults = plan.scenario.faults
        return _run(plan, counting) if faults is None else _run_faulty(plan, faults, counting)


def _run(plan: Plan, counting: Counting) -> Run:
    scenario = plan.scenario
    network = Network(plan.links, scenario.options, plan.processors, scenario.bandwidth)
    set_up(plan, network)
    feed = Feed(plan, network)
    feed.begin()
    network.run(feed.start + scenario.warm_up)
    network.traffic = counting(network)
    network.receipts.clear()
    published = feed.published
    began = process_time()
    network.run(feed.end)
    return Run(plan, network, _outcome(plan, network, feed.published - published, process_time() - began))


def _run_faulty(plan: Plan, faults: Faults, counting: Counting) -> Run:
    """Do the same with faults; they begin after the warm-up, and after the end all that is under way arrives."""
    scenario = plan.scenario
    calm = Faults(checkpoint_every=faults.checkpoint_every)
    network = FaultyNetwork(plan.links, scenario.options, plan.processors, calm, plan.seed, scenario.retry)
    set_up_faulty(plan, network)
    begin = network.now + 1000
    middle, end = begin + scenario.warm_up, begin + scenario.warm_up + scenario.duration
    warming, measured = tee(publications(plan, begin))
    skipped = feed_faulty(plan, network, warming, middle)
    network.traffic = counting(network)
    network.receipts.clear()
    network.inject(faults.later(middle, end))
    began = process_time()
    published = feed_faulty(plan, network, islice(measured, skipped, None), end)
    network.settle(scenario.retry)
    return Run(plan, network, _outcome(plan, network, published, process_time() - began))


def _outcome(plan: Plan, network: Network | FaultyNetwork, published: int, spent: float) -> Outcome:
    seconds = plan.scenario.duration / 1_000_000
    delays = [receipt.received - receipt.event.time for receipt in network.receipts]
    traffic = network.traffic
    return Outcome(
        seed=plan.seed,
        traffic=traffic.total / seconds,
        bytes=traffic.bytes.total() / seconds,
        delay=sum(delays) / len(delays) / 1000 if delays else None,
        worst_delay=max(delays) / 1000 if delays else None,
        published=published,
        composites=len(delays),
        awakenings=traffic.awakenings / seconds,
        heartbeats=traffic.heartbeats / seconds,
        speed=seconds / spent if spent else 0.0,
    )
