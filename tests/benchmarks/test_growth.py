"""Growth with rules, memory and start-up: what is measured is what is meant."""

from __future__ import annotations

import pytest

from benchmarks.growth import footprint, scaling, startup
from benchmarks.growth.scaling import CONCERNED, events_by_value, rules_by_type, rules_by_value
from benchmarks.growth.threads import IN_ONE_WINDOW, KEYLESS, PLAIN_LOOP, QUESTIONS
from benchmarks.measuring.processes import MEBIBYTE
from benchmarks.workloads.sequences import chapter_rules, rule_text, types_of
from benchmarks.workloads.streams import chapter
from benchmarks.workloads.subject import Subject
from cepheus.core.batch import EventBatch

TINY = scaling.Scale(few=20, many=100, events=400, deployed=30, singly=100)


def count(subject: Subject, events: EventBatch, engine: str, first: int = 0) -> int:
    """Count what the events from the first one on complete."""
    running = subject.engine(engine)
    running.feed(events.slice(0, first))
    return len(running.feed(events.slice(first, len(events))))


def test_more_rules_of_which_an_event_concerns_as_many() -> None:
    said: list[str] = []
    measured = scaling.scaling(1, said.append, TINY)
    for row in measured.rules:
        for rules, composites in ((row.few, row.few_composites), (row.many, row.many_composites)):
            if row.told_by == "type":
                subject = Subject.of(rules_by_type(rules))
                events = chapter(400, seed=5, types=types_of(rules, 3, CONCERNED))
            else:
                subject = Subject.of(rules_by_value(rules))
                events = events_by_value(400, rules)
            assert composites * 300 == pytest.approx(count(subject, subject.batch(events), "reference", first=100))
            assert composites > 1
        assert row.ratio == row.many_microseconds / row.few_microseconds
    assert [row.told_by for row in measured.rules] == ["type", "value"]
    assert measured.deployment.rules == 30
    assert measured.deployment.text.wall > 0
    assert measured.latency.p50 <= measured.latency.p99 <= measured.latency.worst
    assert [(row.workload, row.threads) for row in measured.threads] == [
        (name, threads) for name in (PLAIN_LOOP, *QUESTIONS, KEYLESS, IN_ONE_WINDOW) for threads in (1, 2)
    ]
    assert {row.speedup for row in measured.threads if row.threads == 1} == {1.0}
    assert said[0] == "20 and 100 rules, told by type"


def test_memory_of_processes_of_their_own() -> None:
    measured = footprint.footprint(lambda _: None, footprint.Scale(rules=30, blocks=2, block=1_000, stored=20_000))
    assert [passed for passed, _ in measured.flow] == [1_000, 2_000]
    assert all(size > 20 * MEBIBYTE for _, size in measured.flow)
    subject = Subject.of(rule_text(chapter_rules(30), "each"))
    first = chapter(1_000, seed=11)
    second = chapter(1_000, seed=12, start=first.column("time")[-1].as_py())
    events = EventBatch.concat([subject.batch(first), subject.batch(second)])
    assert measured.composites == count(subject, events, "reference") > 0
    assert measured.stored == 20_000
    assert 1 <= measured.entries < 2
    assert 0 < measured.per_stored < 1_000


def test_growth_of_memory_is_from_the_first_block_to_the_last() -> None:
    measured = footprint.Footprint(((1, 100), (2, 300), (3, 110)), 5, 10, 60.0, 1.0)
    assert measured.growth == pytest.approx(0.1)


def test_a_fresh_process() -> None:
    measured = startup.startup(1, lambda _: None, quick=True)
    assert measured.rules == 50
    assert measured.first_ever is None
    assert measured.whole > measured.imports + measured.rules_compiled + measured.first_event > 0
