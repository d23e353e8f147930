"""What rules of the background knowledge derive: the same as every rule on everything until nothing is new."""

from __future__ import annotations

from random import Random

import pytest

from cepheus.core.lists import value_key
from cepheus.core.values import Value
from cepheus.language.etalis import parse
from cepheus.rules.check import check
from cepheus.rules.interval.conditions import Conditions
from cepheus.rules.interval.model import Knowledge, Relation

Rows = dict[str, dict[object, tuple[Value, ...]]]

_BODIES = (
    "a(X, Y)",
    "b(X), a(X, Y)",
    "a(X, Y), X < Y",
    "p(X, Y)",
    "q(Y, X)",
    "a(X, Z), p(Z, Y)",
    "p(X, Z), a(Z, Y)",
    "p(X, Z), p(Z, Y)",
    "q(X, Z), p(Z, Y), X != Y",
    "p(X, X), b(Y)",
    "b(X), (p(X, 1) OR a(X, 2)), p(Y, X)",
    "b(X), NOT (c(Z) AND a(Z, X)), p(X, Y), c(Z)",
    "p(X, Z), NOT c(Z), b(Y)",
    "p(X, Z), Y is Z + 1, Y < 5",
    "q(X, 2), Y in [1, 2, true]",
    "b(X), p(_, Y), NOT a(X, _)",
    "q(X, Y), p(X, X)",
)


def _program(seed: int) -> str:
    random = Random(seed)
    values = ["0", "1", "2", "2.0", "3", "true", "x"]
    facts = [f"a({random.choice(values)}, {random.choice(values)})." for _ in range(random.randint(1, 6))]
    facts += [f"{name}({random.choice(values)})." for name in "bbbcc"]
    facts.append(f"p({random.choice(values)}, {random.choice(values)}).")
    rules = [f"{random.choice('pq')}(X, Y) :- {random.choice(_BODIES)}." for _ in range(4)]
    rules.append("q(X, Y) :- a(Y, X).")
    return " ".join([*facts, *rules]) + " e(X, Y) <- f(X, Y) WHERE (p(X, Y) OR q(X, Y) OR b(X) OR c(X) OR a(X, Y))."


def _naive(knowledge: Knowledge) -> Rows:
    """Take every rule on all rows until nothing is new; right where what is negated is no head of a rule."""
    rows: Rows = {name: {} for name in "abcpq"}
    for fact in knowledge.facts:
        row = tuple(constant.value for constant in fact.values)
        rows[fact.relation][tuple(map(value_key, row))] = row
    count = -1
    while count < (count := sum(map(len, rows.values()))):
        conditions = Conditions([Relation(name, 0, tuple(found.values())) for name, found in rows.items()])
        for rule in knowledge.deductions:
            for binding in conditions.bindings(rule.body, {}):
                values = [conditions.value(argument, binding) for argument in rule.arguments]
                row = tuple(value for value in values if value is not None)
                if len(row) == len(values):
                    rows[rule.relation].setdefault(tuple(map(value_key, row)), row)
    return rows


def test_what_is_derived_is_what_every_rule_gives_until_nothing_is_new() -> None:
    derived = 0
    for seed in range(400):
        rules = parse(_program(seed))
        found = {relation.name: relation.rows for relation in check(rules).rules.interval_rules[0].relations}
        expected = _naive(rules.knowledge)
        keys = {name: {tuple(map(value_key, row)) for row in rows} for name, rows in found.items()}
        assert keys == {name: set(rows) for name, rows in expected.items()}, f"seed {seed}: {_program(seed)}"
        assert all(len(rows) == len(keys[name]) for name, rows in found.items())
        derived += len(found["p"]) + len(found["q"])
    assert derived > 2_000


@pytest.mark.parametrize("body", ["edge(X, Y), path(Y, Z)", "path(X, Y), edge(Y, Z)"])
def test_the_closure_of_a_long_chain(body: str) -> None:
    edges = " ".join(f"edge({n}, {n + 1})." for n in range(300))
    rules = check(parse(f"{edges} path(X, Y) :- edge(X, Y). path(X, Z) :- {body}. e <- a(X) WHERE path(X, 300)."))
    (path,) = rules.rules.interval_rules[0].relations
    assert set(path.rows) == {(x, y) for x in range(300) for y in range(x + 1, 301)}
