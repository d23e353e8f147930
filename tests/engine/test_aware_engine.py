"""Fast engines that give way as soon as there is something uncertain: nothing is lost or doubled on the way."""

from __future__ import annotations

import copy
import pickle
import random

import pytest

import cepheus
from benchmarks.papers.uncertainty.overhead import OPERATORS, Operator, rules, stream
from benchmarks.workloads.subject import Subject
from cepheus.core.batch import EventBatch
from cepheus.core.distribution import Normal
from cepheus.core.errors import OptionError, UnsupportedError
from cepheus.core.event import Event
from cepheus.engine.assembly.certain_first import CertainFirstEngine
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.interface import Engine
from cepheus.engine.columns.engine import ColumnsEngine
from cepheus.engine.uncertain.engine import UncertainEngine
from cepheus.runtime.embedded.catalog import Catalog

RULES = """
rule R1 define Hot(area: string, value: double)
from Smoke(area=$a) and last Temp(area=$a and value>30) within 20 us from Smoke where area=$a and value=Temp.value
consuming Temp
rule R2 define Quiet(n: int) from Smoke(area=$a) and each Temp(area=$a and 10 < value < 40) within 9 us from Smoke
and not Rain(x>0) within 5 us from Smoke and $n = Count(Temp(value>20) within 30 us from Smoke) where n=$n
rule R3 define Again() from Hot(value=$v) and last Hot(value<$v) as Before within 50 us from Hot
"""


def deployed(name: str, rules: str = RULES) -> Engine:
    program = cepheus.compile(rules)
    return create(name, program.rules.rules, Catalog.of(program.checked).types)


def doubtful_stream(count: int, seed: int, uncertain_from: int) -> list[Event]:
    draw = random.Random(seed)
    events = []
    for k in range(count):
        kind = draw.choice(["Smoke", "Temp", "Temp", "Rain"])
        attributes: dict[str, str | float] = {
            "area": draw.choice("ab"),
            "value": float(draw.randrange(60)),
            "x": float(draw.randrange(-3, 2)),
        }
        wanted = {"Smoke": ("area",), "Temp": ("area", "value"), "Rain": ("x",)}[kind]
        errors = {}
        if k >= uncertain_from and draw.random() < 0.5 and kind != "Smoke":
            errors = {wanted[-1]: Normal(0.0, draw.choice([1.0, 4.0]))}
        events.append(Event(kind, 2 * k, {name: attributes[name] for name in wanted}, id=k, errors=errors))
    return events


def shown(events: list[Event]) -> list[tuple[object, ...]]:
    return [
        (e.type, e.time, round(e.probability, 9), e.made_of, str(dict(e.attributes)), str(e.errors)) for e in events
    ]


@pytest.mark.parametrize("name", ["columns", "automata"])
@pytest.mark.parametrize("uncertain_from", [0, 40, 1000])
def test_gives_what_the_reference_gives(name: str, uncertain_from: int) -> None:
    events = doubtful_stream(120, 5, uncertain_from)
    expected = deployed("reference")
    engine = deployed(name)
    made, wanted = [], []
    for event in events:
        made += engine.feed_event(event)
        wanted += expected.feed_event(event)
    assert shown(made) == shown(wanted)
    assert len(wanted) > 20


def test_batches_snapshots_and_rules_that_come_later() -> None:
    events = doubtful_stream(150, 8, 60)
    expected, engine = deployed("reference"), deployed("columns")
    late = "rule Late define L() from Smoke() and each Temp(value>25) within 12 us from Smoke"
    program = cepheus.compile(late)
    made, wanted = [], []
    for start in range(0, 150, 10):
        if start == 30:
            for each in (expected, engine):
                each.deploy(program.rules.rules, Catalog.of(program.checked).types)
        if start in (40, 100):
            data = engine.snapshot()
            engine = create("columns")
            engine.restore(data)
        batch = EventBatch.from_events(events[start : start + 10])
        made += engine.feed(batch).to_events()
        wanted += expected.feed(batch).to_events()
    assert shown(made) == shown(wanted)


def test_factors() -> None:
    engine = deployed("columns", "rule R define A() from B() min probability 0.5")
    with pytest.raises(OptionError, match="no rule named 'S'"):
        engine.set_factor("S", 0.5)
    with pytest.raises(OptionError, match="not a probability"):
        engine.set_factor("R", 1.5)
    engine.set_factor("R", 1.0)
    assert [e.probability for e in engine.feed_event(Event("B", 1))] == [1.0]
    engine.set_factor("R", 0.75)
    assert [e.probability for e in engine.feed_event(Event("B", 2))] == [0.75]
    engine.set_factor("R", 0.25)
    assert engine.feed_event(Event("B", 3)) == []


def test_the_probability_of_a_composite_event_does_not_count() -> None:
    engine = deployed("columns", "rule R define A() from B()")
    made = engine.feed_event(Event("B", 1, probability=0.5, rule="Other", made_of=(1, 2)))
    assert [e.probability for e in made] == [1.0]
    assert [e.probability for e in engine.feed_event(Event("B", 2, probability=0.5))] == [0.5]


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_certain_events_are_the_plain_engines_bit_for_bit(operator: Operator) -> None:
    subject = Subject.of(rules(operator, 10))
    ready, plain = subject.engine("columns"), ColumnsEngine()
    plain.deploy(subject.checked.rules.rules, subject.schema)
    events = stream(operator, 600, 0.5, 0.0)
    count = 0
    for begin in range(0, 500, 100):
        batch = events.slice(begin, begin + 100)
        made, wanted = ready.feed(batch), plain.feed(batch)
        assert made.probabilities is None
        assert not made.errors
        assert made.to_events() == wanted.to_events()
        count += len(made)
    for event in events.slice(500, 600).to_events():
        made_singly, wanted_singly = ready.feed_event(event), plain.feed_event(event)
        assert made_singly == wanted_singly
        assert all(event.probability == 1.0 for event in made_singly)
        count += len(made_singly)
    assert count > 100
    assert ready.snapshot() == plain.snapshot()


@pytest.mark.parametrize("name", ["columns", "automata"])
def test_rules_with_declared_errors_beyond_closed_forms_go_to_the_reference(name: str) -> None:
    engine, reference = (
        deployed(
            each,
            "event A(x: double) event C(x: double) error C.x ~ N(0, 1) "
            "define B(x: double) from A() and $s = Stddev(C().x within 9 us from A) where x = $s",
        )
        for each in (name, "reference")
    )
    engine.feed(EventBatch.from_events([Event("C", 1, {"x": 1.0}), Event("C", 2, {"x": 2.0})]))
    reference.feed(EventBatch.from_events([Event("C", 1, {"x": 1.0}), Event("C", 2, {"x": 2.0})]))
    (found,), (expected,) = (each.feed_event(Event("A", 3, {"x": 0.0})) for each in (engine, reference))
    assert str(found.errors["x"]) == str(expected.errors["x"])
    assert isinstance(engine, CertainFirstEngine)
    assert engine.at_work.name == "reference"


def test_a_refused_rule_leaves_an_engine_that_can_be_saved() -> None:
    engine = UncertainEngine()
    program = cepheus.compile("event T(x: double) error T.x ~ N(0, 1) define B() from T(x*x > 1)")
    with pytest.raises(UnsupportedError):
        engine.deploy(program.rules.rules, Catalog.of(program.checked).types)
    assert engine.saved().rules == ()


@pytest.mark.parametrize("name", ["reference", "columns", "automata"])
def test_composite_events_can_be_pickled_and_copied(name: str) -> None:
    engine = deployed(name)
    engine.feed(EventBatch.from_events([Event("Temp", 1, {"area": "A", "value": 35.0})]))
    found = engine.feed_event(Event("Smoke", 5, {"area": "A"}))
    assert found
    assert pickle.dumps(found)
    assert copy.deepcopy(found) == found
