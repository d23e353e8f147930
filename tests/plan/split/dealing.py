"""Deals events out to shards as a host would, without Spark, and runs every shard on the engine that ``auto`` gives."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from random import Random

from cepheus.core.batch import EventBatch
from cepheus.core.calculus import DEFAULT_CALCULUS, Calculus
from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.schema import OWNED_ATTRIBUTE, TIME_ATTRIBUTE, Schema
from cepheus.core.time import MAX_TIME
from cepheus.core.values import Value
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.interface import Engine
from cepheus.engine.base.ties import TieCounts
from cepheus.plan.split import ByBand, ByKey, BySlice, RuleGroup, Split, WayName, Whole, split
from cepheus.runtime.spark.shard import GroupJob
from strategies.split_cases import SplitCase

LIMIT = 3000


def whole_answer(case: SplitCase) -> list[tuple[object, ...]]:
    """Give the composite events that one engine finds in all events."""
    schema = Schema([*case.checked.inputs.values(), *case.checked.composites.values()])
    engine = create(RunOptions(engine="reference", limit=LIMIT), case.checked.rules.all_rules, schema)
    return _comparable(_all(engine, case.events), case)


def whole_ties(case: SplitCase) -> TieCounts:
    """Give what one engine counts of simultaneous events."""
    schema = Schema([*case.checked.inputs.values(), *case.checked.composites.values()])
    engine = create(RunOptions(engine="reference", limit=LIMIT), case.checked.rules.all_rules, schema)
    _all(engine, case.events)
    return engine.ties


def dealt_ties(case: SplitCase, shards: int, ways: Collection[WayName]) -> TieCounts:
    """Give what shards count of simultaneous events, each at terminators of its own."""
    ties = TieCounts()
    schema = Schema([*case.checked.inputs.values(), *case.checked.composites.values()])
    for group in split(case.checked, ways=ways, shards=shards).groups:
        for job, shard, mine in owned(group, case.events, case.seed, shards, schema):
            engine = job.start()
            early = [event for event in mine if event.time < job.begins(shard)]
            engine.feed(EventBatch.from_events(early))
            not_own = engine.ties
            _all(engine, mine[len(early) :])
            ties += engine.ties.since(not_own)
    return ties


def _all(engine: Engine, events: Sequence[Event]) -> list[Event]:
    """Give all that events and the end of time complete."""
    return [*engine.feed(EventBatch.from_events(events)).to_events(), *engine.advance(MAX_TIME).to_events()]


def dealt_answer(
    case: SplitCase, shards: int, ways: Collection[WayName], engine: str = "auto"
) -> tuple[list[tuple[object, ...]], Split]:
    """Give the composite events that shards find, each from its own events alone, and how the rules were split."""
    found: list[Event] = []
    made = split(case.checked, ways=ways, shards=shards)
    schema = Schema([*case.checked.inputs.values(), *case.checked.composites.values()])
    for group in made.groups:
        for job, shard, mine in owned(group, case.events, case.seed, shards, schema, engine=engine):
            found += job.kept(shard, EventBatch.from_events(_all(job.start(), mine))).to_events()
    return _comparable(found, case), made


def owned(
    group: RuleGroup,
    events: Sequence[Event],
    seed: int,
    shards: int,
    schema: Schema,
    calculus: Calculus = DEFAULT_CALCULUS,
    *,
    engine: str = "auto",
) -> Iterator[tuple[GroupJob, int, list[Event]]]:
    """Give for each shard of a group that has events what it runs, its number, and its events."""
    events = [event for event in events if event.type in group.inputs]
    edges = _edges(Random(seed), group, events, shards)
    times = tuple(int(edge) for edge in edges) if isinstance(group.way, BySlice) else ()
    marks_owned = isinstance(group.way, ByBand)
    job = GroupJob(
        group.rules,
        schema,
        RunOptions(engine=engine, limit=LIMIT, calculus=calculus),
        range(shards),
        times,
        marks_owned,
    )
    for shard in range(shards):
        mine = [
            _marked(e, marks_owned, owns)
            for e in events
            if (owns := _owner(group, e, edges, shards)(shard)) is not None
        ]
        if mine:
            yield job, shard, mine


def _marked(event: Event, marks_owned: bool, owns: bool) -> Event:
    return replace(event, attributes={**event.attributes, OWNED_ATTRIBUTE: owns}) if marks_owned else event


def _comparable(events: list[Event], case: SplitCase) -> list[tuple[object, ...]]:
    """Give what is the same in every run; which of several derivations of a complex event is found first is not."""
    heads = {rule.head.name for rule in case.checked.rules.interval_rules}
    return sorted(
        (
            e.id,
            () if e.type in heads else e.made_of,
            e.time,
            e.start,
            sorted((n, v) for n, v in e.attributes.items() if n != OWNED_ATTRIBUTE),
        )
        for e in events
    )


def _edges(random: Random, group: RuleGroup, events: Sequence[Event], shards: int) -> list[float]:
    match group.way:
        case ByBand():
            return sorted(random.choice((0.0, 0.5, 2.5, 7.0, 10.9, -1.0)) for _ in range(shards - 1))
        case BySlice():
            return sorted(random.choice(events).time + random.choice((0, 1)) for _ in range(shards - 1) if events)
        case _:
            return []


def _owner(group: RuleGroup, event: Event, edges: list[float], shards: int) -> Callable[[int], bool | None]:
    """Give the function that tells whether a shard owns an event, or only needs it; None if it does neither."""

    def place(value: float) -> int:
        return sum(value >= edge for edge in edges)

    match group.way:
        case Whole():
            return lambda shard: True if shard == 0 else None
        case ByKey(attributes=attributes, as_doubles=as_doubles):
            name = attributes[event.type]
            key: Value | None = event.time if name == TIME_ATTRIBUTE else event.attributes[name]
            if as_doubles and isinstance(key, int):
                key = float(key)
            owner = hash((key, "salt")) % shards
            return lambda shard: True if shard == owner else None
        case ByBand(attributes=attributes, margins=margins):
            value = event.attributes[attributes[event.type]]
            assert isinstance(value, float | int)
            margin = margins[event.type] + 1e-9 * (1 + abs(value))
            low, owner, high = place(value - margin), place(value), place(value + margin)
        case BySlice(reaches=reaches):
            low = owner = place(event.time)
            high = place(event.time + reaches[event.type])
    return lambda shard: (shard == owner) if low <= shard <= high else None
