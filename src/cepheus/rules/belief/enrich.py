"""What an expert adds to the network of a rule."""

from __future__ import annotations

from dataclasses import replace

from cepheus.rules.belief.model import Belief, Node, Row
from cepheus.rules.belief.translate import EVEN


def enrich(translated: Belief, added: Belief) -> Belief:
    """Put an expert's nodes in place of those that the rule gave, and behind them those that are new.

    Where the composite event is said to depend on one of its parts, the edge between the two is reversed: unless the
    expert says more of the part, nothing is known of how likely it is, and as it is observed that does not matter.

    >>> from cepheus.rules.belief.model import NO, YES, Observation
    >>> cause, effect = Node("Fire", (Row(EVEN),)), Node("Smoke", (Row(EVEN, (None,)),), ("Fire",))
    >>> reverse = Node("Fire", (Row(EVEN, (None,)),), ("Smoke",))
    >>> both = enrich(Belief("R1", (cause, effect)), Belief("R1", (reverse,), (Observation("Smoke", YES),)))
    >>> [(node.name, node.parents) for node in both.nodes]
    [('Fire', ('Smoke',)), ('Smoke', ())]
    """
    written = {node.name: node for node in added.nodes}
    cause = written.get(translated.nodes[0].name, translated.nodes[0])
    nodes: list[Node] = []
    for node in translated.nodes:
        if node.name in written:
            nodes.append(written.pop(node.name))
        elif node.name in cause.parents:
            nodes.append(replace(node, rows=(Row(EVEN),), parents=()))
        else:
            nodes.append(node)
    nodes += written.values()
    return replace(
        translated, nodes=tuple(nodes), observations=translated.observations + added.observations, span=added.span
    )
