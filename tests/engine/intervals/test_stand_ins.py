"""Goals that no instant can prefer to later ones are let go, and no answer changes by that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from interval_runs import checked, deployed, event, found, run

import cepheus
from cepheus.core.batch import EventBatch
from cepheus.core.errors import LimitError
from cepheus.core.event import Event
from cepheus.core.time import MAX_TIME
from cepheus.engine.goals.engine import GoalsEngine
from strategies.interval_programs import events, pairs_of_values, program_over_one_type

POLICIES = ("recent", "recent, shorter", "recent, longer", "recent, greatest Y", "recent, least Y")
CONDITIONS = ("", "P < Q", "P >= 2 * Q", "Q > 1", "P + 1 <= Q, Q > 1", "Q - P > 1", "P < Q < 9", "P != Q", "P > 1")


def _trusting(sure_after: int = 0) -> GoalsEngine:
    engine = GoalsEngine(sure_after=sure_after)
    engine.take_for_instants()
    return engine


def _rules(random: Random) -> str:
    """Write rules whose goals may stand in for one another, with more operators around some of them."""
    left, right = random.choice("ab"), random.choice("abc")
    key = random.choice(("X", "_"))
    condition = random.choice(CONDITIONS)
    where = f" WHERE {condition}" if condition else ""
    shown = "X" if key == "X" else "P"
    rules = [
        f"p({shown}, Q) <- ({left}({key}, P, Y) SEQ {right}({key}, Q, _)){where} POLICY {random.choice(POLICIES)}."
    ]
    rules.append(f"q(Q) <- ({left}(_, _, _) SEQ p(_, Q)) POLICY recent.")
    more = random.choice(("SEQ c(_, Q, _)", "AND c(X, _, _)", "SEQ (c(X, _, _) WHERE X > 1)"))
    rules.append(f"r(X) <- (({left}(X, P, Y) SEQ {right}(X, Q, _)){where}) {more} POLICY recent.")
    return "\n".join(rules)


def _instants(random: Random, count: int) -> list[Event]:
    """Make a stream of instants with few different values, many of them at one time."""
    time, made = 1, []
    for place in range(count):
        time += random.choice((0, 0, 1, 1, 2))
        values = (
            random.randint(1, 2),
            random.choice((1, 2, 3, 4, 2.5, 2**53 + random.randint(0, 2))),
            random.randint(1, 3),
        )
        made.append(event(random.choice("aabbc"), values, time, time, place))
    return made


def test_answers_are_those_of_the_reference() -> None:
    fewer = 0
    for seed in range(150):
        random = Random(seed)
        rules, given = checked(_rules(random)), _instants(random, 60)
        expected = run(rules, given)
        engine = deployed(rules, _trusting())
        made = [composite for each in given for composite in engine.feed_event(each)]
        made += engine.advance(MAX_TIME).to_events()
        assert [found(composite) for composite in made] == expected, f"seed {seed}"
        keeping = deployed(rules, GoalsEngine())
        keeping.feed(EventBatch.from_events(given))
        assert isinstance(engine, GoalsEngine)
        assert isinstance(keeping, GoalsEngine)
        fewer += engine.waiting < keeping.waiting
    assert fewer > 90


def test_answers_in_batches_with_events_that_last() -> None:
    """Where some events of a batch last, nothing is let go that they need."""
    for seed in range(60):
        rules = checked(program_over_one_type(seed))
        given = pairs_of_values(seed, 20)
        batch = EventBatch.from_events(given)
        answers = [deployed(rules, engine).feed(batch).to_events() for engine in (_trusting(), GoalsEngine())]
        assert [*map(found, answers[0])] == [*map(found, answers[1])], f"seed {seed}"


def test_events_that_last_are_refused_or_make_no_difference() -> None:
    """One event after the other: whenever an answer is given, it is that of the reference."""
    refused = 0
    for seed in range(120):
        rules = checked("p(X) <- a(X) SEQ b(X) POLICY recent. q(X, Y) <- a(X) SEQ c(Y) WHERE X < Y POLICY recent.")
        given = [each if seed % 3 else replace(each, start=each.time) for each in events(seed, 30)]
        expected = run(rules, given)
        try:
            answer = run(rules, given, _trusting())
        except LimitError:
            refused += 1
        else:
            assert answer == expected, f"seed {seed}"
    assert 0 < refused <= 80


def test_few_goals_are_kept_however_long_the_stream() -> None:
    engine = deployed(checked("p(X, Y) <- a(X) SEQ b(Y) WHERE X < Y POLICY recent."), _trusting(sure_after=100))
    assert isinstance(engine, GoalsEngine)
    random = Random(5)
    for begin in range(0, 20_000, 5_000):
        given = [event("a", [random.randint(1, 50)], time, time) for time in range(begin, begin + 5_000)]
        engine.feed(EventBatch.from_events(given))
        assert engine.waiting <= 152


def test_a_session_lets_goals_go_unless_starts_are_named() -> None:
    rules = "p(X) <- a(X) SEQ b(X) POLICY recent."
    ticks = [{"type": "a", "time": time, "args": [time % 2]} for time in range(5_000)]
    lasting = {"type": "b", "time": 6_000, "start": 10, "args": [1]}
    with cepheus.compile(rules).start(engine="goals", start="start") as session:
        session.feed(ticks)
        assert len(session.goals()) == 5_000
        (made,) = session.feed(lasting)
        assert made.start == 9
    session = cepheus.compile(rules).start(engine="goals")
    session.feed(ticks)
    assert len(session.goals()) < 1_100
    with pytest.raises(LimitError, match="name the column of starts") as caught:
        session.feed(lasting)
    assert caught.value.diagnostics[0].code == "forgotten-goals"


def test_an_event_that_lasts_but_starts_late_enough_is_no_error() -> None:
    session = cepheus.compile("p(X) <- a(X) SEQ b(X) POLICY recent.").start(engine="goals")
    session.feed([{"type": "a", "time": time, "args": [1]} for time in range(3_000)])
    (made,) = session.feed({"type": "b", "time": 4_000, "start": 3_000, "args": [1]})
    assert made.start == 2_999
    session.feed([{"type": "a", "time": time, "args": [1]} for time in range(4_001, 8_000)])
    assert len(session.goals()) > 3_999  # from then on everything is kept
    (made,) = session.feed({"type": "b", "time": 9_000, "start": 5_000, "args": [1]})
    assert made.start == 4_999


def test_snapshots_know_what_was_let_go() -> None:
    program = cepheus.compile("p(X) <- a(X) SEQ b(X) POLICY recent.")
    session = program.start(engine="goals")
    session.feed([{"type": "a", "time": time, "args": [1]} for time in range(3_000)])
    other = program.start(engine="goals", snapshot=session.snapshot())
    assert len(other.goals()) == len(session.goals())
    with pytest.raises(LimitError):
        other.feed({"type": "b", "time": 4_000, "start": 10, "args": [1]})


def test_what_a_rule_makes_is_not_taken_for_instants() -> None:
    rules = "b(X) <- c(X) SEQ d(X) POLICY recent. p(X) <- a(X) SEQ b(X) POLICY recent."
    given = [event("a", [1], 1, 1), event("c", [1], 2, 2), *(event("a", [1], time, time) for time in range(3, 9))]
    given.append(event("d", [1], 9, 9))
    expected = [("b", (1,), 2, 9), ("p", (1,), 1, 9)]
    assert run(checked(rules), given, _trusting()) == run(checked(rules), given) == expected


def test_composite_events_of_tesla_are_not_taken_for_instants(tmp_path: Path) -> None:
    (tmp_path / "fire.tesla").write_text("define Fire() from B() and last A() within 1 h from B")
    (tmp_path / "then.etalis").write_text("p(X) <- t(X) SEQ Fire() POLICY recent.")
    program = cepheus.compile([tmp_path / "fire.tesla", tmp_path / "then.etalis"])
    ticks = [{"type": "t", "time": time, "args": [time]} for time in range(3_000)]
    with program.start(time_unit="s") as session:
        session.feed([*ticks[:2_000], {"type": "A", "time": 2_000}, *ticks[2_000:]])
        made = session.feed({"type": "B", "time": 3_001})
    assert [(each.type, each.start) for each in made] == [("Fire", 2_000_000_000), ("p", 1_999_000_000)]
