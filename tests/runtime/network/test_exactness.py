"""Sinks receive what one processor would produce: random networks, rules, streams and strategies."""

from __future__ import annotations

import pytest
from dynamic_trials import check_dynamic_trial
from fault_trials import check_fault_trial
from loss_trials import check_loss_trial
from trials import check_trial

from cepheus.core.event import Event
from cepheus.language.tesla import parse, parse_event_pattern
from cepheus.rules.check import check
from cepheus.runtime.network.protocol.messages import AttachSink, AttachSource, DeployRules, Publish, Tick
from cepheus.runtime.network.protocol.strategy import Filter, Options, Strategy
from cepheus.runtime.network.simulation.simulator import Network


@pytest.mark.parametrize("strategy", list(Strategy), ids=lambda strategy: strategy.value)
@pytest.mark.parametrize("start", range(0, 100, 25))
def test_networks_deliver_what_one_processor_would(strategy: Strategy, start: int) -> None:
    for seed in range(start, start + 25):
        check_trial(seed, strategy)


def test_what_a_rule_consumed_is_gone_at_its_other_places_too() -> None:
    """Found by a trial: a child chose the first of events one of which the rule had consumed at its father."""
    check_trial(314_282, Strategy.MT)


@pytest.mark.parametrize("start", range(0, 100, 20))
def test_faults_lose_and_double_nothing(start: int) -> None:
    for seed in range(start, start + 20):
        check_fault_trial(seed)


@pytest.mark.parametrize("strategy", list(Strategy), ids=lambda strategy: strategy.value)
def test_a_lost_processor_changes_nothing(strategy: Strategy) -> None:
    for seed in range(20):
        check_loss_trial(seed, strategy)


@pytest.mark.parametrize(("seed", "strategy"), [(26, Strategy.ST), (80, Strategy.CENTR)])
def test_events_are_remembered_for_as_long_as_any_rule_looks_back(seed: int, strategy: Strategy) -> None:
    """Found by trials: who had only events without windows remembered too few of them for the rules of others."""
    check_loss_trial(seed, strategy)


@pytest.mark.parametrize("strategy", [Strategy.CENTR, Strategy.ST, Strategy.ST_PP], ids=lambda strategy: strategy.value)
def test_rules_and_sources_that_come_and_go(strategy: Strategy) -> None:
    for seed in range(60):
        check_dynamic_trial(seed, strategy)


def test_the_papers_filter_changes_answers() -> None:
    """The C of 301.5 s has no E and is dropped; an earlier C becomes the last one before B."""
    rules = check(
        parse(
            "define X() from A() and last B() within 5 min from A and last C() within 5 min from B "
            "and last E() within 5 min from C"
        )
    ).rules.rules
    tenth = 100_000
    stream = [("E", 10), ("C", 20), ("C", 3015), ("B", 3019), ("A", 3020)]
    found = {}
    for kind in Filter:
        network = Network({("p1", "p2"): 10, ("p1", "p3"): 10}, Options(Strategy.ST, kind))
        network.start()
        network.post(1, "p2", AttachSource("s", ("C", "E")), "s")
        network.post(1, "p3", AttachSource("t", ("A", "B")), "t")
        network.post(1, "p1", DeployRules("r", rules), "d")
        network.post(1, "p1", AttachSink("k", parse_event_pattern("X()")), "k")
        network.run()
        for name, at in stream:
            source, place = ("s", "p2") if name in "CE" else ("t", "p3")
            network.post(at * tenth, place, Publish(source, (Event(name, at * tenth),), at * tenth - 1), source)
        for place in ("p2", "p3"):
            network.post(4000 * tenth, place, Tick(3999 * tenth))
        network.run()
        found[kind] = len(network.receipts)
    assert found == {Filter.EXACT: 0, Filter.AS_PRINTED: 1}
