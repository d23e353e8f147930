"""What engines count of simultaneous events: equal on all that count, whatever the rules and however events are fed."""

from __future__ import annotations

from random import Random

import pytest
from tied_cases import TiedCase, make_tied_case
from uncertain_cases import compiled_rules

from cepheus.core.batch import EventBatch
from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.schema import Schema
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.interface import Engine
from cepheus.engine.base.ties import MOST_COMPARED, TieCounts
from cepheus.language.tesla import parse
from cepheus.rules.check import check

CASES = 60


def run(case: TiedCase, name: str, mode: str = "whole", threads: int = 1) -> tuple[list[Event], TieCounts, Engine]:
    """Run a case; give what was found, what was counted, and the engine that did it."""
    random = Random(case.seed)
    engine = create(RunOptions(engine=name, threads=threads), case.checked.rules.rules, case.schema)
    found: list[Event] = []
    ties = TieCounts.none()
    size = len(case.events) if mode == "whole" else random.randint(1, 9)
    for begin in range(0, len(case.events), size):
        piece = case.events[begin : begin + size]
        if mode == "single":
            found += [made for event in piece for made in engine.feed_event(event)]
        else:
            found += engine.feed(EventBatch.from_events(piece)).to_events()
        if mode == "snapshot":
            saved, ties = engine.snapshot(), ties + engine.ties
            engine = create(RunOptions(engine=name, threads=threads))
            engine.restore(saved)
    return found, ties + engine.ties, engine


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("mode", ["whole", "cut", "single", "snapshot"])
def test_columns_count_what_the_reference_counts(mode: str, threads: int, ordered: bool) -> None:
    total = TieCounts()
    first = 10_000 * len(mode) + 1000 * threads
    for seed in range(first, first + CASES):
        case = make_tied_case(seed, ordered=ordered)
        wanted, expected, _ = run(case, "reference")
        made, ties, _ = run(case, "columns", mode, threads)
        assert [e.made_of for e in made] == [e.made_of for e in wanted], case.text
        assert ties == expected, f"{seed}\n{case.text}"
        total += ties
    assert total.decided is not None
    assert total.passed_over is not None
    assert total.decided > CASES, "the cases must have what is counted"
    assert total.passed_over == 0 if ordered else total.passed_over > CASES


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("mode", ["whole", "single", "snapshot"])
def test_uncertain_events_are_counted_as_by_the_reference(mode: str, ordered: bool) -> None:
    compiled = rules = 0
    total = TieCounts()
    for seed in range(50_000 + 100 * len(mode), 50_000 + 100 * len(mode) + 40):
        case = make_tied_case(seed, events=24, uncertain=True, ordered=ordered)
        wanted, expected, _ = run(case, "reference")
        made, ties, engine = run(case, "columns", mode)
        assert [e.made_of for e in made] == [e.made_of for e in wanted], case.text
        assert ties == expected, f"{seed}\n{case.text}"
        compiled += compiled_rules(engine)
        rules += len(case.checked.rules.rules)
        total += ties
    assert compiled > rules * 0.5, (compiled, rules)  # what shares a quantity in other ways leaves the kernel
    assert total.decided
    assert bool(total.passed_over) is not ordered


def test_a_ring_that_grew_does_not_make_an_event_pass_for_another() -> None:
    text = "event A(k: int) define P(k: int) from A() as T and last A() as M within 9 us from T "
    text += "and last A() as E within 9 us from M where k=T.k"
    events = tuple(Event("A", n // 2, {"k": n}) for n in range(200))
    case = TiedCase(0, text, check(parse(text)), events)
    assert run(case, "columns", "single")[1] == run(case, "reference")[1]


def test_distinct_times_count_nothing() -> None:
    cases = [make_tied_case(seed) for seed in range(30)]
    for case in cases:
        if "P1" not in case.text:  # a composite event has the time of its terminator
            spread = tuple(Event(event.type, 3 * n, event.attributes) for n, event in enumerate(case.events))
            assert run(TiedCase(case.seed, case.text, case.checked, spread), "columns")[1] == TieCounts()


LOGINS = """
event Login(user: string, ok: bool)
define Attack(user: string) from Login(user=$u and ok=false) and
  $n = Count(Login(user=$u and ok=false) within 1 min from Login) >= 11 where user=$u
"""


def logins(count: int, user: str = "root") -> list[Event]:
    return [Event("Login", 1_000_000, {"user": user, "ok": False}) for _ in range(count)]


def engine_for(text: str, name: str) -> Engine:
    checked = check(parse(text))
    return create(name, checked.rules.rules, Schema([*checked.inputs.values(), *checked.composites.values()]))


@pytest.mark.parametrize("name", ["reference", "columns"])
def test_twelve_logins_in_one_second_are_told(name: str) -> None:
    engine = engine_for(LOGINS, name)
    assert len(engine.feed(EventBatch.from_events(logins(12)))) == 0
    assert engine.ties == TieCounts(0, 66), "each of the twelve passes over those before it"


@pytest.mark.parametrize("name", ["reference", "columns"])
@pytest.mark.parametrize(
    "rest",
    [
        "all 0.. B() as Bs within 9 us from A where n=1",
        "all B() as Bs within 9 us from A where n=1",
        "all B() as Bs within 9 us from A where n=count(Bs)+Max(Bs.v)+Sum(Bs.v)",
        "all 0.. B(v>0) as Bs within 9 us from A and Avg(Bs.v) > 9 where n=first(Bs).v",
    ],
)
def test_a_collection_passes_over_each_event_once(name: str, rest: str) -> None:
    engine = engine_for(f"event A() event B(v: int) define F(n: int) from A() and {rest}", name)
    stream = [Event("B", 1, {"v": 3}), Event("B", 5, {"v": 1}), Event("B", 5, {"v": 2}), Event("A", 5, {})]
    engine.feed(EventBatch.from_events(stream))
    assert engine.ties == TieCounts(0, 2)


@pytest.mark.parametrize("name", ["reference", "columns"])
def test_the_first_member_is_one_choice_with_or_without_a_value(name: str) -> None:
    text = "event A() event B(v: int?) define F(v: int?) from A() and all B() as Bs within 9 us from A where v="
    events = EventBatch.from_events([Event("B", 1, {}), Event("B", 1, {"v": 2}), Event("A", 5, {})])
    for value, decided in (("first(Bs).v", 1), ("First(Bs.v)", 0)):
        engine = engine_for(text + value, name)
        engine.feed(events)
        assert engine.ties == TieCounts(decided, 0)


@pytest.mark.parametrize("name", ["reference", "columns"])
def test_flights_of_one_minute(name: str) -> None:
    text = """
    event Landing(airport: string, flight: int) event Closed(airport: string)
    define Stranded(flight: int) from Closed(airport=$a) and last Landing(airport=$a) within 1 hour from Closed
    where flight=Landing.flight
    """
    engine = engine_for(text, name)
    minute = 60_000_000
    landings = [Event("Landing", minute, {"airport": "OSL", "flight": n}) for n in (1, 2)]
    landings += [Event("Landing", minute, {"airport": "BGO", "flight": 3})]
    closed = [Event("Closed", 2 * minute, {"airport": name}) for name in ("OSL", "BGO")]
    (one, other) = engine.feed(EventBatch.from_events([*landings, *closed])).to_events()
    assert (one["flight"], other["flight"]) == (2, 3)
    assert engine.ties == TieCounts(1, 0), "of the two that landed in Oslo either could be the last"


def test_an_automaton_says_that_it_does_not_count() -> None:
    engine = engine_for(LOGINS, "automata")
    engine.feed(EventBatch.from_events(logins(2)))
    assert engine.ties == TieCounts.not_counted("automata")


def test_restoring_leaves_the_counts_of_an_engine_alone() -> None:
    for name in ("reference", "columns"):
        engine = engine_for(LOGINS, name)
        empty = engine.snapshot()
        engine.feed(EventBatch.from_events(logins(3)))
        engine.restore(empty)
        engine.feed(EventBatch.from_events(logins(2)))
        assert engine.ties == TieCounts(0, 3 + 1)


def test_the_number_of_events_looked_at_is_bounded() -> None:
    text = """
    event Login(user: string, ok: bool) event Check(user: string)
    define Seen(user: string) from Check(user=$u) and last Login(user != $u) within 1 min from Check where user=$u
    """
    checks = [Event("Check", at, {"user": "guest"}) for at in (1_000_000, 2_000_000)]
    for name in ("reference", "columns"):
        engine = engine_for(text, name)
        engine.feed(EventBatch.from_events([*logins(MOST_COMPARED), *checks]))
        assert engine.ties == TieCounts(1, MOST_COMPARED)
        engine = engine_for(text, name)
        engine.feed(EventBatch.from_events([*logins(MOST_COMPARED + 1), *checks]))
        assert engine.ties == TieCounts(1, MOST_COMPARED, at_least=True)
        engine = engine_for(text, name)
        others = [*logins(1), *logins(MOST_COMPARED + 1, "guest"), *logins(1)]
        engine.feed(EventBatch.from_events([*others, checks[1]]))
        assert engine.ties == TieCounts(0, 0, at_least=True), "the rival is too far away to be seen"
