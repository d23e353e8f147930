"""A batch as a schema expects it: checked, converted, and cut down to what the schema names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cepheus.core.batch import ColumnKey, EventBatch, IntArray, python_values
from cepheus.core.distribution_column import ErrorColumn, ErrorKind
from cepheus.core.errors import EventError, Place
from cepheus.core.options import OnBadEvent
from cepheus.core.schema import EventType, Schema
from cepheus.core.time import TimeUnit
from cepheus.core.values import ValueType, as_int
from cepheus.formats.arrays import rows_with, validity
from cepheus.formats.attributes import AttributeReader, Faults, TypedRows
from cepheus.formats.cells import Moment, not_a_probability
from cepheus.formats.columns import Column, ObjectColumn, TypedColumn
from cepheus.formats.event_fields import late_start, no_such_type
from cepheus.formats.problems import BadEvents, placed
from cepheus.formats.unseen_attributes import UnseenAttributes


def conform(
    batch: EventBatch, schema: Schema, bad: BadEvents | None = None, unseen: UnseenAttributes | None = None
) -> EventBatch:
    """The events of a batch that a schema names, with the attributes it names, in the types it names.

    An attribute that is missing or does not fit is an error that names the row, counted from 1, and so is an event
    of another type if the schema is closed; under an open schema such events are left out. Integers that stand for
    timestamps are microseconds. With ``bad`` events that are to be skipped, they are left out and reported there.
    ``unseen`` is shown the events.

    >>> from cepheus.core.event import Event
    >>> from cepheus.core.schema import Attribute, EventType
    >>> schema = Schema([EventType("Temp", (Attribute("value", ValueType.FLOAT),))])
    >>> conform(EventBatch.from_events([Event("Temp", 1, {"value": 3, "km": 7}), Event("Rain", 2)]), schema).to_dicts()
    [{'type': 'Temp', 'time': 1, 'value': 3.0}]
    """
    bad = bad or BadEvents()
    foreign = _foreign(batch, schema, bad)
    rows: IntArray | range = range(len(batch))
    if foreign is not None:
        rows = np.flatnonzero(~foreign)
        batch = _without(batch.take(rows), schema)
    faults: Faults = {}
    events = TypedRows(_BatchRows(batch), batch.types, batch.codes)
    if unseen is not None and unseen.missing:
        unseen.look(events)
    reader = AttributeReader(_as_named(batch, schema), TimeUnit.US, to_first=bad.policy is OnBadEvent.STOP)
    columns, errors = reader.read(events, faults)
    own = _own_errors(batch, columns, faults)
    _check_probabilities(batch, faults)
    _check_starts(batch, faults)
    renamed = frozenset(name for name in batch.types if name in schema and schema[name].columns)
    found = replace(batch, columns=columns, errors={**errors, **own}, renamed=renamed)
    if not faults:
        return found
    numbers = {row: int(rows[row]) + 1 for row in sorted(faults)}
    bad.report(placed(faults[row], Place("events", number), f"row {number}: ") for row, number in numbers.items())
    return found.take(np.setdiff1d(np.arange(len(found)), np.fromiter(faults, np.int64)))


def _as_named(batch: EventBatch, schema: Schema) -> Schema:
    """The schema with the names that this batch has: the data's, or those of declarations where these are used already.

    A batch that was put together from events does not say so; it has an attribute by its own name where there is no
    other.
    """
    present = {name for name, _ in batch.columns}

    def as_named(event_type: EventType) -> EventType:
        done = event_type.name in batch.renamed
        attributes = (
            replace(each, column=None) if done or each.named_by_data not in present else each
            for each in event_type.attributes
        )
        return replace(event_type, attributes=tuple(attributes))

    if not any(event_type.columns for event_type in schema.values()):
        return schema
    return schema.mapped(as_named)


def _foreign(batch: EventBatch, schema: Schema, bad: BadEvents) -> NDArray[np.bool_] | None:
    """Mark the rows of types that the schema does not name, which are bad if it is closed; None marks none."""
    unknown = [code for code, name in enumerate(batch.types) if name not in schema]
    if not unknown:
        return None
    foreign = rows_with(batch.codes, unknown, len(batch.types))
    if not foreign.any():
        return None
    if schema.closed:
        bad.report(
            placed(no_such_type(batch.types[batch.codes[row]], schema), Place("events", row + 1), f"row {row + 1}: ")
            for row in np.flatnonzero(foreign).tolist()
        )
    return foreign


def _without(batch: EventBatch, schema: Schema) -> EventBatch:
    """Return a batch without the types that the schema does not name; it has no events of those."""
    known = [name in schema for name in batch.types]
    recode = np.cumsum(known, dtype=np.int32) - 1
    return replace(
        batch,
        types=tuple(name for name in batch.types if name in schema),
        codes=recode[batch.codes].astype(np.int32, copy=False),
    )


@dataclass(frozen=True, slots=True)
class _BatchRows:
    """The attributes of a batch as rows of a file."""

    batch: EventBatch

    def __len__(self) -> int:
        return len(self.batch)

    def names(self) -> Sequence[str]:
        return list({name: None for name, _ in self.batch.columns})

    def column(self, name: str) -> Column | None:
        keys = [key for key in self.batch.columns if key[0] == name]
        if not keys:
            return None
        if len(keys) > 1 or keys[0][1] is ValueType.LIST:  # an array of texts would not tell that these are lists
            return ObjectColumn(self._merged(keys))
        return TypedColumn(self.batch.columns[keys[0]])

    def take(self, rows: IntArray) -> _BatchRows:
        return _BatchRows(self.batch.take(rows))

    def type_codes(self, name: str) -> tuple[list[object], NDArray[np.int32]]:
        assert name == "type"  # the only column that is asked for in this way
        return list(self.batch.types), self.batch.codes

    def _merged(self, keys: Sequence[ColumnKey]) -> list[object]:
        """The values of an attribute that has several types; each row has at most one."""
        merged: list[object] = [None] * len(self.batch)
        for key in keys:
            for row, value in enumerate(python_values(self.batch.columns[key], key[1])):
                if value is not None:
                    merged[row] = Moment(as_int(value) * 1000) if key[1] is ValueType.TIMESTAMP else value
        return merged


def _own_errors(batch: EventBatch, columns: dict[ColumnKey, pa.Array], faults: Faults) -> dict[str, ErrorColumn]:
    """The error distributions of the attributes that are left; only numbers have one."""
    own = {}
    for name, row_errors in batch.errors.items():
        errors = ErrorColumn.of(row_errors)
        kept = np.zeros(len(batch), np.bool_)
        for (attribute, kind), column in columns.items():
            if attribute != name:
                continue
            present = validity(column)
            kept |= present
            if not kind.is_numeric:
                for row in np.flatnonzero(present & (errors.kinds != ErrorKind.NONE)).tolist():
                    message = f"{batch.types[batch.codes[row]]}.{name}: only numbers have an error"
                    faults.setdefault(row, EventError.of("type", message))
        errors = errors.where(kept)
        if errors.any:
            own[name] = errors
    return own


def _check_starts(batch: EventBatch, faults: Faults) -> None:
    for row in [] if batch.starts is None else np.flatnonzero(batch.starts > batch.times).tolist():
        faults.setdefault(row, late_start())


def _check_probabilities(batch: EventBatch, faults: Faults) -> None:
    if batch.probabilities is None:
        return
    for row in np.flatnonzero(~((batch.probabilities >= 0) & (batch.probabilities <= 1))).tolist():
        faults.setdefault(row, not_a_probability(float(batch.probabilities[row])))
