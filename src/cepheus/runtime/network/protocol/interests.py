"""Who wants which events: subscription tables with covering, and which contents of events matter to rules.

An event that fails the comparisons with constants at every place where a rule looks for its type is dropped on arrival.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from cepheus.core.event import Event
from cepheus.core.schema import TIME_ATTRIBUTE
from cepheus.core.values import Value
from cepheus.plan.partial.shape import events_of
from cepheus.rules.comparisons import compare
from cepheus.rules.evaluate import Test, tester
from cepheus.rules.expressions import FLIPPED, AttributeRef, Comparison, Constant, Constraint, EventPattern
from cepheus.rules.model import Pattern

Content = tuple[tuple[str, str, Value], ...]
"""Comparisons (attribute, operator, value) that must all hold."""

Contents = Mapping[str, tuple[Content, ...]]
"""By type, the contents that matter: any of them; an empty one admits every event of the type."""


def contents_of(patterns: Iterable[Pattern]) -> dict[str, tuple[Content, ...]]:
    """The contents that patterns look for.

    >>> from cepheus.language.tesla import parse
    >>> rules = parse("define F() from A(x > 3, y = $p) and last B(y = $p, z < 2) within 1 s from A").rules
    >>> contents_of(rule.pattern for rule in rules)
    {'A': ((('x', '>', 3),),), 'B': ((('z', '<', 2),),)}
    """
    found: dict[str, dict[Content, None]] = {}
    for pattern in patterns:
        for event in events_of(pattern):
            found.setdefault(event.type, {})[_content(event)] = None
    return {kind: _simplest(alternatives) for kind, alternatives in found.items()}


def either(one: Contents, other: Contents) -> dict[str, tuple[Content, ...]]:
    """What one or the other asks for."""
    kinds = dict.fromkeys([*one, *other])
    return {kind: _simplest(dict.fromkeys((*one.get(kind, ()), *other.get(kind, ())))) for kind in kinds}


def _content(event: EventPattern) -> Content:
    found = (simple_comparison(constraint, event.name) for constraint in event.constraints)
    return tuple(each for each in found if each is not None and each[0] != TIME_ATTRIBUTE)


def _simplest(alternatives: Iterable[Content]) -> tuple[Content, ...]:
    """Leave out what another alternative admits anyway."""
    known = tuple(alternatives)
    return ((),) if () in known else known


class _Content:
    """An event as the situation that constraints are tested in."""

    __slots__ = ("event",)

    def __init__(self, event: Event) -> None:
        self.event = event

    def attribute(self, event: str | None, name: str) -> Value | None:
        """Return an attribute of the one event there is."""
        del event
        return self.event.time if name == TIME_ATTRIBUTE else self.event.attributes.get(name)

    def computed(self, name: str) -> Value | None:
        """Subscriptions have no parameters."""
        raise AssertionError(name)


@lru_cache(maxsize=4096)
def _tests(pattern: EventPattern) -> tuple[Test, ...]:
    return tuple(tester(constraint) for constraint in pattern.constraints)


def matches(pattern: EventPattern, event: Event) -> bool:
    """Whether a subscription asks for an event.

    >>> matches(EventPattern("Temp"), Event("Temp", 10))
    True
    """
    if pattern.type != event.type:
        return False
    if not pattern.constraints:
        return True
    content = _Content(event)
    return all(test(content) for test in _tests(pattern))


def any_matches(patterns: Iterable[EventPattern], event: Event) -> bool:
    """Whether one of several subscriptions asks for an event."""
    for pattern in patterns:  # a loop, as most have no more to be looked at than the type
        if pattern.type == event.type and (not pattern.constraints or matches(pattern, event)):
            return True
    return False


def covers(wide: EventPattern, narrow: EventPattern) -> bool:
    """Whether one subscription surely asks for all that another asks for.

    >>> from cepheus.language.tesla import parse_event_pattern as read
    >>> covers(read("Temp(value > 10)"), read("Temp(value > 12, area = 'A1')"))
    True
    """
    return wide.type == narrow.type and all(
        any(one == other or _implies(other, one) for other in narrow.constraints) for one in wide.constraints
    )


def without_covered(patterns: Iterable[EventPattern]) -> tuple[EventPattern, ...]:
    """Leave out the subscriptions that others cover."""
    by_type: dict[str, list[EventPattern]] = {}
    for pattern in dict.fromkeys(patterns):
        kept = by_type.setdefault(pattern.type, [])
        if not any(covers(other, pattern) for other in kept):
            by_type[pattern.type] = [*(other for other in kept if not covers(pattern, other)), pattern]
    return tuple(pattern for kept in by_type.values() for pattern in kept)


def simple_comparison(constraint: Constraint, own: str | None = None) -> tuple[str, str, Value] | None:
    """Return a comparison of an event's attribute with a constant as (attribute, operator, value), if it is one."""
    match constraint:
        case Comparison(operands=(AttributeRef(event, name), Constant(value=value)), operators=(operator,)):
            found = name, operator, value
        case Comparison(operands=(Constant(value=value), AttributeRef(event, name)), operators=(operator,)):
            found = name, FLIPPED[operator], value
        case _:
            return None
    return found if event in (None, own) else None


def _implies(given: Constraint, wanted: Constraint) -> bool:
    """Whether a comparison with a constant surely implies another."""
    one, other = simple_comparison(given), simple_comparison(wanted)
    if one is None or other is None or one[0] != other[0]:
        return False
    _, operator, value = one
    _, asked, bound = other
    match operator, asked:
        case "=", _:
            return compare(asked, value, bound)
        case ((">" | ">="), ">="):
            return compare(">=", value, bound)
        case ">", ">":
            return compare(">=", value, bound)
        case ">=", ">":
            return compare(">", value, bound)
        case (("<" | "<="), "<="):
            return compare("<=", value, bound)
        case "<", "<":
            return compare("<=", value, bound)
        case "<=", "<":
            return compare("<", value, bound)
        case _:
            return False
