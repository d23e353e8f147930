"""The two kinds of rows that cross between Spark and Python: events on their way in, composite events on their way out.

Both are Arrow record batches. An event of any type is one row with a type code, a time in microseconds, and a column
for each attribute that some rule reads; ``EventLayout`` makes batches of them without touching single rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cepheus.core.batch import ColumnKey, EventBatch, Ids, Provenance
from cepheus.core.errors import EventError
from cepheus.core.event import EventId
from cepheus.core.lists import list_column, text_column
from cepheus.core.schema import OWNED_ATTRIBUTE, Attribute, EventType, Schema
from cepheus.core.values import ValueType
from cepheus.formats.cells import id_of_text
from cepheus.plan.split.component import AttributeKey
from cepheus.rules.expressions import AttributeRef
from cepheus.rules.model import Assignment, Rule
from cepheus.runtime.spark.error_layout import NO_ERRORS, ErrorLayout, probabilities

if TYPE_CHECKING:
    from pyspark.sql import Column


SHARD, TYPE, TIME, SEQUENCE, ID, OWNED, START = "shard", "type", "time", "sequence", "id", "home", "start"
PROBABILITY = "probability"
"""The columns of events that are not attributes. ``home`` tells whether the shard owns the event."""

SQL_TYPES: Mapping[ValueType, str] = {
    ValueType.BOOL: "boolean",
    ValueType.INT: "bigint",
    ValueType.FLOAT: "double",
    ValueType.STRING: "string",
    ValueType.TIMESTAMP: "timestamp",
    ValueType.LIST: "string",  # its text, as everywhere in columns
}
"""What Spark calls the types of attributes."""

NO_TYPE = ValueType.STRING
"""What stands for the type of an attribute that nothing tells, and that hence never has a value."""


def quoted(name: str) -> str:
    """Write a column name as SQL takes it.

    >>> quoted("a.b")
    '`a.b`'
    """
    return "`" + name.replace("`", "``") + "`"


class IdKind(Enum):
    """What names an event: nothing, an integer, or a text."""

    NONE = "none"
    NUMBER = "bigint"
    TEXT = "string"


@dataclass(frozen=True, slots=True)
class EventLayout:
    """The columns of events: which types the codes stand for, which attributes there are.

    ``columns`` are named by attribute and type, as in an EventBatch; in Spark the n-th is called ``a<n>``. ``required``
    are the attributes, by event type, that every event must have. ``intervals`` and ``doubtful`` say that there are
    columns of starts and of probabilities.
    """

    types: tuple[str, ...]
    columns: tuple[ColumnKey, ...]
    required: tuple[tuple[str, ColumnKey], ...] = ()
    ids: IdKind = IdKind.NONE
    sequenced: bool = False
    marks_owned: bool = False
    intervals: bool = False
    doubtful: bool = False
    errors: ErrorLayout = NO_ERRORS

    @classmethod
    def of(
        cls,
        inputs: Sequence[EventType],
        *,
        ids: IdKind,
        sequenced: bool,
        marks_owned: bool,
        intervals: bool = False,
        doubtful: bool = False,
        errors: ErrorLayout | None = None,
    ) -> EventLayout:
        """Lay out the event types that rules look at, each with the attributes they read."""
        columns = {(a.name, a.type): None for event_type in inputs for a in event_type.attributes if a.type is not None}
        required = (
            (event_type.name, (a.name, a.type))
            for event_type in inputs
            for a in event_type.attributes
            if not a.optional and a.type is not None
        )
        names = tuple(event_type.name for event_type in inputs)
        ordered = sorted(columns, key=lambda key: (key[0], key[1].value))
        return cls(
            names,
            tuple(ordered),
            tuple(required),
            ids,
            sequenced,
            marks_owned,
            intervals,
            doubtful,
            errors or NO_ERRORS,
        )

    def name_of(self, key: ColumnKey) -> str:
        """The name in Spark of an attribute's column."""
        return f"a{self.columns.index(key)}"

    def batch(self, rows: pa.RecordBatch) -> EventBatch:
        """Turn rows into events, in the order in which they come; EventError if one is bad."""
        columns = {key: _attribute(rows.column(f"a{n}"), key) for n, key in enumerate(self.columns)}
        if self.marks_owned:
            columns[OWNED_COLUMN] = rows.column(OWNED)
        errors = self.errors.errors(rows, columns)
        return EventBatch(
            types=self.types,
            codes=_filled(rows.column(TYPE), "type"),
            times=_filled(rows.column(TIME), "time"),
            columns=columns,
            sequences=_filled(rows.column(SEQUENCE), "sequence number") if self.sequenced else None,
            ids=self._ids(rows),
            probabilities=probabilities(rows.column(PROBABILITY)) if self.doubtful else None,
            errors=errors,
            starts=self._starts(rows),
        )

    def _starts(self, rows: pa.RecordBatch) -> NDArray[np.int64] | None:
        """When events began: those without a start are instants."""
        if not self.intervals:
            return None
        starts, times = rows.column(START), rows.column(TIME)
        return _filled(pc.coalesce(starts, times) if starts.null_count else starts, "start")

    def plain(self, batch: EventBatch) -> EventBatch:
        """The same events, without the mark by which shards know their own."""
        if not self.marks_owned:
            return batch
        return replace(batch, columns={key: column for key, column in batch.columns.items() if key != OWNED_COLUMN})

    def _ids(self, rows: pa.RecordBatch) -> Ids | None:
        match self.ids:
            case IdKind.NONE:
                return None
            case IdKind.NUMBER:
                return _filled(rows.column(ID), "id")
            case IdKind.TEXT:
                return _text_ids(rows.column(ID))

    def check(self, batch: EventBatch) -> None:
        """Refuse events that lack what all of their type must have, numbers that are none, ends before starts."""
        if batch.starts is not None and (batch.starts > batch.times).any():
            raise EventError.of(
                "start", "an event starts after its end", hint="leave out such events: on_bad_event='skip'"
            )
        for key, column in batch.columns.items():
            name, value_type = key
            if value_type is ValueType.FLOAT and not np.isfinite(_numbers(column)).all():
                raise EventError.of(
                    "number",
                    f"an attribute '{name}' is not a finite number",
                    hint="replace NaN and infinities by null, or leave out such events: on_bad_event='skip'",
                )
            if column.null_count:
                self._refuse_missing(batch, key, column)

    def _refuse_missing(self, batch: EventBatch, key: ColumnKey, column: pa.Array) -> None:
        missing = column.is_null().to_numpy(zero_copy_only=False)
        for type_name, attribute in self.required:
            if attribute == key and (missing & (batch.codes == self.types.index(type_name))).any():
                raise EventError.of(
                    "missing-attribute",
                    f"an event of type '{type_name}' lacks the attribute '{key[0]}'",
                    hint="declare the attribute optional with '?', or leave out such events: on_bad_event='skip'",
                )


def _filled(column: pa.Array, what: str) -> NDArray[Any]:
    """Read a column of integers of whatever width, which must not have nulls."""
    if column.null_count:
        raise _no(what)
    return np.asarray(column.to_numpy(zero_copy_only=True))


def _text_ids(column: pa.Array) -> list[EventId]:
    """Read ids that are texts; one that is written as an integer is that integer, as in files."""
    if column.null_count:
        raise _no("id")
    return [id_of_text(text) for text in column.to_pylist()]


def _no(what: str) -> EventError:
    return EventError.of("event", f"an event has no {what}", hint="leave out such events: on_bad_event='skip'")


def _attribute(column: pa.Array, key: ColumnKey) -> pa.Array:
    if key[1] is ValueType.LIST:
        return text_column(list_column(column))  # in normal form, which Spark does not know
    return column.view(ValueType.TIMESTAMP.arrow) if key[1] is ValueType.TIMESTAMP else column


def _numbers(column: pa.Array) -> NDArray[np.float64]:
    return np.asarray((column.fill_null(0.0) if column.null_count else column).to_numpy(zero_copy_only=False))


_NOTHING = EventBatch(
    (), np.empty(0, np.int32), np.empty(0, np.int64), ids=[], provenance=Provenance((), np.empty(0, np.int32), [])
)


@dataclass(frozen=True, slots=True)
class CompositeLayout:
    """The columns of composite events: type, time, of interval rules start, where rules are weighed probability, on
    request id and parts, then attributes.

    ``columns`` are named by attribute and type; ``names`` are their names in Spark, the attribute's own unless two
    composite types use it for values of different types. ``heads`` are the types that interval rules make.
    ``uncertain`` are the columns whose values may have errors; their texts travel beside the attributes, and become
    structs with them in what the user sees.
    """

    columns: tuple[ColumnKey, ...]
    names: tuple[str, ...]
    provenance: bool
    probability: bool = False
    heads: tuple[EventType, ...] = ()
    uncertain: tuple[ColumnKey, ...] = ()

    @classmethod
    def of(
        cls,
        composites: Schema,
        *,
        provenance: bool,
        probability: bool = False,
        heads: Iterable[str] = (),
        uncertain: frozenset[AttributeKey] = frozenset(),
    ) -> CompositeLayout:
        """Lay out the composite types that rules define; ``heads`` are those of interval rules."""
        columns: dict[ColumnKey, None] = {}
        for event_type in composites.values():
            for attribute in event_type.attributes:
                columns[attribute.name, attribute.type or NO_TYPE] = None
        uses = [name for name, _ in columns]
        names = (name if uses.count(name) == 1 else f"{name} ({kind.value})" for name, kind in columns)
        made = tuple(composites[name] for name in dict.fromkeys(heads))
        blurred = {
            (attribute.name, attribute.type or NO_TYPE): None
            for event_type in composites.values()
            for attribute in event_type.attributes
            if (event_type.name, attribute.name) in uncertain
        }
        return cls(tuple(columns), tuple(names), provenance, probability, made, tuple(blurred))

    @property
    def own(self) -> tuple[str, ...]:
        """The names of the columns that are not attributes, but for the type."""
        found = ["time"]
        found += ["start"] if self.heads else []
        found += ["probability"] if self.probability else []
        found += ["id", "from"] if self.provenance else []
        return tuple(found)

    @property
    def sql(self) -> str:
        """The schema, as Spark takes it."""
        own = [f"{quoted(name)} {_OWN[name]}" for name in ("type", *self.own)]
        kinds = (f"{quoted(name)} {SQL_TYPES[kind]}" for name, (_, kind) in zip(self.names, self.columns, strict=True))
        return ", ".join([*own, *kinds, *(f"{name} string" for name in self._error_names)])

    @property
    def fields(self) -> pa.Schema:
        """The schema of ``rows``."""
        return self.rows(_NOTHING).schema

    @property
    def _error_names(self) -> tuple[str, ...]:
        return tuple(f"__error{number}" for number in range(len(self.uncertain)))

    def shown(self) -> list[Column]:
        """The columns as the user sees them: an attribute that may have errors is a struct of value and error."""
        from pyspark.sql import functions as f

        errors = dict(zip(self.uncertain, self._error_names, strict=True))
        found = [f.col(quoted(name)) for name in ("type", *self.own)]
        for key, name in zip(self.columns, self.names, strict=True):
            value = f.col(quoted(name))
            if key in errors:
                both = f.struct(value.alias("value"), f.col(errors[key]).alias("error"))
                value = f.when(value.isNotNull(), both).alias(name)
            found.append(value)
        return found

    def rows(self, batch: EventBatch) -> pa.RecordBatch:
        """Turn composite events into rows for Spark."""
        if self.heads:
            batch = _as_told(batch, self.heads)
        types = pa.DictionaryArray.from_arrays(pa.array(batch.codes), pa.array(batch.types, pa.string()))
        arrays = [types.cast(pa.string()), pa.array(batch.times).view(ValueType.TIMESTAMP.arrow)]
        if self.heads:
            starts = batch.times if batch.starts is None else batch.starts
            arrays.append(pa.array(starts).view(ValueType.TIMESTAMP.arrow))
        if self.probability:
            certain = np.ones(len(batch)) if batch.probabilities is None else batch.probabilities
            arrays.append(pa.array(certain, pa.float64()))
        if self.provenance:
            assert batch.provenance is not None
            arrays.append(pa.array(batch.id_list(), pa.string()))
            parts = ([str(part) for part in made_of] for made_of in batch.provenance.made_of)
            arrays.append(pa.array(list(parts), pa.list_(pa.string())))
        for key in self.columns:
            column = batch.columns.get(key)
            arrays.append(pa.nulls(len(batch), key[1].arrow) if column is None else column.cast(key[1].arrow))
        arrays += [_error_texts(batch, key) for key in self.uncertain]
        return pa.RecordBatch.from_arrays(arrays, ["type", *self.own, *self.names, *self._error_names])


def _error_texts(batch: EventBatch, key: ColumnKey) -> pa.Array:
    """The errors of the values of a column, as texts."""
    if key[0] not in batch.errors or key not in batch.columns:
        return pa.nulls(len(batch), pa.string())
    present = batch.columns[key].is_valid().to_pylist()
    errors = zip(batch.errors[key[0]], present, strict=True)
    return pa.array([str(error) if there and error is not None else None for error, there in errors], pa.string())


_OWN = {
    "type": "string",
    "time": "timestamp",
    "start": "timestamp",
    "probability": "double",
    "id": "string",
    "from": "array<string>",
}


def _as_told(batch: EventBatch, heads: Sequence[EventType]) -> EventBatch:
    """Convert the values of complex events to the types that are known of their attributes.

    Numbers that are equal are one value to interval rules, so an attribute of integers may come as a double; where
    rules give values of different types, all are texts.
    """
    columns = dict(batch.columns)
    for head in heads:
        if head.name not in batch.types:
            continue
        own = pa.array(batch.codes == batch.types.index(head.name))
        for attribute in head.attributes:
            told = (attribute.name, attribute.type or NO_TYPE)
            for key in [key for key in batch.columns if key[0] == told[0] and key != told]:
                stray = pc.and_(own, columns[key].is_valid())
                if pc.any(stray).as_py():
                    present = columns.get(told, pa.nulls(len(batch), told[1].arrow))
                    moved = pc.if_else(stray, columns[key], None).cast(told[1].arrow)
                    columns[told] = pc.coalesce(moved, present.cast(told[1].arrow))
                    columns[key] = pc.if_else(stray, pa.scalar(None, columns[key].type), columns[key])
    return replace(batch, columns=columns)


OWNED_COLUMN = (OWNED_ATTRIBUTE, ValueType.BOOL)


def with_owner_mark(rule: Rule) -> Rule:
    """Change a rule so that its composite events belong to the shard that their terminators belong to."""
    value = AttributeRef(rule.pattern.terminator.name, OWNED_ATTRIBUTE)
    return replace(
        rule,
        composite=_with_attribute(rule.composite),
        assignments=(*rule.assignments, Assignment(OWNED_ATTRIBUTE, value)),
    )


def with_owner_marks(schema: Schema) -> Schema:
    """Add the hidden attribute to event types."""
    return schema.mapped(_with_attribute)


def _with_attribute(event_type: EventType) -> EventType:
    return replace(event_type, attributes=(*event_type.attributes, Attribute(OWNED_ATTRIBUTE, ValueType.BOOL)))
