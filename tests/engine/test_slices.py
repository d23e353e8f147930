"""Batches cut into slices of time: the same answers, counts and state as one engine has."""

from __future__ import annotations

from math import inf
from random import Random
from typing import TypeVar

import numpy as np
import pytest
from agreement import COPIED

from cepheus.core.batch import EventBatch
from cepheus.core.errors import LimitError
from cepheus.core.event import Event
from cepheus.core.schema import Schema
from cepheus.engine.columns.engine import ColumnsEngine
from cepheus.engine.parallel import slices
from cepheus.engine.parallel.slices import Slice, SlicedEngine, cut
from cepheus.language.tesla import parse
from cepheus.plan.split.memory import memory
from cepheus.rules.check import check
from cepheus.rules.resolve import resolve

Running = TypeVar("Running", bound=ColumnsEngine)

DECLARED = "event A(x: int, y: double, s: string) event B(x: int, y: double, s: string) event C(x: int)\n"
PAIRS = "define P(x: int) from A(x=$k) and each B(x=$k) within 40 us from A where x=A.x\n"
LAST = "define Q(s: string) from A(s=$k) and last B(s=$k and y > 5) within 90 us from A where s=upper(B.s)\n"
MEAN = "define M(y: double) from A(x=$k) and $m = Avg(B(x=$k).y within 200 us from A) where y=$m\n"
ABSENT = "define N(x: int) from A(x=$k) and not B(x=$k) within 30 us from A where x=A.x\n"
ON_TOP = (
    "define R(x: int) from P(x=$k) and each P(x=$k) as Before within 100 us from P and not N() within 9 us from P "
    "where x=P.x\n"
)
CONSUMING = "define Z() from A() and last B() within 50 us from A consuming B\n"
TIMED = "define T() from 5 us after A() and last B() within 9 us from A\n"
SINCE_START = "define S(n: int, y: double?) from A(x=$k) where n=Count(B() since start), y=Sum(B(x=$k).y since start)\n"
FED_SINCE_START = SINCE_START + "define U(n: int) from C() and last S() within 20 us from C where n=S.n\n"
RECURSIVE = "define W(x: int) from A(x=$k) and last W(x=$k) within 9 us from A where x=W.x\n"


@pytest.fixture(autouse=True)
def cut_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "LEAST_SLICE", 1)
    monkeypatch.setattr(slices, "_MOST_TWICE", inf)


def deployed(engine: Running, text: str, known: str = "") -> Running:
    checked = check(parse(DECLARED + known + text))
    schema = Schema([*checked.inputs.values(), *checked.composites.values()])
    engine.deploy(checked.rules.rules[len(check(parse(DECLARED + known)).rules.rules) :], schema)
    return engine


def stream(count: int, seed: int = 1, start: int = 0) -> EventBatch:
    random = Random(seed)
    return EventBatch.from_events(
        Event(
            random.choice("AABBC"),
            start + 10 * n // 3,
            {"x": random.randint(0, 9), "y": round(random.uniform(0, 50), 1), "s": random.choice("abcdef")},
        )
        for n in range(count)
    )


@pytest.mark.parametrize("rules", [PAIRS, LAST, MEAN, ABSENT, PAIRS + LAST + MEAN + ABSENT, PAIRS + ABSENT + ON_TOP])
@pytest.mark.parametrize("threads", [2, 3, 8])
def test_slices_are_cut_and_give_what_one_engine_gives(rules: str, threads: int) -> None:
    one, several = deployed(ColumnsEngine(), rules), deployed(SlicedEngine(threads=threads), rules)
    for number in range(4):
        batch = stream(1500, number, 5000 * number)
        found = several.feed(batch)
        assert len(found.chunks) == threads
        assert found.to_events() == one.feed(batch).to_events()
        assert several.ties == one.ties
        assert several.feed_event(Event("A", 5000 * number + 4999, {"x": 1, "y": 1.0, "s": "a"})) == one.feed_event(
            Event("A", 5000 * number + 4999, {"x": 1, "y": 1.0, "s": "a"})
        )


@pytest.mark.parametrize("threads", [2, 3])
def test_a_snapshot_is_that_of_one_engine(threads: int) -> None:
    rules = PAIRS + LAST + MEAN
    one, several = deployed(ColumnsEngine(), rules), deployed(SlicedEngine(threads=threads), rules)
    for engine in (one, several):
        engine.feed(stream(900))
    restored, other = ColumnsEngine(), SlicedEngine(threads=3)
    restored.restore(several.snapshot())
    other.restore(one.snapshot())
    expected = one.feed(stream(900, 2, 3000)).to_events()
    assert restored.feed(stream(900, 2, 3000)).to_events() == expected
    assert other.feed(stream(900, 2, 3000)).to_events() == expected
    assert len(other._followers) == 2


def test_rules_that_come_and_go_while_slices_are_cut() -> None:
    one, several = deployed(ColumnsEngine(), PAIRS), deployed(SlicedEngine(threads=2), PAIRS)
    for engine in (one, several):
        engine.feed(stream(600))
        deployed(engine, LAST + MEAN, PAIRS)
    assert several.feed(stream(600, 2, 2000)).to_events() == one.feed(stream(600, 2, 2000)).to_events()
    for engine in (one, several):
        engine.withdraw("P")
    assert several.feed(stream(600, 3, 4000)).to_events() == one.feed(stream(600, 3, 4000)).to_events()
    assert len(several._followers) == 1


@pytest.mark.parametrize("rules", [CONSUMING, RECURSIVE, TIMED, FED_SINCE_START])
def test_what_is_remembered_for_ever_is_not_cut(rules: str) -> None:
    one, several = deployed(ColumnsEngine(), rules), deployed(SlicedEngine(threads=2), rules)
    assert memory(map(resolve, check(parse(DECLARED + rules)).rules.rules)) is None
    assert several.feed(stream(900)).to_events() == one.feed(stream(900)).to_events()
    assert not several._followers


@pytest.mark.parametrize("crowded", [100, 1400])
def test_a_limit_is_exceeded_in_the_slice_where_one_engine_would_stop(crowded: int) -> None:
    """The state is that of one engine then, too: both go on after the error with the same answers."""
    rules = "define L() from C() and each B() within 30 us from C\n"
    events = stream(1500).to_events()
    at = events[crowded].time
    events = [*events[:crowded], *(Event("B", at, {"x": 1, "y": 1.0, "s": ""}) for _ in range(40)), *events[crowded:]]
    one, several = deployed(ColumnsEngine(limit=20), rules), deployed(SlicedEngine(20, threads=2), rules)
    for engine in (one, several):
        with pytest.raises(LimitError, match="rule 'L' would make more than 20"):
            engine.feed(EventBatch.from_events(events))
    later = stream(300, 5, at + 31)
    assert several.feed(later).to_events() == one.feed(later).to_events()


def test_slices_hold_equal_work_and_are_fewer_where_more_would_not_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "LEAST_SLICE", 1000)
    monkeypatch.setattr(slices, "_MOST_TWICE", 0.5)
    times = np.arange(10_000, dtype=np.int64)
    assert [part.end - part.begin for part in cut(times, 0, 4, is_first=False)] == [2499, 2500, 2500, 2501]
    assert len(cut(times, 2_000, 8, is_first=True)) == 2
    assert cut(times, 9_000, 8, is_first=True) == [Slice(0, 0, 10_000)]
    assert len(cut(times[:1500], 0, 8, is_first=True)) == 1
    same_time = np.zeros(10_000, np.int64)
    assert len(cut(same_time, 10, 2, is_first=False)) == 1, "what came before the batch may matter to all of it"


@pytest.fixture
def copy_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in COPIED.items():
        monkeypatch.setattr(slices, name, value)


@pytest.mark.usefixtures("copy_anywhere")
@pytest.mark.parametrize(
    "rules", [PAIRS, LAST, MEAN, ABSENT, PAIRS + LAST + MEAN + ABSENT, SINCE_START, PAIRS + SINCE_START]
)
@pytest.mark.parametrize("threads", [2, 3, 8])
def test_slices_that_begin_with_copies_give_what_one_engine_gives(rules: str, threads: int) -> None:
    one, several = deployed(ColumnsEngine(), rules), deployed(SlicedEngine(threads=threads), rules)
    for number in range(4):
        batch = stream(700, number, 2400 * number)
        found = several.feed(batch)
        assert len(several._followers) == threads - 1
        assert found.to_events() == one.feed(batch).to_events()
        assert several.ties == one.ties
        single = Event("A", 2400 * number + 2390, {"x": 1, "y": 1.0, "s": "a"})
        assert several.feed_event(single) == one.feed_event(single)
    restored = ColumnsEngine()
    restored.restore(several.snapshot())
    assert restored.feed(stream(300, 9, 9600)).to_events() == one.feed(stream(300, 9, 9600)).to_events()


@pytest.mark.usefixtures("copy_anywhere")
@pytest.mark.parametrize("rules", [CONSUMING, RECURSIVE, TIMED, PAIRS + ABSENT + ON_TOP])
def test_what_leaves_a_trace_is_not_left_to_copies(rules: str) -> None:
    one, several = deployed(ColumnsEngine(), rules), deployed(SlicedEngine(threads=2), rules)
    assert several.feed(stream(900)).to_events() == one.feed(stream(900)).to_events()
    assert not several._followers


@pytest.mark.usefixtures("copy_anywhere")
@pytest.mark.parametrize("crowded", [20, 700, 1400])
def test_a_limit_is_exceeded_where_one_engine_would_stop_with_copies_as_well(crowded: int) -> None:
    test_a_limit_is_exceeded_in_the_slice_where_one_engine_would_stop(crowded)


def test_copies_are_made_where_evaluating_costs_many_times_what_storing_does() -> None:
    rules = "define Pair() from A() and each B() within 1 h from A"
    one, several = deployed(ColumnsEngine(), rules), deployed(SlicedEngine(threads=2), rules)
    batch = stream(9000)
    found = several.feed(batch)
    assert len(several._followers) == 1
    assert len(found) == len(one.feed(batch)) > 2_000_000
    several._cost = 100e-9
    assert not several._is_worth_a_look(600), "what the last batch has cost tells"
    assert several._is_worth_a_look(60_000)


def test_chunks_are_put_together_when_somebody_asks() -> None:
    engine = deployed(SlicedEngine(threads=2), PAIRS)
    found = engine.feed(stream(900))
    expected = deployed(ColumnsEngine(), PAIRS).feed(stream(900))
    assert len(found) == len(expected) == sum(map(len, found.chunks))
    assert found.slice(3, 70).to_events() == expected.slice(3, 70).to_events()
    assert found.chunks == ()
