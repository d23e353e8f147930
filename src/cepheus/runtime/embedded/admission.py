"""What a session is fed, made into events that conform to what its rules expect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from cepheus.core.batch import ColumnKey, EventBatch
from cepheus.core.distribution import Distribution, as_distribution
from cepheus.core.error_columns import error_of_record
from cepheus.core.errors import EventError, OptionError, Place
from cepheus.core.event import AsEvent, Event, EventId
from cepheus.core.lists import list_refused, text_column
from cepheus.core.options import OnBadEvent, RunOptions
from cepheus.core.schema import Attribute, EventType, Schema
from cepheus.core.time import TimeCheck, TimeUnit, from_datetime
from cepheus.core.values import INT_MAX, INT_MIN, Value, ValueType, as_int
from cepheus.formats.attributes import data_names, is_unnamed
from cepheus.formats.cells import (
    Uncertain,
    coerce_id,
    coerce_probability,
    coerce_value,
    is_plain,
    kind_of_value,
)
from cepheus.formats.conform import conform
from cepheus.formats.event_fields import (
    field_of,
    float_of,
    has_start,
    id_field_of,
    ids_of,
    late_start,
    missing_value,
    number_of,
    of_attribute,
    of_field,
    own_time,
    probability_of,
    start_field,
    type_of,
    with_own_fields,
)
from cepheus.formats.intake import Intake, IntakeOptions
from cepheus.formats.intervals import ARGUMENTS, END, argument_name, named
from cepheus.formats.named_columns import NamedColumns
from cepheus.formats.own_ids import OwnIds
from cepheus.formats.parquet_arrow import array_rows, event_arrays
from cepheus.formats.problems import BadEvents, lacking, placed, shown
from cepheus.formats.rows import NumberedRows, Numbers, Rows
from cepheus.formats.unseen_attributes import UnseenAttributes
from cepheus.formats.written_times import moment_of_text
from cepheus.runtime.embedded.settled_types import Key, kinds_in, refuse_conflicts, without_type


@runtime_checkable
class ArrowTable(Protocol):
    """A table that gives itself as an Arrow stream: of Arrow itself, pandas, Polars, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the Arrow C stream."""


Record = Mapping[str, object]
"""An event as a flat dict, as a line of JSON has it."""

Given = Event | AsEvent | Record
"""One event, in any of the forms that a session takes."""

_NO_FIELDS: Record = {}
_MOST_FOREIGN = 1000
"""How many types that concern no rule are remembered."""


@dataclass(slots=True)
class _Plan:
    """What is read of the events of one type: attributes, what the data calls them, their types, None until it tells,
    and whether an event may lack them.
    """

    event_type: EventType
    kinds: list[tuple[str, str, ValueType | None, bool]]
    id_field: str


class Admission:
    """Admits events: checks them against the types that rules expect and leaves out what no rule reads.

    ``options`` tell the unit of times in dicts and tables, and the keys or columns that are not attributes; an Event or
    EventBatch has fields of its own for these, and its times are in microseconds. ``check`` is told the first times
    that are mere numbers. What becomes of bad events is up to ``bad``. A table that is the ``whole`` of the events has
    all the columns there are.

    The type of an attribute that neither rules nor declarations tell is settled by the first value that comes.
    """

    def __init__(
        self, options: RunOptions, check: TimeCheck | None = None, bad: BadEvents | None = None, *, whole: bool = False
    ) -> None:
        self._unit = options.unit
        self._check = check
        self.bad = bad or BadEvents(options.on_bad_event)
        self._numbers: list[int] = []
        self._many = False
        self._columns = options.columns
        self.named = NamedColumns(options.columns, strict=options.strict)
        self._own_ids, self._ids_seen = OwnIds(strict=options.strict), list[EventId]()
        self.unseen = UnseenAttributes(refuse=whole, strict=options.strict)
        self._type_key, self._time_key = options.columns.type, options.columns.time
        self._sequence, self._probability_key = options.columns.sequence, options.columns.probability
        self._start_key: str | None = options.columns.start
        self._uncertain = options.uncertain
        self._time_format = options.time_format
        self.settled: dict[Key, ValueType] = {}
        self._found: dict[Key, ValueType] = {}
        self._expected = self._schema = Schema()
        self._equal: tuple[frozenset[Key], ...] = ()
        self._plans: dict[str, _Plan] = {}
        self._intervals = False
        self._plain: Callable[[], Mapping[str, frozenset[str]]] = dict
        self._arguments: dict[str, tuple[str, ...]] = {}
        self._foreign: set[str] = set()

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
        self._start_key = start_field(self._columns, intervals=self._intervals)
        self._plain = self._plain if plain is None else plain
        if expected is not self._expected:
            self.unseen.expect(expected)
        listed = set(expected)
        unlisted = {event for event, _ in self.settled if event not in listed and event in expected}
        types = [self._with_settled(expected[name]) for name in (*expected, *sorted(unlisted))]
        self._expected = expected
        self._equal = equal
        self._foreign.clear()
        self._schema = Schema(types, closed=expected.closed, others=expected.others)
        self._plans = {event_type.name: self._plan_of(event_type) for event_type in types}

    def _plan_of(self, event_type: EventType) -> _Plan:
        kinds = [(a.name, a.named_by_data, a.type, a.optional) for a in event_type.attributes]
        return _Plan(event_type, kinds, id_field_of(event_type, self._columns))

    def event(self, given: Given, position: int) -> Event | None:
        """Admit one event; None if no rule concerns its type, or if it is bad and bad events are skipped."""
        try:
            event = self._event(given, position)
            if self._ids_seen:
                self._own_ids.look_at_one(self._ids_seen.pop())
            return event
        except EventError as error:
            if self.bad.policy is OnBadEvent.STOP:
                raise
            self.bad.report(error.diagnostics[:1])
            return None

    def _event(self, given: Given, position: int) -> Event | None:
        """Admit one event, which gets its position as id if it has none; None if no rule concerns its type."""
        self._found.clear()
        if type(given) is not dict and isinstance(given, AsEvent):  # the first test is the quick one
            given = given.__cepheus_event__()
        if isinstance(given, Event):
            event_type, time = given.type, own_time(given.time)
            plan = self._plan(event_type)
            if plan is None:
                return None
            given = with_own_fields(given)
            if self.unseen.missing:
                self.unseen.look_at(event_type, given.attributes)
            values, errors = self._values(plan, _by_data_names(given.attributes, plan.event_type), TimeUnit.US)
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
            if given.id is not None:
                self._ids_seen.append(given.id)
            return event
        if type(given) is not dict and not isinstance(given, Mapping):  # the first test is the quick one
            raise EventError.of("event", f"{shown(given)} is not an event", hint="feed events, dicts or a table")
        plan = self._plan(given.get(self._type_key), given)
        if plan is None:
            return None
        if self.named.missing:
            self.named.look(given)
        if self._intervals:
            given = self._named(given, plan)
        if self.unseen.missing:
            self.unseen.look_at(plan.event_type.name, given)
        raw_time, raw_id = given.get(self._time_key), given.get(plan.id_field)
        raw_probability, raw_parts = given.get(self._probability_key), given.get("from")
        values, errors = self._values(plan, given, self._unit)
        time = self._time(raw_time, given, self._time_key)
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
            made_of=() if raw_parts is None else ids_of(raw_parts),
        )
        self._settle_found()
        if raw_id is not None and event.id is not None:
            self._ids_seen.append(event.id)
        return event

    def events(self, given: Iterable[Given], position: int) -> tuple[EventBatch, int]:
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
            self._own_ids.look(self._ids_seen)
        except (EventError, OptionError) as error:  # none of these events was fed, so none has settled anything
            self.settled = settled
            self.expect(self._expected, self._equal)
            if isinstance(error, EventError):
                raise EventError([placed(error, Place("event", count))]) from None
            raise
        finally:
            self._many = False
            self._numbers.clear()
            self._ids_seen.clear()
        return self.batch_of(admitted), count

    def table(self, given: EventBatch | ArrowTable | NumberedRows, position: int) -> tuple[EventBatch, int]:
        """Admit events in columns; give those that concern a rule, and how many there were."""
        if isinstance(given, EventBatch):
            count = len(given)
            numbered = given if given.ids is not None else replace(given, ids=range(position, position + count))
            batch = conform(numbered, self._schema, self.bad, self.unseen)
            if given.ids is not None and batch.ids is not None:
                self._own_ids.look(batch.ids)
        elif isinstance(given, NumberedRows):
            count = len(given.rows)
            batch = self._taken(given.rows, given.numbers, given.bad, given.prefix)
        else:
            arrays, count = event_arrays(given, self._columns)
            batch = self._taken(array_rows(arrays, count), range(position, position + count), self.bad)
        self._found = kinds_in(batch, without_type(self._schema, batch.types))
        self._settle_found()
        return batch, count

    def _taken(self, rows: Rows, numbers: Numbers, bad: BadEvents, prefix: str | None = None) -> EventBatch:
        options = IntakeOptions(
            self._schema,
            self._unit,
            columns=self._columns,
            intervals=self._intervals,
            uncertain=self._uncertain,
            check=self._check,
            time_format=self._time_format,
            id_prefix=prefix,
            named=self.named,
            unseen=self.unseen,
            own_ids=self._own_ids,
        )
        intake = Intake("events", options, bad, counts_rows=True)
        batch = intake.chunk(rows, range(1, len(rows) + 1), numbers).batch
        if self._check is not None and self._check.looked:
            self._check = None
        return batch

    def restore(self, settled: Iterable[tuple[str, str, ValueType]], unseen: Iterable[Sequence[str]]) -> None:
        """Go on where data had settled some types, and some of what is expected had not been seen."""
        self.settled = {(event, name): kind for event, name, kind in settled}
        self.expect(self._expected, self._equal)
        self.named.missing.clear()  # the events before may have had them
        self.unseen.restore(unseen)

    def tell(self) -> None:
        """Say at the end what was named or read and never seen."""
        self.named.tell()
        self.unseen.tell()
        self._own_ids.tell()

    def _check_times(self) -> None:
        """Let the first times that are mere numbers be looked at; whoever sends them once sends no others later."""
        if self._numbers and self._check is not None:
            numbers = np.array(self._numbers, np.int64)
            self._numbers.clear()
            self._check.look(numbers)
            self._check = None

    def time(self, given: int | datetime) -> int:
        """Convert a time to microseconds."""
        return self._time(given, {}, self._time_key)

    def settled_in(self, schema: Schema) -> Schema:
        """A schema with the types that data has settled."""
        return schema.mapped(self._with_settled)

    def batch_of(self, events: Sequence[Event]) -> EventBatch:
        """Put admitted events into columns of the types that were expected of them."""
        bare = EventBatch.from_events(replace(event, attributes={}) for event in events)
        cells: dict[ColumnKey, list[Value | None]] = {}
        for row, event in enumerate(events):
            plan = self._plans.get(event.type)
            for name, _, kind, _ in plan.kinds if plan is not None else ():
                value = event.attributes.get(name)
                if value is not None and kind is not None:
                    if (name, kind) not in cells:
                        cells[name, kind] = [None] * len(events)
                    cells[name, kind][row] = value
        return replace(bare, columns={key: _array(values, key[1]) for key, values in cells.items()})

    def _plan(self, event_type: object, given: Record = _NO_FIELDS) -> _Plan | None:
        if isinstance(event_type, str):
            plan = self._plans.get(event_type)
            if plan is not None or event_type in self._foreign:
                return plan
        if event_type is None:
            hint = f'write it as {{"{self._type_key}": "Temp", "{self._time_key}": 10, ..}}'
            raise lacking(self._type_key, given, hint)
        type_of(event_type, self._schema)  # refuses what can be no type, or is none
        assert isinstance(event_type, str)
        if event_type in self._schema:  # as all types are where some rule reads events of any type
            self._plans[event_type] = self._plan_of(self._schema[event_type])
            return self._plans[event_type]
        if len(self._foreign) < _MOST_FOREIGN:
            self._foreign.add(event_type)
        return None

    def _values(
        self, plan: _Plan, given: Mapping[str, object], unit: TimeUnit
    ) -> tuple[dict[str, Value | None], dict[str, Distribution]]:
        values: dict[str, Value | None] = {}
        errors: dict[str, Distribution] = {}
        for name, called, kind, optional in plan.kinds:
            raw = given.get(called)
            if is_plain(raw, kind):
                values[name] = raw
            elif raw is not None:
                value = self._coerced(plan, name, raw, kind, unit)
                if isinstance(value, Uncertain):
                    values[name], errors[name] = value.value, value.error
                else:
                    values[name] = value
            elif not optional:
                raise missing_value(plan.event_type.name, name, given, kind, None if called == name else called)
        for name, source in self._uncertain.items():
            if name not in errors and values.get(name) is not None and self._is_number(plan, name):
                error, fault = error_of_record(source, given, float_of)
                if fault is not None:
                    raise of_field(fault, name)
                if error is not None:
                    errors[name] = error
        return values, errors

    def _coerced(
        self, plan: _Plan, name: str, raw: object, kind: ValueType | None, unit: TimeUnit
    ) -> Value | Uncertain:
        event_type = plan.event_type.name
        found = kind_of_value(raw)
        try:
            value = coerce_value(raw, kind or found or ValueType.FLOAT, unit)
        except EventError as error:
            guessed = kind if (event_type, name) in self.settled else None
            raise of_attribute(error, event_type, name, guessed, " before the session starts") from None
        if kind is None and found is not None:
            self._found[event_type, name] = found
        return value

    def _is_number(self, plan: _Plan, name: str) -> bool:
        """Whether an attribute is a number, by what is expected or by the value that has just come."""
        kind = next(kind for own, _, kind, _ in plan.kinds if own == name)
        kind = kind or self._found.get((plan.event_type.name, name))
        return kind is not None and kind.is_numeric

    def _time(self, raw: object, given: Record, key: str) -> int:
        if type(raw) is int and self._unit is TimeUnit.US and INT_MIN <= raw <= INT_MAX:
            return raw
        if raw is None:
            raise lacking(key, given)
        if type(raw) is datetime:  # the quick way
            return from_datetime(raw)
        if self._time_format is not None and isinstance(raw, str):
            raw = moment_of_text(raw, self._time_format)
        return as_int(field_of(raw, ValueType.TIMESTAMP, key, self._unit))

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
        if raw is None or not has_start(plan.event_type, self._columns):
            return None
        start = self._time(raw, given, key)
        if start > end:
            raise late_start()
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


def _array(values: list[Value | None], kind: ValueType) -> pa.Array:
    if kind is ValueType.TIMESTAMP:
        return pa.array(values, pa.int64()).cast(pa.timestamp("us")).cast(kind.arrow)
    return text_column(values) if kind is ValueType.LIST else pa.array(values, kind.arrow)


def _by_data_names(attributes: Record, event_type: EventType) -> Record:
    """The attributes of an Event under the data's names, where it has come through here before and has its own."""
    found = {column: attributes[name] for name, column in event_type.columns.items() if name in attributes}
    return {**found, **attributes} if found else attributes
