"""Events in columns by type: what learners look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cepheus.core.batch import EventBatch
from cepheus.core.schema import Attribute, EventType, Schema
from cepheus.core.values import ValueType

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Truths = NDArray[np.bool_]
SEARCHED, F1, COST = 0, 1, 2
"""What thresholds are judged by: their worth to the search, F1, or costs."""

LEARNED_TYPES = (ValueType.BOOL, ValueType.INT, ValueType.FLOAT, ValueType.STRING)
"""Types of attributes that rules are learned over: times and lists are left alone."""


@dataclass(frozen=True)
class Column:
    """An attribute of all events of one type; a text or truth is its code, a missing value NaN."""

    name: str
    type: ValueType
    values: Floats

    @property
    def is_number(self) -> bool:
        """Whether its values have an order."""
        return self.type in (ValueType.INT, ValueType.FLOAT)

    @cached_property
    def tells(self) -> bool:
        """Whether it says anything: one with the same value for all events does not."""
        known = self.values[~np.isnan(self.values)]
        return len(known) > 0 and bool(known.min() < known.max() or len(known) < len(self.values))

    @cached_property
    def recurs(self) -> bool:
        """Whether its values come back, as those of a key do and those of a measurement do not."""
        known = self.values[:20_000]
        return len(np.unique(known)) <= max(2, len(known) // 5)

    @cached_property
    def distinct(self) -> int:
        """How many different values it has."""
        return len(np.unique(self.values))

    def comparable(self, other: Column) -> bool:
        """Whether values of both can be equal."""
        return self.type is other.type or (self.is_number and other.is_number)


@dataclass(frozen=True, slots=True)
class TypeEvents:
    """The events of one type in order of time; ``rows`` are their places in the batch."""

    name: str
    times: Ints
    rows: Ints
    columns: Mapping[str, Column]

    def __len__(self) -> int:
        return len(self.times)

    @property
    def event_type(self) -> EventType:
        """The type as a declaration; an attribute that some events lack is optional."""
        return EventType(
            self.name,
            tuple(
                Attribute(column.name, column.type, optional=bool(np.isnan(column.values).any()))
                for column in self.columns.values()
            ),
        )


@dataclass(frozen=True, slots=True)
class History:
    """All events, in order of time, by type. ``texts`` are what codes of texts stand for.

    >>> from cepheus.core.event import Event
    >>> events = [Event("Smoke", 5, {"area": "A"}), Event("Temp", 2, {"area": "B", "value": 20.5})]
    >>> history = History.of(EventBatch.from_events(events))
    >>> list(history.types), history.types["Temp"].columns["value"].values.tolist(), history.texts
    (['Smoke', 'Temp'], [20.5], ('B', 'A'))
    """

    batch: EventBatch
    types: Mapping[str, TypeEvents]
    texts: tuple[str, ...] = ()
    codes: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, batch: EventBatch, texts: Sequence[str] = ()) -> History:
        """Put a batch into columns by type; ``texts`` are codes that are taken already."""
        if len(batch) > 1 and bool((np.diff(batch.times) < 0).any()):
            batch = batch.take(np.argsort(batch.times, kind="stable"))
        codes = {text: code for code, text in enumerate(texts)}
        values: dict[tuple[str, ValueType], Floats] = {}
        for (name, kind), column in batch.columns.items():
            if kind in LEARNED_TYPES:
                values[name, kind] = floats_of(column, kind, codes)
        order = np.argsort(batch.codes, kind="stable")
        counts = np.bincount(batch.codes, minlength=len(batch.types))
        ends = np.cumsum(counts)
        types = {}
        for code, name in enumerate(batch.types):
            rows = order[ends[code] - counts[code] : ends[code]].astype(np.int64)
            if len(rows):
                types[name] = TypeEvents(name, batch.times[rows], rows, _columns_of(values, rows))
        return cls(batch, types, tuple(codes), codes)

    def only(self, names: Iterable[str]) -> History:
        """The same without events of other types; rows stay those of the whole batch."""
        wanted = set(names)
        return History(
            self.batch, {name: each for name, each in self.types.items() if name in wanted}, self.texts, self.codes
        )

    @property
    def schema(self) -> Schema:
        """The types of all events."""
        return Schema(each.event_type for each in self.types.values())

    @property
    def span(self) -> tuple[int, int]:
        """The times of the first and the last event."""
        return int(self.batch.times[0]), int(self.batch.times[-1])

    def text(self, code: float) -> str:
        """What a code of a text stands for."""
        return self.texts[int(code)]


def floats_of(column: pa.Array, kind: ValueType, codes: dict[str, int]) -> Floats:
    """A column as floats; texts get codes that are the same for equal texts of all columns."""
    if kind is not ValueType.STRING:
        plain = pc.cast(column, pa.float64(), safe=False) if kind is not ValueType.BOOL else pc.cast(column, pa.int8())
        return np.asarray(pc.cast(plain, pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False), np.float64)
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    own = coded.dictionary.to_pylist()
    # a missing text has no index: it is looked up behind the last one, which is undefined
    known = np.array([codes.setdefault(text, len(codes)) if text is not None else np.nan for text in own] + [np.nan])
    indices = coded.indices.fill_null(len(own)).to_numpy(zero_copy_only=False)
    return np.asarray(known[indices], np.float64)


def _columns_of(values: Mapping[tuple[str, ValueType], Floats], rows: Ints) -> dict[str, Column]:
    """The attributes that events of one type have; one whose values are numbers and texts by turns is left out."""
    found: dict[str, list[Column]] = {}
    for (name, kind), column in values.items():
        own = column[rows]
        if not np.isnan(own).all():
            found.setdefault(name, []).append(Column(name, kind, own))
    columns = {}
    for name, parts in sorted(found.items()):
        if len(parts) == 1:
            columns[name] = parts[0]
        elif all(part.is_number for part in parts):
            first, second = parts
            columns[name] = Column(name, ValueType.FLOAT, np.where(np.isnan(first.values), second.values, first.values))
    return columns
