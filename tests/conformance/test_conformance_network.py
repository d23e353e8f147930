"""The conformance suite on simulated networks of processors: each case on several networks, under every strategy.

Sources of the event types stand at different processors. Simultaneous events come in the order of their sources and, of
one source, in that of publication: so the types of a case that has simultaneous events of several types are published
by one source, in the order of the case.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from conformance_suite import Case, load_cases, outcome

from cepheus.core.errors import UnsupportedError
from cepheus.core.event import Event
from cepheus.core.time import SECOND
from cepheus.language.tesla import parse, parse_event_pattern
from cepheus.rules.check import Checked, check
from cepheus.rules.check.check import name_rules
from cepheus.runtime.network.protocol.messages import (
    AttachSink,
    AttachSource,
    Deployed,
    DeployRules,
    LateEvents,
    Publish,
    Refused,
    Tick,
)
from cepheus.runtime.network.protocol.strategy import Delivery, Masters, Options, Strategy, check_supported
from cepheus.runtime.network.simulation.simulator import Link, Network

CASES = load_cases()
TOPOLOGIES: dict[str, dict[Link, int]] = {
    "pair": {("p1", "p2"): 5_000},
    "line": {("p1", "p2"): 20_000, ("p2", "p3"): 3_000, ("p3", "p4"): 700_000},
    "star": {("p1", "p2"): 5_000, ("p1", "p3"): 1_500_000, ("p1", "p4"): 30_000},
    "ring": {("p1", "p2"): 5_000, ("p2", "p3"): 40_000, ("p3", "p4"): 900, ("p1", "p4"): 2_000_000},
}
START = 1000 * SECOND
"""Deployment takes a while: the events of a case begin when it is over."""


def refusal(case: Case) -> str | None:
    """Why a network does not run a case; None if it does."""
    try:
        check_supported(case.model)
    except UnsupportedError as error:
        return error.diagnostics[0].message
    return None


REFUSED = {case.name: reason for case in CASES if (reason := refusal(case)) is not None}


def prepared(case: Case) -> tuple[Checked, list[Event]]:
    """The checked rules of a case, and its events in total order, numbered as other hosts number them."""
    checked = check(name_rules(case.model))
    events = []
    for number, given in enumerate(case.events):
        fields = {name: value for name, value in given.items() if name not in ("type", "time", "id", case.sequence)}
        time = START + round(given["time"] * SECOND)
        sequence = number if case.sequence is None else given[case.sequence]
        events.append(Event(given["type"], time, fields, id=given.get("id", number), sequence=sequence))
    return checked, sorted(events, key=lambda event: (event.time, event.sequence))


def sources_of(events: list[Event], random: Random) -> dict[str, str]:
    """The source of each event type; types that have simultaneous events share one, so that their order is told."""
    owner = {event.type: event.type for event in events}
    by_time: dict[int, set[str]] = {}
    for event in events:
        by_time.setdefault(event.time, set()).add(event.type)
    for kinds in by_time.values():
        together = {owner[kind] for kind in kinds}
        first = min(together)
        owner = {kind: first if name in together else name for kind, name in owner.items()}
    names = {name: f"s{random.randrange(1000)}-{name}" for name in sorted(set(owner.values()))}
    return {kind: names[name] for kind, name in owner.items()}


def on_network(case: Case, strategy: Strategy, topology: str, seed: int) -> list[dict[str, object]]:
    """What a sink for all composite events receives, with the times of the case."""
    checked, events = prepared(case)
    random = Random(f"{case.name} {strategy.value} {topology} {seed}")
    links = TOPOLOGIES[topology]
    processors = sorted({name for link in links for name in link})
    masters = random.choice(list(Masters))
    delivery = random.choice(list(Delivery))
    network = Network(links, Options(strategy, masters=masters, adapt_every=3 * SECOND, delivery=delivery))
    source_of = sources_of(events, random)
    place_of = {source: random.choice(processors) for source in sorted(set(source_of.values()))}
    network.start()
    network.run()
    for source, place in place_of.items():
        types = tuple(kind for kind, own in source_of.items() if own == source)
        network.post(network.now, place, AttachSource(source, types), source)
    deployer = random.choice(processors)
    network.post(network.now, deployer, DeployRules("r", checked.rules.rules, checked.rules.declarations), "deployer")
    at = random.choice(processors)
    for kind in checked.composites:
        network.post(network.now, at, AttachSink("k", parse_event_pattern(f"{kind}()")), "k")
    network.run()
    told = [message for _, _, message in network.told]
    assert any(isinstance(message, Deployed) for message in told)
    assert not any(isinstance(message, Refused) for message in told)
    for event in events:
        source = source_of[event.type]
        network.post(event.time, place_of[source], Publish(source, (event,), event.time - 1), source)
    end = max((event.time for event in events), default=START)
    for name in processors:
        network.post(end + 60 * SECOND, name, Tick(end))
    network.run()
    assert not any(isinstance(message, LateEvents) for _, _, message in network.told)
    given = {event.id for event in events}
    return [
        replace(receipt.event, time=receipt.event.time - START, start=None).to_dict()
        for receipt in network.receipts
        if receipt.event.id not in given  # a sink of a type gets events of sources, too
    ]


def deployments(place: int) -> list[tuple[Strategy, str]]:
    """Two strategies on two networks for the case at a place: over all cases, everything is met."""
    strategies, topologies = list(Strategy), list(TOPOLOGIES)
    return [
        (strategies[(place + turn * 2) % len(strategies)], topologies[(place // 2 + turn) % len(topologies)])
        for turn in range(2)
    ]


QUICK = [
    pytest.param(case, *each, id=f"{case}, {each[0].value} on a {each[1]}")
    for place, case in enumerate(CASES)
    if case.name not in REFUSED
    for each in deployments(place)
]


def agree(case: Case, strategy: Strategy, topology: str, seed: int) -> None:
    found = on_network(case, strategy, topology, seed)
    assert outcome(found) == outcome(case.expected)


@pytest.mark.parametrize(("case", "strategy", "topology"), QUICK)
def test_a_network_gives_what_the_case_says(case: Case, strategy: Strategy, topology: str) -> None:
    agree(case, strategy, topology, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", list(Strategy), ids=lambda strategy: strategy.value)
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_every_case_on_every_network_under_every_strategy(strategy: Strategy, topology: str) -> None:
    for case in CASES:
        if case.name not in REFUSED:
            for seed in range(1, 4):
                agree(case, strategy, topology, seed)


@pytest.mark.parametrize(
    "text",
    [
        "define Fire() from Smoke() min probability 0.5",
        "define Fire() from Smoke(); error Smoke.level ~ N(0, 1)",
    ],
)
def test_what_a_network_does_not_run_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(UnsupportedError) as raised:
        check_supported(parse(text))
    for found in raised.value.diagnostics:
        assert found.span is not None
        assert found.hint


UNSUPPORTED = {
    "a choice for each group (per)": (
        "conditions: nor in the choice of the first, of several and of each group, where an aggregate is bound",
        "groups: the last of each group",
        "groups: two first of each group of two attributes, by what they satisfy",
        "groups: events without the attribute are a group",
        "groups: counts by group",
    ),
    "the greatest of many (top)": (
        "groups: what events are ranked by may be bound behind them, and be used again",
        "groups: the two most frequent routes",
        "groups: the greatest of all, the later of equal ones",
        "groups: a condition has no say in who is the greatest",
        "users: the two busiest routes of the last half hour",
    ),
    "collections (all)": (
        "groups: all of them as one choice",
        "groups: a collection may be empty, and have too many members",
        "groups: members are consumed together",
        "groups: what was counted is named behind the parts, each event once",
        "groups: the first and the last member may have no value",
        "groups: a rule that needs the value of the last member does not fire without it",
        "users: failed logins from several addresses and then a success",
        "users: three of anything but the usual within a minute",
    ),
    "aggregates since the start": (
        "aggregates: since start takes all events so far, by what must be equal",
        "users: traffic to a place that nobody has been to since the start",
        "users: the dearest sale of each shop so far",
    ),
    "attributes under another name than the data's (code: string from id)": (
        "conditions: attributes under other names than the data's",
    ),
    "timers (after, every)": (
        *(name for name in REFUSED if name.startswith("timers: ")),
        "users: a heartbeat is lost and comes back",
        "users: the counts of every shop, by the minute",
        "users: an order that is neither paid nor cancelled in a day",
        "users: a session ends when nothing comes for ten minutes",
    ),
    "ties ordered": (
        *(name for name in REFUSED if name.startswith("ties: ")),
        "users: twelve failed logins in one second are twelve",
    ),
}
"""The cases that a network refuses, by the construct that it names."""


def test_all_cases_run_under_all_strategies() -> None:
    reasons = {
        name: f"a network of processors does not support {construct}"
        for construct, names in UNSUPPORTED.items()
        for name in names
    }
    assert reasons == REFUSED, "a case that a network cannot run stands here with its reason"
    met = Counter(each.values[1:] for each in QUICK)
    assert len(met) >= 10
    assert {strategy for strategy, _ in met} == set(Strategy)
