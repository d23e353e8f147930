"""Snapshots of the columns engine: rules, and the stored events with what each rule may see and has consumed.

Nothing of the physical layout is kept. Restoring lowers the rules anew and puts the stored rows back into whatever
columns they have then, so a snapshot outlives changes of the kernel.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cepheus.core.event import EventId
from cepheus.core.schema import Schema
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.core.values import ValueType
from cepheus.engine.base import snapshot_form as form
from cepheus.engine.base.restored_rules import check_restored
from cepheus.engine.base.snapshot import pack, unpack
from cepheus.engine.lowered.totals import Total
from cepheus.kernel.program import HEADER, SLOT_ID, SLOT_ORDER, SLOT_START, SLOT_TIME, TotalKind, Words
from cepheus.kernel.state import STRING_ID_FLOOR, TypeState
from cepheus.plan.pattern.layouts import DOUBT, ERROR_MARKS, ORDER, TypeLayout
from cepheus.plan.pattern.lower import Lowering
from cepheus.plan.pattern.lowered import LoweredRule
from cepheus.rules.json_form import to_json
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
    """All that a snapshot holds. The events before its time are in its totals, as far as these ask for them."""

    rules: tuple[DeployedRule, ...]
    types: tuple[StoredType, ...]
    texts: tuple[EventId | None, ...]
    fed: int
    time: int
    totals: tuple[Total, ...] = ()

    def with_doubles(self, attributes: Collection[tuple[str, str]]) -> Saved:
        """The same with doubles in place of the integers of some attributes, each a type and a name."""
        if not attributes:
            return self
        types = []
        for stored in self.types:
            places = [slot for name, slot in stored.slots.items() if (stored.name, name) in attributes]
            rows = stored.rows.copy()
            rows[:, places] = rows[:, places].astype(np.float64).view(np.int64)
            types.append(replace(stored, rows=rows))
        return replace(self, types=tuple(types))


def of_rules(saved: Saved, names: Collection[str], *, without_events: bool = False) -> Saved:
    """What a snapshot holds of some rules; all events, if any, as any of them may be theirs."""
    types = tuple(
        replace(
            stored,
            rows=stored.rows[:0] if without_events else stored.rows,
            consumed={} if without_events else {rule: rows for rule, rows in stored.consumed.items() if rule in names},
        )
        for stored in saved.types
    )
    rules = tuple(deployed for deployed in saved.rules if str(deployed.rule.name) in names)
    totals = () if without_events else tuple(total for total in saved.totals if total.rule in names)
    return replace(saved, rules=rules, types=types, totals=totals)


def stored_types(
    lowering: Lowering, states: Words, store: Words, rules: tuple[LoweredRule, ...]
) -> tuple[StoredType, ...]:
    """The live rows of all types; ``states`` says of each type where they are in the store."""
    layouts = lowering.types.values()
    return tuple(_stored_type(layout, states[layout.index], store, rules, layout.width) for layout in layouts)


def first_rows(stored: StoredType, time: int, lowering: Lowering) -> Words:
    """The first row of a type that each column may hold; what came before a time is in totals already."""
    first = np.zeros(lowering.column_count + 1, np.int64)
    gone = stored.first + int(np.searchsorted(stored.rows[:, SLOT_TIME], time))
    for column in lowering.columns.values():
        first[column.index] = column.born if column.key.total is TotalKind.NONE else max(column.born, gone)
    return first


def _stored_type(
    layout: TypeLayout, state: Words, store: Words, rules: tuple[LoweredRule, ...], width: int
) -> StoredType:
    """Collect the live rows of a type in order."""
    first, end = int(state[TypeState.FIRST]), int(state[TypeState.NEXT])
    offset, mask = int(state[TypeState.OFFSET]), int(state[TypeState.MASK])
    numbers = np.arange(first, end, dtype=np.int64)
    ring = store[offset : offset + (mask + 1) * width].reshape(mask + 1, width)
    start, count = first & mask, len(numbers)
    rows = np.concatenate([ring[start : start + count], ring[: max(0, start + count - mask - 1)]])
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


def laid_out(stored: StoredType, layout: TypeLayout, rules: tuple[LoweredRule, ...]) -> Words:
    """The rows of a type as they are laid out now, with what rules have consumed."""
    rows = np.zeros((len(stored.rows), layout.width), np.int64)
    rows[:, :HEADER] = stored.rows[:, :HEADER]
    for name, slot in layout.slots.items():
        width = 2 if name in layout.optional else 1
        if name in stored.slots:
            place = stored.slots[name]
            rows[:, slot : slot + width] = stored.rows[:, place : place + width]
    for rule in rules:
        for event_type, slot, bit in rule.marks:
            if event_type == stored.name:
                numbers = np.array(stored.consumed.get(rule.name, []), np.int64)
                rows[numbers - stored.first, slot] |= np.int64(1 << bit)
    return rows


def write(kind: str, saved: Saved) -> bytes:
    """The bytes of a snapshot."""
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
        "totals": [{"rule": each.rule, "step": each.step, "shape": each.lanes.shape} for each in saved.totals],
    }
    blobs = {f"rows {number}": stored.rows.astype("<i8").tobytes() for number, stored in enumerate(saved.types)}
    blobs |= {f"total {number}": each.lanes.astype("<i8").tobytes() for number, each in enumerate(saved.totals)}
    return pack(kind, header, blobs)


_TYPE = form.record(
    name=form.text,
    first=form.count,
    slots=form.by_name(form.count),
    types=form.by_name(form.maybe(form.value_type)),
    optional=form.listing(form.text),
    told_by_data=form.listing(form.text),
    shape=form.shape,
    consumed=form.by_name(form.listing(form.count)),
)
_HEADER = form.record(
    rules=form.rules,
    schemas=form.schemas,
    since=form.listing(form.by_name(form.count)),
    fed=form.count,
    time=form.time,
    texts=form.listing(form.maybe(form.event_id)),
    types=form.listing(_TYPE),
    totals=form.listing(form.record(rule=form.text, step=form.count, shape=form.shape)),
)


def read(kind: str, data: bytes) -> Saved:
    """Open the bytes of a snapshot; an error if they do not hold together.

    Texts may be kept elsewhere: ``require_texts`` looks at what is said of them.
    """
    header, blobs = unpack(kind, data)
    found = _HEADER(header, "$")
    named = [f"rows {number}" for number in range(len(found["types"]))]
    form.only_blobs(blobs, [*named, *(f"total {number}" for number in range(len(found["totals"])))])
    types = tuple(
        _stored(each, form.words(blobs, f"rows {number}", each["shape"]), f"$.types[{number}]")
        for number, each in enumerate(found["types"])
    )
    deployed = tuple(
        DeployedRule(rule, schema, since)
        for rule, schema, since in zip(found["rules"], found["schemas"], found["since"], strict=True)
    )
    totals = tuple(
        Total(each["rule"], each["step"], form.words(blobs, f"total {number}", each["shape"]))
        for number, each in enumerate(found["totals"])
    )
    saved = Saved(deployed, types, tuple(found["texts"]), found["fed"], found["time"], totals)
    _require_sense(saved)
    return saved


def _stored(found: dict[str, Any], rows: Words, path: str) -> StoredType:
    """Check the rows of a type: every slot that is named is one of the row's, and belongs to one attribute."""
    names, optional = found["slots"], found["optional"]
    form.require(rows.shape[1] >= HEADER, path, "the rows are too short")
    form.require(found["types"].keys() == names.keys(), path, "other attributes have types than have slots")
    form.require(names.keys() >= {*optional, *found["told_by_data"]}, path, "there is no such attribute")
    taken = [slot + k for name, slot in names.items() for k in range(2 if name in optional else 1)]
    form.require(len(set(taken)) == len(taken), path, "two attributes have the same slot")
    form.all_between(np.array(taken, np.int64), HEADER, rows.shape[1], path)
    for name, slot in names.items():
        attribute, mark, kind = name.partition("#")
        if mark and attribute:
            first = names.get(f"{attribute}{ERROR_MARKS[0]}", slot)
            form.require(first + _PLACES.get(f"#{kind}", -1) == slot, path, f"{name} stands elsewhere")
        form.require(not mark or found["types"][name] is _SPECIAL.get(f"#{kind}"), path, f"{name} is of another type")
    if ORDER in names:
        form.require(names[ORDER] == SLOT_ORDER, path, f"{ORDER} stands elsewhere")
        places = rows[:, SLOT_ORDER]
        form.all_between(places, 0, MAX_TIME, path)
        form.require(bool((np.diff(places) > 0).all()), path, "the events are not in their order in the stream")
    times = rows[:, SLOT_TIME]
    form.require(bool((np.diff(times) >= 0).all()), path, "the events are not in the order of time")
    form.all_between(times, MIN_TIME, MAX_TIME + 1, path)
    form.require(bool((rows[:, SLOT_START] <= times).all()), path, "an event ends before it starts")
    for name in optional:
        form.all_between(rows[:, names[name] + 1], 0, 2, path)
    for name, kind in found["types"].items():
        if kind is ValueType.BOOL:
            form.all_between(rows[:, names[name]], 0, 2, path)
        if kind is None:  # no event has had a value
            form.all_between(rows[:, names[name]], 0, 1, path)
    return StoredType(
        found["name"],
        found["first"],
        names,
        found["types"],
        tuple(optional),
        tuple(found["told_by_data"]),
        rows,
        found["consumed"],
    )


_PLACES = {mark: place for place, mark in enumerate(ERROR_MARKS)}
_SPECIAL = dict(zip((*ERROR_MARKS, DOUBT), (ValueType.INT, *[ValueType.FLOAT] * 3), strict=True)) | {
    ORDER: ValueType.INT
}


def _require_sense(saved: Saved) -> None:
    """Refuse rules that make no sense, also with the stored events, and whatever names something that is not there."""
    form.distinct(form.listing(form.text))([stored.name for stored in saved.types], "$.types")
    ordered = [ORDER in stored.slots for stored in saved.types] + [each.rule.ordered for each in saved.rules]
    form.require(len({*ordered}) < 2, "$.rules", "some rules or events have ties ordered, others have not")
    names = {str(deployed.rule.name) for deployed in saved.rules}
    ends = {stored.name: stored.first + len(stored.rows) for stored in saved.types}
    for deployed in saved.rules:
        for event_type, since in deployed.since.items():
            form.require(since <= ends.get(event_type, 0), "$.since", "a rule sees events that have not come")
    for stored in saved.types:
        form.require(stored.consumed.keys() <= names, "$.types", "a rule that is not there has consumed events")
        for numbers in stored.consumed.values():
            form.all_between(np.array(numbers, np.int64), stored.first, ends[stored.name], "$.types")
        if len(stored.rows):
            form.require(int(stored.rows[-1, SLOT_TIME]) <= saved.time, "$.time", "stored events have not come yet")
    types = {each.name: {name: kind for name, kind in each.types.items() if "#" not in name} for each in saved.types}
    check_restored([each.rule for each in saved.rules], [each.schema for each in saved.rules], types)


def require_texts(saved: Saved, texts: Collection[EventId | None]) -> None:
    """Refuse stored events that name texts which do not exist."""
    form.distinct(form.listing(form.event_id))([text for text in texts if text is not None], "$.texts")
    end = max(1, len(texts))  # code 0 is what a row has for a text that no rule read when it was stored
    for stored in saved.types:
        ids = stored.rows[:, SLOT_ID]
        form.all_between(~ids[(ids < 0) & (ids >= STRING_ID_FLOOR)], 0, len(texts), "$.types")
        for name, kind in stored.types.items():
            if kind is ValueType.STRING:
                form.all_between(stored.rows[:, stored.slots[name]], 0, end, "$.types")


def _schema_to_json(schema: Schema) -> list[list[Any]]:
    return [
        [t.name, [[a.name, None if a.type is None else a.type.value, a.optional] for a in t.attributes]]
        for t in schema.values()
    ]
