"""Deals events out to shards as a host would, without Spark, and runs every shard on the reference engine."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from random import Random

from cepheus.core.batch import EventBatch
from cepheus.core.event import Event
from cepheus.core.schema import TIME_ATTRIBUTE, Schema
from cepheus.core.values import Value
from cepheus.engine.registry import create
from cepheus.plan.split import ByBand, ByKey, BySlice, RuleGroup, Split, WayName, Whole, split
from cepheus.runtime.spark.homes import HOME_ATTRIBUTE
from cepheus.runtime.spark.shard import GroupJob
from strategies.split_cases import SplitCase

LIMIT = 3000


def whole_answer(case: SplitCase) -> list[tuple[object, ...]]:
    """Give the composite events that one engine finds in all events."""
    schema = Schema([*case.checked.inputs.values(), *case.checked.composites.values()])
    engine = create("reference", case.checked.rules.rules, schema, limit=LIMIT)
    return _comparable(engine.feed(EventBatch.from_events(case.events)).to_events())


def dealt_answer(case: SplitCase, shards: int, ways: Collection[WayName]) -> tuple[list[tuple[object, ...]], Split]:
    """Give the composite events that shards find, each from its own events alone, and how the rules were split."""
    found: list[Event] = []
    made = split(case.checked, ways=ways, shards=shards)
    schema = Schema([*case.checked.inputs.values(), *case.checked.composites.values()])
    for group in made.groups:
        edges = _edges(Random(case.seed), group, case, shards)
        times = tuple(int(edge) for edge in edges) if isinstance(group.way, BySlice) else ()
        homes = isinstance(group.way, ByBand)
        job = GroupJob(group.rules, schema, "reference", LIMIT, range(shards), times, homes)
        for shard in range(shards):
            events = [event for event in case.events if event.type in group.inputs]
            mine = [
                _marked(e, homes, owns) for e in events if (owns := _owner(group, e, edges, shards)(shard)) is not None
            ]
            found += job.kept(shard, job.start().feed(EventBatch.from_events(mine))).to_events()
    return _comparable(found), made


def _marked(event: Event, homes: bool, owns: bool) -> Event:
    return replace(event, attributes={**event.attributes, HOME_ATTRIBUTE: owns}) if homes else event


def _comparable(events: list[Event]) -> list[tuple[object, ...]]:
    return sorted(
        (e.id, e.made_of, e.time, e.start, sorted((n, v) for n, v in e.attributes.items() if n != HOME_ATTRIBUTE))
        for e in events
    )


def _edges(random: Random, group: RuleGroup, case: SplitCase, shards: int) -> list[float]:
    match group.way:
        case ByBand():
            return sorted(random.choice((0.0, 0.5, 2.5, 7.0, 10.9, -1.0)) for _ in range(shards - 1))
        case BySlice():
            return sorted(random.choice(case.events).time + random.choice((0, 1)) for _ in range(shards - 1))
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
            home = hash((key, "salt")) % shards
            return lambda shard: True if shard == home else None
        case ByBand(attributes=attributes, margins=margins):
            value = event.attributes[attributes[event.type]]
            assert isinstance(value, float | int)
            margin = margins[event.type] + 1e-9 * (1 + abs(value))
            low, home, high = place(value - margin), place(value), place(value + margin)
        case BySlice(reaches=reaches):
            low = home = place(event.time)
            high = place(event.time + reaches[event.type])
    return lambda shard: (shard == home) if low <= shard <= high else None
