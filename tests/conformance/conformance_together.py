"""Many cases of the conformance suite as one rule set over one table, for hosts that take seconds to start.

Event types, composite types and rules get the case's number in front, so that cases do not see one another. Time is
what they would share: a finite input ends at its last event, whoever looks at that, and time begins with its first. So
a case with timers is an input of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conformance_suite import Case

from cepheus.core.event import EventId, composite_id
from cepheus.core.values import ValueType, type_of
from cepheus.engine.assembly.ending import has_timers
from cepheus.rules.check import check
from cepheus.rules.check.check import name_rules
from cepheus.rules.expressions import EventPattern
from cepheus.rules.model import Pattern, Rule, RuleSet, Selection
from cepheus.rules.run_settings import has_ties_ordered
from cepheus.rules.timers import is_moment
from cepheus.rules.walk import transform
from cepheus.runtime.embedded.catalog import Catalog

MOST = 14
"""How many cases go into one job: expressions grow with event types, and the time to compile them grows faster."""

FIELDS = ("type", "time", "id", "sequence")


Kinds = dict[str, dict[str, ValueType]]
"""By event type, the types of its attributes."""


@dataclass
class Together:
    """Cases that fit into one table: their rules, their events as dicts, what they give.

    ``kinds`` are the types of attributes, one for all event types; ``by_type`` has them where event types disagree.
    """

    kinds: dict[str, ValueType] = field(default_factory=dict)
    by_type: Kinds = field(default_factory=dict)
    rules: RuleSet = field(default_factory=RuleSet)
    events: list[dict[str, Any]] = field(default_factory=list)
    expected: list[dict[str, Any]] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)


def together(cases: Iterable[Case]) -> list[Together]:
    """Put cases together, as many as agree on the types of attributes; those at odds with themselves apart.

    A case with timers is alone.
    """
    found: list[Together] = []
    alone: list[Together] = []
    apart = Together()
    for number, case in enumerate(cases):
        by_type = _kinds(case)
        prefix = f"c{number}_"
        kinds = _merged(by_type)
        if kinds is None:
            apart.by_type |= {prefix + name: own for name, own in by_type.items()}
            _add(apart, case, prefix)
            continue
        rules = case.model
        if has_timers(rules):
            alone.append(Together(kinds))
            _add(alone[-1], case, prefix)
            continue
        ordered = has_ties_ordered(rules)
        alike = (t for t in found if has_ties_ordered(t.rules) == ordered and _agree(t.kinds, kinds))
        place = next((t for t in alike if len(t.cases) < MOST), None)
        if place is None:
            place = Together()
            found.append(place)
        place.kinds |= kinds
        _add(place, case, prefix)
    return [*found, *alone, apart]


def _agree(one: dict[str, ValueType], other: dict[str, ValueType]) -> bool:
    return all(one.get(name, kind) is kind for name, kind in other.items())


def _merged(by_type: Kinds) -> dict[str, ValueType] | None:
    """Give one type for each attribute name; None if event types disagree."""
    merged: dict[str, ValueType] = {}
    for name, kind in ((name, kind) for own in by_type.values() for name, kind in own.items()):
        if merged.setdefault(name, kind) is not kind:
            return None
    return merged


def _kinds(case: Case) -> Kinds:
    """Give the types of a case's attributes: as declared, or else as the values are."""
    rules = case.model
    types = Catalog.of(check(rules)).types
    kinds: Kinds = {}
    for declared in rules.declarations:
        kinds[declared.name] = {a.named_by_data: a.type for a in declared.attributes if a.type is not None}
    told = set(kinds)
    for event in case.events:
        known = types.get(event["type"])
        own = kinds.setdefault(event["type"], {})
        for name, value in event.items():
            if name in FIELDS or name == case.sequence or value is None or event["type"] in told:
                continue
            attribute = None if known is None else known.attribute(name)
            kind = type_of(value)
            if attribute is not None and attribute.type is not None and attribute.type is not ValueType.FLOAT:
                kind = attribute.type
            if {own.get(name, kind), kind} == {ValueType.INT, ValueType.FLOAT}:
                kind = ValueType.FLOAT
            own[name] = kind
    return kinds


def _add(place: Together, case: Case, prefix: str) -> None:
    rules = name_rules(case.model)
    place.rules += RuleSet(
        tuple(replace(declared, name=prefix + declared.name) for declared in rules.declarations),
        tuple(renamed_rule(rule, prefix) for rule in rules.rules),
    )
    for number, event in enumerate(case.events):
        sequence = number if case.sequence is None else event[case.sequence]
        given = {name: value for name, value in event.items() if name != case.sequence}
        place.events.append(
            {**given, "type": prefix + event["type"], "sequence": sequence, "id": event.get("id", number)}
        )
    place.expected += _renamed_events(case, rules.rules, prefix)
    place.cases.append(case)


def renamed_rule(rule: Rule, prefix: str) -> Rule:
    """A rule whose event types, composite type and name begin with a prefix."""

    def change(node: Any) -> Any:
        """Rename event types; events that others refer to by their type keep that as their name."""
        match node:
            case EventPattern() if not is_moment(node.type):
                return replace(node, type=prefix + node.type)
            case Selection(event=event):
                return replace(node, event=_named(event, prefix))
            case Pattern(terminator=event):
                return replace(node, terminator=_named(event, prefix))
            case _:
                return node

    changed: Rule = transform(rule, change)
    return replace(
        changed, name=f"{prefix}{rule.name}", composite=replace(rule.composite, name=prefix + rule.composite.name)
    )


def _named(event: EventPattern, prefix: str) -> EventPattern:
    return replace(event, alias=event.alias or event.type.removeprefix(prefix))


def _renamed_events(case: Case, rules: Sequence[Rule], prefix: str) -> list[dict[str, Any]]:
    """Give the expected events under their new names: ids are made of the names of rules."""
    new_ids: dict[EventId, EventId] = {}
    found = []
    for event in case.expected:
        made_of = tuple(new_ids.get(part, part) for part in event["from"])
        rule, parts = _maker(event, rules)
        fresh = composite_id(prefix + event["type"], f"{prefix}{rule.name}", made_of[:parts])
        new_ids[event["id"]] = fresh
        found.append({**event, "type": prefix + event["type"], "id": fresh, "from": list(made_of)})
    return found


def _maker(event: dict[str, Any], rules: Sequence[Rule]) -> tuple[Rule, int]:
    """The rule that made an event, and how many of those that it names are its parts: the others were counted."""
    named = tuple(event["from"])
    return next(
        (rule, parts)
        for parts in range(len(named), -1, -1)
        for rule in rules
        if composite_id(event["type"], str(rule.name), named[:parts]) == event["id"]
    )
