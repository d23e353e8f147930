"""Composite events on their way out: columns first, everything that people look at one by one only when asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cepheus.core.batch import ColumnKey, EventBatch, Provenance
from cepheus.core.event import EventId, composite_digest, id_word, text_digest
from cepheus.core.values import ValueType
from cepheus.engine.columns.intake import id_of_word
from cepheus.engine.columns.kernel import split
from cepheus.engine.columns.memory import address
from cepheus.engine.columns.state import COMPOSITE_ID_BASE, STRING_ID_FLOOR
from cepheus.plan.lower import LoweredRule
from cepheus.plan.program import Words
from cepheus.plan.strings import StringTable


class Found:
    """What one call of the kernel found, copied out of its buffer."""

    def __init__(self, rules: Sequence[LoweredRule], strings: StringTable, words: Words, count: int) -> None:
        self.rules = rules
        self.strings = strings
        self.words = words
        self.offsets = np.empty(count, np.int64)
        self.rule = np.empty(count, np.int64)
        self.times = np.empty(count, np.int64)
        self.starts = np.empty(count, np.int64)
        strides = np.array([rule.stride for rule in rules], np.int64)
        split(
            address(words),
            address(strides),
            count,
            address(self.offsets),
            address(self.rule),
            address(self.times),
            address(self.starts),
        )

    def made_of(self, at: int) -> tuple[EventId, ...]:
        """Give the ids of the events that a composite event was made of."""
        rule = self.rules[self.rule[at]]
        positions = rule.resolved.positions
        begin = int(self.offsets[at])
        return tuple(
            self._id(int(word), position.type)
            for word, position in zip(self.words[begin : begin + len(positions)], positions, strict=True)
        )

    def _id(self, word: int, event_type: str) -> EventId:
        if word >= STRING_ID_FLOOR:
            return id_of_word(word, self.strings)
        return f"{event_type}:{word - COMPOSITE_ID_BASE:016x}"

    def id(self, at: int) -> str:
        """Give the id of a composite event."""
        rule = self.rules[self.rule[at]]
        digest = composite_digest(text_digest(rule.name), map(id_word, self.made_of(at)))
        return f"{rule.resolved.composite.name}:{digest:016x}"


class _Lazy(Sequence[tuple[EventId, ...]]):
    """The parts of composite events, looked up when asked for."""

    def __init__(self, found: Found) -> None:
        self._found = found

    def __len__(self) -> int:
        return len(self._found.rule)

    @overload
    def __getitem__(self, at: int) -> tuple[EventId, ...]: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[tuple[EventId, ...]]: ...
    def __getitem__(self, at: int | slice) -> tuple[EventId, ...] | Sequence[tuple[EventId, ...]]:
        if isinstance(at, slice):
            return [self._found.made_of(k) for k in range(*at.indices(len(self)))]
        return self._found.made_of(range(len(self))[at])

    def __iter__(self) -> Iterator[tuple[EventId, ...]]:
        return (self._found.made_of(at) for at in range(len(self)))


class _LazyIds(Sequence[EventId]):
    """The ids of composite events, computed when asked for."""

    def __init__(self, found: Found) -> None:
        self._found = found

    def __len__(self) -> int:
        return len(self._found.rule)

    @overload
    def __getitem__(self, at: int) -> EventId: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[EventId]: ...
    def __getitem__(self, at: int | slice) -> EventId | Sequence[EventId]:
        if isinstance(at, slice):
            return [self._found.id(k) for k in range(*at.indices(len(self)))]
        return self._found.id(range(len(self))[at])

    def __iter__(self) -> Iterator[EventId]:
        return (self._found.id(at) for at in range(len(self)))


def to_batch(found: Found) -> EventBatch:
    """Give what was found as a batch."""
    types: dict[str, int] = {}
    codes = [types.setdefault(rule.resolved.composite.name, len(types)) for rule in found.rules]
    return EventBatch(
        types=tuple(types),
        codes=np.array(codes, np.int32)[found.rule],
        times=found.times,
        columns=_columns(found),
        ids=_LazyIds(found),
        starts=found.starts,
        provenance=Provenance(tuple(rule.name for rule in found.rules), found.rule.astype(np.int32), _Lazy(found)),
    )


def _columns(found: Found) -> dict[ColumnKey, pa.Array]:
    """Give the attributes; which word holds an attribute depends on the rule, so look that up for all rows at once."""
    places: dict[ColumnKey, NDArray[np.int64]] = {}
    flags: dict[ColumnKey, NDArray[np.bool_]] = {}
    for number, rule in enumerate(found.rules):
        place = len(rule.resolved.positions)
        for output in rule.outputs:
            key = (output.attribute, output.type)
            places.setdefault(key, np.full(len(found.rules), -1, np.int64))[number] = place
            flags.setdefault(key, np.zeros(len(found.rules), np.bool_))[number] = output.optional
            place += 2 if output.optional else 1
    columns = {}
    for key, by_rule in places.items():
        at = by_rule[found.rule] if len(found.rules) > 1 else by_rule[0]
        present = at >= 0
        index = found.offsets + at
        valid: NDArray[np.bool_] | None = None
        if not np.all(present):
            valid = present
            index = np.where(present, index, 0)
        if flags[key].any():
            flagged = flags[key][found.rule]
            beside = np.minimum(index + 1, len(found.words) - 1)
            defined = ~flagged | (found.words[beside] != 0)
            valid = defined if valid is None else valid & defined
        if len(found.words):
            columns[key] = _array(found.words[index], key[1], valid, found.strings)
    return columns


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
