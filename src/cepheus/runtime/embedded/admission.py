"""What a session is fed, made into events that conform to what its rules expect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Protocol, TypeGuard, runtime_checkable

import numpy as np
import pyarrow as pa

from cepheus.core.batch import ColumnKey, EventBatch
from cepheus.core.distribution import Distribution, as_distribution
from cepheus.core.error_columns import error_of_record
from cepheus.core.errors import EventError, OptionError, Place, did_you_mean
from cepheus.core.event import Event
from cepheus.core.lists import list_refused, text_column
from cepheus.core.options import ColumnNames, OnBadEvent, RunOptions
from cepheus.core.schema import Attribute, EventType, Schema
from cepheus.core.time import TimeCheck, TimeUnit
from cepheus.core.values import INT_MAX, INT_MIN, Value, ValueType, from_arrow
from cepheus.formats.attributes import data_names, is_unnamed, missing_value
from cepheus.formats.cells import (
    Uncertain,
    coerce_id,
    coerce_probability,
    coerce_value,
    kind_of_value,
)
from cepheus.formats.conform import conform
from cepheus.formats.intake import Intake, IntakeOptions
from cepheus.formats.intervals import ARGUMENTS, END, START, argument_name, named
from cepheus.formats.parquet_arrow import array_rows, arrow_table, check_columns, check_type_column
from cepheus.formats.problems import BadEvents, lacking, placed, shown
from cepheus.runtime.embedded.event_fields import ids_of, number_of, probability_of, with_own_fields
from cepheus.runtime.embedded.settled_types import Key, kinds_in, refuse_conflicts, without_type


@runtime_checkable
class ArrowTable(Protocol):
    """A table that gives itself as an Arrow stream: of Arrow itself, pandas, Polars, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the Arrow C stream."""


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Record = Mapping[str, object]
"""An event as a flat dict, as a line of JSON has it."""


@dataclass(slots=True)
class _Plan:
    """What is read of the events of one type: attributes and their types, None until data tells."""

    event_type: EventType
    kinds: list[tuple[str, ValueType | None, bool]]
    id_field: str


class Admission:
    """Admits events: checks them against the types that rules expect and leaves out what no rule reads.

    ``options`` tell the unit of times in dicts and tables, and the keys or columns that are not attributes; an Event or
    EventBatch has fields of its own for these, and its times are in microseconds. ``check`` is told the first times
    that are mere numbers. What becomes of bad events is up to ``bad``.

    The type of an attribute that neither rules nor declarations tell is settled by the first value that comes.
    """

    def __init__(self, options: RunOptions, check: TimeCheck | None = None, bad: BadEvents | None = None) -> None:
        self._unit = options.unit
        self._check = check
        self.bad = bad or BadEvents(options.on_bad_event)
        self._numbers: list[int] = []
        self._many = False
        self._columns = options.columns
        self._type_key, self._time_key = options.columns.type, options.columns.time
        self._sequence, self._probability_key = options.columns.sequence, options.columns.probability
        self._start_key: str | None = options.columns.start
        self._uncertain = options.uncertain
        self.settled: dict[Key, ValueType] = {}
        self._found: dict[Key, ValueType] = {}
        self._expected = self._schema = Schema()
        self._equal: tuple[frozenset[Key], ...] = ()
        self._plans: dict[str, _Plan] = {}
        self._intervals = False
        self._plain: Callable[[], Mapping[str, frozenset[str]]] = dict
        self._arguments: dict[str, tuple[str, ...]] = {}

    def expect(
        self,
        expected: Schema,
        equal: tuple[frozenset[Key], ...] = (),
        *,
        intervals: bool | None = None,
        plain: Callable[[], Mapping[str, frozenset[str]]] | None = None,
    ) -> None:
        """Take over what is expected from now on, and which attributes must be of one type; what data settled stays.

        With ``intervals`` dicts may have ``args``, and a ``start`` and ``end``. ``plain`` tells, by event
        type, the attributes that may be anything but lists; it is asked when there is a list.
        """
        self._intervals = self._intervals if intervals is None else intervals
        self._start_key = self._columns.start or (START if self._intervals else None)
        self._plain = self._plain if plain is None else plain
        types = [self._with_settled(event_type) for event_type in expected.values()]
        self._expected = expected
        self._equal = equal
        self._schema = Schema(types, closed=expected.closed)
        self._plans = {
            event_type.name: _Plan(
                event_type,
                [(a.name, a.type, a.optional) for a in event_type.attributes],
                self._columns.id or event_type.id_field,
            )
            for event_type in types
        }

    def event(self, given: Event | Record, position: int) -> Event | None:
        """Admit one event; None if no rule concerns its type, or if it is bad and bad events are skipped."""
        try:
            return self._event(given, position)
        except EventError as error:
            if self.bad.policy is OnBadEvent.STOP:
                raise
            self.bad.report(error.diagnostics[:1])
            return None

    def _event(self, given: Event | Record, position: int) -> Event | None:
        """Admit one event, which gets its position as id if it has none; None if no rule concerns its type."""
        self._found.clear()
        if isinstance(given, Event):
            event_type, time = given.type, given.time
            if isinstance(time, np.integer):
                time = int(time)
            if type(time) is not int or not INT_MIN <= time <= INT_MAX:
                raise EventError.of("time", f"the time {shown(time)} is not an integer of microseconds in 64 bits")
            plan = self._plan(event_type)
            if plan is None:
                return None
            given = with_own_fields(given)
            values, errors = self._values(plan, given.attributes, TimeUnit.US)
            errors |= {name: as_distribution(error) for name, error in given.errors.items() if name in values}
            event = Event(
                event_type,
                time,
                values,
                position if given.id is None else given.id,
                given.sequence,
                coerce_probability(given.probability),
                errors,
                given.start,
                given.rule,
                given.made_of,
            )
            self._settle_found()
            return event
        if type(given) is not dict and not isinstance(given, Mapping):  # the first test is the quick one
            raise EventError.of("event", f"{shown(given)} is not an event", hint="feed events, dicts or a table")
        plan = self._plan(given.get(self._type_key))
        if plan is None:
            return None
        if self._intervals:
            given = self._named(given, plan)
        raw_time, raw_id = given.get(self._time_key), given.get(plan.id_field)
        raw_probability = given.get(self._probability_key)
        values, errors = self._values(plan, given, self._unit)
        time = self._time(raw_time, given)
        if self._check is not None and kind_of_value(raw_time) in (ValueType.INT, ValueType.FLOAT):
            self._numbers.append(time)
            if not self._many:
                self._check_times()
        event = Event(
            plan.event_type.name,
            time,
            values,
            position if raw_id is None else coerce_id(raw_id),
            None if self._sequence is None else self._number(given, self._sequence),
            1.0 if raw_probability is None else probability_of(raw_probability),
            errors,
            start=None if self._start_key is None else self._start(given, plan, time, self._start_key),
            made_of=ids_of(given["from"]) if "from" in given else (),
        )
        self._settle_found()
        return event

    def events(self, given: Iterable[Event | Record], position: int) -> tuple[EventBatch, int]:
        """Admit events one after the other; give those that concern a rule, and how many there were."""
        admitted: list[Event] = []
        count = 0
        settled = dict(self.settled)
        self._many = True
        try:
            for item in given:
                count += 1
                try:
                    event = self._event(item, position + count - 1)
                except EventError as error:
                    if self.bad.policy is OnBadEvent.STOP:
                        raise
                    self.bad.report([placed(error, Place("event", count))])
                    continue
                if event is not None:
                    admitted.append(event)
            self._check_times()
        except (EventError, OptionError) as error:  # none of these events was fed, so none has settled anything
            self.settled = settled
            self.expect(self._expected, self._equal)
            if isinstance(error, EventError):
                raise EventError([placed(error, Place("event", count))]) from None
            raise
        finally:
            self._many = False
            self._numbers.clear()
        return self.batch_of(admitted), count

    def table(self, given: EventBatch | ArrowTable, position: int) -> tuple[EventBatch, int]:
        """Admit events in columns; give those that concern a rule, and how many there were."""
        if isinstance(given, EventBatch):
            count = len(given)
            numbered = given if given.ids is not None else replace(given, ids=range(position, position + count))
            batch = conform(numbered, self._schema, self.bad)
        else:
            arrays, count = _arrays(given, self._columns)
            options = IntakeOptions(
                self._schema,
                self._unit,
                columns=self._columns,
                intervals=self._intervals,
                uncertain=self._uncertain,
                check=self._check,
            )
            intake = Intake("events", options, self.bad, counts_rows=True)
            batch = intake.chunk(
                array_rows(arrays, count), range(1, count + 1), range(position, position + count)
            ).batch
            if self._check is not None and self._check.looked:
                self._check = None
        self._found = kinds_in(batch, without_type(self._schema))
        self._settle_found()
        return batch, count

    def _check_times(self) -> None:
        """Let the first times that are mere numbers be looked at; whoever sends them once sends no others later."""
        if self._numbers and self._check is not None:
            numbers = np.array(self._numbers, np.int64)
            self._numbers.clear()
            self._check.look(numbers)
            self._check = None

    def time(self, given: int | datetime) -> int:
        """Convert a time to microseconds."""
        return self._time(given, {})

    def settled_in(self, schema: Schema) -> Schema:
        """A schema with the types that data has settled."""
        return Schema((self._with_settled(event_type) for event_type in schema.values()), closed=schema.closed)

    def batch_of(self, events: Sequence[Event]) -> EventBatch:
        """Put admitted events into columns of the types that were expected of them."""
        bare = EventBatch.from_events(replace(event, attributes={}) for event in events)
        cells: dict[ColumnKey, list[Value | None]] = {}
        for row, event in enumerate(events):
            plan = self._plans.get(event.type)
            for name, kind, _ in plan.kinds if plan is not None else ():
                value = event.attributes.get(name)
                if value is not None and kind is not None:
                    if (name, kind) not in cells:
                        cells[name, kind] = [None] * len(events)
                    cells[name, kind][row] = value
        return replace(bare, columns={key: _array(values, key[1]) for key, values in cells.items()})

    def _plan(self, event_type: object) -> _Plan | None:
        plan = self._plans.get(event_type) if isinstance(event_type, str) else None
        if plan is not None:
            return plan
        if event_type is None:
            hint = f'write it as {{"{self._type_key}": "Temp", "{self._time_key}": 10, ..}}'
            raise EventError.of("event", f"an event has no {self._type_key}", hint=hint)
        if not isinstance(event_type, str) or not event_type:
            raise EventError.of("event", f"{shown(event_type)} is not the name of an event type")
        if self._schema.closed:
            known = did_you_mean(event_type, self._schema)
            raise EventError.of("event", f"there is no event type {shown(event_type)}", hint=known)
        return None

    def _values(
        self, plan: _Plan, given: Mapping[str, object], unit: TimeUnit
    ) -> tuple[dict[str, Value | None], dict[str, Distribution]]:
        values: dict[str, Value | None] = {}
        errors: dict[str, Distribution] = {}
        for name, kind, optional in plan.kinds:
            raw = given.get(name)
            if _is_plain(raw, kind):
                values[name] = raw
            elif raw is not None:
                value = self._coerced(plan, name, raw, kind, unit)
                if isinstance(value, Uncertain):
                    values[name], errors[name] = value.value, value.error
                else:
                    values[name] = value
            elif not optional:
                raise missing_value(plan.event_type.name, name, given)
        for name, source in self._uncertain.items():
            if name not in errors and isinstance(values.get(name), int | float):
                try:
                    error = error_of_record(source, given)
                except EventError as fault:
                    raise _prefixed(fault, f"{plan.event_type.name}.{name}: ") from None
                if error is not None:
                    errors[name] = error
        return values, errors

    def _coerced(
        self, plan: _Plan, name: str, raw: object, kind: ValueType | None, unit: TimeUnit
    ) -> Value | Uncertain:
        if isinstance(raw, np.generic):
            raw = raw.item()
        event_type = plan.event_type.name
        try:
            if isinstance(raw, datetime):
                found: ValueType | None = ValueType.TIMESTAMP
                raw, unit = from_datetime(raw), TimeUnit.US
            else:
                found = kind_of_value(raw)
            value = coerce_value(raw, kind or found or ValueType.FLOAT, unit)
        except EventError as error:
            hint = None
            if kind is not None and (event_type, name) in self.settled:
                declared = f"event {event_type}({name}: ..)"
                hint = f"earlier values made it {kind.value}; declare its type before the session starts: {declared}"
            raise _prefixed(error, f"{event_type}.{name}: ", hint) from None
        if kind is None and found is not None:
            self._found[event_type, name] = found
        return value

    def _time(self, raw: object, given: Record) -> int:
        if type(raw) is int and self._unit is TimeUnit.US and INT_MIN <= raw <= INT_MAX:
            return raw
        if raw is None:
            raise lacking(self._time_key, given)
        if isinstance(raw, datetime):
            return from_datetime(raw)
        try:
            time = coerce_value(raw.item() if isinstance(raw, np.generic) else raw, ValueType.TIMESTAMP, self._unit)
        except EventError as error:
            raise _prefixed(error, f"{self._time_key}: ") from None
        assert isinstance(time, int)
        return time

    def _named(self, given: Record, plan: _Plan) -> Record:
        """Return a dict with its attributes under the names that rules have for them."""
        if not given.keys().isdisjoint((ARGUMENTS, END)):
            given = named(given, plan.event_type, self._time_key)
        if not is_unnamed(plan.event_type):
            return given
        name = plan.event_type.name
        if name not in self._arguments:
            self._arguments[name] = data_names(plan.event_type, given, self._columns)
        if self._arguments[name][0] == argument_name(1):
            return given
        renamed = {own: argument_name(place) for place, own in enumerate(self._arguments[name], 1)}
        return {renamed.get(key, key): value for key, value in given.items()}

    def _start(self, given: Record, plan: _Plan, end: int, key: str) -> int | None:
        raw = given.get(key)
        if raw is None or (self._columns.start is None and plan.event_type.attribute(START) is not None):
            return None
        start = self._time(raw, given)
        if start > end:
            raise EventError.of("start", "an event starts after its end")
        return start

    def _number(self, given: Record, name: str) -> int:
        raw = given.get(name)
        if raw is None:
            raise lacking(name, given)
        return number_of(raw, name)

    def _with_settled(self, event_type: EventType) -> EventType:
        return replace(event_type, attributes=tuple(self._attribute(event_type.name, a) for a in event_type.attributes))

    def _attribute(self, event_type: str, attribute: Attribute) -> Attribute:
        settled = self.settled.get((event_type, attribute.name))
        if settled is None or settled is attribute.type:
            return attribute
        if attribute.type is None or {settled, attribute.type} == {ValueType.INT, ValueType.FLOAT}:
            # A later rule may only know that it is a number; what the data said is more exact.
            return replace(attribute, type=settled)
        raise EventError.of(
            "type-conflict",
            f"{event_type}.{attribute.name} was {settled.value} in the events so far, "
            f"and is to be {attribute.type.value} now",
            hint="start a new session for the new rules",
        )

    def _settle_found(self) -> None:
        if self._found:
            for event_type, name in [key for key, kind in self._found.items() if kind is ValueType.LIST]:
                if name in self._plain().get(event_type, ()):
                    raise list_refused(event_type, name)
            refuse_conflicts(self.settled, self._found, self._equal)
            self.settled |= self._found
            self.expect(self._expected, self._equal)


def _is_plain(raw: object, kind: ValueType | None) -> TypeGuard[Value]:
    """Whether this is a common case, decided quickly: it runs for every attribute of every event that is fed alone."""
    if kind is ValueType.FLOAT:
        return type(raw) is float and -inf < raw < inf
    if kind is ValueType.STRING:
        return type(raw) is str and raw.isascii()
    return kind is ValueType.INT and type(raw) is int and INT_MIN <= raw <= INT_MAX


def _arrays(given: ArrowTable, columns: ColumnNames) -> tuple[dict[str, pa.Array], int]:
    """The columns of a table by name, and how many rows it has."""
    table = arrow_table(given)
    check_columns(table.schema.names, None, (columns.type, columns.time))
    arrays = {name: _one(table.column(name)) for name in table.schema.names}
    check_type_column(arrays[columns.type], None, columns.type)
    for name, array in arrays.items():
        if from_arrow(array.type) is ValueType.STRING:
            _check_texts(name, array)
    return arrays, table.num_rows


def _check_texts(name: str, array: pa.Array) -> None:
    """Refuse bytes that are no text: whoever made the table may not have looked."""
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        hint = "encode its texts in UTF-8"
        raise EventError.of("utf-8", f"the column '{name}' is not valid UTF-8", hint=hint) from None


def _one(column: pa.ChunkedArray) -> pa.Array:
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.string())  # of which Arrow can do nothing but this
    return column.chunk(0) if column.num_chunks == 1 else column.unify_dictionaries().combine_chunks()


def _array(values: list[Value | None], kind: ValueType) -> pa.Array:
    if kind is ValueType.TIMESTAMP:
        return pa.array(values, pa.int64()).cast(pa.timestamp("us")).cast(kind.arrow)
    return text_column(values) if kind is ValueType.LIST else pa.array(values, kind.arrow)


def _prefixed(error: EventError, prefix: str, hint: str | None = None) -> EventError:
    finding = error.diagnostics[0]
    return EventError([replace(finding, message=prefix + finding.message, hint=finding.hint or hint)])


def from_datetime(moment: datetime) -> int:
    """Convert a moment to microseconds since the epoch; without a zone it is in UTC."""
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)
