"""Conditions joined by or, not, in and is null, among constraints and among the parts of a pattern."""

from __future__ import annotations

import pytest

from cepheus.core.errors import Diagnostic, RuleError
from cepheus.language.tesla import parse
from cepheus.rules.check import check
from cepheus.rules.resolve import resolve
from cepheus.rules.resolved import Choose, Require, needed_aggregates

DECLARED = "event A(x: int, s: string, b: bool, o: int?); event B(x: int, y: double);"


def findings(pattern: str) -> list[Diagnostic]:
    """What is wrong with a pattern over declared events."""
    with pytest.raises(RuleError) as caught:
        check(parse(f"{DECLARED} define F() from {pattern}"))
    return list(caught.value.diagnostics)


@pytest.mark.parametrize(
    ("pattern", "code", "marked"),
    [
        ("A(x > 1 or s > 2)", "type-mismatch", "s > 2"),
        ("A(not (x and b))", "not-a-condition", "x"),
        ("A(x or b)", "not-a-condition", "x"),
        ("A(x in (1, 'a'))", "type-mismatch", "x in (1, 'a'"),
        ("A(if(x, 1, 2) > 1)", "not-a-condition", "x"),
        ("A(if(b, 1, 'a') = 1)", "argument-type", "'a'"),
        ("A((x > 1) + 1 > 2)", "arithmetic", "(x > 1)"),
        ("A(x > 5 min or b < true)", "no-order", "b < true"),
        ("A(z is null)", "unknown-attribute", "z"),
        ("A(cidr_match(s, '10.0.0.0/40'))", "argument-value", "'10.0.0.0/40'"),
        ("A(x = $x or b) and last B(x = $x and y = $y or y > 1) within 1 s from A", "unbound-parameter", "$x"),
        ("A(not (x = $x)) and last B(x = $x or y > 1) within 1 s from A", "unbound-parameter", "$x"),
        ("A() and $n = 2 * $n", "unbound-parameter", "$n"),
        ("A() and A.x > B.x and last B() within 1 s from A", "later-event", "B"),
        ("A() and (x > 3 or A.x is null)", "no-event", "x"),
        ("A() and (Avg(B().y within 1 s from C) > 3 or A.b)", "unknown-event", "C"),
    ],
)
def test_what_is_wrong_is_told_where_it_stands(pattern: str, code: str, marked: str) -> None:
    first = findings(pattern)[0]
    assert first.span is not None
    assert first.code == code
    assert first.span.text.startswith(marked)
    assert first.hint


def test_a_parameter_is_not_bound_below_or() -> None:
    (found,) = findings("A(x = $x or b) and last B(y > $x) within 1 s from A")
    assert (
        found.message
        == "$x is compared only where 'or' or 'not' may leave it without a value, and nothing else binds it"
    )
    assert (
        found.hint == "bind it by itself, with 'attribute=$x' outside of 'or' and 'not', or name the attribute instead"
    )


def test_a_free_condition_waits_for_what_it_names_and_leaves_the_choice_alone() -> None:
    text = """A(x = $x) and $x < $y and last B(y = $y) within 1 s from A and
    each B(x > 1) as C within 1 s from A and C.y > 1"""
    rule = resolve(check(parse(f"{DECLARED} rule R define F() from {text}")).rules.rules[0])
    last, required, each = rule.steps
    assert isinstance(last, Choose)
    assert len(last.constraints) == 1  # what binds $y
    assert isinstance(required, Require)
    assert isinstance(each, Choose)
    assert len(each.constraints) == 2  # its own, and the condition: where all are taken there is no choice


def test_a_rule_needs_only_the_aggregates_it_cannot_do_without() -> None:
    text = """A() and (Avg(B().y within 1 s from A) > 1 or Max(B().y within 1 s from A) is null) and
    (Min(B().y within 1 s from A) > 1 or Min(B().y within 1 s from A) < 0) and
    coalesce(Sum(B().y within 1 s from A), 0) > 0 and Last(B().y within 1 s from A) is not null"""
    rule = resolve(check(parse(f"{DECLARED} rule R define F() from {text}")).rules.rules[0])
    functions = {step.name: step.function for step in rule.steps if not isinstance(step, Choose | Require)}
    assert sorted({functions[name] for name in needed_aggregates(rule)}) == ["Last"]


def test_a_chain_that_must_not_hold_needs_only_what_all_its_links_need() -> None:
    ours, theirs = "Avg(B().y within 1 s from A)", "Max(B().y within 1 s from A)"
    for condition, needed in (
        (f"not (5 < A.x < {ours})", []),
        (f"not (5 < {theirs} < {ours})", ["Max"]),
        (f"not ({theirs} < {ours})", ["Avg", "Max"]),
        (f"5 < {theirs} < {ours}", ["Avg", "Max"]),
    ):
        rule = resolve(check(parse(f"{DECLARED} rule R define F() from A() and {condition}")).rules.rules[0])
        functions = {step.name: step.function for step in rule.steps if not isinstance(step, Choose | Require)}
        assert sorted({functions[name] for name in needed_aggregates(rule)}) == needed, condition
