"""Composite events on their way out: columns first, everything that people look at one by one only when asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cepheus.core.batch import ColumnKey, EventBatch, Provenance
from cepheus.core.event import DIGEST_MASK, EventId, composite_digest, id_word
from cepheus.core.values import ValueType
from cepheus.engine.columns.intake import id_of_word
from cepheus.engine.columns.state import COMPOSITE_ID_BASE, OUTPUT_HEADER, STRING_ID_FLOOR, OutputHeader
from cepheus.plan.lower import LoweredRule
from cepheus.plan.program import Words
from cepheus.plan.strings import StringTable


class Found:
    """What one feeding found: an array for each field of the output."""

    def __init__(self, rules: Sequence[LoweredRule], strings: StringTable, fields: Sequence[Words]) -> None:
        self.rules = rules
        self.strings = strings
        self.fields = fields
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
        positions = self.rules[self.rule[at]].resolved.positions
        parts = self.fields[OUTPUT_HEADER : OUTPUT_HEADER + len(positions)]
        return tuple(self._id(int(part[at]), position.type) for part, position in zip(parts, positions, strict=True))

    def _id(self, word: int, event_type: str) -> EventId:
        if word >= STRING_ID_FLOOR:
            return id_of_word(word, self.strings)
        return f"{event_type}:{word - COMPOSITE_ID_BASE:016x}"

    def _same_length(self) -> Iterator[tuple[Words, list[Words]]]:
        """Give the records with equally many parts together: their numbers, and the words of each part."""
        lengths = np.array([len(rule.resolved.positions) for rule in self.rules], np.int64)[self.rule]
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
        seeds = np.array([rule.seed for rule in self.rules], np.uint64)[self.rule]
        texts = self.strings.digests().view(np.uint64)
        for rows, parts in self._same_length():
            digest = seeds[rows]
            for words in parts:
                mixed = words.view(np.uint64).copy()
                composite = words < STRING_ID_FLOOR
                mixed[composite] = (words[composite] - COMPOSITE_ID_BASE).view(np.uint64)
                named = (words < 0) & ~composite
                mixed[named] = texts[~words[named]]
                digest = mix_words(digest, mixed)
            seeds[rows] = digest
        names = [rule.resolved.composite.name for rule in self.rules]
        digests = (seeds & np.uint64(DIGEST_MASK)).tolist()
        return [f"{names[rule]}:{digest:016x}" for rule, digest in zip(self.rule.tolist(), digests, strict=True)]

    def id(self, at: int) -> str:
        """Give the id of a composite event."""
        rule = self.rules[self.rule[at]]
        digest = composite_digest(rule.seed, map(id_word, self.made_of(at)))
        return f"{rule.resolved.composite.name}:{digest:016x}"


def mix_words(digest: NDArray[np.uint64], words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Stir a word into each digest: ``core.event.composite_digest``, a step for many events at once."""
    digest = (digest ^ words) + np.uint64(0x9E3779B97F4A7C15)
    digest = (digest ^ (digest >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    digest = (digest ^ (digest >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return digest ^ (digest >> np.uint64(31))


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
    types: dict[str, int] = {}
    codes = [types.setdefault(rule.resolved.composite.name, len(types)) for rule in found.rules]
    one_type, one_rule = len(types) == 1, len(found.rules) == 1
    return EventBatch(
        types=tuple(types),
        codes=np.zeros(len(found), np.int32) if one_type else np.array(codes, np.int32)[found.rule],
        times=found.field(OutputHeader.TIME),
        columns=_columns(found),
        ids=_LazyIds(found),
        starts=found.field(OutputHeader.START),
        provenance=Provenance(
            rules=tuple(rule.name for rule in found.rules),
            rule_codes=np.zeros(len(found), np.int32) if one_rule else found.rule.astype(np.int32),
            made_of=_Lazy(found),
        ),
    )


def _columns(found: Found) -> dict[ColumnKey, pa.Array]:
    """Give the attributes; which word holds an attribute depends on the rule."""
    places: dict[ColumnKey, Words] = {}
    optional: dict[ColumnKey, NDArray[np.bool_]] = {}
    for number, rule in enumerate(found.rules):
        place = OUTPUT_HEADER + len(rule.resolved.positions)
        for output in rule.outputs:
            key = (output.attribute, output.type)
            places.setdefault(key, np.full(len(found.rules), -1, np.int64))[number] = place
            optional.setdefault(key, np.zeros(len(found.rules), np.bool_))[number] = output.optional
            place += 2 if output.optional else 1
    return {key: _column(found, key[1], by_rule, optional[key]) for key, by_rule in places.items()}


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
