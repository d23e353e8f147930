"""Snapshots of the columns engine: rules, and the stored events with what each rule may see and has consumed.

Nothing of the physical layout is kept. Restoring lowers the rules anew and puts the stored rows back into whatever
columns they have then, so a snapshot outlives changes of the kernel.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cepheus.core.errors import SnapshotError
from cepheus.core.event import EventId
from cepheus.core.schema import Attribute, EventType, Schema
from cepheus.core.values import TYPE_NAMES, ValueType
from cepheus.engine.columns.state import TypeState
from cepheus.engine.snapshot import pack, unpack
from cepheus.plan.layouts import TypeLayout
from cepheus.plan.lowered import LoweredRule
from cepheus.plan.program import Words
from cepheus.rules.json_form import from_json, to_json
from cepheus.rules.model import Rule, RuleSet


@dataclass(frozen=True, slots=True)
class DeployedRule:
    """A rule with its types and, by event type, the first row that it may see."""

    rule: Rule
    schema: Schema
    since: dict[str, int]


@dataclass(frozen=True, slots=True)
class StoredType:
    """The rows of an event type: numbers from ``first`` on, attributes by slot, and what rules have consumed."""

    name: str
    first: int
    slots: dict[str, int]
    types: dict[str, ValueType | None]
    optional: tuple[str, ...]
    told_by_data: tuple[str, ...]
    rows: Words
    consumed: dict[str, list[int]]


@dataclass(frozen=True, slots=True)
class Saved:
    """All that a snapshot holds."""

    rules: tuple[DeployedRule, ...]
    types: tuple[StoredType, ...]
    texts: tuple[EventId | None, ...]
    fed: int
    time: int

    def with_doubles(self, attributes: Collection[tuple[str, str]]) -> Saved:
        """Give the same with doubles in place of the integers of some attributes, each a type and a name."""
        if not attributes:
            return self
        types = []
        for stored in self.types:
            places = [slot for name, slot in stored.slots.items() if (stored.name, name) in attributes]
            rows = stored.rows.copy()
            rows[:, places] = rows[:, places].astype(np.float64).view(np.int64)
            types.append(replace(stored, rows=rows))
        return replace(self, types=tuple(types))


def stored_type(
    layout: TypeLayout, state: Words, store: Words, rules: tuple[LoweredRule, ...], width: int
) -> StoredType:
    """Collect the live rows of a type in order."""
    first, end = int(state[TypeState.FIRST]), int(state[TypeState.NEXT])
    offset, mask = int(state[TypeState.OFFSET]), int(state[TypeState.MASK])
    numbers = np.arange(first, end, dtype=np.int64)
    places = offset + (numbers & mask)[:, None] * width + np.arange(width)
    rows = store[places] if len(numbers) else np.zeros((0, width), np.int64)
    consumed = {}
    for rule in rules:
        for event_type, slot, bit in rule.marks:
            if event_type == layout.name and slot < width:
                consumed[rule.name] = numbers[(rows[:, slot] >> bit) & 1 == 1].tolist()
    return StoredType(
        layout.name,
        first,
        dict(layout.slots),
        dict(layout.types),
        tuple(sorted(layout.optional)),
        tuple(sorted(layout.told_by_data)),
        rows,
        consumed,
    )


def write(kind: str, saved: Saved) -> bytes:
    """Give the bytes of a snapshot."""
    header = {
        "rules": to_json(RuleSet((), tuple(deployed.rule for deployed in saved.rules))),
        "schemas": [_schema_to_json(deployed.schema) for deployed in saved.rules],
        "since": [deployed.since for deployed in saved.rules],
        "fed": saved.fed,
        "time": saved.time,
        "texts": list(saved.texts),
        "types": [
            {
                "name": stored.name,
                "first": stored.first,
                "slots": stored.slots,
                "types": {name: value_type and value_type.value for name, value_type in stored.types.items()},
                "optional": stored.optional,
                "told_by_data": stored.told_by_data,
                "shape": stored.rows.shape,
                "consumed": stored.consumed,
            }
            for stored in saved.types
        ],
    }
    blobs = {f"rows {number}": stored.rows.astype("<i8").tobytes() for number, stored in enumerate(saved.types)}
    return pack(kind, header, blobs)


def read(kind: str, data: bytes) -> Saved:
    """Open the bytes of a snapshot; SnapshotError if they do not hold together."""
    header, blobs = unpack(kind, data)
    try:
        rules = from_json(header["rules"]).rules
        deployed = tuple(
            DeployedRule(rule, _schema_from_json(schema), since)
            for rule, schema, since in zip(rules, header["schemas"], header["since"], strict=True)
        )
        types = tuple(_stored_from_json(record, blobs[f"rows {k}"]) for k, record in enumerate(header["types"]))
        return Saved(deployed, types, tuple(header["texts"]), header["fed"], header["time"])
    except (KeyError, ValueError, TypeError) as error:
        raise SnapshotError.of("snapshot-content", "the snapshot does not hold what it should") from error


def _stored_from_json(record: dict[str, Any], blob: bytes) -> StoredType:
    return StoredType(
        record["name"],
        record["first"],
        record["slots"],
        {name: None if text is None else TYPE_NAMES[text] for name, text in record["types"].items()},
        tuple(record["optional"]),
        tuple(record["told_by_data"]),
        np.frombuffer(blob, "<i8").astype(np.int64).reshape(record["shape"]),
        record["consumed"],
    )


def _schema_to_json(schema: Schema) -> list[list[Any]]:
    return [
        [t.name, [[a.name, None if a.type is None else a.type.value, a.optional] for a in t.attributes]]
        for t in schema.values()
    ]


def _schema_from_json(data: list[list[Any]]) -> Schema:
    return Schema(
        EventType(
            name,
            tuple(
                Attribute(a, None if text is None else TYPE_NAMES[text], optional) for a, text, optional in attributes
            ),
        )
        for name, attributes in data
    )
