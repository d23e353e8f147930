"""The streams and rules are those that the counts on record belong to."""

from __future__ import annotations

import pytest

from benchmarks.peers.contender import Job, build
from benchmarks.workloads.questions import WORKLOADS
from benchmarks.workloads.sequences import balanced_rules, chapter_rules, types_of
from benchmarks.workloads.streams import Coding, chapter, fire


@pytest.mark.parametrize("coding", list(Coding))
@pytest.mark.parametrize(
    ("workload", "count"), [("F-last", 9_733), ("F-each", 96_055), ("F-not", 15_901), ("F-avg", 4_409)]
)
def test_counts_on_record_of_100_000_events(workload: str, count: int, coding: Coding) -> None:
    assert build(Job("columns", workload, 100_000, coding))().count == count
    assert WORKLOADS[workload].expected(100_000) == count


def test_counts_on_record_of_1000_rules_with_last() -> None:
    assert build(Job("columns", "S3-last", 200_000))().count == 627_960


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workload", "size", "count"),
    [
        ("F-last", 1_000_000, 99_937),
        ("F-each", 1_000_000, 990_519),
        ("F-not", 1_000_000, 161_448),
        ("F-avg", 1_000_000, 50_809),
        ("S3-each", 200_000, 18_976_829),
    ],
)
def test_counts_on_record_of_full_size(workload: str, size: int, count: int) -> None:
    assert build(Job("columns", workload, size))().count == count == WORKLOADS[workload].expected(size)


def test_the_chapter_stream_and_rules_begin_as_on_record() -> None:
    assert chapter(200_000).slice(0, 3).to_pylist() == [
        {"type": "T21", "time": 3, "value": 36.905},
        {"type": "T214", "time": 6, "value": 69.281},
        {"type": "T261", "time": 22, "value": 65.594},
    ]
    assert [(*rule.events, *rule.windows) for rule in chapter_rules(3)] == [
        ("T74", "T182", "T291", 8786, 8786),
        ("T174", "T59", "T53", 9611, 9611),
        ("T200", "T199", "T283", 22927, 22927),
    ]


def test_the_fire_stream_begins_as_on_record() -> None:
    assert fire(1_000_000, 7).slice(0, 2).to_pylist() == [
        {"type": "Temp", "time": 18, "area": 20, "value": 41.213},
        {"type": "Smoke", "time": 30, "area": 25, "value": None},
    ]
    assert fire(1_000_000, 9, rain=True).slice(0, 2).to_pylist() == [
        {"type": "Rain", "time": 9, "area": 29, "value": None},
        {"type": "Temp", "time": 26, "area": 27, "value": 15.784},
    ]


def test_counts_on_record_do_not_apply_to_fewer_rules() -> None:
    assert WORKLOADS["S3-last"].expected(200_000, 1000) == 627_960
    assert WORKLOADS["S3-last"].expected(200_000, 100) is None
    assert WORKLOADS["F-last"].expected(4_000) is None


@pytest.mark.parametrize("length", [2, 6])
def test_an_event_concerns_exactly_one_rule_in_a_hundred(length: int) -> None:
    rules = balanced_rules(1000, length, concerned=10, seed=length)
    concerned = {f"T{number}": 0 for number in range(types_of(1000, length, 10))}
    for rule in rules:
        assert len(set(rule.events)) == length
        for event in rule.events:
            concerned[event] += 1
    assert set(concerned.values()) == {10}
    windows = [window for rule in rules for window in rule.windows]
    assert 14_500 < sum(windows) / len(windows) < 15_500
