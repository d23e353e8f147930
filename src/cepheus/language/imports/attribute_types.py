"""Which types the attributes of imported rules have: other systems do not declare them, so their use has to tell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from cepheus.core.schema import EventType
from cepheus.core.values import ValueType
from cepheus.language.imports.conditions import (
    Absent,
    AllOf,
    AnyOf,
    Applied,
    Compared,
    Computed,
    Condition,
    Field,
    Holds,
    Number,
    OneOf,
    Operand,
    Opposite,
    Text,
    Truth,
    attribute_of,
)
from cepheus.language.tesla.names import written_attribute, written_name

OF_TEXTS = frozenset(
    {"lower", "upper", "length", "concat", "contains", "starts_with", "ends_with", "matches", "cidr_match"}
)
_RESULTS = {"length": ValueType.INT, "lower": ValueType.STRING, "concat": ValueType.STRING}


class MixedUseError(ValueError):
    """An attribute is used as two types."""

    def __init__(self, name: str, one: ValueType, other: ValueType) -> None:
        super().__init__(f"'{name}' is used as a {one.value} and as a {other.value}")


class AttributeTypes:
    """What is known of the attributes of event types, from declarations and from uses.

    An attribute that nothing tells the type of is a string. Keys that are compared with one another have one type.
    """

    def __init__(self, declared: Iterable[EventType] = ()) -> None:
        self._declared = {one.name: one for one in declared}
        self._types: dict[str, dict[str, ValueType | None]] = {}
        self._equal: list[list[tuple[str, str]]] = []

    def use(self, event: str, condition: Condition) -> None:
        """Learn from a condition on an event."""
        match condition:
            case AllOf(parts=parts) | AnyOf(parts=parts):
                for part in parts:
                    self.use(event, part)
            case Opposite(part=part):
                self.use(event, part)
            case Compared(left=left, right=right):
                self._operand(event, left, _type_of(right))
                self._operand(event, right, _type_of(left))
            case OneOf(operand=operand, options=options):
                for option in options:
                    self._operand(event, operand, _type_of(option))
            case Absent(operand=operand):
                self._operand(event, operand, None)
            case Holds(call=call):
                self._operand(event, call, None)
            case _:
                assert_never(condition)

    def joined(self, keys: Iterable[tuple[str, str]]) -> None:
        """Note attributes, as pairs of event type and name, that are compared with one another."""
        found = list(keys)
        for event, name in found:
            self._learn(event, name, None)
        if found not in self._equal:
            self._equal.append(found)

    def as_number(self, event: str, name: str) -> None:
        """Note that an attribute is added up."""
        self._learn(event, name, ValueType.FLOAT)

    def _operand(self, event: str, operand: Operand, wanted: ValueType | None) -> None:
        match operand:
            case Field(name=name):
                self._learn(event, name, wanted)
            case Applied(function=function, arguments=arguments):
                inner = ValueType.STRING if function in OF_TEXTS else None
                for argument in arguments:
                    self._operand(event, argument, inner)
            case Computed(left=left, right=right):
                for side in (left, right):
                    self._operand(event, side, ValueType.FLOAT)
            case Text() | Number() | Truth():
                return
            case _:
                assert_never(operand)

    def _learn(self, event: str, name: str, wanted: ValueType | None) -> None:
        types = self._types.setdefault(event, {})
        declared = self._declared.get(event)
        known = declared.attribute(name) if declared is not None else None
        if known is not None:
            types[name] = known.type
            return
        types[name] = _together(name, types.get(name), wanted)

    def type_of(self, event: str, name: str) -> ValueType:
        """The type of an attribute."""
        self._settle()
        return self._types.get(event, {}).get(name) or ValueType.STRING

    def _settle(self) -> None:
        for _ in self._equal:  # what one set tells may be what the next one waits for
            for group in self._equal:
                known: ValueType | None = None
                for event, name in group:
                    known = _together(name, known, self._types[event].get(name))
                for event, name in group:
                    self._types[event][name] = known

    def declarations(self, events: Iterable[str]) -> list[str]:
        """One declaration for each of some types of events; every attribute may be missing."""
        self._settle()
        return [self._declaration(event) for event in events]

    def copy(self) -> AttributeTypes:
        """What is known now, to learn more without changing it here."""
        other = AttributeTypes(self._declared.values())
        other._types = {event: dict(types) for event, types in self._types.items()}
        other._equal = list(self._equal)
        return other

    def _declaration(self, event: str) -> str:
        attributes = [_attribute(name, kind or ValueType.STRING) for name, kind in self._types.get(event, {}).items()]
        return f"event {written_name(event)}({', '.join(attributes)})"


def _attribute(name: str, kind: ValueType) -> str:
    attribute = attribute_of(name)
    column = f" from {written_attribute(name)}" if attribute != name else ""
    return f"{written_attribute(attribute)}: {kind.value}?{column}"


def _together(name: str, one: ValueType | None, other: ValueType | None) -> ValueType | None:
    if one is None or other is None or one is other:
        return one or other
    if one.is_numeric and other.is_numeric:
        return ValueType.FLOAT
    raise MixedUseError(name, one, other)


def _type_of(operand: Operand) -> ValueType | None:
    match operand:
        case Text():
            return ValueType.STRING
        case Truth():
            return ValueType.BOOL
        case Number(value=value):
            return ValueType.INT if isinstance(value, int) else ValueType.FLOAT
        case Computed():
            return ValueType.FLOAT
        case Applied(function=function):
            return _RESULTS.get(function)
        case Field():
            return None
        case _:
            assert_never(operand)
