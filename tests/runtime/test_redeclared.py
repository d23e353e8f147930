"""Event types that change under rules at work: declarations, withdrawn rules, subscriptions, types across families."""

from __future__ import annotations

from typing import Any

import pytest

import cepheus
from cepheus import Event, Program, RuleError, Session
from cepheus.language import etalis, tesla

INTERVALS = ["goals", "interval-reference"]
ENGINES = ["auto", "goals", "automata", "columns", "reference", "interval-reference"]
LARGE = 9007199254740993  # no double has this value


def _event(event_type: str, time: int, *values: object) -> dict[str, Any]:
    return {"type": event_type, "time": time, "args": list(values)}


def _together(intervals: str, instants: str) -> Program:
    return cepheus.compile(etalis.parse(intervals) + tesla.parse(instants))


def _values(events: list[Event], event_type: str) -> list[list[object]]:
    return [list(event.attributes.values()) for event in events if event.type == event_type]


@pytest.mark.parametrize("engine", INTERVALS)
@pytest.mark.parametrize(
    "further",
    [
        "event a(x: int). f(X) <- a(X).",
        "event a(x: int) define T(x: int) from a(x=$x) where x=$x",
        "event e(x: int). f(X) <- e(X).",
    ],
)
def test_attributes_of_rules_at_work_keep_their_names(engine: str, further: str) -> None:
    session = cepheus.compile("e(X) <- a(X).").start(engine=engine)
    with pytest.raises(RuleError, match=r"rules at work know the attributes of '.' as arg1, and here they are x"):
        session.deploy(further)
    assert _values(session.feed(_event("a", 15, 1)), "e") == [[1]]


@pytest.mark.parametrize("engine", INTERVALS)
def test_a_declaration_with_the_names_of_rules_at_work_may_come_later(engine: str) -> None:
    session = cepheus.compile("e(X) <- a(X).").start(engine=engine)
    session.deploy("event a(arg1: int). f(X) <- a(X).")
    made = session.feed(_event("a", 15, 1))
    assert (_values(made, "e"), _values(made, "f")) == ([[1]], [[1]])


@pytest.mark.parametrize("engine", INTERVALS)
def test_once_its_rules_are_gone_a_type_may_have_other_attributes(engine: str) -> None:
    session = cepheus.compile("e(X) <- a(X).").start(engine=engine)
    session.feed(_event("a", 1, 1))
    session.withdraw("e")
    session.deploy("event a(x: int, y: int). f(X, Y) <- a(X, Y).")
    assert _values(session.feed(_event("a", 2, 1, 2)), "f") == [[1, 2]]


def _without_e(engine: str, *, deploy: str) -> Session:
    session = cepheus.compile("e(2.0) <- a(_).").start(engine=engine)
    session.withdraw("e")
    session.deploy(deploy)
    return session


@pytest.mark.parametrize("engine", INTERVALS)
def test_a_withdrawn_rule_tells_no_types(engine: str) -> None:
    assert _values(_without_e(engine, deploy="e(b) <- c(_).").feed(_event("c", 1, 1)), "e") == [["b"]]
    assert _values(_without_e(engine, deploy="e(X) <- c(X).").feed(_event("c", 1, LARGE)), "e") == [[LARGE]]


@pytest.mark.parametrize("engine", INTERVALS)
def test_a_withdrawn_rule_tells_the_types_that_others_have_read(engine: str) -> None:
    session = _together("e(2.0) <- a(_).", "define T(v: double) from e(arg1=$x) where v=$x").start(engine=engine)
    session.withdraw("e")
    with pytest.raises(RuleError, match="'arg1' of e is a double, b is a string"):
        session.deploy("e(b) <- c(_).")
    session.deploy("e(3) <- c(_).")
    assert _values(session.feed(_event("c", 1, 1)), "T") == [[3.0]]


@pytest.mark.parametrize("engine", INTERVALS)
def test_rules_cannot_change_a_type_that_others_have_read(engine: str) -> None:
    instants = "define T(v: double) from e(arg1=$x) where v=$x"
    session = _together("event a(x: int). e(X) <- a(X).", instants).start(engine=engine)
    with pytest.raises(RuleError, match=r"e.arg1 is int to rules at work, and with these it would be double"):
        session.deploy("e(2.5) <- a(_).")
    assert _values(session.feed(_event("a", 1, 7)), "T") == [[7]]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("singly", [True, False])
@pytest.mark.parametrize(
    ("intervals", "events"),
    [
        ("e(H) <- a(H). e(H) <- b(H).", [_event("a", 1, "s"), _event("b", 2, 5)]),
        ("event a(x: list). e(H) <- a([H|_]).", [_event("a", 1, ["s"]), _event("a", 2, [5])]),
        ("event a(x: list). e(H) <- a([H|_]).", [_event("a", 1, [2.5]), _event("a", 2, [5])]),
        ("event e(arg1: int). event a(x: list). e(H) <- a([H|_]).", [_event("a", 1, [2.5]), _event("a", 2, [5])]),
    ],
)
def test_what_is_of_another_type_is_not_taken_for_something_else(
    engine: str, singly: bool, intervals: str, events: list[dict[str, Any]]
) -> None:
    program = _together(intervals, "define T(v: int) from e(arg1=$x) where v=$x")
    if singly:
        session = program.start(engine=engine)
        found = [made for event in events for made in session.feed(event)]
    else:
        found = program.detect(events, engine=engine).to_events()
    assert len(_values(found, "e")) == 2
    assert _values(found, "T") == [[5]]


@pytest.mark.parametrize("engine", ENGINES)
def test_integers_stand_for_doubles_across_families(engine: str) -> None:
    program = _together("e(H) <- a(H). e(H) <- b(H).", "define T(v: double) from e(arg1=$x) where v=$x")
    found = program.detect([_event("a", 1, 2), _event("b", 2, 2.5)], engine=engine).to_events()
    assert [(value, type(value)) for (value,) in _values(found, "T")] == [(2.0, float), (2.5, float)]
    session = program.start(engine=engine)
    later = program.start(snapshot=session.snapshot())
    assert _values(later.feed(_event("a", 1, 2)), "T") == [[2.0]]


@pytest.mark.parametrize("engine", INTERVALS)
def test_a_declared_head_has_no_values_of_another_type(engine: str) -> None:
    with pytest.raises(RuleError, match=r"'x' of e is a double .*, b is a string"):
        cepheus.compile("event e(x: double). event c(x: int). e(b) <- c(_).")
    program = cepheus.compile("event e(x: double). event a(x: list). e(H) <- a([H|_]).")
    found = program.detect([_event("a", 1, ["s"]), _event("a", 2, [5])], engine=engine)
    assert _values(found.to_events(), "e") == [[5.0]]


@pytest.mark.parametrize("engine", INTERVALS)
def test_a_subscription_does_not_change_events(engine: str) -> None:
    heard: list[Event] = []
    session = cepheus.compile("e(X) <- a(X, _).").start(engine=engine)
    session.subscribe("a(arg1=1)", heard.append)
    session.subscribe("a(arg2='x')", heard.append)
    assert _values(session.feed(_event("a", 1, LARGE, [1, 2])), "e") == [[LARGE]]
    assert _values(session.feed(_event("a", 2, 1, [1, 2])), "e") == [[1]]
    assert [event.time for event in heard] == [2]


def test_events_may_lack_what_only_a_subscription_reads() -> None:
    heard: list[Event] = []
    session = cepheus.compile("define Fire() from Smoke()").start()
    session.subscribe("Smoke(area='A1')", heard.append)
    assert len(session.feed({"type": "Smoke", "time": 1})) == 1
    assert len(session.feed({"type": "Smoke", "time": 2, "area": "A1"})) == 1
    assert [event.time for event in heard] == [2]
