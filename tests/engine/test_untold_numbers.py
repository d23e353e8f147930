"""Integers and doubles of attributes whose types only the data tells: one meaning, however events come."""

from __future__ import annotations

from random import Random

import pytest

import cepheus
from cepheus import CepheusError, Event, EventBatch

LARGE = 2**53
NUMBERS = (LARGE, LARGE + 1, LARGE + 2, -LARGE - 1, 2**63 - 1, 2**63 - 2, -(2**63), 0, 1, 7)
PAIR = "define R(n: int) from B(x=$x) and last A(x=$x) within 20 us from B where n=1"
TRIPLE = """
    define R(n: int) from B(x=$x) and each A(x=$x) within 20 us from B and last C(x=$x) within 20 us from B where n=1
    define S(n: int) from C(x=$x) and $n = Count(A(x=$x) within 20 us from C) >= 1 where n=$n
"""
ABSENT = (
    "define R(n: int) from B(x=$x) and not A(x=$x) within 9 us from B and each C(x=$x) within 9 us from B where n=1"
)
ENGINES = [("columns", 1), ("columns", 2), ("automata", 1), ("auto", 1)]


def stream(seed: int) -> list[Event]:
    """Give events of three types, each of which has either integers or doubles."""
    random = Random(seed)
    doubles = {name for name in "ABC" if random.random() < 0.5}
    pool = random.choices(NUMBERS, k=3)
    events = []
    for place in range(40):
        name, number = random.choice("ABC"), random.choice(pool)
        events.append(Event(name, place, {"x": float(number) if name in doubles else number}))
    return events


def run(rules: str, events: list[Event], engine: str, threads: int, cut: str) -> list[tuple[object, ...]]:
    """Give what a session makes of events that come one by one, in lists or in batches, and after a restart."""
    program = cepheus.compile(rules)
    session = program.start(engine=engine, threads=threads)
    found: list[Event] = []
    for first in range(0, len(events), 4):
        part = events[first : first + 4]
        if cut == "single":
            found += [made for event in part for made in session.feed(event)]
        else:
            found += session.feed(EventBatch.from_events(part) if cut == "batch" else part).to_events()
        if cut == "restart":
            saved = session.snapshot()
            session = program.start(engine=engine, threads=threads)
            session.restore(saved)
    return [(made.type, made.time, made.made_of, made["n"]) for made in found]


@pytest.mark.parametrize("rules", [PAIR, TRIPLE, ABSENT])
@pytest.mark.parametrize(("engine", "threads"), ENGINES)
def test_integers_that_meet_doubles_mean_the_same_everywhere(engine: str, threads: int, rules: str) -> None:
    fired = 0
    for seed in range(24):
        events = stream(seed)
        expected = run(rules, events, "reference", 1, "single")
        fired += len(expected)
        for cut in ("single", "list", "batch", "restart"):
            assert run(rules, events, engine, threads, cut) == expected, f"seed {seed}, {cut}"
    assert fired > 24


@pytest.mark.parametrize(("engine", "threads"), [("reference", 1), *ENGINES])
@pytest.mark.parametrize("cut", ["single", "list", "batch"])
def test_a_large_integer_after_doubles_leaves_the_session_running(engine: str, threads: int, cut: str) -> None:
    events = [
        Event("A", 1, {"x": 0.5}),
        Event("B", 2, {"x": LARGE + 1}),
        Event("A", 3, {"x": 7}),
        Event("B", 4, {"x": 7}),
    ]
    session = cepheus.compile(PAIR).start(engine=engine, threads=threads)
    found: list[Event] = []
    for event in events:
        if cut == "single":
            found += session.feed(event)
        else:
            found += session.feed([event] if cut == "list" else EventBatch.from_events([event])).to_events()
    assert [made.time for made in found] == [4]


def test_a_large_integer_equals_the_double_that_is_nearest_to_it_and_no_other_integer() -> None:
    rules = "define R() from B(x=$x) and last A(x=$x) within 9 us from B and last C(x=$x) within 9 us from B"
    events = [("A", LARGE + 1), ("C", float(LARGE)), ("B", LARGE + 1), ("B", LARGE)]
    for engine in ("reference", "columns", "automata"):
        session = cepheus.compile(rules).start(engine=engine)
        found = [made.time for at, (name, x) in enumerate(events) for made in session.feed(Event(name, at, {"x": x}))]
        assert found == [2], engine


@pytest.mark.parametrize(("engine", "threads"), [("reference", 1), *ENGINES])
@pytest.mark.parametrize(
    "bad", [2**63, -(2**64), "seven", [1], float("nan"), float("inf"), None, {"a": 1}, 1 + 2j, b"7"]
)
def test_bad_numbers_are_refused_and_the_session_goes_on(engine: str, threads: int, bad: object) -> None:
    """Whatever is no number of 64 bits is refused by name, alone and among others, and nothing of it stays."""
    session = cepheus.compile(PAIR).start(engine=engine, threads=threads)
    good = [{"type": "A", "time": 1, "x": 7}, {"type": "B", "time": 2, "x": 7}]
    assert len(session.feed(good)) == 1
    with pytest.raises(CepheusError):
        session.feed({"type": "A", "time": 3, "x": bad})
    with pytest.raises(CepheusError):
        session.feed([{"type": "A", "time": 3, "x": 8}, {"type": "A", "time": 3, "x": bad}])
    with pytest.raises(CepheusError):
        session.feed(Event("A", 3, {"x": bad}))  # type: ignore[dict-item]
    assert len(session.feed([{"type": "B", "time": 4, "x": 7}, {"type": "B", "time": 5, "x": 8}])) == 1
