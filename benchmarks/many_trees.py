"""Tells why many trees send more messages than a centre in the default scenario: what crosses the links, and how often.

    python benchmarks/many_trees.py --networks 300 --simulate 1 2 3
    python benchmarks/many_trees.py --networks 0 --variants 3
    python benchmarks/many_trees.py --networks 0 --readings 4

First over many networks what strategies would send without filters, then what they do send in a few of them.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from random import Random
from statistics import mean, quantiles

import networkx

from cepheus.bench.deployment.figures import FULL
from cepheus.bench.deployment.floor import unfiltered, wanted_elsewhere
from cepheus.core.time import SECOND
from cepheus.runtime.network.experiment import run_plan
from cepheus.runtime.network.feed import Feed, set_up
from cepheus.runtime.network.messages import Deliver, Events, Message
from cepheus.runtime.network.scenario import Plan, Scenario, draw
from cepheus.runtime.network.simulation import Network
from cepheus.runtime.network.strategy import Filter, Options, Order, Strategy
from cepheus.runtime.network.traffic import Traffic

AS_THE_PAPERS = Options(filter=Filter.AS_PRINTED, order=Order.ARRIVAL)
BASE = replace(FULL, options=AS_THE_PAPERS, duration=30 * SECOND)
STRATEGIES = (Strategy.CENTR, Strategy.ST, Strategy.MT)


@dataclass(slots=True)
class Crossings(Traffic):
    """Traffic that also tells whether an event crosses a link for the first time or again, for another tree."""

    kinds: Counter[str] = field(default_factory=Counter)
    _seen: set[tuple[str, str, str, int]] = field(default_factory=set)

    def count(self, name: str, to: str, message: Message) -> int:
        """Count one message by kind, and as others do."""
        match message:
            case Events(entries=entries):
                for entry in entries:
                    key = name, to, entry.source, entry.counter
                    self.kinds["again" if key in self._seen else "primitive"] += 1
                    self._seen.add(key)
            case Deliver(events=events):
                self.kinds["composite"] += len(events)
        return Traffic.count(self, name, to, message)


def crossings(plan: Plan) -> tuple[float, dict[str, float]]:
    """Simulate a plan; give its messages per second, and those of each kind for each event that is published."""
    network = Network(plan.links, plan.scenario.options, plan.processors)
    set_up(plan, network)
    feed = Feed(plan, network)
    feed.begin()
    network.traffic = traffic = Crossings()
    network.run(feed.start + plan.scenario.warm_up)
    before, published = traffic.kinds.copy(), feed.published
    network.run(feed.end)
    count = feed.published - published
    per_event = {kind: (traffic.kinds[kind] - before[kind]) / count for kind in ("primitive", "again", "composite")}
    return sum(per_event.values()) * count / (plan.scenario.duration / SECOND), per_event


def with_strategy(plan: Plan, strategy: Strategy) -> Plan:
    """Give the same plan for another strategy."""
    options = replace(plan.scenario.options, strategy=strategy)
    return replace(plan, scenario=replace(plan.scenario, options=options))


def show_unfiltered(networks: int) -> None:
    """Print what would be sent without filters, over many networks."""
    plans = [draw(BASE, seed) for seed in range(1, networks + 1)]
    found = [unfiltered(plan) for plan in plans]
    print(f"without filters, over {networks} networks, for each event that is published:")
    print(f"  wanted at {mean(map(wanted_elsewhere, plans)):.1f} other processors")
    print(f"  one tree: {mean(each.to_leader for each in found):.1f} links to the leader,", end=" ")
    print(f"{mean(each.composites for each in found):.1f} by composite events")
    print(f"  many trees: {mean(each.many_trees for each in found):.1f} links")
    ratios = [each.ratio for each in found]
    low, *_, high = quantiles(ratios, n=20)
    print(f"  many trees in relation to a centre: {mean(ratios):.2f} (90% between {low:.2f} and {high:.2f})")
    lowest = sorted(zip(ratios, range(1, networks + 1), strict=True))[:6]
    print(f"  lowest: {', '.join(f'{ratio:.2f} (seed {seed})' for ratio, seed in lowest)}")


def show_crossings(seed: int) -> None:
    """Print what is sent in one network."""
    for strategy in STRATEGIES:
        total, kinds = crossings(with_strategy(draw(BASE, seed), strategy))
        words = ", ".join(f"{count:.2f} {kind}" for kind, count in kinds.items())
        print(f"seed {seed}, {strategy.value}: {total:.0f} messages/s; for each event {words}", flush=True)


def _gathered(places: int) -> Callable[[Scenario, int], Plan]:
    def gather(scenario: Scenario, seed: int) -> Plan:
        """Draw a plan with all sources at a few processors."""
        plan = draw(scenario, seed)
        hosts = plan.processors[-places:]
        sources = [replace(each, processor=hosts[n % places]) for n, each in enumerate(plan.sources)]
        return replace(plan, sources=tuple(sources))

    return gather


VARIANTS: dict[str, Callable[[Scenario, int], Plan]] = {
    "the default scenario": draw,
    "all types at 2 processors": _gathered(2),
    "all types at 5 processors": _gathered(5),
    "Barabasi-Albert networks": lambda scenario, seed: draw(replace(scenario, topology="barabasi-albert"), seed),
    "no rare types (every 5 s at least)": lambda scenario, seed: draw(replace(scenario, slowest=0.2), seed),
    "sparse networks (2.5 neighbours)": lambda scenario, seed: draw(replace(scenario, neighbours=2.5), seed),
}


def _at(plan: Plan, places: int) -> Plan:
    """Give the same plan with all sources at a few processors, drawn at random."""
    random = Random(f"places {plan.seed}")
    hosts = random.sample(plan.processors, places)
    return replace(plan, sources=tuple(replace(each, processor=random.choice(hosts)) for each in plan.sources))


def _rates(plan: Plan, *, gaps: bool) -> Plan:
    """Give the same plan with rates (mean 1/s) or mean gaps (100 s) drawn from an exponential distribution."""
    random = Random(f"rates {plan.seed}")
    slowest, fastest = plan.scenario.slowest, plan.scenario.fastest

    def rate() -> float:
        while True:
            found = 1 / random.expovariate(1 / 100) if gaps else random.expovariate(1.0)
            if slowest <= found <= fastest:
                return found

    return replace(plan, sources=tuple(replace(each, rate=rate()) for each in plan.sources))


def _leader_at_the_edge(plan: Plan) -> Plan:
    """Let the processor that is farthest from all others change places with the leader."""
    graph = networkx.Graph()
    graph.add_weighted_edges_from((one, other, delay) for (one, other), delay in plan.links.items())
    far = {name: sum(networkx.single_source_dijkstra_path_length(graph, name).values()) for name in graph}
    edge, leader = max(plan.processors, key=lambda name: far[name]), min(plan.processors)
    other_name = {edge: leader, leader: edge}

    def moved(name: str) -> str:
        return other_name.get(name, name)

    return replace(
        plan,
        links={(moved(one), moved(other)): delay for (one, other), delay in plan.links.items()},
        sources=tuple(replace(each, processor=moved(each.processor)) for each in plan.sources),
        sinks=tuple((f"k-{moved(at)}", moved(at), kind) for _, at, kind in plan.sinks),
    )


READINGS: dict[str, Callable[[Plan], Plan]] = {
    "as in the default scenario": lambda plan: plan,
    "types at 2 processors": lambda plan: _at(plan, 2),
    "types at 3, gaps exponential": lambda plan: _rates(_at(plan, 3), gaps=True),
    "types at 5, gaps exponential": lambda plan: _rates(_at(plan, 5), gaps=True),
    "rates exponential": lambda plan: _rates(plan, gaps=False),
    "types at 5, rates exponential": lambda plan: _rates(_at(plan, 5), gaps=False),
    "types at 5, leader at the edge": lambda plan: _leader_at_the_edge(_at(plan, 5)),
    "rates exponential, leader at the edge": lambda plan: _leader_at_the_edge(_rates(plan, gaps=False)),
}
"""What the paper's text allows, each drawn from the plan of the default scenario."""

SETTLED = replace(BASE, warm_up=100 * SECOND, duration=20 * SECOND)
"""Measured when windows of a minute are full."""


def show_variant(name: str, seeds: int) -> None:
    """Print the traffic of many trees in relation to that of a centre, in other settings."""
    _show_ratios(name, (VARIANTS[name](BASE, seed) for seed in range(1, seeds + 1)))


def show_reading(name: str, seeds: int) -> None:
    """Do the same for another reading of the paper, in the long run."""
    _show_ratios(name, (READINGS[name](draw(SETTLED, seed)) for seed in range(1, seeds + 1)))


def _show_ratios(name: str, plans: Iterable[Plan]) -> None:
    ratios = []
    for plan in plans:
        many, centre = (run_plan(with_strategy(plan, each)).outcome.traffic for each in (Strategy.MT, Strategy.CENTR))
        ratios.append(many / centre)
    print(f"{name}: MT/Centr {', '.join(f'{ratio:.2f}' for ratio in ratios)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="what crosses the links with one tree and with many")
    parser.add_argument("--networks", type=int, default=300, help="how many networks to estimate")
    parser.add_argument("--simulate", type=int, nargs="*", default=(), help="seeds of networks to simulate")
    parser.add_argument("--variants", type=int, default=0, help="how many seeds of other settings to simulate")
    parser.add_argument("--readings", type=int, default=0, help="how many seeds of other readings to simulate")
    options = parser.parse_args()
    if options.networks:
        show_unfiltered(options.networks)
    for seed in options.simulate:
        show_crossings(seed)
    for name in VARIANTS if options.variants else ():
        show_variant(name, options.variants)
    for name in READINGS if options.readings else ():
        show_reading(name, options.readings)


if __name__ == "__main__":
    main()
