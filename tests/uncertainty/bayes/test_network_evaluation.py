"""Networks agree with the sum over all that can be, and with pyAgrum."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cepheus.core.errors import RuleError
from cepheus.rules.check.findings import Findings
from cepheus.rules.check.networks import network as check_network
from cepheus.rules.model import Rule
from cepheus.rules.networks.model import Node
from cepheus.rules.networks.periods import contains
from cepheus.uncertainty.bayes.interchange import quiet_pyagrum, to_pyagrum
from cepheus.uncertainty.bayes.network import RuleNetwork
from cepheus.uncertainty.bayes.tables import band_chances
from strategies.networks import networks, rules

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


def enumerated(network: RuleNetwork, asked: str, at: int | None) -> list[float]:
    """Sum the probabilities of all worlds that agree with what is observed."""
    names = list(network.nodes)
    sums = dict.fromkeys(network.states[asked], 0.0)
    for states in product(*(network.states[name] for name in names)):
        world = dict(zip(names, states, strict=True))
        if all(world[name] == state for name, state in network.observed.items()):
            likely = 1.0
            for node in network.nodes.values():
                likely *= chance(node, world, at)
            sums[world[asked]] += likely
    return list(sums.values())


@given(st.data())
def test_every_posterior_is_the_share_of_the_worlds_that_agree(data: st.DataObject) -> None:
    rule = data.draw(rules())
    network = RuleNetwork.of(rule, data.draw(networks(rule)))
    asked = data.draw(st.sampled_from(sorted(network.nodes)))
    at = data.draw(st.none() | TIMES)
    sums = enumerated(network, asked, at)
    if sum(sums) == 0.0:
        with pytest.raises(RuleError) as caught:
            network.posterior(asked, at)
        assert caught.value.diagnostics[0].code == "evidence"
    else:
        found = list(network.posterior(asked, at).values())
        assert found == pytest.approx([each / sum(sums) for each in sums], rel=1e-12, abs=1e-15)
        assert sum(found) == pytest.approx(1.0, rel=1e-12)
        assert all(0.0 <= each <= 1.0 for each in found)


@given(st.data())
def test_generated_networks_pass_the_checks(data: st.DataObject) -> None:
    rule = data.draw(rules())
    findings = Findings()
    check_network(rule, data.draw(networks(rule)), findings)
    assert findings.errors() == ()


@given(st.data())
def test_pyagrum_finds_the_same(data: st.DataObject) -> None:
    rule = data.draw(rules())
    network = RuleNetwork.of(rule, data.draw(networks(rule)))
    assume(sum(enumerated(network, network.composite, None)) > 1e-9)
    with quiet_pyagrum() as pyagrum:
        inference = pyagrum.LazyPropagation(to_pyagrum(network))
        inference.setEvidence(dict(network.observed))
        expected = inference.posterior(network.composite).tolist()[0]
    assert network.probability() == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(st.data())
def test_an_edited_network_is_worth_what_it_would_be_if_written_so_at_once(data: st.DataObject) -> None:
    rule = data.draw(rules())
    network = RuleNetwork.of(rule, data.draw(networks(rule)))
    for _ in range(data.draw(st.integers(1, 4))):
        other = RuleNetwork.of(rule, data.draw(networks(rule)))
        fitting = [node for node in other.nodes.values() if _fits(node, other, network)]
        if fitting:
            node = data.draw(st.sampled_from(fitting))
            network = network.with_node(node)
        fresh = RuleNetwork.of(rule, network.added)
        assert _worth(network) == _worth(fresh)


def _fits(node: Node, other: RuleNetwork, network: RuleNetwork) -> bool:
    """Tell whether a node of another network can take the place of that of its name."""
    before = network.nodes.get(node.name)
    if before is None or before.parents != node.parents or before.bands != node.bands:
        return False
    return all(network.states[name] == other.states[name] for name in (node.name, *node.parents))


def _worth(network: RuleNetwork) -> float | None:
    try:
        return network.probability()
    except RuleError:
        return None


@given(rules())
def test_the_network_of_a_rule_alone_is_worth_exactly_one(rule: Rule) -> None:
    network = RuleNetwork.of(rule)
    assert network.probability() == 1.0
    assert network.reverse(*network.parts).probability() == 1.0
    assert network.reverse(next(iter(network.parts))).probability() == 1.0
