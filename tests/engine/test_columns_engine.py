"""What is particular to the columns engine: indexes, limits, memory, types told by the data."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import cast

import numpy as np
import pytest

from cepheus.core.batch import EventBatch
from cepheus.core.errors import EventError, LimitError, SnapshotError, UnsupportedError
from cepheus.core.event import Event, EventId
from cepheus.core.options import RunOptions
from cepheus.core.schema import Schema
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.interface import Engine
from cepheus.engine.columns.engine import ColumnsEngine
from cepheus.language.tesla import parse
from cepheus.rules.check import check

DECLARED = "event A(x: int, y: double, s: string) event B(x: int, y: double, s: string)\n"


def engine(text: str, name: str = "columns", limit: int = 10_000) -> Engine:
    checked = check(parse(text), closed=False)
    schema = Schema([*checked.inputs.values(), *checked.composites.values()])
    return create(RunOptions(engine=name, limit=limit), checked.rules.rules, schema)


def stream(random: Random, count: int) -> list[Event]:
    return [
        Event(
            random.choice("AB"),
            10 * n,
            {"x": random.randint(0, 50), "y": round(random.uniform(0, 50), 1), "s": random.choice("abc")},
            id=n,
        )
        for n in range(count)
    ]


@pytest.mark.parametrize(
    "constraint",
    ["x = {n}", "y > {n}", "y <= {n}", "x >= {n} and x < {n} + 7", "{n} < y < {n} + 3", "s = 'b' and x = {n}"],
)
def test_many_rules_with_other_constants(constraint: str) -> None:
    """Enough rules on one attribute for the content index, as terminators and as columns."""
    rules = [
        f"define T{n}(x: int) from A({constraint.format(n=n)}) where x=A.x\n"
        f"define L{n}(x: int) from A() and last B({constraint.format(n=n)}) within 100 us from A where x=B.x\n"
        for n in range(40)
    ]
    text = DECLARED + "".join(rules).replace("+ 7", "+ 7 ").replace("x < ", "x < ")
    events = EventBatch.from_events(stream(Random(1), 300))
    fast = engine(text).feed(events).to_events()
    assert fast == engine(text, "reference").feed(events).to_events()
    assert len(fast) > 50


def test_a_rule_that_explodes_is_stopped_by_name() -> None:
    text = (
        DECLARED
        + "rule Boom define P() from A() and each B() as b within 1 s from A and each B() as c within 1 s from A"
    )
    running = engine(text, limit=1000)
    events = [Event("B", n, {}) for n in range(40)] + [Event("A", 50, {})]
    with pytest.raises(LimitError, match="rule 'Boom' would make more than 1000 composite events"):
        running.feed(EventBatch.from_events(events))
    assert len(running.feed(EventBatch.from_events([Event("B", 60, {})]))) == 0


def test_memory_is_bounded_by_windows_and_keys() -> None:
    """A hundred thousand keys, each seen once: state stays as large as a window."""
    checked = check(parse("define P() from A(x=$k) and last B(x=$k) within 1 ms from A"), closed=False)
    running = ColumnsEngine()
    running.deploy(checked.rules.rules, Schema([*checked.inputs.values(), *checked.composites.values()]))
    sizes = []
    for block in range(20):
        first = block * 5000
        running.feed(EventBatch.from_events(Event("B", 10 * n, {"x": n}) for n in range(first, first + 5000)))
        sizes.append(running.bytes_held)
    assert sizes[-1] == sizes[5]


def test_types_told_by_the_data() -> None:
    running = engine("define P() from A(k=$k) and last B(k=$k) within 1 s from A")
    events = [Event("B", 1, {"k": "x"}), Event("A", 2, {"k": "x"}), Event("A", 3, {"k": "y"})]
    assert running.feed(EventBatch.from_events(events)).times.tolist() == [2]
    with pytest.raises(EventError, match="type"):
        running.feed(EventBatch.from_events([Event("B", 4, {"k": 5})]))


@pytest.mark.parametrize("name", ["columns", "automata"])
@pytest.mark.parametrize("cut", [1, 2, 3, 100])
def test_integers_that_meet_doubles_are_compared_as_doubles(name: str, cut: int) -> None:
    """Which of the two comes first, and in which batch, is the stream's affair."""
    text = (
        "define P() from A(k=$k) and each B(k=$k) within 1 s from A\n"
        "define Q() from B(k=$k) and last C(k=$k) within 1 s from B"
    )
    values = [
        ("C", 1),
        ("B", 1),
        ("B", 2),
        ("A", 1.0),
        ("A", 2),
        ("B", 0.5),
        ("A", 0.5),
        ("C", 0.5),
        ("B", 1),
        ("A", -0.0),
    ]
    values += [("B", 0), ("C", 0), ("A", 0), ("B", -0.0)]
    events = [Event(kind, time, {"k": value}, id=time) for time, (kind, value) in enumerate(values)]
    fast, expected = engine(text, name), engine(text, "reference").feed(EventBatch.from_events(events)).to_events()
    found: list[Event] = []
    for begin in range(0, len(events), cut):
        found += fast.feed(EventBatch.from_events(events[begin : begin + cut])).to_events()
    assert found == expected
    one_by_one = engine(text, name)
    assert [composite for event in events for composite in one_by_one.feed_event(event)] == expected
    assert len(expected) == 7


def test_one_attribute_in_two_columns_of_a_batch() -> None:
    text = (
        "event A(y: double) event B(y: double)\n"
        "define P(y: double) from A() and each B(y > 0.5) within 1 s from A where y=B.y"
    )
    parts = [[Event("B", 1, {"y": 1})], [Event("B", 2, {"y": 2.5}), Event("A", 3, {"y": 0.0})]]
    batch = EventBatch.concat([EventBatch.from_events(part) for part in parts])
    assert len(batch.columns) == 2
    assert [event.attributes["y"] for event in engine(text).feed(batch).to_events()] == [1.0, 2.5]


def test_a_type_that_a_batch_only_names_tells_nothing() -> None:
    text = "event A(x: string) event B(x: int)\ndefine P() from B(x > 0) and last A(x = 'a') within 1 s from B"
    running = engine(text)
    running.feed(EventBatch.from_events([Event("A", 1, {"x": "a"})]))
    only = EventBatch.from_events([Event("B", 2, {"x": 1})])
    assert len(running.feed(replace(only, types=("B", "A")))) == 1


@pytest.mark.parametrize("name", ["columns", "automata"])
def test_a_snapshot_after_events_that_were_refused(name: str) -> None:
    """The doubles of the refused batch are known by then, but not yet what its events would have met."""
    text = "define P() from A(k=$k, s=$s) and each B(k=$k, s=$s) within 1 s from A"
    running = engine(text, name)
    running.feed(EventBatch.from_events([Event("B", 1, {"k": 1, "s": "a"}, id=1)]))
    with pytest.raises(EventError):
        running.feed(EventBatch.from_events([Event("A", 2, {"k": 1.0, "s": 5}, id=2)]))
    restored = create(name)
    restored.restore(running.snapshot())
    for each in (restored, running):
        (found,) = each.feed(EventBatch.from_events([Event("A", 3, {"k": 1.0, "s": "a"}, id=3)])).to_events()
        assert found.made_of == (3, 1)


def test_a_type_that_rules_do_not_expect_is_named() -> None:
    running = engine("event A(x: int)\ndefine P() from A(x > 1)")
    with pytest.raises(EventError, match=r"A\.x is double in the data, but rules take it for int"):
        running.feed(EventBatch.from_events([Event("A", 1, {"x": 1.5})]))


@pytest.mark.parametrize("name", ["columns", "automata"])
@pytest.mark.parametrize("key", ["", "x=$k"])
def test_one_event_may_enter_more_places_than_there_was_room_for(name: str, key: str) -> None:
    own = f"{key} and " if key else ""
    rules = [f"define P{n}() from A({key}) and last B({own}y > -{n}.5) within 1 s from A\n" for n in range(150)]
    events = EventBatch.from_events(stream(Random(3), 40))
    text = DECLARED + "".join(rules)
    found = engine(text, name).feed(events).to_events()
    assert found == engine(text, "reference").feed(events).to_events()
    assert len(found) >= 150


@pytest.mark.parametrize("name", ["columns", "automata"])
def test_ids_below_zero_are_numbers(name: str) -> None:
    text = DECLARED + "define P() from A() and each B() within 1 s from A"
    ids: list[EventId] = [-5, "-5", -(2**63), "\0number:-5", 2**63 - 1]
    events = [Event("B", n, {"x": 1, "y": 1.0, "s": ""}, id=each) for n, each in enumerate(ids)]
    batch = EventBatch.from_events([*events, Event("A", 9, {"x": 1, "y": 1.0, "s": ""}, id=-1)])
    running = engine(text, name)
    running.feed(batch.slice(0, 3))
    restored = create(name)
    restored.restore(running.snapshot())
    found = restored.feed(batch.slice(3, 6)).to_events()
    assert found == engine(text, "reference").feed(batch).to_events()
    assert [event.made_of[1] for event in found] == ids


def test_what_it_cannot_run_is_refused_with_the_place() -> None:
    with pytest.raises(UnsupportedError) as refused:
        engine(DECLARED + "define P() from A(s=$s) and last B(contains(s, $s)) within 1 s from A")
    (finding,) = refused.value.diagnostics
    assert finding.span is not None
    assert finding.span.text == "contains(s, $s)"


def test_a_damaged_snapshot_is_refused() -> None:
    running = engine(DECLARED + "define P() from A() and last B() within 1 s from A")
    running.feed(EventBatch.from_events(stream(Random(2), 20)))
    saved = bytearray(running.snapshot())
    saved[len(saved) // 2] ^= 1
    for damaged in (bytes(saved), b"", None):
        with pytest.raises(SnapshotError):
            create("columns").restore(cast(bytes, damaged))


def test_windows_as_long_as_time_and_times_at_its_ends() -> None:
    text = DECLARED + "define P() from A() and each B() within 100000 days from A"
    events = [
        Event("B", -(2**63), {}),
        Event("B", -(2**63) + 5, {}),
        Event("A", -(2**63) + 9, {}),
        Event("A", 2**63 - 1, {}),
    ]
    batch = EventBatch.from_events(events)
    assert engine(text).feed(batch).to_events() == engine(text, "reference").feed(batch).to_events()


def test_empty_input() -> None:
    running = engine(DECLARED + "define P() from A()")
    assert len(running.feed(EventBatch.empty())) == 0
    assert len(running.feed(EventBatch(("A",), np.zeros(0, np.int32), np.zeros(0, np.int64)))) == 0


def test_integers_stand_for_doubles_whatever_else_has_their_name() -> None:
    text = (
        "event A(x: double) event B(x: int) define P(x: double) from A(x > 2) where x=A.x "
        "define Q(y: double) from C(y > 2) where y=C.y define R(x: int) from B() where x=B.x"
    )
    events = [
        Event("A", 1, {"x": 3}),
        Event("A", 2, {"x": 2.5}),
        Event("B", 3, {"x": 2**53 + 1}),
        Event("C", 4, {"y": 3}),
        Event("C", 5, {"y": 4.5}),
    ]
    batch = EventBatch.from_events(events)
    assert batch.to_events() == events
    made = engine(text).feed(batch).to_events()
    assert [(e.type, list(e.attributes.values())) for e in made] == [
        ("P", [3.0]),
        ("P", [2.5]),
        ("R", [2**53 + 1]),
        ("Q", [3.0]),
        ("Q", [4.5]),
    ]
    assert made == engine(text, "reference").feed(batch).to_events()


@pytest.mark.parametrize("name", ["columns", "automata"])
def test_the_latest_event_of_a_lane_while_the_rows_of_its_type_move(name: str) -> None:
    """A lane whose last event is old: other events of the type make its rows move, and so do rules that come later."""
    declared = "event A() event B(x: int, y: int, z: int)\n"
    rare = (
        "rule Rare define P(y: int) from A() and last B(x = 1) within 1 h from A where y=B.y\n"
        "rule Chain define C(y: int, n: int) from A() and last B(x = 0) as b within 1 h from A"
        " and last B(x = 1) as c within 1 h from b where y=c.y, n=b.y\n"
        "rule Once define O(y: int) from A() and last B(x = 1) within 1 h from A where y=B.y consuming B\n"
        "rule Common define Q(n: int) from A() and each B(x = 0) within 50 us from A where n=B.y\n"
    )
    later = "rule Later define R(z: int) from A() and last B() within 1 h from A where z=B.z\n"
    program = check(parse(declared + rare + later)).rules.rules
    schema = Schema([*check(parse(declared + rare + later)).inputs.values()])
    found = []
    for which in (name, "reference"):
        running = create(which, program[:-1], schema)
        events = [Event("B", n, {"x": int(n in (200, 700)), "y": n, "z": -n}) for n in range(900)]
        events += [Event("A", 901 + n, {}) for n in range(3)]
        some = running.feed(EventBatch.from_events(events[:300])).to_events()
        some += running.feed(EventBatch.from_events([Event("A", 300, {})])).to_events()
        running.deploy(program[-1:], schema)
        some += running.feed(EventBatch.from_events([Event("A", 305, {})])).to_events()
        some += running.feed(EventBatch.from_events([replace(e, time=e.time + 10) for e in events[300:]])).to_events()
        found.append(some)
    assert found[0] == found[1]
    assert len(found[0]) > 100
