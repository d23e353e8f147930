"""Runs a scenario in virtual time and measures what the papers measured: traffic and delay."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import islice, tee

from cepheus.core.collector import collector_at_rest
from cepheus.runtime.network.simulation.faults import Faults, FaultyNetwork
from cepheus.runtime.network.simulation.feed import Feed, feed_faulty, publications, set_up, set_up_faulty
from cepheus.runtime.network.simulation.scenario import Plan
from cepheus.runtime.network.simulation.simulator import Network
from cepheus.runtime.network.simulation.traffic import Traffic


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


def run_plan(plan: Plan) -> Run:
    """Simulate a plan: first everything is set up, then sources publish and traffic is counted after a warm-up."""
    with collector_at_rest():  # events and messages have no cycles, and there are many of them
        return _run(plan) if plan.scenario.faults is None else _run_faulty(plan, plan.scenario.faults)


def _run(plan: Plan) -> Run:
    scenario = plan.scenario
    network = Network(plan.links, scenario.options, plan.processors, scenario.bandwidth)
    set_up(plan, network)
    feed = Feed(plan, network)
    feed.begin()
    network.run(feed.start + scenario.warm_up)
    network.traffic = Traffic()
    network.receipts.clear()
    published = feed.published
    began = time.process_time()
    network.run(feed.end)
    return Run(plan, network, _outcome(plan, network, feed.published - published, time.process_time() - began))


def _run_faulty(plan: Plan, faults: Faults) -> Run:
    """Do the same with faults; they begin after the warm-up, and after the end all that is under way arrives."""
    scenario = plan.scenario
    calm = Faults(checkpoint_every=faults.checkpoint_every)
    network = FaultyNetwork(plan.links, scenario.options, plan.processors, calm, plan.seed, scenario.retry)
    set_up_faulty(plan, network)
    begin = network.now + 1000
    middle, end = begin + scenario.warm_up, begin + scenario.warm_up + scenario.duration
    warming, measured = tee(publications(plan, begin))
    skipped = feed_faulty(plan, network, warming, middle)
    network.traffic = Traffic()
    network.receipts.clear()
    network.inject(faults.later(middle, end))
    began = time.process_time()
    published = feed_faulty(plan, network, islice(measured, skipped, None), end)
    network.settle(scenario.retry)
    return Run(plan, network, _outcome(plan, network, published, time.process_time() - began))


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
