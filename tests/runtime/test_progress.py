"""Goals that can be asked for by how far along they are, and subscribed to, each told once."""

from __future__ import annotations

import pytest

import cepheus
from cepheus.core.errors import OptionError, UnsupportedError
from cepheus.plan.interval.goal_texts import Goal

RULES = """
policy recent.
LABEL late: late(X) <- (ordered(X) SEQ paid(X) SEQ packed(X) SEQ shipped(X)).2 days.
LABEL other: other(X) <- (ordered(X) SEQ returned(X)).2 days.
"""
Record = dict[str, object]


def _events(*words: str) -> list[Record]:
    """Read ``ordered7``: events one microsecond apart, with a number each."""
    return [{"type": w.rstrip("0123456789"), "time": at, "args": [int(w[-1])]} for at, w in enumerate(words, 1)]


STREAM = _events("ordered1", "ordered2", "paid1", "packed1", "paid2", "shipped1", "packed2", "ordered3")


def test_progress_tells_the_nearest_to_completion_first() -> None:
    with cepheus.compile(RULES).start(engine="goals") as session:
        session.feed(STREAM)
        told = [(goal.rule, goal.fraction, goal.values["X"], goal.missing) for goal in session.progress(0.7)]
        assert told == [("late", 0.75, 1, "shipped(X)"), ("late", 0.75, 2, "shipped(X)")]
        fractions = [goal.fraction for goal in session.progress()]
        assert fractions == sorted(fractions, reverse=True)
        assert {goal.rule for goal in session.progress(rule="other")} == {"other"}
        assert [goal.end for goal in session.progress(0.75)] == [4, 7]  # since when they wait
        assert len(session.progress()) == len(session.goals())


@pytest.mark.parametrize("size", [1, 3, 100])
def test_each_goal_is_told_once_however_the_stream_is_cut(size: int) -> None:
    heard: list[Goal] = []
    with cepheus.compile(RULES).start(engine="goals") as session:
        session.on_progress(0.75, heard.append)
        for begin in range(0, len(STREAM), size):
            session.feed(STREAM[begin : begin + size])
    assert [(goal.rule, goal.values["X"], goal.end) for goal in heard] == [("late", 1, 4), ("late", 2, 7)]


def test_one_event_at_a_time_and_many_at_one_time() -> None:
    heard: list[Goal] = []
    with cepheus.compile("p(X) <- a(X) SEQ b(X) POLICY recent.").start(engine="goals") as session:
        session.on_progress(0.5, heard.append)
        for value in (1, 2, 1, 3):
            session.feed({"type": "a", "time": 5, "args": [value]})
        session.feed({"type": "a", "time": 6, "args": [1]})
    assert [(goal.values["X"], goal.end) for goal in heard] == [(1, 5), (2, 5), (3, 5), (1, 6)]


def test_a_rule_of_its_own_and_cancelling() -> None:
    late: list[Goal] = []
    half: list[Goal] = []
    with cepheus.compile(RULES).start(engine="goals") as session:
        first = session.on_progress(0.5, half.append)
        session.on_progress(0.5, late.append, rule="late")
        session.feed(STREAM[:3])
        first.cancel()
        first.cancel()
        session.feed(STREAM[3:])
    assert [(goal.rule, goal.fraction) for goal in half] == [("other", 0.5), ("other", 0.5), ("late", 0.5)]
    assert [(goal.values["X"], goal.fraction) for goal in late] == [(1, 0.5), (1, 0.75), (2, 0.5), (2, 0.75)]


def test_what_waits_already_is_not_told_of() -> None:
    heard: list[Goal] = []
    with cepheus.compile(RULES).start(engine="goals") as session:
        session.feed(STREAM[:4])
        session.on_progress(0.9, lambda _: None)
        session.on_progress(0.75, heard.append)
        session.feed(STREAM[4:])
    assert [goal.values["X"] for goal in heard] == [2]


def test_answers_are_the_same_with_a_subscription() -> None:
    program = cepheus.compile(RULES)
    expected = program.detect(STREAM, engine="goals").to_dicts()
    with program.start(engine="goals") as session:
        session.on_progress(0.1, lambda _: None)
        assert session.feed(STREAM).to_dicts() == expected


def test_snapshots_do_not_tell_again() -> None:
    heard: list[Goal] = []
    program = cepheus.compile(RULES)
    session = program.start(engine="goals")
    session.feed(STREAM[:4])
    other = program.start(engine="goals")
    other.on_progress(0.5, heard.append, rule="late")
    other.restore(session.snapshot())
    other.feed(STREAM[4:])
    assert [(goal.values["X"], goal.fraction) for goal in heard] == [(2, 0.5), (2, 0.75)]


def test_goals_that_are_decided_when_their_instant_is_over() -> None:
    heard: list[Goal] = []
    rules = "n(X, N) <- a(X) WHERE N = COUNT(a(X) WITHIN 1 s). p(X) <- n(X, 2) SEQ b(X) POLICY recent."
    with cepheus.compile(rules).start(engine="goals", time_unit="s") as session:
        session.on_progress(0.5, heard.append)
        session.feed([{"type": "a", "time": time, "args": [1]} for time in (1, 2)])
        assert heard == []
        session.advance(3)
    assert [(goal.rule, goal.end) for goal in heard] == [("p", 2_000_000)]


def test_mistakes() -> None:
    with cepheus.compile(RULES).start(engine="goals") as session:
        for wrong in (1.5, -0.1, True, "90%"):
            with pytest.raises(OptionError, match="a fraction from 0 to 1"):
                session.on_progress(wrong, print)  # type: ignore[arg-type]
        with pytest.raises(OptionError, match="did you mean 'late'"):
            session.progress(rule="lat")
    with cepheus.compile(RULES).start(engine="interval-reference") as session, pytest.raises(UnsupportedError):
        session.on_progress(0.5, print)


def test_a_callback_that_raises_does_not_keep_others_from_being_called() -> None:
    heard: list[Goal] = []

    def fail(_: Goal) -> None:
        raise ValueError("no")

    session = cepheus.compile(RULES).start(engine="goals")
    session.on_progress(0.75, fail)
    session.on_progress(0.75, heard.append)
    with pytest.raises(ValueError, match="no"):
        session.feed(STREAM)
    assert len(heard) == 2
