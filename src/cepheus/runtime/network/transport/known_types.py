"""What a node knows of types of events, for clients: whether a subscription can be met, and what events must hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_
from typing import Any

from cepheus.core.errors import CepheusError, Diagnostic, EventError, Severity, did_you_mean
from cepheus.core.event import Event
from cepheus.core.schema import TIME_ATTRIBUTE, Attribute, EventType, Schema
from cepheus.core.values import Value, ValueType
from cepheus.plan.partial import input_types
from cepheus.rules.check import check
from cepheus.rules.expressions import AttributeRef, EventPattern
from cepheus.rules.model import Rule, RuleSet
from cepheus.rules.walk import walk
from cepheus.runtime.network.processor.processor import Processor
from cepheus.runtime.network.protocol.event_columns import EventColumns
from cepheus.runtime.network.transport.validity import SCALARS, check_carried, check_certain, scalar_type

Doubted = tuple[str, str | None]
"""A type that nobody knows, or one and an attribute that it does not have."""

_NO_ATTRIBUTES: Mapping[str, str | None] = {}
_HOLDS: Mapping[str, tuple[type, ...]] = {
    ValueType.BOOL.value: (bool,),
    ValueType.INT.value: (int,),
    ValueType.FLOAT.value: (float, int),
    ValueType.STRING.value: (str,),
    ValueType.TIMESTAMP.value: (int,),
}


@dataclass(frozen=True, slots=True)
class KnownTypes:
    """Types of events by name: for each attribute the name of its type, None if that is not known.

    ``declared`` are the types all of whose attributes are known. ``rules_known`` says whether the node knows all
    rules of the network: one that is not the root may not, and then nothing can be said of other types.
    """

    attributes: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    declared: frozenset[str] = frozenset()
    rules_known: bool = False

    @property
    def schema(self) -> Schema:
        """The types as readers of files take them: any event may lack an attribute, and there may be others."""
        return Schema(
            EventType(
                event_type,
                tuple(
                    Attribute(name, _value_type(kind), optional=True, by_use=event_type not in self.declared)
                    for name, kind in attributes.items()
                ),
            )
            for event_type, attributes in self.attributes.items()
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        types = {name: dict(attributes) for name, attributes in self.attributes.items()}
        return {"attributes": types, "declared": sorted(self.declared), "rules_known": self.rules_known}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> KnownTypes:
        """Read it from JSON."""
        return cls(data["attributes"], frozenset(data["declared"]), data["rules_known"])


def _value_type(name: str | None) -> ValueType | None:
    return None if name is None else ValueType(name)


class TypeBook:
    """The types that a processor knows from rules, declarations and sources.

    What rules say is found out by checking all of them, which takes a second for some thousands. A node that is asked
    how it is must not stand still for that, so it is done again only when rules have changed.
    """

    def __init__(self) -> None:
        self._seen: Sequence[EventType | Rule] = ()
        self._said = KnownTypes()

    def known(self, processor: Processor) -> KnownTypes:
        """The types that a processor knows now."""
        declarations, rules = processor.declared, tuple(ordered.rule for ordered in processor.rules.values())
        seen: tuple[EventType | Rule, ...] = (*declarations, *rules)
        if len(seen) != len(self._seen) or not all(map(is_, seen, self._seen)):
            self._said, self._seen = _said(declarations, rules), seen
        attributes = dict(self._said.attributes)
        for name in processor.produced:
            attributes.setdefault(name, _NO_ATTRIBUTES)
        return KnownTypes(attributes, self._said.declared, processor.knows_rules)


def _said(declarations: tuple[EventType, ...], rules: tuple[Rule, ...]) -> KnownTypes:
    """Return the types that rules and declarations speak of."""
    found: dict[str, dict[str, str | None]] = {}
    try:
        checked = check(RuleSet(declarations, rules), closed=False)
    except CepheusError:  # parts of a network that did not know of one another took up rules that do not fit together
        composites = [rule.composite for rule in rules]
        for kind in (*declarations, *composites):
            attributes = found.setdefault(kind.name, {})
            for one in kind.attributes:
                name = None if one.type is None else one.type.value
                attributes[one.name] = name if attributes.get(one.name, name) == name else None
        for rule in rules:
            for read in input_types(rule):
                found.setdefault(read, {})
    else:
        composites = [*checked.composites.values()]
        for kind in (*checked.inputs.values(), *composites):
            types = {one.name: None if one.type is None else one.type.value for one in kind.attributes}
            found.setdefault(kind.name, {}).update(types)
    return KnownTypes(found, frozenset(kind.name for kind in (*declarations, *composites)))


def doubts(patterns: Iterable[EventPattern], known: KnownTypes, told: set[Doubted] | None = None) -> list[Diagnostic]:
    """Say which subscriptions nothing can meet as things are: of types or attributes that nobody knows.

    All unknown types are one finding. What is in ``told`` has been said before and is left out; what is said is added.

    >>> from cepheus.language.tesla import parse_event_pattern
    >>> known = KnownTypes({"Fire": {"area": "string"}}, frozenset({"Fire"}), rules_known=True)
    >>> [doubt.hint for doubt in doubts([parse_event_pattern("Fier(area = 'A1')")], known)]
    ["did you mean 'Fire'?"]
    """
    told = set() if told is None else told
    types: list[str] = []
    found = []
    for pattern in patterns:
        attributes = known.attributes.get(pattern.type)
        if attributes is None:
            if known.rules_known and (pattern.type, None) not in told:
                told.add((pattern.type, None))
                types.append(pattern.type)
            continue
        for name in _attributes(pattern):
            if pattern.type in known.declared and name not in attributes and (pattern.type, name) not in told:
                told.add((pattern.type, name))
                hint = did_you_mean(name, attributes) or f"it has {', '.join(attributes) or 'none'}"
                found.append(_doubt(f"'{pattern.type}' has no attribute '{name}': no event will meet this", hint))
    return [_unknown(types, known), *found] if types else found


def _unknown(types: Sequence[str], known: KnownTypes) -> Diagnostic:
    """Say that nobody knows some types, all at once."""
    *first, last = (f"'{name}'" for name in types)
    names = f"types {', '.join(first)} and {last}" if first else f"type {last}"
    hints = {name: hint for name in types if (hint := did_you_mean(name, known.attributes)) is not None}
    likely = [hint if len(types) == 1 else f"{hint[:-1]} instead of '{name}'?" for name, hint in hints.items()]
    later = "they come once a rule makes them, or if a source elsewhere in the network publishes them"
    message = f"no rule makes events of {names}, and no source near this node publishes them"
    return _doubt(message, "; ".join(likely) or later)


def check_events(events: Iterable[Event], known: KnownTypes) -> None:
    """Refuse events with values that a network does not carry, or of another type than rules and declarations say.

    A rule that reads the attribute would never match such an event, and nobody would know why.

    >>> known = KnownTypes({"Temp": {"value": "double"}})
    >>> check_events([Event("Temp", 1, {"value": 51})], known)
    """
    columns = EventColumns.of(events)
    check_certain(columns)
    for code, (kind, names) in enumerate(columns.shapes):
        expected = known.attributes.get(kind, _NO_ATTRIBUTES)
        for name, values in zip(names, columns.values[code], strict=True):
            found, wanted = check_carried(kind, name, values), expected.get(name)
            if wanted is not None and wanted in _HOLDS and not found <= {*_HOLDS[wanted]}:
                raise _wrong(columns, code, name, wanted, values)


def _wrong(columns: EventColumns, code: int, name: str, wanted: str, values: list[Value | None]) -> EventError:
    kind = columns.shapes[code][0]
    types = [None if value is None else scalar_type(type(value)) for value in values]
    place = next(place for place, found in enumerate(types) if found is not None and found not in _HOLDS[wanted])
    row = [row for row, found in enumerate(columns.codes) if found == code][place]
    found = f"the event at {columns.times[row]} has {SCALARS[types[place] or str]}, {values[place]!r}"
    return EventError.of(
        "event-type",
        f"{kind}.{name} is of type {wanted}, but {found}",
        hint=f"publish {name} as {wanted}, or declare it otherwise in the rules",
    )


def _attributes(pattern: EventPattern) -> list[str]:
    found = [node for constraint in pattern.constraints for node in walk(constraint) if isinstance(node, AttributeRef)]
    return [reference.name for reference in found if reference.name != TIME_ATTRIBUTE]


def _doubt(message: str, hint: str) -> Diagnostic:
    return Diagnostic("network-types", message, hint=hint, severity=Severity.WARNING)
