"""Errors that a rule file declares for sources that send none."""

from __future__ import annotations

import pytest

import cepheus
from cepheus.core.distribution import Normal, Uniform
from cepheus.core.errors import RuleError
from cepheus.core.event import Event
from cepheus.language.tesla import format_rules, parse
from cepheus.language.tesla.reformat import reformat
from cepheus.rules.json_form import from_json, to_json

RULES = """
error Temp.value ~ N(0, 1)
define Hot(value: double) from Temp(value > 30) where value = Temp.value
"""


def test_sources_without_an_error_get_the_declared_one() -> None:
    program = cepheus.compile(RULES)
    events = [
        Event("Temp", 1, {"value": 31.8}),
        Event("Temp", 2, {"value": 31.8}, errors={"value": Uniform(-0.5, 0.5)}),
    ]
    declared, own = program.detect(events, engine="reference").to_events()
    assert declared.probability == pytest.approx(0.964, abs=5e-4)
    assert declared.errors == {"value": Normal(0.0, 1.0)}
    assert own.probability == 1.0
    assert own.errors == {"value": Uniform(-0.5, 0.5)}


def test_printed_and_read_again() -> None:
    rules = parse(RULES)
    assert parse(format_rules(rules)) == rules
    assert from_json(to_json(rules)) == rules
    assert reformat(reformat(RULES)) == reformat(RULES)


def test_the_word_stays_free_for_names() -> None:
    rules = parse("define error(error: double) from Temp(error > 3) as error where error = error.error")
    assert rules.errors == ()
    assert rules.rules[0].composite.name == "error"


@pytest.mark.parametrize(
    ("text", "part", "message"),
    [
        ("error Temp.value ~ N(0, -1) define A() from Temp()", "N(0, -1)", "negative variance"),
        ("error Temp.value ~ U(2, 1) define A() from Temp()", "U(2, 1)", "lower bound above"),
        ("error Temp.value ~ D(0: 0.5, 1: 0.4) define A() from Temp()", "D(0: 0.5, 1: 0.4)", "sum to 0.9"),
        ("error Temp.value N(0, 1) define A() from Temp()", "N", "expected '~'"),
        ("event T(x: double) error S.x ~ N(0, 1) define A() from T()", "S.x", "no event type 'S'"),
        ("event T(x: double) error T.y ~ N(0, 1) define A() from T()", "T.y", "no attribute 'y'"),
        ("event T(x: string) error T.x ~ N(0, 1) define A() from T()", "T.x", "only numbers"),
        ("error A.x ~ N(0, 1) define A(x: int) from T() where x = T.x", "A.x", "made by a rule"),
        ("error T.x ~ N(0, 1) error T.x ~ N(0, 2) define A() from T(x > 1)", "T.x", "declared twice"),
    ],
)
def test_mistakes_have_their_place(text: str, part: str, message: str) -> None:
    with pytest.raises(RuleError) as caught:
        cepheus.compile(text)
    (finding,) = caught.value.diagnostics
    assert message in finding.message
    assert finding.span is not None
    assert finding.span.text == part


def test_equalities_of_continuous_quantities_are_warned_of() -> None:
    def warnings(text: str) -> list[str]:
        return [w.hint or "" for w in cepheus.compile(text).warnings if w.code == "uncertain-equality"]

    assert warnings("error T.x ~ N(0, 1) define A() from T(x = 45)") == ["allow a band: 45 - 0.5 < x < 45 + 0.5"]
    assert len(warnings("error T.x ~ N(0, 1) define A() from T(x=$x) and last S(y=$x) within 1 min from T")) == 1
    assert warnings("error T.x ~ D(0: 0.5, 1: 0.5) define A() from T(x = 45)") == []
    assert warnings("error T.x ~ N(0, 1) define A() from T(x=$x) and last S($x-1 < y < $x+1) within 1 s from T") == []


@pytest.mark.parametrize(
    ("rule", "called"),
    [
        ("define F() from S() and 30 < Avg(T().value within 5 min from S)", "Avg(T)"),
        ("define F() from S() and 30 < $x = Avg(T().value within 5 min from S)", "$x"),
    ],
)
def test_why_calls_an_aggregate_what_people_call_it(rule: str, called: str) -> None:
    program = cepheus.compile(rule)
    events = [Event("T", 1, {"value": 31.8}, probability=0.5), Event("S", 2)]
    (made,) = program.detect(events).to_events()
    assert made.id is not None
    assert f"{called} is defined" in str(program.why(events, made.id))


@pytest.mark.parametrize("condition", ["v is not null and v > 30", "not (v is null) and v > 30"])
def test_a_number_with_an_error_is_there_for_certain(condition: str) -> None:
    program = cepheus.compile(f"event A(v: double?); error A.v ~ N(0, 1); define C() from A({condition})")
    events = [{"type": "A", "time": 1, "v": 30.0}, {"type": "A", "time": 2}]
    (found,) = program.detect(events, engine="reference").to_events()
    assert found.probability == 0.5
