"""Tells why many trees send more messages than a centre in most networks: what crosses the links, and how often.

    python -m benchmarks.network.many_trees --networks 1000 --simulate 1 2 3
    python -m benchmarks.network.many_trees --networks 0 --readings 4
    python -m benchmarks.network.many_trees --networks 0 --locality 5

First over many networks what strategies would send without filters, then what they do send in a few of them. Readings
are other ways to take what the paper leaves open, each over so many networks. Locality is that of figure 17: how near
to one another the sources are whose events one rule joins.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from random import Random
from statistics import mean, quantiles

import networkx

from benchmarks.papers.deployment.figures import FULL, figure_of
from cepheus.core.time import SECOND
from cepheus.plan.partial import input_types
from cepheus.rules.expressions import Within
from cepheus.rules.model import Rule, Selection
from cepheus.runtime.network.protocol.messages import Deliver, Events, Message
from cepheus.runtime.network.protocol.strategy import Filter, Options, Order, Strategy
from cepheus.runtime.network.simulation.experiment import Feed, run_plan, set_up
from cepheus.runtime.network.simulation.scenario import Plan, draw
from cepheus.runtime.network.simulation.simulator import Network, Traffic

AS_THE_PAPERS = Options(filter=Filter.AS_PRINTED, order=Order.ARRIVAL)
RANDOM = replace(FULL, options=AS_THE_PAPERS, warm_up=100 * SECOND, duration=30 * SECOND)
"""The default scenario, with other links, sources and rules for each seed."""
STRATEGIES = (Strategy.CENTR, Strategy.ST, Strategy.MT)

Paths = dict[str, dict[str, list[str]]]
"""The shortest paths from each processor to each other."""


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
    """The same plan for another strategy."""
    options = replace(plan.scenario.options, strategy=strategy)
    return replace(plan, scenario=replace(plan.scenario, options=options))


def wanted_elsewhere(plan: Plan) -> float:
    """At how many processors other than its own an event is wanted by a sink's rules, on average over events.

    With a tree for each of these processors, an event that is not filtered crosses at least as many links.

    >>> from cepheus.runtime.network.simulation.scenario import Scenario, draw
    >>> everybody = draw(Scenario(processors=4, types=3, rules=1, subscriptions=1), seed=1)
    >>> round(wanted_elsewhere(everybody), 6)
    3.0
    """
    wanted = _wanted(plan)
    places = sum(source.rate * len(wanted.get(source.type, set()) - {source.processor}) for source in plan.sources)
    return places / _rate(plan)


@dataclass(frozen=True, slots=True)
class Unfiltered:
    """How many links are crossed for each event that is published, if nothing is filtered.

    ``to_leader`` by the event itself and ``composites`` by what it leads to, with one tree; ``many_trees`` with many.
    """

    to_leader: float
    composites: float
    many_trees: float

    @property
    def ratio(self) -> float:
        """Many trees in relation to a centre."""
        return self.many_trees / (self.to_leader + self.composites)


def unfiltered(plan: Plan) -> Unfiltered:
    """Estimate the traffic of a plan of sequences without filters, from its rates and shortest paths.

    >>> from cepheus.runtime.network.simulation.scenario import Scenario, draw
    >>> line = {("p0", "p1"): 1, ("p1", "p2"): 1}
    >>> found = unfiltered(draw(Scenario(types=3, rules=1, subscriptions=1), 1, line))
    >>> found.many_trees
    2.0
    """
    graph = networkx.Graph()
    graph.add_weighted_edges_from((one, other, delay) for (one, other), delay in plan.links.items())
    paths: Paths = dict(networkx.all_pairs_dijkstra_path(graph))
    leader = min(plan.processors)
    rates = {source.type: source.rate for source in plan.sources}
    used = frozenset[str]().union(*(input_types(rule) for rule in plan.rules))
    wanted = _wanted(plan)
    sinks: dict[str, set[str]] = {}
    for _, processor, composite in plan.sinks:
        sinks.setdefault(composite, set()).add(processor)
    total = _rate(plan)
    return Unfiltered(
        sum(each.rate * (len(paths[each.processor][leader]) - 1) for each in plan.sources if each.type in used) / total,
        sum(_fires(rule, rates) * _crossed(paths, leader, sinks.get(rule.composite.name, ())) for rule in plan.rules)
        / total,
        sum(each.rate * _crossed(paths, each.processor, wanted.get(each.type, ())) for each in plan.sources) / total,
    )


def _wanted(plan: Plan) -> dict[str, set[str]]:
    """The processors with sinks whose rules look at events of a type."""
    types_of = {rule.composite.name: input_types(rule) for rule in plan.rules}
    wanted: dict[str, set[str]] = {}
    for _, processor, composite in plan.sinks:
        for kind in types_of[composite]:
            wanted.setdefault(kind, set()).add(processor)
    return wanted


def _rate(plan: Plan) -> float:
    return sum(source.rate for source in plan.sources)


def _crossed(paths: Paths, start: str, ends: Iterable[str]) -> int:
    """How many links lie on the paths from one processor to others, each counted once."""
    return len({link for end in ends for link in zip(paths[start][end], paths[start][end][1:], strict=False)})


def _fires(rule: Rule, rates: dict[str, float]) -> float:
    """How often a sequence fires: its terminator comes, and each event before it within its window."""
    rate = rates[rule.pattern.terminator.type]
    for item in rule.pattern.items:
        assert isinstance(item, Selection)
        assert isinstance(item.window, Within)
        rate *= 1 - math.exp(-rates[item.event.type] * item.window.duration / 1_000_000)
    return rate


def show_unfiltered(networks: int) -> None:
    """Print what would be sent without filters, over many networks, each with three choices of subscriptions."""
    drawn = {n: [draw(replace(RANDOM, network=n), seed) for seed in (1, 2, 3)] for n in range(1, networks + 1)}
    found = {n: [unfiltered(plan) for plan in plans] for n, plans in drawn.items()}
    everything = [each for estimates in found.values() for each in estimates]
    print(f"without filters, over {networks} networks, for each event that is published:")
    print(
        f"  wanted at {mean(wanted_elsewhere(plan) for plans in drawn.values() for plan in plans):.1f} other processors"
    )
    print(f"  one tree: {mean(each.to_leader for each in everything):.1f} links to the leader,", end=" ")
    print(f"{mean(each.composites for each in everything):.1f} by composite events")
    print(f"  many trees: {mean(each.many_trees for each in everything):.1f} links")
    ratios = {n: mean(each.ratio for each in estimates) for n, estimates in found.items()}
    low, *_, high = quantiles(ratios.values(), n=20)
    print(f"  many trees in relation to a centre: {mean(ratios.values()):.2f} (90% between {low:.2f} and {high:.2f})")
    lowest = sorted(ratios, key=lambda n: ratios[n])[:6]
    print(f"  lowest: {', '.join(f'{ratios[n]:.2f} (network {n})' for n in lowest)}")


def show_crossings(seed: int) -> None:
    """Print what is sent in one network."""
    for strategy in STRATEGIES:
        total, kinds = crossings(with_strategy(draw(RANDOM, seed), strategy))
        words = ", ".join(f"{count:.2f} {kind}" for kind, count in kinds.items())
        print(f"seed {seed}, {strategy.value}: {total:.0f} messages/s; for each event {words}", flush=True)


def _at(plan: Plan, places: int) -> Plan:
    """The same plan with all sources at a few processors, drawn at random."""
    random = Random(f"places {plan.seed}")
    hosts = random.sample(plan.processors, places)
    return replace(plan, sources=tuple(replace(each, processor=random.choice(hosts)) for each in plan.sources))


def _exponential_rates(plan: Plan) -> Plan:
    """The same plan with rates from an exponential distribution with mean 1/s."""
    random = Random(f"rates {plan.seed}")
    slowest, fastest = plan.scenario.slowest, plan.scenario.fastest

    def rate() -> float:
        while not slowest <= (found := random.expovariate(1.0)) <= fastest:
            pass
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
    "rates exponential": _exponential_rates,
    "leader at the edge": _leader_at_the_edge,
    "rates exponential, leader at the edge": lambda plan: _leader_at_the_edge(_exponential_rates(plan)),
    "sources at 3 processors": lambda plan: _at(plan, 3),
    "sources at 3 processors, leader at the edge": lambda plan: _leader_at_the_edge(_at(plan, 3)),
}
"""What the paper's text allows, each drawn from the plan of the default scenario."""


NEARNESS = {
    "all sources of a class at one processor": 0,
    "at a processor and its nearest neighbour": 1,
    "at a processor and its two nearest neighbours": 2,
    "at a processor and all its neighbours": RANDOM.processors,
}
"""How many neighbours of a processor have sources of a class of rules, too."""


def show_reading(name: str, networks: int) -> None:
    """Print the traffic of strategies under a reading."""
    show_ratios(name, [READINGS[name](draw(RANDOM, seed)) for seed in range(1, networks + 1)])


def show_locality(name: str, networks: int) -> None:
    """Print the traffic of strategies where rules come in classes with near sources."""
    scenario = replace(figure_of("17").vary(RANDOM, RANDOM.processors), near=NEARNESS[name])
    show_ratios(name, [draw(scenario, seed) for seed in range(1, networks + 1)])


def show_ratios(name: str, plans: list[Plan]) -> None:
    """Print the traffic of one tree and of many in relation to that of a centre."""
    one_tree, many_trees = [], []
    for plan in plans:
        centre, one, many = (run_plan(with_strategy(plan, each)).outcome.traffic for each in STRATEGIES)
        one_tree.append(one / centre)
        many_trees.append(many / centre)
    print(f"{name}: ST/Centr {_words(one_tree)}, MT/Centr {_words(many_trees)}", flush=True)


def _words(ratios: list[float]) -> str:
    return f"{mean(ratios):.2f} ({', '.join(f'{ratio:.2f}' for ratio in ratios)})"


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description="what crosses the links with one tree and with many")
    parser.add_argument("--networks", type=int, default=1000, help="how many networks to estimate")
    parser.add_argument("--simulate", type=int, nargs="*", default=(), help="seeds of networks to simulate")
    parser.add_argument("--readings", type=int, default=0, help="on how many networks to try other readings")
    parser.add_argument("--locality", type=int, default=0, help="on how many networks to try how near sources are")
    options = parser.parse_args()
    if options.networks:
        show_unfiltered(options.networks)
    for seed in options.simulate:
        show_crossings(seed)
    for name in READINGS if options.readings else ():
        show_reading(name, options.readings)
    for name in NEARNESS if options.locality else ():
        show_locality(name, options.locality)


if __name__ == "__main__":
    main()
