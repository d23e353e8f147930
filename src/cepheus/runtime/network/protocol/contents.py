"""What the content of an event must be to matter to rules: the comparisons with constants, type by type.

An event that fails them at every place where a rule looks for its type can be dropped on arrival.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cepheus.core.schema import TIME_ATTRIBUTE
from cepheus.core.values import Value
from cepheus.plan.partial.anatomy import item_event
from cepheus.rules.expressions import EventPattern
from cepheus.rules.model import Pattern
from cepheus.runtime.network.protocol.interests import simple_comparison

Content = tuple[tuple[str, str, Value], ...]
"""Comparisons (attribute, operator, value) that must all hold."""

Contents = Mapping[str, tuple[Content, ...]]
"""By type, the contents that matter: any of them; an empty one admits every event of the type."""


def contents_of(patterns: Iterable[Pattern]) -> dict[str, tuple[Content, ...]]:
    """Give the contents that patterns look for.

    >>> from cepheus.language.tesla import parse
    >>> rules = parse("define F() from A(x > 3, y = $p) and last B(y = $p, z < 2) within 1 s from A").rules
    >>> contents_of(rule.pattern for rule in rules)
    {'A': ((('x', '>', 3),),), 'B': ((('z', '<', 2),),)}
    """
    found: dict[str, dict[Content, None]] = {}
    for pattern in patterns:
        for event in (pattern.terminator, *map(item_event, pattern.items)):
            found.setdefault(event.type, {})[_content(event)] = None
    return {kind: _simplest(alternatives) for kind, alternatives in found.items()}


def either(one: Contents, other: Contents) -> dict[str, tuple[Content, ...]]:
    """Give what one or the other asks for."""
    kinds = dict.fromkeys([*one, *other])
    return {kind: _simplest(dict.fromkeys((*one.get(kind, ()), *other.get(kind, ())))) for kind in kinds}


def _content(event: EventPattern) -> Content:
    found = (simple_comparison(constraint, event.name) for constraint in event.constraints)
    return tuple(each for each in found if each is not None and each[0] != TIME_ATTRIBUTE)


def _simplest(alternatives: Iterable[Content]) -> tuple[Content, ...]:
    """Leave out what another alternative admits anyway."""
    known = tuple(alternatives)
    return ((),) if () in known else known
