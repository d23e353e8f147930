"""Aggregates since the start: exact, in a few words of memory, through snapshots; and what holds values is bounded."""

from __future__ import annotations

from random import Random

import pytest
from agreement import normal

import cepheus
from cepheus.core.errors import LimitError, RuleError, UnsupportedError
from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.schema import Schema
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.interface import Engine
from cepheus.engine.columns.engine import ColumnsEngine
from cepheus.language.tesla import parse
from cepheus.rules.check import check

DECLARED = "event A(k: string, v: int, w: double?) event B(k: string, v: int, w: double?)\n"
RULES = DECLARED + (
    "define R(n: int, t: int, least: int?, w: double?, k: string?, l: string?) from A(k=$k) and\n"
    "$n = Count(B(k=$k) since start) and $t = Sum(B(v>2).v since start)\n"
    "where n=$n, t=$t, least=Min(B(k=$k).v since start), w=Avg(B().w since start), "
    "k=First(B(v=7).k since start), l=Last(B().k since start)"
)


def engine_of(text: str, name: str = "columns", limit: int = 10_000) -> Engine:
    checked = check(parse(text))
    schema = Schema([*checked.inputs.values(), *checked.composites.values()])
    return create(RunOptions(engine=name, limit=limit), checked.rules.rules, schema)


def stream(count: int, keys: int, seed: int = 1) -> list[Event]:
    random = Random(seed)
    return [
        Event(
            random.choice("ABBB"),
            1000 * (n // 3),
            {"k": f"key {random.randrange(keys)}", "v": random.randrange(10), "w": random.choice((None, 0.5, 1e-3))},
            id=n,
        )
        for n in range(count)
    ]


def test_columns_give_what_the_reference_gives_also_from_snapshots() -> None:
    events = stream(600, 5)
    reference, columns, moved = engine_of(RULES, "reference"), engine_of(RULES), engine_of(RULES)
    found = []
    for number, event in enumerate(events):
        expected = normal(reference.feed_event(event))
        assert normal(columns.feed_event(event)) == expected
        assert normal(moved.feed_event(event)) == expected
        found += expected
        if number % 17 == 0:
            saved, moved = moved.snapshot(), engine_of(DECLARED)
            moved.restore(saved)
    assert len(found) > 100
    passed_over = reference.ties.passed_over
    assert passed_over == columns.ties.passed_over
    assert passed_over


def test_memory_does_not_grow_with_the_stream() -> None:
    engine = ColumnsEngine()
    checked = check(parse(RULES))
    engine.deploy(checked.rules.rules, Schema([*checked.inputs.values(), *checked.composites.values()]))
    sizes = []
    for event in stream(6000, 5):
        engine.feed_event(event)
        sizes.append(engine.bytes_held)
    assert sizes[-1] == sizes[500]


def test_a_sum_beyond_the_range_of_exact_sums_is_undefined_from_there_on() -> None:
    rule = "event A(w: double) define R(t: double?) from A() where t=Sum(A().w since start)"
    for name in ("reference", "columns"):
        engine = engine_of(rule, name)
        made = [engine.feed_event(Event("A", n, {"w": w}))[0] for n, w in enumerate((1.0, 2.0, 1e300, 4.0, 0.0))]
        assert [each.attributes.get("t") for each in made] == [0.0, 1.0, 3.0, None, None], name


def test_uncertain_events_come_too_late() -> None:
    session = cepheus.compile("event A(w: double) define R(n: int) from A() where n=Count(A() since start)").start()
    session.feed(Event("A", 1, {"w": 1.0}))
    session.feed(Event("A", 2, {"w": 1.0}))
    with pytest.raises(UnsupportedError, match="rule 'R' aggregates since the start, and what it has counted is gone"):
        session.feed(Event("A", 3, {"w": 1.0}, probability=0.5))


@pytest.mark.parametrize("engine", ["automata", "matching"])
def test_others_refuse(engine: str) -> None:
    program = cepheus.compile("event A(w: double) define R(n: int) from A() where n=Count(A() since start)")
    with pytest.raises(UnsupportedError, match="not support aggregates since the start"):
        program.start(engine=engine)


def test_columns_refuse_computed_values() -> None:
    program = cepheus.compile("event A(w: int) define R(n: int) from A() where n=Sum(A().(w * w) since start)")
    with pytest.raises(UnsupportedError, match="not support aggregates since the start of computed"):
        program.start(engine="columns")


def test_threads_leave_the_rule_to_one_of_them() -> None:
    program = cepheus.compile("event A(w: double) define R(n: int) from A() where n=Count(A() since start)")
    events = [{"type": "A", "time": n, "w": 1.0} for n in range(5)]
    assert [made["n"] for made in program.detect(events, threads=2).to_events()] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("$m = Mode(B().v since start)", "Mode would have to remember more and more since the start"),
        ("$m = Count(B(v > $k) since start)", "'v > $k' holds would have to be asked of every event since the start"),
        ("$m = Count(B(v + 1 = $k) since start)", "would have to be asked of every event since the start"),
        (
            "last B() within 1 s from A and $m = Count(B() as C since start)",
            "cannot be told without those that are consumed",
        ),
        ("$m = Count(A() as Other since start) consuming A", "cannot be told without those that are consumed"),
    ],
)
def test_what_would_remember_every_event_is_refused(part: str, message: str) -> None:
    consuming = " consuming B" if "last B" in part else ""
    with pytest.raises(RuleError) as caught:
        cepheus.compile(f"event A(k: int) event B(v: int) define R() from A(k=$k) and {part}{consuming}")
    (finding,) = caught.value.diagnostics
    assert finding.code == "since-start"
    assert message in finding.message


@pytest.mark.parametrize("name", ["reference", "columns"])
def test_exact_counts_of_distinct_values_stop_at_the_limit(name: str) -> None:
    text = "event A(v: int) define Few(n: int) from A() and $n = CountDistinct(A().v within 1 s from A{}) where n=$n"
    engine = engine_of(text.format(""), name, limit=5)
    for n in range(6):
        engine.feed_event(Event("A", n, {"v": n % 2}))
    with pytest.raises(LimitError, match="an aggregate of rule 'Few' would hold more than 5 values at once"):
        engine.feed_event(Event("A", 6, {"v": 0}))
    nearly = engine_of(text.format(", approximate"), name, limit=5)
    made = [composite["n"] for n in range(10) for composite in nearly.feed_event(Event("A", n, {"v": n % 3}))]
    assert made == [1, 2, *[3] * 7]


@pytest.mark.parametrize("name", ["reference", "columns"])
def test_members_of_what_one_event_makes_stop_at_the_limit(name: str) -> None:
    text = "event A() event B() define All(n: int) from A() and all B() as Bs within 1 s from A where n=count(Bs)"
    engine = engine_of(text, name, limit=5)
    for n in range(5):
        engine.feed_event(Event("B", n, {}))
    assert [made["n"] for made in engine.feed_event(Event("A", 6, {}))] == [5]
    engine.feed_event(Event("B", 7, {}))
    with pytest.raises(LimitError, match="rule 'All' makes of one event would name more than 5 members"):
        engine.feed_event(Event("A", 8, {}))
