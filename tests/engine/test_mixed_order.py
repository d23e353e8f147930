"""Unrelated composite events of both families: in the same order in batches and one by one, also at one time."""

from __future__ import annotations

from random import Random

import pytest

from cepheus.core.batch import EventBatch
from cepheus.core.event import Event
from cepheus.core.schema import Schema
from cepheus.core.time import MAX_TIME, SECOND
from cepheus.engine.assembly.registry import create
from cepheus.language import etalis, tesla
from cepheus.rules.check import Checked, check

TESLA = """
define Pair(v: int) from A() and each B() within 4 s from A where v = B.x
define Again(v: int) from Pair() and last A() within 3 s from Pair where v = Pair.v
define Some(v: int) from C() where v = C.x
"""
ETALIS = """
event A(x: int). event B(x: int). event C(x: int).
one(X) <- A(X). both(X, Y) <- (A(X) AND C(Y)).2 s. chain(X) <- one(X) SEQ C(_) POLICY recent.
none(X) <- NOT(B(_)).[A(X), C(_)] POLICY recent. count(N) <- C(_) WHERE N = COUNT(A(_) WITHIN 3 s).
point <- (A(_) SEQ 6 s).
"""


def _events(seed: int) -> list[Event]:
    random = Random(seed)
    times = sorted(random.randint(0, 9) for _ in range(30))
    return [Event(random.choice("ABC"), time * SECOND, {"x": random.randint(1, 3)}) for time in times]


def _made(program: Checked, name: str, events: list[Event], size: int) -> list[tuple[object, ...]]:
    types = Schema({**program.composites, **program.inputs}.values())
    engine = create(name, program.rules.all_rules, types)
    made: list[Event] = []
    for place in range(0, len(events), max(size, 1)):
        part = events[place : place + max(size, 1)]
        made += engine.feed(EventBatch.from_events(part)).to_events() if size else engine.feed_event(part[0])
    made += engine.advance(MAX_TIME).to_events()
    return [(e.type, e.time, e.id, e.made_of) for e in made]


@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_batches_give_the_order_of_single_events(engine: str) -> None:
    program = check(tesla.parse(TESLA) + etalis.parse(ETALIS))
    together = 0
    for seed in range(15):
        events = _events(seed)
        singly = _made(program, engine, events, 0)
        for size in (1, 7, 30):
            assert _made(program, engine, events, size) == singly, f"seed {seed}, batches of {size}"
        mine, others = (
            {time for kind, time, *_ in singly if str(kind)[0].isupper() is upper} for upper in (True, False)
        )
        together += len(mine & others)
    assert together > 20


def test_a_snapshot_keeps_which_rules_are_decided_late() -> None:
    program = check(tesla.parse(TESLA) + etalis.parse(ETALIS))
    types = Schema({**program.composites, **program.inputs}.values())
    events = _events(3)
    expected = _made(program, "auto", events, 0)
    engine = create("auto", program.rules.all_rules, types)
    made = engine.feed(EventBatch.from_events(events[:11])).to_events()
    other = create("auto", program.rules.all_rules, types)
    other.restore(engine.snapshot())
    made += other.feed(EventBatch.from_events(events[11:])).to_events() + other.advance(MAX_TIME).to_events()
    assert [(e.type, e.time, e.id, e.made_of) for e in made] == expected
