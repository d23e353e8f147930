"""How little traffic strategies can do with, whatever they filter: at how many places the events are wanted."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from cepheus.plan.partial import input_types
from cepheus.rules.expressions import Within
from cepheus.rules.model import Rule, Selection
from cepheus.runtime.network.scenario import Plan

Paths = dict[str, dict[str, list[str]]]
"""The shortest paths from each processor to each other."""


def wanted_elsewhere(plan: Plan) -> float:
    """Give at how many processors other than its own an event is wanted by a sink's rules, on average over events.

    With a tree for each of these processors, an event that is not filtered crosses at least as many links.

    >>> from cepheus.runtime.network.scenario import Scenario, draw
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

    >>> from cepheus.runtime.network.scenario import Scenario, draw
    >>> line = {("p0", "p1"): 1, ("p1", "p2"): 1}
    >>> found = unfiltered(draw(Scenario(types=3, rules=1, subscriptions=1), 1, line))
    >>> found.many_trees
    2.0
    """
    import networkx

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
    """Give the processors with sinks whose rules look at events of a type."""
    types_of = {rule.composite.name: input_types(rule) for rule in plan.rules}
    wanted: dict[str, set[str]] = {}
    for _, processor, composite in plan.sinks:
        for kind in types_of[composite]:
            wanted.setdefault(kind, set()).add(processor)
    return wanted


def _rate(plan: Plan) -> float:
    return sum(source.rate for source in plan.sources)


def _crossed(paths: Paths, start: str, ends: Iterable[str]) -> int:
    """Give how many links lie on the paths from one processor to others, each counted once."""
    return len({link for end in ends for link in zip(paths[start][end], paths[start][end][1:], strict=False)})


def _fires(rule: Rule, rates: dict[str, float]) -> float:
    """Give how often a sequence fires: its terminator comes, and each event before it within its window."""
    rate = rates[rule.pattern.terminator.type]
    for item in rule.pattern.items:
        assert isinstance(item, Selection)
        assert isinstance(item.window, Within)
        rate *= 1 - math.exp(-rates[item.event.type] * item.window.duration / 1_000_000)
    return rate
