"""Aggregates and functions of values at the corners of their types: every engine gives what the reference gives."""

from __future__ import annotations

from itertools import combinations_with_replacement

import pytest
from agreement import compare, normal, to_batch

import cepheus
from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.schema import Schema
from cepheus.core.values import Value, ValueType
from cepheus.engine.assembly.registry import create
from cepheus.language.tesla import parse
from cepheus.rules.aggregates import AGGREGATES, Takes
from cepheus.rules.check import check
from strategies.corners import CORNERS, DOUBLES

ENGINES = [("columns", 1), ("columns", 2), ("automata", 1), ("auto", 1)]
OF_ANY_TYPE = (Takes.EVENTS, Takes.ANYTHING)
CASES = 60


def answers(text: str, events: list[Event], name: str, threads: int = 1, *, singly: bool = False) -> list[object]:
    """Give what an engine makes of events, in a form in which two answers compare."""
    checked = check(parse(text))
    schema = Schema([*checked.inputs.values(), *checked.composites.values()])
    engine = create(RunOptions(engine=name, threads=threads), checked.rules.rules, schema)
    if singly:
        return [*normal([made for event in events for made in engine.feed_event(event)])]
    return [*normal(engine.feed(to_batch(events)).to_events())]


@pytest.mark.parametrize("number", [1e20, 6.02e23, 1e-25, 6.6e-34, 5e-324, 1.7976931348623157e308, -1e20])
@pytest.mark.parametrize(("engine", "threads"), ENGINES)
def test_one_reading_counts_as_one(engine: str, threads: int, number: float) -> None:
    rules = """
        event A(x: double) event B()
        define Many(n: int) from B() and 3 <= $n = Count(A().x within 1 min from B) where n=$n
        define Any(n: int) from B() and $n = Count(A().x within 1 min from B) where n=$n
        define Sums(n: int) from B() and $n = Count(A().(x + x) within 1 min from B) where n=$n
        define Inner(n: int) from B() and first A() within 1 min from B
        and $n = Count(A().x between A and B) where n=$n
    """
    events = [{"type": "A", "time": 1, "x": number}, {"type": "A", "time": 2, "x": number}, {"type": "B", "time": 3}]
    found = cepheus.compile(rules).detect(events, engine=engine, threads=threads, time_unit="s").to_events()
    overflows = abs(number) > 1e308
    assert [(e.type, e["n"]) for e in found] == [("Any", 2), ("Sums", 0 if overflows else 2), ("Inner", 1)]


def over_members(kind: ValueType, scope: str) -> str:
    """Give rules with all aggregates that values of a type have, over events of a window."""
    rules = [f"event A(v: {kind.value}, k: int) event B(k: int)"]
    for record in AGGREGATES.values():
        if not kind.is_numeric and record.takes not in OF_ANY_TYPE:
            continue
        function, given = record.name, (record.result or kind).value
        told = "" if record.argument is None else f", {record.argument.example}"
        rules.append(
            f"define {function}_(r: {given}) from B(k=$k) and first A() within 1 ms from B "
            f"and $r = {function}(A({'k=$k' if 'k' in scope else ''}).v {scope.replace('k', '')}{told}) where r=$r"
        )
    return "\n".join(rules)


def members(values: tuple[Value, ...]) -> list[Event]:
    made = [Event("A", place, {"v": value, "k": 1}, id=place) for place, value in enumerate(values)]
    return [*made, Event("B", 10, {"k": 1}, id=10)]


@pytest.mark.parametrize("kind", list(CORNERS))
@pytest.mark.parametrize("scope", ["within 1 ms from B", "k within 1 ms from B", "between A and B"])
def test_all_aggregates_of_all_corners(kind: ValueType, scope: str) -> None:
    """Windows that slide, that are kept apart by a key, and that are gone through; every pair of corners."""
    text = over_members(kind, scope)
    corners = CORNERS[kind][:24]
    checked = check(parse(text))
    schema = Schema([*checked.inputs.values(), *checked.composites.values()])
    engines = {name: create(name, checked.rules.rules, schema) for name in ("reference", "columns", "automata")}
    fired = 0
    for number, pair in enumerate(combinations_with_replacement(corners, 2)):
        stream = [
            Event(event.type, 10_000 * number + event.time, event.attributes, id=20 * number + event.time)
            for event in members((CORNERS[kind][number % len(CORNERS[kind])], *pair))
        ]
        found = {name: normal(engine.feed(to_batch(stream)).to_events()) for name, engine in engines.items()}
        assert found["columns"] == found["automata"] == found["reference"], stream
        fired += len(found["reference"])
    assert fired > 3 * len(corners)


@pytest.mark.parametrize(("engine", "threads"), ENGINES)
def test_sums_at_the_edge_come_and_go_in_a_sliding_window(engine: str, threads: int) -> None:
    text = """
        event A(v: double) event B()
        define S(r: double) from B() and $r = Sum(A().v within 3 us from B) where r=$r
        define M(r: double) from B() and $r = Avg(A().v within 3 us from B) where r=$r
        define N(r: int) from B() and $r = Count(A().v within 3 us from B) where r=$r
    """
    events = []
    for place, number in enumerate([*DOUBLES, *reversed(DOUBLES), *DOUBLES[::3], *DOUBLES[::5]]):
        events.append(Event("A", place, {"v": number}, id=2 * place))
        events.append(Event("B", place, {}, id=2 * place + 1))
    expected = answers(text, events, "reference")
    assert answers(text, events, engine, threads) == expected
    assert answers(text, events, engine, threads, singly=True) == expected


@pytest.mark.parametrize("name", ["columns", "automata"])
@pytest.mark.parametrize("mode", ["whole", "cut", "single", "snapshot"])
def test_generated_cases_at_corners_agree(name: str, mode: str) -> None:
    first = 70_000_000 + 1000 * ("whole", "cut", "single", "snapshot").index(mode)
    found = [compare(seed, name, mode, undeclared=seed % 5 == 0, share=1.0) for seed in range(first, first + CASES)]
    share = 2 if name == "columns" else 4  # the others refuse groups, rankings, timers and ordered ties
    assert sum(outcome >= 0 for outcome in found) > CASES // share, "enough cases must have run"
    assert sum(max(outcome, 0) for outcome in found) > CASES // share, "and found something"
