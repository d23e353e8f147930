"""What is admitted as an event, decided once: for events that come alone, and for rows of files and tables.

Columns whose cells are all plain are converted at once (``columns.py``), and so are the plain values of single events
(``runtime/embedded/admission.py``), both by the definition in ``cells.py``. Which types there are, which fields are an
event's own, what is asked of these, and what is said of an event that is refused, stands here for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import NoneType

import numpy as np

from cepheus.core.errors import EventError, did_you_mean
from cepheus.core.event import Event, EventId
from cepheus.core.options import ColumnNames
from cepheus.core.schema import ID_FIELD, RESERVED, EventType, Schema
from cepheus.core.time import TimeUnit
from cepheus.core.values import INT_MAX, INT_MIN, Value, ValueType, as_float, as_int
from cepheus.formats.cells import Uncertain, coerce_id, coerce_probability, coerce_value
from cepheus.formats.intervals import START, argument_place
from cepheus.formats.problems import shown

_ID_TYPES = (int, str, NoneType)


def type_of(cell: object, schema: Schema, *, keep_all: bool = False) -> str | None:
    """The event type that a cell names; None if no rule concerns it, EventError if there can be no such type.

    >>> type_of("Temp", Schema([EventType("Temp", ())])), type_of("Rain", Schema([EventType("Temp", ())]))
    ('Temp', None)
    """
    if not isinstance(cell, str) or not cell or not _is_text(cell):
        raise EventError.of("event", f"{shown(cell)} is not the name of an event type")
    if cell in schema:
        return cell
    if schema.closed:
        raise no_such_type(cell, schema)
    return cell if keep_all else None


def no_such_type(name: str, schema: Schema) -> EventError:
    """The error for an event of a type that nobody declared, where all are declared."""
    return EventError.of("event", f"there is no event type {shown(name)}", hint=did_you_mean(name, schema))


def own_time(time: object) -> int:
    """The time of an Event, which is a whole number of microseconds."""
    time = int(time) if isinstance(time, np.integer) else time
    if type(time) is not int or not INT_MIN <= time <= INT_MAX:
        raise EventError.of("time", f"the time {shown(time)} is not an integer of microseconds in 64 bits")
    return time


def id_field_of(event_type: EventType | None, columns: ColumnNames) -> str:
    """The field that has the ids of events of a type: another one if ``id`` is an attribute of theirs."""
    return columns.id or (ID_FIELD if event_type is None else event_type.id_field)


def start_field(columns: ColumnNames, *, intervals: bool) -> str | None:
    """The field that tells where events start; None if they are all instants."""
    return columns.start or (START if intervals else None)


def has_start(event_type: EventType | None, columns: ColumnNames) -> bool:
    """Whether that field is the event's own, and not an attribute of the type that is called so."""
    return columns.start is not None or event_type is None or event_type.attribute(START) is None


def late_start() -> EventError:
    """The error for an event over an interval whose ends are the wrong way round."""
    return EventError.of("start", "an event starts after its end")


def missing_value(
    event_type: str, name: str, names: Iterable[str], kind: ValueType | None = None, column: str | None = None
) -> EventError:
    """The error for an event that lacks an attribute; ``names`` are those that events have.

    ``kind`` is the type of the attribute, where it is known, ``column`` what the data should call it.
    """
    place = argument_place(name)
    if place is not None:
        return EventError.of(
            "attribute",
            f"argument {place} of {event_type} is null or missing",
            hint=f"if events may lack it, declare it so, with a question mark: event {event_type}(x: int?).",
        )
    called = column or name
    others = [other for other in names if other not in RESERVED]
    if column is not None and column not in others:
        close = did_you_mean(column, others) or "if events may lack it, declare it with a question mark"
        hint = f"the rules read it from '{column}', which is not there: {close}"
        return EventError.of("attribute", f"{event_type} has no value for its attribute '{name}'", hint=hint)
    written = "double" if kind is None else kind.value
    lacking = f"if events may lack it, declare it with a question mark: {name}: {written}?; or skip those that do"
    hint = did_you_mean(called, [other for other in others if other != called]) or lacking
    return EventError.of("attribute", f"{event_type} has no value for its attribute '{name}'", hint=hint)


def of_field(error: EventError, name: str) -> EventError:
    """The error with the name of the field that it is about."""
    finding = error.diagnostics[0]
    return EventError([replace(finding, message=f"{name}: {finding.message}")])


def of_attribute(
    error: EventError, event_type: str, name: str, guessed: ValueType | None = None, when: str = ""
) -> EventError:
    """The error with the attribute that it is about, and what to do where earlier data alone told the type.

    A declaration helps against a value of another type, and not against one that no type admits.
    """
    finding = error.diagnostics[0]
    hint = finding.hint
    if guessed is not None and hint is None and finding.code == "type":
        hint = f"earlier values made it {guessed.value}; declare its type{when}: event {event_type}({name}: ..)"
    return EventError([replace(finding, message=f"{event_type}.{name}: {finding.message}", hint=hint)])


def uncertain_field(name: str, raw: object) -> EventError:
    """The error for an uncertain number in a field of an event's own."""
    return EventError.of("type", f"{name}: {shown(raw)} has an error, which only attributes have")


def field_of(raw: object, kind: ValueType, name: str, unit: TimeUnit = TimeUnit.US) -> Value:
    """Read a field of an event's own."""
    try:
        value = coerce_value(raw, kind, unit)
    except EventError as error:
        raise of_field(error, name) from None
    if isinstance(value, Uncertain):
        raise uncertain_field(name, raw)
    return value


def number_of(raw: object, name: str) -> int:
    """Read the whole number that stands under a name."""
    return as_int(field_of(raw, ValueType.INT, name))


def float_of(raw: object, name: str) -> float:
    """Read the number that stands under a name."""
    return as_float(field_of(raw, ValueType.FLOAT, name))


def probability_of(raw: object) -> float:
    """Read a probability, however it is written."""
    return coerce_probability(float_of(raw, "probability"))


def ids_of(raw: object, read: Callable[[object], EventId] = coerce_id) -> tuple[EventId, ...]:
    """Read the ids of the events that an event was made of."""
    if not isinstance(raw, list | tuple):
        raise EventError.of("event", f"from: {shown(raw)} is not a list of ids")
    return tuple(map(read, raw))


def with_own_fields(event: Event) -> Event:
    """Return an event whose own fields are of the types they should be; EventError if one cannot be.

    >>> with_own_fields(Event("Temp", 4, {}, start=7))
    Traceback (most recent call last):
    ...
    cepheus.core.errors.EventError: error[start]: an event starts after its end
    """
    if _are_usual(event):
        return event
    for name, given in (("attributes", event.attributes), ("errors", event.errors)):
        if not isinstance(given, Mapping):
            raise EventError.of("event", f"{name}: {shown(given)} does not give values by name")
    if event.rule is not None and not isinstance(event.rule, str):
        raise EventError.of("event", f"rule: {shown(event.rule)} is not the name of a rule")
    start = None if event.start is None else number_of(event.start, "start")
    if start is not None and start > event.time:
        raise late_start()
    return replace(
        event,
        id=event.id if type(event.id) in _ID_TYPES else coerce_id(event.id),
        sequence=None if event.sequence is None else number_of(event.sequence, "sequence"),
        probability=probability_of(event.probability),
        start=start,
        made_of=ids_of(event.made_of),
    )


def _are_usual(event: Event) -> bool:
    """Whether this is the common case, decided quickly: it runs for every Event that is fed."""
    sequence, start = event.sequence, event.start
    return (
        type(event.attributes) is dict
        and type(event.id) in _ID_TYPES
        and (sequence is None or (type(sequence) is int and INT_MIN <= sequence <= INT_MAX))
        and (start is None or (type(start) is int and INT_MIN <= start <= event.time))
        and type(event.probability) is float
        and type(event.made_of) is tuple
        and all(type(part) in _ID_TYPES for part in event.made_of)
        and isinstance(event.errors, Mapping)
        and (event.rule is None or type(event.rule) is str)
    )


def _is_text(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)
