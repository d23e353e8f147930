"""Masters as the paper has them, and delivery from the root: fewer messages or more, the same answers."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from trials import check_trial

from cepheus.language.tesla import parse
from cepheus.plan.partial import PartialRule
from cepheus.rules.check import check
from cepheus.rules.expressions import EventPattern
from cepheus.rules.model import Pattern
from cepheus.runtime.network.processor.masters import rarest_masters
from cepheus.runtime.network.processor.sharing import Origin
from cepheus.runtime.network.protocol.strategy import Delivery, Masters, Strategy
from cepheus.runtime.network.simulation.experiment import Run, run_plan
from cepheus.runtime.network.simulation.scenario_file import read_plan

SCENARIO = """
rules = "define X() from A() and last C() within 2 s from A and last E() within 2 s from C"
warm_up = "8 s"
duration = "30 s"
adapt_every = "2 s"
[network]
links = [["p1", "p2", "5 ms"], ["p1", "p3", "5 ms"]]
[[source]]
processor = "p2"
types = ["A"]
rate = 0.1
[[source]]
processor = "p3"
types = ["C", "E"]
rate = 10
[[sink]]
processor = "p1"
subscribes = ["X"]
"""


def run(tmp_path: Path, strategy: Strategy, masters: Masters) -> Run:
    """Simulate a rare A and a frequent ``C and last E`` elsewhere."""
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    plan = read_plan(file, 3, strategy)
    options = replace(plan.scenario.options, masters=masters)
    return run_plan(replace(plan, scenario=replace(plan.scenario, options=options)))


def test_partial_rules_of_several_events_wait_for_a_rare_master(tmp_path: Path) -> None:
    pushed = run(tmp_path, Strategy.ST, Masters.ADAPTIVE)
    ours = run(tmp_path, Strategy.ST_PP, Masters.ADAPTIVE)
    papers = run(tmp_path, Strategy.ST_PP, Masters.LOWEST_RATE)
    assert ours.outcome.traffic == pushed.outcome.traffic, "patterns of several events filter themselves"
    assert papers.outcome.traffic < 0.5 * pushed.outcome.traffic
    assert papers.outcome.awakenings > 0
    assert papers.outcome.composites == pushed.outcome.composites > 0
    (waiting,) = papers.network.processors["p3"].trees.by_name["p1"].written_parts()
    assert (waiting.pattern, waiting.waits) == ("C() and last E() within 2 s from C", True)
    (master,) = papers.network.processors["p2"].trees.by_name["p1"].written_parts()
    assert (master.pattern, master.waits) == ("A()", False)


def _origin(name: str, *positions: str) -> Origin:
    """An origin with a position for each type, each from a child of its own."""
    text = f"define {name}() from {positions[0]}()" + "".join(
        f" and last {kind}() within 1 s from {before}" for before, kind in pairwise(positions)
    )
    rule = replace(check(parse(text)).rules.rules[0], name=name)
    parts = {kind: PartialRule(rule, kind, Pattern(EventPattern(kind))) for kind in positions}
    labels = {kind: (f"child of {kind}",) for kind in positions}
    return Origin(name, rule, positions[0], labels, parts, possible=positions)


def test_the_lowest_rate_is_master_and_all_others_wait() -> None:
    one = _origin("R", "A", "B", "C")
    (found,) = rarest_masters([one], {"R/A": 2.0, "R/B": 1.0, "R/C": 3.0})
    assert (found.master, found.waiting) == ("B", frozenset({"A", "C"}))
    (unobserved,) = rarest_masters([one], {"R/A": 2.0, "R/B": 1.0})
    assert (unobserved.master, unobserved.waiting) == (None, frozenset())
    (asked,) = rarest_masters([replace(one, pulled=True)], {"R/A": 2.0, "R/B": 1.0, "R/C": 3.0})
    assert asked.master is None, "it waits as a whole"


def test_events_that_are_pushed_for_another_rule_add_nothing() -> None:
    rates = {"R/A": 1.0, "R/B": 9.0, "S/A": 1.0, "S/C": 0.8}
    first, second = rarest_masters([_origin("R", "A", "B"), _origin("S", "C", "A")], rates)
    assert (first.master, second.master) == ("A", "C"), "rarer than what comes anyway is not less than nothing"
    rates["S/C"] = 2.0
    first, second = rarest_masters([_origin("R", "A", "B"), _origin("S", "C", "A")], rates)
    assert (first.master, second.master) == ("A", "A")


def test_an_event_sent_for_one_rule_takes_along_what_another_looks_at_in_pull_mode() -> None:
    """Found by a trial: without the B that forbids it, the father took an A for alive that waited to be asked for."""
    check_trial(400_195, Strategy.MT_PP)


@pytest.mark.parametrize("sink", ["p2", "p4"])
def test_delivery_from_the_root(tmp_path: Path, sink: str) -> None:
    """A composite event that is complete below the root goes up to it first; sinks get the same, some of them later."""
    file = tmp_path / "scenario.toml"
    file.write_text(
        f"""
rules = "define X() from A() and last C() within 2 s from A"
duration = "20 s"
[network]
links = [["p1", "p2", "5 ms"], ["p2", "p3", "5 ms"], ["p1", "p4", "5 ms"]]
[[source]]
processor = "p3"
types = ["A", "C"]
[[sink]]
processor = "{sink}"
subscribes = ["X"]
""",
        encoding="utf-8",
    )
    plan = read_plan(file, 1)
    runs = {}
    for delivery in Delivery:
        options = replace(plan.scenario.options, delivery=delivery)
        runs[delivery] = run_plan(replace(plan, scenario=replace(plan.scenario, options=options)))
    told = [sorted(receipt.event.time for receipt in each.network.receipts) for each in runs.values()]
    assert told[0] == told[1]
    assert told[0]
    on_the_way, from_root = (runs[each].outcome for each in (Delivery.ON_THE_WAY, Delivery.FROM_ROOT))
    assert on_the_way.delay is not None
    assert from_root.delay is not None
    if sink == "p2":
        assert from_root.delay == pytest.approx(on_the_way.delay + 10, abs=0.1)
        assert from_root.traffic > on_the_way.traffic
    else:
        assert from_root.delay == on_the_way.delay
        assert from_root.traffic == on_the_way.traffic
