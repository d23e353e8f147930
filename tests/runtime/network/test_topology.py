"""Networks to simulate are connected, as large as asked for, and reproducible."""

from __future__ import annotations

from pathlib import Path
from random import Random

import networkx
import pytest

from cepheus.core.errors import OptionError
from cepheus.runtime.network.simulation.scenario import KINDS, Scenario, draw, random_topology, read_links
from cepheus.runtime.network.simulation.scenario_file import read_plan


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [2, 5, 20, 50])
def test_random_networks(kind: str, count: int) -> None:
    links = random_topology(kind, count, 5, 5000, Random(1))
    graph = networkx.Graph(list(links))
    assert graph.number_of_nodes() == count
    assert networkx.is_connected(graph)
    assert links == random_topology(kind, count, 5, 5000, Random(1))
    assert sum(links.values()) / len(links) == pytest.approx(5000, rel=0.01)


def test_networks_from_files(tmp_path: Path) -> None:
    file = tmp_path / "links.txt"
    file.write_text("# a line of three\np1 p2 5 ms\np3 p2 200 us\n", encoding="utf-8")
    assert read_links(file) == {("p1", "p2"): 5000, ("p2", "p3"): 200}
    file.write_text("p1\n", encoding="utf-8")
    with pytest.raises(OptionError, match="two processors"):
        read_links(file)


def test_one_network_for_all_seeds(tmp_path: Path) -> None:
    given = Scenario(processors=6, types=8, rules=4, subscriptions=2, network=7)
    one, other = draw(given, 1), draw(given, 2)
    assert (one.links, one.sources, one.rules) == (other.links, other.sources, other.rules)
    assert one.sinks != other.sinks
    assert draw(Scenario(processors=6, types=8, rules=4, subscriptions=2), 7).rules == one.rules
    file = tmp_path / "scenario.toml"
    file.write_text(
        "seed = 2\n[network]\nprocessors = 6\nnumber = 7\n[workload]\ntypes = 8\nrules = 4\nsubscriptions = 2\n",
        encoding="utf-8",
    )
    read = read_plan(file)
    assert (read.links, read.sources, read.rules, read.sinks) == (other.links, other.sources, other.rules, other.sinks)
    file.write_text("[network]\nnumber = 'one'\n", encoding="utf-8")
    with pytest.raises(OptionError, match="'number' must be an integer"):
        read_plan(file)


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ("a b\nc d\nd e\n", "the network is in 2 parts: no way leads from 'a' to 'c'"),
        ("a b\nb b\n", "'b' is linked with itself"),
    ],
)
def test_a_network_in_parts_is_refused(tmp_path: Path, links: str, message: str) -> None:
    (tmp_path / "links.txt").write_text(links)
    (tmp_path / "scenario.toml").write_text('[network]\nfile = "links.txt"\n')
    with pytest.raises(OptionError, match=message) as found:
        read_plan(tmp_path / "scenario.toml")
    assert str(tmp_path / "links.txt") in str(found.value)
