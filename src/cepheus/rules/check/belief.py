"""Do networks fit their rules: nodes, edges, tables that say something for every case, and what is observed?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import islice, pairwise, product

from cepheus.core.errors import did_you_mean
from cepheus.core.source import Span
from cepheus.rules.belief.model import EVENT_STATES, Belief, Chances, Node, Row
from cepheus.rules.belief.translate import enrich, translate
from cepheus.rules.check.findings import Findings, find_name, line_of, listed
from cepheus.rules.model import Rule, RuleSet

States = Mapping[str, tuple[str, ...]]
"""The states of every node of a network."""


def check_beliefs(rules: RuleSet, findings: Findings) -> None:
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
            check_belief(rule, each, findings)
        first.setdefault(each.rule, each.span)


def check_belief(rule: Rule, added: Belief, findings: Findings) -> None:
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
    numbers = {node.name for node in added.nodes if node.bands is not None}
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
        elif known.number is not None and known.node in numbers:
            pass
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


MAX_CASES = 2**16
"""How many combinations of its parents' states a table may have."""

TOLERANCE = 1e-9
"""How far from 1 a row may sum: what is written in decimals is rounded."""


def node_table(node: Node, states: Mapping[str, tuple[str, ...]], findings: Findings) -> None:
    """Check the tables of a node whose parents are known: its own and those of its seasons."""
    own = states[node.name]
    if len(set(own)) < len(own):
        if node.bands is not None:
            return  # the bands say so themselves
        findings.error("table-size", f"the table of '{node.name}' names a state twice", node.rows[0].span or node.span)
        return
    cases = math.prod(len(states[parent]) for parent in node.parents)
    if cases > MAX_CASES:
        message = f"the table of '{node.name}' would have {cases:,} rows, more than {MAX_CASES:,}"
        findings.error("network-size", message, node.span, "join some of its causes into one node")
        return
    for rows, span in ((node.rows, node.span), *((season.rows, season.span) for season in node.seasons)):
        right = [_row(row, node, states, findings) for row in rows]
        if all(right):
            _cases(rows, node, states, span, findings)


def _row(row: Row, node: Node, states: Mapping[str, tuple[str, ...]], findings: Findings) -> bool:
    """Check a row by itself; tell whether its place in the table is clear."""
    span = row.span or node.span
    if len(row.given) != len(node.parents):
        _width(row, node, span, findings)
        return False
    right = True
    for parent, state in zip(node.parents, row.given, strict=True):
        if state is not None and state not in states[parent]:
            hint = did_you_mean(state, states[parent]) or f"it has {listed(list(states[parent]))}"
            place = find_name(row.span, state) or node.span
            findings.error("unknown-state", f"'{parent}' has no state '{state}'", place, hint)
            right = False
    if isinstance(row.value, tuple):
        if node.bands is not None:
            hint = f"write a distribution, such as N(20, 4), or leave out the bands of '{node.name}'"
            findings.error("bands", f"'{node.name}' is a number: its rows are distributions", span, hint)
        else:
            _chances(row.value, node, states[node.name], span, findings)
    elif node.bands is None:
        hint = f"name bands, as in node {node.name} {{LOW < 20 < HIGH}}"
        findings.error("bands", f"'{node.name}' has no bands in which to see a distribution", span, hint)
    return right


def _width(row: Row, node: Node, span: Span | None, findings: Findings) -> None:
    if not node.parents:
        message = f"'{node.name}' depends on nothing, so its table has one row without states"
    else:
        found = f"{len(row.given)} state{'' if len(row.given) == 1 else 's'}"
        message = f"this row is for {found}, but '{node.name}' depends on {listed(list(node.parents))}"
    findings.error("table-size", message, span, "write a state for each, or * for any")


def _chances(chances: Chances, node: Node, states: tuple[str, ...], span: Span | None, findings: Findings) -> None:
    named = [state for state, _ in chances]
    for state in dict.fromkeys(named):
        if state not in states:
            hint = did_you_mean(state, states) or f"it has {listed(list(states))}"
            findings.error("unknown-state", f"'{node.name}' has no state '{state}'", find_name(span, state), hint)
    missing = [state for state in states if state not in named]
    if missing:
        hint = f"add {missing[0]}: 0 if that cannot be"
        findings.error("table-size", f"this row of '{node.name}' says nothing of {listed(missing)}", span, hint)
    if len(set(named)) < len(named):
        findings.error("table-size", f"this row of '{node.name}' names a state twice", span, "name each state once")
    wrong = next(((state, chance) for state, chance in chances if not 0 <= chance <= 1), None)
    total = math.fsum(chance for _, chance in chances)
    if wrong is not None:
        message = f"the probability of '{wrong[0]}' in '{node.name}' is {wrong[1]:g}"
        findings.error("probability", message, span, "write a number from 0 to 1")
    elif not missing and abs(total - 1) > TOLERANCE:
        message = f"the probabilities of '{node.name}' sum to {total:.10g}, not to 1"
        findings.error("table-sum", message, span, "change one of them so that they do")


def _cases(
    rows: tuple[Row, ...],
    node: Node,
    states: Mapping[str, tuple[str, ...]],
    span: Span | None,
    findings: Findings,
) -> None:
    """Check that each combination of the parents' states has one row."""
    sizes = [states[parent] for parent in node.parents]
    seen: dict[tuple[str, ...], Row] = {}
    for row in rows:
        for case in product(
            *(size if state is None else (state,) for state, size in zip(row.given, sizes, strict=True))
        ):
            if case in seen:
                message = f"two rows of '{node.name}' are for {_case(node, case)}"
                findings.error("table-size", message, row.span or span, "remove one, or name the states of each")
                return
            seen[case] = row
    total = math.prod(map(len, sizes))
    if len(seen) < total:
        missing = next(islice((case for case in product(*sizes) if case not in seen), 1))
        others = f", nor for {total - len(seen) - 1} more" if total - len(seen) > 1 else ""
        message = f"the table of '{node.name}' has no row for {_case(node, missing)}{others}"
        findings.error("table-size", message, span, "add rows; * stands for any state")


def _case(node: Node, case: tuple[str, ...]) -> str:
    return ", ".join(f"{parent} = {state}" for parent, state in zip(node.parents, case, strict=True))
