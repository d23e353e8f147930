"""How cost grows: with the rules there are, with rules that come while events flow, with single events and threads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa

from benchmarks.growth.threads import ENGINE, ThreadRow, thread_rows
from benchmarks.measuring.timing import Say, Spread, Timing, best, best_spread, feed_singly, spread, timed
from benchmarks.workloads.sequences import (
    MAX_WINDOW,
    MIN_WINDOW,
    SequenceRule,
    balanced_rules,
    chapter_rules,
    rule_text,
    types_of,
)
from benchmarks.workloads.streams import Coding, chapter, type_column
from benchmarks.workloads.subject import Subject
from cepheus.core.batch import EventBatch
from cepheus.core.options import RunOptions
from cepheus.engine.base.interface import Engine
from cepheus.runtime.embedded.catalog import Catalog
from cepheus.runtime.embedded.session import Session

CONCERNED = 10
"""How many rules an event concerns."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    few: int = 1_000
    many: int = 10_000
    events: int = 200_000
    deployed: int = 1_000
    singly: int = 20_000
    in_window: int = 5_000


FULL = Scale()
QUICK = Scale(few=100, many=1_000, events=2_000, deployed=50, singly=300, in_window=50)


@dataclass(frozen=True, slots=True)
class RuleScaling:
    """The CPU time of an event, in microseconds, with few and with many rules, of which it concerns equally many.

    ``told_by`` says how an event tells the rules it concerns: by its type, or by a value that rules ask for. The
    composite events per event are there to show that the work is the same.
    """

    told_by: str
    few: int
    many: int
    few_microseconds: float
    many_microseconds: float
    few_composites: float
    many_composites: float

    @property
    def ratio(self) -> float:
        """How many times as long an event takes with many rules."""
        return self.many_microseconds / self.few_microseconds


@dataclass(frozen=True, slots=True)
class Deployment:
    """Seconds to bring rules into a running engine, up to its next event: rules in memory, and rules as text."""

    rules: int
    engine: Timing
    text: Timing


@dataclass(frozen=True, slots=True)
class Scaling:
    """All of it."""

    rules: tuple[RuleScaling, ...]
    deployment: Deployment
    latency: Spread
    latency_composites: float
    threads: tuple[ThreadRow, ...]


def scaling(repeat: int, say: Say, scale: Scale = FULL) -> Scaling:
    """Measure with the best of so many repeats."""
    rules = tuple(_rule_scaling(told_by, repeat, say, scale) for told_by in ("type", "value"))
    say(f"deploying {scale.deployed} rules into a running engine")
    deployment = _deployment(repeat, scale)
    say(f"single events with {scale.deployed} rules")
    latency, composites = _latency(repeat, scale)
    threads = thread_rows(repeat, say, rules=scale.deployed, events=scale.events, in_window=scale.in_window)
    return Scaling(rules, deployment, latency, composites, tuple(threads))


def rules_by_type(count: int) -> str:
    """Sequences of three, told by the types of events, of which each event concerns ten.

    Where there are ten times as many types, each is ten times as rare: windows are as many times as long, so that they
    hold as many events that matter.
    """
    return rule_text(balanced_rules(count, 3, concerned=CONCERNED, seed=5, windows=_windows(count)), "last")


def rules_by_value(count: int) -> str:
    """Sequences of three of the same three types, told by the keys they ask for; each event concerns ten."""
    random = np.random.default_rng(6)
    keys = [random.permutation(count) % (count // CONCERNED) for _ in range(3)]
    low, high = _windows(count)
    rules = []
    for number in range(count):
        first, second = random.integers(low, high + 1, 2).tolist()
        constraints = tuple(f"key = {column[number]}" for column in keys)
        rules.append(SequenceRule(f"R{number}", ("First", "Second", "Third"), (first, second), constraints))
    return rule_text(rules, "last")


def events_by_value(count: int, rules: int) -> pa.Table:
    """Events of three types with keys, for ``rules_by_value``."""
    random = np.random.default_rng(7)
    return pa.table(
        {
            "type": type_column(
                random.integers(0, 3, count).astype(np.int32), ("First", "Second", "Third"), Coding.DICTIONARY
            ),
            "time": np.cumsum(random.integers(1, 20, count)),
            "key": random.integers(0, rules // CONCERNED, count),
        }
    )


def _windows(rules: int) -> tuple[int, int]:
    return MIN_WINDOW * rules // 1000, MAX_WINDOW * rules // 1000


def _rule_scaling(told_by: str, repeat: int, say: Say, scale: Scale) -> RuleScaling:
    """Time few and many rules in turn, each on a running engine: the first quarter of the events is not timed."""
    say(f"{scale.few} and {scale.many} rules, told by {told_by}")
    subjects = [_told_subject(told_by, count, scale.events) for count in (scale.few, scale.many)]
    running = scale.events // 4
    timings: list[list[Timing]] = [[], []]
    composites = [0.0, 0.0]
    for _ in range(repeat + 1):  # the first one only makes room
        for which, (subject, batch) in enumerate(subjects):
            engine = subject.engine(ENGINE)
            engine.feed(batch.slice(0, running))
            timing, found = timed(partial(engine.feed, batch.slice(running, scale.events)))
            timings[which].append(timing)
            composites[which] = len(found) / (scale.events - running)
            del found
    few, many = (1e6 * best(each[1:]).cpu / (scale.events - running) for each in timings)
    return RuleScaling(told_by, scale.few, scale.many, few, many, *composites)


def _told_subject(told_by: str, count: int, events: int) -> tuple[Subject, EventBatch]:
    """So many rules and events that tell them by type or by value."""
    if told_by == "type":
        subject = Subject.of(rules_by_type(count))
        return subject, subject.batch(chapter(events, seed=5, types=types_of(count, 3, CONCERNED)))
    subject = Subject.of(rules_by_value(count))
    return subject, subject.batch(events_by_value(events, count))


def _deployment(repeat: int, scale: Scale) -> Deployment:
    subject = Subject.of(rule_text(chapter_rules(scale.deployed), "last"))
    events = subject.batch(chapter(scale.events // 10)).to_events()
    later = events.pop()
    before = EventBatch.from_events(events)
    more = [replace(rule, name=f"N{rule.name}") for rule in chapter_rules(scale.deployed, seed=13)]
    text = rule_text(more, "last")
    fresh = Subject.of(text)
    by_engine, by_text = [], []
    for _ in range(repeat):
        engine = subject.engine(ENGINE)
        engine.feed(before)

        def deploy(engine: Engine = engine) -> None:
            engine.deploy(fresh.checked.rules.rules, fresh.schema)
            engine.feed_event(later)

        by_engine.append(timed(deploy)[0])
        session = Session(Catalog.of(subject.checked, None), RunOptions(engine=ENGINE))
        session.feed(before)

        def deploy_text(session: Session = session) -> None:
            session.deploy(text)
            session.feed(later)

        by_text.append(timed(deploy_text)[0])
    return Deployment(scale.deployed, best(by_engine), best(by_text))


def _latency(repeat: int, scale: Scale) -> tuple[Spread, float]:
    """Feed single events with full windows; give the times and the composite events per event."""
    subject = Subject.of(rule_text(chapter_rules(scale.deployed), "last"))
    batch = subject.batch(chapter(scale.singly * 3 // 2))
    filling = len(batch) // 3
    events = batch.slice(filling, len(batch)).to_events()
    runs = []
    count = 0
    for _ in range(repeat):
        engine = subject.engine(ENGINE)
        engine.feed(batch.slice(0, filling))
        taken, count = feed_singly(engine, events)
        runs.append(spread(taken))
    return best_spread(runs), count / len(events)
