"""Networks to simulate: drawn at random as BRITE does, read from a file, or given by hand."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random

from cepheus.core.errors import OptionError, Place
from cepheus.core.extras import require
from cepheus.core.time import MILLISECOND, parse_duration
from cepheus.runtime.network.simulation.simulator import Link

Links = dict[Link, int]
"""The delay of each link in microseconds."""

KINDS = ("waxman", "barabasi-albert")


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
