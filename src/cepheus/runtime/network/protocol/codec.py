"""Messages to bytes and back: JSON with a version, every field checked against its declared type; nothing runs code.

Events, the bulk of all traffic, are written in columns (``event_codec.py``).
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Mapping, Sequence
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
from cepheus.runtime.network.protocol.event_codec import (
    columns_from_json,
    columns_to_json,
    entries_from_json,
    entries_to_json,
    event_from_json,
    event_to_json,
)
from cepheus.runtime.network.protocol.messages import VERSION, Events, Message

TEXT = ("utf-8", "surrogatepass")
"""How messages are written as bytes, and what is done with halves of characters, which Python's texts may hold."""

Json = Any
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
    """Give the JSON form of a value of the protocol; ``from_plain`` with its declared type reads it."""
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
