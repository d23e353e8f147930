"""Classes of events from what describes data already: Arrow schemas and pydantic models."""

from __future__ import annotations

import typing
from typing import Any

import pyarrow as pa

from cepheus.core.errors import RuleError
from cepheus.core.schema import TIME_ATTRIBUTE, Attribute, EventType
from cepheus.core.values import ValueType, from_arrow
from cepheus.language.python.events import Event, class_of, value_type
from cepheus.language.python.places import here

_OWN = ("type", TIME_ATTRIBUTE)


def event_from(described: Any, *, name: str | None = None) -> Any:
    """A class of events with the attributes of an Arrow schema or of a pydantic model, without ``type`` and ``time``.

    A column of a schema is optional unless it says that it has no nulls; a field of a model if it may be None.

    >>> Temp = event_from(pa.schema([("time", pa.timestamp("us")), ("value", pa.float64())]), name="Temp")
    >>> Temp.value > 45
    <part of a rule: value>45>
    """
    if isinstance(described, pa.Schema):
        if name is None:
            raise RuleError.of("python-type", "a schema has no name: give the event type one", span=here())
        attributes = tuple(_column(each) for each in described if each.name not in _OWN)
        return class_of(EventType(name, attributes), base=Event, declared=True)
    fields = getattr(described, "model_fields", None)
    if not isinstance(fields, dict):
        hint = "give an Arrow schema or a class of pydantic"
        raise RuleError.of("python-type", "this describes no events", span=here(), hint=hint)
    hints = typing.get_type_hints(described)
    found = []
    for key in fields:
        if key not in _OWN:
            kind, optional = value_type(described, key, hints[key], here())
            found.append(Attribute(key, kind, optional))
    return class_of(EventType(name or described.__name__, tuple(found)), base=Event, declared=True)


def _column(field: pa.Field) -> Attribute:
    kind = from_arrow(field.type)
    if kind is None or kind is ValueType.LIST:
        message = f"the column '{field.name}' is of type {field.type}, which no attribute has"
        raise RuleError.of("python-type", message, span=here(), hint="leave it out of the schema")
    return Attribute(field.name, kind, field.nullable)
