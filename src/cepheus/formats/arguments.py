"""What the data calls the arguments of event types that nobody declares: its attributes, in its own order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheus.core.batch import ColumnKey, EventBatch
from cepheus.core.errors import EventError
from cepheus.core.options import ColumnNames
from cepheus.core.schema import ID_FIELD, RESERVED, SPARE_ID_FIELD, EventType, Schema
from cepheus.formats.attributes import TypedRows
from cepheus.formats.intervals import END, START, argument_name

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
        return Schema(map(self._named, self._schema.values()), closed=self._schema.closed)

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
