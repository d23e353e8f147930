"""Why a rule did not fire: what is told agrees with the reference engine, and is what a person would say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheus.api import compile
from cepheus.core.batch import EventBatch
from cepheus.core.errors import OptionError, UnsupportedError
from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.schema import Schema
from cepheus.core.time import MINUTE, SECOND
from cepheus.engine.reference.engine import ReferenceEngine
from cepheus.engine.reference.state import Deployed
from cepheus.explain.trace import Outcome
from cepheus.explain.why_not import WhyNot, why_not
from cepheus.rules.check import check
from cepheus.rules.model import Rule, RuleSet
from cepheus.rules.resolved import Absent, Choose, Compute, Require
from strategies.rules import TYPES, valid_rules

FIRE = """
define Fire(area: string, temp: double)
from Smoke(area=$a) and last Temp(area=$a and value>45) within 5 min from Smoke
     and not Rain(area=$a) within 10 min from Smoke
where area=Smoke.area and temp=Temp.value
"""


def temp(minute: float, value: float, area: str = "A1") -> dict[str, Any]:
    return {"type": "Temp", "time": int(minute * MINUTE), "area": area, "value": value}


def other(kind: str, minute: float, **values: object) -> dict[str, Any]:
    return {"type": kind, "time": int(minute * MINUTE), **values}


def told(rule: str, events: list[dict[str, Any]], name: str, minute: float, **options: Any) -> WhyNot:
    return compile(rule, undeclared="allow").why_not(events, name, int(minute * MINUTE), **options)


def outcomes(found: WhyNot) -> list[str]:
    return [part.outcome.value for part in found.parts]


def test_the_nearest_miss_is_named_with_its_value() -> None:
    found = told(FIRE, [temp(3, 20), temp(4, 44.8), other("Smoke", 5, area="A1")], "Fire", 5)
    assert outcomes(found) == ["held", "failed", "held"]
    assert found.nearest == "Temp(area=A1, value=44.8) at 1970-01-01T00:04:00Z: value 44.8 is below 45"


def test_each_part_tells_what_was_there() -> None:
    events = [temp(1, 50), temp(6, 60, "B2"), other("Rain", 9, area="A1"), other("Smoke", 10, area="A1")]
    found = told(FIRE, events, "Fire", 10)
    assert outcomes(found) == ["held", "failed", "failed"]
    lacks = {lack.text for miss in found.parts[1].misses for lack in miss.lacks}
    assert lacks == {"4 min too early for the 5 min before Smoke", "area 'B2' is not Smoke.area 'A1'"}
    assert [event.type for event in found.parts[2].events] == ["Rain"]


def test_a_rule_that_did_fire_is_told_to_have_fired() -> None:
    found = told(FIRE, [temp(4, 50), other("Smoke", 5, area="A1")], "Fire", 5)
    assert found.fired
    assert not found.failed
    assert "did fire" in found.headline()


def test_the_nearest_moment_is_looked_at() -> None:
    events = [other("Smoke", 2, area="A1"), other("Smoke", 9, area="A1"), temp(30, 1)]
    found = told(FIRE, events, "Fire", 8)
    assert found.at == 9 * MINUTE
    assert "the nearest moment to 1970-01-01T00:08:00Z" in str(found)


def test_without_a_terminator_nothing_is_decided() -> None:
    found = told(FIRE, [temp(4, 50)], "Fire", 5)
    assert found.at is None
    assert outcomes(found) == ["failed", "undecided", "undecided"]
    assert "there is no Smoke" in found.headline()


def test_an_event_may_be_named_instead_of_a_moment() -> None:
    events = [temp(4, 40), other("Smoke", 5, area="A1"), other("Smoke", 5, area="B2")]
    found = compile(FIRE, undeclared="allow").why_not(events, "Fire", event=2)
    assert found.terminator is not None
    assert found.terminator["area"] == "B2"


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("define R() from A() and $n = Count(B() within 5 min from A) and $n > 3", "$n 2 is below 3"),
        ("define R() from A() and Avg(B().v within 5 min from A) > 9", "Avg(B) 6 is below 9"),
        ("define R() from A() and Avg(C().v within 5 min from A) > 9", "there was no C at all before"),
        ("define R() from A() and all 3.. B() as Bs within 5 min from A", "Count(B) 2 is below 3"),
        ("define R() from A(v > 8)", "it arrived, but v 7 is below 8"),
        ("define R() from A() and last B() within 5 min from A and A.v < B.v", "A.v 7 is not below B.v 7"),
        ("define R() from A() and last B(v in (1, 2)) within 5 min from A", "v 7 is not one of 1, 2"),
        ("define R() from A() and last B(v = 1 or v = 2) per w within 5 min from A", "v 5 is not 1 and v 5 is not 2"),
        ("define R() from A() and each B() as Q within 5 min from A and not B() between A and Q", "Q is missing"),
        ("define R(x: double) from A() where x = A.v / (A.v - 7)", "the attribute x would have no value"),
        (
            "event B(v: int, w: string, u: int?) define R() from A() and last B(u > 3) within 5 min from A",
            "u has no value",
        ),
    ],
)
def test_what_failed_is_said_in_words(rule: str, said: str) -> None:
    events = [other("B", 6, v=5, w="x"), other("B", 8, v=7, w="y"), other("A", 9, v=7)]
    if "Q is missing" in said:
        events = events[2:]
    found = told(rule, events, "R", 9)
    assert not found.fired
    assert said in str(found)


def test_what_was_consumed_is_said() -> None:
    rule = "define R() from A() and each B() within 9 min from A consuming B"
    found = told(rule, [other("B", 1), other("A", 2), other("A", 3)], "R", 3)
    assert found.nearest == "B() at 1970-01-01T00:01:00Z: it was consumed by an earlier firing"


def test_timers_tell_of_their_moments() -> None:
    rule = "define Silent() from A() and not B() within 5 min after A"
    events = [other("A", 1), other("B", 3), other("B", 20)]
    found = told(rule, events, "Silent", 6)
    assert found.at == 6 * MINUTE
    assert outcomes(found)[-1] == "failed"
    unreached = told(rule, events[:1], "Silent", 6)
    assert unreached.at is None
    assert "were not reached" in unreached.headline()
    assert told(rule, events[:1], "Silent", 6, until="end").fired


def test_hierarchies_are_followed() -> None:
    rules = "define Hot() from Temp(value > 45); define Twice() from Hot() and last Hot() as H within 5 min from Hot"
    found = told(rules, [temp(1, 50), temp(9, 50)], "Twice", 9)
    assert found.at == 9 * MINUTE
    assert "3 min too early for the 5 min before Hot" in str(found)


def test_a_probability_that_is_too_low_is_told() -> None:
    rule = "define Hot() from Temp(value > 30) min probability 0.9"
    event = {"type": "Temp", "time": 1, "value": {"value": 30.5, "error": "N(0, 1)"}}
    found = compile(rule, undeclared="allow").why_not([event], "Hot", 1)
    assert "its probability 0.6915 is below 0.9" in str(found)


def test_rules_of_other_languages_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="TESLA alone"):
        compile("p(X) <- q(X).").why_not([{"type": "q", "time": 1, "arg1": 3}], "p", 1)


def test_a_rule_or_event_that_is_not_there_is_refused() -> None:
    program = compile(FIRE, undeclared="allow")
    with pytest.raises(OptionError, match="there is no rule 'Fier'"):
        program.why_not([temp(1, 2)], "Fier", 1)
    with pytest.raises(OptionError, match="there is no event 77"):
        program.why_not([temp(1, 2)], "Fire", event=77)
    with pytest.raises(OptionError, match="is a Temp"):
        program.why_not([temp(1, 2)], "Fire", event=0)
    with pytest.raises(OptionError, match="no moment is named"):
        program.why_not([temp(1, 2)], "Fire")


# ---- Generated rules and streams ---------------------------------------------------------------------------------

_values = st.fixed_dictionaries(
    {"x": st.integers(-3, 3), "y": st.sampled_from([-1.5, 0.0, 1.0, 2.5]), "s": st.sampled_from(["a", "b"])}
)
_events = st.builds(
    lambda kind, time, values: (kind, time, values), st.sampled_from("ABCD"), st.integers(0, 12), _values
)


def _stream(drawn: list[tuple[str, int, dict[str, Any]]]) -> EventBatch:
    ordered = sorted(drawn, key=lambda one: one[1])
    known = {each.name: {a.name for a in each.attributes} for each in TYPES}
    return EventBatch.from_events(
        Event(kind, time * SECOND, {k: v for k, v in values.items() if k in known[kind]}, id=place)
        for place, (kind, time, values) in enumerate(ordered)
    )


def _run(rule: Rule, types: Schema, events: EventBatch, relaxed: Deployed | None = None) -> list[Event]:
    engine = ReferenceEngine()
    engine.deploy([rule], types)
    if relaxed is not None:
        engine._rules[str(rule.name)] = relaxed
    return engine.feed(events).to_events()


def _relaxed(rule: Rule, found: WhyNot) -> Deployed:
    """The rule without the parts that did not hold, and without what it assigns."""
    deployed = Deployed(rule, 0)
    resolved = deployed.resolved
    held = [part.outcome is Outcome.HELD for part in found.parts[1:]]
    steps = tuple(step for step, kept in zip(resolved.steps, held, strict=False) if kept)
    absences = tuple(each for each, kept in zip(resolved.absences, held[len(resolved.steps) :], strict=False) if kept)
    terminator = resolved.terminator
    if found.parts[0].outcome is Outcome.FAILED:
        terminator = replace(terminator, constraints=())
    deployed.resolved = replace(
        resolved, terminator=terminator, steps=steps, absences=absences, assignments=(), gathers=()
    )
    deployed.values = []
    computed = {step.name for step in steps if isinstance(step, Compute)}
    deployed.needed = tuple(name for name in deployed.needed if name in computed)
    deployed.dispensable = tuple(name for name in deployed.dispensable if name in computed)
    asked = [c for s in steps if isinstance(s, Choose) for c in s.constraints]
    asked += [step.constraint for step in steps if isinstance(step, Require)]
    deployed.constraints = [*terminator.constraints, *asked]
    return deployed


@settings(max_examples=300)
@given(valid_rules(), st.lists(_events, min_size=1, max_size=14), st.integers(0, 12))
def test_told_as_the_reference_engine_has_it(
    rule: Rule, drawn: list[tuple[str, int, dict[str, Any]]], second: int
) -> None:
    checked = check(RuleSet(TYPES, (replace(rule, consuming=()),)))
    types = Schema({**checked.composites, **checked.inputs}.values())
    (rule,) = checked.rules.rules
    events = _stream(drawn)
    found = why_not(checked.rules, types, events, str(rule.name), RunOptions(), at=second * SECOND)
    made = _run(rule, types, events)
    assert bool(found.fired) == any(event.time == found.at for event in made)
    if found.at is None:
        return
    assert found.terminator is not None
    if found.fired:
        assert not found.failed
        return
    assert found.failed
    # what is said to fail is all that stands in the way: without it, the same terminator completes the rule
    relaxed = _run(rule, types, events, _relaxed(rule, found))
    assert any(event.time == found.at and event.made_of[0] == found.terminator.id for event in relaxed) or (
        found.terminator.id is None
    )
    # and each of it stands in the way by itself: with the other failures left out, the rule still does not fire
    for part in found.failed:
        if isinstance(part.step, Choose | Require | Absent):
            others = replace(
                found, parts=tuple(p if p is not part else replace(p, outcome=Outcome.HELD) for p in found.parts)
            )
            still = _run(rule, types, events, _relaxed(rule, others))
            assert all(event.time != found.at or event.made_of[0] != found.terminator.id for event in still)


@settings(max_examples=100)
@given(valid_rules(), st.lists(_events, min_size=1, max_size=14), st.integers(0, 12))
def test_consuming_rules_are_told_as_the_reference_engine_has_it(
    rule: Rule, drawn: list[tuple[str, int, dict[str, Any]]], second: int
) -> None:
    checked = check(RuleSet(TYPES, (rule,)))
    types = Schema({**checked.composites, **checked.inputs}.values())
    found = why_not(checked.rules, types, _stream(drawn), str(rule.name), RunOptions(), at=second * SECOND)
    made = _run(checked.rules.rules[0], types, _stream(drawn))
    assert bool(found.fired) == any(event.time == found.at for event in made)
    assert bool(found.fired) != bool(found.failed)


QUIET = "define Quiet() from every 10 min and not Temp() within 10 min from now"


@pytest.mark.parametrize(("minute", "at"), [(300, 300), (-50, 0), (900, 600), (604, 600)])
def test_a_moment_of_every_is_found_where_no_event_is_near(minute: float, at: float) -> None:
    events = [temp(0, 1), temp(600, 1)]
    fired = {event.time for event in compile(QUIET, undeclared="allow").detect(events).to_events()}
    found = told(QUIET, events, "Quiet", minute)
    assert found.at == at * MINUTE
    assert bool(found.fired) == (found.at in fired)
    assert len(fired) > 50


def test_moments_of_every_go_on_until_the_end_that_is_named() -> None:
    found = told(QUIET, [temp(0, 1)], "Quiet", 60, until=60 * MINUTE)
    assert found.fired
    assert found.at == 60 * MINUTE


def test_that_not_all_events_were_looked_at_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cepheus.explain.trace.MOST_LOOKED_AT", 20)
    rule = "define X() from S() and last T(v > 45) within 1 h from S"
    events = [other("T", 0, v=44.9), *(other("T", 1 + n / 10, v=1.0) for n in range(20)), other("S", 5)]
    found = told(rule, events, "X", 5)
    assert found.parts[1].says.endswith("none fits; only 20 of 21 events were looked at")
    assert "looked at" not in str(told(rule, events[:1] + events[-1:], "X", 5))


def test_that_not_all_combinations_were_looked_at_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cepheus.explain.trace.MOST_MATCHES", 2)
    events = [*(other("B", n, v=n) for n in range(4)), other("R", 4.5), other("S", 5)]
    each = "define X() from S() and each B() within 1 h from S and"
    required = told(f"{each} Count(R() between B and S) > 9", events, "X", 5).failed[0].says
    assert required.endswith("(the nearest of 2 combinations); only 2 of 4 combinations were looked at")
    absent = told(f"{each} not R() between B and S", events, "X", 5).failed[0].says
    assert absent == "there was one; only 2 of 4 combinations were looked at"


def test_what_lies_in_the_window_of_any_combination_is_counted() -> None:
    events = [other("C", 0, v=1), other("B", 1), other("B", 9), other("S", 10)]
    rule = "define X() from S() and each B() within 1 h from S and last C(v > 5) within 2 min from B"
    part = told(rule, events, "X", 10).parts[2]
    assert (part.says, part.count) == ("the only one does not fit", 1)


def test_of_simultaneous_events_the_others_are_counted() -> None:
    events = [temp(4, 40), other("Smoke", 5, area="A1"), other("Smoke", 5, area="B2")]
    found = told(FIRE, events, "Fire", 5)
    assert found.others == found.to_json()["others"] == 1
    assert "(one of 2 events then; name one by its id)" in found.headline()
    assert "one of" not in compile(FIRE, undeclared="allow").why_not(events, "Fire", event=2).headline()


def test_numbers_that_differ_are_shown_so() -> None:
    rule = "define X() from S() and last T(v = 0.3) within 1 h from S"
    found = told(rule, [other("T", 1, v=0.1 + 0.2), other("S", 2)], "X", 2)
    assert str(found.nearest).endswith("v 0.30000000000000004 is not 0.3")
