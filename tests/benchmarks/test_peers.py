"""All contenders give the reference engine's answer, and their times are put together as they should be."""

from __future__ import annotations

import pytest

from benchmarks.measuring.timing import Timing
from benchmarks.peers.compare import Baseline, PeerRow, peers
from benchmarks.peers.contender import BEST, OURS, Answer, Job, build, formulations
from benchmarks.peers.worker import Worker
from benchmarks.workloads.questions import WORKLOADS, Requirement, Unit
from benchmarks.workloads.streams import Coding
from cepheus.core.errors import OptionError

SIZE = 1_500
RULES = 60


def answer(contender: str, workload: str, formulation: str = BEST, coding: Coding = Coding.DICTIONARY) -> Answer:
    return build(Job(contender, workload, SIZE, coding, formulation, RULES))()


@pytest.mark.parametrize("workload", WORKLOADS)
def test_everyone_gives_the_answer_of_the_reference_engine(workload: str) -> None:
    expected = answer("reference", workload)
    assert expected.count > 40
    for engine in (OURS, "automata"):
        assert answer(engine, workload).agrees(expected), engine
    assert answer(OURS, workload, coding=Coding.PLAIN).agrees(expected)
    for baseline in ("duckdb", "polars"):
        for formulation in formulations(baseline, workload):
            assert answer(baseline, workload, formulation).agrees(expected), (baseline, formulation)


def test_answers_that_differ_in_a_column_do_not_agree() -> None:
    none = Timing(0.0, 0.0)
    one = Answer(none, none, 2, {"time": 10.0, "temp": 1.0})
    assert one.agrees(Answer(none, none, 2, {"time": 10.0, "temp": 1.0 + 1e-12}))
    assert not one.agrees(Answer(none, none, 2, {"time": 10.0, "temp": 1.001}))
    assert not one.agrees(Answer(none, none, 3, {"time": 10.0, "temp": 1.0}))
    assert not one.agrees(Answer(none, none, 2, {"time": 10.0}))


def test_a_worker_runs_jobs_and_tells_what_it_cannot_do() -> None:
    with Worker() as worker:
        worker.prepare(Job("duckdb", "F-last", SIZE))
        assert worker.run().agrees(answer("reference", "F-last"))
        with pytest.raises(OptionError, match="there is no engine 'sqlite'"):
            worker.prepare(Job("sqlite", "F-last", SIZE))
        worker.prepare(Job(OURS, "F-each", SIZE, Coding.PLAIN))
        assert worker.run().agrees(answer("reference", "F-each"))


def test_small_streams_from_end_to_end() -> None:
    said: list[str] = []
    rows = peers(["F-each"], 1, said.append, quick=True)
    assert [(row.workload, row.coding, row.events, row.missing) for row in rows] == [
        ("F-each", Coding.DICTIONARY, 4_000, ()),
        ("F-each", Coding.PLAIN, 4_000, ()),
    ]
    assert {row.composites for row in rows} == {3_140}
    assert [(each.name, each.formulation) for each in rows[0].baselines] == [
        ("polars", "best"),
        ("duckdb", "best"),
        ("polars", "other"),
        ("duckdb", "natural"),
    ]
    assert all(row.whole.cpu > row.feed.cpu > 0 for row in rows)
    assert said[0] == "F-each, dictionary types"


def test_a_workload_that_does_not_exist() -> None:
    with pytest.raises(OptionError, match="did you mean 'F-last'"):
        peers(["F-lst"], 1, print, quick=True)


def row(requirement: Requirement, *baselines: Baseline) -> PeerRow:
    ours = Timing(wall=0.2, cpu=0.1)
    return PeerRow("F", Coding.PLAIN, 100_000, 50_000, ours, ours, baselines, requirement)


def test_the_best_baseline_and_what_is_met() -> None:
    slow = Baseline("duckdb", "natural", "", Timing(0.1, 0.9))
    fast = Baseline("polars", "best", "", Timing(0.2, 0.15))
    both = row(Requirement(1.5, Unit.RATIO), slow, fast)
    assert both.best_baseline is fast
    assert both.ratio == pytest.approx(1.5)
    assert row(Requirement(1.4, Unit.RATIO), slow, fast).met is True
    assert row(Requirement(1.6, Unit.RATIO), slow, fast).met is False
    assert row(Requirement(1.5, Unit.RATIO)).met is None
    assert row(Requirement(1e6, Unit.EVENTS)).met is True
    assert row(Requirement(1.1e6, Unit.EVENTS)).met is False
    assert row(Requirement(4e5, Unit.COMPOSITES)).met is True
    assert row(Requirement(6e5, Unit.COMPOSITES)).met is False
