"""Compiled and reference engine agree on uncertain events, however the stream is cut."""

from __future__ import annotations

import math
from random import Random

import pytest
from uncertain_cases import UncertainCase, make_uncertain_case

from cepheus.core.batch import EventBatch
from cepheus.core.distribution import Distribution, Normal
from cepheus.core.event import Event
from cepheus.core.schema import Schema
from cepheus.engine.interface import Engine
from cepheus.engine.probable.engine import ProbableEngine
from cepheus.engine.registry import create
from cepheus.uncertainty.calculus import Calculus

CALCULUS = Calculus(draws=200)


def engine_of(case: UncertainCase, name: str) -> Engine:
    schema = Schema([*case.checked.inputs.values(), *case.checked.composites.values()])
    return create(name, case.checked.rules.rules, schema, calculus=CALCULUS)


def find(case: UncertainCase, name: str, mode: str) -> tuple[list[Event], Engine]:
    random = Random(case.seed)
    engine = engine_of(case, name)
    found: list[Event] = []
    events = list(case.events)
    size = len(events) if mode == "whole" else random.randint(1, 9)
    for begin in range(0, len(events), size):
        if mode == "single":
            for event in events[begin : begin + size]:
                found += engine.feed_event(event)
        else:
            found += engine.feed(EventBatch.from_events(events[begin : begin + size])).to_events()
        if mode == "snapshot":
            data = engine.snapshot()
            engine = create(name, calculus=CALCULUS)
            engine.restore(data)
    return found, engine


def same_error(one: Distribution | None, other: Distribution | None) -> bool:
    if isinstance(one, Normal) and isinstance(other, Normal):
        return math.isclose(one.mean, other.mean, abs_tol=1e-9) and math.isclose(one.variance, other.variance)
    return str(one) == str(other)


def agree(case: UncertainCase, made: list[Event], wanted: list[Event]) -> None:
    shown = [(e.type, e.time, e.made_of) for e in made]
    assert shown == [(e.type, e.time, e.made_of) for e in wanted], f"{case.seed}\n{case.text}"
    for one, other in zip(made, wanted, strict=True):
        where = f"seed {case.seed}\n{case.text}\n{one}\n{other}"
        assert math.isclose(one.probability, other.probability, abs_tol=1e-9), where
        assert one.attributes.keys() == other.attributes.keys(), where
        for name, value in one.attributes.items():
            known = other.attributes[name]
            close = isinstance(value, float) and isinstance(known, float) and math.isclose(value, known, abs_tol=1e-9)
            assert close or value == known, where
        assert one.errors.keys() == other.errors.keys(), where
        assert all(same_error(error, other.errors[name]) for name, error in one.errors.items()), where


@pytest.mark.parametrize("mode", ["whole", "single", "snapshot"])
def test_closed_forms_agree(mode: str) -> None:
    compiled = fired = 0
    for seed in range(40):
        case = make_uncertain_case(1000 * len(mode) + seed)
        wanted, _ = find(case, "reference", "whole")
        made, engine = find(case, "columns", mode)
        agree(case, made, wanted)
        compiled += isinstance(engine.at_work, ProbableEngine)  # type: ignore[attr-defined]
        fired += len(wanted)
    assert compiled > 20
    assert fired > 150


@pytest.mark.parametrize("mode", ["whole", "snapshot"])
def test_what_has_no_closed_form_is_left_to_the_reference(mode: str) -> None:
    for seed in range(12):
        case = make_uncertain_case(5000 + seed, closed=False, events=20)
        agree(case, find(case, "columns", mode)[0], find(case, "reference", "whole")[0])


@pytest.mark.slow
def test_many_more() -> None:
    for seed in range(20_000, 21_500):
        case = make_uncertain_case(seed, closed=seed % 5 > 0, events=30)
        agree(case, find(case, "columns", "cut")[0], find(case, "reference", "whole")[0])
