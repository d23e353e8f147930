"""A node's snapshot that somebody has tampered with: refused, or a processor that goes on."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from random import Random

import pytest

sys.path.append(str(Path(__file__).parents[2] / "engine"))

from snapshot_mutations import mutated

from cepheus.core.errors import CepheusError, SnapshotError
from cepheus.core.event import Event
from cepheus.core.time import SECOND
from cepheus.engine.base.snapshot import pack, unpack
from cepheus.language.tesla import parse, parse_event_pattern
from cepheus.rules.check import check
from cepheus.runtime.network.processor.snapshot import restore_node, snapshot_node
from cepheus.runtime.network.protocol.link import LinkEnd
from cepheus.runtime.network.protocol.messages import (
    AttachSink,
    AttachSource,
    Awaken,
    DeployRules,
    Publish,
    Release,
    Tick,
)
from cepheus.runtime.network.protocol.strategy import Options
from cepheus.runtime.network.simulation.simulator import Network

RULES = "define Fire(area: string) from Smoke(area=$a) and last Temp(area=$a) within 50 s from Smoke where area=$a"


def network() -> Network:
    """Give a network of three in the midst of its work."""
    made = Network({("p1", "p2"): 1000, ("p2", "p3"): 1000}, Options())
    made.start()
    made.run()
    made.hand("p1", AttachSource("s1", ("Temp",)), "s1")
    made.hand("p3", AttachSource("s2", ("Smoke",)), "s2")
    made.hand("p2", AttachSink("k", parse_event_pattern("Fire()")), "k")
    made.hand("p1", DeployRules("r", check(parse(RULES)).rules.rules), "k")
    made.run()
    publish(made, 0, 20)
    return made


def publish(made: Network, first: int, end: int) -> None:
    for k in range(first, end):
        at = 10**15 + k * SECOND
        name, kind, processor = ("s2", "Smoke", "p3") if k % 3 == 0 else ("s1", "Temp", "p1")
        made.post(at, processor, Publish(name, [Event(kind, at, {"area": "A"}, id=f"e{k}")], at), name)
        made.post(at + 10, "p1", Tick(at))
        made.post(at + 10, "p3", Tick(at))
    made.run()


@pytest.mark.parametrize("name", ["p1", "p2", "p3"])
def test_a_changed_snapshot_is_refused_or_goes_on(name: str) -> None:
    made = network()
    link = LinkEnd()
    link.send(Tick(5))
    link.send(Tick(6))
    saved = snapshot_node(made.processors[name], {"p9": link, "p8": LinkEnd(3, 4)})
    processor, links = restore_node(saved)
    assert snapshot_node(processor, links) == saved
    outcomes: Counter[str] = Counter()
    for seed in range(80):
        try:
            made.processors[name], links = restore_node(mutated(saved, Random(seed)))
        except SnapshotError:
            outcomes["refused"] += 1
            continue
        for each in links.values():
            each.resend()
        try:
            publish(made, 20, 24)
            outcomes["went on"] += 1
        except CepheusError:
            outcomes["went on to an error"] += 1
        made = network()
    assert outcomes["refused"] > 20
    assert outcomes["went on"]


@pytest.mark.parametrize("name", ["p1", "p2", "p3"])
def test_a_node_with_another_idea_of_the_trees_does_not_make_its_neighbours_fail(name: str) -> None:
    made = network()
    header, _ = unpack("network node", snapshot_node(made.processors[name], {}))
    (tree,) = header["trees"]
    tree["father"] = tree["father"] or "p2"  # else a root would have to have the name of its tree
    tree["name"] = "elsewhere"
    made.processors[name], _ = restore_node(pack("network node", header))
    publish(made, 20, 40)
    for each in made.processors.values():
        each.handle(Awaken("nowhere", 1, "#", 0, 1), 0, "p2")
        each.handle(Release("p1", 5), 0, "p9")
