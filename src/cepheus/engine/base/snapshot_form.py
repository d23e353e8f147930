"""What the parts of a snapshot must be like: small readers that are put together to the form of a whole header.

A reader takes a JSON value and its path and gives what it stands for, or says what is wrong there and where. Whoever
adds a field to a snapshot adds a line to its form.

>>> point = record(x=count, name=maybe(text))
>>> point({"x": 3, "name": None}, "$")
{'x': 3, 'name': None}
>>> point({"x": -3, "name": None}, "$")
Traceback (most recent call last):
...
cepheus.core.errors.RuleError: error[json]: $.x: -3 is not between 0 and 4611686018427387904
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cepheus.core.distribution import Distribution, parse_distribution
from cepheus.core.errors import CepheusError
from cepheus.core.event import Event, EventId
from cepheus.core.schema import Attribute, EventType, Schema
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.core.values import INT_MAX, INT_MIN, TYPE_NAMES, Value, ValueType
from cepheus.kernel.program import Words
from cepheus.rules.json_fields import (
    JsonObject,
    fail,
    integer_between,
    read_boolean,
    read_number,
    read_probability,
    shown,
)
from cepheus.rules.json_form import from_json
from cepheus.rules.model import Rule

T = TypeVar("T")
Reader = Callable[[object, str], T]
"""Takes a JSON value and its path and gives what it stands for."""

_MOST = 2**62  # of anything: there is room to count on

boolean: Reader[bool] = read_boolean
"""True or false."""

number: Reader[float] = read_number
"""A finite number."""

probability: Reader[float] = read_probability
"""A number from 0 to 1."""

count: Reader[int] = integer_between(0, _MOST)
"""How many of something there are, or a place among them."""

integer: Reader[int] = integer_between(INT_MIN, INT_MAX)
"""A number of 64 bits."""

time: Reader[int] = integer_between(MIN_TIME, MAX_TIME)
"""Microseconds since the epoch."""

horizon: Reader[int] = integer_between(MIN_TIME, MAX_TIME + 1)
"""The time before which all has come: beyond the last moment once everything has."""


def text(value: object, path: str) -> str:
    """Read a text."""
    found = any_text(value, path)
    try:
        found.encode()
    except UnicodeEncodeError:
        fail(path, "half of a character: the string is not valid Unicode")
    return found


def any_text(value: object, path: str) -> str:
    """Read a text that may hold halves of characters."""
    if not isinstance(value, str):
        fail(path, f"expected a string, found {shown(value)}")
    return value


def event_id(value: object, path: str) -> EventId:
    """Read the id of an event: a text or a whole number, of any size."""
    if isinstance(value, str):
        return text(value, path)
    if isinstance(value, bool) or not isinstance(value, int):
        fail(path, f"expected a string or a whole number, found {shown(value)}")
    return value


def distribution(value: object, path: str) -> Distribution:
    """Read a distribution from its text."""
    try:
        return parse_distribution(text(value, path))
    except CepheusError as error:
        fail(path, error.diagnostics[0].message)


def value_type(value: object, path: str) -> ValueType:
    """Read the type of an attribute."""
    if not isinstance(value, str) or value not in TYPE_NAMES:
        fail(path, f"expected a type, found {shown(value)}")
    return TYPE_NAMES[value]


def value(found: object, path: str) -> Value:
    """Read the value of an attribute; a list stands for a list of values."""
    if isinstance(found, list):
        return tuple([value(each, f"{path}[{place}]") for place, each in enumerate(found)])
    if isinstance(found, str):
        return text(found, path)
    if isinstance(found, bool):
        return found
    return integer(found, path) if isinstance(found, int) else read_number(found, path)


# ---- Putting readers together ----------------------------------------------------------------------------------------


def maybe(read: Reader[T]) -> Reader[T | None]:
    """Read what may be null."""
    return lambda found, path: None if found is None else read(found, path)


def listing(read: Reader[T]) -> Reader[list[T]]:
    """Read a list of things alike."""

    def read_list(found: object, path: str) -> list[T]:
        if not isinstance(found, list):
            fail(path, f"expected a list, found {shown(found)}")
        return [read(each, f"{path}[{place}]") for place, each in enumerate(found)]

    return read_list


def row(*reads: Reader[Any]) -> Reader[tuple[Any, ...]]:
    """Read a list of a fixed length, each place of it in its own way."""

    def read_row(found: object, path: str) -> tuple[Any, ...]:
        if not isinstance(found, list) or len(found) != len(reads):
            fail(path, f"expected {len(reads)} things, found {shown(found)}")
        return tuple([read(each, f"{path}[{at}]") for at, (read, each) in enumerate(zip(reads, found, strict=True))])

    return read_row


def by_name(read: Reader[T]) -> Reader[dict[str, T]]:
    """Read an object whose fields have any names."""

    def read_fields(found: object, path: str) -> dict[str, T]:
        return {str(name): read(each, f"{path}.{name}") for name, each in JsonObject(found, path).fields.items()}

    return read_fields


def record(optional: Mapping[str, Reader[Any]] | None = None, /, **reads: Reader[Any]) -> Reader[dict[str, Any]]:
    """Read an object with just these fields; of the optional ones, those that are there."""
    more = optional or {}

    def read_record(found: object, path: str) -> dict[str, Any]:
        node = JsonObject(found, path)
        node.only(*reads, optional=tuple(more))
        known = {**reads, **{name: read for name, read in more.items() if name in node.fields}}
        return {name: node.read(name, read) for name, read in known.items()}

    return read_record


def one_of(*choices: str) -> Reader[str]:
    """Read one of some words."""

    def read_choice(found: object, path: str) -> str:
        if found not in choices:
            fail(path, f"expected one of {', '.join(choices)}, found {shown(found)}")
        return str(found)

    return read_choice


def distinct(read: Reader[list[T]]) -> Reader[list[T]]:
    """Read a list in which nothing is twice."""

    def read_distinct(found: object, path: str) -> list[T]:
        things = read(found, path)
        require(len(set(things)) == len(things), path, "something is there twice")
        return things

    return read_distinct


def require(holds: object, path: str, message: str) -> None:
    """Say what is wrong at a path unless it is as it should be."""
    if not holds:
        fail(path, message)


# ---- Things that several snapshots hold ------------------------------------------------------------------------------


def rules(found: object, path: str) -> tuple[Rule, ...]:
    """Read rules that have names, all different."""
    read = from_json(found).rules
    distinct(listing(text))([rule.name for rule in read], path)
    return read


_schema = listing(row(text, listing(row(text, maybe(value_type), boolean))))


def schemas(found: object, path: str) -> list[Schema]:
    """Read a list of event types for each rule; rules that were deployed together have the same, read only once."""
    read: list[Schema] = []
    before: object = None
    for place, each in enumerate(listing(lambda value, _path: value)(found, path)):
        read.append(read[-1] if read and each == before else schema(each, f"{path}[{place}]"))
        before = each
    return read


def schema(found: object, path: str) -> Schema:
    """Read event types with the names and types of their attributes."""
    types = [
        EventType(name, tuple(Attribute(*attribute) for attribute in attributes))
        for name, attributes in _schema(found, path)
    ]
    for each in types:
        distinct(listing(text))([attribute.name for attribute in each.attributes], path)
    distinct(listing(text))([each.name for each in types], path)
    return Schema(types)


_event = record(
    type=text,
    time=time,
    attributes=by_name(maybe(value)),
    id=maybe(event_id),
    sequence=maybe(integer),
    probability=probability,
    errors=by_name(distribution),
    start=maybe(time),
    rule=maybe(text),
    made_of=listing(event_id),
)


def event(found: object, path: str) -> Event:
    """Read an event."""
    fields = _event(found, path)
    require(fields["start"] is None or fields["start"] <= fields["time"], path, "an event ends before it starts")
    return Event(**(fields | {"made_of": tuple(fields["made_of"])}))


def event_to_json(event: Event) -> dict[str, Any]:
    """Write an event, with its errors as texts."""
    return asdict(event) | {"errors": {name: str(error) for name, error in event.errors.items()}}


shape: Reader[tuple[int, ...]] = row(count, count)
"""How many rows a table has, and how many words each of them."""


def words(blobs: Mapping[str, bytes], name: str, rows_and_width: Collection[int]) -> Words:
    """Read a table of words from the blob of a name."""
    require(name in blobs, name, "the table is missing")
    rows, width = rows_and_width
    require(len(blobs[name]) == 8 * rows * width, name, "the table has another size")
    return np.frombuffer(blobs[name], "<i8").astype(np.int64).reshape(rows, width)


def only_blobs(blobs: Mapping[str, bytes], names: Iterable[str]) -> None:
    """Refuse blobs that nothing asks for."""
    for name in blobs.keys() - set(names):
        fail("$", f"there is no table '{name[:40]}' here")


def all_between(numbers: NDArray[np.signedinteger[Any]], low: int, high: int, path: str) -> None:
    """Refuse numbers that are not between two others, the second not included."""
    if numbers.size:
        require(int(numbers.min()) >= low and int(numbers.max()) < high, path, "something is named that does not exist")
