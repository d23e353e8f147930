"""A rule as a Bayesian network, its composite event the only cause of all its parts; and what an expert adds to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from cepheus.rules.belief.model import NO, YES, Belief, Node, Observation, Row
from cepheus.rules.model import Aggregation, Collection, FreeCondition, Negation, Rule, Selection

EVEN = ((YES, 0.5), (NO, 0.5))
CERTAIN = ((YES, 1.0), (NO, 0.0))
IMPOSSIBLE = ((YES, 0.0), (NO, 1.0))


@dataclass(frozen=True, slots=True)
class Part:
    """An event of a rule's pattern, and the state in which a match finds it: a negated event did not happen."""

    name: str
    observed: str


def translate(rule: Rule) -> Belief:
    """The network that a rule alone says: its composite event happens, and then each of its parts does.

    Nodes are the composite event first, then the parts in text order; the parts are observed. Nothing is known of how
    likely the composite event is, and nothing but it explains the parts, so that its probability is 1.

    >>> from cepheus.core.schema import EventType
    >>> from cepheus.rules.expressions import EventPattern
    >>> from cepheus.rules.model import Pattern
    >>> belief = translate(Rule(EventType("Fire"), Pattern(EventPattern("Smoke")), name="R1"))
    >>> [(node.name, node.parents) for node in belief.nodes]
    [('Fire', ()), ('Smoke', ('Fire',))]
    """
    cause = rule.composite.name
    found = parts(rule)
    nodes = [Node(cause, (Row(EVEN),)), *(_effect(part, cause) for part in found)]
    observed = tuple(Observation(part.name, part.observed) for part in found)
    return Belief(str(rule.name), tuple(nodes), observed)


def parts(rule: Rule) -> tuple[Part, ...]:
    """The events of a rule's pattern with the names of their nodes.

    An event is called as in the rule, an aggregate like its event; a name that is taken, if only by the composite
    event, gets a number: ``Temp_2``.
    """
    taken = {rule.composite.name}
    found = [Part(_free(rule.pattern.terminator.name, taken), YES)]
    for item in rule.pattern.items:
        match item:
            case Selection(event=event) | Collection(event=event):
                found.append(Part(_free(event.name, taken), YES))
            case Negation(event=event):
                found.append(Part(_free(event.name, taken), NO))
            case Aggregation(aggregate=aggregate):
                found.append(Part(_free(aggregate.event.name, taken), YES))
            case FreeCondition():
                pass  # it asks of events that have nodes already
            case _:
                assert_never(item)
    return tuple(found)


def _effect(part: Part, cause: str) -> Node:
    present, absent = (CERTAIN, IMPOSSIBLE) if part.observed == YES else (IMPOSSIBLE, CERTAIN)
    return Node(part.name, (Row(present, (YES,)), Row(absent, (NO,))), (cause,))


def _free(name: str, taken: set[str]) -> str:
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    taken.add(free)
    return free


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
