"""Rules from a snapshot, checked like rules that somebody has written: engines rely on it that they make sense."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cepheus.core.event import Event
from cepheus.core.schema import Attribute, EventType, Schema
from cepheus.core.values import Value, ValueType
from cepheus.engine.base.snapshot import wrong_content
from cepheus.rules.check import Checked, check
from cepheus.rules.interval.model import IntervalRule, Knowledge
from cepheus.rules.model import Rule, RuleSet

Types = Mapping[str, Mapping[str, ValueType | None]]
"""The types of attributes, by event type and name."""


def check_restored(rules: Sequence[Rule], schemas: Iterable[Schema] = (), stored: Types | None = None) -> Checked:
    """Check rules with the event types that they came with, and those of stored events.

    Raises an error if a rule makes no sense, or if stored events are not what the rules take them for.
    """
    stored = stored or {}
    known: dict[str, dict[str, Attribute]] = {}
    for schema in {id(each): each for each in schemas}.values():  # many rules have the same
        for event_type in schema.values():
            attributes = known.setdefault(event_type.name, {})
            for each in event_type.attributes:
                attributes[each.name] = _together(attributes.get(each.name, each), each)
    for name, types in stored.items():
        for attribute, kind in types.items():
            found = known.setdefault(name, {}).setdefault(attribute, Attribute(attribute, kind))
            known[name][attribute] = _with_type(found, found.type or kind)
    made = {rule.composite.name for rule in rules}
    outside = [EventType(name, tuple(own.values())) for name, own in known.items() if name not in made]
    checked = check(RuleSet((), tuple(rules)), schema=Schema(outside), closed=False)
    for name, types in stored.items():
        for attribute, kind in types.items():
            _require_same(name, attribute, kind, _expected(checked, known, name, attribute))
    return checked


def _together(one: Attribute, other: Attribute) -> Attribute:
    """Combine what two places say of an attribute: one may know a type that the other does not."""
    if one.type is None or other.type is None or one.type is other.type:
        return _with_type(one, one.type or other.type)
    if one.type.is_numeric and other.type.is_numeric:
        return _with_type(one, ValueType.FLOAT)
    both = sorted((one.type.value, other.type.value))
    raise wrong_content(f"the attribute {one.name} is {both[0]} and {both[1]}")


def _with_type(attribute: Attribute, kind: ValueType | None) -> Attribute:
    return Attribute(attribute.name, kind, attribute.optional)


def _expected(
    checked: Checked, known: Mapping[str, Mapping[str, Attribute]], name: str, attribute: str
) -> set[ValueType]:
    """The types that rules take an attribute for."""
    found = [checked.inputs.get(name), checked.composites.get(name)]
    attributes = [None if each is None else each.attribute(attribute) for each in found]
    attributes.append(known.get(name, {}).get(attribute))
    return {each.type for each in attributes if each is not None and each.type is not None}


def _require_same(name: str, attribute: str, kind: ValueType | None, expected: set[ValueType]) -> None:
    """Refuse stored values of another type; integers may have become doubles."""
    for each in expected:
        widened = each is ValueType.INT and kind is ValueType.FLOAT
        narrow = each is ValueType.FLOAT and kind is ValueType.INT
        if kind is not None and kind is not each and not widened and not narrow:
            raise wrong_content(f"{name}.{attribute} is {kind.value}, not {each.value}")


def check_restored_intervals(rules: Sequence[IntervalRule], known: Iterable[EventType] = ()) -> None:
    """Check rules over intervals with the background knowledge that they came with, each by itself.

    ``known`` are the event types that they are about.
    """
    names = [rule.name for rule in rules]
    if None in names or len(set(names)) < len(names):
        raise wrong_content("rules have no names, or the same")
    heads = {rule.head.name for rule in rules}
    schema = Schema(each for each in known if each.name not in heads)
    for rule in rules:
        others = [each.head for each in rules if each.head.name != rule.head.name]
        knowledge = Knowledge(tables=rule.relations)
        around = Schema([*schema.values(), *others])
        if len(rule.values) != len(rule.head.attributes):
            raise wrong_content("a rule gives more or fewer values than its event has attributes")
        check(RuleSet(interval_rules=(rule,), knowledge=knowledge), schema=around, closed=False)


def require_values(events: Iterable[Event], checked: Checked) -> None:
    """Refuse events whose attributes have values that the rules do not take them for."""
    for event in events:
        for types in (checked.inputs.get(event.type), checked.composites.get(event.type)):
            for attribute in () if types is None else types.attributes:
                if not _is_of(event.attributes.get(attribute.name), attribute.type):
                    raise wrong_content(f"{event.type}.{attribute.name} has a value of another type")


def _is_of(value: Value | None, kind: ValueType | None) -> bool:
    match kind:
        case None:
            return True
        case ValueType.BOOL:
            return value is None or isinstance(value, bool)
        case ValueType.STRING:
            return value is None or isinstance(value, str)
        case ValueType.LIST:
            return value is None or isinstance(value, tuple)
        case ValueType.TIMESTAMP:
            return value is None or (isinstance(value, int) and not isinstance(value, bool))
        case _:  # rules alone do not tell integers from doubles
            return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
