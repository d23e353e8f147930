"""How little traffic many trees can do with, whatever they filter: at how many places the events are wanted."""

from __future__ import annotations

from cepheus.plan.partial import input_types
from cepheus.runtime.network.scenario import Plan


def wanted_elsewhere(plan: Plan) -> float:
    """Give at how many processors other than its own an event is wanted by a sink's rules, on average over events.

    With a tree for each of these processors, an event that is not filtered crosses at least as many links.

    >>> from cepheus.runtime.network.scenario import Scenario, draw
    >>> everybody = draw(Scenario(processors=4, types=3, rules=1, subscriptions=1), seed=1)
    >>> round(wanted_elsewhere(everybody), 6)
    3.0
    """
    types_of = {rule.composite.name: input_types(rule) for rule in plan.rules}
    wanted: dict[str, set[str]] = {}
    for _, processor, composite in plan.sinks:
        for kind in types_of[composite]:
            wanted.setdefault(kind, set()).add(processor)
    places = sum(source.rate * len(wanted.get(source.type, set()) - {source.processor}) for source in plan.sources)
    return places / sum(source.rate for source in plan.sources)
