"""Networks agree with the sum over all that can be, and with pyAgrum."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cepheus.core.errors import RuleError
from cepheus.rules.belief.model import Node
from cepheus.rules.belief.periods import contains
from cepheus.rules.check.belief import check_belief
from cepheus.rules.check.findings import Findings
from cepheus.rules.model import Rule
from cepheus.uncertainty.belief.belief import RuleBelief
from cepheus.uncertainty.belief.interchange import quiet_pyagrum, to_pyagrum
from cepheus.uncertainty.belief.tables import band_chances
from strategies.beliefs import beliefs, rules

TIMES = st.integers(0, 4 * 10**15)


def chance(node: Node, world: dict[str, str], at: int | None) -> float:
    """Read the probability of a node's state off its rows, one by one."""
    rows = node.rows
    for season in node.seasons:
        if at is not None and contains(season.period, at):
            rows = season.rows
    row = next(
        row
        for row in rows
        if all(state in (None, world[parent]) for parent, state in zip(node.parents, row.given, strict=True))
    )
    if isinstance(row.value, tuple):
        return dict(row.value)[world[node.name]]
    assert node.bands is not None
    return band_chances(row.value, node.bands)[node.bands.states.index(world[node.name])]


def enumerated(belief: RuleBelief, asked: str, at: int | None) -> list[float]:
    """Sum the probabilities of all worlds that agree with what is observed."""
    names = list(belief.nodes)
    sums = dict.fromkeys(belief.states[asked], 0.0)
    for states in product(*(belief.states[name] for name in names)):
        world = dict(zip(names, states, strict=True))
        if all(world[name] == state for name, state in belief.observed.items()):
            likely = 1.0
            for node in belief.nodes.values():
                likely *= chance(node, world, at)
            sums[world[asked]] += likely
    return list(sums.values())


@given(st.data())
def test_every_posterior_is_the_share_of_the_worlds_that_agree(data: st.DataObject) -> None:
    rule = data.draw(rules())
    belief = RuleBelief.of(rule, data.draw(beliefs(rule)))
    asked = data.draw(st.sampled_from(sorted(belief.nodes)))
    at = data.draw(st.none() | TIMES)
    sums = enumerated(belief, asked, at)
    if sum(sums) == 0.0:
        with pytest.raises(RuleError) as caught:
            belief.posterior(asked, at)
        assert caught.value.diagnostics[0].code == "evidence"
    else:
        found = list(belief.posterior(asked, at).values())
        assert found == pytest.approx([each / sum(sums) for each in sums], rel=1e-12, abs=1e-15)
        assert sum(found) == pytest.approx(1.0, rel=1e-12)
        assert all(0.0 <= each <= 1.0 for each in found)


@given(st.data())
def test_generated_networks_pass_the_checks(data: st.DataObject) -> None:
    rule = data.draw(rules())
    findings = Findings()
    check_belief(rule, data.draw(beliefs(rule)), findings)
    assert findings.errors() == ()


@given(st.data())
def test_pyagrum_finds_the_same(data: st.DataObject) -> None:
    rule = data.draw(rules())
    belief = RuleBelief.of(rule, data.draw(beliefs(rule)))
    assume(sum(enumerated(belief, belief.composite, None)) > 1e-9)
    with quiet_pyagrum() as pyagrum:
        inference = pyagrum.LazyPropagation(to_pyagrum(belief))
        inference.setEvidence(dict(belief.observed))
        expected = inference.posterior(belief.composite).tolist()[0]
    assert belief.probability() == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(st.data())
def test_an_edited_network_is_worth_what_it_would_be_if_written_so_at_once(data: st.DataObject) -> None:
    rule = data.draw(rules())
    belief = RuleBelief.of(rule, data.draw(beliefs(rule)))
    for _ in range(data.draw(st.integers(1, 4))):
        other = RuleBelief.of(rule, data.draw(beliefs(rule)))
        fitting = [node for node in other.nodes.values() if _fits(node, other, belief)]
        if fitting:
            node = data.draw(st.sampled_from(fitting))
            belief = belief.with_node(node)
        fresh = RuleBelief.of(rule, belief.added)
        assert _worth(belief) == _worth(fresh)


def _fits(node: Node, other: RuleBelief, belief: RuleBelief) -> bool:
    """Tell whether a node of another network can take the place of that of its name."""
    before = belief.nodes.get(node.name)
    if before is None or before.parents != node.parents or before.bands != node.bands:
        return False
    return all(belief.states[name] == other.states[name] for name in (node.name, *node.parents))


def _worth(belief: RuleBelief) -> float | None:
    try:
        return belief.probability()
    except RuleError:
        return None


@given(rules())
def test_the_network_of_a_rule_alone_is_worth_exactly_one(rule: Rule) -> None:
    belief = RuleBelief.of(rule)
    assert belief.probability() == 1.0
    assert belief.reverse(*belief.parts).probability() == 1.0
    assert belief.reverse(next(iter(belief.parts))).probability() == 1.0
