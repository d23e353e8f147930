"""In which order a network delivers to one sink: that of each source, causes before effects; that of time under Centr.

What signals can promise over a network follows from it (docs/reactive.md).
"""

from __future__ import annotations

from random import Random

import pytest
from conformance_suite import Case
from test_conformance_network import CASES, REFUSED, START, TOPOLOGIES, prepared, sources_of

from cepheus.core.event import Event
from cepheus.core.time import SECOND
from cepheus.language.tesla import parse_event_pattern
from cepheus.runtime.network.protocol.messages import AttachSink, AttachSource, DeployRules, Publish, Tick
from cepheus.runtime.network.protocol.strategy import Masters, Options, Strategy
from cepheus.runtime.network.simulation.simulator import Network


def delivered(case: Case, strategy: Strategy, topology: str) -> tuple[list[Event], list[Event], dict[str, str]]:
    """What a sink for all types gets, what was published, and the source of each type."""
    checked, events = prepared(case)
    random = Random(f"{case.name} {strategy.value} {topology}")
    processors = sorted({name for link in TOPOLOGIES[topology] for name in link})
    network = Network(
        TOPOLOGIES[topology], Options(strategy, masters=random.choice(list(Masters)), adapt_every=3 * SECOND)
    )
    source_of = sources_of(events, random)
    place_of = {source: random.choice(processors) for source in sorted(set(source_of.values()))}
    network.start()
    network.run()
    for source, place in place_of.items():
        types = tuple(kind for kind, own in source_of.items() if own == source)
        network.post(network.now, place, AttachSource(source, types), source)
    deploy = DeployRules("r", checked.rules.rules, checked.rules.declarations)
    network.post(network.now, random.choice(processors), deploy, "deployer")
    at = random.choice(processors)
    for kind in sorted({*checked.composites, *source_of}):
        network.post(network.now, at, AttachSink("k", parse_event_pattern(f"{kind}()")), "k")
    network.run()
    for event in events:
        source = source_of[event.type]
        network.post(event.time, place_of[source], Publish(source, (event,), event.time - 1), source)
    end = max((event.time for event in events), default=START)
    for name in processors:
        network.post(end + 60 * SECOND, name, Tick(end))
    network.run()
    return [receipt.event for receipt in network.receipts], events, source_of


RUN = [
    pytest.param(
        case, list(Strategy)[place % len(Strategy)], list(TOPOLOGIES)[place // 2 % len(TOPOLOGIES)], id=str(case)
    )
    for place, case in enumerate(case for case in CASES if case.name not in REFUSED)
]


@pytest.mark.parametrize(("case", "strategy", "topology"), RUN)
def test_the_order_of_sources_and_of_causes_is_kept(case: Case, strategy: Strategy, topology: str) -> None:
    got, published, source_of = delivered(case, strategy, topology)
    place = {event.id: number for number, event in enumerate(published)}
    for source in set(source_of.values()):
        own = [place[event.id] for event in got if event.id in place and source_of[event.type] == source]
        assert own == sorted(own), "single source FIFO"
    seen: set[object] = set()
    for event in got:
        assert event.id in place or seen.issuperset(event.made_of), "causal"
        seen.add(event.id)


@pytest.mark.parametrize("case", [param.values[0] for param in RUN[::4]], ids=str)
def test_centr_delivers_in_the_order_of_time(case: Case) -> None:
    got, _, _ = delivered(case, Strategy.CENTR, "ring")
    times = [event.time for event in got]
    assert times == sorted(times)
