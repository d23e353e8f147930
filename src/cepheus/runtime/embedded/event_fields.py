"""What an Event has besides its time and attributes, looked at before anything is done with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import NoneType

from cepheus.core.errors import EventError
from cepheus.core.event import Event, EventId
from cepheus.core.time import TimeUnit
from cepheus.core.values import INT_MAX, INT_MIN, Value, ValueType, as_float, as_int
from cepheus.formats.cells import Uncertain, coerce_id, coerce_probability, coerce_value
from cepheus.formats.problems import shown

_ID_TYPES = (int, str, NoneType)


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
        raise EventError.of("start", "an event starts after its end")
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


def probability_of(raw: object) -> float:
    """Read a probability, however it is written."""
    return coerce_probability(as_float(_coerced(raw, ValueType.FLOAT, "probability")))


def ids_of(raw: object) -> tuple[EventId, ...]:
    """Read the ids of the events that an event was made of."""
    if not isinstance(raw, list | tuple):
        raise EventError.of("event", f"from: {shown(raw)} is not a list of ids")
    return tuple(map(coerce_id, raw))


def number_of(raw: object, name: str) -> int:
    """Read the whole number that stands under a name."""
    return as_int(_coerced(raw, ValueType.INT, name))


def _coerced(raw: object, kind: ValueType, name: str) -> Value:
    try:
        value = coerce_value(raw, kind, TimeUnit.US)
    except EventError as error:
        finding = error.diagnostics[0]
        raise EventError([replace(finding, message=f"{name}: {finding.message}")]) from None
    if isinstance(value, Uncertain):
        raise EventError.of("type", f"{name}: {shown(raw)} has an error, which only attributes have")
    return value
