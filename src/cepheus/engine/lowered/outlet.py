"""Composite events on their way out: columns first, everything that people look at one by one only when asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from struct import Struct
from typing import overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cepheus.core.batch import ColumnKey, EventBatch, Provenance
from cepheus.core.distribution import Distribution
from cepheus.core.event import Event, EventId, composite_digest, composite_event, id_word, with_counted
from cepheus.core.values import Value, ValueType
from cepheus.engine.lowered.intake import id_of_word
from cepheus.engine.lowered.written_ids import composite_ids, lists_of_ids
from cepheus.kernel.emit import name_events
from cepheus.kernel.memory import address
from cepheus.kernel.output import ENOUGH_EVENTS, Output, addresses_of
from cepheus.kernel.program import Words
from cepheus.kernel.state import (
    COMPOSITE_ID_BASE,
    GATHERING,
    OUTPUT_HEADER,
    STRING_ID_FLOOR,
    GatheringField,
    OutputHeader,
)
from cepheus.kernel.strings import StringTable
from cepheus.plan.pattern.lowered import LoweredRule

_RULE, _TIME, _START = map(int, OutputHeader)


@dataclass(frozen=True, slots=True)
class _Attribute:
    """An attribute of the events that a rule makes, and the field it is in; an optional one has a flag after it."""

    name: str
    type: ValueType
    field: int
    optional: bool


@dataclass(frozen=True, slots=True)
class _Shape:
    """What the events that one rule makes look like; ``end`` is the field after the ids of the parts."""

    rule: str
    composite: str
    seed: int
    part_types: tuple[str, ...]
    end: int
    attributes: tuple[_Attribute, ...]
    gathers: bool

    @classmethod
    def of(cls, rule: LoweredRule) -> _Shape:
        part_types = tuple(position.type for position in rule.resolved.positions)
        end = OUTPUT_HEADER + len(part_types)
        field = OUTPUT_HEADER + rule.head
        attributes = []
        for output in rule.outputs:
            attributes.append(_Attribute(output.attribute, output.type, field, output.optional))
            field += 2 if output.optional else 1
        return cls(
            rule.name, rule.resolved.composite.name, rule.seed, part_types, end, tuple(attributes), bool(rule.gathers)
        )


@dataclass(frozen=True, slots=True)
class Gathered:
    """The members of collections, and what aggregates counted: ids and types, and what the types are called."""

    rows: Words
    types: Sequence[str]


class Outlet:
    """What the events that rules make look like: found out once, not for every feeding."""

    def __init__(self, rules: Sequence[LoweredRule]) -> None:
        self.gathers = any(rule.gathers for rule in rules)
        self.shapes = [_Shape.of(rule) for rule in rules]
        types: dict[str, int] = {}
        codes = [types.setdefault(shape.composite, len(types)) for shape in self.shapes]
        self.types = tuple(types)
        self.codes = np.array(codes, np.int32)
        self.names = tuple(shape.rule for shape in self.shapes)
        self.seeds = np.array([shape.seed for shape in self.shapes], np.uint64)
        self.lengths = np.array([len(shape.part_types) for shape in self.shapes], np.int64)
        self.lengths_at, self.seeds_at = address(self.lengths), address(self.seeds)
        self.places: dict[ColumnKey, Words] = {}
        self.optional: dict[ColumnKey, NDArray[np.bool_]] = {}
        for number, shape in enumerate(self.shapes):
            for attribute in shape.attributes:
                key = (attribute.name, attribute.type)
                self.places.setdefault(key, np.full(len(rules), -1, np.int64))[number] = attribute.field
                self.optional.setdefault(key, np.zeros(len(rules), np.bool_))[number] = attribute.optional


class Found:
    """What one feeding found: a block with a row for each field of the output.

    ``lender`` is the output that the block still belongs to, if it does; ``gathered`` are the members of collections.
    """

    def __init__(
        self,
        outlet: Outlet,
        strings: StringTable,
        fields: Words,
        lender: Output | None = None,
        gathered: Gathered | None = None,
    ) -> None:
        self.gathered = gathered
        self.outlet = outlet
        self.strings = strings
        self.fields = fields
        self._lender = lender
        self.rule = fields[OutputHeader.RULE]

    def __len__(self) -> int:
        return len(self.rule)

    def field(self, at: int) -> Words:
        """A field of every event."""
        found: Words = self.fields[at]
        return found

    def fields_by_rule(self, places: Words) -> Words:
        """The field that each event's rule names; an event whose rule names none, -1, gets anything."""
        by_event = places[self.rule]
        found = np.zeros(len(self), np.int64)
        for at in np.unique(places[places >= 0]).tolist():
            rows = by_event == at
            found[rows] = self.fields[at][rows]
        return found

    def made_of(self, at: int) -> tuple[EventId, ...]:
        """The ids of the events that a composite event was made of."""
        shape = self.outlet.shapes[self.rule[at]]
        parts = self.fields[OUTPUT_HEADER : shape.end]
        made = tuple(self._id(int(part[at]), kind) for part, kind in zip(parts, shape.part_types, strict=True))
        return self._with_members(at, shape, made) if shape.gathers else made

    def _with_members(self, at: int, shape: _Shape, made: tuple[EventId, ...]) -> tuple[EventId, ...]:
        """Put the members of collections behind the chosen events, then what aggregates counted."""
        if self.gathered is None:  # nobody is a member of anything
            return made
        begin, middle, end = (int(self.fields[shape.end + place][at]) for place in range(GATHERING - 1))
        types = self.gathered.types
        ids = [self._id(word, types[kind]) for word, kind in self.gathered.rows[begin:end].tolist()]
        return with_counted((*made, *ids[: middle - begin]), ids[middle - begin :])

    def _id(self, word: int, event_type: str) -> EventId:
        if word >= 0:
            return word
        if word >= STRING_ID_FLOOR:
            return id_of_word(word, self.strings)
        return f"{event_type}:{word - COMPOSITE_ID_BASE:016x}"

    def _same_length(self) -> Iterator[tuple[Words, list[Words]]]:
        """The records with equally many parts together: their numbers, and the words of each part."""
        lengths = self.outlet.lengths[self.rule]
        for length in np.unique(lengths).tolist():
            rows = np.flatnonzero(lengths == length)
            yield rows, [self.fields[OUTPUT_HEADER + part][rows] for part in range(length)]

    def all_made_of(self) -> list[tuple[EventId, ...]]:
        """The parts of all composite events."""
        found: list[tuple[EventId, ...]] = [()] * len(self)
        for rows, parts in self._same_length():
            plain = all(part.min() >= 0 for part in parts)
            for row, words in zip(rows.tolist(), zip(*(part.tolist() for part in parts), strict=True), strict=True):
                found[row] = words if plain else self.made_of(row)
        if self.outlet.gathers:
            gathering = [number for number, shape in enumerate(self.outlet.shapes) if shape.gathers]
            for row in np.flatnonzero(np.isin(self.rule, gathering)).tolist():
                found[row] = self.made_of(row)
        return found

    def made_of_in_arrow(self) -> pa.Array:
        """The parts of all composite events as lists of texts."""
        if self.outlet.gathers:
            return pa.array([list(map(str, ids)) or None for ids in self.all_made_of()], pa.list_(pa.string()))
        lengths = self.outlet.lengths[self.rule]
        begins = np.cumsum(lengths) - lengths
        words = np.empty(int(lengths.sum()), np.int64)
        for part in range(int(lengths.max(initial=0))):
            rows = np.flatnonzero(lengths > part)
            words[begins[rows] + part] = self.fields[OUTPUT_HEADER + part][rows]
        return lists_of_ids(lengths, words, lambda row, part: str(self.made_of(row)[part]))

    def ids_in_arrow(self) -> pa.Array:
        """The ids of all composite events as texts."""
        return composite_ids([shape.composite for shape in self.outlet.shapes], self.rule, self._digest_words())

    def all_ids(self) -> list[str]:
        """The ids of all composite events."""
        names = [shape.composite for shape in self.outlet.shapes]
        return [
            f"{names[rule]}:{digest:016x}" for rule, digest in zip(self.rule.tolist(), self._digests(), strict=True)
        ]

    def _digests(self) -> list[int]:
        """The digests of all composite events."""
        found: list[int] = self._digest_words().tolist()
        return found

    def _digest_words(self) -> Words:
        """The digests of all composite events, which later ones may take the place of."""
        outlet, count, lender = self.outlet, len(self), self._lender
        if lender is None or count > len(lender.digests):
            digests = np.empty(count, np.int64)
            addresses = addresses_of(self.fields)
            fields_at, digests_at = address(addresses, OutputHeader, mixed=True), address(digests)
        else:
            digests, fields_at, digests_at = lender.digests[:count], lender.addresses_at, lender.digests_at
        name_events(fields_at, outlet.lengths_at, outlet.seeds_at, self.strings.digests_at, count, digests_at)
        for number, shape in enumerate(outlet.shapes if outlet.gathers else ()):
            if shape.gathers:
                rows = self.rule == number
                digests[rows] = self.fields[shape.end + GatheringField.DIGEST][rows]
        return digests

    def id(self, at: int) -> str:
        """The id of a composite event."""
        shape = self.outlet.shapes[self.rule[at]]
        if shape.gathers:
            digest = int(self.fields[shape.end + GatheringField.DIGEST][at])
        else:
            digest = composite_digest(shape.seed, map(id_word, self.made_of(at)))
        return f"{shape.composite}:{digest:016x}"

    def events(self, probabilities: Sequence[float] | None = None, fields: int | None = None) -> list[Event]:
        """The composite events one by one: for a few of them; so many fields are their own, what follows is not."""
        shapes = self.outlet.shapes
        rows = zip(*self.fields[:fields].tolist(), strict=True)
        chances: Iterable[float] = repeat(1.0, len(self)) if probabilities is None else probabilities
        events = []
        for at, (row, digest, probability) in enumerate(zip(rows, self._digests(), chances, strict=True)):
            shape = shapes[row[_RULE]]
            words = row[OUTPUT_HEADER : shape.end]
            made = words if min(words) >= 0 else tuple(map(self._id, words, shape.part_types))
            events.append(
                composite_event(
                    shape.composite,
                    row[_TIME],
                    self._values(row, shape.attributes) if shape.attributes else {},
                    f"{shape.composite}:{digest:016x}",
                    row[_START],
                    shape.rule,
                    self._with_members(at, shape, made) if shape.gathers else made,
                    probability,
                )
            )
        return events

    def _values(self, row: tuple[int, ...], attributes: Sequence[_Attribute]) -> dict[str, Value | None]:
        return {
            attribute.name: self._value(row[attribute.field], attribute.type)
            for attribute in attributes
            if not attribute.optional or row[attribute.field + 1]
        }

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
    """The float that a word's bits stand for."""
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

    def in_arrow(self) -> pa.Array:
        """All of them as lists of texts."""
        return self._found.made_of_in_arrow()


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

    def in_arrow(self) -> pa.Array:
        """All of them as texts."""
        return self._found.ids_in_arrow()


_ALIKE = np.zeros(ENOUGH_EVENTS, np.int32)
_ALIKE.setflags(write=False)


def _same(count: int) -> NDArray[np.int32]:
    """The code of so many events that are all of one kind; blocks of usual sizes have these in common."""
    return _ALIKE[:count] if count <= len(_ALIKE) else np.zeros(count, np.int32)


def to_batch(
    found: Found,
    probabilities: NDArray[np.float64] | None = None,
    errors: Mapping[str, Sequence[Distribution | None]] | None = None,
) -> EventBatch:
    """What was found as a batch; ``errors`` are those of attributes."""
    outlet, count = found.outlet, len(found)
    one_type, one_rule = len(outlet.types) == 1, len(outlet.names) == 1
    return EventBatch(
        types=outlet.types,
        codes=_same(count) if one_type else outlet.codes[found.rule],
        times=found.field(OutputHeader.TIME),
        columns={key: _column(found, key[1], by_rule, outlet.optional[key]) for key, by_rule in outlet.places.items()},
        ids=_LazyIds(found),
        starts=found.field(OutputHeader.START),
        provenance=Provenance(
            rules=outlet.names,
            rule_codes=_same(count) if one_rule else found.rule.astype(np.int32),
            made_of=_Lazy(found),
        ),
        probabilities=probabilities,
        errors={} if errors is None else errors,
    )


def _column(found: Found, value_type: ValueType, by_rule: Words, optional: NDArray[np.bool_]) -> pa.Array:
    """One attribute of all records, null where a record has none or an undefined one."""
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
