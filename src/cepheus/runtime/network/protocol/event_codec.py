"""Events to JSON and back, in columns: each is checked as a whole, so that many events cost little more than one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from cepheus.core.event import Event
from cepheus.core.values import INT_MAX, INT_MIN
from cepheus.runtime.network.protocol.event_columns import EventColumns, read_rest, rest_of
from cepheus.runtime.network.protocol.messages import Entry, Events

Json = Any

_NOTHING = type(None)
_VALUES = {bool, int, float, str, _NOTHING}
_REST: dict[str, set[type]] = {
    "sequence": {int},
    "probability": {int, float},
    "errors": {dict},
    "start": {int},
    "rule": {str},
    "made_of": {list},
}


class BadEventsError(ValueError):
    """Columns that are no events."""


def event_to_json(event: Event) -> Json:
    """Write one event."""
    head = [event.type, event.time, dict(event.attributes), event.id]
    rest = rest_of(event)
    return [*head, rest] if rest else head


def event_from_json(data: Json) -> Event:
    """Read one event."""
    kind, time, attributes, event_id, *rest = data
    (time,) = _column([time], {int})
    _column([kind], {str})
    _column(list(attributes.values()), _VALUES)
    _column([event_id], {int, str, _NOTHING})
    return Event(kind, time, attributes, id=event_id, **(_read_rest(rest[0]) if rest else {}))


def columns_to_json(events: Iterable[Event]) -> dict[str, Json]:
    """Write events in columns; what is the same for all is written once."""
    columns = EventColumns.of(events)
    written: dict[str, Json] = {
        "shapes": [[kind, list(names)] for kind, names in columns.shapes],
        "times": columns.times,
        "values": columns.values,
    }
    if len(columns.shapes) > 1:
        written["codes"] = columns.codes
    if any(event_id is not None for event_id in columns.ids):
        written["ids"] = columns.ids
    if columns.rests:
        written["rests"] = {str(row): rest for row, rest in columns.rests.items()}
    return written


def columns_from_json(data: Json) -> EventColumns:
    """Read events in columns; what is wrong with them raises one of the errors that ``decode`` expects."""
    shapes = [(_text(kind), tuple(map(_text, names))) for kind, names in data["shapes"]]
    times = _column(data["times"], {int})
    codes = _column(data.get("codes", [0] * len(times)), {int})
    ids = _column(data.get("ids", [None] * len(times)), {int, str, _NOTHING})
    counts = Counter(codes)
    if len(codes) != len(times) or len(ids) != len(times) or not counts.keys() <= set(range(len(shapes))):
        raise BadEventsError
    for code, ((_, names), columns) in enumerate(zip(shapes, data["values"], strict=True)):
        if len(columns) != len(names) or len(set(names)) != len(names):
            raise BadEventsError
        for column in columns:
            if len(_column(column, _VALUES)) != counts[code]:
                raise BadEventsError
    rests = {int(row): rest for row, rest in data.get("rests", {}).items()}
    for rest in rests.values():
        _read_rest(rest)
    if not data.keys() <= {"shapes", "times", "values", "codes", "ids", "rests"}:
        raise BadEventsError
    return EventColumns(shapes, codes, times, ids, data["values"], rests)


def entries_to_json(message: Events) -> dict[str, Json]:
    """Write events on their way up, with their places in the total order."""
    sources: dict[str, int] = {}
    labels: dict[tuple[str, ...], int] = {}
    return {
        "events": columns_to_json(entry.event for entry in message.entries),
        "at": [None if entry.at == entry.event.time else entry.at for entry in message.entries],
        "source": [sources.setdefault(entry.source, len(sources)) for entry in message.entries],
        "counter": [entry.counter for entry in message.entries],
        "label": [labels.setdefault(entry.trees, len(labels)) for entry in message.entries],
        "sources": list(sources),
        "labels": [list(label) for label in labels],
        "through": [list(pair) for pair in message.through],
    }


def entries_from_json(data: dict[str, Json]) -> Events:
    """Read events on their way up."""
    events = columns_from_json(data["events"])
    sources = [_text(source) for source in data["sources"]]
    labels = [tuple(map(_text, label)) for label in data["labels"]]
    places = zip(
        events,
        _column(data["at"], {int, _NOTHING}),
        _indices(data["source"], len(sources)),
        _column(data["counter"], {int}),
        _indices(data["label"], len(labels)),
        strict=True,
    )
    entries = tuple(
        Entry(event.time if at is None else at, sources[source], counter, event, labels[label])
        for event, at, source, counter, label in places
    )
    through = tuple((_text(tree), _column([time], {int, _NOTHING})[0]) for tree, time in data["through"])
    return Events(entries, through)


def _text(data: Json) -> str:
    if type(data) is not str:
        raise BadEventsError
    return data


def _column(data: Json, kinds: set[type]) -> list[Any]:
    """Check that all values of a column are of the given kinds, and integers fit in 64 bits."""
    if type(data) is not list:
        raise BadEventsError
    found = set(map(type, data))
    if not found <= kinds:
        raise BadEventsError
    if int in found:
        numbers = data if found == {int} else [value for value in data if type(value) is int]
        if min(numbers) < INT_MIN or max(numbers) > INT_MAX:
            raise BadEventsError
    return data


def _indices(data: Json, length: int) -> list[int]:
    indices = _column(data, {int})
    if indices and not (min(indices) >= 0 and max(indices) < length):
        raise BadEventsError
    return indices


def _read_rest(rest: Mapping[str, Json]) -> dict[str, Any]:
    for name, value in rest.items():
        if type(value) not in _REST[name]:
            raise BadEventsError
    _column(rest.get("made_of", []), {int, str})
    return read_rest(rest)
