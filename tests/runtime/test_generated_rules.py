"""Whatever the rules: cutting a stream into calls, or killing and restoring, changes no answer, on any engine."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import cepheus
from cepheus import Event, EventBatch, UnsupportedError
from cepheus.engine.assembly.registry import names
from cepheus.rules.model import RuleSet
from strategies.rules import valid_rule_sets

EVENTS = st.lists(
    st.tuples(
        st.sampled_from("ABCD"),
        st.integers(0, 2),
        st.integers(-2, 3),
        st.sampled_from([-1.5, 0.0, 0.5, 2.0]),
        st.sampled_from(["", "a", "b"]),
    ),
    max_size=12,
)


def stream(rows: list[tuple[str, int, int, float, str]]) -> list[Event]:
    time = 0
    events = []
    for kind, gap, x, y, s in rows:
        time += gap * 1_000_000
        events.append(Event(kind, time, {"x": x, "y": y, "s": s}))
    return events


def answer(events: list[Event]) -> list[str]:
    return sorted(
        repr((e.type, e.time, e.id, sorted((n, v) for n, v in e.attributes.items() if v is not None), e.made_of))
        for e in events
    )


PARTIAL = ("automata", "matching")
"""Engines that refuse constructs that others run, timers say; of what they do not refuse, the answers are compared."""


def runs(program: cepheus.Program, engine: str) -> bool:
    try:
        program.start(engine=engine)
    except UnsupportedError:
        return False
    return True


@pytest.mark.parametrize("engine", names())
@settings(max_examples=60, suppress_health_check=[HealthCheck.filter_too_much])
@given(valid_rule_sets(), EVENTS, st.integers(0, 12))
def test_every_way_of_feeding_gives_what_the_reference_gives(
    engine: str, rules: RuleSet, rows: list[tuple[str, int, int, float, str]], cut: int
) -> None:
    program = cepheus.compile(rules)
    events = stream(rows)
    assume(engine not in PARTIAL or runs(program, engine))
    expected = answer(program.detect(EventBatch.from_events(events), engine="reference").to_events())
    assert answer(program.detect(events, engine=engine).to_events()) == expected

    first = program.start(engine=engine)
    found = [composite for event in events[:cut] for composite in first.feed(event)]
    second = cepheus.compile("").start(snapshot=first.snapshot())
    found += second.feed(events[cut:]).to_events()
    assert answer(found + second.close().to_events()) == expected
