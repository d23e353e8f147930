"""From cells to the columns of a batch: the attributes that a schema expects, checked and converted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cepheus.core.batch import ColumnKey
from cepheus.core.distribution import Distribution
from cepheus.core.errors import EventError, did_you_mean
from cepheus.core.lists import text_column
from cepheus.core.schema import RESERVED, TIME_ATTRIBUTE, Attribute, Schema
from cepheus.core.time import TimeUnit
from cepheus.core.values import Value, ValueType
from cepheus.formats.arrays import BoolArray, rows_with
from cepheus.formats.cells import Uncertain, kind_of_text
from cepheus.formats.columns import Column, TextColumn
from cepheus.formats.intervals import argument_place
from cepheus.formats.rows import Rows

Faults = dict[int, EventError]
"""What is wrong with rows, by row number: the first thing found for each."""

Errors = Mapping[str, Sequence[Distribution | None]]


@dataclass(frozen=True, slots=True)
class Coerced:
    """A column in its expected type, null where the cell was absent or bad, and the errors of uncertain cells."""

    array: pa.Array
    errors: list[Distribution | None] | None = None


@dataclass(frozen=True, slots=True)
class TypedRows:
    """Rows whose event types are known: the types, and each row's code into them."""

    rows: Rows
    types: Sequence[str]
    codes: NDArray[np.int32]

    def of_type(self, code: int) -> BoolArray | None:
        """Mark the rows of a type; None marks all."""
        return None if len(self.types) == 1 else self.codes == code

    def of_types(self, codes: list[int]) -> BoolArray | None:
        """Mark the rows of some types; None marks all."""
        if len(codes) == len(self.types):
            return None
        return rows_with(self.codes, codes, len(self.types))


@dataclass(slots=True)
class AttributeReader:
    """Reads attributes as a schema expects them and remembers the types that only the data told.

    The type of an attribute without one in the schema is fixed by the first rows that have values for it. ``suggested``
    are the types that texts suggest for attributes that rules, and nothing else, take for strings.
    """

    schema: Schema
    unit: TimeUnit
    keep_all: bool = False
    inferred: dict[tuple[str, str], ValueType] = field(default_factory=dict)
    suggested: dict[tuple[str, str], ValueType] = field(default_factory=dict)

    def read(self, events: TypedRows, faults: Faults) -> tuple[dict[ColumnKey, pa.Array], Errors]:
        """The columns and error distributions of some rows; note what is wrong in ``faults``."""
        columns: dict[ColumnKey, pa.Array] = {}
        errors: dict[str, list[Distribution | None]] = {}
        for name, source in self._wanted(events):
            column = events.rows.column(source)
            if column is None and source != name:
                column = events.rows.column(name)  # events that went through here before have it by its own name
            self._note_missing(name, source, column, events, faults)
            if column is None:
                continue
            for kind, codes in self._groups(name, source, column, events).items():
                if kind is ValueType.STRING and isinstance(column, TextColumn):
                    self._refuse_numbers(name, column, events, codes, faults)
                rows = events.of_types(codes)
                coerced = coerce(column, kind, self.unit, faults, rows=rows, prefix=self._prefix(name, events))
                known = columns.get((name, kind))
                columns[name, kind] = coerced.array if known is None else pc.coalesce(known, coerced.array)
                if coerced.errors is not None:
                    errors[name] = _merge(errors.get(name), coerced.errors)
        return columns, errors

    def _wanted(self, events: TypedRows) -> list[tuple[str, str]]:
        """The attributes that are read for events of some types, each with the name that the data has for it."""
        wanted = {
            (attribute.name, attribute.named_by_data): None
            for event_type in events.types
            if event_type in self.schema
            for attribute in self.schema[event_type].attributes
            if attribute.name != TIME_ATTRIBUTE  # every event has it already
        }
        if self.keep_all:
            wanted |= {(name, name): None for name in events.rows.names() if name not in RESERVED}
        return list(wanted)

    def _attribute(self, event_type: str, name: str, source: str) -> Attribute | None:
        declared = self.schema[event_type].attribute(name) if event_type in self.schema else None
        if declared is not None:
            return declared if declared.named_by_data == source else None
        return Attribute(name, None, optional=True) if self.keep_all else None

    def _note_missing(self, name: str, source: str, column: Column | None, events: TypedRows, faults: Faults) -> None:
        present = np.zeros(len(events.rows), np.bool_) if column is None else column.present()
        if present.all():
            return
        absent = ~present
        for code, event_type in enumerate(events.types):
            attribute = self._attribute(event_type, name, source)
            if attribute is not None and not attribute.optional:
                rows = events.of_type(code)
                missing = np.flatnonzero(absent if rows is None else absent & rows).tolist()
                if missing:
                    error = missing_value(event_type, name, events.rows.names())
                    for row in missing:
                        faults.setdefault(row, error)

    def _groups(self, name: str, source: str, column: Column, events: TypedRows) -> dict[ValueType, list[int]]:
        """The types (by code) that take the attribute, by the value type they take it as."""
        groups: dict[ValueType, list[int]] = {}
        for code, event_type in enumerate(events.types):
            attribute = self._attribute(event_type, name, source)
            if attribute is None:
                continue
            kind = attribute.type or self.inferred.get((event_type, name)) or column.kind
            if kind is None:
                rows = events.of_type(code)
                kind = column.infer(rows)
                if kind is None:
                    kind = _unreadable(column, rows)
                else:
                    self.inferred[event_type, name] = kind
            if kind is not None:
                groups.setdefault(kind, []).append(code)
        return groups

    def _refuse_numbers(self, name: str, column: Column, events: TypedRows, codes: list[int], faults: Faults) -> None:
        """Refuse texts that are all numbers or truths where rules alone say string: any other format would refuse them.

        Of declared strings the texts themselves are meant. The first rows with values tell what a file has.
        """
        for code in codes:
            event_type = events.types[code]
            attribute = self._attribute(event_type, name, name)
            rows = events.of_type(code)
            if attribute is None or not attribute.by_use:
                continue
            found = self.suggested.get((event_type, name)) or column.infer(rows)
            if found is None:
                continue
            self.suggested[event_type, name] = found
            if found is ValueType.STRING:
                continue
            declared = f"event {event_type}({name}: string)"
            hint = f"rules take it for a string; if its texts are meant, declare it: {declared}"
            present = column.present()
            for row in np.flatnonzero(present if rows is None else present & rows).tolist():
                text = str(column.raw(row)).strip()
                if kind_of_text(text) is not ValueType.STRING:
                    error = EventError.of("type", f"{text} is not a string", hint=hint)
                    faults.setdefault(row, self._prefix(name, events).apply(row, error))

    def _prefix(self, name: str, events: TypedRows) -> Prefix:
        guessed = {
            event_type: self.inferred[event_type, name]
            for event_type in events.types
            if (event_type, name) in self.inferred
        }
        return Prefix(name, events, guessed)


@dataclass(frozen=True, slots=True)
class Prefix:
    """Puts the event type and the attribute before a message, and a hint where the type was only inferred."""

    name: str
    events: TypedRows
    guessed: Mapping[str, ValueType]

    def apply(self, row: int, error: EventError) -> EventError:
        """The error with its attribute named."""
        finding = error.diagnostics[0]
        event_type = self.events.types[self.events.codes[row]]
        hint = finding.hint
        if event_type in self.guessed and hint is None:
            kind = self.guessed[event_type].value
            hint = f"earlier values made it {kind}; declare its type: event {event_type}({self.name}: ..)"
        return EventError([replace(finding, message=f"{event_type}.{self.name}: {finding.message}", hint=hint)])


def coerce(
    column: Column,
    expected: ValueType,
    unit: TimeUnit,
    faults: Faults,
    *,
    rows: BoolArray | None = None,
    prefix: Prefix | None = None,
) -> Coerced:
    """The marked cells of a column as the expected type; cells that do not fit are noted in ``faults``."""
    array = column.convert(expected, unit, rows)
    if array is not None:
        return Coerced(array)
    present = column.present()
    values: list[Value | None] = [None] * len(present)
    errors: list[Distribution | None] = [None] * len(present)
    for row in np.flatnonzero(present if rows is None else present & rows).tolist():
        try:
            value = column.cell(row, expected, unit)
        except EventError as error:
            faults.setdefault(row, error if prefix is None else prefix.apply(row, error))
            continue
        if isinstance(value, Uncertain):
            values[row], errors[row] = value.value, value.error
        else:
            values[row] = value
    if expected is ValueType.TIMESTAMP:
        array = pa.array(values, pa.int64()).cast(pa.timestamp("us")).cast(expected.arrow)
    elif expected is ValueType.LIST:
        array = text_column(values)
    else:
        array = pa.array(values, expected.arrow)
    return Coerced(array, errors if any(error is not None for error in errors) else None)


def missing_value(event_type: str, name: str, names: Iterable[str]) -> EventError:
    """The error for an event that lacks an attribute; ``names`` are those that events have."""
    place = argument_place(name)
    if place is not None:
        return EventError.of(
            "attribute",
            f"argument {place} of {event_type} is null or missing",
            hint=f"if events may lack it, declare it so, with a question mark: event {event_type}(x: int?).",
        )
    others = [other for other in names if other not in RESERVED and other != name]
    return EventError.of(
        "attribute", f"{event_type} has no value for its attribute '{name}'", hint=did_you_mean(name, others)
    )


def _unreadable(column: Column, rows: BoolArray | None) -> ValueType | None:
    """Cells that suggest no type at all, such as objects, are bad under any type: reading them as numbers says why."""
    present = column.present()
    return ValueType.FLOAT if (present if rows is None else present & rows).any() else None


def _merge(first: list[Distribution | None] | None, second: list[Distribution | None]) -> list[Distribution | None]:
    """Two event types may have the attribute under different value types; each row is of one type."""
    return second if first is None else [a or b for a, b in zip(first, second, strict=True)]
