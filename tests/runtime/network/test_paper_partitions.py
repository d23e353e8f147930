"""Every partitioning example of the deployment papers, on processors that exchange messages: partial rules in text.

Partial rules are the same under both filters. What they let through is not: the papers' filter sends complete
matches, the exact one also those events that a choice further up needs to come out right.

| example | deployment strategies | rule deployment |
| --- | --- | --- |
| complete delegation, gaps that sum windows | rule R4, figure 5 | rule R1, figure 2 |
| events from several sources | rule R4, figure 6 | rule R1, figure 3 |
| parameters | rule R5, figures 7(a) and 7(b) | rule R2, figures 4a and 4b |
| negations | rule R6, figures 8(a) and 8(b) | rule R3, figures 5a and 5b |
| content, push and pull | rule R1, figure 9 | |
| aggregates | rule R3, section 3.4 | |
| negation within a window | rule R2, section 2 | |
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from cepheus.core.event import Event
from cepheus.core.values import Value
from cepheus.language.tesla import format_pattern, parse, parse_event_pattern
from cepheus.rules.check import check
from cepheus.runtime.network.protocol.messages import (
    AttachSink,
    AttachSource,
    Awaken,
    DeployRules,
    Events,
    Message,
    Publish,
    Tick,
)
from cepheus.runtime.network.protocol.strategy import Filter, Masters, Options, Strategy
from cepheus.runtime.network.simulation.simulator import LinkState, Network
from strategies.paper_rules import R1, R4, R5, R6

MINUTE = 60_000_000
BOTH = pytest.mark.parametrize("filtering", list(Filter), ids=lambda filtering: filtering.value)

AVERAGE = """
define Fire(area: string, measuredTemp: double)
from Smoke(area=$a) and
     45 < $t=Avg(Temp(area=$a).value within 5 min. from Smoke)
where area=Smoke.area and measuredTemp=$t
"""
NO_RAIN = """
define Fire(area: string, measuredTemp: double)
from Temp(area=$a and value>45) and
     not Rain(area=$a) within 5 min. from Temp
where area=Temp.area and measuredTemp=Temp.value
"""


@dataclass(slots=True)
class Watched(Network):
    """A network that notes what its processors say to one another."""

    said: list[tuple[str, str, Message]] = field(default_factory=list)

    def _transmit(self, name: str, to: str, link: LinkState, message: Message) -> None:
        self.said.append((name, to, message))
        Network._transmit(self, name, to, link, message)

    def sent(self, name: str) -> list[str]:
        """Give the events that a processor sent to its father, as types and minutes."""
        found = []
        for sender, _, message in self.said:
            if sender == name and isinstance(message, Events):
                found += [f"{entry.event.type}{entry.event.time / MINUTE:g}" for entry in message.entries]
        return sorted(found, key=lambda text: float(text.lstrip("ABCDE")))


def tree(rule: str, links: str, sources: dict[str, str], options: Options) -> Watched:
    """Build the tree of a figure with the root ``p1``, attach sources, deploy a rule, subscribe at the root."""
    joined = [link.split("-") for link in links.split()]
    network = Watched({(f"p{one}", f"p{other}"): 1000 for one, other in joined}, options)
    network.start()
    network.run()
    for place, types in sources.items():
        network.post(network.now, place, AttachSource(f"s{place}", tuple(types.split())), f"s{place}")
    network.run()
    rules = check(parse(rule), closed=False).rules.rules
    network.post(network.now, "p1", DeployRules("r", rules), "deployer")
    network.post(network.now, "p1", AttachSink("k", parse_event_pattern(f"{rules[0].composite.name}()")), "k")
    network.run()
    return network


def at(network: Watched, place: str) -> set[str]:
    """Give what a processor evaluates: rules by their names, partial rules in text, on one line."""
    evaluation = network.processors[place].trees.by_name["p1"].evaluation
    parts = [" ".join(format_pattern(each.part.pattern).split()) for each in evaluation.filters.values()]
    return {f"rule {ordered.rule.name}" for ordered in evaluation.rules} | set(parts)


def publish(network: Watched, sources: dict[str, str], *events: tuple[str, float], **attributes: Value) -> None:
    """Publish events, given as types and minutes, and let an hour pass."""
    for kind, minute in events:
        place = next(place for place, types in sources.items() if kind in types.split())
        event = Event(kind, round(minute * MINUTE), attributes)
        network.post(event.time, place, Publish(f"s{place}", (event,), event.time), f"s{place}")
    for place in sources:
        network.post(60 * MINUTE, place, Tick(60 * MINUTE))
    network.run()


def options(filtering: Filter) -> Options:
    return Options(Strategy.ST, filtering)


@BOTH
def test_figure_5_and_figure_2_complete_delegation_and_gaps_that_sum_windows(filtering: Filter) -> None:
    """1 delegates the rule to 2, which sees everything; 4 has C and E with the windows around D added up."""
    sources = {"p3": "A B", "p4": "C E", "p5": "D"}
    network = tree(R4, "1-2 2-3 2-4 2-5", sources, options(filtering))
    assert at(network, "p1") == set()
    assert at(network, "p2") == {"rule CompEvent"}
    assert at(network, "p3") == {"A() and last B() within 5 min from A"}
    assert at(network, "p4") == {"C() and each E() within 10 min from C"}
    assert at(network, "p5") == {"D()"}
    publish(network, sources, ("E", 1), ("C", 10), ("C", 12), ("C", 13), ("A", 20), ("B", 21), ("D", 22), ("A", 23))
    assert network.sent("p3") == ["B21", "A23"]  # the A without a B is dropped: it is the rule's own terminator
    marks = (
        ["C12"] if filtering is Filter.EXACT else []
    )  # a C without an E hides the one before it from a B; one will do
    assert network.sent("p4") == ["E1", "C10", *marks]
    assert network.sent("p5") == ["D22"]


@BOTH
def test_figure_6_and_figure_3_events_from_several_sources(filtering: Filter) -> None:
    """Both children have C, so neither judges it; the papers print `from D` in the first partial rule by a slip."""
    sources = {"p2": "A B C", "p3": "C D E"}
    network = tree(R4, "1-2 1-3", sources, options(filtering))
    assert at(network, "p1") == {"rule CompEvent"}
    assert at(network, "p2") == {"A() and last B() within 5 min from A", "C()"}
    assert at(network, "p3") == {"D() and last E() within 5 min from D", "C()"}
    publish(network, sources, ("E", 1), ("D", 2), ("C", 3), ("D", 6.5), ("A", 12))
    assert network.sent("p2") == ["C3"]
    marks = ["D6.5"] if filtering is Filter.EXACT else []
    assert network.sent("p3") == ["E1", "D2", *marks]


@BOTH
def test_figure_7a_and_figure_4a_parameters_of_one_processor(filtering: Filter) -> None:
    sources = {"p2": "A B", "p3": "C"}
    network = tree(R5, "1-2 1-3", sources, options(filtering))
    assert at(network, "p1") == {"rule CompEvent"}
    assert at(network, "p2") == {"A(v=$x) and last B(v=$x) within 5 min from A"}
    assert at(network, "p3") == {"C()"}
    publish(network, sources, ("B", 1), ("C", 2), ("A", 3), ("A", 9), v=1)
    assert network.sent("p2") == ["B1", "A3"]
    assert network.sent("p3") == ["C2"]


@BOTH
def test_figure_7b_and_figure_4b_parameters_of_two_processors(filtering: Filter) -> None:
    """The parameter is checked at 1; the second paper prints `B` without parentheses."""
    sources = {"p2": "A", "p3": "B C"}
    network = tree(R5, "1-2 1-3", sources, options(filtering))
    assert at(network, "p1") == {"rule CompEvent"}
    assert at(network, "p2") == {"A()"}
    assert at(network, "p3") == {"B() and last C() within 5 min from B"}
    publish(network, sources, ("C", 1), ("B", 5), ("B", 7), ("B", 8), v=1)
    marks = ["B7", "B8"] if filtering is Filter.EXACT else []  # which of them A's parameter admits is not known below
    assert network.sent("p3") == ["C1", "B5", *marks]


@BOTH
def test_figure_8a_and_figure_5a_a_negation_of_one_processor(filtering: Filter) -> None:
    sources = {"p2": "A", "p3": "B C D"}
    network = tree(R6, "1-2 1-3", sources, options(filtering))
    assert at(network, "p1") == {"rule CompEvent"}
    assert at(network, "p2") == {"A()"}
    assert at(network, "p3") == {"B() and last C() within 5 min from B and not D() between C and B"}
    publish(network, sources, ("C", 1), ("B", 2), ("C", 3), ("D", 4), ("B", 5))
    marks = ["C3", "D4", "B5"] if filtering is Filter.EXACT else []  # the B that D forbids is the last one before an A
    assert network.sent("p3") == ["C1", "B2", *marks]


@BOTH
def test_figure_8b_and_figure_5b_a_negation_between_events_of_two_processors(filtering: Filter) -> None:
    """1 checks the negation; the papers print `from B` in the partial rule for A and B by a slip."""
    sources = {"p2": "A B", "p3": "C D"}
    network = tree(R6, "1-2 1-3", sources, options(filtering))
    assert at(network, "p1") == {"rule CompEvent"}
    assert at(network, "p2") == {"A() and last B() within 5 min from A"}
    assert at(network, "p3") == {"C()", "D()"}
    publish(network, sources, ("C", 1), ("D", 2), ("B", 3), ("A", 4), ("A", 20))
    assert network.sent("p2") == ["B3", "A4"]
    assert network.sent("p3") == ["C1", "D2"]


@BOTH
def test_figure_9_content_stays_with_its_event(filtering: Filter) -> None:
    network = tree(R1, "1-2 1-3", {"p2": "Smoke", "p3": "Temp"}, options(filtering))
    assert at(network, "p1") == {"rule Fire"}
    assert at(network, "p2") == {"Smoke()"}
    assert at(network, "p3") == {"Temp(value>45)"}


def waiting(network: Watched) -> list[str]:
    """Give the partial rules that wait to be asked."""
    places = [network.processors[place].trees.by_name["p1"].evaluation for place in ("p2", "p3")]
    return [each.part.name for evaluation in places for each in evaluation.filters.values() if each.pull]


def measure(network: Watched, place: str, kind: str, minute: float, **attributes: Value) -> None:
    event = Event(kind, round(minute * MINUTE), attributes)
    network.post(event.time, place, Publish(f"s{place}", (event,), event.time), f"s{place}")


def settle(network: Watched, minute: float) -> None:
    for place in ("p2", "p3"):
        network.post(round(minute * MINUTE), place, Tick(round(minute * MINUTE)))
    network.run()


@BOTH
def test_figure_9_a_smoke_opens_a_past_window_for_temperatures(filtering: Filter) -> None:
    """Section 3.5: the partial rule for Smoke is the master; Temp waits, and is asked for one area."""
    pulls = Options(Strategy.ST_PP, filtering, masters=Masters.TOP)
    network = tree(R1, "1-2 1-3", {"p2": "Smoke", "p3": "Temp"}, pulls)
    assert waiting(network) == ["Fire/Temp"]
    for minute, area, value in ((4, "A1", 55.0), (6, "A1", 50.0), (7, "A2", 60.0), (8, "A1", 30.0)):
        measure(network, "p3", "Temp", minute, area=area, value=value)
    measure(network, "p2", "Smoke", 10, area="A1")
    settle(network, 60)
    (awaken,) = [message for _, to, message in network.said if isinstance(message, Awaken) and to == "p3"]
    assert (awaken.first, awaken.last) == (5 * MINUTE, 10 * MINUTE)
    assert awaken.values == (("area", "A1"),)
    temps = [e.event for s, _, m in network.said if s == "p3" and isinstance(m, Events) for e in m.entries]
    assert [(event.time, event.attributes["value"]) for event in temps] == [(6 * MINUTE, 50.0)]
    assert [receipt.event.attributes["measuredTemp"] for receipt in network.receipts] == [50.0]


@BOTH
def test_figure_9_a_temperature_opens_a_future_window_for_smokes(filtering: Filter) -> None:
    """Section 3.5: where smoke is frequent and heat is rare, the partial rule for Temp becomes the master."""
    pulls = Options(Strategy.ST_PP, filtering, adapt_every=MINUTE)
    network = tree(R1, "1-2 1-3", {"p2": "Smoke", "p3": "Temp"}, pulls)
    for second in range(600):
        measure(network, "p2", "Smoke", second / 60, area=f"A{second % 7}")
        if second % 60 == 0:
            settle(network, second / 60)
    measure(network, "p3", "Temp", 9.5, area="A9", value=50.0)
    settle(network, 12)
    assert waiting(network) == ["Fire/Smoke"]
    network.said.clear()
    measure(network, "p3", "Temp", 20, area="A1", value=50.0)
    settle(network, 20)
    for minute, area in ((19, "A1"), (22, "A1"), (23, "A2"), (26, "A1")):
        measure(network, "p2", "Smoke", minute, area=area)
    settle(network, 60)
    awakenings = [message for _, to, message in network.said if isinstance(message, Awaken) and to == "p2"]
    assert {(awaken.first, awaken.last, awaken.values) for awaken in awakenings} == {
        (20 * MINUTE, 25 * MINUTE, (("area", "A1"),))
    }
    smokes = [e.event for s, _, m in network.said if s == "p2" and isinstance(m, Events) for e in m.entries]
    assert [event.time // MINUTE for event in smokes] == [22]
    assert [receipt.event.time // MINUTE for receipt in network.receipts] == [22]


@BOTH
def test_rule_r3_aggregates_are_computed_where_the_composite_event_is_made(filtering: Filter) -> None:
    network = tree(AVERAGE, "1-2 1-3", {"p2": "Smoke", "p3": "Temp"}, options(filtering))
    assert at(network, "p1") == {"rule Fire"}
    assert at(network, "p2") == {"Smoke()"}
    assert at(network, "p3") == {"Temp()"}
    delegated = tree(AVERAGE, "1-2 2-3", {"p2": "Smoke", "p3": "Temp"}, options(filtering))
    assert [at(delegated, place) for place in ("p1", "p2", "p3")] == [set(), {"rule Fire"}, {"Temp()"}]


@BOTH
def test_rule_r2_a_negation_within_a_window(filtering: Filter) -> None:
    """Not partitioned in the papers; by their words, the negation goes only where Rain and Temp are both seen."""
    network = tree(NO_RAIN, "1-2 1-3", {"p2": "Temp", "p3": "Rain"}, options(filtering))
    assert at(network, "p2") == {"Temp(value>45)"}
    assert at(network, "p3") == {"Rain()"}
    delegated = tree(NO_RAIN, "1-2", {"p2": "Temp Rain"}, options(filtering))
    assert [at(delegated, place) for place in ("p1", "p2")] == [set(), {"rule Fire"}]


def test_section_3_4_partial_rules_are_split_again_until_sources_are_reached() -> None:
    """Figure 5 with another level below 4: its partial rule has C and E with 10 minutes, and is split once more."""
    sources = {"p3": "A B", "p5": "D", "p6": "C", "p7": "E"}
    network = tree(R4, "1-2 2-3 2-4 2-5 4-6 4-7", sources, options(Filter.AS_PRINTED))
    assert at(network, "p4") == {"C() and each E() within 10 min from C"}
    assert at(network, "p6") == {"C()"}
    assert at(network, "p7") == {"E()"}
