"""An event as pages show it: plain values that JSON and a browser can hold."""

from __future__ import annotations

from typing import Any

from cepheus.core.event import Event
from cepheus.core.time import format_time
from cepheus.core.values import Value

MOST_EXACT = 2**53
"""Up to here a browser tells all integers apart."""


def event_told(event: Event) -> dict[str, Any]:
    """An event as a page shows it; times are microseconds.

    >>> told = event_told(Event("Temp", 5, {"value": 1, "big": 2**60}))
    >>> told["type"], told["attributes"]
    ('Temp', {'value': 1, 'big': '1152921504606846976'})
    """
    return {
        "type": event.type,
        "time": event.time,
        "when": format_time(event.time),
        "start": event.start,
        "attributes": {name: _shown(value) for name, value in event.attributes.items() if value is not None},
        "errors": {name: str(error) for name, error in event.errors.items()},
        "probability": event.probability,
        "rule": event.rule,
        "id": event.id,
        "row": event.id if isinstance(event.id, int) and event.rule is None else None,
    }


def _shown(value: Value) -> Value:
    """A value as the page can hold it: an integer beyond what its numbers tell apart is sent as text."""
    return str(value) if isinstance(value, int) and abs(value) > MOST_EXACT else value
