"""Printing: what is printed parses to the same rules, and reformatting twice is reformatting once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheus.core.formats.intervals import argument_name
from cepheus.core.schema import Attribute, EventType
from cepheus.core.values import ValueType
from cepheus.language.etalis import format_rules, parse, reformat
from cepheus.rules.expressions import Arithmetic, Call, Comparison, Constant, Expression, Negative, Parameter
from cepheus.rules.interval.model import (
    Absence,
    Aggregated,
    AllOf,
    AnyOf,
    Anything,
    Atom,
    Bind,
    Choice,
    Combined,
    Condition,
    ConsumptionPolicy,
    Either,
    Holds,
    IntervalPattern,
    IntervalRule,
    Known,
    Lasting,
    Member,
    NoneOf,
    Operator,
    Preference,
    TimePoint,
    Unknown,
    Where,
)
from cepheus.rules.model import RuleSet

variables = st.sampled_from(["X", "Y1", "_z", "Länge", "Price"]).map(Parameter)
types = st.sampled_from(["a", "stock", "Fire", "b_1", "mean", "unit", "contains"])
constants = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(lambda value: Constant(value, ValueType.INT)),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: Constant(value, ValueType.FLOAT)),
    st.text(st.characters(codec="utf-8"), max_size=6).map(lambda value: Constant(value, ValueType.STRING)),
    st.booleans().map(lambda value: Constant(value, ValueType.BOOL)),
    st.integers(0, 2**52).map(lambda value: Constant(value, ValueType.TIMESTAMP)),
)
durations = st.integers(0, 10**12)
expressions: st.SearchStrategy[Expression] = st.recursive(
    variables | constants,
    lambda inner: st.one_of(
        st.builds(Arithmetic, st.sampled_from("+-*/"), inner, inner),
        st.builds(Negative, inner.filter(lambda node: not isinstance(node, Constant) or not node.type.is_numeric)),
        st.builds(Call, st.sampled_from(["abs", "sqrt"]), st.tuples(inner)),
    ),
    max_leaves=4,
)
arguments = st.lists(variables | constants | st.just(Anything()), max_size=3).map(tuple)
atoms = st.builds(Atom, types.filter(lambda name: name not in ("unit", "contains")), arguments)
comparisons = st.tuples(expressions, st.sampled_from(["!=", "<", "<=", ">", ">="]), expressions).map(
    lambda parts: Holds(Comparison((parts[0], parts[2]), (parts[1],)))
)
simple: st.SearchStrategy[Condition] = st.one_of(
    comparisons,
    st.builds(Bind, variables.map(lambda variable: variable.name), expressions),
    st.builds(Known, st.sampled_from(["near", "located"]), arguments),
    st.builds(Unknown, st.sampled_from(["near", "located"]), arguments),
    st.builds(Member, expressions, st.lists(expressions, max_size=3).map(tuple)),
)
conditions: st.SearchStrategy[Condition] = st.one_of(
    simple,
    st.lists(st.builds(AllOf, st.lists(simple, min_size=1, max_size=2).map(tuple)), min_size=2, max_size=3).map(
        lambda alternatives: AnyOf(tuple(alternatives))
    ),
    st.lists(comparisons, min_size=1, max_size=2).map(lambda inner: NoneOf(tuple(inner))),
    st.builds(Aggregated, st.just("N"), st.just("Count"), st.none(), atoms, durations),
    st.builds(Aggregated, st.just("N"), st.sampled_from(["Avg", "Sum", "Min", "Max"]), expressions, atoms, durations),
)
patterns: st.SearchStrategy[IntervalPattern] = st.recursive(
    atoms | st.builds(TimePoint, st.integers(0, 2**52)),
    lambda inner: st.one_of(
        st.builds(Combined, st.sampled_from(list(Operator)), inner, inner),
        st.builds(Either, inner, inner),
        st.builds(Absence, inner, inner, inner),
        st.builds(Lasting, inner, durations, st.booleans()),
        st.builds(Where, inner, st.lists(conditions, min_size=1, max_size=3).map(tuple)),
    ),
    max_leaves=5,
)
policies = st.one_of(
    st.none(),
    st.just(ConsumptionPolicy()),
    st.builds(
        ConsumptionPolicy,
        st.just(Choice.RECENT),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.sampled_from([Preference.ARRIVAL, Preference.SHORTER, Preference.LONGER]),
    ),
    st.builds(ConsumptionPolicy, st.just(Choice.CHRONOLOGICAL), st.just(True), st.booleans(), st.booleans()),
    st.just(ConsumptionPolicy(Choice.RECENT, preference=Preference.GREATEST, attribute="X")),
)


def _rule(
    name: str, values: list[Expression], pattern: IntervalPattern, policy: ConsumptionPolicy | None, label: str | None
) -> IntervalRule:
    attributes = tuple(Attribute(argument_name(place), None) for place in range(1, len(values) + 1))
    return IntervalRule(EventType(name, attributes), tuple(values), pattern, policy, label)


rules = st.builds(
    _rule, types, st.lists(expressions, max_size=2), patterns, policies, st.none() | st.sampled_from(["r1", "Rise"])
)


@settings(max_examples=300)
@given(rules)
def test_what_is_printed_parses_to_the_same(rule: IntervalRule) -> None:
    printed = format_rules(RuleSet(interval_rules=(rule,)))
    assert parse(printed).interval_rules == (rule,)
    assert reformat(printed) == printed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a<-b.", "a() <- b().\n"),
        ("unit min. a<-(b seq c).90.", "unit min.\n\na() <- (b() SEQ c()).90 min.\n"),
        ("e(X) <- b(X) after a(X).", "e(X) <- a(X) SEQ b(X).\n"),
        ("e <- (q seq r) cnot p.", "e() <- NOT(p()).[q(), r()].\n"),
        ("f(1). f(2). % two\n\n\n# end", "f(1).\n\n% two\nf(2).\n\n# end\n"),
        ("policy recent,  ONCE.\ng(X):-f(X) ,not h(X).", "policy recent, once.\n\ng(X) :- f(X), NOT h(X).\n"),
        ("event s(id:string,price :int).", "event s(id: string, price: int).\n"),
        (
            "LABEL r: e(N)<-a(K) where N is K+1.",
            "LABEL r: e(N) <- a(K) WHERE N = K + 1.\n",
        ),
    ],
)
def test_canonical_layout(before: str, after: str) -> None:
    assert reformat(before) == after
    assert reformat(after) == after


def test_the_policy_of_a_file_is_that_of_its_rules() -> None:
    rules = parse("policy recent. a <- b. c <- d POLICY chronological.").interval_rules
    assert [rule.policy and rule.policy.choice for rule in rules] == [Choice.RECENT, Choice.CHRONOLOGICAL]
    printed = parse(format_rules(RuleSet(interval_rules=rules))).interval_rules
    assert printed == rules
    assert replace(rules[0], policy=None) == parse("a <- b.").interval_rules[0]
