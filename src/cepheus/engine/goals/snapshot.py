"""Snapshots of the goals engine: rules as they are run together, the goals that wait, the events of this instant.

Nothing of the physical layout is kept. Restoring builds the graphs anew and puts the goals back into whatever tables
they have then, so a snapshot outlives changes of the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from cepheus.core.event import EventId
from cepheus.core.lists import list_of_text
from cepheus.core.schema import EventType
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.engine.base import snapshot_form as form
from cepheus.engine.base.restored_rules import check_restored_intervals
from cepheus.engine.base.snapshot import pack, unpack
from cepheus.kernel.program import Words
from cepheus.kernel.state import STRING_ID_FLOOR
from cepheus.plan.interval.flatten import Since
from cepheus.plan.interval.layout import MATCH_HEADER, RECORD_HEADER, TAG_BITS, TAGS_PER_WORD, Match, Record, Tag
from cepheus.plan.interval.tables import tag_words
from cepheus.plan.interval.values import CODED
from cepheus.rules.interval.json_form import node_from_json, read_interval_rule
from cepheus.rules.interval.model import IntervalRule
from cepheus.rules.json_fields import integer_between
from cepheus.rules.node_json import node_to_json


@dataclass(frozen=True, slots=True)
class SavedType:
    """A type of event as the kernel knows it; ``attributes`` is None where only the data tells them."""

    name: str
    arity: int
    attributes: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Saved:
    """What a snapshot holds; ``goals`` has the matches of each group's tables, as ``Group.goal_tables`` orders them.

    ``awaited`` tells of each type whether its events have lasted, and the time of the goals for which others are gone.
    """

    groups: tuple[tuple[IntervalRule, ...], ...]
    since: tuple[Since, ...]
    schema: tuple[EventType, ...]
    types: tuple[SavedType, ...]
    goals: tuple[tuple[Words, ...], ...]
    instant: Words
    texts: tuple[EventId | None, ...]
    points: tuple[int, ...]
    factors: dict[str, float]
    fed: int
    time: int
    awaited: tuple[tuple[bool, int | None], ...]


def write(kind: str, saved: Saved) -> bytes:
    """The bytes of a snapshot."""
    header = {
        "groups": [[node_to_json(rule) for rule in rules] for rules in saved.groups],
        "since": [[since.time, since.missed] for since in saved.since],
        "schema": [node_to_json(event_type) for event_type in saved.schema],
        "types": [[each.name, each.arity, each.attributes] for each in saved.types],
        "goals": [[list(rows.shape) for rows in tables] for tables in saved.goals],
        "instant": list(saved.instant.shape),
        "texts": list(saved.texts),
        "points": list(saved.points),
        "factors": saved.factors,
        "fed": saved.fed,
        "time": saved.time,
        "awaited": [list(each) for each in saved.awaited],
    }
    blobs = {
        f"goals {group} {table}": rows.astype("<i8").tobytes()
        for group, tables in enumerate(saved.goals)
        for table, rows in enumerate(tables)
    }
    return pack(kind, header, blobs | {"instant": saved.instant.astype("<i8").tobytes()})


def _event_type(data: object, path: str) -> EventType:
    node = node_from_json(data, path)
    form.require(isinstance(node, EventType), path, "this is no type of event")
    return cast(EventType, node)


_HEADER = form.record(
    {"awaited": form.listing(form.row(form.boolean, form.maybe(form.time)))},
    groups=form.listing(form.listing(read_interval_rule)),
    since=form.listing(form.row(form.time, form.count)),
    schema=form.listing(_event_type),
    types=form.listing(form.row(form.text, integer_between(0, 1 << 16), form.maybe(form.listing(form.text)))),
    goals=form.listing(form.listing(form.shape)),
    instant=form.shape,
    texts=form.listing(form.maybe(form.event_id)),
    points=form.listing(form.time),
    factors=form.by_name(form.probability),
    fed=form.count,
    time=form.time,
)


def read(kind: str, data: bytes) -> Saved:
    """Open the bytes of a snapshot; an error if they do not hold together.

    What goals and events name, only those can look at who know the graphs: ``require_values`` helps them.
    """
    header, blobs = unpack(kind, data)
    found = _HEADER(header, "$")
    names = [[f"goals {group} {table}" for table in range(len(shapes))] for group, shapes in enumerate(found["goals"])]
    form.only_blobs(blobs, ("instant", *(name for own in names for name in own)))
    saved = Saved(
        groups=tuple(tuple(rules) for rules in found["groups"]),
        since=tuple(Since(time, missed) for time, missed in found["since"]),
        schema=tuple(found["schema"]),
        types=tuple(SavedType(name, arity, known and tuple(known)) for name, arity, known in found["types"]),
        goals=tuple(
            tuple(form.words(blobs, name, shape) for name, shape in zip(own, shapes, strict=True))
            for own, shapes in zip(names, found["goals"], strict=True)
        ),
        instant=form.words(blobs, "instant", found["instant"]),
        texts=tuple(found["texts"]),
        points=tuple(found["points"]),
        factors=found["factors"],
        fed=found["fed"],
        time=found["time"],
        awaited=tuple((lasted, end) for lasted, end in found.get("awaited", [(False, None)] * len(found["types"]))),
    )
    _require_sense(saved)
    return saved


def _require_sense(saved: Saved) -> None:
    """Refuse rules that make no sense, and whatever names something that is not there."""
    rules = [rule for group in saved.groups for rule in group]
    form.require(all(saved.groups), "$.groups", "a group has no rules")
    check_restored_intervals(rules, saved.schema)
    form.require(saved.factors.keys() <= {str(rule.name) for rule in rules}, "$.factors", "there is no such rule")
    form.require(list(saved.points) == sorted(set(saved.points)), "$.points", "the points in time are not in order")
    form.distinct(form.listing(form.event_id))([text for text in saved.texts if text is not None], "$.texts")
    form.distinct(form.listing(form.text))([each.name for each in saved.types], "$.types")
    form.require(len(saved.awaited) == len(saved.types), "$.awaited", "there are more or fewer types")
    for each in saved.types:
        known = each.attributes is None or len(each.attributes) == each.arity
        form.require(known, "$.types", "a type has another number of arguments")
    instant = saved.instant
    if len(instant):
        form.require(instant.shape[1] >= RECORD_HEADER, "$.instant", "the events are too short")
        kinds = instant[:, Record.TYPE]
        form.all_between(kinds, 0, len(saved.types), "$.instant")
        for number in np.unique(kinds).tolist():
            events, arity = instant[kinds == number], saved.types[number].arity
            require_values(events, RECORD_HEADER, arity, saved.texts, "$.instant")
            require_ids(events[:, Record.ID], saved.texts, "$.instant")
        require_intervals(instant[:, Record.START], instant[:, Record.END], "$.instant")


def require_matches(matches: Words, variables: int, texts: Sequence[EventId | None]) -> None:
    """Refuse matches, with so many variables, that name texts which do not exist or are no matches at all."""
    if not len(matches):
        return
    require_values(matches, MATCH_HEADER, variables, texts, "$.goals")
    require_intervals(matches[:, Match.START], matches[:, Match.END], "$.goals")
    require_ids(matches[:, MATCH_HEADER + tag_words(variables) + variables :], texts, "$.goals")


def require_values(rows: Words, tags_at: int, count: int, texts: Sequence[EventId | None], path: str) -> None:
    """Refuse values of types that there are not, and texts and lists that there are not."""
    values_at = tags_at + tag_words(count)
    form.require(rows.shape[1] >= values_at + count, path, "the values do not fit in")
    for place in range(count):
        tags = rows[:, tags_at + place // TAGS_PER_WORD] >> (TAG_BITS * (place % TAGS_PER_WORD)) & (2**TAG_BITS - 1)
        form.all_between(tags, 0, len(Tag), path)
        values = rows[:, values_at + place]
        form.all_between(values[np.isin(tags, CODED)], 0, len(texts), path)
        form.all_between(values[tags == Tag.BOOL], 0, 2, path)
        floats = np.ascontiguousarray(values[tags == Tag.FLOAT]).view(np.float64)
        form.require(bool(np.isfinite(floats).all()), path, "a number is none")
        for code in np.unique(values[tags == Tag.LIST]).tolist():
            list_of_text(str(texts[code]))


def require_ids(ids: Words, texts: Sequence[EventId | None], path: str) -> None:
    """Refuse ids that are texts which do not exist."""
    form.all_between(~ids[(ids < 0) & (ids >= STRING_ID_FLOOR)], 0, len(texts), path)


def require_intervals(starts: Words, ends: Words, path: str) -> None:
    """Refuse intervals that end before they start, or lie outside of time."""
    form.all_between(ends, MIN_TIME, MAX_TIME + 1, path)
    form.all_between(starts, MIN_TIME, MAX_TIME + 1, path)
    form.require(bool((starts <= ends).all()), path, "something ends before it starts")
