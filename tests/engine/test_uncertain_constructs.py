"""Timers, rankings, collections and totals among uncertain events: they go to the reference engine in mid-stream.

Rules that are compiled stay so, and what waits for its time, or is remembered since the start, goes along.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from uncertain_cases import compiled_rules

import cepheus
from cepheus.core.distribution import Normal
from cepheus.core.errors import UnsupportedError
from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.schema import Schema
from cepheus.engine.assembly.registry import create
from cepheus.language.tesla import parse
from cepheus.rules.check import check

RULES = """
event A(k: int, x: double)
event B(k: int, x: double)
rule Lost define Lost(k: int) from A(k=$k and x > 1) and not B(k=$k and x > 0) within 9 us after A where k=$k
rule Told define Told(n: int) from every 7 us and $n = Count(B(x > 1) within 7 us from now) and $n > 0 where n=$n
rule Again define Again(k: int) from 3 us after Lost(k=$k) and not A(k=$k) between Lost and now where k=$k
rule Most define Most(k: int) from B(x > 1) as T and 2 top A(k=$k) as C by x per k within 20 us from T where k=$k
rule Many define Many(n: int, m: double) from B(k=$k) as T and all 2.. A(k=$k) as Cs within 20 us from T
  where n=Count(Cs), m=Max(Cs.x)
rule Plain define Plain(k: int) from B(k=$k and x > 1) as T and last A(k=$k) within 20 us from T where k=$k
"""

EVER = "rule Ever define Ever(n: int) from B(k=$k) as T and $n = Count(A(k=$k) since start) and $n > 1 where n=$n"


def stream(seed: int, certain: int) -> list[Event]:
    """Events of which only the later ones have errors."""
    random, time, events = Random(seed), 0, []
    for number in range(60):
        time += random.choice((0, 1, 2, 4))
        attributes: dict[str, Any] = {"k": random.choice((1, 2)), "x": random.randrange(-8, 24) / 8}
        errors = {"x": Normal(0.0, 0.25)} if number >= certain and random.random() < 0.4 else {}
        events.append(Event(random.choice("AAB"), time, attributes, id=number, errors=errors))
    return events


def found_by(name: str, events: list[Event], mode: str, text: str = RULES) -> tuple[list[Event], int]:
    checked = check(parse(text))
    schema = Schema([*checked.inputs.values(), *checked.composites.values()])
    engine = create(RunOptions(engine=name), checked.rules.rules, schema)
    found: list[Event] = []
    for number, event in enumerate(events):
        found += engine.feed_event(event)
        if mode == "snapshot" and number % 10 == 7:
            data = engine.snapshot()
            engine = create(RunOptions(engine=name))
            engine.restore(data)
        if mode == "advance" and number % 5 == 3 and number + 1 < len(events):
            found += engine.advance(events[number + 1].time).to_events()
    found += engine.advance(events[-1].time + 30).to_events()
    return found, compiled_rules(engine) if name == "columns" else 0


@pytest.mark.parametrize("mode", ["plain", "snapshot", "advance"])
@pytest.mark.parametrize("certain", [0, 31])
def test_what_is_uncertain_from_some_event_on_agrees(certain: int, mode: str) -> None:
    text = RULES if certain else RULES + EVER
    for seed in range(2):
        events = stream(seed, certain)
        wanted, _ = found_by("reference", events, "plain", text)
        made, compiled = found_by("columns", events, mode, text)
        shown = [(e.type, e.time, e.made_of, dict(e.attributes), round(e.probability, 9)) for e in made]
        assert shown == [(e.type, e.time, e.made_of, dict(e.attributes), round(e.probability, 9)) for e in wanted]
        assert {e.type for e in wanted} >= {rule.name for rule in parse(text).rules}
        assert any(e.probability < 1.0 for e in wanted)
        assert compiled == 1  # Plain


def test_totals_whose_events_are_gone_refuse_an_uncertain_event() -> None:
    with pytest.raises(UnsupportedError, match="'Ever' aggregates since the start"):
        found_by("columns", stream(0, 31), "plain", RULES + EVER)


def test_what_the_words_of_the_rules_say_of_possible_worlds() -> None:
    """A moment is worth what its event is, an absence what nobody there is, a collection what its number is."""
    program = cepheus.compile(
        "event A(x: double) event B(x: double)\n"
        "define Lost() from A(x > 1) and not B(x > 1) within 5 s after A\n"
        "define Two() from 9 s after A() and all 2.. B(x > 1) as Bs between A and now"
    )
    half = {"value": 1.0, "error": "N(0, 1)"}
    events = [
        {"type": "A", "time": 0, "x": half},
        {"type": "B", "time": 2, "x": half},
        {"type": "B", "time": 3, "x": half},
        {"type": "B", "time": 4, "x": 5.0},
    ]
    for engine in ("reference", "auto"):
        (lost,) = program.detect(events[:3], engine=engine, time_unit="s", until=6).to_events()
        assert (lost.time, round(lost.probability, 9)) == (5_000_000, 0.125)
        (two,) = program.detect(events, engine=engine, time_unit="s", until=9).to_events()
        assert (two.type, two.time, round(two.probability, 9)) == ("Two", 9_000_000, 0.75)
