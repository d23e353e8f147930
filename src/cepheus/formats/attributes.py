"""From cells to the columns of a batch: the attributes that a schema expects, checked and converted.

Event types that nobody declares have what the data has: its attributes, in its own order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cepheus.core.batch import ColumnKey, EventBatch
from cepheus.core.distribution import Distribution
from cepheus.core.errors import EventError
from cepheus.core.lists import text_column
from cepheus.core.options import ColumnNames
from cepheus.core.schema import ID_FIELD, RESERVED, SPARE_ID_FIELD, TIME_ATTRIBUTE, Attribute, EventType, Schema
from cepheus.core.time import TimeUnit
from cepheus.core.values import Value, ValueType
from cepheus.formats.arrays import BoolArray, rows_with
from cepheus.formats.cells import Uncertain, kind_of_text
from cepheus.formats.columns import Column, TextColumn
from cepheus.formats.event_fields import missing_value, of_attribute
from cepheus.formats.intervals import END, START, argument_name
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
        others = [code for code in range(len(self.types)) if code not in codes]
        if len(others) > len(codes):
            return rows_with(self.codes, codes, len(self.types))
        rows = rows_with(self.codes, others, len(self.types)) if others else None
        return None if rows is None or not rows.any() else ~rows


@dataclass(slots=True)
class AttributeReader:
    """Reads attributes as a schema expects them and remembers the types that only the data told.

    The type of an attribute without one in the schema is fixed by the first rows that have values for it. ``suggested``
    are the types that texts suggest for attributes that rules, and nothing else, take for strings. With ``to_first``
    reading a column ends at its first fault: what stops there need not be told of a million others.
    """

    schema: Schema
    unit: TimeUnit
    keep_all: bool = False
    to_first: bool = False
    inferred: dict[tuple[str, str], ValueType] = field(default_factory=dict)
    suggested: dict[tuple[str, str], ValueType] = field(default_factory=dict)

    def read(self, events: TypedRows, faults: Faults) -> tuple[dict[ColumnKey, pa.Array], Errors]:
        """The columns and error distributions of some rows; note what is wrong in ``faults``."""
        columns: dict[ColumnKey, pa.Array] = {}
        errors: dict[str, list[Distribution | None]] = {}
        for name, source in self._wanted(events):
            column = events.rows.column(source)
            self._note_missing(name, source, column, events, faults)
            if column is None:
                continue
            for kind, codes in self._groups(name, source, column, events).items():
                if kind is ValueType.STRING and isinstance(column, TextColumn):
                    self._refuse_numbers(name, column, events, codes, faults)
                rows = events.of_types(codes)
                prefix = self._prefix(name, events)
                coerced = coerce(column, kind, self.unit, faults, rows=rows, prefix=prefix, to_first=self.to_first)
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
        attributes = [(code, self._attribute(each, name, source)) for code, each in enumerate(events.types)]
        needing = [(code, each) for code, each in attributes if each is not None and not each.optional]
        if not needing:
            return
        present = np.zeros(len(events.rows), np.bool_) if column is None else column.present()
        if present.all():
            return
        absent = ~present
        for code, attribute in needing:
            rows = events.of_type(code)
            missing = np.flatnonzero(absent if rows is None else absent & rows).tolist()
            if missing:
                names = events.rows.names()
                error = missing_value(events.types[code], name, names, attribute.type, attribute.column)
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
        event_type = self.events.types[self.events.codes[row]]
        return of_attribute(error, event_type, self.name, self.guessed.get(event_type))


def coerce(
    column: Column,
    expected: ValueType,
    unit: TimeUnit,
    faults: Faults,
    *,
    rows: BoolArray | None = None,
    prefix: Prefix | None = None,
    to_first: bool = False,
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
            if to_first:
                break
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


def _unreadable(column: Column, rows: BoolArray | None) -> ValueType | None:
    """Cells that suggest no type at all, such as objects, are bad under any type: reading them as numbers says why."""
    present = column.present()
    return ValueType.FLOAT if (present if rows is None else present & rows).any() else None


def _merge(first: list[Distribution | None] | None, second: list[Distribution | None]) -> list[Distribution | None]:
    """Two event types may have the attribute under different value types; each row is of one type."""
    return second if first is None else [a or b for a, b in zip(first, second, strict=True)]


_USUAL = ColumnNames()


def is_unnamed(event_type: EventType) -> bool:
    """Whether the attributes of a type are arguments without names of their own."""
    names = [attribute.name for attribute in event_type.attributes]
    return bool(names) and names == [argument_name(place) for place in range(1, len(names) + 1)]


def data_names(event_type: EventType, names: Iterable[str], columns: ColumnNames = _USUAL) -> tuple[str, ...]:
    """The names under which data has the arguments of a type, from all the names that an event of it has.

    An ``id`` is the event's own, unless the rules want one argument more than there are other attributes.

    >>> from cepheus.core.schema import Attribute
    >>> stock = EventType("stock", tuple(Attribute(argument_name(place), None) for place in (1, 2, 3)))
    >>> data_names(stock, ["type", "time", "id", "price", "volume"])
    ('id', 'price', 'volume')
    """
    names = list(names)
    arity = len(event_type.attributes)
    if argument_name(1) in names:
        return tuple(attribute.name for attribute in event_type.attributes)
    own = _own(columns)
    found = [name for name in names if name not in own]
    if len(found) == arity - 1 and ID_FIELD in names:
        found = [name for name in names if name in found or name == ID_FIELD]
    if len(found) != arity:
        has = f"{len(found)} attributes: {', '.join(found) or 'none'}"
        raise EventError.of(
            "args",
            f"rules use {arity} arguments of '{event_type.name}', and the data has values of {has}",
            hint=f"declare the ones that are meant: event {event_type.name}(..). A null is no value",
        )
    return tuple(found)


def _own(columns: ColumnNames) -> frozenset[str]:
    """The names of columns that are no arguments."""
    return RESERVED | {SPARE_ID_FIELD, START, END} | columns.given


class ArgumentNames:
    """Settles, at the first rows of each type without names, which columns are its arguments."""

    def __init__(self, schema: Schema, columns: ColumnNames) -> None:
        self._schema = schema
        self._columns = columns
        self._unnamed = {name for name, event_type in schema.items() if is_unnamed(event_type)}
        self._found: dict[str, tuple[str, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._unnamed)

    def look(self, events: TypedRows) -> bool:
        """Look at rows for types that are not settled yet; tell whether there was one."""
        fresh = [name for name in events.types if name in self._unnamed and name not in self._found]
        for name in fresh:
            rows = events.of_type(list(events.types).index(name))
            if rows is None or rows.any():
                self._found[name] = self._names(self._schema[name], events, rows)
        return any(name in self._found for name in fresh)

    def _names(self, event_type: EventType, events: TypedRows, rows: np.ndarray | None) -> tuple[str, ...]:
        """The names of a type's arguments; those of ``args`` are there even if all their values are null."""
        present = _present(events, rows)
        own = tuple(attribute.name for attribute in event_type.attributes)
        if set(own) <= set(events.rows.names()) and not set(present) - _own(self._columns) - {*own}:
            return own
        return data_names(event_type, present, self._columns)

    def reading(self) -> Schema:
        """The schema with the names that the data has, and the types that rules declare."""
        return self._schema.mapped(self._named)

    def _named(self, event_type: EventType) -> EventType:
        names = self._found.get(event_type.name)
        if names is None:
            return event_type
        pairs = zip(event_type.attributes, names, strict=True)
        return replace(event_type, attributes=tuple(replace(attribute, name=name) for attribute, name in pairs))

    def back(self, batch: EventBatch) -> EventBatch:
        """Return a batch whose columns have the names that rules have for them."""
        columns: dict[ColumnKey, pa.Array] = {}
        for code, event_type in enumerate(batch.types):
            rows = batch.codes == code
            renamed = {name: argument_name(place) for place, name in enumerate(self._found.get(event_type, ()), 1)}
            for (name, kind), column in batch.columns.items():
                key = (renamed.get(name, name), kind)
                mine = pc.if_else(pa.array(rows), column, pa.nulls(len(batch), column.type))
                if mine.null_count < len(batch):
                    columns[key] = pc.coalesce(mine, columns[key]) if key in columns else mine
        return replace(batch, columns=columns)


def _present(events: TypedRows, rows: np.ndarray | None) -> Sequence[str]:
    """The names of the columns that have a value in some of the rows."""
    found = []
    for name in events.rows.names():
        column = events.rows.column(name)
        if column is not None and (column.present() if rows is None else column.present() & rows).any():
            found.append(name)
    return found
