"""How many arguments event types have, and what they are called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cepheus.core.schema import Attribute, EventType
from cepheus.core.source import Span
from cepheus.formats.intervals import argument_name
from cepheus.rules.check.findings import Findings
from cepheus.rules.check.known import KnownTypes
from cepheus.rules.check.wording import line_of
from cepheus.rules.interval.model import Atom, IntervalRule
from cepheus.rules.walk import walk


class Signatures:
    """The attributes of every event type that interval rules mention, in the order of arguments.

    A type has the attributes that a declaration, a rule of another family or the data's schema gives it. Any other has
    as many as where it is first mentioned, called arg1, arg2 and so on.
    """

    def __init__(self, rules: Sequence[IntervalRule], known: KnownTypes, findings: Findings) -> None:
        self.types: dict[str, EventType] = {}
        places: dict[str, Span | None] = {}
        for name, arity, span in _mentions(rules):
            given = known.get(name)
            if given is not None:
                self.types.setdefault(name, given)
            elif name not in self.types:
                attributes = tuple(Attribute(argument_name(place), None) for place in range(1, arity + 1))
                self.types[name] = EventType(name, attributes)
                places[name] = span
            expected = len(self.types[name].attributes)
            if arity != expected:
                self._clash(name, arity, span, given, places.get(name), findings)

    def _clash(
        self,
        name: str,
        arity: int,
        span: Span | None,
        given: EventType | None,
        first: Span | None,
        findings: Findings,
    ) -> None:
        known = self.types[name]
        if given is None:
            where = line_of(first, span)
            message = f"'{name}' has {arity} arguments here and {len(known.attributes)}" + (
                f" {where}" if where else " elsewhere"
            )
            hint = "write _ for arguments that do not matter"
        else:
            message = f"'{name}' has {len(known.attributes)} arguments, not {arity}: {known}"
            hint = "write one argument for each attribute, _ where it does not matter"
        findings.error("arity", message, span, hint)

    def named(self, rule: IntervalRule) -> IntervalRule:
        """Give a rule whose head has the attributes of its type."""
        known = self.types[rule.head.name]
        if len(known.attributes) != len(rule.values):
            return rule
        return replace(rule, head=replace(rule.head, attributes=known.attributes))


def _mentions(rules: Sequence[IntervalRule]) -> Iterator[tuple[str, int, Span | None]]:
    """Give every mention of an event type; those of heads first, which are definitions."""
    for rule in rules:
        yield rule.head.name, len(rule.values), rule.head.span
    for rule in rules:
        for node in walk(rule.pattern):
            if isinstance(node, Atom):
                yield node.type, len(node.arguments), node.span
