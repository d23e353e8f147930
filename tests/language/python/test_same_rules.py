"""Generated rules of TESLA go to Python text and back and stay what they were."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from cepheus.core.errors import RuleError, UnsupportedError
from cepheus.language import etalis
from cepheus.language.tesla import parse
from cepheus.rules.aggregates import aggregate_names, exact_form
from cepheus.rules.functions import FUNCTIONS
from cepheus.rules.model import RuleSet
from cepheus.typed import Composite, Event, TypedRules, agg, from_tesla, require, rule, to_python, to_tesla
from strategies.rules import valid_rule_sets


def from_python(text: str) -> TypedRules:
    names: dict[str, Any] = {"__name__": "rules"}
    exec(compile(text, "<rules>", "exec"), names)
    rules: TypedRules = names["RULES"]
    return rules


@settings(max_examples=150)
@given(valid_rule_sets())
def test_generated_rules_written_in_python_are_the_same(rules: RuleSet) -> None:
    assert from_python(to_python(rules)).model == rules
    assert parse(to_tesla(from_tesla(rules))) == rules


NAMES = """
event `auth.log`(`class`: string, `time zone`: string?, at: timestamp from id, `last`: double)
error `auth.log`.`last` ~ N(0, 1)
rule `my rule` define `Brute force`(`if`: string, n: int)
from   `auth.log`(`class` = 'x' and `last` > -3 and not (at < timestamp '2026-01-31T10:00:00Z')) as `first one` and
       2 last `auth.log`(`class` in ('a', 'b') or `time zone` is null) as B within 5 min from `first one` and
       $n = Count(`auth.log`() within 90 s from B) >= 3 and
       B.at - `first one`.at < 5 min
where  `if` = B.`class` and n = $n
consuming B
min probability 0.25
network `my rule` { node Jam {HIGH: 0.25, LOW: 0.75} }
"""


def test_names_that_python_does_not_have() -> None:
    model = parse(NAMES.replace("network `my rule` { node Jam {HIGH: 0.25, LOW: 0.75} }", ""))
    assert from_python(to_python(model)).model == model


def test_networks_and_ties() -> None:
    text = "ties ordered define A() from B() network A { node Jam {HIGH: 0.25, LOW: 0.75} }"
    assert from_python(to_python(text)).model == parse(text)


def test_what_is_gathered_since_the_start_goes_on_to_the_moment_of_a_timer() -> None:
    text = "event A(x: int) define B(n: int) from 5 min after A() where n = Sum(A().x since start)"
    assert from_python(to_python(text)).model == parse(text)


def test_every_function_and_aggregate_has_its_name() -> None:
    from cepheus.language.python.aggregates import Aggregates, agg, python_aggregate
    from cepheus.language.python.functions import Functions, fn, python_function

    known = {python_function(name) for name, function in FUNCTIONS.items() if not function.local}
    assert known == set(Functions.__annotations__), "what type checkers know"
    assert all(callable(getattr(fn, name)) for name in known)
    aggregates = {python_aggregate(exact_form(name)) for name in aggregate_names()}
    assert aggregates == set(Aggregates.__annotations__), "what type checkers know"
    assert all(hasattr(agg, name) for name in aggregates)


def test_rules_over_intervals_stay_what_they_are() -> None:
    with pytest.raises(UnsupportedError):
        to_python(etalis.parse("pair(X) <- a(X) SEQ b(X)."))


def test_only_some_aggregates_are_approximate() -> None:
    class Sale(Event):
        price: float

    class Big(Composite):
        price: float

    with pytest.raises(RuleError, match="sum is exact"):

        @rule
        def big(sale: Sale) -> Big:
            require(agg.sum(Sale.price, approximate=True).since_start() > 3)  # type: ignore[call-overload]
            return Big(price=sale.price)
