"""The goals engine against the reference: recorded cases, generated rules and streams, any way of feeding them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

import pytest
from interval_runs import AS_RECORDED, Found, checked, deployed, event, found, in_order, model, run, run_batches, stream
from test_recorded_cases import NAMES, _case

from cepheus.core.batch import EventBatch
from cepheus.core.errors import RuleError
from cepheus.core.event import Event
from cepheus.core.schema import Schema
from cepheus.core.time import MAX_TIME
from cepheus.engine.base.interface import Engine
from cepheus.engine.goals.engine import GoalsEngine
from cepheus.engine.reference.interval_engine import IntervalReferenceEngine
from cepheus.rules.check import Checked
from cepheus.rules.interval.model import IntervalRule
from strategies.interval_programs import POLICIES, events, pairs_of_values, program, program_over_one_type


def _generated(seed: int, policy: str) -> Checked | None:
    try:
        return checked(program(seed), policy)
    except RuleError as error:
        if all(finding.code == "unstratified" for finding in error.diagnostics):
            return None
        raise


def _stream(seed: int) -> list[Event]:
    return events(seed, 14 + seed % 20)


@pytest.mark.parametrize("policy", AS_RECORDED)
@pytest.mark.parametrize("name", NAMES)
def test_recorded_cases(name: str, policy: str) -> None:
    case = _case(name)
    rules = checked("\n".join(case["rules"]), AS_RECORDED[policy])
    assert in_order(run(rules, case["stream"], GoalsEngine())) == in_order(run(rules, case["stream"]))


@pytest.mark.parametrize("policy", POLICIES)
def test_generated_rules_give_what_the_reference_gives(policy: str) -> None:
    made = 0
    for seed in range(40):
        rules = _generated(seed, policy)
        if rules is not None:
            given = _stream(seed)
            expected, answer = run(rules, given), run(rules, given, GoalsEngine())
            if policy == "unrestricted":
                expected, answer = in_order(expected), in_order(answer)
            assert answer == expected, f"seed {seed}:\n{program(seed)}"
            made += bool(answer)
    assert made > 12


@pytest.mark.parametrize("policy", ["unrestricted", "recent", "recent, once, renewing", "chronological"])
def test_batches_and_snapshots_do_not_matter(policy: str) -> None:
    for seed in range(100, 125):
        rules = _generated(seed, policy)
        if rules is None:
            continue
        given = _stream(seed)
        expected = run(rules, given, GoalsEngine())
        random = Random(seed)
        cuts = sorted(random.sample(range(len(given) + 1), 3))
        parts = [given[start:end] for start, end in zip([0, *cuts], [*cuts, len(given)], strict=True)]
        assert run_batches(rules, parts, GoalsEngine()) == expected, f"seed {seed}"
        engine = deployed(rules, GoalsEngine())
        made: list[Found] = []
        for each in given:
            made += map(found, engine.feed_event(each))
            if random.random() < 0.3:
                other = GoalsEngine()
                other.restore(engine.snapshot())
                engine = other
        assert [*made, *map(found, engine.advance(MAX_TIME).to_events())] == expected, f"seed {seed}"


@pytest.mark.parametrize("policy", ["recent", "recent, once", "chronological", "chronological, longer"])
def test_ids_and_parts_are_those_of_the_reference(policy: str) -> None:
    for seed in range(200, 220):
        rules = _generated(seed, policy)
        if rules is not None:
            batch = EventBatch.from_events(_stream(seed))
            answers = [deployed(rules, engine).feed(batch).to_events() for engine in (None, GoalsEngine())]
            reference, goals = ([(e.type, e.id, e.made_of, e.rule) for e in answer] for answer in answers)
            assert goals == reference, f"seed {seed}:\n{program(seed)}"


def _made(rules: Checked, given: Sequence[Event], engine: Engine) -> list[tuple[object, ...]]:
    """Give all that is told of complex events, in their order: what they are, and what they were made of."""
    running = deployed(rules, engine)
    made = [composite for each in given for composite in running.feed_event(each)]
    made += running.advance(MAX_TIME).to_events()
    return [(*found(composite), composite.id, composite.made_of, composite.rule) for composite in made]


def _differences_over_one_type(seeds: Iterable[int]) -> list[int]:
    wrong = []
    for seed in seeds:
        rules, given = checked(program_over_one_type(seed)), pairs_of_values(seed, 12 + seed % 12)
        if _made(rules, given, GoalsEngine()) != _made(rules, given, IntervalReferenceEngine()):
            wrong.append(seed)
    return wrong


def test_one_type_on_both_sides_of_an_operator() -> None:
    assert _differences_over_one_type(range(150)) == []


@pytest.mark.slow
def test_many_rules_with_one_type_on_both_sides() -> None:
    assert _differences_over_one_type(range(10_000, 16_000)) == []


def test_pairs_that_one_event_completes_on_both_sides_come_in_the_order_in_which_they_arise() -> None:
    rules = checked(
        """
        q(Z, X) <- (a(_, Z) AND a(X, Z)).20.
        r(Z) <- (q(Z, _) SEQ c(Z)).50 POLICY recent.
        """
    )
    for engine in (IntervalReferenceEngine(), GoalsEngine()):
        assert run(rules, stream("a(1,0)@10 a(1,0)@12 c(0)@13"), engine) == [
            ("q", (0, 1), 10, 10),
            ("q", (0, 1), 10, 12),
            ("q", (0, 1), 12, 12),
            ("r", (0,), 12, 13),
        ]


def test_what_repeats_an_equal_match_is_no_part_of_the_answer() -> None:
    rules = checked("q(Y) <- b(_, Y) AND b(1, Y).")
    for engine in (IntervalReferenceEngine(), GoalsEngine()):
        made = deployed(rules, engine).feed(EventBatch.from_events(stream("b(2,2)@9 b(1,2)@9"))).to_events()
        assert [composite.made_of for composite in made] == [(0, 1)]


@pytest.mark.parametrize("engine", [IntervalReferenceEngine, GoalsEngine])
def test_closing_delimiters_from_the_shortest_to_the_longest_give_the_model(engine: type[Engine]) -> None:
    """Of those from outside that end together, a longer one would else be decided without a shorter one."""
    made = 0
    for seed in range(100):
        random = Random(seed)
        first, second, negated = (random.choice(["a(X)", "b(X)", "(a(X) OR c(X))"]) for _ in range(3))
        rules = checked(f"p(X) <- NOT({negated}).[{first}, {second}].")
        given = sorted(events(seed, 16, span=6), key=lambda each: (each.time, -(each.start or 0)))
        expected = in_order(model(rules, given))
        assert in_order(run(rules, given, engine())) == expected, f"seed {seed}"
        made += bool(expected)
    assert made > 50


_LARGE = 2**53 + 1  # no double has this value


@pytest.mark.parametrize("in_batches", [False, True])
@pytest.mark.parametrize("engine", [IntervalReferenceEngine, GoalsEngine])
@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        ("p(Z) <- a(Z). s(Z) <- b(Z).", {"a": _LARGE, "b": 1.5}, [("p", _LARGE), ("s", 1.5)]),
        ("q(1) <- 0. q(X) <- b(X).", {"b": 2.5}, [("q", 1), ("q", 2.5)]),
        ("q(X) <- a(X) OR b(X).", {"a": _LARGE, "b": 1.5}, [("q", _LARGE), ("q", 1.5)]),
        ("event b(arg1: double). q(1) <- 0. q(X) <- b(X).", {"b": 2.5}, [("q", 1.0), ("q", 2.5)]),
    ],
)
def test_an_integer_stays_one_unless_rules_tell_that_its_place_is_of_doubles(
    text: str, given: dict[str, float], expected: list[tuple[str, float]], engine: type[Engine], in_batches: bool
) -> None:
    rules = checked(text)
    events_given = [event(name, [value], time, time) for time, (name, value) in enumerate(given.items(), 1)]
    made = run_batches(rules, [events_given], engine()) if in_batches else run(rules, events_given, engine())
    assert [(name, repr(value)) for name, (value,), _, _ in made] == [(name, repr(value)) for name, value in expected]


@pytest.mark.parametrize("policy", ["unrestricted", "recent", "chronological"])
def test_a_variable_without_a_value_gets_each_of_a_list(policy: str) -> None:
    rules = checked(
        """
        p(X, Y) <- a(X) WHERE Y in [1, 2, 1.0, 5], Y != X.
        near(X) :- X in [2, 3].
        r(X) <- (a(X) SEQ b(X)).5 WHERE near(X).
        """,
        policy,
    )
    given = stream("a(1)@1 b(2)@2 a(2)@3 b(2)@4")
    expected = run(rules, given)
    assert [each for each in expected if each[0] == "p"] == [
        ("p", (1, 2), 1, 1),
        ("p", (1, 5), 1, 1),
        ("p", (2, 1), 3, 3),
        ("p", (2, 5), 3, 3),
    ]
    assert [each for each in expected if each[0] == "r"] == [("r", (2,), 3, 4)]
    assert run(rules, given, GoalsEngine()) == expected


_OF_NUMBERS = (
    "X / 2 > 1",
    "X * 2 > 1",
    "X + 1 > 0",
    "-X < 1",
    "X - X = 0",
    "abs(X) > 0",
    "sqrt(X) > 0",
    "mod(X, 2) = 1",
)
_OF_MANY_NUMBERS = ("SUM(X, b(X) WITHIN 5) > 0", "AVG(X, b(X) WITHIN 5) > 0", "SUM(X + 0, b(X) WITHIN 5) != 0")
_OF_ORDERED = ("MIN(X, b(X) WITHIN 5) = X", "MAX(X, b(X) WITHIN 5) = X")


@pytest.mark.parametrize("condition", [*_OF_NUMBERS, *_OF_MANY_NUMBERS, *_OF_ORDERED, "year(X) = 1970"])
def test_what_has_no_value_does_not_hold(condition: str) -> None:
    rules = checked(f"p(X) <- b(X) WHERE {condition}.")
    for value in (3, "3", "x", True, False):
        expected: list[Found] = [("p", (3,), 1, 1)] if value == 3 else []
        if condition in _OF_ORDERED and isinstance(value, str):
            expected = [("p", (value,), 1, 1)]
        for engine in (IntervalReferenceEngine(), GoalsEngine()):
            assert run(rules, [event("b", [value], 1, 1)], engine) == expected, value


@pytest.mark.parametrize(("fact", "holds"), [("k(2, 2).", True), ("k(1, 2).", False)])
def test_a_condition_over_no_variable_of_the_pattern(fact: str, holds: bool) -> None:
    rules = checked(f"{fact} p(Z) <- b(Z) WHERE NOT (k(Y, X) AND X != Y).")
    for engine in (IntervalReferenceEngine(), GoalsEngine()):
        assert bool(run(rules, stream("b(1)@1"), engine)) is holds


Change = tuple[str, IntervalRule]
"""A rule that comes or goes."""


def _changes(seed: int, rules: Sequence[IntervalRule], count: int) -> tuple[list[IntervalRule], dict[int, Change]]:
    """Give the rules that are there from the beginning, and what comes or goes before which events."""
    random = Random(seed)
    running = [rule for rule in rules if random.random() < 0.5]
    first = list(running)
    changes: dict[int, Change] = {}
    for place in range(count):
        if random.random() < 0.25:
            rule = random.choice(rules)
            changes[place] = ("withdraw" if rule in running else "deploy", rule)
            running = [each for each in running if each is not rule] if rule in running else [*running, rule]
    return first, changes


def _run_with_changes(engine: Engine, rules: Checked, seed: int, given: Sequence[Event]) -> list[tuple[int, Found]]:
    schema = Schema({**rules.composites, **rules.inputs}.values())
    first, changes = _changes(seed, rules.rules.interval_rules, len(given))
    engine.deploy(first, schema)
    made: list[tuple[int, Found]] = []
    for place, each in enumerate(given):
        if place in changes:
            change, rule = changes[place]
            if change == "deploy":
                engine.deploy([rule], schema)
            else:
                engine.withdraw(str(rule.name))
        made += [(place, found(composite)) for composite in engine.feed_event(each)]
    return [*made, *((len(given), found(composite)) for composite in engine.advance(MAX_TIME).to_events())]


def _differences_with_changes(seeds: Iterable[int], policy: str) -> list[int]:
    wrong = []
    for seed in seeds:
        rules = _generated(seed, policy)
        if rules is not None:
            expected, answer = (
                _run_with_changes(engine, rules, seed, _stream(seed))
                for engine in (IntervalReferenceEngine(), GoalsEngine())
            )
            if policy == "unrestricted":
                expected, answer = sorted(expected, key=str), sorted(answer, key=str)
            if answer != expected:
                wrong.append(seed)
    return wrong


@pytest.mark.parametrize("policy", ["unrestricted", "recent", "chronological, renewing"])
def test_rules_may_come_and_go_at_any_moment(policy: str) -> None:
    assert _differences_with_changes(range(300, 330), policy) == []


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_many_rules_that_come_and_go(policy: str) -> None:
    assert _differences_with_changes(range(500), policy) == []


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_many_generated_rules(policy: str) -> None:
    for seed in range(1_000, 2_500):
        rules = _generated(seed, policy)
        if rules is not None:
            given = _stream(seed)
            assert in_order(run(rules, given, GoalsEngine())) == in_order(run(rules, given)), f"seed {seed}"
