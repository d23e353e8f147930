"""Integers beyond 2^53 and doubles: compared as doubles, told apart by their exact worth, alike in all engines."""

from __future__ import annotations

import pytest
from interval_runs import Found, checked, event, in_order, model, run

from cepheus.core.errors import RuleError
from cepheus.core.event import Event
from cepheus.engine.base.interface import Engine
from cepheus.engine.goals.engine import GoalsEngine
from cepheus.engine.reference.interval_engine import IntervalReferenceEngine
from strategies.interval_programs import POLICIES, events, pairs_of_values, program, program_over_one_type
from strategies.large_numbers import LARGE, among_large_numbers, with_large_numbers

BOTH: tuple[type[Engine], ...] = (IntervalReferenceEngine, GoalsEngine)
DOUBLE = float(LARGE)
ODD = LARGE + 1  # as a double it is DOUBLE


def _shown(found: list[Found]) -> list[tuple[str, str, int, int]]:
    """Give complex events with values that are of the same type to be equal."""
    return [(name, repr(values), start, end) for name, values, start, end in found]


def _differences(text: str, policy: str, given: list[Event]) -> bool:
    rules = checked(text, policy)
    expected, answer = run(rules, given), run(rules, given, GoalsEngine())
    if policy == "unrestricted":
        expected, answer = in_order(expected), in_order(answer)
    return _shown(expected) != _shown(answer)


@pytest.mark.parametrize("policy", POLICIES)
def test_generated_rules_over_large_numbers(policy: str) -> None:
    texts = {seed: with_large_numbers(program(seed), seed) for seed in range(40)}
    ran = [seed for seed, text in texts.items() if _is_stratified(text, policy)]
    assert len(ran) > 30
    assert [seed for seed in ran if _differences(texts[seed], policy, _large(seed))] == []


def _is_stratified(text: str, policy: str) -> bool:
    try:
        checked(text, policy)
    except RuleError as error:
        return all(finding.code != "unstratified" for finding in error.diagnostics)
    return True


def test_generated_rules_over_one_type_and_large_numbers() -> None:
    given = {seed: among_large_numbers(pairs_of_values(seed, 12 + seed % 12), seed) for seed in range(100)}
    assert [seed for seed in given if _differences(program_over_one_type(seed), "recent", given[seed])] == []


def _large(seed: int) -> list[Event]:
    return among_large_numbers(events(seed, 14 + seed % 20), seed)


def _given(*arguments: tuple[str, float]) -> list[Event]:
    return [event(name, [value], time, time, time) for time, (name, value) in enumerate(arguments, 1)]


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        (f"p <- b(X) WHERE X = {ODD}.", True),
        (f"p <- b(X) WHERE X < {ODD}.", False),
        (f"p <- b({ODD}).", True),
        (f"p <- b(X) WHERE X in [1, {ODD}].", True),
        (f"p <- b(X) WHERE L = [1, {ODD}], X in L.", True),
        (f"p <- b(X) WHERE [X] = [{ODD}].", True),  # the list is taken apart
        (f"p <- b(X) WHERE L = [X], M = [{ODD}], L = M.", False),  # two lists have whole numbers
        (f"k({ODD}). p <- b(X) WHERE k(X).", True),
        (f"k({ODD}). p <- b(X) WHERE NOT k(X).", False),
        (f"k({ODD}, 5). p <- b(X) WHERE k(X, Y), Y = 5.", True),
        (f"p <- b(X) WHERE X + 1 = {ODD}.", True),
        ("p <- a(Y) SEQ b(X) WHERE Y <= X, X <= Y.", True),
        ("p <- a(X) SEQ b(X).", True),
        ("p <- NOT(b(X)).[a(X), a(X)].", False),
        ("p <- b(X) WHERE SUM(N, a(N) WITHIN 5) = X.", True),
    ],
)
@pytest.mark.parametrize("engine", BOTH)
def test_an_integer_and_a_double_are_compared_as_doubles(text: str, holds: bool, engine: type[Engine]) -> None:
    given = _given(("a", ODD), ("b", DOUBLE), ("a", ODD))
    assert bool(run(checked(text), given, engine())) is holds
    assert bool(model(checked(text), given)) is holds


@pytest.mark.parametrize("engine", BOTH)
def test_two_integers_are_never_compared_as_doubles(engine: type[Engine]) -> None:
    rules = checked("p(X) <- a(X) SEQ b(X). q <- a(X) SEQ b(Y) WHERE X < Y. r <- a(X) SEQ b(Y) WHERE X > Y.")
    assert run(rules, _given(("a", LARGE), ("b", ODD)), engine()) == [("q", (), 1, 2)]


@pytest.mark.parametrize("engine", BOTH)
def test_events_with_different_numbers_are_different_events(engine: type[Engine]) -> None:
    given = [event("a", [value], 1, 1, place) for place, value in enumerate((DOUBLE, ODD, LARGE))]
    rules = checked("p(X) <- a(X). q(N) <- a(X) WHERE N = COUNT(a(_) WITHIN 1).")
    assert _shown(in_order(run(rules, given, engine()))) == [
        ("p", f"({DOUBLE!r},)", 1, 1),  # which is LARGE, too
        ("p", f"({ODD},)", 1, 1),
        ("q", "(2,)", 1, 1),
    ]


@pytest.mark.parametrize("engine", BOTH)
def test_an_integer_does_not_renew_a_double_that_rounds_it(engine: type[Engine]) -> None:
    rules = checked("p(X) <- a(X) SEQ c.", "recent, once, renewing")
    given = [*_given(("a", DOUBLE), ("a", ODD)), event("c", [], 4, 4, 4), event("c", [], 5, 5, 5)]
    assert _shown(run(rules, given, engine())) == [("p", f"({ODD},)", 2, 4), ("p", f"({DOUBLE!r},)", 1, 5)]


@pytest.mark.parametrize("engine", BOTH)
def test_under_recent_an_integer_does_not_take_the_place_of_a_double(engine: type[Engine]) -> None:
    rules = checked("p(X) <- a(X) AND b(X).", "recent")
    assert _shown(run(rules, _given(("a", DOUBLE), ("a", LARGE), ("b", ODD)), engine())) == [
        ("p", f"({DOUBLE!r},)", 1, 3)
    ]


@pytest.mark.parametrize("engine", BOTH)
@pytest.mark.parametrize(("policy", "chosen"), [("greatest X", ODD), ("least X", LARGE)])
def test_the_preferred_value_is_found_to_the_last_digit(policy: str, chosen: int, engine: type[Engine]) -> None:
    rules = checked("p(X) <- a(X) SEQ c.", f"recent, once, {policy}")
    for values in ((LARGE, ODD), (ODD, LARGE)):
        given = [event("a", [value], 1, 1, place) for place, value in enumerate(values)]
        assert run(rules, [*given, event("c", [], 2, 2, 2)], engine()) == [("p", (chosen,), 1, 2)]


@pytest.mark.parametrize("engine", BOTH)
@pytest.mark.parametrize(
    ("values", "least", "greatest", "total", "mean"),
    [
        ((DOUBLE, ODD), DOUBLE, ODD, 2.0 * LARGE, DOUBLE),
        ((ODD, DOUBLE), DOUBLE, ODD, 2.0 * LARGE, DOUBLE),
        ((2**63 - 1, 2.0**63), 2**63 - 1, 2.0**63, 2.0**64, 2.0**63),
        ((ODD, ODD, ODD, 0.0), 0.0, ODD, float(3 * ODD), float(3 * ODD) / 4),  # 4 more than with each as a double
        ((ODD, ODD, 1e-300), 1e-300, ODD, 2.0 * LARGE + 4, (2.0 * LARGE + 4) / 3),  # up, by the smallest of them
    ],
)
def test_aggregates_of_integers_and_doubles_are_exact(
    values: tuple[float, ...], least: float, greatest: float, total: float, mean: float, engine: type[Engine]
) -> None:
    names = {"L": "MIN", "G": "MAX", "S": "SUM", "M": "AVG"}
    conditions = ", ".join(f"{name} = {function}(X, a(X) WITHIN 9)" for name, function in names.items())
    given = [event("a", [value], 1 + place, 1 + place, place) for place, value in enumerate(values)]
    ((_, answer, _, _),) = run(
        checked(f"p(L, G, S, M) <- c WHERE {conditions}."), [*given, event("c", [], 8, 8)], engine()
    )
    assert repr(answer) == repr((least, greatest, total, mean))


@pytest.mark.parametrize("engine", BOTH)
def test_of_2_and_2_0_at_one_time_the_least_is_the_one_that_starts_first(engine: type[Engine]) -> None:
    given = [event("a", [2.0], 2, 2, 0), event("a", [2], 1, 2, 1), event("c", [], 3, 3, 2)]
    for function in ("MIN", "MAX"):
        rules = checked(f"p(L) <- c WHERE L = {function}(X, a(X) WITHIN 9).")
        assert _shown(run(rules, given, engine())) == [("p", "(2,)", 3, 3)]


@pytest.mark.parametrize("engine", BOTH)
def test_conditions_see_a_number_of_either_type(engine: type[Engine]) -> None:
    """2 * 2^62 leaves the range of integers, 2.0 * 2^62 is a double: the pairs are two until WHERE has seen them."""
    rules = checked(f"p(X, Y) <- a(X) AND b(Y) WHERE Y * {2**62} > 0.")
    given = [event("b", [2], 3, 3, 0), event("b", [2.0], 1, 4, 1), event("a", [1], 1, 4, 2)]
    assert _shown(run(rules, given, engine())) == [("p", "(1, 2.0)", 1, 4)]


@pytest.mark.parametrize("engine", BOTH)
def test_delimiters_share_the_value_of_the_first_one(engine: type[Engine]) -> None:
    """Both pairs are p(DOUBLE) in [1, 5]; one has n inside, and so the interval is out."""
    rules = checked("p(X) <- NOT(n).[a(X), b(X)].")
    given = [event("a", [DOUBLE], 1, 1), event("n", [], 2, 2), event("b", [ODD], 4, 5), event("b", [LARGE], 2, 5)]
    assert model(rules, given) == []
    assert run(rules, given, engine()) == []
    assert _shown(run(rules, [each for each in given if each.type != "n"], engine())) == [("p", f"({DOUBLE!r},)", 1, 5)]
