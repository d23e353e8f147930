"""What is simulated: a network, rules, sources with rates, sinks. The defaults are those of the papers' evaluation.

Networks are drawn at random as BRITE does, read from a file, or given by hand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import assert_never

from cepheus.core.errors import OptionError, Place
from cepheus.core.extras import require
from cepheus.core.schema import EventType
from cepheus.core.time import MILLISECOND, MINUTE, SECOND, parse_duration
from cepheus.core.values import Value, ValueType
from cepheus.rules.expressions import AttributeRef, Comparison, Constant, EventPattern, Within
from cepheus.rules.model import Pattern, Rule, Selection
from cepheus.rules.policies import Policy
from cepheus.runtime.network.protocol.strategy import Options
from cepheus.runtime.network.simulation.faults import Faults
from cepheus.runtime.network.simulation.simulator import Link

Links = dict[Link, int]
"""The delay of each link in microseconds."""

KINDS = ("waxman", "barabasi-albert")


class Rates(Enum):
    """How rates are drawn between the slowest and the fastest.

    ``logarithmic``: every order of magnitude is as likely as any other; ``exponential``: from an exponential
    distribution of rates with a mean of one event a second, cut off at both ends. The papers' words allow both.
    """

    LOGARITHMIC = "logarithmic"
    EXPONENTIAL = "exponential"


def random_topology(kind: str, processors: int, neighbours: float, delay: int, random: Random) -> Links:
    """Draw a connected network with a mean number of neighbours and a mean delay (microseconds).

    ``waxman``: processors are points of the plane, near ones are likelier to be linked. ``barabasi-albert``: a new
    processor is linked to those that have many links. In both, delays are proportional to distance.
    """
    require("networkx", "a network that is drawn at random")
    import networkx

    if kind not in KINDS:
        raise OptionError.of("topology", f"there is no topology '{kind}'", hint=f"choose one of {', '.join(KINDS)}")
    seed = random.randrange(2**31)
    points = {n: (random.random(), random.random()) for n in range(processors)}
    wanted = min(round(processors * neighbours / 2), processors * (processors - 1) // 2)
    if kind == "barabasi-albert" and processors > 2:
        each = max(1, min(processors - 1, round(neighbours / 2)))
        graph = networkx.barabasi_albert_graph(processors, each, seed=seed)
        edges = {(min(edge), max(edge)) for edge in graph.edges}
    else:
        edges = _waxman(points, max(wanted, processors - 1), random)
    edges = _connected(edges, points)
    lengths = {edge: math.dist(points[edge[0]], points[edge[1]]) for edge in edges}
    mean = sum(lengths.values()) / len(lengths) if lengths else 1.0
    digits = len(str(processors - 1))
    return {
        (f"p{one:0{digits}}", f"p{other:0{digits}}"): max(1, round(delay * lengths[one, other] / mean))
        for one, other in sorted(edges)
    }


def _waxman(points: dict[int, tuple[float, float]], count: int, random: Random) -> set[tuple[int, int]]:
    """Draw edges with Waxman's probabilities, without replacement, until there are as many as wanted."""
    import networkx

    spread = 0.2  # what BRITE comes with
    pairs = list(networkx.complete_graph(len(points)).edges)
    keys = []
    for one, other in pairs:
        weight = math.exp(-math.dist(points[one], points[other]) / (spread * math.sqrt(2)))
        keys.append((random.random() ** (1 / weight), (min(one, other), max(one, other))))
    return {pair for _, pair in sorted(keys, reverse=True)[:count]}


def _connected(edges: set[tuple[int, int]], points: dict[int, tuple[float, float]]) -> set[tuple[int, int]]:
    """Add the shortest missing links until everybody reaches everybody."""
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(points)
    graph.add_edges_from(edges)
    while graph.number_of_nodes() and not networkx.is_connected(graph):
        first, *others = (sorted(part) for part in networkx.connected_components(graph))
        pairs = [(math.dist(points[a], points[b]), a, b) for a in first for part in others for b in part]
        _, one, other = min(pairs)
        graph.add_edge(one, other)
    return {(min(edge), max(edge)) for edge in graph.edges}


def read_links(path: Path) -> Links:
    """Read a network from a text file: on each line two processors and the delay of their link, such as ``5 ms``."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise OptionError.of("file", f"'{path}' cannot be read", hint="name a text file of links") from None
    links: Links = {}
    for number, line in enumerate(lines, 1):
        words = line.split("#")[0].split(maxsplit=2)
        if not words:
            continue
        if len(words) < 2:
            raise OptionError.of(
                "topology",
                "a link needs two processors and a delay",
                place=Place(str(path), number),
                hint="write for example: p1 p2 5 ms",
            )
        delay = parse_duration(words[2]) if len(words) > 2 else 5 * MILLISECOND
        links[min(words[:2]), max(words[:2])] = delay
    return links


def check_connected(links: Links, place: Place) -> None:
    """Refuse a network of which parts cannot reach one another, or in which somebody is their own neighbour."""
    import networkx

    for one, other in links:
        if one == other:
            raise OptionError.of("topology", f"'{one}' is linked with itself", place=place, hint="leave that link out")
    first, *others = sorted(sorted(part) for part in networkx.connected_components(networkx.Graph(list(links)))) or [[]]
    if others:
        raise OptionError.of(
            "topology",
            f"the network is in {1 + len(others)} parts: no way leads from '{first[0]}' to '{others[0][0]}'",
            place=place,
            hint="add a link between them, or simulate them one by one",
        )


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
    rates: Rates = Rates.LOGARITHMIC
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
    """Draw a rate, in events per second."""
    match scenario.rates:
        case Rates.LOGARITHMIC:
            low, high = math.log(scenario.slowest), math.log(scenario.fastest)
            return math.exp(random.uniform(low, high))
        case Rates.EXPONENTIAL:
            # what lies between both ends, by the inverse of the distribution: one number is drawn, as above
            least, most = -math.expm1(-scenario.slowest), -math.expm1(-scenario.fastest)
            return -math.log1p(-random.uniform(least, most))
        case _:
            assert_never(scenario.rates)


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
