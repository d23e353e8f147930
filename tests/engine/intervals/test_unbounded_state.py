"""The warning of unbounded state comes where what the engine keeps grows with the stream, and nowhere else."""

from __future__ import annotations

import random

import pytest
from interval_runs import checked, deployed, event

import cepheus
from cepheus.core.batch import EventBatch
from cepheus.core.errors import LimitError
from cepheus.engine.goals.engine import GoalsEngine

OPERATORS = ("SEQ", "AND", "PAR", "EQUALS", "MEETS", "DURING", "STARTS", "FINISHES", "OVERLAPS")
POLICIES = (
    "unrestricted",
    "recent",
    "recent, once",
    "chronological",
    "recent, renewing",
    "recent, shorter",
    "recent, onesided",
    "recent, once, renewing, onesided",
)
Record = dict[str, object]


def _kept(rule: str, count: int, types: str) -> int:
    """Give how much waits after events with few different values; of type a half are intervals, others are instants."""
    rng = random.Random(7)
    engine = GoalsEngine(sure_after=0)
    engine.take_for_instants()
    deployed(checked(rule), engine)
    events = []
    for time in range(10, 10 + count):
        name, lasts = rng.choice(types), rng.choice([0, 0, 0, 1, 3, 6])
        events.append(event(name, [rng.randrange(3)], time - lasts if name == "a" else time, time))
    engine.feed(EventBatch.from_events(events))
    return engine.waiting


def _warned(rule: str) -> bool:
    return "unbounded-state" in [warning.code for warning in checked(rule).warnings]


def _grows(rule: str, types: str = "aaab") -> bool:
    few, many = _kept(rule, 100, types), _kept(rule, 500, types)
    assert many < 15 or many > 2 * few, (few, many)
    return many >= 15


@pytest.mark.parametrize("policy", POLICIES)
def test_operators_without_a_window(policy: str) -> None:
    for operator in OPERATORS:
        rule = f"e <- a(X) {operator} b(X) POLICY {policy}."
        assert _warned(rule) == _grows(rule), rule


@pytest.mark.parametrize(
    ("rule", "types"),
    [
        ("e <- (a(X) SEQ b(X)).5 POLICY recent.", "ab"),
        ("e <- (a(X) AND b(X)).5 POLICY recent, onesided.", "aaab"),
        ("e <- a(X) AND b(Y) WHERE X > 0 POLICY recent.", "ab"),
        ("e <- (a(X) OR c(_)) AND b(X) POLICY recent.", "abc"),
        ("e <- (a(X) SEQ b(_)) DURING (c(X) SEQ c(_)) POLICY recent.", "abc"),
        ("e <- (a(X) SEQ b(X)).5 AND c(_) POLICY recent.", "abc"),
        ("e <- ((a(X) SEQ b(X)) EQUALS c(_)).5 POLICY recent, onesided.", "abc"),
        ("e <- a(X) SEQ b(Y) WHERE X < Y POLICY recent.", "ab"),
        ("e <- a(X) SEQ b(Y) WHERE X < Y, Y > 1 POLICY recent, greatest X.", "ab"),
        ("e <- a(X) SEQ b(Y) WHERE X < Y, X > 1 POLICY recent.", "ab"),
        ("e <- a(X) SEQ b(Y) WHERE X != Y POLICY recent.", "ab"),
        ("e <- a(X) SEQ b(Y) WHERE X < Y POLICY recent, once.", "aaab"),
        ("e <- a(X) SEQ b(Y) WHERE X < Y POLICY chronological.", "aaab"),
        ("e <- b(X) SEQ b(X) POLICY recent.", "b"),
        ("e <- a(X) SEQ b(X) SEQ c(X) POLICY recent.", "abc"),
        ("e <- a(X) SEQ (b(X) SEQ c(X)) POLICY recent.", "abc"),
        ("e <- (a(X) OR c(_)) SEQ b(X) POLICY recent.", "abc"),
        ("b(X) <- c(X). e <- a(X) SEQ b(X) POLICY recent.", "ac"),
        ("e <- 15 s SEQ b(_).", "ab"),
        ("e <- a(_) DURING (15 s SEQ 19 s).", "a"),
        ("e <- NOT(c(_)).[a(X), b(X)] POLICY recent.", "a"),
        ("e <- NOT(c(_)).[15 s, b(_)].", "abc"),
    ],
)
def test_other_patterns(rule: str, types: str) -> None:
    assert _warned(rule) == _grows(rule, types), rule


def test_points_do_not_wait_where_they_are_in_vain() -> None:
    points: list[Record] = [{"type": "a", "time": time, "args": [1]} for time in range(10)]
    for operator in ("PAR", "DURING", "OVERLAPS"):
        with cepheus.compile(f"e <- a(X) {operator} b(X).").start(engine="goals") as session:
            session.feed(points)
            assert session.goals() == []


def test_a_point_renews_what_waits_although_it_waits_in_vain() -> None:
    events: list[Record] = [
        {"type": "a", "time": 5, "start": 1, "args": [1]},
        {"type": "a", "time": 6, "args": [1]},
        {"type": "b", "time": 9, "start": 2, "args": [1]},
    ]
    program = cepheus.compile("e <- a(X) PAR b(X) POLICY recent, renewing.")
    goals, reference = (program.detect(events, engine=engine) for engine in ("goals", "interval-reference"))
    assert goals.to_dicts() == reference.to_dicts() == []


def _hint(rule: str) -> str | None:
    return next(w.hint for w in cepheus.compile(rule).warnings if w.code == "unbounded-state")


def test_hints_fit_the_rule() -> None:
    window = "write a window around the pattern, (p).20 min"
    assert _hint("e <- a AND b.") == f"{window}, or choose POLICY recent"
    assert _hint("e <- a SEQ b.") == f"{window}, or choose POLICY recent"
    assert _hint("e <- a SEQ (b SEQ c) POLICY recent.") == window


@pytest.mark.parametrize(
    ("rule", "hint"),
    [
        ("e <- (a(X) AND b(_)).1 h.", "narrow its windows, choose policy recent, or raise the limit"),
        ("e <- (a(X) SEQ b(_)).1 h POLICY chronological.", "narrow its windows, or raise the limit"),
        ("e <- (a(X) SEQ b(_)).1 s SEQ c(_).", "bound it with a window, (p).20 min, choose policy recent, or raise"),
        ("e <- a(X) SEQ b(_) POLICY recent.", "bound it with a window, (p).20 min, or raise the limit"),
        ("e <- (a(X) AND b(_)).1 h POLICY recent, onesided.", "narrow its windows, leave out onesided, or raise"),
    ],
)
@pytest.mark.parametrize("engine", ["goals", "interval-reference"])
def test_the_hint_at_the_limit_fits_the_rule(rule: str, hint: str, engine: str) -> None:
    events: list[Record] = [{"type": "a", "time": time, "args": [time]} for time in range(10)]
    with pytest.raises(LimitError) as caught:
        cepheus.compile(rule).detect(events, engine=engine, limit=5)
    assert caught.value.diagnostics[0].code == "too-much-state"
    assert (caught.value.diagnostics[0].hint or "").startswith(hint)
