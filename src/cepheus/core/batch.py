"""Many events in columns: what engines eat and give.

One batch carries events of many types. Each row has a type code and a time; attributes are Arrow columns over all
rows, null where a row's type has no such attribute. Events may use one attribute name for values of different types,
so a column is named by attribute and value type together, and a row has a value in at most one of the columns of a
name: an integer stays an integer, whatever else has its name. A column has the Arrow type of its value type
(``ValueType.arrow``), except that a column of strings, or of lists, which are held by their texts, may be
dictionary-coded.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cepheus.core.distribution import Distribution
from cepheus.core.distribution_column import ErrorColumn
from cepheus.core.errors import EventError
from cepheus.core.event import AsEvent, Event, EventId
from cepheus.core.lists import list_column, text_column
from cepheus.core.values import INT_MAX, INT_MIN, Value, ValueType, as_int, from_arrow, type_of

T = TypeVar("T")
Made = TypeVar("Made", bound=AsEvent)
ColumnKey = tuple[str, ValueType]
IntArray = NDArray[np.int64]
Ids = Sequence[EventId] | IntArray
"""The ids of a batch, one a row."""


@runtime_checkable
class InArrow(Protocol):
    """A sequence that can be had as Arrow texts, or lists of texts, without a Python value for each."""

    def in_arrow(self) -> pa.Array:
        """All of it, a value or null for each place."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """For a batch of composite events: the rule that made each and the ids of the events it was made of.

    The rule of an event that was read back from a file is not known; its name is empty.
    """

    rules: tuple[str, ...]
    rule_codes: NDArray[np.int32]
    made_of: Sequence[tuple[EventId, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class EventBatch:
    """Events in columns, in the order in which they are to be processed.

    ``ids`` may be a range or an array of int64, which cost nothing per row, or any sequence; None means that no
    event has an id of its own. ``errors`` holds, by attribute name, each row's error distribution or None. Of the
    types in ``renamed`` the attributes have the names that declarations give them already, not those of the data.

    >>> batch = EventBatch.from_events([Event("Smoke", 1, {"area": "A1"}), Event("Temp", 2, {"value": 51.5})])
    >>> len(batch), batch.types, batch.times.tolist()
    (2, ('Smoke', 'Temp'), [1, 2])
    """

    types: tuple[str, ...]
    codes: NDArray[np.int32]
    times: IntArray
    columns: Mapping[ColumnKey, pa.Array] = field(default_factory=dict)
    sequences: IntArray | None = None
    ids: Ids | None = None
    probabilities: NDArray[np.float64] | None = None
    errors: Mapping[str, Sequence[Distribution | None]] = field(default_factory=dict)
    starts: IntArray | None = None
    provenance: Provenance | None = None
    renamed: frozenset[str] = frozenset()
    chunks: tuple[EventBatch, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.chunks)) if self.chunks else len(self.times)

    @classmethod
    def in_chunks(cls, chunks: Sequence[EventBatch]) -> EventBatch:
        """Return batches one after the other as one batch, without copying them.

        Whoever can makes use of the ``chunks``; as soon as any other field is asked for, they are put together.

        >>> first, second = EventBatch.from_events([Event("A", 1)]), EventBatch.from_events([Event("B", 2)])
        >>> batch = EventBatch.in_chunks([first, second])
        >>> len(batch), len(batch.chunks), batch.types, batch.times.tolist(), batch.chunks
        (2, 2, ('A', 'B'), [1, 2], ())
        """
        chunks = [part for chunk in chunks for part in chunk.parts if len(part)]
        if len(chunks) < 2:
            return chunks[0] if chunks else cls.empty()
        made = object.__new__(EventBatch)
        object.__setattr__(made, "chunks", tuple(chunks))
        return made

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Put the chunks together: a field that is asked for and not there is that of a batch in chunks."""
            if name not in _FIELDS or name == "chunks":
                raise AttributeError(name)
            joined = EventBatch.concat(self.chunks)
            for field_name in _FIELDS:
                object.__setattr__(self, field_name, getattr(joined, field_name))
            return getattr(self, name)

    @property
    def parts(self) -> tuple[EventBatch, ...]:
        """The chunks of a batch, or itself as the only one."""
        return self.chunks or (self,)

    @classmethod
    def empty(cls) -> EventBatch:
        """Return a batch without events."""
        return cls((), np.empty(0, np.int32), np.empty(0, np.int64))

    @classmethod
    def from_events(cls, events: Iterable[Event]) -> EventBatch:
        """Put events into columns; every value keeps its type."""
        events = list(events)
        type_codes: dict[str, int] = {}
        codes = np.fromiter((type_codes.setdefault(e.type, len(type_codes)) for e in events), np.int32, len(events))
        sequences = None
        if events and all(event.sequence is not None for event in events):
            sequences = np.fromiter((event.sequence for event in events), np.int64, len(events))
        composite = any(event.rule is not None or event.made_of for event in events)
        intervals = any(event.start is not None for event in events)
        starts = (e.time if e.start is None else e.start for e in events)
        return cls(
            types=tuple(type_codes),
            codes=codes,
            times=np.fromiter((event.time for event in events), np.int64, len(events)),
            columns=_columns(events),
            sequences=sequences,
            ids=_ids(events),
            probabilities=np.array([event.probability for event in events])
            if any(event.probability != 1.0 for event in events)
            else None,
            errors=_errors(events),
            starts=np.fromiter(starts, np.int64, len(events)) if intervals else None,
            provenance=_provenance(events) if composite else None,
        )

    def id_list(self) -> list[EventId] | None:
        """The ids as Python values, or None if no event has one."""
        if self.ids is None:
            return None
        return self.ids.tolist() if isinstance(self.ids, np.ndarray) else list(self.ids)

    def has(self, name: str, value_type: ValueType) -> bool:
        """Whether there is a column that can be read as an attribute of a type."""
        if (name, value_type) in self.columns:
            return True
        return value_type in _FROM_INTEGERS and (name, ValueType.INT) in self.columns

    def column(self, name: str, value_type: ValueType) -> pa.Array | None:
        """The values of an attribute in a type, None if there are none.

        Where a row has an integer instead, that stands for a float, or for a timestamp in microseconds.
        """
        own = self.columns.get((name, value_type))
        integers = self.columns.get((name, ValueType.INT))
        if own is None:
            return integers if value_type in _FROM_INTEGERS else None
        if value_type not in _FROM_INTEGERS or integers is None or own.null_count == 0:
            return own
        return pc.coalesce(own.cast(value_type.arrow), integers.cast(value_type.arrow, safe=False))

    def to_events(self) -> list[Event]:
        """The events one by one; attributes that a row does not have are left out."""
        rows: list[dict[str, Value | None]] = [{} for _ in range(len(self))]
        for (name, value_type), column in self.columns.items():
            for row, value in zip(rows, python_values(column, value_type), strict=True):
                if value is not None:
                    row[name] = value
        made_of: Sequence[tuple[EventId, ...]] = ()
        rules: list[str] = []
        if self.provenance is not None:
            made_of = list(self.provenance.made_of)
            rules = [self.provenance.rules[code] for code in self.provenance.rule_codes.tolist()]
        types = [self.types[code] for code in self.codes.tolist()]
        times = self.times.tolist()
        ids = self.id_list()
        sequences = self.sequences.tolist() if self.sequences is not None else None
        probabilities = self.probabilities.tolist() if self.probabilities is not None else None
        starts = self.starts.tolist() if self.starts is not None else None
        return [
            Event(
                types[i],
                times[i],
                rows[i],
                id=None if ids is None else ids[i],
                sequence=None if sequences is None else sequences[i],
                probability=1.0 if probabilities is None else probabilities[i],
                errors={name: error for name, row in self.errors.items() if (error := row[i]) is not None},
                start=None if starts is None else starts[i],
                rule=(rules[i] or None) if rules else None,
                made_of=made_of[i] if made_of else (),
            )
            for i in range(len(self))
        ]

    def to_objects(self, kind: type[Made]) -> list[Made]:
        """The events of the type that a class of events describes, as its instances.

        >>> from datetime import datetime
        >>> from cepheus.typed import Event
        >>> class Temp(Event):
        ...     value: float
        >>> EventBatch.from_events([Temp(value=51.5, time=datetime(2026, 1, 31)).__cepheus_event__()]).to_objects(Temp)
        [Temp(time=datetime.datetime(2026, 1, 31, 0, 0, tzinfo=datetime.timezone.utc), value=51.5)]
        """
        described: Any = kind
        name = described.__event_type__.name
        rows = np.flatnonzero(self.codes == self.types.index(name)) if name in self.types else np.empty(0, np.int64)
        return [described.__from_cepheus_event__(event) for event in self.take(rows).to_events()]

    def to_dicts(self) -> list[dict[str, Any]]:
        """The events as flat dicts (see Event.to_dict)."""
        return [event.to_dict() for event in self.to_events()]

    def _repr_html_(self) -> str:
        from cepheus.core.display import events_table, page

        return page(events_table(self, "event" if self.provenance is None else "composite event"))

    def slice(self, start: int, stop: int) -> EventBatch:
        """The events from row ``start`` up to, not including, row ``stop``, without copying columns."""
        part = slice(start, stop)
        provenance = self.provenance
        if provenance is not None:
            provenance = Provenance(provenance.rules, provenance.rule_codes[part], provenance.made_of[part])
        return replace(
            self,
            codes=self.codes[part],
            times=self.times[part],
            columns={key: column[part] for key, column in self.columns.items()},
            sequences=None if self.sequences is None else self.sequences[part],
            ids=None if self.ids is None else self.ids[part],
            probabilities=None if self.probabilities is None else self.probabilities[part],
            errors={name: errors[part] for name, errors in self.errors.items()},
            starts=None if self.starts is None else self.starts[part],
            provenance=provenance,
        )

    def take(self, rows: NDArray[np.int64]) -> EventBatch:
        """The events of the named rows, in that order."""
        indices = pa.array(rows, pa.int64())
        provenance = self.provenance
        if provenance is not None:
            provenance = Provenance(provenance.rules, provenance.rule_codes[rows], _pick(provenance.made_of, rows))
        return replace(
            self,
            codes=self.codes[rows],
            times=self.times[rows],
            columns={key: column.take(indices) for key, column in self.columns.items()},
            sequences=None if self.sequences is None else self.sequences[rows],
            ids=None if self.ids is None else _pick_ids(self.ids, rows),
            probabilities=None if self.probabilities is None else self.probabilities[rows],
            errors={name: ErrorColumn.of(errors).take(rows) for name, errors in self.errors.items()},
            starts=None if self.starts is None else self.starts[rows],
            provenance=provenance,
        )

    @classmethod
    def concat(cls, batches: Sequence[EventBatch]) -> EventBatch:
        """Put batches one after the other.

        Where only some batches have ids, an event without one gets its position in the result. Sequence numbers
        are kept only if every batch has them.
        """
        batches = [batch for batch in batches if len(batch)]
        if len(batches) == 1:
            return batches[0]
        if not batches:
            return cls.empty()
        type_codes = _merge_names([batch.types for batch in batches])
        keys = _by_name(key for batch in batches for key in batch.columns)
        return cls(
            types=tuple(type_codes),
            codes=np.concatenate([_recode(batch.types, batch.codes, type_codes) for batch in batches]),
            times=np.concatenate([batch.times for batch in batches]),
            columns={key: _stack([(batch.columns.get(key), len(batch)) for batch in batches], key) for key in keys},
            sequences=_join([batch.sequences for batch in batches]),
            ids=_join_ids(batches),
            probabilities=_join_default([(batch.probabilities, len(batch)) for batch in batches]),
            errors=_join_errors(batches),
            starts=_join_starts(batches),
            provenance=_join_provenance(batches),
            renamed=frozenset.intersection(*(b.renamed | set(type_codes).difference(b.types) for b in batches)),
        )


_FIELDS = tuple(each.name for each in fields(EventBatch))
_PLAIN = (bool, int, float, str, tuple)
_FROM_INTEGERS = (ValueType.FLOAT, ValueType.TIMESTAMP)


def python_values(column: pa.Array, value_type: ValueType) -> list[Value | None]:
    """Return a column as Python values; a timestamp is an int of microseconds."""
    if value_type is ValueType.LIST:
        return list_column(column)
    if value_type is ValueType.TIMESTAMP:
        column = column.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
    elif from_arrow(column.type) is ValueType.INT and value_type is ValueType.FLOAT:
        column = column.cast(pa.float64(), safe=False)
    values: list[Value | None] = column.to_pylist()
    return values


def _columns(events: Sequence[Event]) -> dict[ColumnKey, pa.Array]:
    found: dict[ColumnKey, list[tuple[int, Value]]] = {}
    for row, event in enumerate(events):
        for name, value in event.attributes.items():
            if value is not None:
                plain = value if type(value) in _PLAIN else _plain(value, event.type, name)
                found.setdefault((name, type_of(plain)), []).append((row, plain))
    columns = {}
    for name, value_type in _by_name(found):
        values: list[Value | None] = [None] * len(events)
        for row, value in found[name, value_type]:
            if value_type is ValueType.INT and not INT_MIN <= as_int(value) <= INT_MAX:
                raise EventError.of("integer", f"{events[row].type}.{name} = {value} does not fit in 64 bits")
            values[row] = value
        listed = value_type is ValueType.LIST
        columns[name, value_type] = text_column(values) if listed else pa.array(values, value_type.arrow)
    return columns


def _plain(value: object, event_type: str, name: str) -> Value:
    """A value of NumPy, or of a class of its own, as the Python value that it is."""
    given = value.item() if isinstance(value, np.generic) else value
    match given:
        case bool() | tuple():
            return given
        case int():
            return int(given)
        case float():
            return float(given)
        case str():
            return str(given)
    message = f"{event_type}.{name} = {given!r} is no value of an attribute"
    raise EventError.of("type", message, hint="give numbers, truths, texts and lists as such; a time in microseconds")


def _by_name(keys: Iterable[ColumnKey]) -> list[ColumnKey]:
    """List each key once, those of a name together: attributes stand in the order in which events have them."""
    names: dict[str, dict[ColumnKey, None]] = {}
    for key in keys:
        names.setdefault(key[0], {})[key] = None
    return list(chain.from_iterable(names.values()))


def _ids(events: Sequence[Event]) -> list[EventId] | None:
    if all(event.id is None for event in events):
        return None
    return [row if event.id is None else event.id for row, event in enumerate(events)]


def _errors(events: Sequence[Event]) -> dict[str, ErrorColumn]:
    names = {name: None for event in events for name in event.errors}
    return {name: ErrorColumn.of([event.errors.get(name) for event in events]) for name in names}


def _provenance(events: Sequence[Event]) -> Provenance:
    codes: dict[str, int] = {}
    rule_codes = [codes.setdefault(event.rule or "", len(codes)) for event in events]
    return Provenance(tuple(codes), np.array(rule_codes, np.int32), [event.made_of for event in events])


def _stack(parts: Sequence[tuple[pa.Array | None, int]], key: ColumnKey) -> pa.Array:
    arrow_type = key[1].arrow
    arrays = []
    for column, length in parts:
        if column is None:
            arrays.append(pa.nulls(length, arrow_type))
        elif column.type != arrow_type:
            arrays.append(pc.cast(column, arrow_type))
        else:
            arrays.append(column)
    return pa.concat_arrays(arrays)


def _pick(values: Sequence[T], rows: IntArray) -> list[T]:
    return [values[row] for row in rows.tolist()]


def _pick_ids(ids: Ids, rows: IntArray) -> Ids:
    if isinstance(ids, range):
        return ids.start + ids.step * rows
    return ids[rows] if isinstance(ids, np.ndarray) else _pick(ids, rows)


def _merge_names(parts: Iterable[Sequence[str]]) -> dict[str, int]:
    codes: dict[str, int] = {}
    for name in chain.from_iterable(parts):
        codes.setdefault(name, len(codes))
    return codes


def _recode(names: Sequence[str], codes: NDArray[np.int32], merged: Mapping[str, int]) -> NDArray[np.int32]:
    return np.array([merged[name] for name in names], np.int32)[codes]


def _join_ids(batches: Sequence[EventBatch]) -> Ids | None:
    if all(batch.ids is None for batch in batches):
        return None
    parts: list[Ids] = []
    offset = 0
    for batch in batches:
        parts.append(range(offset, offset + len(batch)) if batch.ids is None else batch.ids)
        offset += len(batch)
    if all(isinstance(part, range | np.ndarray) for part in parts):
        return np.concatenate([np.asarray(part, np.int64) for part in parts])
    return _one_after_the_other([part.tolist() if isinstance(part, np.ndarray) else part for part in parts])


def _join_errors(batches: Sequence[EventBatch]) -> dict[str, ErrorColumn]:
    names = {name: None for batch in batches for name in batch.errors}
    return {
        name: ErrorColumn.concat([ErrorColumn.of(batch.errors.get(name, [None] * len(batch))) for batch in batches])
        for name in names
    }


def _join_starts(batches: Sequence[EventBatch]) -> IntArray | None:
    if all(batch.starts is None for batch in batches):
        return None
    return np.concatenate([batch.times if batch.starts is None else batch.starts for batch in batches])


def _join_provenance(batches: Sequence[EventBatch]) -> Provenance | None:
    if all(batch.provenance is None for batch in batches):
        return None
    nothing: tuple[EventId, ...] = ()
    parts = [
        batch.provenance or Provenance(("",), np.zeros(len(batch), np.int32), [nothing] * len(batch))
        for batch in batches
    ]
    rules = _merge_names([part.rules for part in parts])
    return Provenance(
        tuple(rules),
        np.concatenate([_recode(part.rules, part.rule_codes, rules) for part in parts]),
        _one_after_the_other([part.made_of for part in parts]),
    )


class _Joined(Sequence[T]):
    """Sequences one after the other; what they work out only when asked for, they still do."""

    def __init__(self, parts: Sequence[Sequence[T]]) -> None:
        self._parts = parts
        self._ends = list(accumulate(map(len, parts)))

    def __len__(self) -> int:
        return self._ends[-1]

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        place = range(len(self))[at]
        part = bisect_right(self._ends, place)
        return self._parts[part][place - self._ends[part]]

    def __iter__(self) -> Iterator[T]:
        return chain.from_iterable(self._parts)


def _one_after_the_other(parts: Sequence[Sequence[T]]) -> Sequence[T]:
    """Put sequences together: in a list, unless some are worked out only when asked for."""
    lists = all(isinstance(part, list | tuple | range) for part in parts)
    return list(chain.from_iterable(parts)) if lists else _Joined(parts)


def _join(parts: Sequence[IntArray | None]) -> IntArray | None:
    present = [part for part in parts if part is not None]
    return np.concatenate(present) if len(present) == len(parts) else None


def _join_default(parts: Sequence[tuple[NDArray[np.float64] | None, int]]) -> NDArray[np.float64] | None:
    if all(part is None for part, _ in parts):
        return None
    return np.concatenate([np.ones(length) if part is None else part for part, length in parts])
