"""Which events, with which attributes, a rule set reads from outside and which it makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cepheus.core.errors import RuleError
from cepheus.core.schema import TIME_ATTRIBUTE, Attribute, EventType, Schema
from cepheus.rules.check.known_types import KnownTypes
from cepheus.rules.check.scope import RuleScope, Site
from cepheus.rules.check.types import InferredTypes
from cepheus.rules.expressions import Arithmetic, AttributeRef, Call, Comparison, Constraint, Negative
from cepheus.rules.functions import takes_undefined
from cepheus.rules.model import Aggregation, Collection, Negation, Selection
from cepheus.rules.timers import Every


def inputs(scopes: list[RuleScope], known: KnownTypes, inferred: InferredTypes) -> Schema:
    """The types of events that come from outside, in the order in which they are declared and first mentioned.

    A declared type has all its declared attributes, any other those that rules read. An attribute that nothing
    declares is optional if every rule that reads it says, with ``coalesce``, what to take in its place.
    """
    reads = _reads(scopes)
    found = {name: _completed(event_type, inferred) for name, event_type in known.declared.items()}
    names = list(reads) if not known.closed else [*reads, *known.data]
    for name in names:
        if name not in found and (name not in known.composites or name in known.data):
            found[name] = _read_type(name, reads.get(name, {}), known, inferred)
    return Schema(found.values(), closed=known.closed)


def with_positional(read: Schema, positional: Mapping[str, EventType], known: KnownTypes) -> Schema:
    """Add the event types whose attributes rules read by their place, with all their attributes in order.

    A type that other rules read by name must be declared, or be in the data's schema: nothing else tells which
    attribute stands where.
    """
    found = dict(read)
    for name, event_type in positional.items():
        if name in known.declared or (name in known.composites and name not in known.data):
            continue
        if name in found and name not in known.data and found[name].attributes:
            raise RuleError.of(
                "undeclared-order",
                f"some rules read '{name}' by the names of its attributes and others by their order",
                span=event_type.span,
                hint=f"declare it: event {name}({', '.join(f'{a.name}: ..' for a in found[name].attributes)})",
            )
        found[name] = event_type
    return Schema(found.values(), closed=read.closed)


def composites(known: KnownTypes, inferred: InferredTypes) -> Schema:
    """The types of composite events that the rules define."""
    return Schema((_completed(event_type, inferred) for event_type in known.composites.values()), closed=True)


def _completed(event_type: EventType, inferred: InferredTypes) -> EventType:
    """Return a type with the types of attributes that only rules which read them tell."""
    if all(attribute.type is not None for attribute in event_type.attributes):
        return event_type
    attributes = (
        replace(attribute, type=attribute.type or inferred.types.get((event_type.name, attribute.name)))
        for attribute in event_type.attributes
    )
    return replace(event_type, attributes=tuple(attributes))


def _read_type(name: str, read: dict[str, bool], known: KnownTypes, inferred: InferredTypes) -> EventType:
    in_data = known.data.get(name)
    attributes = []
    for attribute, replaceable in read.items():
        value_type = inferred.types.get((name, attribute))
        found = None if in_data is None else in_data.attribute(attribute)
        optional, error = (replaceable, None) if found is None else (found.optional, found.error)
        by_use = found is None or found.type is None
        attributes.append(Attribute(attribute, value_type, optional, error, by_use=by_use))
    return EventType(name, tuple(attributes))


def _reads(scopes: list[RuleScope]) -> dict[str, dict[str, bool]]:
    """Collect every type that patterns mention with the attributes read, each with whether it may be missing."""
    found: dict[str, dict[str, bool]] = {}
    for scope in scopes:
        if not isinstance(scope.rule.pattern.timer, Every):
            found.setdefault(scope.rule.pattern.terminator.type, {})
        for item in scope.rule.pattern.items:
            match item:
                case Selection(event=event) | Negation(event=event) | Collection(event=event):
                    found.setdefault(event.type, {})
                case Aggregation(aggregate=aggregate):
                    found.setdefault(aggregate.event.type, {})
        for aggregate, _ in scope.aggregates:
            found.setdefault(aggregate.event.type, {})
        for site in scope.sites:
            for ref, replaceable in _references(site):
                type_name = scope.type_of(ref, site.own)
                if type_name is not None and ref.name != TIME_ATTRIBUTE:
                    attributes = found.setdefault(type_name, {})
                    attributes[ref.name] = attributes.get(ref.name, True) and replaceable
    return found


def _references(site: Site) -> list[tuple[AttributeRef, bool]]:
    """The attributes that an expression reads, each with whether a function does without it."""
    if not any(isinstance(node, Call) and takes_undefined(node.function) for node in site.nodes):
        return [(node, False) for node in site.nodes if isinstance(node, AttributeRef)]
    found: list[tuple[AttributeRef, bool]] = []
    _collect(site.node, False, found)
    return found


def _collect(node: Constraint, replaceable: bool, found: list[tuple[AttributeRef, bool]]) -> None:
    match node:
        case AttributeRef():
            found.append((node, replaceable))
        case Call(function="in", arguments=(value, *choices)):
            _collect(value, replaceable, found)
            for choice in choices:
                _collect(choice, True, found)
        case Call(function=function, arguments=operands):
            for operand in operands:
                _collect(operand, replaceable or takes_undefined(function), found)
        case Comparison(operands=operands):
            for operand in operands:
                _collect(operand, replaceable, found)
        case Arithmetic(left=left, right=right):
            _collect(left, replaceable, found)
            _collect(right, replaceable, found)
        case Negative(operand=operand):
            _collect(operand, replaceable, found)
        case _:
            pass
