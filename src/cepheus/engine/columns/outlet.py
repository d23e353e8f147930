"""Composite events on their way out: columns first, everything that people look at one by one only when asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cepheus.core.batch import ColumnKey, EventBatch, Provenance
from cepheus.core.event import Event, EventId, composite_digest, id_word
from cepheus.core.values import Value, ValueType
from cepheus.engine.columns.emit import name_events
from cepheus.engine.columns.intake import id_of_word
from cepheus.engine.columns.memory import address
from cepheus.engine.columns.state import COMPOSITE_ID_BASE, OUTPUT_HEADER, STRING_ID_FLOOR, OutputHeader
from cepheus.plan.lowered import LoweredRule
from cepheus.plan.program import Words
from cepheus.plan.strings import StringTable


@dataclass(frozen=True, slots=True)
class _Attribute:
    """An attribute of the events that a rule makes, and the field it is in; an optional one has a flag after it."""

    name: str
    type: ValueType
    field: int
    optional: bool


class Outlet:
    """What the events that rules make look like: found out once, not for every feeding."""

    def __init__(self, rules: Sequence[LoweredRule]) -> None:
        types: dict[str, int] = {}
        codes = [types.setdefault(rule.resolved.composite.name, len(types)) for rule in rules]
        self.types = tuple(types)
        self.codes = np.array(codes, np.int32)
        self.names = tuple(rule.name for rule in rules)
        self.composites = [rule.resolved.composite.name for rule in rules]
        self.digests = [rule.seed for rule in rules]
        self.seeds = np.array(self.digests, np.uint64)
        self.part_types = [tuple(position.type for position in rule.resolved.positions) for rule in rules]
        self.lengths = np.array([len(types) for types in self.part_types], np.int64)
        self.lengths_at, self.seeds_at = address(self.lengths), address(self.seeds)
        self.attributes = [_attributes(rule) for rule in rules]
        self.places: dict[ColumnKey, Words] = {}
        self.optional: dict[ColumnKey, NDArray[np.bool_]] = {}
        for number, attributes in enumerate(self.attributes):
            for attribute in attributes:
                key = (attribute.name, attribute.type)
                self.places.setdefault(key, np.full(len(rules), -1, np.int64))[number] = attribute.field
                self.optional.setdefault(key, np.zeros(len(rules), np.bool_))[number] = attribute.optional


def _attributes(rule: LoweredRule) -> tuple[_Attribute, ...]:
    found = []
    field = OUTPUT_HEADER + len(rule.resolved.positions)
    for output in rule.outputs:
        found.append(_Attribute(output.attribute, output.type, field, output.optional))
        field += 2 if output.optional else 1
    return tuple(found)


class Found:
    """What one feeding found: an array for each field of the output, and their addresses."""

    def __init__(
        self, outlet: Outlet, strings: StringTable, fields: Sequence[Words], addresses: Words | None = None
    ) -> None:
        self.outlet = outlet
        self.strings = strings
        self.fields = fields
        self._addresses = np.array([address(field) for field in fields]) if addresses is None else addresses
        self.rule = fields[OutputHeader.RULE]

    def __len__(self) -> int:
        return len(self.rule)

    def field(self, at: int) -> Words:
        """Give a field of every event."""
        return self.fields[at]

    def fields_by_rule(self, places: Words) -> Words:
        """Give the field that each event's rule names; an event whose rule names none, -1, gets anything."""
        by_event = places[self.rule]
        found = np.zeros(len(self), np.int64)
        for at in np.unique(places[places >= 0]).tolist():
            rows = by_event == at
            found[rows] = self.fields[at][rows]
        return found

    def made_of(self, at: int) -> tuple[EventId, ...]:
        """Give the ids of the events that a composite event was made of."""
        types = self.outlet.part_types[self.rule[at]]
        parts = self.fields[OUTPUT_HEADER : OUTPUT_HEADER + len(types)]
        return tuple(self._id(int(part[at]), part_type) for part, part_type in zip(parts, types, strict=True))

    def _id(self, word: int, event_type: str) -> EventId:
        if word >= STRING_ID_FLOOR:
            return id_of_word(word, self.strings)
        return f"{event_type}:{word - COMPOSITE_ID_BASE:016x}"

    def _same_length(self) -> Iterator[tuple[Words, list[Words]]]:
        """Give the records with equally many parts together: their numbers, and the words of each part."""
        lengths = self.outlet.lengths[self.rule]
        for length in np.unique(lengths).tolist():
            rows = np.flatnonzero(lengths == length)
            yield rows, [self.fields[OUTPUT_HEADER + part][rows] for part in range(length)]

    def all_made_of(self) -> list[tuple[EventId, ...]]:
        """Give the parts of all composite events."""
        found: list[tuple[EventId, ...]] = [()] * len(self)
        for rows, parts in self._same_length():
            plain = all(part.min() >= 0 for part in parts)
            for row, words in zip(rows.tolist(), zip(*(part.tolist() for part in parts), strict=True), strict=True):
                found[row] = words if plain else self.made_of(row)
        return found

    def all_ids(self) -> list[str]:
        """Give the ids of all composite events."""
        outlet, texts = self.outlet, self.strings.digests()
        digests = np.empty(len(self), np.int64)
        name_events(
            address(self._addresses), outlet.lengths_at, outlet.seeds_at, address(texts), len(self), address(digests)
        )
        names = outlet.composites
        return [
            f"{names[rule]}:{digest:016x}" for rule, digest in zip(self.rule.tolist(), digests.tolist(), strict=True)
        ]

    def id(self, at: int) -> str:
        """Give the id of a composite event."""
        rule = int(self.rule[at])
        digest = composite_digest(self.outlet.digests[rule], map(id_word, self.made_of(at)))
        return f"{self.outlet.composites[rule]}:{digest:016x}"

    def events(self) -> list[Event]:
        """Give the composite events one by one: for a few of them."""
        fields = [field.tolist() for field in self.fields]
        return [self._event(at, event_id, fields) for at, event_id in enumerate(self.all_ids())]

    def _event(self, at: int, event_id: str, fields: Sequence[Sequence[int]]) -> Event:
        outlet = self.outlet
        rule = fields[OutputHeader.RULE][at]
        attributes: dict[str, Value | None] = {}
        for attribute in outlet.attributes[rule]:
            if not attribute.optional or fields[attribute.field + 1][at]:
                attributes[attribute.name] = self._value(fields[attribute.field][at], attribute.type)
        parts = zip(fields[OUTPUT_HEADER:], outlet.part_types[rule], strict=False)
        return Event(
            outlet.composites[rule],
            fields[OutputHeader.TIME][at],
            attributes,
            id=event_id,
            start=fields[OutputHeader.START][at],
            rule=outlet.names[rule],
            made_of=tuple([part[at] if part[at] >= 0 else self._id(part[at], kind) for part, kind in parts]),
        )

    def _value(self, word: int, value_type: ValueType) -> Value:
        match value_type:
            case ValueType.FLOAT:
                return _float_of(word)
            case ValueType.BOOL:
                return word != 0
            case ValueType.STRING:
                return self.strings.text(word)
            case _:
                return word


def _float_of(word: int) -> float:
    """Give the float that a word's bits stand for."""
    value: float
    (value,) = _FLOAT.unpack(_WORD.pack(word))
    return value


_WORD, _FLOAT = Struct("=q"), Struct("=d")


class _Lazy(Sequence[tuple[EventId, ...]]):
    """The parts of composite events, looked up when asked for."""

    def __init__(self, found: Found) -> None:
        self._found = found

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, at: int) -> tuple[EventId, ...]: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[tuple[EventId, ...]]: ...
    def __getitem__(self, at: int | slice) -> tuple[EventId, ...] | Sequence[tuple[EventId, ...]]:
        if isinstance(at, slice):
            return [self._found.made_of(k) for k in range(*at.indices(len(self)))]
        return self._found.made_of(range(len(self))[at])

    def __iter__(self) -> Iterator[tuple[EventId, ...]]:
        return iter(self._found.all_made_of())


class _LazyIds(Sequence[EventId]):
    """The ids of composite events, computed when asked for."""

    def __init__(self, found: Found) -> None:
        self._found = found

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, at: int) -> EventId: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[EventId]: ...
    def __getitem__(self, at: int | slice) -> EventId | Sequence[EventId]:
        if isinstance(at, slice):
            return [self._found.id(k) for k in range(*at.indices(len(self)))]
        return self._found.id(range(len(self))[at])

    def __iter__(self) -> Iterator[EventId]:
        return iter(self._found.all_ids())


def to_batch(found: Found) -> EventBatch:
    """Give what was found as a batch."""
    outlet = found.outlet
    one_type, one_rule = len(outlet.types) == 1, len(outlet.names) == 1
    return EventBatch(
        types=outlet.types,
        codes=np.zeros(len(found), np.int32) if one_type else outlet.codes[found.rule],
        times=found.field(OutputHeader.TIME),
        columns={key: _column(found, key[1], by_rule, outlet.optional[key]) for key, by_rule in outlet.places.items()},
        ids=_LazyIds(found),
        starts=found.field(OutputHeader.START),
        provenance=Provenance(
            rules=outlet.names,
            rule_codes=np.zeros(len(found), np.int32) if one_rule else found.rule.astype(np.int32),
            made_of=_Lazy(found),
        ),
    )


def _column(found: Found, value_type: ValueType, by_rule: Words, optional: NDArray[np.bool_]) -> pa.Array:
    """Give one attribute of all records, null where a record has none or an undefined one."""
    valid: NDArray[np.bool_] | None = None
    if (by_rule == by_rule[0]).all():
        words = found.field(int(by_rule[0]))
    else:
        words = found.fields_by_rule(by_rule)
        valid = by_rule[found.rule] >= 0
    if optional.any():
        defined = ~optional[found.rule] | (found.fields_by_rule(np.where(optional, by_rule + 1, -1)) != 0)
        valid = defined if valid is None else valid & defined
    return _array(words, value_type, valid, found.strings)


def _array(words: Words, value_type: ValueType, valid: NDArray[np.bool_] | None, strings: StringTable) -> pa.Array:
    mask = None if valid is None else ~valid
    match value_type:
        case ValueType.FLOAT:
            return pa.array(words.view(np.float64), mask=mask)
        case ValueType.BOOL:
            return pa.array(words != 0, mask=mask)
        case ValueType.TIMESTAMP:
            return pa.array(words, pa.int64(), mask=mask).cast(pa.timestamp("us", tz="UTC"))
        case ValueType.STRING:
            known = words if valid is None else np.where(valid, words, words[valid].min(initial=0))
            codes, places = np.unique(known, return_inverse=True)
            texts = pa.array(
                [strings.text(code) if code < len(strings) else "" for code in codes.tolist()], pa.string()
            )
            return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32), mask=mask), texts)
        case ValueType.INT:
            return pa.array(words, mask=mask)
