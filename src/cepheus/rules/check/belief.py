"""Do networks fit their rules: nodes, edges, tables, and what is observed?"""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from cepheus.core.errors import did_you_mean
from cepheus.core.source import Span
from cepheus.rules.belief.enrich import enrich
from cepheus.rules.belief.model import EVENT_STATES, Belief, Node
from cepheus.rules.belief.translate import translate
from cepheus.rules.check.belief_tables import node_table
from cepheus.rules.check.findings import Findings
from cepheus.rules.check.wording import line_of, listed
from cepheus.rules.model import Rule, RuleSet

States = Mapping[str, tuple[str, ...]]
"""The states of every node of a network."""


def beliefs(rules: RuleSet, findings: Findings) -> None:
    """Check the networks of rules, which must have their names."""
    by_name = {rule.name: rule for rule in rules.rules}
    first: dict[str, Span | None] = {}
    for each in rules.beliefs:
        rule = by_name.get(each.rule)
        if rule is None:
            _unknown_rule(each, rules, findings)
        elif each.rule in first:
            other = line_of(first[each.rule], each.span)
            message = f"the rule '{each.rule}' has two networks" + (f": the other stands {other}" if other else "")
            findings.error("duplicate-network", message, each.span, "write all its nodes in one")
        else:
            belief(rule, each, findings)
        first.setdefault(each.rule, each.span)


def belief(rule: Rule, added: Belief, findings: Findings) -> None:
    """Check what is added to the network of one rule."""
    translated = translate(rule)
    whole = enrich(translated, added)
    states = states_of(translated, whole)
    _names(added, findings)
    for node in added.nodes:
        node_alone(node, states, findings, is_event=any(node.name == event.name for event in translated.nodes))
    _cycle(whole, findings)
    _observations(translated, added, states, findings)
    _idle(translated, whole, findings)


def states_of(translated: Belief, whole: Belief) -> dict[str, tuple[str, ...]]:
    """The states of every node; an event happened or did not, in whichever order its table says so."""
    return {node.name: node.states for node in whole.nodes} | {node.name: EVENT_STATES for node in translated.nodes}


def node_alone(node: Node, states: States, findings: Findings, *, is_event: bool) -> None:
    """Check one node: what it depends on, and its tables."""
    known = True
    for place, parent in enumerate(node.parents):
        span = node.parent_spans[place] if place < len(node.parent_spans) else node.span
        if parent not in states:
            message = f"'{node.name}' depends on '{parent}', but there is no such node"
            findings.error("unknown-node", message, span, did_you_mean(parent, states) or f"add a node '{parent}'")
            known = False
        elif parent in node.parents[:place]:
            findings.error("duplicate-node", f"'{node.name}' depends on '{parent}' twice", span, "name it once")
            known = False
    if node.bands is not None:
        _bands(node, findings, is_event=is_event)
    if known and all(states[parent] for parent in node.parents):  # one without states is wrong itself
        node_table(node, states, findings)


def _unknown_rule(belief: Belief, rules: RuleSet, findings: Findings) -> None:
    makers = [str(rule.name) for rule in rules.rules if rule.composite.name == belief.rule]
    hint = did_you_mean(belief.rule, [str(rule.name) for rule in rules.rules])
    if makers:
        hint = f"'{belief.rule}' is made by {listed(makers)}: a network is named after its rule"
    findings.error("unknown-rule", f"there is no rule '{belief.rule}' for this network", belief.span, hint)


def _names(added: Belief, findings: Findings) -> None:
    seen: set[str] = set()
    for node in added.nodes:
        if node.name in seen:
            findings.error(
                "duplicate-node", f"the node '{node.name}' is described twice", node.span, "describe it once"
            )
        seen.add(node.name)


def _bands(node: Node, findings: Findings, *, is_event: bool) -> None:
    assert node.bands is not None
    span = node.bands.span or node.span
    if is_event:
        hint = f"write node {node.name} {{YES: .., NO: ..}} or a table"
        findings.error("bands", f"'{node.name}' is an event: it happened or not, and has no bands", span, hint)
    cuts = node.bands.cuts
    if any(low >= high for low, high in pairwise(cuts)):
        findings.error("bands", f"the cuts between the bands of '{node.name}' must increase", span)
    if len(set(node.bands.states)) < len(node.bands.states):
        findings.error("bands", f"two bands of '{node.name}' have one name", span, "give each its own")


def _cycle(belief: Belief, findings: Findings) -> None:
    """Find a cycle of edges and spell it out, from cause to effect."""
    nodes = {node.name: node for node in belief.nodes}
    try:
        TopologicalSorter({node.name: node.parents for node in belief.nodes}).prepare()
    except CycleError as error:
        ring: list[str] = error.args[1]
        span = next((nodes[name].span for name in ring if nodes[name].span is not None), belief.span)
        hint = "an effect cannot be among its own causes: remove an edge"
        findings.error("network-cycle", f"the network is cyclic: {' -> '.join(ring)}", span, hint)


def _observations(translated: Belief, added: Belief, states: States, findings: Findings) -> None:
    seen: set[str] = set()
    events = {node.name for node in translated.nodes}
    for known in added.observations:
        if known.node not in states:
            hint = did_you_mean(known.node, states)
            findings.error("unknown-node", f"there is no node '{known.node}'", known.span, hint)
        elif known.node in events:
            what = (
                "is what the network is asked for" if known.node == translated.nodes[0].name else "is observed anyway"
            )
            message = f"'{known.node}' is an event of the rule: it {what}"
            findings.error("observation", message, known.span, "observe only nodes that you added")
        elif known.node in seen:
            findings.error("observation", f"'{known.node}' is observed twice", known.span, "observe it once")
        elif states[known.node] and known.state not in states[known.node]:
            unknown_state(known.state, known.node, states, known.span, findings)
        seen.add(known.node)


def unknown_state(state: str, node: str, states: States, span: Span | None, findings: Findings) -> None:
    """Say that a node has no such state."""
    hint = did_you_mean(state, states[node]) or f"it has {listed(list(states[node]))}"
    findings.error("unknown-state", f"'{node}' has no state '{state}'", span, hint)


def _idle(translated: Belief, whole: Belief, findings: Findings) -> None:
    """Warn of nodes that change nothing because nothing observed and no event depends on them."""
    parents = {node.name: node.parents for node in whole.nodes}
    reached: set[str] = set()
    waiting = [node.name for node in translated.nodes] + [known.node for known in whole.observations]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += parents.get(name, ())
    for node in whole.nodes:
        if node.name not in reached:
            hint = did_you_mean(node.name, [event.name for event in translated.nodes])
            message = f"'{node.name}' changes nothing: no event of the rule depends on it"
            findings.warning("idle-node", message, node.span, hint or "name it in the 'given' of an event")
