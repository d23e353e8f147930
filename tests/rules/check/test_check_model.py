"""What no rule text can say, but a rule built in a program can."""

from __future__ import annotations

import pytest

from cepheus.core.errors import RuleError
from cepheus.core.schema import Attribute, EventType
from cepheus.core.values import ValueType
from cepheus.rules.aggregates import aggregate_names
from cepheus.rules.check import MAX_DEPTH, check
from cepheus.rules.expressions import (
    Aggregate,
    Arithmetic,
    AttributeRef,
    Call,
    Comparison,
    Constant,
    Constraint,
    EventPattern,
    Expression,
    Within,
)
from cepheus.rules.model import Aggregation, Assignment, Pattern, Rule, RuleSet, Selection
from cepheus.rules.policies import Policy

ONE = Constant(1, ValueType.INT)
WINDOW = Within(1_000_000, "X")


def rule(*constraints: Constraint) -> Rule:
    return Rule(EventType("A"), Pattern(EventPattern("X", constraints)))


def error(subject: Rule) -> tuple[str, str, str | None]:
    with pytest.raises(RuleError) as caught:
        check(RuleSet((), (subject,)))
    (found,) = caught.value.diagnostics
    return found.code, found.message, found.hint


def test_unknown_functions() -> None:
    call = Comparison((Call("lenght", (AttributeRef(None, "s"),)), ONE), ("=",))
    assert error(rule(call)) == ("unknown-function", "there is no function 'lenght'", "did you mean 'length'?")
    call = Comparison((Call("avg", (AttributeRef(None, "s"),)), ONE), ("=",))
    assert error(rule(call))[2] == "the aggregate is written 'Avg(Event(..).attribute within 5 min from Event)'"


def compared(function: str, value: Expression | None) -> Rule:
    aggregate = Aggregate(function, EventPattern("Y"), value, WINDOW)
    item = Aggregation(aggregate, None, Comparison((ONE, aggregate), ("<",)))
    return Rule(EventType("A"), Pattern(EventPattern("X"), (item,)))


def test_unknown_aggregates_and_aggregates_without_a_value() -> None:
    value = AttributeRef(None, "v")
    assert error(compared("Agv", value)) == ("unknown-aggregate", "there is no aggregate 'Agv'", "did you mean 'Avg'?")
    assert error(compared("Zenith", value))[2] == f"there are {', '.join(aggregate_names())}"
    assert error(compared("Avg", None)) == (
        "aggregate-value",
        "Avg needs a value of the events it runs over; only Count goes without",
        "write 'Avg(Y(..).attribute ..)'",
    )
    assert check(RuleSet((), (compared("Count", None),))).warnings == ()


def test_a_choice_of_nothing() -> None:
    chosen = Selection(Policy.LAST, EventPattern("Y"), WINDOW, 0)
    assert error(Rule(EventType("A"), Pattern(EventPattern("X"), (chosen,)))) == (
        "count",
        "'0 last' chooses nothing",
        "choose at least one event, or write 'not Y(..)' if there must be none",
    )


@pytest.mark.parametrize("probability", [-0.1, 1.5, float("nan")])
def test_a_probability_that_is_none(probability: float) -> None:
    subject = Rule(EventType("A"), Pattern(EventPattern("X")), min_probability=probability)
    assert error(subject) == (
        "probability",
        f"a probability lies between 0 and 1, found {probability:g}",
        "write 'min probability 0.5' for one in two",
    )


def test_expressions_nested_too_deep_are_refused_and_never_overflow() -> None:
    node: Expression = AttributeRef(None, "v")
    for _ in range(5000):
        node = Arithmetic("+", node, ONE)
    assert error(rule(Comparison((node, ONE), (">",)))) == (
        "nesting",
        f"this expression is nested more than {MAX_DEPTH} deep",
        "compute it in several rules",
    )


def test_expressions_nested_as_deep_as_allowed() -> None:
    node: Expression = AttributeRef(None, "v")
    for _ in range(MAX_DEPTH - 2):
        node = Arithmetic("+", node, ONE)
    assert repr(check(RuleSet((), (rule(Comparison((node, ONE), (">",))),))).inputs) == "Schema(X(v: double))"


def test_aggregates_inside_aggregates_are_refused() -> None:
    inner = Aggregate("Sum", EventPattern("Z"), AttributeRef(None, "v"), WINDOW)
    assert error(compared("Avg", inner))[0] == "misplaced-aggregate"


def test_messages_name_parts_that_have_no_text() -> None:
    hot = Comparison((AttributeRef(None, "v"), Constant(5, ValueType.INT)), (">",))
    cold = Comparison((Constant(3, ValueType.INT), AttributeRef("X", "v")), (">",))
    assert error(rule(hot, cold))[1] == "3 > X.v can never hold together with v > 5"


def test_untyped_attributes_of_composite_events_take_the_type_of_their_value() -> None:
    composite = EventType("A", (Attribute("v", None),))
    subject = Rule(composite, Pattern(EventPattern("X")), (Assignment("v", Constant("x", ValueType.STRING)),))
    assert repr(check(RuleSet((), (subject,))).composites) == "Schema(A(v: string))"
