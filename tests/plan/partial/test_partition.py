"""The partitioning examples of the deployment papers, compared in text."""

from __future__ import annotations

from cepheus.language.tesla import format_pattern, parse
from cepheus.plan.partial import HERE, partition, shared_values, sole_child, span_around
from cepheus.rules.check.check import name_rules
from cepheus.rules.model import Rule
from strategies.paper_rules import R1, R4, R5, R6

MINUTE = 60_000_000


def rule_of(text: str) -> Rule:
    return name_rules(parse(text)).rules[0]


def split(text: str, **children: str) -> dict[str, list[str]]:
    """Partition a rule among children, each given with the types it produces; results are texts on one line."""
    producers: dict[str, set[str]] = {}
    for child, types in children.items():
        for event_type in types.split():
            producers.setdefault(event_type, set()).add(HERE if child == "here" else child)
    parts = partition(rule_of(text), {kind: frozenset(found) for kind, found in producers.items()})
    return {child: [" ".join(format_pattern(p.pattern).split()) for p in found] for child, found in parts.items()}


def test_a_child_that_sees_everything_takes_the_whole_rule() -> None:
    everything = {kind: frozenset({"p2"}) for kind in "ABCDE"}
    assert sole_child([rule_of(R4)], everything) == "p2"
    assert sole_child([rule_of(R4)], everything | {"A": frozenset({"p2", "p3"})}) is None
    assert sole_child([rule_of(R4)], everything | {"A": frozenset({HERE})}) is None


def test_sequences_with_gaps_that_sum_windows() -> None:
    """Figure 5 of the deployment strategies, figure 2 of the rule deployment."""
    assert split(R4, p3="A B", p4="C E", p5="D") == {
        "p3": ["A() and last B() within 5 min from A"],
        "p4": ["C() and each E() within 10 min from C"],
        "p5": ["D()"],
    }


def test_events_from_several_sources() -> None:
    """Figure 6; the papers print `from D` by a slip in the first partial rule."""
    assert split(R4, p2="A B C", p3="C D E") == {
        "p2": ["A() and last B() within 5 min from A", "C()"],
        "p3": ["D() and last E() within 5 min from D", "C()"],
    }


def test_parameters() -> None:
    """Figure 7."""
    assert split(R5, p2="A B", p3="C") == {
        "p2": ["A(v=$x) and last B(v=$x) within 5 min from A"],
        "p3": ["C()"],
    }
    assert split(R5, p2="A", p3="B C") == {"p2": ["A()"], "p3": ["B() and last C() within 5 min from B"]}


def test_negations() -> None:
    """Figure 8; the papers print `from B` by a slip in the partial rule for A and B."""
    assert split(R6, p2="A", p3="B C D") == {
        "p2": ["A()"],
        "p3": ["B() and last C() within 5 min from B and not D() between C and B"],
    }
    assert split(R6, p2="A B", p3="C D") == {"p2": ["A() and last B() within 5 min from A"], "p3": ["C()", "D()"]}


def test_content_constraints_stay_with_their_event() -> None:
    """Figure 9: only high temperatures are of interest, whoever asks for them."""
    assert split(R1, p2="Smoke", p3="Temp") == {"p2": ["Smoke()"], "p3": ["Temp(value>45)"]}


def test_windows_that_a_master_opens() -> None:
    """Section 3.5: a Smoke opens a past window of 5 minutes for Temp, a Temp a future window for Smoke."""
    rule = rule_of(R1)
    past = span_around(rule, "Smoke", "Temp")
    future = span_around(rule, "Temp", "Smoke")
    assert (past.past, past.future) == (5 * MINUTE, 0)
    assert (future.past, future.future) == (0, 5 * MINUTE)
    assert shared_values(rule, "Smoke", "Temp") == (("area", "area"),)
    assert shared_values(rule, "Temp", "Smoke") == (("area", "area"),)


def test_two_sequences_open_past_and_future() -> None:
    rule = rule_of("define X() from A() and each B() within 2 min from A and each C() within 3 min from A")
    span = span_around(rule, "B", "C")
    assert (span.past, span.future) == (3 * MINUTE, 2 * MINUTE)


def test_partial_rules_are_split_again() -> None:
    producers = {kind: frozenset({"x"}) for kind in "ABDE"} | {"C": frozenset({"y"})}
    (part,) = partition(rule_of(R4), producers)["x"]
    assert "each D() within 10 min from B" in format_pattern(part.pattern)
    again = partition(
        part, {"A": frozenset({"u"}), "B": frozenset({"w"}), "D": frozenset({"w"}), "E": frozenset({"u"})}
    )
    texts = {child: [" ".join(format_pattern(p.pattern).split()) for p in parts] for child, parts in again.items()}
    assert texts == {
        "u": ["A() and each E() within 20 min from A"],
        "w": ["B() and each D() within 10 min from B"],
    }


def test_a_single_choice_that_needs_more_than_is_seen_takes_each() -> None:
    text = "define X() from A(v=$x) and last B() within 1 min from A and last C(v=$x) within 1 min from B"
    assert split(text, p2="A", p3="B C")["p3"] == ["B() and each C() within 1 min from B"]
    text = "define X() from A() and last B() within 1 min from A consuming B"
    assert split(text, p2="A B", here="C")["p2"] == ["A() and each B() within 1 min from A"]


def test_what_a_rule_consumes_is_not_judged_below_at_any_place() -> None:
    text = """define X() from A() and 2 last B(v=1) as b within 1 min from A
    and first B() as older within 1 min from b consuming b"""
    assert split(text, p2="A B", here="C")["p2"] == [
        "A() and each B(v=1) as b within 1 min from A and each B() as older within 1 min from b"
    ]
    text = "define X() from A() and last B() within 1 min from A and not B(v=1) as worse between B and A consuming B"
    assert split(text, p2="A B", here="C")["p2"] == ["A() and each B() within 1 min from A", "B(v=1) as worse"]


def test_aggregates_go_with_what_their_window_hangs_from() -> None:
    text = "define X() from A() and last B() within 1 min from A and 3 < $t = Avg(C().v within 1 min from B)"
    assert split(text, p2="A", p3="B C")["p3"] == ["B() and 3 < $t = Avg(C().v within 1 min from B)"]
    assert split(text, p2="A B", p3="C") == {"p2": ["A() and last B() within 1 min from A"], "p3": ["C()"]}


def test_what_is_produced_here_is_left_to_nobody() -> None:
    assert split(R5, here="A", p3="B C") == {"p3": ["B() and last C() within 5 min from B"]}
