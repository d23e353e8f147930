"""Messages to bytes and back: JSON with a version, every field checked against its declared type; nothing runs code.

Events, the bulk of all traffic, are written in columns.
"""

from __future__ import annotations

import json
import types
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from cepheus.core.errors import CepheusError
from cepheus.core.event import Event
from cepheus.core.schema import EventType
from cepheus.core.values import INT_MAX, INT_MIN, Scalar
from cepheus.rules.expressions import EventPattern
from cepheus.rules.json_form import from_json, to_json
from cepheus.rules.model import Pattern, Rule, RuleSet
from cepheus.runtime.network.protocol.event_columns import EventColumns, read_rest, rest_of
from cepheus.runtime.network.protocol.messages import VERSION, Entry, Events, Message

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


TEXT = ("utf-8", "surrogatepass")
"""How messages are written as bytes, and what is done with halves of characters, which Python's texts may hold."""

"""A JSON value."""


class MessageError(CepheusError):
    """Bytes that are no message of this protocol."""


def encode(message: Message) -> bytes:
    """Write a message as bytes.

    >>> from cepheus.runtime.network.protocol.messages import CreateTree
    >>> encode(CreateTree("p1"))
    b'{"v":1,"kind":"CreateTree","tree":"p1","renewed":false}'
    """
    body = {"v": VERSION, "kind": type(message).__name__, **_fields_to_json(message)}
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode(*TEXT)


def decode(data: bytes) -> Message:
    """Read a message; MessageError if it is damaged, unknown or of another version.

    >>> decode(b'{"v":1,"kind":"CreateTree","tree":"p1"}')
    CreateTree(tree='p1', renewed=False)
    """
    try:
        body = json.loads(data.decode(*TEXT), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise _bad("it is not JSON") from None
    if not isinstance(body, dict):
        raise _bad("it is not an object")
    if type(body.get("v")) is not int or body["v"] != VERSION:
        raise MessageError.of(
            "message-version",
            f"the message has version {body.get('v')!r}, this Cepheus speaks version {VERSION}",
            hint="run the same version of Cepheus on all processors and clients",
        )
    kind = _KINDS.get(str(body.get("kind")))
    if kind is None:
        raise _bad("its kind is not known")
    try:
        message: Message = _object_from_json(kind, {k: v for k, v in body.items() if k not in ("v", "kind")})
    except MessageError:
        raise
    except (CepheusError, AttributeError, LookupError, TypeError, ValueError, OverflowError, RecursionError):
        raise _bad(f"a field of {kind.__name__} is wrong") from None
    return message


def to_plain(value: Any) -> Json:
    """The JSON form of a value of the protocol; ``from_plain`` with its declared type reads it."""
    return _to_json(value)


def from_plain(kind: Any, data: Json) -> Any:
    """Read a value of a declared type."""
    return _reader(kind)(data)


def _bad(what: str) -> MessageError:
    return MessageError.of("message", f"this is no message of the network: {what}")


def _no_constant(name: str) -> None:
    raise ValueError(name)


# ---- Writing -----------------------------------------------------------------------------------------------------


def _to_json(value: Any) -> Json:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case tuple() | list():
            return [_to_json(item) for item in value]
        case frozenset() | set():
            return [_to_json(item) for item in sorted(value)]
        case dict():
            return {key: _to_json(item) for key, item in value.items()}
        case Rule():
            return to_json(RuleSet((), (value,)))
        case EventType():
            return to_json(RuleSet((value,), ()))
        case Pattern():
            return _pattern_to_json(value)
        case EventPattern():
            return _pattern_to_json(Pattern(value))
        case Event():
            return event_to_json(value)
        case Enum():
            return value.value
        case _:
            return _fields_to_json(value)


def _fields_to_json(value: Any) -> dict[str, Json]:
    if isinstance(value, Events):
        return entries_to_json(value)
    return {name: write(getattr(value, name)) for name, write in _field_writers(type(value)).items()}  # type: ignore[arg-type]


@lru_cache(maxsize=256)
def _field_writers(kind: Any) -> dict[str, Callable[[Any], Json]]:
    hints = get_type_hints(kind)
    return {f.name: columns_to_json if hints[f.name] in _EVENTS else _to_json for f in fields(kind)}


def _pattern_to_json(pattern: Pattern) -> Json:
    return to_json(RuleSet((), (Rule(EventType("Partial"), pattern, name="partial"),)))


# ---- Reading -----------------------------------------------------------------------------------------------------


def _object_from_json(kind: type[Any], data: Any) -> Any:
    if kind is Events:
        return entries_from_json(data)
    readers = _field_readers(kind)  # type: ignore[arg-type]  # classes are hashable
    if not isinstance(data, dict) or not data.keys() <= readers.keys():
        raise _bad(f"{kind.__name__} has unknown fields")
    return kind(**{name: readers[name](value) for name, value in data.items()})


@lru_cache(maxsize=256)
def _field_readers(kind: Any) -> dict[str, Callable[[Json], Any]]:
    hints = get_type_hints(kind)
    return {f.name: _reader(hints[f.name]) for f in fields(kind)}


@lru_cache(maxsize=512)
def _reader(kind: Any) -> Callable[[Json], Any]:
    special = _SPECIAL.get(kind)
    if special is not None:
        return special
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple:
        return _tuple_reader(arguments)
    if origin in (Union, types.UnionType):
        return _union_reader(arguments)
    if origin in (dict, Mapping):
        inner, key_of = _reader(arguments[1]), arguments[0]
        return lambda data: {key_of(key): inner(value) for key, value in _expect(dict, data).items()}
    if origin in (frozenset, set, list):
        member = _reader(arguments[0])
        return lambda data: origin(member(item) for item in _expect(list, data))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    if is_dataclass(kind) and isinstance(kind, type):
        return lambda data: _object_from_json(kind, data)
    raise AssertionError(f"no reader for {kind}")


def _tuple_reader(arguments: tuple[Any, ...]) -> Callable[[Json], Any]:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        inner = _reader(arguments[0])
        return lambda data: tuple(inner(item) for item in _expect(list, data))
    readers = [_reader(argument) for argument in arguments]
    return lambda data: tuple(read(item) for read, item in zip(readers, _expect(list, data), strict=True))


def _union_reader(arguments: tuple[Any, ...]) -> Callable[[Json], Any]:
    plain = tuple(argument for argument in arguments if argument in (bool, int, float, str, type(None)))
    rest = [argument for argument in arguments if argument not in plain]
    is_value = {*get_args(Scalar)} <= {*plain}  # elsewhere a value may be a list, but a network carries none
    inner = _reader(rest[0]) if rest and not is_value else None

    def read(data: Json) -> Any:
        if type(data) in plain:
            return _number(data) if type(data) is int else data
        if inner is None:
            raise _bad("a value has a wrong type")
        return inner(data)

    return read


def _expect(kind: type[Any], data: Json) -> Any:
    if type(data) is not kind:
        raise _bad("a value has a wrong type")
    return data


def _number(data: int) -> int:
    if not INT_MIN <= data <= INT_MAX:
        raise _bad("a number does not fit in 64 bits")
    return data


def _rule_from_json(data: Json) -> Rule:
    (rule,) = from_json(data).rules
    return rule


_SPECIAL: dict[Any, Callable[[Json], Any]] = {
    bool: lambda data: _expect(bool, data),
    int: lambda data: _number(_expect(int, data)),
    float: lambda data: float(_expect(float, data) if type(data) is float else _expect(int, data)),
    str: lambda data: _expect(str, data),
    Rule: _rule_from_json,
    EventType: lambda data: from_json(data).declarations[0],
    Pattern: lambda data: _rule_from_json(data).pattern,
    EventPattern: lambda data: _rule_from_json(data).pattern.terminator,
    Event: event_from_json,
    tuple[Event, ...]: lambda data: tuple(columns_from_json(data)),
    Sequence[Event]: columns_from_json,
}
_EVENTS = (tuple[Event, ...], Sequence[Event])
_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(Message)}
