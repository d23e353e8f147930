"""What is simulated: a network, rules, sources with rates, sinks. The defaults are those of the papers' evaluation."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

from cepheus.core.schema import EventType
from cepheus.core.time import MILLISECOND, MINUTE, SECOND
from cepheus.core.values import Value, ValueType
from cepheus.rules.expressions import AttributeRef, Comparison, Constant, EventPattern, Within
from cepheus.rules.model import Pattern, Rule, Selection
from cepheus.rules.policies import Policy
from cepheus.runtime.network.protocol.strategy import Options
from cepheus.runtime.network.simulation.faults import Faults
from cepheus.runtime.network.simulation.topology import Links, random_topology


@dataclass(frozen=True, slots=True)
class Scenario:
    """A family of random scenarios; each seed draws one. Durations are in microseconds, rates in events per second.

    ``each_share`` is the share of ``each`` among the selection policies. An attribute has one of ``values`` values, of
    which rules want one (1: there is no attribute). ``classes`` cuts rules into classes of so many that share types (0:
    none), produced at one processor and ``near`` of its nearest neighbours; ``apart`` gives every rule types of its
    own. ``heartbeat`` is how often sources promise progress.
    With ``network`` the links, sources and rules are those of that seed, and only subscriptions and events are drawn.
    ``faults`` have times that count from the end of the warm-up; what is not acknowledged is sent again each ``retry``.
    """

    options: Options = field(default_factory=Options)
    network: int | None = None
    processors: int = 20
    neighbours: float = 5.0
    topology: str = "waxman"
    delay: int = 5 * MILLISECOND
    bandwidth: float | None = None
    types: int = 120
    slowest: float = 0.001
    fastest: float = 10.0
    rules: int = 100
    length: int = 3
    window: int = MINUTE
    subscriptions: float = 10.0
    each_share: float = 0.0
    values: int = 1
    classes: int = 0
    near: int = 1
    apart: bool = False
    heartbeat: int = 50 * MILLISECOND
    warm_up: int = 30 * SECOND
    duration: int = 5 * MINUTE
    faults: Faults | None = None
    retry: int = 100 * MILLISECOND


Draw = tuple[Value, ...]
"""What an attribute is drawn from: one of these values; of two floats, any number between them."""


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """A source: where it is, what it publishes, how often (events per second) and with which attributes."""

    name: str
    processor: str
    type: str
    rate: float
    attributes: tuple[tuple[str, Draw], ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """A scenario drawn from a seed."""

    scenario: Scenario
    seed: int
    links: Links
    processors: tuple[str, ...]
    sources: tuple[SourcePlan, ...]
    rules: tuple[Rule, ...]
    declarations: tuple[EventType, ...]
    sinks: tuple[tuple[str, str, str], ...]
    """Names, processors and types of the sinks' subscriptions."""


def draw(scenario: Scenario, seed: int, links: Links | None = None) -> Plan:
    """Draw a scenario; the network may be given.

    >>> plan = draw(Scenario(processors=3, types=4, rules=2), seed=1)
    >>> len(plan.sources), len(plan.rules), [processor for processor in plan.processors]
    (4, 2, ['p0', 'p1', 'p2'])
    """
    random = Random(f"scenario {_network(scenario, seed)}")
    if links is None:
        links = draw_links(scenario, seed)
    processors = tuple(sorted({name for link in links for name in link})) or ("p0",)
    count = scenario.rules * scenario.length if scenario.apart else scenario.types
    types = [f"T{n}" for n in range(count)]
    places = _places(scenario, types, processors, links, random)
    drawn = (("value", tuple(range(scenario.values))),) if scenario.values > 1 else ()
    sources = tuple(
        SourcePlan(f"s{n}", places[kind], kind, _rate(scenario, random), drawn) for n, kind in enumerate(types)
    )
    rules = tuple(_rule(scenario, number, types, random) for number in range(scenario.rules))
    chance = Random(f"subscriptions {seed}")
    sinks = tuple(
        (f"k-{processor}", processor, rule.composite.name)
        for processor in processors
        for rule in rules
        if chance.random() < scenario.subscriptions / scenario.rules
    )
    return Plan(scenario, seed, links, processors, sources, rules, (), sinks)


def draw_links(scenario: Scenario, seed: int) -> Links:
    """Draw the links of a scenario."""
    random = Random(f"topology {_network(scenario, seed)}")
    return random_topology(scenario.topology, scenario.processors, scenario.neighbours, scenario.delay, random)


def _network(scenario: Scenario, seed: int) -> int:
    return seed if scenario.network is None else scenario.network


def _rate(scenario: Scenario, random: Random) -> float:
    """Draw a rate so that every order of magnitude is as likely as any other."""
    low, high = math.log(scenario.slowest), math.log(scenario.fastest)
    return math.exp(random.uniform(low, high))


def _class_of(scenario: Scenario, number: int, types: list[str]) -> list[str]:
    """Return the types that the rules of one class share."""
    if not scenario.classes:
        return types
    classes = max(1, scenario.rules // scenario.classes)
    size = max(scenario.length, len(types) // classes)
    start = (number // scenario.classes) * size % len(types)
    return (types + types)[start : start + size]


def _places(
    scenario: Scenario, types: list[str], processors: tuple[str, ...], links: Links, random: Random
) -> dict[str, str]:
    """Place each type at a processor: anywhere, or next to one another if rules come in classes."""
    if not scenario.classes:
        return {kind: random.choice(processors) for kind in types}
    places: dict[str, str] = {}
    for number in range(0, scenario.rules, scenario.classes):
        home = random.choice(processors)
        hosts = [home, *_nearest(home, links)[: scenario.near]]
        for kind in _class_of(scenario, number, types):
            places.setdefault(kind, random.choice(hosts))
    return {kind: places.get(kind, random.choice(processors)) for kind in types}


def _nearest(home: str, links: Links) -> list[str]:
    """The neighbours of a processor, the nearest first."""
    near = [(delay, one if other == home else other) for (one, other), delay in links.items() if home in (one, other)]
    return [name for _, name in sorted(near)]


def _rule(scenario: Scenario, number: int, types: list[str], random: Random) -> Rule:
    if scenario.apart:
        chosen = types[number * scenario.length : (number + 1) * scenario.length]
    else:
        chosen = random.sample(_class_of(scenario, number, types), scenario.length)
    events = [EventPattern(kind, _content(scenario, random)) for kind in chosen]
    items = []
    for before, event in pairwise(events):
        policy = Policy.EACH if random.random() < scenario.each_share else Policy.LAST
        window = round(scenario.window * random.uniform(0.5, 1.5))
        items.append(Selection(policy, event, Within(window, before.name)))
    return Rule(EventType(f"C{number}"), Pattern(events[0], tuple(items)), name=f"R{number}")


def _content(scenario: Scenario, random: Random) -> tuple[Comparison, ...]:
    if scenario.values == 1:
        return ()
    value = Constant(random.randrange(scenario.values), ValueType.INT)
    return (Comparison((AttributeRef(None, "value"), value), ("=",)),)
