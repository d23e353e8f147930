"""Events of one message in columns, so that those nobody here wants are told apart without making objects of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, overload

from cepheus.core.distribution import parse_distribution
from cepheus.core.event import Event, EventId
from cepheus.core.values import Value
from cepheus.rules.comparisons import compare
from cepheus.runtime.network.protocol.interests import Contents

Shape = tuple[str, tuple[str, ...]]
"""A type and the names of the attributes that an event of it has."""


@dataclass(frozen=True, slots=True)
class EventColumns(Sequence[Event]):
    """Events by column; as a sequence, it makes the events anew each time they are looked at.

    ``codes`` gives the shape of each row, ``values`` for each shape and attribute the values of the rows of that shape.
    ``rests`` holds what few events have besides time, id and attributes.

    >>> columns = EventColumns.of([Event("Smoke", 1, {"area": "A1"}), Event("Temp", 2, {"area": "A1", "value": 51.5})])
    >>> columns[1] == Event("Temp", 2, {"area": "A1", "value": 51.5}), columns.values
    (True, [[['A1']], [['A1'], [51.5]]])
    """

    shapes: list[Shape]
    codes: list[int]
    times: list[int]
    ids: list[EventId | None]
    values: list[list[list[Value | None]]]
    rests: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, events: Iterable[Event]) -> EventColumns:
        """Put events into columns."""
        if isinstance(events, EventColumns):
            return events
        shapes: dict[Shape, int] = {}
        rows: list[list[tuple[Value | None, ...]]] = []
        columns = cls([], [], [], [], [], rests := {})
        for row, event in enumerate(events):
            shape = (event.type, tuple(event.attributes))
            code = shapes.setdefault(shape, len(shapes))
            if code == len(rows):
                rows.append([])
            rows[code].append(tuple(event.attributes.values()))
            columns.codes.append(code)
            columns.times.append(event.time)
            columns.ids.append(event.id)
            if rest := rest_of(event):
                rests[row] = rest
        columns.shapes.extend(shapes)
        columns.values.extend([list(column) for column in zip(*found, strict=True)] for found in rows)
        return columns

    def __len__(self) -> int:
        return len(self.times)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | Sequence[Event]:
        rows = range(len(self))[index]
        return list(self.events(rows)) if isinstance(rows, range) else next(self.events((rows,)))

    def __iter__(self) -> Iterator[Event]:
        return self.events(range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(Event.__eq__, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self.times))

    def events(self, rows: Iterable[int]) -> Iterator[Event]:
        """Make the events of some rows."""
        places = self._places()
        for row in rows:
            code = self.codes[row]
            kind, names = self.shapes[code]
            place = places[row]
            attributes = {name: column[place] for name, column in zip(names, self.values[code], strict=True)}
            rest = self.rests.get(row)
            if rest is None:
                yield Event(kind, self.times[row], attributes, self.ids[row])
            else:
                yield Event(kind, self.times[row], attributes, self.ids[row], **read_rest(rest))

    def counts(self, rows: Sequence[int]) -> dict[str, int]:
        """How many of the rows are of each type."""
        if len(self.shapes) == 1:
            return {self.shapes[0][0]: len(rows)} if rows else {}
        found: dict[str, int] = {}
        for row in rows:
            kind = self.shapes[self.codes[row]][0]
            found[kind] = found.get(kind, 0) + 1
        return found

    def wanted(self, contents: Contents) -> list[bool]:
        """Whether the content of each row is asked for; in doubt it is."""
        by_shape = [
            _admitted(dict(zip(names, columns, strict=True)), contents.get(kind), self.codes.count(code))
            for code, ((kind, names), columns) in enumerate(zip(self.shapes, self.values, strict=True))
        ]
        if len(by_shape) == 1:
            return by_shape[0]
        remaining = [iter(mask) for mask in by_shape]
        return [next(remaining[code]) for code in self.codes]

    def _places(self) -> Sequence[int]:
        """The place of each row among those of its shape."""
        if len(self.shapes) == 1:
            return range(len(self))
        counts = [0] * len(self.shapes)
        places = []
        for code in self.codes:
            places.append(counts[code])
            counts[code] += 1
        return places


def _admitted(columns: Mapping[str, list[Value | None]], alternatives: Iterable[Any] | None, length: int) -> list[bool]:
    if alternatives is None:
        return [False] * length
    found = [False] * length
    for alternative in alternatives:
        rows: list[int] = list(range(length))
        for name, symbol, bound in alternative:
            column = columns.get(name)
            if column is None:
                rows = []
                break
            rows = list(compress(rows, [compare(symbol, column[row], bound) for row in rows]))
        for row in rows:
            found[row] = True
    return found


def rest_of(event: Event) -> dict[str, Any]:
    """What few events have, as JSON."""
    rest: dict[str, Any] = {}
    if event.sequence is not None:
        rest["sequence"] = event.sequence
    if event.probability != 1.0:
        rest["probability"] = event.probability
    if event.errors:
        rest["errors"] = {name: str(error) for name, error in event.errors.items()}
    if event.start is not None:
        rest["start"] = event.start
    if event.rule is not None:
        rest["rule"] = event.rule
    if event.made_of:
        rest["made_of"] = list(event.made_of)
    return rest


def read_rest(rest: Mapping[str, Any]) -> dict[str, Any]:
    """What few events have, from JSON, as arguments of an event."""
    found = dict(rest)
    if "errors" in found:
        found["errors"] = {name: parse_distribution(text) for name, text in found["errors"].items()}
    if "made_of" in found:
        found["made_of"] = tuple(found["made_of"])
    return found
