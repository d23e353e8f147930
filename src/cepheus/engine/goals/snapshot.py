"""Snapshots of the goals engine: rules as they are run together, the goals that wait, the events of this instant.

Nothing of the physical layout is kept. Restoring builds the graphs anew and puts the goals back into whatever tables
they have then, so a snapshot outlives changes of the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cepheus.core.errors import RuleError, SnapshotError
from cepheus.core.event import EventId
from cepheus.core.schema import EventType
from cepheus.engine.goals.flatten import Since
from cepheus.engine.snapshot import pack, unpack
from cepheus.plan.program import Words
from cepheus.rules.interval.json_form import node_from_json, node_to_json
from cepheus.rules.interval.model import IntervalRule


@dataclass(frozen=True, slots=True)
class SavedType:
    """A type of event as the kernel knows it; ``attributes`` is None where only the data tells them."""

    name: str
    arity: int
    attributes: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Saved:
    """All that a snapshot holds; ``goals`` has the matches of each group's tables, as ``Group.waiting`` orders them."""

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


def write(kind: str, saved: Saved) -> bytes:
    """Give the bytes of a snapshot."""
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
    }
    blobs = {
        f"goals {group} {table}": rows.astype("<i8").tobytes()
        for group, tables in enumerate(saved.goals)
        for table, rows in enumerate(tables)
    }
    return pack(kind, header, blobs | {"instant": saved.instant.astype("<i8").tobytes()})


def read(kind: str, data: bytes) -> Saved:
    """Open the bytes of a snapshot; SnapshotError if they do not hold together."""
    header, blobs = unpack(kind, data)
    try:
        return Saved(
            groups=tuple(tuple(_rule(rule) for rule in rules) for rules in header["groups"]),
            since=tuple(Since(time, missed) for time, missed in header["since"]),
            schema=tuple(node_from_json(each) for each in header["schema"]),
            types=tuple(
                SavedType(name, arity, None if names is None else tuple(names))
                for name, arity, names in header["types"]
            ),
            goals=tuple(
                tuple(_array(blobs[f"goals {group} {table}"], shape) for table, shape in enumerate(shapes))
                for group, shapes in enumerate(header["goals"])
            ),
            instant=_array(blobs["instant"], header["instant"]),
            texts=tuple(header["texts"]),
            points=tuple(header["points"]),
            factors=dict(header["factors"]),
            fed=header["fed"],
            time=header["time"],
        )
    except (KeyError, ValueError, TypeError, RuleError) as error:
        raise wrong_content() from error


def wrong_content() -> SnapshotError:
    """Give the error for a snapshot whose parts do not fit together."""
    return SnapshotError.of("snapshot-content", "the snapshot does not hold what it should")


def _rule(data: Any) -> IntervalRule:
    rule = node_from_json(data)
    if not isinstance(rule, IntervalRule):
        raise TypeError("not a rule")
    return rule


def _array(blob: bytes, shape: list[int]) -> Words:
    return np.frombuffer(blob, "<i8").astype(np.int64).reshape(shape)
