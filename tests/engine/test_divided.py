"""A rule beyond closed forms takes only itself to the reference engine, and the answers stay those of one engine."""

from __future__ import annotations

import pytest
from test_uncertain_agreement import CALCULUS, agree, find
from uncertain_cases import DECLARATIONS, UncertainCase, at_work, make_uncertain_case

from cepheus.core.batch import EventBatch
from cepheus.core.distribution import Normal
from cepheus.core.errors import OptionError, UnsupportedError
from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.schema import Schema
from cepheus.engine.assembly.divided import DividedEngine
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.interface import Engine
from cepheus.language.tesla import parse
from cepheus.rules.check import Checked, check

RULES = """
    rule Plain define Plain(v: double) from A(x > 1) as T where v = T.x
    rule Product define Product(v: double) from A(x*y > 1) as T where v = T.x
    rule Again define Again(v: double) from Product(v > 2) as T where v = T.v
    rule Latest define Latest() from A() as T and last B(x > 1 and k = 'p') within 20 us from T
    rule Twice define Twice() from A(x = $x and y = $y) as T
    and last B(x < $x and y < $y and x < $y) within 20 us from T
"""


def stream(count: int) -> tuple[Event, ...]:
    return tuple(
        Event(
            "AB"[place % 2] if place % 5 else "A",
            place // 2,
            {"x": place % 7 / 2, "y": place % 3 / 2, "n": place % 3, "k": "pq"[place % 4 == 0]},
            id=place,
            errors={"x": Normal(0.0, 1.0), "y": Normal(0.0, 0.5)} if place % 3 else {},
        )
        for place in range(count)
    )


def case_of(rules: str, events: tuple[Event, ...]) -> UncertainCase:
    text = DECLARATIONS + rules
    return UncertainCase(3, text, check(parse(text)), events)


def divided(engine: Engine) -> DividedEngine:
    found = at_work(engine)
    assert isinstance(found, DividedEngine)
    return found


@pytest.mark.parametrize("mode", ["whole", "single", "snapshot", "cut"])
def test_rules_run_where_they_can(mode: str) -> None:
    case = case_of(RULES, stream(60))
    wanted, _ = find(case, "reference", "whole")
    made, engine = find(case, "columns", mode)
    agree(case, made, wanted)
    assert {event.type for event in made} == {"Plain", "Product", "Again", "Latest", "Twice"}
    assert divided(engine).compiled == {"Plain", "Latest"}
    assert divided(engine).ties.decided is not None


@pytest.mark.parametrize("mode", ["whole", "single", "snapshot"])
def test_generated_rules_beside_one_that_is_beyond_closed_forms(mode: str) -> None:
    both = 0
    for seed in range(12):
        given = make_uncertain_case(7000 + seed, events=25, share=0.0)
        text = given.text + "\nrule Product define Product() from A(x*y > 1) as T and last B(x > 1) within 9 us from T"
        case = UncertainCase(seed, text, check(parse(text)), given.events)
        wanted, _ = find(case, "reference", "whole")
        made, engine = find(case, "columns", mode)
        agree(case, made, wanted)
        found = at_work(engine)
        both += isinstance(found, DividedEngine) and bool(found.compiled)
    assert both > 5


def ready(rules: str) -> tuple[Engine, Checked, Schema]:
    checked = check(parse(DECLARATIONS + rules))
    schema = Schema([*checked.inputs.values(), *checked.composites.values()])
    engine = create(RunOptions(engine="columns", calculus=CALCULUS), checked.rules.rules, schema)
    engine.feed(EventBatch.from_events(stream(20)))
    return engine, checked, schema


def test_rules_come_and_go_in_parts() -> None:
    engine, _, _ = ready(RULES)
    own = divided(engine)
    more = check(parse(DECLARATIONS + "rule More define More() from B(x*y > 1)\nrule Fast define Fast() from B(x > 1)"))
    schema = Schema([*more.inputs.values(), *more.composites.values()])
    engine.deploy(more.rules.rules, schema)
    assert own.compiled == {"Plain", "Latest", "Fast"}
    engine.set_factor("More", 0.5)
    engine.set_factor("Fast", 0.5)
    found = engine.feed_event(Event("B", 90, {"x": 4.0, "y": 4.0, "n": 1, "k": "p"}))
    assert [(event.type, event.probability) for event in found] == [("More", 0.5), ("Fast", 0.5)]
    engine.withdraw("More")
    engine.withdraw("Fast")
    assert engine.feed_event(Event("B", 91, {"x": 4.0, "y": 4.0, "n": 1, "k": "p"})) == []
    for name in ("More", "Nobody"):
        with pytest.raises(OptionError):
            engine.withdraw(name)
        with pytest.raises(OptionError):
            engine.set_factor(name, 0.5)
    with pytest.raises(OptionError):
        engine.deploy(more.rules.rules[:0] + check(parse(DECLARATIONS + RULES)).rules.rules[:1], schema)


def test_a_rule_that_brings_parts_together_is_refused_with_the_reason() -> None:
    engine, _, _ = ready(RULES)
    text = DECLARATIONS + RULES + "rule Joins define Joins() from Plain() as T and last Product() within 9 us from T"
    checked = check(parse(text))
    schema = Schema([*checked.inputs.values(), *checked.composites.values()])
    joins = [rule for rule in checked.rules.rules if rule.name == "Joins"]
    with pytest.raises(UnsupportedError, match="brings together rules that run apart"):
        engine.deploy(joins, schema)
    assert engine.feed_event(Event("A", 90, {"x": 4.0, "y": 4.0, "n": 1, "k": "p"}))
