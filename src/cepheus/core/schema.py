"""Event types: their attributes in declared order, and collections of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from cepheus.core.distribution import Distribution
from cepheus.core.source import Span
from cepheus.core.values import ValueType

TIME_ATTRIBUTE = "time"
"""Every event has its own time as an attribute of type timestamp."""

OWNED_ATTRIBUTE = "#home"
"""A hidden attribute, which no rule can name: false for an event that is here only for others, and what it completes
belongs to an engine elsewhere that has it, too."""

ID_FIELD = "id"
"""The name under which the file formats have an event's own id, unless its type declares an attribute so called."""

SPARE_ID_FIELD = "event_id"
"""The name under which they have the own id of an event whose type declares an attribute ``id``."""

RESERVED = frozenset({"type", TIME_ATTRIBUTE, ID_FIELD, "probability", "from", "sequence"})
"""Names that the file formats use for an event's own fields; of these, an attribute may only be called ``id``."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of an event type.

    ``type`` is None while only the data can tell it. An event that lacks a required attribute is a bad event;
    one that lacks an optional attribute has an undefined value there. ``error`` is what the values of sources that
    send no error of their own are off by, as far as a domain expert has said. ``by_use`` says that nobody has declared
    the type: rules use the attribute so, and data that shows another type is a mistake on one side. ``column`` is what
    the data calls the attribute, None if it calls it by its name.
    """

    name: str
    type: ValueType | None
    optional: bool = False
    error: Distribution | None = None
    span: Span | None = field(default=None, compare=False, repr=False)
    by_use: bool = field(default=False, compare=False, repr=False)
    column: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        if self.type is None:
            return self.name
        return f"{self.name}: {self.type.value}{'?' if self.optional else ''}"

    @property
    def named_by_data(self) -> str:
        """The name under which the data has the attribute."""
        return self.name if self.column is None else self.column


@dataclass(frozen=True, slots=True)
class EventType:
    """A type of event: a name and its attributes.

    >>> str(EventType("Temp", (Attribute("area", ValueType.STRING), Attribute("value", ValueType.FLOAT))))
    'Temp(area: string, value: double)'
    """

    name: str
    attributes: tuple[Attribute, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)

    def attribute(self, name: str) -> Attribute | None:
        """The attribute of that name, if there is one."""
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        return None

    @property
    def id_field(self) -> str:
        """The name under which files have the own id of an event of this type."""
        taken = any(attribute.named_by_data == ID_FIELD for attribute in self.attributes)
        return SPARE_ID_FIELD if taken else ID_FIELD

    @property
    def columns(self) -> dict[str, str]:
        """By attribute, what the data calls it, for those that it calls otherwise."""
        return {attribute.name: attribute.column for attribute in self.attributes if attribute.column is not None}

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.attributes))})"


class Schema(Mapping[str, EventType]):
    """The event types known in some place, by name.

    A closed schema is complete: an event of any other type is a mistake. An open one says nothing of other types,
    unless it has what is expected of all ``others``: then it has every type, though it lists only those it knows.

    >>> schema = Schema([EventType("Smoke")], others=EventType("events", (Attribute("area", None, optional=True),)))
    >>> len(schema), "Rain" in schema, str(schema["Rain"])
    (1, True, 'Rain(area)')
    """

    def __init__(
        self, types: Iterable[EventType] = (), *, closed: bool = False, others: EventType | None = None
    ) -> None:
        self._types = {event_type.name: event_type for event_type in types}
        self.closed = closed
        self.others = others

    def __getitem__(self, name: str) -> EventType:
        if self.others is not None and name not in self._types:
            return replace(self.others, name=name)
        return self._types[name]

    def __contains__(self, name: object) -> bool:
        return name in self._types or self.others is not None  # asked of every event that is fed

    def mapped(self, change: Callable[[EventType], EventType]) -> Schema:
        """The schema with every type changed, what is expected of others included."""
        others = None if self.others is None else change(self.others)
        return Schema(map(change, self._types.values()), closed=self.closed, others=others)

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def __len__(self) -> int:
        return len(self._types)

    def __repr__(self) -> str:
        return f"Schema({', '.join(map(str, self._types.values()))})"
