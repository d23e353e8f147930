"""The reference engine against Figure 2, and that it does not matter how it is fed."""

from __future__ import annotations

from random import Random

import pytest
from interval_runs import Found, checked, deployed, found, in_order, model, run, run_batches, stream

from cepheus.core.batch import EventBatch
from cepheus.core.errors import LimitError, OptionError, RuleError, SnapshotError
from cepheus.core.event import Event
from cepheus.core.schema import Schema
from cepheus.core.time import MAX_TIME, SECOND
from cepheus.engine.base.interface import Engine
from cepheus.engine.goals.engine import GoalsEngine
from cepheus.engine.reference.interval_engine import IntervalReferenceEngine
from cepheus.rules.check import Checked
from strategies.interval_programs import POLICIES, events, program


def _checked(seed: int, policy: str = "unrestricted") -> Checked | None:
    try:
        return checked(program(seed), policy)
    except RuleError as error:
        if all(finding.code == "unstratified" for finding in error.diagnostics):
            return None  # some generated rules look at all of what they make themselves
        raise


@pytest.mark.parametrize("block", range(4))
def test_unrestricted_is_figure_2(block: int) -> None:
    made = 0
    for seed in range(100 * block, 100 * (block + 1)):
        rules = _checked(seed)
        if rules is not None:
            given = events(seed, 12)
            answer = run(rules, given)
            assert in_order(answer) == in_order(model(rules, given)), f"seed {seed}:\n{program(seed)}"
            made += bool(answer)
    assert made > 30


@pytest.mark.parametrize("policy", POLICIES)
def test_batches_and_snapshots_do_not_matter(policy: str) -> None:
    for seed in range(40):
        rules = _checked(seed, policy)
        if rules is None:
            continue
        given = events(seed, 14)
        expected = run(rules, given)
        cuts = sorted(Random(seed).sample(range(15), 3))
        parts = [given[start:end] for start, end in zip([0, *cuts], [*cuts, 14], strict=True)]
        assert run_batches(rules, parts) == expected
        first, second = deployed(rules), IntervalReferenceEngine()
        made: list[Found] = [found(each) for event in given[: cuts[1]] for each in first.feed_event(event)]
        second.restore(first.snapshot())
        made += [found(each) for event in given[cuts[1] :] for each in second.feed_event(event)]
        assert [*made, *map(found, second.advance(MAX_TIME).to_events())] == expected


@pytest.mark.parametrize("policy", POLICIES)
def test_a_restricting_policy_gives_part_of_the_model(policy: str) -> None:
    """Where there is no negation, what a policy finds is true; a negation may see less and so find more."""
    for seed in range(60):
        text = program(seed, extensions=False)
        if "NOT" not in text:
            given = events(seed, 12)
            assert set(run(checked(text, policy), given)) <= set(run(checked(text), given)), f"seed {seed}"


def test_time_alone_completes_a_pattern() -> None:
    engine = deployed(checked("e(X) <- a(X) DURING (2 SEQ 6). late <- NOT(a(_)).[5, 8]."))
    fed = [made for event in stream("a(1)@[3,4] a(2)@[4,5]") for made in engine.feed_event(event)]
    assert fed == []
    assert [found(made) for made in engine.advance(6 * SECOND).to_events()] == [("e", (1,), 2, 6), ("e", (2,), 2, 6)]
    assert [found(made) for made in engine.advance(9 * SECOND).to_events()] == [("late", (), 5, 8)]


def test_what_needs_all_of_an_instant_is_decided_when_it_is_over() -> None:
    engine = deployed(checked("n(N) <- a(_) WHERE N = COUNT(a(_) WITHIN 2)."))
    first, second, later = stream("a(1)@5 a(2)@5 a(3)@7")
    assert engine.feed_event(first) == []
    assert engine.feed_event(second) == []
    assert [found(made) for made in engine.feed_event(later)] == [("n", (2,), 5, 5)]
    assert [found(made) for made in engine.advance(8 * SECOND).to_events()] == [("n", (3,), 7, 7)]


@pytest.mark.parametrize(
    ("function", "expected"),
    [("COUNT(t(_) WITHIN 3)", 3), ("SUM(V, t(V) WITHIN 3)", 12), ("AVG(V, t(V) WITHIN 3)", 4.0),
     ("MIN(V, t(V) WITHIN 3)", 2), ("MAX(V, t(V) WITHIN 3)", 6), ("SUM(V * 2, t(V) WITHIN 0)", 12)],
)  # fmt: skip
def test_aggregates_over_sliding_windows(function: str, expected: float) -> None:
    answer = run(checked(f"e(A) <- t(6) WHERE A = {function}."), stream("t(9)@1 t(2)@2 t(4)@3 t(6)@5"))
    assert answer == [("e", (expected,), 5, 5)]


def test_background_knowledge_and_guards() -> None:
    rules = checked(
        """
        road(a, b). road(b, c). closed(b).
        near(X, Y) :- road(X, Y).
        near(X, Z) :- near(X, Y), road(Y, Z), NOT closed(Z).
        jam(X, Y) <- (slow(X) AND slow(Y)).5 AND near(X, Y).
        lost(X) <- slow(X) WHERE NOT near(X, _), X in [c, d].
        """
    )
    assert in_order(run(rules, stream("slow(a)@1 slow(c)@2 slow(b)@3 slow(e)@4"))) == in_order(
        [("jam", ("a", "c"), 1, 2), ("lost", ("c",), 2, 2), ("jam", ("a", "b"), 1, 3), ("jam", ("b", "c"), 2, 3)]
    )


@pytest.mark.parametrize("engine", [IntervalReferenceEngine, GoalsEngine])
def test_onesided_keeps_an_event_from_waiting_while_another_waits_for_it(engine: type[Engine]) -> None:
    given = stream("a(1)@1 b(2)@9 a(3)@10")
    pair = "e(X, Y) <- (a(X) AND b(Y)).4."
    assert run(checked(pair, "recent, once"), given, engine()) == [("e", (3, 2), 9, 10)]
    assert run(checked(pair, "recent, once, onesided"), given, engine()) == []  # a(1) waits for ever
    apart = "e(X, Y) <- (a(X, Z) AND b(Y, Z)).4."
    given = stream("a(1,7)@1 b(2,8)@9 a(3,8)@10")
    assert run(checked(apart, "recent, once, onesided"), given, engine()) == [("e", (3, 2), 9, 10)]


@pytest.mark.parametrize("engine", [IntervalReferenceEngine, GoalsEngine])
def test_without_a_window_nothing_is_too_long_ago(engine: type[Engine]) -> None:
    first, last = -(2**62), 2**62
    made = deployed(checked("e <- a SEQ b.", "recent"), engine()).feed(
        EventBatch.from_events([Event("a", first, {}), Event("b", last, {})])
    )
    assert [(composite.start, composite.time) for composite in made.to_events()] == [(first, last)]


def test_one_event_per_instance_however_derived() -> None:
    rules = checked("e <- a(_). e <- a(1) OR a(2). f <- e SEQ e.")
    assert run(rules, stream("a(1)@1 a(2)@1 a(1)@2")) == [("e", (), 1, 1), ("e", (), 2, 2), ("f", (), 1, 2)]


def test_provenance_and_ids_are_those_of_the_instance() -> None:
    engine = deployed(checked("LABEL pairing: e(X) <- a(X) SEQ b(X)."))
    (made,) = [made for event in stream("a(1)@1 b(2)@2 b(1)@3") for made in engine.feed_event(event)]
    assert (made.rule, made.made_of, made.start, made.time) == ("pairing", (0, 2), SECOND, 3 * SECOND)
    assert str(made.id).startswith("e:")


def test_rules_come_and_go() -> None:
    engine = deployed(checked("e <- a(_) SEQ b(_)."))
    with pytest.raises(OptionError, match="already deployed"):
        deployed(checked("e <- a(_)."), engine)
    first, second, third = stream("a(1)@1 b(1)@2 b(1)@3")
    engine.feed_event(first)
    deployed(checked("f <- a(_) SEQ b(_)."), engine)
    assert [made.type for made in engine.feed_event(second)] == ["e"]
    engine.withdraw("e")
    assert engine.feed_event(third) == []
    with pytest.raises(OptionError, match="no rule named"):
        engine.withdraw("e")


def test_runaway_rules_are_stopped_by_the_limit() -> None:
    endless = checked("n(1) <- a(_). n(N) <- n(K) WHERE N is K + 1.")
    with pytest.raises(LimitError, match="more than 50 composite events"):
        run(endless, stream("a(1)@1"), IntervalReferenceEngine(50))
    hoarding = checked("e <- a(_) SEQ z(_).")
    with pytest.raises(LimitError, match="remembers more than 5"):
        run(hoarding, stream(" ".join(f"a({n})@{n}" for n in range(1, 9))), IntervalReferenceEngine(5))


@pytest.mark.parametrize("engine", [IntervalReferenceEngine, GoalsEngine])
def test_an_unrestricted_and_without_a_window_is_accepted_with_a_warning_and_held_by_a_limit(
    engine: type[IntervalReferenceEngine | GoalsEngine],
) -> None:
    rules = checked("e(X, Y) <- a(X) AND b(Y).")
    assert [warning.code for warning in rules.warnings] == ["unbounded-state"]
    with pytest.raises(LimitError, match="rule 'e' remembers more than 5"):
        run(rules, stream(" ".join(f"a({n})@{n}" for n in range(1, 9))), engine(5))


def test_a_damaged_snapshot_is_refused() -> None:
    data = deployed(checked("e <- a(_).")).snapshot()
    with pytest.raises(SnapshotError):
        IntervalReferenceEngine().restore(data[:-1])
    IntervalReferenceEngine().deploy([], Schema())
