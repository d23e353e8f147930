"""What rules read: the attributes of each event type that they look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cepheus.core.schema import TIME_ATTRIBUTE, EventType
from cepheus.rules.expressions import AttributeRef
from cepheus.rules.interval.model import Atom, IntervalRule
from cepheus.rules.resolve import Absent, Compute, ResolvedRule
from cepheus.rules.walk import walk


def reads(rules: Iterable[ResolvedRule]) -> dict[str, frozenset[str]]:
    """Collect every event type that patterns mention, with the attributes that rules read of it (its time aside)."""
    found: dict[str, set[str]] = {}
    for rule in rules:
        types = {position.name: position.type for position in rule.positions}
        for name in types.values():
            found.setdefault(name, set())
        _note((rule.terminator, *rule.steps, *rule.assignments), types, None, found)
        inners: list[Compute | Absent] = [step for step in rule.steps if isinstance(step, Compute)]
        for inner in (*inners, *rule.absences):
            found.setdefault(inner.type, set())
            _note((inner,), types, inner.type, found)
    return {name: frozenset(attributes) for name, attributes in found.items()}


def reads_in_order(rules: Sequence[IntervalRule], types: Mapping[str, EventType]) -> dict[str, frozenset[str]]:
    """Collect every event type that interval rules mention, with all its attributes.

    Their places tell what arguments stand for, and events that are alike in all of them are one event.
    """
    atoms = (node for rule in rules for node in walk(rule.pattern) if isinstance(node, Atom))
    return {atom.type: frozenset(attribute.name for attribute in types[atom.type].attributes) for atom in atoms}


def _note(nodes: Iterable[object], types: dict[str, str], own: str | None, found: dict[str, set[str]]) -> None:
    for node in nodes:
        for child in walk(node):
            if isinstance(child, AttributeRef) and child.name != TIME_ATTRIBUTE:
                owner = own if child.event is None else types[child.event]
                if owner is not None:
                    found[owner].add(child.name)
