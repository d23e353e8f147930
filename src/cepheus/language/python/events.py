"""Event types as annotated classes, and their instances as events.

``Temp.value`` on the class is the attribute in a rule; ``temp.value`` on an instance is its value.
"""

from __future__ import annotations

import inspect
import keyword
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, TypeVar, dataclass_transform

from cepheus.core.errors import EventError, RuleError, did_you_mean
from cepheus.core.event import Event as EventRecord
from cepheus.core.schema import TIME_ATTRIBUTE, Attribute, EventType
from cepheus.core.source import Span
from cepheus.core.time import from_datetime
from cepheus.core.values import ValueType
from cepheus.language.python.places import BUILDING, caller_names, here
from cepheus.language.python.values import Symbol, moment_of, own_attribute
from cepheus.rules.check.findings import find_name

E = TypeVar("E", bound="Event")

_TYPES: dict[object, ValueType | None] = {
    bool: ValueType.BOOL,
    int: ValueType.INT,
    float: ValueType.FLOAT,
    str: ValueType.STRING,
    datetime: ValueType.TIMESTAMP,
    Any: None,
}
PYTHON_TYPES: dict[ValueType, type] = {kind: hint for hint, kind in _TYPES.items() if kind and isinstance(hint, type)}
"""The Python type of each attribute type."""


class _Missing:
    def __repr__(self) -> str:
        return "..."


MISSING: Any = _Missing()
"""Stands for a value that was not given."""


@dataclass(frozen=True, slots=True)
class AttributeField:
    """What a class says of an attribute besides its annotation."""

    name: str | None = None
    column: str | None = None
    default: Any = MISSING


def attribute(*, name: str | None = None, column: str | None = None, default: Any = MISSING) -> Any:
    """Say more of an attribute: its ``name`` in rules and results, the ``column`` that has it in the data, a default.

    >>> class Login(Event):
    ...     user: str = attribute(column="usr")
    ...     host: str = attribute(name="host.id")
    >>> str(event_type(Login))
    'Login(user: string, host.id: string)'
    """
    return AttributeField(name, column, default)


@dataclass(frozen=True, slots=True)
class AttributeSlot:
    """An attribute of a class of events: on the class a part of a rule, on an instance its default."""

    name: str
    default: Any

    def __get__(self, instance: object | None, owner: type[Event]) -> Any:
        if instance is None:
            return own_attribute(owner, self.name)
        return None if self.default is MISSING else self.default


class UnknownAttributeError(RuleError, AttributeError):
    """An attribute that a class of events does not have."""


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(attribute,))
class EventClass(type):
    """The class of classes of events: it says which attribute was meant."""

    if not TYPE_CHECKING:  # who checks types knows all attributes

        def __getattr__(cls, name: str) -> NoReturn:
            if name.startswith("__"):
                raise AttributeError(name)
            known = cls.__dict__.get("__slots_of_rule__", {})
            message = f"'{cls.__name__}' has no attribute '{name}'"
            raise UnknownAttributeError.of("unknown-attribute", message, span=here(), hint=did_you_mean(name, known))


class Event(metaclass=EventClass):
    """The base of event types: a class with annotated attributes of type bool, int, float, str or datetime.

    An attribute that may be missing is annotated ``float | None``. Every event has a ``time``; one without a zone is
    UTC. With ``name=`` the type has another name in rules than its class, with ``declared=False`` it is used by rules
    without being declared, as if they were the only ones to know of it.

    >>> class Temp(Event):
    ...     area: str
    ...     value: float
    >>> Temp(area="A1", value=51.5, time=datetime(2026, 1, 31, 10))
    Temp(time=datetime.datetime(2026, 1, 31, 10, 0), area='A1', value=51.5)
    >>> Temp.value > 45
    <part of a rule: value>45>
    """

    time: datetime = attribute(default=None)

    __slots_of_rule__: ClassVar[Mapping[str, AttributeSlot]] = {}
    __event_type__: ClassVar[EventType]
    __declared__: ClassVar[bool] = True

    def __init_subclass__(cls, *, name: str | None = None, declared: bool | None = None) -> None:
        super().__init_subclass__()
        span = here()
        described = dict(_described(cls, span))
        slots = dict(cls.__slots_of_rule__) | {key: slot for key, (slot, _) in described.items()}
        for key, slot in slots.items():
            setattr(cls, key, slot)
        cls.__slots_of_rule__ = slots
        inherited: EventType = getattr(cls.__base__, "__event_type__", EventType(""))
        attributes = {each.name: each for each in inherited.attributes} | {
            each.name: each for _, each in described.values()
        }
        attributes.pop(TIME_ATTRIBUTE, None)
        cls.__event_type__ = EventType(name or cls.__name__, tuple(attributes.values()), span)
        if declared is not None:
            cls.__declared__ = declared

    def __init__(self, **values: Any) -> None:
        known = type(self).__slots_of_rule__
        for key in values:
            if key not in known:
                message = f"'{type(self).__name__}' has no attribute '{key}'"
                raise UnknownAttributeError.of("unknown-attribute", message, span=here(), hint=did_you_mean(key, known))
        if not any(isinstance(value, Symbol) for value in values.values()) and BUILDING.get() is None:
            optional = {each.name for each in event_type(type(self)).attributes if each.optional}
            lacking = [k for k, slot in known.items() if k not in values and _is_needed(slot, optional)]
            if lacking:
                raise EventError.of("attribute", f"a {type(self).__name__} needs {', '.join(lacking)}")
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        del value
        raise AttributeError(f"events do not change: '{name}' of a {type(self).__name__} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"events do not change: '{name}' of a {type(self).__name__} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._values() == other._values() if isinstance(other, Event) else False

    def __hash__(self) -> int:
        return hash((type(self), tuple(self._values().items())))

    def __repr__(self) -> str:
        shown = (
            f"{key}={value!r}" for key, value in self._values().items() if key != TIME_ATTRIBUTE or value is not None
        )
        return f"{type(self).__name__}({', '.join(shown)})"

    def _values(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in type(self).__slots_of_rule__}

    def __cepheus_event__(self) -> EventRecord:
        """The event as sessions take it."""
        own = self.__dict__.get("__record__")
        if isinstance(own, EventRecord):
            return own
        if self.time is None:
            raise EventError.of("time", f"a {type(self).__name__} has no time", hint="give it one: time=datetime(..)")
        described = event_type(type(self))
        if not isinstance(self.time, datetime):
            message = f"the time of a {type(self).__name__} is {self.time!r:.60}, which is no datetime"
            raise EventError.of("time", message, hint="give it as time=datetime(..); dicts have times in a unit")
        named = {slot.name: key for key, slot in type(self).__slots_of_rule__.items()}
        values = {each.named_by_data: _plain(getattr(self, named[each.name])) for each in described.attributes}
        return EventRecord(described.name, from_datetime(self.time), values)

    @classmethod
    def __from_cepheus_event__(cls, event: EventRecord) -> Self:
        """The instance of an event that a session gives."""
        made = cls.__new__(cls)
        kinds = {each.name: each.type for each in event_type(cls).attributes}
        for key, slot in cls.__slots_of_rule__.items():
            value = event.attributes.get(slot.name)
            made.__dict__[key] = (
                moment_of(value) if kinds.get(slot.name) is ValueType.TIMESTAMP and isinstance(value, int) else value
            )
        made.__dict__[TIME_ATTRIBUTE] = moment_of(event.time)
        made.__dict__["__record__"] = event
        return made


Event.__slots_of_rule__ = {TIME_ATTRIBUTE: AttributeSlot(TIME_ATTRIBUTE, None)}


def event_type(kind: type[Event]) -> EventType:
    """The event type that a class describes."""
    return kind.__event_type__


def attribute_key(kind: type[Event], name: str) -> str:
    """What a class calls an attribute that rules know by a name."""
    return next(key for key, slot in kind.__slots_of_rule__.items() if slot.name == name)


def event_of(instance: Event) -> EventRecord:
    """The event behind an instance, with its id, rule, probability and what it was made of."""
    return instance.__cepheus_event__()


def _is_needed(slot: AttributeSlot, optional: set[str]) -> bool:
    return slot.default is MISSING and slot.name not in optional


def _plain(value: object) -> Any:
    return from_datetime(value) if isinstance(value, datetime) else value


def _described(cls: type[Event], span: Span | None) -> Iterator[tuple[str, tuple[AttributeSlot, Attribute]]]:
    """The attributes that a class itself annotates."""
    own = inspect.get_annotations(cls)
    try:
        hints = typing.get_type_hints(cls, localns=caller_names()) if own else {}
    except (NameError, TypeError, SyntaxError) as error:
        hint = "annotate attributes with bool, int, float, str or datetime, or one of these | None"
        raise RuleError.of("python-type", f"'{cls.__name__}': {error}", span=span, hint=hint) from None
    for key in own:
        if key.startswith("_") or typing.get_origin(hints[key]) is ClassVar or hints[key] is ClassVar:
            continue
        given = cls.__dict__.get(key, MISSING)
        said = given if isinstance(given, AttributeField) else AttributeField(default=given)
        name = said.name or key
        kind, optional = value_type(cls, key, hints[key], span)
        place = find_name(span, key)
        described = Attribute(name, kind, optional, span=place, column=said.column)
        yield key, (AttributeSlot(name, said.default), described)


def value_type(cls: type, key: str, hint: object, span: Span | None) -> tuple[ValueType | None, bool]:
    """The attribute type of an annotation, and whether the attribute may be missing."""
    optional = False
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        members = [each for each in typing.get_args(hint) if each is not type(None)]
        optional = len(members) < len(typing.get_args(hint))
        hint = members[0] if len(members) == 1 else hint
    if isinstance(hint, typing.Hashable) and hint in _TYPES:
        return _TYPES[hint], optional
    raise RuleError.of(
        "python-type",
        f"the attribute '{key}' of '{cls.__name__}' is of a type that events do not have",
        span=find_name(span, key),
        hint="annotate it with bool, int, float, str or datetime, or one of these | None",
    )


def python_name(name: str, taken: Mapping[str, object]) -> str:
    """A name as Python can have it, and that is not taken yet.

    >>> python_name("host.id", {}), python_name("class", {}), python_name("time", {"time": 1})
    ('host_id', 'class_', 'time_')
    """
    found = "".join(letter if letter.isalnum() or letter == "_" else "_" for letter in name) or "_"
    found = found if found.isidentifier() else f"n_{found}"
    found = f"n{found}" if found.startswith("_") else found
    while keyword.iskeyword(found) or found in taken:
        found += "_"
    return found


class Composite(Event, declared=False):
    """The base of event types that rules define: ``class Fire(Composite): area: str``."""


def class_of(described: EventType, *, base: type[E], declared: bool) -> type[E]:
    """A class that describes an event type, for types that a program does not write out."""
    names: dict[str, Any] = {}
    annotations: dict[str, Any] = {}
    for each in described.attributes:
        if each.name == TIME_ATTRIBUTE:
            continue
        key = python_name(each.name, {**annotations, TIME_ATTRIBUTE: None, **vars(Event)})
        hint: Any = Any if each.type is None else PYTHON_TYPES[each.type]
        annotations[key] = hint | None if each.optional and each.type is not None else hint
        names[key] = AttributeField(each.name, each.column)
    space = {"__annotations__": annotations, **names}

    def fill(body: dict[str, Any]) -> None:
        body.update(space)

    made: Any = types.new_class(
        python_name(described.name, {}), (base,), {"name": described.name, "declared": declared}, fill
    )
    made.__event_type__ = replace(described, span=None)
    found: type[E] = made
    return found
