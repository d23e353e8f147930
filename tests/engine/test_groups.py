"""Groups, rankings, collections and full provenance: what their conformance cases do not show."""

from __future__ import annotations

import pytest

import cepheus
from cepheus.core.errors import RuleError, UnsupportedError
from cepheus.explain.rule_parts import rule_parts
from cepheus.language.tesla import parse
from cepheus.language.tesla.print import format_rules
from cepheus.rules.json_form import from_json, to_json

COUNTING = """
event A()
event B(v: int)
event C()
define F(n: int) from A() and $n = Count(B(v>0) within 10 s from A) and all 0.. C() as Cs within 5 s from A where n=$n
"""
EVENTS = [*({"type": "B", "time": time, "v": time} for time in range(4)), {"type": "C", "time": 4}]
TERMINATOR = {"type": "A", "time": 5}


@pytest.mark.parametrize("engine", ["reference", "columns", "matching"])
def test_full_provenance_names_what_was_counted_and_keeps_the_id(engine: str) -> None:
    program = cepheus.compile(COUNTING)
    (parts,) = program.detect([*EVENTS, TERMINATOR], engine=engine, time_unit="s").to_events()
    (full,) = program.detect(
        [*EVENTS, TERMINATOR], engine=engine, time_unit="s", provenance="full", strict=True
    ).to_events()
    assert parts.made_of == (5, 4)
    assert full.made_of == (5, 4, 1, 2, 3)
    assert (parts.id, parts.start) == (full.id, full.start)


def test_full_provenance_in_threads_and_through_a_snapshot() -> None:
    program = cepheus.compile(COUNTING)
    session = program.start(engine="columns", time_unit="s", provenance="full", threads=2)
    for event in EVENTS:
        session.feed(event)
    other = program.start(engine="columns", time_unit="s", provenance="full", threads=2)
    other.restore(session.snapshot())
    (made,) = [*other.feed(TERMINATOR), *other.close().to_events()]
    assert made.made_of == (5, 4, 1, 2, 3)


@pytest.mark.parametrize("engine", ["reference", "columns"])
def test_more_groups_than_there_is_room_for_at_first(engine: str) -> None:
    program = cepheus.compile("event A() event B(x: int) define F() from A() and last B() per x within 1 h from A")
    events = [{"type": "B", "time": time, "x": time % 700} for time in range(2000)]
    found = program.detect([*events, {"type": "A", "time": 2000}], engine=engine, time_unit="s")
    assert [event.made_of for event in found.to_events()] == [(2000, number) for number in range(1300, 2000)]


@pytest.mark.parametrize("engine", ["reference", "columns"])
def test_more_members_than_there_is_room_for_at_first(engine: str) -> None:
    program = cepheus.compile("define F() from A() and all B() as Bs within 1 h from A consuming Bs")
    events = [{"type": "B", "time": time} for time in range(1000)]
    found = program.detect(
        [*events, {"type": "A", "time": 1000}, {"type": "A", "time": 1001}], engine=engine, time_unit="s"
    )
    assert [event.made_of for event in found.to_events()] == [(1000, *range(1000))]


@pytest.mark.parametrize(
    "text",
    [
        "define F() from A() and 2 last B(x>1) as E per x, y within 5 s from A",
        "define F() from A() and 3 top B(x=$x) by Count(C(x=$x) within 5 s from A)-y per x within 5 s from A",
        "define F(n: int) from A() and all 2..5 B() as Bs within 5 s from A and 1 < Sum(Bs.x) where n=Max(Bs.(x+y))",
        "define F(p: double) from A() and all B() as Bs within 5 s from A where p=Percentile(Bs.x, 95)",
        "define F() from per() as all and last top() as by per per within 5 s from all",
        "define F(f: int?, l: int?) from A() and all B() as Bs within 5 s from A where f=first(Bs).x, l=Last(Bs).(x+y)",
        """define `F.f`(`n.n`: int) from `A.a`() as `a.a` and 2 last `B.b`(`x.x`>1) as `E.e` per `h.id`, y
        within 5 s from `a.a` and all `C.c`() as `C s` within 5 s from `E.e` and not `D d`() between `a.a` and `E.e`
        where `n.n`=Sum(`C s`.`v.v`)+first(`C s`.`v.v`)+last(`C s`).`v.v` consuming `E.e`""",
    ],
)
def test_text_and_json_give_the_same_rules_again(text: str) -> None:
    rules = parse(text)
    assert parse(format_rules(rules)) == rules
    assert from_json(to_json(rules)) == rules


def test_json_says_nothing_of_undefined_values_of_other_aggregates() -> None:
    data = to_json(parse("define F(n: int) from A() and all B() as Bs within 5 s from A where n=last(Bs).x"))
    data["rules"][0]["assignments"][0]["value"]["function"] = "Sum"
    with pytest.raises(RuleError, match="only the first or last member of a collection may have no value"):
        from_json(data)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("define F() from A() and each B() per x within 5 s from A", "no-groups"),
        ("define F(v: int) from A() and all B() as Bs within 5 s from A where v=Bs.x", "not-selected"),
        ("define F() from A() and all 5..2 B() within 5 s from A", "count"),
        ("define F() from A() and Sum(Bs.x) > 3 and all B() as Bs within 5 s from A", "later-event"),
        ("define F() from A() and top B(s='a') by s within 5 s from A", "ranking"),
        ("define F() from A() and top B() by x+$k within 5 s from A and last C(k=$k) within 5 s from A", "ranking"),
        (
            """define F() from A() and top B() by Count(D(k=$k) within 5 s from A) within 5 s from A
            and last C(k=$k) within 5 s from A""",
            "ranking",
        ),
        ("event B(x: int) event A() define F() from A() and last B() per y within 5 s from A", "unknown-attribute"),
    ],
)
def test_what_makes_no_sense_is_refused(text: str, code: str) -> None:
    with pytest.raises(RuleError) as raised:
        cepheus.compile(text)
    assert code in [found.code for found in raised.value.diagnostics]


@pytest.mark.parametrize("engine", ["reference", "columns"])
def test_a_percentile_of_members(engine: str) -> None:
    program = cepheus.compile(
        "define F(p: double) from A() and all B() as Bs within 9 s from A where p=Percentile(Bs.x, 50)"
    )
    events = [{"type": "B", "time": time, "x": x} for time, x in enumerate((3, 9, 4))]
    found = program.detect([*events, {"type": "A", "time": 3}], engine=engine, time_unit="s")
    assert [event.attributes["p"] for event in found.to_events()] == [4.0]


def test_the_last_member_without_a_value_where_members_are_uncertain() -> None:
    text = "event A() event B(v: int?) define F(v: double) from A() and all 0.. B() as Bs within 9 s from A "
    events = [
        {"type": "B", "time": 1, "v": 7},
        {"type": "B", "time": 2, "probability": 0.25},
        {"type": "A", "time": 3},
    ]
    (last,) = cepheus.compile(text + "where v=last(Bs).v").detect(events, time_unit="s").to_events()
    assert (last.attributes["v"], last.probability) == (7.0, 0.75)
    (latest,) = cepheus.compile(text + "where v=Last(Bs.v)").detect(events, time_unit="s").to_events()
    assert (latest.attributes["v"], latest.probability) == (7.0, 1.0)


def test_automata_refuse_what_no_state_knows() -> None:
    with pytest.raises(UnsupportedError, match="per"):
        cepheus.compile("define F() from A() and last B() per x within 5 s from A").start(engine="automata")


def test_explanations_show_groups_and_collections() -> None:
    (rule,) = cepheus.compile(
        "define F() from A() and 2 top B() by x per y within 5 s from A and all 3.. C() as Cs within 5 s from A"
    ).rules.rules
    parts = rule_parts(rule)
    assert parts.part("B").policy == "2 top"
    assert parts.part("B").per == " by x per y"
    assert parts.part("Cs").policy == "all 3.."
