"""Which values of events a network carries; a node ends the session of a client that sends others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cepheus.core.errors import EventError
from cepheus.core.values import INT_MAX, INT_MIN
from cepheus.runtime.network.protocol.event_columns import EventColumns

SCALARS: dict[type, str] = {bool: "a bool", int: "an int", float: "a double", str: "a text"}
"""The types of values that a network carries, in words."""


def scalar_type(kind: type) -> type | None:
    """Give the type of values that a Python type holds, such as float for NumPy's double; None if there is none.

    >>> import numpy as np
    >>> scalar_type(bool), scalar_type(np.float64), scalar_type(tuple)
    (<class 'bool'>, <class 'float'>, None)
    """
    if kind in SCALARS:
        return kind
    return next((scalar for scalar in SCALARS if issubclass(kind, scalar)), None)


def check_carried(event: str, attribute: str, values: Sequence[Any]) -> set[type]:
    """Refuse values of an attribute of events that a network does not carry; gives the types of those that it does.

    >>> check_carried("Temp", "value", [50, 51.5, None]) == {int, float}
    True
    """
    found: set[type] = set()
    kinds = {*map(type, values)}
    for kind in kinds - {type(None)}:
        own: Sequence[Any] = values if len(kinds) == 1 else [value for value in values if type(value) is kind]
        scalar = scalar_type(kind)
        if scalar is None:
            raise no_lists(attribute) if issubclass(kind, tuple | list) else _no_value(event, attribute, own[0])
        if scalar is int and not INT_MIN <= min(own) <= max(own) <= INT_MAX:
            number = next(value for value in own if not INT_MIN <= value <= INT_MAX)
            raise EventError.of("integer", f"{event}.{attribute}: {number} does not fit in 64 bits")
        if scalar is float and not all(map(math.isfinite, own)):
            number = next(value for value in own if not math.isfinite(value))
            raise EventError.of("number", f"{event}.{attribute}: {number} is not a finite number")
        found.add(scalar)
    return found


def uncertain(events: EventColumns) -> int | None:
    """Give the row of the first event that may not have happened or has errors; None if all are certain.

    >>> from cepheus.core.event import Event
    >>> uncertain(EventColumns.of([Event("Temp", 1), Event("Temp", 2, probability=0.9)]))
    1
    """
    return next((row for row, rest in events.rests.items() if "errors" in rest or "probability" in rest), None)


def check_certain(events: EventColumns) -> None:
    """Refuse events that may not have happened or have errors: a network would take them for certain."""
    row = uncertain(events)
    if row is not None:
        raise EventError.of(
            "network-uncertain",
            f"the event of type '{events[row].type}' at {events.times[row]} is uncertain, which networks do not take",
            hint="leave out its probability and errors, or detect in one process or on Spark",
        )


def no_lists(attribute: str) -> EventError:
    """Say that an attribute has lists, which a network does not carry."""
    hint = "leave it out, or give its elements attributes of their own"
    return EventError.of("list", f"the attribute '{attribute}' has lists, which a network does not carry", hint=hint)


def _no_value(event: str, attribute: str, value: object) -> EventError:
    hint = "give it as a plain number, text or truth"
    return EventError.of("type", f"{event}.{attribute}: {value!r} is no value of an event", hint=hint)
