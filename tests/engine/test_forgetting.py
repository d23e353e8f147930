"""Columns that keep no more than their readers ask for: the same answers and counts as the reference engine gives."""

from __future__ import annotations

from random import Random

import pytest

from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.schema import Schema
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.interface import Engine
from cepheus.engine.columns.engine import ColumnsEngine
from cepheus.engine.device.engine import DeviceEngine
from cepheus.kernel.program import ColumnField, Forgets
from cepheus.language.tesla import parse
from cepheus.plan.pattern.flatten import flatten
from cepheus.rules.check import Checked, check

DECLARED = "event A(x: int, v: double) event B(x: int, v: double) event C(x: int, v: double)\n"
LATEST = "define L(v: double) from A() and last B() within 1 ms from A where v=B.v;\n"
KEYED = "define K(v: double) from A(x=$x) and last B(x=$x) within 30 us from A where v=B.v;\n"
ABSENT = "define N() from A(x=$x) and not B(x=$x) within 4 us from A;\n"
CHAIN = "define H(v: double) from A() and last B() within 20 us from A and last C() within 30 us from B where v=C.v;\n"
EACH = "define E(v: double) from A(x=$x) and each B(x=$x) within 25 us from A where v=B.v;\n"
WIDER = "define W(v: double) from C(x=$x) and each B(x=$x) within 60 us from C where v=B.v;\n"
FIRST = "define F(v: double) from A() and first B() within 50 us from A where v=B.v;\n"
STRICT = "define S(v: double) from A(v=$v) and last B(v < $v) within 90 us from A where v=B.v;\n"
FED = "define G(n: int) from L() and last K() within 40 us from L where n=1;\n"
MOMENT = "define M(v: double) from 3 us after A() and last B() within 50 us from now where v=B.v;\n"
CONSUMED = "define Q(v: double) from C() and last B() within 70 us from C where v=B.v consuming B;\n"
TOGETHER = (
    LATEST,
    KEYED,
    ABSENT,
    CHAIN,
    EACH,
    WIDER,
    FIRST,
    STRICT,
    LATEST + KEYED + ABSENT,
    LATEST + KEYED + FED,
    KEYED + EACH,
    EACH + WIDER,
    LATEST + FIRST + CHAIN,
    LATEST + MOMENT,
    LATEST + CONSUMED + STRICT,
)


def checked(rules: str, *, ordered: bool = False) -> Checked:
    return check(parse(("ties ordered;\n" if ordered else "") + DECLARED + rules))


def engine_of(name: str, rules: Checked) -> Engine:
    schema = Schema([*rules.inputs.values(), *rules.composites.values()])
    return create(RunOptions(engine=name), rules.rules.rules, schema)


def stream(count: int, coarse: int, seed: int) -> list[Event]:
    random = Random(seed)
    time = 0
    events = []
    for number in range(count):
        time += random.choice((0, 0, 1, 1, 2, 5))
        attributes = {"x": random.randint(0, 2), "v": float(random.randint(0, 40))}
        events.append(Event(random.choice("ABBBBC"), time // coarse * coarse, attributes, id=number))
    return events


@pytest.mark.parametrize("ordered", [False, True], ids=["apart", "ordered"])
@pytest.mark.parametrize("coarse", [1, 12])
@pytest.mark.parametrize("rules", TOGETHER)
def test_what_is_forgotten_is_not_missed(rules: str, coarse: int, ordered: bool) -> None:
    if ordered and rules == LATEST + MOMENT:
        pytest.skip("timers count no simultaneous events where they are ordered")
    told = checked(rules, ordered=ordered)
    columns, reference = engine_of("columns", told), engine_of("reference", told)
    for event in stream(400, coarse, seed=len(rules) + coarse):
        assert columns.feed_event(event) == reference.feed_event(event)
    assert columns.ties == reference.ties


@pytest.mark.parametrize(
    ("rules", "forgets"),
    [
        (LATEST, {Forgets.ALL_BUT_LATEST}),
        (ABSENT, {Forgets.ALL_BUT_LATEST}),
        (KEYED + ABSENT, {Forgets.ALL_BUT_LATEST}),
        (EACH, {Forgets.WHEN_PASSED}),
        (KEYED + EACH, {Forgets.WHEN_PASSED}),
        (CHAIN, {Forgets.ALL_BUT_LATEST, Forgets.WHEN_PASSED}),
        (STRICT, {Forgets.WHEN_PASSED}),
        ("define D(n: int) from A() and $n = Sum(B().x within 9 us from A) where n=$n", {Forgets.WHEN_FULL}),
    ],
)
def test_columns_keep_what_their_readers_ask_for(rules: str, forgets: set[Forgets]) -> None:
    told = checked(rules)
    engine = ColumnsEngine()
    engine.deploy(told.rules.rules, Schema([*told.inputs.values(), *told.composites.values()]))
    in_time = flatten(engine._lowering, in_time=True)
    assert {*in_time.columns[:, ColumnField.FORGETS].tolist()} == forgets
    later = flatten(engine._lowering, in_time=DeviceEngine.in_time)
    assert not later.columns[:, ColumnField.FORGETS].any(), "a device looks back later"


def test_a_lane_that_is_asked_for_the_latest_event_stays_small() -> None:
    told = checked(LATEST)
    engine = ColumnsEngine()
    engine.deploy(told.rules.rules, Schema([*told.inputs.values(), *told.composites.values()]))
    for event in stream(2000, 1, seed=3):
        engine.feed_event(event)
    assert len(engine._state.entries) <= 1024, "a window of a millisecond holds more events"
    restored = ColumnsEngine()
    restored.restore(engine.snapshot())
    for event in stream(200, 1, seed=4):
        moved = Event(event.type, event.time + 10_000, event.attributes, id=event.id)
        assert restored.feed_event(moved) == engine.feed_event(moved)
