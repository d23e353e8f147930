"""Printing: what is printed parses to the same rules, and reformatting twice is reformatting once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheus.core.errors import RuleError
from cepheus.core.lists import list_value
from cepheus.core.schema import Attribute, EventType
from cepheus.core.time import TimeUnit
from cepheus.core.values import Value, ValueType
from cepheus.formats.intervals import argument_name
from cepheus.language.etalis import format_rules, parse, reformat
from cepheus.rules.expressions import Arithmetic, Call, Comparison, Constant, Expression, Negative, Parameter
from cepheus.rules.functions import LIST_BEFORE, LIST_OF
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
    Element,
    Fits,
    Holds,
    IntervalPattern,
    IntervalRule,
    Known,
    Lasting,
    ListPattern,
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
elements: st.SearchStrategy[Value] = st.recursive(
    constants.map(lambda constant: constant.value),
    lambda inner: st.lists(inner, max_size=3).map(lambda values: list_value(values) or ()),
    max_leaves=4,
)
constants |= st.lists(elements, max_size=3).map(lambda values: Constant(list_value(values) or (), ValueType.LIST))
durations = st.integers(0, 10**12)


def _list_of(items: list[Expression], rest: Expression | None) -> Expression:
    """Give a list as the parser does: one of constants alone is a constant."""
    if rest is not None:
        return Call(LIST_BEFORE, (*items, rest))
    values = [item.value for item in items if isinstance(item, Constant)]
    made = list_value(values) if len(values) == len(items) else None
    return Call(LIST_OF, tuple(items)) if made is None else Constant(made, ValueType.LIST)


expressions: st.SearchStrategy[Expression] = st.recursive(
    variables | constants,
    lambda inner: st.one_of(
        st.builds(Arithmetic, st.sampled_from("+-*/"), inner, inner),
        st.builds(Negative, inner.filter(lambda node: not isinstance(node, Constant) or not node.type.is_numeric)),
        st.builds(Call, st.sampled_from(["abs", "sqrt"]), st.tuples(inner)),
        st.builds(_list_of, st.lists(inner, min_size=1, max_size=3), st.none() | variables),
    ),
    max_leaves=4,
)
plain_arguments = variables | constants | st.just(Anything())
list_patterns: st.SearchStrategy[ListPattern] = st.builds(
    ListPattern,
    st.lists(plain_arguments, max_size=2).map(lambda items: (Parameter("H"), *items)),
    st.none() | variables | st.just(Anything()),
)
nested_patterns = st.builds(ListPattern, st.tuples(list_patterns, plain_arguments))
arguments = st.lists(plain_arguments | list_patterns | nested_patterns, max_size=3).map(tuple)
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
    st.builds(Element, expressions, variables),
    st.builds(Fits, variables, list_patterns),
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
        ("e(X,Y)<-(a(X) seq b(Y)).20.", "e(X, Y) <- (a(X) SEQ b(Y)).20.\n"),
        ("f<-120 seq 3600.", "f() <- 120 SEQ 3600.\n"),
        ("unit s. f<-120 seq a.", "unit s.\n\nf() <- 120000000 us SEQ a().\n"),
        ("e(X) <- b(X) after a(X).", "e(X) <- a(X) SEQ b(X).\n"),
        ("e <- (q seq r) cnot p.", "e() <- NOT(p()).[q(), r()].\n"),
        ("f(1). f(2). % two\n\n\n# end", "f(1).\n\n% two\nf(2).\n\n# end\n"),
        ("policy recent,  ONCE.\ng(X):-f(X) ,not h(X).", "policy recent, once.\n\ng(X) :- f(X), NOT h(X).\n"),
        ("e([X|T],[ 1,[ ]])<-a([X ,_| T]) where T in L.", "e([X|T], [1, []]) <- a([X, _|T]) WHERE T in L.\n"),
        ("e(X)<-a(L) where L=[X,2|_].", "e(X) <- a(L) WHERE [X, 2|_] = L.\n"),
        ("e(L)<-a(X) where L is [X,2].", "e(L) <- a(X) WHERE L is [X, 2].\n"),
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


@pytest.mark.parametrize("unit", TimeUnit)
def test_the_layout_means_the_same_in_every_unit(unit: TimeUnit) -> None:
    text = "e <- (a SEQ b).20. f <- 120 SEQ 3600 s. g <- (a).=7 WHERE N = COUNT(a WITHIN 60), N > 2."
    text += " h <- 1000000000000 SEQ a."
    assert parse(reformat(text), unit=unit) == parse(text, unit=unit)


def test_a_number_that_only_some_units_give_a_meaning_stays() -> None:
    assert reformat("e <- (a SEQ b).0.5.") == "e() <- (a() SEQ b()).0.5.\n"
    with pytest.raises(RuleError) as raised:
        reformat("e <- (a SEQ b).1e5.")
    assert raised.value.diagnostics[0].code == "duration"


def test_the_policy_of_a_file_is_that_of_its_rules() -> None:
    rules = parse("policy recent. a <- b. c <- d POLICY chronological.").interval_rules
    assert [rule.policy and rule.policy.choice for rule in rules] == [Choice.RECENT, Choice.CHRONOLOGICAL]
    printed = parse(format_rules(RuleSet(interval_rules=rules))).interval_rules
    assert printed == rules
    assert replace(rules[0], policy=None) == parse("a <- b.").interval_rules[0]


@pytest.mark.parametrize(
    "text",
    [
        "k([timestamp '2026-01-31T10:00:00Z', 'a']).\n",
        "p(X) <- a(X, [timestamp '2026-01-31T10:00:00Z', [timestamp '2026-01-31T11:00:00Z']]).\n",
        "p(X) <- a(X) WHERE X in [[timestamp '2026-01-31T10:00:00Z'], [1]].\n",
        "p([timestamp '2026-01-31T10:00:00Z']) <- a(X) WHERE L = [timestamp '2026-01-31T10:00:00Z'].\n",
    ],
)
def test_times_in_lists_stay_times(text: str) -> None:
    assert reformat(text) == text
    assert format_rules(parse(text)) == text


def test_whole_numbers_in_lists_are_written_as_integers() -> None:
    assert reformat("k([2.0, [3.0]]).") == "k([2, [3]]).\n"
