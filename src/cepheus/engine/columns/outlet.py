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
from cepheus.engine.columns.kernel import split, turn
from cepheus.engine.columns.memory import address
from cepheus.engine.columns.state import COMPOSITE_ID_BASE, OUTPUT_HEADER, STRING_ID_FLOOR, OutputRecord
from cepheus.plan.lower import LoweredRule
from cepheus.plan.program import Words
from cepheus.plan.strings import StringTable


class Found:
    """What one feeding found: the records that the kernel wrote, and the fields that all of them have."""

    def __init__(self, rules: Sequence[LoweredRule], strings: StringTable, chunks: Sequence[Words]) -> None:
        self.rules = rules
        self.strings = strings
        widths = {OUTPUT_HEADER + rule.stride for rule in rules}
        self._words: Words
        self._places: Words | None = None
        if len(widths) == 1:  # records of one width become the columns of a matrix
            (width,) = widths
            self._words = _turn(chunks, width)
            self.rule = self._words[OutputRecord.RULE]
        else:
            self._words = np.concatenate(chunks)
            self._places, self.rule = self._find_records()

    def _find_records(self) -> tuple[Words, Words]:
        """Give where each record begins, and its rule."""
        strides = np.array([rule.stride for rule in self.rules], np.int64)
        room = len(self._words) // (OUTPUT_HEADER + int(strides.min())) + 1
        places, rules = np.empty(room, np.int64), np.empty(room, np.int64)
        count = split(address(self._words), address(strides), len(self._words), address(places), address(rules))
        return places[:count], rules[:count]

    def __len__(self) -> int:
        return len(self.rule)

    def field(self, at: int | Words) -> Words:
        """Give the word at a place of every record; the place may differ from record to record."""
        found: Words
        if self._places is not None:
            found = self._words[self._places + at]
        elif isinstance(at, int):
            found = self._words[at]
        else:
            found = self._words[at, np.arange(len(self))]
        return found

    def made_of(self, at: int) -> tuple[EventId, ...]:
        """Give the ids of the events that a composite event was made of."""
        positions = self.rules[self.rule[at]].resolved.positions
        record = self._words[:, at] if self._places is None else self._words[self._places[at] :]
        words = record[OUTPUT_HEADER : OUTPUT_HEADER + len(positions)].tolist()
        return tuple(self._id(word, position.type) for word, position in zip(words, positions, strict=True))

    def _id(self, word: int, event_type: str) -> EventId:
        if word >= STRING_ID_FLOOR:
            return id_of_word(word, self.strings)
        return f"{event_type}:{word - COMPOSITE_ID_BASE:016x}"

    def _same_length(self) -> Iterator[tuple[Words, list[Words]]]:
        """Give the records with equally many parts together: their numbers, and the words of each part."""
        lengths = np.array([len(rule.resolved.positions) for rule in self.rules], np.int64)[self.rule]
        for length in np.unique(lengths).tolist():
            rows = np.flatnonzero(lengths == length)
            yield rows, [self._word_of(rows, OUTPUT_HEADER + part) for part in range(length)]

    def _word_of(self, rows: Words, at: int) -> Words:
        """Give the word at a place of some records; others may be too short to have it."""
        found: Words = self._words[at, rows] if self._places is None else self._words[self._places[rows] + at]
        return found

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


def _turn(chunks: Sequence[Words], width: int) -> Words:
    """Turn records of one width, row after row, into a matrix with a row per field."""
    total = sum(len(chunk) for chunk in chunks) // width
    matrix = np.empty((width, total), np.int64)
    done = 0
    for chunk in chunks:
        count = len(chunk) // width
        turn(address(chunk), width, count, address(matrix) + 8 * done, total)
        done += count
    return matrix


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
    return EventBatch(
        types=tuple(types),
        codes=np.array(codes, np.int32)[found.rule],
        times=found.field(int(OutputRecord.TIME)),
        columns=_columns(found),
        ids=_LazyIds(found),
        starts=found.field(int(OutputRecord.START)),
        provenance=Provenance(tuple(rule.name for rule in found.rules), found.rule.astype(np.int32), _Lazy(found)),
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
    place: int | Words
    if (by_rule == by_rule[0]).all():
        place = int(by_rule[0])
    else:
        places = by_rule[found.rule]
        valid = np.asarray(places >= 0)
        place = np.maximum(places, 0)
    if optional.any():
        flagged = optional[found.rule]
        beside = found.field(np.where(flagged, place + 1, 0)) != 0
        valid = (~flagged | beside) if valid is None else valid & (~flagged | beside)
    return _array(found.field(place), value_type, valid, found.strings)


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
