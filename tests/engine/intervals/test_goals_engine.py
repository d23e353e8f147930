"""What is particular to the goals engine: sharing, forgetting, progress, limits, snapshots, rules that come and go."""

from __future__ import annotations

import pytest
from interval_runs import checked, deployed, event, found, run, stream

import cepheus
from cepheus.core.batch import EventBatch
from cepheus.core.errors import LimitError, OptionError, SnapshotError, UnsupportedError
from cepheus.core.event import Event
from cepheus.core.schema import Schema
from cepheus.core.time import SECOND
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.interface import Engine
from cepheus.engine.goals.engine import GoalsEngine
from cepheus.language.tesla import parse as parse_tesla
from cepheus.rules.check import check
from cepheus.rules.interval.matches import instance_id


def _engine(text: str, policy: str = "unrestricted", limit: int = 10_000) -> GoalsEngine:
    engine = GoalsEngine(limit)
    deployed(checked(text, policy), engine)
    return engine


def _feed(engine: Engine, text: str) -> list[object]:
    return [found(made) for each in stream(text) for made in engine.feed_event(each)]


def test_a_goal_tells_what_is_there_and_what_is_missing() -> None:
    engine = _engine("late(X, Y) <- a(X) SEQ b(Y) SEQ c(X).")
    _feed(engine, "a(7)@1 b(8)@3")
    goals = engine.goals()
    assert [(goal.happened, goal.missing, dict(goal.values)) for goal in goals] == [
        ("a(X)", "b(Y)", {"X": 7}),
        ("a(X) SEQ b(Y)", "c(X)", {"X": 7, "Y": 8}),
    ]
    assert [goal.fraction for goal in goals] == [1 / 3, 2 / 3]
    assert (goals[1].start, goals[1].end, goals[1].parts) == (SECOND, 3 * SECOND, (0, 1))
    assert str(goals[1]) == "late: a(X) SEQ b(Y) with X = 7, Y = 8 waits for c(X) (67%)"
    assert engine.goals("no such rule") == []


def test_a_goal_of_a_negation_tells_what_must_not_happen() -> None:
    engine = _engine("quiet(X) <- NOT(c).[a(X), b(X)].")
    _feed(engine, "a(1)@1")
    (goal,) = engine.goals()
    assert str(goal) == "quiet: a(X) with X = 1 waits for b(X) without c() (50%)"


def test_rules_share_goals_that_are_alike() -> None:
    engine = _engine("LABEL one: p(X) <- a(X) SEQ b(X) SEQ c(X). LABEL two: q(Y) <- a(Y) SEQ b(Y) SEQ d(Y).")
    _feed(engine, "a(1)@1 b(1)@2")
    alone = _engine("LABEL one: p(X) <- a(X) SEQ b(X) SEQ c(X).")
    _feed(alone, "a(1)@1 b(1)@2")
    assert alone.waiting == 2
    assert engine.waiting == 3  # the pair of a and b is made once; it waits for c and for d
    assert {goal.rule for goal in engine.goals()} == {"one", "two"}
    assert _feed(engine, "c(1)@3 d(1)@4") == [("p", (1,), 1, 3), ("q", (1,), 1, 4)]


def test_only_what_can_be_of_use_is_kept() -> None:
    engine = _engine("p <- (a SEQ b).5.")
    _feed(engine, "b@1 b@2 c@3")
    assert engine.waiting == 0
    _feed(engine, "a@4 a@5")
    assert engine.waiting == 2
    engine.advance(20 * SECOND)
    assert engine.waiting == 0


def test_what_is_used_up_is_gone() -> None:
    engine = _engine("p <- a SEQ b.", "recent, once")
    _feed(engine, "a@1 a@2 b@3")
    assert engine.waiting == 1
    _feed(engine, "b@4")
    assert engine.waiting == 0


@pytest.mark.parametrize("policy", ["recent", "chronological", "unrestricted"])
def test_memory_stays_where_windows_end(policy: str) -> None:
    engine = _engine("p(X) <- (a(X) SEQ b(X)).20. q <- (NOT(c).[a(_), b(_)]).20. r <- (p(X) AND p(Y)).20.", policy)
    held = []
    for block in range(12):
        times = range(200 * block, 200 * (block + 1))
        given = [event("abc"[time % 3], [time % 5] if time % 3 < 2 else [], time, time) for time in times]
        engine.feed(EventBatch.from_events(given))
        held.append(engine.bytes_held)
    assert held[-1] == held[3]


def test_a_rule_that_remembers_too_much_is_stopped_by_name() -> None:
    engine = _engine("LABEL hoard: p <- a SEQ b.", limit=50)
    with pytest.raises(LimitError, match="hoard") as error:
        _feed(engine, " ".join(f"a@{time}" for time in range(100)))
    assert error.value.diagnostics[0].code == "too-much-state"


def test_a_rule_that_makes_too_much_is_stopped_by_name() -> None:
    engine = _engine("LABEL burst: p(N) <- a(N). LABEL again: p(N) <- p(K) WHERE N is K + 1.", limit=20)
    with pytest.raises(LimitError, match="again"):
        _feed(engine, "a(1)@1")


def test_rules_come_and_go() -> None:
    engine = _engine("LABEL one: p(X) <- a(X) SEQ b(X).")
    _feed(engine, "a(1)@1")
    late = checked("LABEL two: q(X) <- a(X) SEQ b(X).")
    engine.deploy(late.rules.interval_rules, Schema({**late.composites, **late.inputs}.values()))
    assert _feed(engine, "a(2)@2 b(1)@3 b(2)@3") == [("p", (1,), 1, 3), ("p", (2,), 2, 3), ("q", (2,), 2, 3)]
    engine.withdraw("one")
    assert _feed(engine, "b(2)@5") == [("q", (2,), 2, 5)]
    with pytest.raises(OptionError):
        engine.withdraw("one")
    with pytest.raises(OptionError):
        engine.deploy(late.rules.interval_rules, Schema())
    other = GoalsEngine()
    other.restore(engine.snapshot())
    assert _feed(other, "b(2)@6") == [("q", (2,), 2, 6)]


def test_other_rules_are_refused() -> None:
    tesla = check(parse_tesla("define A() from B()"))
    with pytest.raises(UnsupportedError):
        GoalsEngine().deploy(tesla.rules.rules, Schema())
    assert create("goals", checked("p <- a.").rules.interval_rules).name


def test_a_damaged_snapshot_is_refused() -> None:
    engine = _engine("p <- a SEQ b.")
    data = bytearray(engine.snapshot())
    data[-1] ^= 1
    with pytest.raises(SnapshotError):
        GoalsEngine().restore(bytes(data))
    with pytest.raises(SnapshotError):
        GoalsEngine().restore(b"nothing")


def test_values_of_any_kind() -> None:
    engine = _engine('p(X, Y, N) <- a(X) SEQ b(X, Y) WHERE N is Y + 1, Y < 10. q(T) <- c(T) WHERE T < "m", T != "b".')
    events = [
        Event("a", SECOND, {"arg1": 2}),
        Event("a", SECOND, {"arg1": "two"}),
        Event("a", SECOND, {"arg1": True}),
        Event("b", 2 * SECOND, {"arg1": 2.0, "arg2": 1.5}),
        Event("b", 2 * SECOND, {"arg1": "two", "arg2": 3}),
        Event("b", 2 * SECOND, {"arg1": 1, "arg2": 3}),
        Event("b", 2 * SECOND, {"arg1": "two", "arg2": "x"}),
        *(Event("c", 3 * SECOND, {"arg1": text}) for text in ("z", "b", "a", "m", "lz")),
    ]
    made = [found(each) for given in events for each in engine.feed_event(given)]
    assert made == [
        ("p", (2, 1.5, 2.5), 1, 2),
        ("p", ("two", 3, 4), 1, 2),
        ("q", ("a",), 3, 3),
        ("q", ("lz",), 3, 3),
    ]


def test_functions_and_knowledge_are_asked_once_for_each_value() -> None:
    engine = _engine(
        "near(hall, attic). near(attic, roof). far(X) :- near(_, X), NOT near(X, _).\n"
        "p(R, upper(R)) <- a(R) WHERE NOT far(R). q(R, S) <- a(R) WHERE near(R, S). s(R) <- a(R) WHERE far(R)."
    )
    assert _feed(engine, "a(hall)@1 a(roof)@2 a(attic)@3") == [
        ("p", ("hall", "HALL"), 1, 1),
        ("q", ("hall", "attic"), 1, 1),
        ("s", ("roof",), 2, 2),
        ("p", ("attic", "ATTIC"), 3, 3),
        ("q", ("attic", "roof"), 3, 3),
    ]


def test_texts_that_nothing_needs_any_more_are_forgotten() -> None:
    engine = _engine('p(X, upper(X)) <- (a(X) SEQ b(X)).5. q <- a("kept") SEQ c("kept").', "recent")
    made = []
    for block in range(12):
        times = range(12_000 * block, 12_000 * (block + 1))
        given = [Event("ab"[time % 2], time * SECOND, {"arg1": f"text {time // 2}"}, id=f"id {time}") for time in times]
        made.append(engine.feed(EventBatch.from_events(given)))
    assert engine.texts_held < 2**18
    assert sum(map(len, made)) == 6 * 12_000
    first = made[0].to_events()[0]
    assert (first.made_of, dict(first.attributes)) == (("id 0", "id 1"), {"arg1": "text 0", "arg2": "TEXT 0"})
    last = made[-1].to_events()[-1]
    assert last.made_of == ("id 143998", "id 143999")
    assert last.attributes["arg2"] == "TEXT 71999"
    assert last.id == instance_id("p", ("text 71999", "TEXT 71999"), 143998 * SECOND, 143999 * SECOND)


def test_what_the_kernel_lacks_is_refused_and_left_to_the_reference() -> None:
    rules = checked("p(X) <- a(X) WHERE NOT (COUNT(a(X) WITHIN 5) > 2 AND X > 1).")
    with pytest.raises(UnsupportedError, match="aggregates inside OR and NOT"):
        GoalsEngine().deploy(rules.rules.interval_rules, Schema())
    assert create("auto", rules.rules.interval_rules, Schema({**rules.inputs}.values())).name == "interval-reference"


def test_parts_of_alternatives_keep_their_types() -> None:
    engine = _engine("p(X) <- c(X). q(X) <- (b(X) OR p(X)) SEQ a(X).")
    made = [each for given in stream("c(1)@1 b(1)@2 a(1)@3") for each in engine.feed_event(given)]
    assert [each.made_of for each in made if each.type == "q"] == [(made[0].id, 2), (1, 2)]


@pytest.mark.parametrize("policy", ["unrestricted", "recent, once, renewing"])
def test_events_that_differ_only_where_an_aggregate_does_not_look_are_counted_each(policy: str) -> None:
    engine = _engine("many(N) <- c WHERE N = COUNT(a(_) WITHIN 9), N > 1.", policy)
    assert _feed(engine, "a(1)@1 a(2)@1 a(2)@1 c@3 c@20") == [("many", (2,), 3, 3)]


def test_a_window_inside_limits_what_is_kept_with_onesided() -> None:
    rules = checked("e(X, Y) <- ((a(X) SEQ b(X)).5 AND c(Y)) POLICY recent, onesided.")
    engine = GoalsEngine()
    deployed(rules, engine)
    for time in range(1000):
        engine.feed_event(event("a", [time], time, time))
    assert engine.waiting < 10
    assert run(rules, stream("a(1)@1 b(1)@3 a(2)@4 c(7)@90"), GoalsEngine()) == [("e", (1, 7), 1, 90)]


@pytest.mark.parametrize("engine", ["goals", "interval-reference"])
def test_a_relation_without_rows(engine: str) -> None:
    program = cepheus.compile("e(X) <- a(X) WHERE k(X, _). f(X) <- a(X) WHERE NOT k(X, 1).", knowledge={"k": []})
    found = program.detect([{"type": "a", "time": 1, "args": [5]}], engine=engine).to_events()
    assert [composite.type for composite in found] == ["f"]
