"""What a task does with its rows: events to an engine, composite events out. Arrow in, Arrow out, no Spark.

For streams, which forget, also how far back the past of rules can matter.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
import pyarrow as pa

from cepheus.core.batch import EventBatch
from cepheus.core.options import RunOptions
from cepheus.core.schema import Schema
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.engine.assembly.ending import begin_input, end_input
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.interface import Engine
from cepheus.engine.base.ties import TieCounts
from cepheus.rules.belief.model import Belief
from cepheus.rules.interval.model import Atom, IntervalRule
from cepheus.rules.interval.reach import chooses, points
from cepheus.rules.interval.reach import reach as reach_of_intervals
from cepheus.rules.model import AnyRule, Rule, RuleSet
from cepheus.rules.resolve import resolve
from cepheus.rules.resolved import Choose, Compute, ResolvedRule, reach, since_start
from cepheus.rules.rows.model import RowRule
from cepheus.rules.timers import Every
from cepheus.rules.walk import walk
from cepheus.runtime.spark.layout import (
    OWNED,
    OWNED_COLUMN,
    SHARD,
    TYPE,
    CompositeLayout,
    EventLayout,
    with_owner_mark,
    with_owner_marks,
)
from cepheus.runtime.spark.order import settle_ties
from cepheus.uncertainty.belief.belief import beliefs_of

FEED = 1 << 16
"""How many rows are gathered before an engine is fed: enough to make its work per batch small."""


@dataclass(frozen=True, slots=True)
class GroupJob:
    """What the shards of one group of rules run; ``shards`` are their numbers.

    ``edges`` are the times between which each shard keeps composite events, if the group is split by time. With
    ``marks_owned`` composite events know whether they are the shard's own. ``beliefs`` are the networks of rules of the
    group.
    ``lasts`` are the times of the first and the last event of all shards, if rules of the group have timers.
    ``tells_late`` are the types of events whose late ones this group tells of, None for all: an event that several
    groups look at is told of by the first of them.
    """

    rules: tuple[AnyRule, ...]
    schema: Schema
    options: RunOptions
    shards: range
    edges: tuple[int, ...] = ()
    marks_owned: bool = False
    beliefs: tuple[Belief, ...] = ()
    lasts: tuple[int, int] | None = None
    tells_late: frozenset[str] | None = None

    def finish(self, engine: Engine) -> EventBatch:
        """What is complete when the input is over."""
        last = None if self.lasts is None else self.lasts[1]
        return end_input(engine, RuleSet.of(self.rules), self.options.until, last)

    def start(self) -> Engine:
        """Start an engine with the rules of the group."""
        rules, schema = self.rules, self.schema
        if self.marks_owned:
            rules = tuple(with_owner_mark(rule) if isinstance(rule, Rule) else rule for rule in rules)
            schema = with_owner_marks(schema)
        beliefs = beliefs_of(RuleSet.of(rules, self.beliefs))
        engine = create(self.options, rules, schema, beliefs=beliefs)
        if self.lasts is not None:
            begin_input(engine, self.lasts[0])
        return engine

    @property
    def points(self) -> tuple[int, ...]:
        """The points in time, in order, at which something happens though there be no event."""
        return points(self.rules)

    def begins(self, shard: int) -> int:
        """The time from which a shard's terminators are its own; those before are there for what they feed."""
        place = shard - self.shards.start
        return self.edges[place - 1] if self.edges and place > 0 else MIN_TIME

    def kept(self, shard: int, composites: EventBatch) -> EventBatch:
        """Keep the composite events that belong to a shard; the others are another's."""
        if not len(composites):
            return composites
        place = shard - self.shards.start
        mask = np.ones(len(composites), np.bool_)
        if self.marks_owned:
            mask &= composites.columns[OWNED_COLUMN].to_numpy(zero_copy_only=False)
        if self.edges and place > 0:
            mask &= composites.times >= self.edges[place - 1]
        if place < len(self.edges):
            mask &= composites.times < self.edges[place]
        return composites if mask.all() else composites.take(np.flatnonzero(mask))


@dataclass(frozen=True, slots=True)
class Job:
    """All that a task needs to know; pickled once per task."""

    events: EventLayout
    composites: CompositeLayout
    groups: tuple[GroupJob, ...]

    def group_of(self, shard: int) -> GroupJob:
        """The group that a shard belongs to."""
        return next(group for group in self.groups if shard in group.shards)

    @property
    def awake(self) -> tuple[int, ...]:
        """The shards that have something to do though there be no event for them: a mark brings them to their tasks."""
        return tuple(shard for group in self.groups if group.points or group.lasts for shard in group.shards)

    def run(self, batches: Iterable[pa.RecordBatch]) -> Generator[pa.RecordBatch, None, TieCounts]:
        """Run the rows of a task, which come in order of time and may belong to several shards.

        Which shards they are is told by the rows alone: the number of a task is another one in every query. A row
        without a type is no event but a mark, by which a shard that is ``awake`` comes to a task. In the end it returns
        what the shards counted of simultaneous events.
        """
        running: dict[int, ShardRun] = {}
        marked = bool(self.awake)
        for given in batches:
            marks, rows = _marks(given) if marked else ((), given)
            for shard in marks:
                if shard not in running:
                    running[shard] = ShardRun(self, shard)
            for shard, part in _by_shard(self.events.errors.sound(rows)):
                if shard not in running:
                    running[shard] = ShardRun(self, shard)
                yield from self._out(running[shard].push(part))
        for run in running.values():
            yield from self._out(run.finish())
        return sum((run.ties for run in running.values()), TieCounts.none())

    def told_late(self, shard: int, late: pa.Table) -> pa.Table:
        """The late events that a shard tells of; those that other shards get, too, are told of by one of them."""
        tells = self.group_of(shard).tells_late
        if tells is not None:
            codes = [code for code, name in enumerate(self.events.types) if name in tells]
            late = late.filter(pa.array(np.isin(late.column(TYPE).to_numpy(), codes)))
        return late.filter(late.column(OWNED)) if self.events.marks_owned else late

    def _out(self, composites: EventBatch) -> Iterator[pa.RecordBatch]:
        if len(composites):
            yield self.composites.rows(composites)


def _marks(rows: pa.RecordBatch) -> tuple[Sequence[int], pa.RecordBatch]:
    """Take out the marks, which stand before all events: the shards that they stand for, one each, and the events."""
    types = rows.column(TYPE)
    if not types.null_count:
        return (), rows
    return rows.column(SHARD).filter(types.is_null()).to_pylist(), rows.filter(types.is_valid())


def _by_shard(rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Separate the rows of each shard; mostly there is only one."""
    if not rows.num_rows:
        return
    shards = rows.column(SHARD).to_numpy()
    first = int(shards[0])
    if (shards == first).all():
        yield first, rows
        return
    for shard in np.unique(shards).tolist():
        yield shard, rows.take(pa.array(np.flatnonzero(shards == shard)))


class ShardRun:
    """One shard at work: an engine, and the rows that wait for others of equal time."""

    def __init__(self, job: Job, shard: int) -> None:
        self._job = job
        self._shard = shard
        self._group = job.group_of(shard)
        self._engine = self._group.start()
        self._begins = self._group.begins(shard)
        self._not_own = self._engine.ties
        self._waiting: list[pa.RecordBatch] = []
        self._count = 0
        self._due = FEED

    @property
    def ties(self) -> TieCounts:
        """What was counted of simultaneous events at terminators that are the shard's own."""
        return self._engine.ties.since(self._not_own)

    def push(self, rows: pa.RecordBatch) -> EventBatch:
        """Take more rows, none earlier than those before, and give the composite events that are certain by now."""
        self._waiting.append(rows)
        self._count += rows.num_rows
        return self._feed(last=False) if self._count >= self._due else EventBatch.empty()

    def finish(self) -> EventBatch:
        """Return the rest, after the last row: also what time alone completes."""
        rest = self._feed(last=True)
        completed = self._group.kept(self._shard, self._group.finish(self._engine))
        return EventBatch.concat([rest, completed])

    def _feed(self, *, last: bool) -> EventBatch:
        if not self._count:
            return EventBatch.empty()
        (rows,) = pa.Table.from_batches(self._waiting).combine_chunks().to_batches()
        events = self._job.events
        batch = events.batch(rows)
        # what has the last time of all may still get company that goes before it
        ready = len(batch) if last else int(np.searchsorted(batch.times, batch.times[-1]))
        held = rows.slice(ready)
        self._waiting, self._count = ([held] if held.num_rows else []), held.num_rows
        self._due = self._count + FEED
        if not ready:
            return EventBatch.empty()
        batch = batch.slice(0, ready)
        events.check(batch)
        batch = settle_ties(batch)
        early = int(np.searchsorted(batch.times, self._begins))
        if early:  # what they complete is another's, and so is what was counted meanwhile
            self._engine.feed(batch.slice(0, early))
            self._not_own = self._engine.ties
            batch = batch.slice(early, len(batch))
        return self._group.kept(self._shard, self._engine.feed(batch)) if len(batch) else EventBatch.empty()


def memory(rules: Sequence[AnyRule]) -> int | None:
    """The microseconds before an event that can decide what it completes; None if there is no bound.

    Composite events that feed other rules bring their own past with them, so reaches add up along a hierarchy. Rules
    that consume events, interval rules whose policy chooses, and rules that feed themselves, remember without end:
    whether an event is there at all may depend on another long before it. So do points in time, which happen but once.

    >>> from cepheus.language.tesla import parse
    >>> from cepheus.rules.check import check
    >>> memory(check(parse("define Fire() from Smoke() and last Temp() within 5 s from Smoke")).rules.rules)
    5000000
    """
    makers: dict[str, list[_Maker]] = {}
    for rule in rules:
        maker = _maker(rule)
        if maker is None:
            return None
        makers.setdefault(rule.composite.name, []).append(maker)
    known: dict[str, int | None] = {}
    longest = 0
    for name in makers:
        found = _memory(name, makers, known, ())
        if found is None:
            return None
        longest = max(longest, found)
    return longest


@dataclass(frozen=True, slots=True)
class _Maker:
    """What a rule looks at, and how far back in microseconds."""

    types: frozenset[str]
    back: int


def _maker(rule: AnyRule) -> _Maker | None:
    """Take a rule apart; None if its own memory has no bound."""
    if isinstance(rule, IntervalRule):
        back = reach_of_intervals(rule.pattern)
        if chooses(rule) or points([rule]) or back == inf:
            return None
        return _Maker(frozenset(node.type for node in walk(rule.pattern) if isinstance(node, Atom)), int(back))
    if isinstance(rule, RowRule):  # where the search for a match begins depends on all rows before
        return None
    if rule.consuming or isinstance(rule.pattern.timer, Every):  # whose moments begin with the first event
        return None
    resolved = resolve(rule)
    if since_start(resolved):
        return None
    return _Maker(frozenset(_types(resolved)), reach(resolved))


def _memory(
    name: str, makers: dict[str, list[_Maker]], known: dict[str, int | None], path: tuple[str, ...]
) -> int | None:
    """The memory of an event type; 0 for a type that no rule makes."""
    if name in path:
        return None
    if name not in known:
        longest: int | None = 0
        for maker in makers.get(name, ()):
            for used in maker.types:
                below = _memory(used, makers, known, (*path, name))
                if below is None or longest is None:
                    return None
                longest = max(longest, min(below + maker.back, MAX_TIME))
        known[name] = longest
    return known[name]


def _types(rule: ResolvedRule) -> Iterator[str]:
    yield rule.terminator.type
    for step in rule.steps:
        if isinstance(step, Choose | Compute):
            yield step.type
    for absent in rule.absences:
        yield absent.type
    for gather in rule.gathers:
        yield gather.type
