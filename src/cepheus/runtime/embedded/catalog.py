"""What a session knows: its rules, the types they declare and define, and what they expect of events."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cepheus.core.errors import OptionError, RuleError, did_you_mean
from cepheus.core.schema import Attribute, EventType, Schema
from cepheus.rules.belief.model import Belief
from cepheus.rules.check import Checked, check
from cepheus.rules.check.rows import types_read
from cepheus.rules.expressions import AttributeRef, EventPattern
from cepheus.rules.interval.model import IntervalRule
from cepheus.rules.json_form import from_json, to_json
from cepheus.rules.model import AnyRule, Pattern, Rule, RuleSet
from cepheus.rules.walk import walk
from cepheus.runtime.embedded.subscriptions import refuse_beyond_content
from cepheus.uncertainty.belief.belief import RuleBelief, belief_of, beliefs_of

_PROBE = "subscription"


@dataclass(frozen=True, slots=True)
class Catalog:
    """Rules that have been checked together.

    ``data`` are the types that the caller described, besides those that the rules declare. ``heard`` is what
    subscriptions need of primitive events. ``closed`` says that an event of any other type is a mistake.
    """

    checked: Checked
    data: Schema
    closed: bool
    heard: Schema

    @classmethod
    def of(cls, checked: Checked, data: Schema | None = None) -> Catalog:
        """Start with the rules of a program."""
        return cls(checked, Schema() if data is None else data, checked.inputs.closed, Schema())

    @property
    def rules(self) -> tuple[AnyRule, ...]:
        """The rules of all families."""
        return self.checked.rules.all_rules

    @property
    def types(self) -> Schema:
        """The attribute types of every event type that the rules mention or define."""
        return Schema({**self.checked.composites, **self.checked.inputs}.values())

    @property
    def expected(self) -> Schema:
        """What must be admitted for the rules and the subscriptions: event types and their attributes."""
        types = dict(self.checked.inputs)
        for name, heard in self.heard.items():
            types[name] = _with_subscribed(types[name], heard) if name in types else heard
        return Schema(types.values(), closed=self.closed, others=self.checked.inputs.others)

    def with_rules(self, added: RuleSet) -> tuple[Catalog, tuple[AnyRule, ...]]:
        """Add rules, checked together with those present; give also the added ones, named.

        An added network takes the place of the one that its rule has.
        """
        replaced = {belief.rule for belief in added.beliefs}
        kept = tuple(belief for belief in self.checked.rules.beliefs if belief.rule not in replaced)
        present = replace(self.checked.rules, beliefs=kept)
        checked = check(present + added, schema=self.data, closed=self.closed)
        known = {rule.name for rule in self.rules}
        catalog = replace(self, checked=checked)
        refuse_redeclared(self.checked.rules, self.types, catalog.types)
        return catalog, tuple(r for r in checked.rules.all_rules if r.name not in known)

    def beliefs(self, among: tuple[Belief, ...] | None = None) -> dict[str, RuleBelief]:
        """The networks of rules, or only some of them, by the name of the rule, each evaluated once."""
        rules = self.checked.rules
        return beliefs_of(rules if among is None else replace(rules, beliefs=among))

    def belief(self, name: str) -> RuleBelief:
        """The network of a rule; that of a rule to which nothing was added is as the rule itself says."""
        return belief_of(self.checked.rules, name)

    def with_belief(self, belief: RuleBelief) -> Catalog:
        """Put a network in place of its rule's; OptionError if it is that of another rule."""
        rules = self.checked.rules
        if self.belief(belief.added.rule).rule != belief.rule:
            raise OptionError.of(
                "network",
                f"this network is of another rule that is called '{belief.rule.name}'",
                hint="edit the network that the session gives",
            )
        others = tuple(other for other in rules.beliefs if other.rule != belief.added.rule)
        return replace(self, checked=replace(self.checked, rules=replace(rules, beliefs=(*others, belief.added))))

    def without(self, name: str) -> Catalog:
        """Take a rule away. The type it defined stays known, so that rules that use it remain right.

        Of a rule over intervals that no other rule uses, only the names of attributes stay: what types their values
        have, the rules that are left tell.
        """
        found = [rule for rule in self.rules if rule.name == name]
        if not found:
            hint = did_you_mean(name, [str(rule.name) for rule in self.rules])
            raise OptionError.of("withdraw", f"no rule named '{name}' is deployed", hint=hint)
        present = self.checked.rules
        remaining = tuple(rule for rule in present.rules if rule.name != name)
        intervals = tuple(rule for rule in present.interval_rules if rule.name != name)
        rows = tuple(rule for rule in present.row_rules if rule.name != name)
        declarations = self.checked.rules.declarations
        composite = found[0].composite
        left: tuple[AnyRule, ...] = (*remaining, *intervals, *rows)
        defined = [rule.composite for rule in left]
        if all(known.name != composite.name for known in (*declarations, *defined)):
            if isinstance(found[0], IntervalRule) and all(composite.name not in types_read(rule) for rule in left):
                composite = replace(composite, attributes=tuple(replace(a, type=None) for a in composite.attributes))
            declarations = (*declarations, composite)
        beliefs = tuple(belief for belief in self.checked.rules.beliefs if belief.rule != name)
        rules = replace(
            present,
            declarations=declarations,
            rules=remaining,
            interval_rules=intervals,
            row_rules=rows,
            beliefs=beliefs,
        )
        return replace(self, checked=check(rules, schema=self.data, closed=self.closed))

    def hearing(self, pattern: EventPattern) -> Catalog:
        """Add what a subscription needs; RuleError if it makes no sense with the types that are known."""
        refuse_beyond_content(pattern)
        rules = self.checked.rules
        known = {event_type.name: event_type for event_type in (*self.data.values(), *rules.declarations)}
        probe = Rule(EventType(f"#{_PROBE}"), Pattern(pattern), name=f"#{_PROBE}")
        checked = check(
            RuleSet((), (probe,)), schema=Schema({**known, **self.checked.composites}.values()), closed=self.closed
        )
        if pattern.type in self.checked.composites and pattern.type not in self.checked.inputs:
            return self
        heard = checked.inputs.get(pattern.type, EventType(pattern.type))
        _refuse_other_types(pattern, heard, self.checked.inputs.get(pattern.type))
        declared = known.get(pattern.type)
        if declared is not None:  # whoever hears of an event of a declared type gets all of it
            heard = declared
        before = self.heard.get(pattern.type)
        heard = heard if before is None else _merged_type(before, heard)
        return replace(self, heard=Schema({**self.heard, pattern.type: heard}.values()))

    def to_json(self) -> dict[str, Any]:
        """Write the catalog as JSON, subscriptions left out."""
        return {
            "rules": to_json(self.checked.rules),
            "data": to_json(RuleSet(tuple(self.data.values()))),
            "data_closed": self.data.closed,
            "closed": self.closed,
        }

    def restored(self, data: dict[str, Any]) -> Catalog:
        """Read the catalog of a snapshot and keep this one's subscriptions."""
        schema = Schema(from_json(data["data"]).declarations, closed=data["data_closed"])
        rules = from_json(data["rules"])
        checked = check(rules, schema=schema, closed=data["closed"])
        return replace(self, checked=checked, data=schema, closed=data["closed"])


def _refuse_other_types(pattern: EventPattern, heard: EventType, expected: EventType | None) -> None:
    """Refuse a subscription that takes an attribute for something else than the rules do."""
    for attribute in heard.attributes:
        other = None if expected is None else expected.attribute(attribute.name)
        if other is None or other.type is None or attribute.type is None or other.type is attribute.type:
            continue
        if not (other.type.is_numeric and attribute.type.is_numeric):
            spans = [node.span for node in walk(pattern) if isinstance(node, AttributeRef) and node.name == other.name]
            raise RuleError.of(
                "type-mismatch",
                f"{heard.name}.{attribute.name} is {other.type.value} in the rules, not {attribute.type.value}",
                span=spans[0],
                hint=f"compare it with a value of type {other.type.value}",
            )


def _with_subscribed(read: EventType, heard: EventType) -> EventType:
    """What rules read of events and, besides, what only subscriptions hear of; these may lack it."""
    own = [replace(a, optional=True) for a in heard.attributes if read.attribute(a.name) is None]
    return replace(read, attributes=(*read.attributes, *own))


def _merged_type(one: EventType, other: EventType) -> EventType:
    """An event type with the attributes of both; what one only guesses the other may know."""
    attributes: dict[str, Attribute] = {attribute.name: attribute for attribute in one.attributes}
    for attribute in other.attributes:
        first = attributes.setdefault(attribute.name, attribute)
        attributes[attribute.name] = replace(
            first, type=first.type or attribute.type, optional=first.optional and attribute.optional
        )
    return EventType(one.name, tuple(attributes.values()))


def refuse_redeclared(rules: RuleSet, before: Schema, after: Schema) -> None:
    """Refuse further rules with which event types would have other attributes than rules at work have read.

    Rules over intervals have taken the names of attributes by their order, and those of TESLA the types of what rules
    over intervals make. ``before`` and ``after`` are the types without and with the further rules.
    """
    heads = {rule.head.name for rule in rules.interval_rules}
    positional = dict.fromkeys(name for rule in rules.interval_rules for name in sorted(types_read(rule))) | (
        dict.fromkeys(sorted(heads))
    )
    for name in positional:
        if name in before and name in after:
            _refuse_other_names(before[name], after[name])
    if not heads:
        return
    for name in dict.fromkeys(name for rule in rules.rules for name in sorted(types_read(rule))):
        if name in heads and name in before and name in after:
            _refuse_retyped(before[name], after[name])


def _refuse_other_names(one: EventType, other: EventType) -> None:
    if _names(one) == _names(other):
        return
    written = ", ".join(f"{a.name}: {'..' if b.type is None else b.type.value}" for a, b in _pairs(one, other))
    raise RuleError.of(
        "type-conflict",
        f"rules at work know the attributes of '{one.name}' as {_listed(one)}, and here they are {_listed(other)}",
        span=other.span,
        hint=f"declare it with the names that it has: event {one.name}({written}); or withdraw those rules first",
    )


def _refuse_retyped(one: EventType, other: EventType) -> None:
    for first, second in _pairs(one, other):
        if first.type is not None and second.type is not None and first.type is not second.type:
            raise RuleError.of(
                "type-conflict",
                f"{one.name}.{first.name} is {first.type.value} to rules at work, "
                f"and with these it would be {second.type.value}",
                span=other.span,
                hint="withdraw the rules that read it first, or start a new session for all of them",
            )


def _names(event_type: EventType) -> list[str]:
    return [attribute.name for attribute in event_type.attributes]


def _listed(event_type: EventType) -> str:
    return ", ".join(_names(event_type)) or "none"


def _pairs(one: EventType, other: EventType) -> list[tuple[Attribute, Attribute]]:
    return list(zip(one.attributes, other.attributes, strict=False))
