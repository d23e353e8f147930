"""Networks to simulate are connected, as large as asked for, and reproducible."""

from __future__ import annotations

from pathlib import Path
from random import Random

import networkx
import pytest

from cepheus.core.errors import OptionError
from cepheus.runtime.network.topology import KINDS, random_topology, read_links


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
