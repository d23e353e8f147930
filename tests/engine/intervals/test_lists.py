"""Lists as terms: what they are matched with and made of, and that the goals engine finds what the reference does."""

from __future__ import annotations

from random import Random

import pytest
from interval_runs import Found, checked, deployed, event, found, in_order, run, run_batches
from minimal_model import minimal_model

from cepheus.core import lists
from cepheus.core.batch import EventBatch
from cepheus.core.errors import RuleError, UnsupportedError
from cepheus.core.event import Event
from cepheus.core.time import MAX_TIME, SECOND
from cepheus.core.values import Value
from cepheus.engine.base.interface import Engine
from cepheus.engine.goals import memory
from cepheus.engine.goals.engine import GoalsEngine
from cepheus.engine.reference.interval_engine import IntervalReferenceEngine
from cepheus.plan.interval.layout import At
from cepheus.rules.check import Checked
from cepheus.rules.interval.matches import Instance
from strategies.interval_programs import POLICIES
from strategies.list_programs import list_events, list_program

ENGINES = (IntervalReferenceEngine, GoalsEngine)


def _events(*given: tuple[str, tuple[Value, ...]]) -> list[Event]:
    return [event(name, values, time, time, time) for time, (name, values) in enumerate(given, 1)]


def _answers(text: str, given: list[Event], engine: type[Engine]) -> list[tuple[str, tuple[Value | None, ...]]]:
    return [(name, values) for name, values, _, _ in run(checked(text), given, engine())]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("pattern", "given", "expected"),
    [
        ("a([1, 2])", (1, 2), ()),
        ("a([1, 2])", (1, 2, 3), None),
        ("a([1, 2.0])", (1, 2), ()),
        ("a([true])", (1,), None),
        ("a([])", (), ()),
        ("a([])", "[]", None),
        ("a([X, Y])", (1, "b"), (1, "b")),
        ("a([X, Y])", "ab", None),
        ("a([X|Y])", (1, 2, 3), (1, (2, 3))),
        ("a([X|Y])", (1,), (1, ())),
        ("a([X|Y])", (), None),
        ("a([X, X|Y])", (1, 1, 3), (1, (3,))),
        ("a([X, X|Y])", (1, 2, 3), None),
        ("a([[X]|Y])", ((1,), 2), (1, (2,))),
        ("a([[X]|Y])", (1, 2), None),
        ("a([X, 2|Y])", (1, 2), (1, ())),
        ("a([_, X|Y])", (1, 2, 3), (2, (3,))),
        ("a(X) WHERE [Y|_] = X", (1, 2), ((1, 2), 1)),
        ("a(X) WHERE Y = [X, 3]", (1,), ((1,), ((1,), 3))),
        ("a(X) WHERE Y in X", (4,), ((4,), 4)),
    ],
)
def test_patterns(pattern: str, given: Value, expected: tuple[Value, ...] | None, engine: type[Engine]) -> None:
    names = [name for name in ("X", "Y") if name in pattern]
    answers = _answers(f"e({', '.join(names)}) <- {pattern}.", _events(("a", (given,))), engine)
    assert answers == ([] if expected is None else [("e", expected)])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("e(X, Y) <- a(Y) WHERE X in [Y, 2].", [(7, 7), (2, 7)]),
        ("e(X, Y) <- a(Y) WHERE X in [Y, Y * 2, Y], X > 7.", [(14, 7)]),
        ("e(Y) <- a(Y) WHERE NOT (X in [Y, 2] AND X > 9).", [(7,)]),
        ("e(Y) <- a(Y) WHERE (X in [Y, 2] AND X > 9) OR Y in [Y - 1, Y].", [(7,)]),
        ("p(1). q(X) :- p(Y), X in [Y, Y + 1]. e(X, Y) <- a(Y) WHERE q(X).", [(1, 7), (2, 7)]),
    ],
)
def test_a_variable_gets_each_of_some_values(
    rules: str, expected: list[tuple[Value, ...]], engine: type[Engine]
) -> None:
    answers = _answers(rules, _events(("a", (7,))), engine)
    assert sorted(answers, key=str) == sorted((("e", values) for values in expected), key=str)


@pytest.mark.parametrize("engine", ENGINES)
def test_paths_grow_by_recursion(engine: type[Engine]) -> None:
    text = """
        path([X, Y]) <- hop(X, Y).
        path([X|P]) <- (hop(X, Y) SEQ path(P)).10 WHERE [Y|_] = P, NOT X in P.
        long(P, N) <- path(P) WHERE N = length(P), N > 2.
    """
    given = _events(("hop", ("a", "b")), ("hop", ("b", "c")), ("hop", ("c", "a")), ("hop", ("c", "d")))
    longer = [values for name, values in _answers(text, given, engine) if name == "long"]
    assert sorted(longer, key=str) == [
        (("a", "b", "c"), 3),
        (("a", "b", "c", "d"), 4),
        (("b", "c", "a"), 3),
        (("b", "c", "d"), 3),
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_variable_gets_each_element_of_a_list_once(engine: type[Engine]) -> None:
    given = _events(("a", ((3, 1, 3, 2),)), ("a", ((),)), ("a", ("no list",)))
    assert _answers("e(X) <- a(L) WHERE X in L, X != 2.", given, engine) == [("e", (3,)), ("e", (1,))]


@pytest.mark.parametrize("engine", ENGINES)
def test_background_knowledge_has_lists(engine: type[Engine]) -> None:
    text = """
        route(r1, [a, b, c]). route(r2, [b]).
        follows(X, Y) :- step(_, X, Y).
        step(L, X, Y) :- part(L), [X, Y|_] = L.
        part(L) :- route(_, L).
        part(T) :- part([_|T]).
        e(X, Y) <- at(X) WHERE follows(X, Y).
        f(R, T) <- at(X) WHERE route(R, [X|T]).
        g(X) <- at(X) WHERE NOT route(_, [X|_]).
    """
    assert _answers(text, _events(("at", ("b",)), ("at", ("c",))), engine) == [
        ("e", ("b", "c")),
        ("f", ("r2", ())),
        ("g", ("c",)),
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_lists_have_no_order_and_are_no_texts(engine: type[Engine]) -> None:
    text = """
        less(X) <- a(X, Y) WHERE X < Y.
        most(X) <- a(X, Y) WHERE X <= Y.
        same(X) <- a(X, Y) WHERE X = Y.
        other(X) <- a(X, Y) WHERE X != Y.
        up(Z) <- a(X, _) WHERE Z = upper(X).
        sum(Z) <- a(X, _) WHERE Z = X + 1.
        largest(Z) <- a(X, _) WHERE Z = MAX(V, a(V, _) WITHIN 1).
    """
    given = _events(("a", ((1,), (1,))), ("a", ((1,), (2,))), ("a", ((1,), "[1]")))
    assert _answers(text, given, engine) == [("same", ((1,),)), ("other", ((1,),))]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_list_that_is_nested_too_deep_makes_no_event(engine: type[Engine]) -> None:
    made = _answers("d([X]) <- (d(X) SEQ t).1. d([]) <- s.", _events(("s", ()), *[("t", ())] * 3), engine)
    assert made == [("d", ((),)), ("d", (((),),))]
    rules = checked("d([X]) <- d(X). d([]) <- s.")
    assert len(run(rules, _events(("s", ())), engine())) == 64


@pytest.mark.parametrize(
    ("rule", "given", "expected"),
    [
        ("e(X) <- a([X|_], X).", ("a", ((2,), 2.0)), 2.0),
        ("e(X) <- a([[X], X]).", ("a", (((1,), 1),)), 1),
        ("e(X) <- a(X) WHERE [1] = [X].", ("a", (1,)), 1),
        ("e(X) <- a(Y) WHERE [Y] = [X].", ("a", (1,)), None),
        ("e(X) <- (a([_|_], X) OR b(X)) WHERE COUNT(c([_|_]) WITHIN 5) = 0.", ("b", (3,)), 3),
    ],
)
def test_where_variables_get_their_values(rule: str, given: tuple[str, tuple[Value, ...]], expected: Value) -> None:
    for engine in ENGINES:
        try:
            answers = _answers(rule, _events(given), engine)
        except RuleError:
            assert expected is None
        else:
            ((_, (value,)),) = answers
            assert (value, type(value)) == (expected, type(expected))


@pytest.mark.parametrize("condition", ["L = [X]", "L = [1, 2]", "L is X + 1", "L = COUNT(b(_) WITHIN 5)"])
def test_a_variable_of_one_side_of_an_or_is_left_to_the_reference(condition: str) -> None:
    rules = checked(f"e(X) <- (a(L, X) OR b(X)) WHERE {condition}.")
    with pytest.raises(UnsupportedError, match="one side of an OR"):
        deployed(rules, GoalsEngine())


def test_answers_are_forgotten_before_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_MOST_ANSWERS", 1 << 12)
    engine = GoalsEngine()
    deployed(checked("e(H, S) <- a([H|_], X) WHERE S = sqrt(X)."), engine)
    given = [event("a", ((number, 1), number), number, number, number) for number in range(6_000)]
    made = engine.feed(EventBatch.from_events(given)).to_events()
    assert [each["arg1"] for each in made] == list(range(6_000))
    assert engine._memory[At.ANSWERS_SIZE] == 1 << 12


def test_a_long_list() -> None:
    names = [f"X{place}" for place in range(30)]
    rules = checked(f"e([{', '.join(names)}|T]) <- a([{', '.join(names)}|T]).")
    given = _events(("a", (tuple(range(35)),)))
    for engine in ENGINES:
        assert run(rules, given, engine()) == [("e", (tuple(range(35)),), 1, 1)]


def test_goals_are_told_with_the_variables_of_the_rule() -> None:
    engine = GoalsEngine()
    deployed(checked("e(H, T) <- a([H|T]) SEQ b([_|_]) SEQ c(T)."), engine)
    for each in _events(("a", ((1, 2),)), ("b", ((5,),))):
        engine.feed_event(each)
    told = [str(goal) for goal in engine.goals()]
    assert told == [
        "e: a([H|T]) with T = [2], H = 1 waits for b([_|_]) (33%)",
        "e: a([H|T]) SEQ b([_|_]) with T = [2], H = 1 waits for c(T) (67%)",
    ]


def test_ids_tell_a_list_from_its_text() -> None:
    rules = checked("e(X) <- a(X).")
    batch = EventBatch.from_events(_events(("a", ((1,),)), ("a", ("[1]",))))
    ids = [[composite.id for composite in deployed(rules, engine()).feed(batch).to_events()] for engine in ENGINES]
    assert ids[0] == ids[1]
    together = EventBatch.from_events([Event("a", SECOND, {"arg1": value}) for value in ((1,), "[1]")])
    assert len({composite.id for composite in deployed(rules, GoalsEngine()).feed(together).to_events()}) == 2


def _generated(text: str) -> Checked | None:
    """Check a generated program; None if it makes no sense, as where a list is compared with a number.

    Also none if only the reference runs it, as where a variable of one side of an OR may be bound afterwards.
    """
    try:
        rules = checked(text)
        deployed(rules, GoalsEngine())
        return rules
    except UnsupportedError:
        return None
    except RuleError as error:
        if {finding.code for finding in error.diagnostics} <= {"comparison", "list-type", "argument-type"}:
            return None
        raise


def _wrong(seeds: range) -> list[int]:
    """Give the seeds of programs to which the engines give different answers; a good part must have answers."""
    wrong, fruitful = [], 0
    for seed in seeds:
        rules, given = _generated(list_program(seed)), list_events(seed, 14 + seed % 10)
        if rules is None:
            continue
        reference, goals = deployed(rules), deployed(rules, GoalsEngine())
        answers = []
        for engine in (reference, goals):
            made = [composite for each in given for composite in engine.feed_event(each)]
            made += engine.advance(MAX_TIME).to_events()
            answers.append([(*found(each), each.id, each.made_of, each.rule) for each in made])
        if answers[0] != answers[1]:
            wrong.append(seed)
        fruitful += bool(answers[0])
    assert fruitful > len(seeds) // 4
    return wrong


@pytest.mark.parametrize("engine", ENGINES)
def test_each_element_of_a_long_list(engine: type[Engine]) -> None:
    given = tuple(range(5_000)) * 2
    found = _answers("e(X) <- a(L) WHERE X in L.", _events(("a", (given,))), engine)
    assert found == [("e", (element,)) for element in range(5_000)]


@pytest.mark.parametrize("engine", ENGINES)
def test_lists_that_double_come_to_an_end(engine: type[Engine], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "MAX_ELEMENTS", 100)
    rules = "e(L) <- a(L). e([L, L]) <- e(L) SEQ b() POLICY chronological."
    made = _answers(rules, _events(("a", ((1,),)), *[("b", ())] * 20), engine)
    assert len(made) == 6


def test_generated_rules_with_lists_give_what_the_reference_gives() -> None:
    assert _wrong(range(80)) == []


@pytest.mark.slow
def test_many_generated_rules_with_lists() -> None:
    assert _wrong(range(1000, 3000)) == []


def test_generated_rules_without_a_policy_give_the_minimal_model() -> None:
    made = 0
    for seed in range(80):
        text = list_program(seed)
        for policy in sorted(POLICIES, key=len, reverse=True):
            text = text.replace(f" POLICY {policy}.", ".")
        rules, given = _generated(text), list_events(seed, 8, span=6)
        if rules is None:
            continue
        instances = [Instance(e.type, tuple(e.attributes.values()), e.start or 0, e.time) for e in given]
        model = minimal_model(rules.rules.interval_rules, instances)
        expected: list[Found] = [(i.type, i.values, i.start // SECOND, i.end // SECOND) for i in model]
        assert in_order(run(rules, given, GoalsEngine())) == in_order(expected), f"seed {seed}:\n{text}"
        made += bool(expected)
    assert made > 15


@pytest.mark.parametrize("engine", ENGINES)
def test_batches_and_snapshots_keep_lists(engine: type[Engine]) -> None:
    for seed in range(100, 115):
        rules, given = _generated(list_program(seed)), list_events(seed, 16)
        if rules is None:
            continue
        expected = run(rules, given, engine())
        random = Random(seed)
        cut = random.randrange(len(given))
        assert run_batches(rules, [given[:cut], given[cut:]], engine()) == expected, f"seed {seed}"
        running = deployed(rules, engine())
        made: list[Found] = []
        for each in given:
            made += map(found, running.feed_event(each))
            other = engine()
            other.restore(running.snapshot())
            running = other
        assert [*made, *map(found, running.advance(MAX_TIME).to_events())] == expected, f"seed {seed}"
