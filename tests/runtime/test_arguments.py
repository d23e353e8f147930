"""Arguments of events for ETALIS rules: what is refused and how, values that are missing or of different types."""

from __future__ import annotations

from typing import Any

import pytest

import cepheus
from cepheus.core.errors import EventError, OptionError

ENGINES = ("goals", "interval-reference")


def _a(*arguments: object) -> dict[str, Any]:
    return {"type": "a", "time": 1, "args": list(arguments)}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_finite_number_is_told_alike(value: float) -> None:
    program = cepheus.compile("e(X) <- a(X).")
    with pytest.raises(EventError, match=rf"event:1: error\[number\]: a.arg1: {value} is not a finite number"):
        program.detect([_a(value)], engine="interval-reference")


def test_a_tuple_is_a_list_of_arguments() -> None:
    program = cepheus.compile("e(X, Y) <- a(X, Y).")
    (found,) = program.detect([{"type": "a", "time": 1, "args": (1, "x")}], engine="interval-reference").to_events()
    assert dict(found.attributes) == {"arg1": 1, "arg2": "x"}


def test_arguments_may_not_contradict_attributes() -> None:
    program = cepheus.compile("e(X) <- a(X).")
    assert len(program.detect([{**_a(1), "arg1": 1}, {**_a(2), "arg1": None}], engine="interval-reference")) == 2
    with pytest.raises(EventError, match="'arg1' is 2 by its name and 1 among the arguments"):
        program.detect([{**_a(1), "arg1": 2}], engine="interval-reference")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("condition", "holds"),
    [("X != Y", 0), ("X = Y", 0), ("X < Y", 0), ("X >= Y", 0), ("NOT X = Y", 1), ("NOT X < Y", 1)],
)
def test_no_comparison_holds_between_values_of_different_types(engine: str, condition: str, holds: int) -> None:
    program = cepheus.compile(f"e <- a(X, Y) WHERE {condition}.")
    for other in ("q", True, [5]):
        assert len(program.detect([_a(5, other)], engine=engine)) == holds


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("rule", "count"),
    [
        ("e <- a(_).", 1),
        ("e <- a(X).", 0),
        ("e <- a(X) WHERE NOT X = 1.", 0),
        ("e <- (NOT(b(Y)).[a(_), c]).9 s.", 1),
        ("e <- (NOT(b(_)).[a(_), c]).9 s.", 0),
        ("e <- c WHERE 1 = COUNT(b(_) WITHIN 9 s).", 1),
        ("e <- c WHERE 0 = COUNT(b(Y) WITHIN 9 s).", 1),
    ],
)
def test_values_that_are_missing(engine: str, rule: str, count: int) -> None:
    program = cepheus.compile(f"event a(x: int?). event b(y: int?). event c(). {rule}")
    events: list[dict[str, Any]] = [
        {"type": "a", "time": 1, "args": [None]},
        {"type": "b", "time": 2},
        {"type": "c", "time": 3},
    ]
    assert len(program.detect(events, engine=engine)) == count


def test_a_type_that_values_have_settled_must_be_declared_before_the_session() -> None:
    with cepheus.compile("e(X) <- a(X).").start(engine="interval-reference") as session:
        session.feed([_a(1)])
        with pytest.raises(EventError, match=r"before the session starts: event a\(arg1: \.\.\)"):
            session.feed([_a("x")])


def test_goals_of_a_rule_that_is_not_there() -> None:
    with cepheus.compile("late(X) <- (a(X) SEQ b(X)).5 s.").start(engine="goals") as session:
        assert session.goals("late") == []
        with pytest.raises(OptionError, match=r"(?s)no rule named 'lat' is deployed.*did you mean 'late'\?"):
            session.goals("lat")
