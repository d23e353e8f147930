"""``ties ordered``: simultaneous events come one after the other, in every engine that runs it."""

from __future__ import annotations

import pytest
from test_ties import LOGINS, logins, run
from tied_cases import TiedCase, make_tied_case

import cepheus
from cepheus.core.errors import CepheusError, OptionError, UnsupportedError
from cepheus.core.event import Event
from cepheus.core.schema import Schema
from cepheus.core.time import MAX_TIME
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.interface import Engine
from cepheus.language.tesla import parse
from cepheus.rules.check import check

ENGINES = ["reference", "columns"]


def engine_for(text: str, name: str) -> Engine:
    checked = check(parse(text))
    return create(name, checked.rules.rules, Schema([*checked.inputs.values(), *checked.composites.values()]))


def test_windows_that_hold_everything_see_order_as_they_see_distinct_times() -> None:
    found = 0
    for seed in range(90_000, 90_150):
        case = make_tied_case(seed, ordered=True)
        if "P1" in case.text:  # a composite event has the time of its terminator
            continue
        for window in ("0", "1", "8", "30"):
            case = TiedCase(seed, case.text.replace(f"within {window} us", "within 9 min"), case.checked, case.events)
        case = TiedCase(seed, case.text, check(parse(case.text)), case.events)
        apart = case.text.replace("ties ordered;", "")
        spread = tuple(Event(event.type, 3 * n, event.attributes) for n, event in enumerate(case.events))
        wanted = [e.made_of for e in run(TiedCase(seed, apart, check(parse(apart)), spread), "reference")[0]]
        assert [e.made_of for e in run(case, "reference")[0]] == wanted, case.text
        assert [e.made_of for e in run(case, "columns")[0]] == wanted, case.text
        found += len(wanted)
    assert found > 1000


@pytest.mark.parametrize("name", ENGINES)
def test_twelve_failed_logins_in_one_second_are_found(name: str) -> None:
    engine = engine_for("ties ordered; " + LOGINS, name)
    found = [made for event in logins(12) for made in engine.feed_event(event)]
    assert [made.made_of for made in found] == [(11,)]
    assert engine.ties.passed_over == 0


@pytest.mark.parametrize("name", ENGINES)
def test_sums_go_on_at_the_end_of_time(name: str) -> None:
    rule = "ties ordered; event A(k: int) define P(k: int) from A() and $n = Sum(A().k within 9 s from A) where k=$n"
    engine = engine_for(rule, name)
    found = [made for k in (1, 2, 4) for made in engine.feed_event(Event("A", MAX_TIME, {"k": k}))]
    assert [made["k"] for made in found] == [0, 1, 3]
    assert engine.ties.passed_over == 0


@pytest.mark.parametrize("name", ENGINES)
def test_a_window_of_nothing_holds_the_simultaneous_events_before(name: str) -> None:
    rule = "ties ordered; event A(k: int) define P(k: int) from A() and each A() as B within 0 s from A where k=B.k"
    engine = engine_for(rule, name)
    found = [made for n in range(4) for made in engine.feed_event(Event("A", n // 3, {"k": n}))]
    assert [made.made_of for made in found] == [(1, 0), (2, 0), (2, 1)]


@pytest.mark.parametrize("name", ENGINES)
def test_a_composite_event_comes_right_after_its_terminator(name: str) -> None:
    rules = """ties ordered;
    event A(k: int)
    rule Makes define C(k: int) from A() where k=A.k
    rule Sees define D(k: int, c: int) from A() and each C() within 1 s from A where k=A.k and c=C.k
    rule Alone define E(k: int) from A() as Y and last A() as X within 1 s from Y and not C() between X and Y
    where k=Y.k
    """
    engine = engine_for(rules, name)
    found = [made for n in range(3) for made in engine.feed_event(Event("A", 7, {"k": n}))]
    assert [(e.type, *e.attributes.values()) for e in found if e.type != "C"] == [("D", 1, 0), ("D", 2, 0), ("D", 2, 1)]


@pytest.mark.parametrize("name", ["automata", "matching"])
def test_engines_that_go_by_times_alone_refuse_it(name: str) -> None:
    with pytest.raises(UnsupportedError, match="not support ties ordered"):
        engine_for("ties ordered; " + LOGINS, name)


def test_rules_that_differ_in_it_are_refused_together() -> None:
    rules = parse("ties ordered; define P() from A()") + parse("define Q() from A()")
    with pytest.raises(CepheusError, match="rule 'P' has ties ordered, rule 'Q' has not"):
        check(rules)


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_refuses_rules_with_other_ties_than_it_has(name: str) -> None:
    engine = engine_for("ties ordered; event A() define P() from A()", name)
    checked = check(parse("define Q() from A()"))
    with pytest.raises(OptionError, match="rule 'Q' has ties apart, but the rules that run already have ties ordered"):
        engine.deploy(checked.rules.rules, Schema([*checked.inputs.values(), *checked.composites.values()]))


@pytest.mark.parametrize("name", [*ENGINES, "auto"])
@pytest.mark.parametrize("first", ["ordered", "apart"])
def test_other_ties_may_follow_when_no_rule_is_left(name: str, first: str) -> None:
    rules = {
        ties: cepheus.compile(
            f"ties {ties}; event A(k: int) rule P define P(k: int) from A() and last A() as B within 9 s from A "
            "where k=B.k"
        )
        for ties in ("ordered", "apart")
    }
    session = rules[first].start(engine=name, time_unit="s")
    times = (1, 1, 2, 3)
    before = [made.made_of for time in times for made in session.feed({"type": "A", "time": time, "k": 1})]
    session.withdraw("P")
    second = "apart" if first == "ordered" else "ordered"
    session.deploy(rules[second].rules)
    after = [made.made_of for time in times for made in session.feed({"type": "A", "time": 3 + time, "k": 1})]
    assert before == ([(1, 0)] * (first == "ordered")) + [(2, 1), (3, 2)]
    assert after == ([(5, 4)] * (second == "ordered")) + [(6, 5), (7, 6)]
    restored = rules[second].start(engine=name, time_unit="s")
    restored.restore(session.snapshot())
    assert [made.made_of for made in restored.feed({"type": "A", "time": 7, "k": 1})] == [(8, 7)]
