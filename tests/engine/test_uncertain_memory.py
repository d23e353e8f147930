"""Distributions that no window can reach any more are forgotten, and those that remain keep their meaning."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from uncertain_cases import at_work

from cepheus.core.batch import EventBatch
from cepheus.core.distribution import Discrete, Distribution, Samples
from cepheus.core.event import Event
from cepheus.core.schema import Schema
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.interface import Engine
from cepheus.engine.uncertain import error_lists as distributions
from cepheus.engine.uncertain.engine import UncertainEngine
from cepheus.engine.uncertain.error_lists import ListedErrors
from cepheus.language.tesla import parse
from cepheus.rules.check import check

RULES = """
event A(x: double, y: double) event B(x: double, y: double)
error B.y ~ D(0: 0.5, 1: 0.5)
define P(x: double, y: double) from A(x=$x and y > 0) and each B(x < 3 and y > 0.5) within 60 us from A
  where x=B.x and y=A.y
define Q(y: double) from P(x > 1) and last P() as Before within 40 us from P where y=Before.x
"""


def engine(name: str = "columns") -> Engine:
    checked = check(parse(RULES))
    schema = Schema([*checked.inputs.values(), *checked.composites.values()])
    return create(name, checked.rules.rules, schema)


def stream(count: int) -> list[Event]:
    """Give events of which each has an error of its own."""
    random = Random(7)

    def error(number: int) -> Distribution:
        return Discrete(((number / 64, 0.25), (0.0, 0.75))) if random.random() < 0.5 else Samples((number / 32, 0.5))

    return [
        Event(
            random.choice("AB"),
            3 * n,
            {"x": random.randrange(32) / 8, "y": random.randrange(-8, 16) / 8},
            id=n,
            errors={"x": error(n), "y": error(n + 1)} if random.random() < 0.8 else {},
        )
        for n in range(count)
    ]


@pytest.mark.parametrize("single", [False, True])
def test_forgetting_changes_no_answer(monkeypatch: pytest.MonkeyPatch, single: bool) -> None:
    events = stream(400)
    expected = engine("reference").feed(EventBatch.from_events(events)).to_events()
    monkeypatch.setattr(distributions, "_LEAST", 16)
    running = engine()
    batches, found = [], []
    for begin in range(0, len(events), 20):
        piece = events[begin : begin + 20]
        if single:
            found += [composite for event in piece for composite in running.feed_event(event)]
        else:
            batches.append(running.feed(EventBatch.from_events(piece)))
        if begin == 200:
            saved = running.snapshot()
            running = create("columns")
            running.restore(saved)
    for batch in batches:  # read only now: what was given away does not change when distributions are forgotten
        found += batch.to_events()
    assert isinstance(at_work(running), UncertainEngine)
    assert len(expected) > 300
    assert [(e.type, e.time, e.made_of, e.errors) for e in found] == [
        (e.type, e.time, e.made_of, e.errors) for e in expected
    ]
    for one, other in zip(found, expected, strict=True):
        assert math.isclose(one.probability, other.probability, abs_tol=1e-9)


def test_memory_stays_flat_with_errors_that_are_all_different() -> None:
    running = engine()
    sizes = []
    for block, begin in enumerate(range(0, 24_000, 2_000)):
        running.feed(EventBatch.from_events(stream_from(begin, 2_000)))
        working = at_work(running)
        assert isinstance(working, UncertainEngine)
        if block >= 3:
            held = working._listed
            sizes.append((len(held.listed), len(held.rows), len(held.ranges), len(running.snapshot())))
    early = [max(column) for column in zip(*sizes[:3], strict=True)]
    late = [max(column) for column in zip(*sizes[3:], strict=True)]
    assert all(after <= 1.1 * before for before, after in zip(early, late, strict=True))


def stream_from(first: int, count: int) -> list[Event]:
    return [
        Event("AB"[n % 2], 3 * n, {"x": 2.0, "y": 1.0}, id=n, errors={"x": Samples((n / 64, 0.0))})
        for n in range(first, first + count)
    ]


def test_numbers_are_used_again() -> None:
    held = ListedErrors()
    kept, dropped = held.number(Samples((1.0,))), held.number(Samples((2.0, 3.0)))
    held.keep(np.arange(2) == kept)
    assert held.listed[kept] == Samples((1.0,))
    assert held.number(Samples((4.0,))) == dropped
    assert ListedErrors([None, Samples((5.0,))]).number(Samples((6.0,))) == 0
