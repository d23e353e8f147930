"""A rule while its function runs: what it has named so far, and the events that stand for those to come."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar, cast

from cepheus.core.errors import RuleError, did_you_mean
from cepheus.core.options import microseconds_of
from cepheus.core.schema import EventType
from cepheus.core.source import Span
from cepheus.language.python.events import Event, event_type
from cepheus.language.python.parts import PartOfRule, WithoutWindow
from cepheus.language.python.places import BUILDING, Site, here
from cepheus.language.python.values import Symbol, expression_of
from cepheus.rules.expressions import (
    AttributeRef,
    Between,
    Constraint,
    EventPattern,
    Expression,
    Within,
    joined_by,
)
from cepheus.rules.functions import AND
from cepheus.rules.model import PatternItem
from cepheus.rules.timers import NOW

E = TypeVar("E", bound=Event)

Length = str | timedelta
"""A length of time: ``"5 min"`` or a timedelta."""


@dataclass(slots=True)
class Draft:
    """What a rule's function has said so far.

    ``terminator`` is the type of the terminator, ``reference`` what the rule calls it, ``moment`` that at which it is
    evaluated: the terminator, or ``now`` where there is a timer.
    """

    terminator: str
    reference: str
    moment: str
    kinds: dict[str, type[Event]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    constraints: list[Constraint] = field(default_factory=list)
    items: list[PatternItem] = field(default_factory=list)
    consuming: list[tuple[str, Span | None]] = field(default_factory=list)
    windowed: list[WithoutWindow] = field(default_factory=list)

    def use(self, kind: type[Event]) -> EventType:
        """Note that the rule mentions a type."""
        described = event_type(kind)
        self.kinds.setdefault(described.name, kind)
        return described

    def free_name(self, wanted: str) -> str:
        """A name for an event: that of its type, with a number where that is taken."""
        name, number = wanted, 1
        while name in self.names:
            number += 1
            name = f"{wanted}_{number}"
        self.names.add(name)
        return name

    def require_windows(self) -> None:
        """Refuse a rule with parts that were never given the window they need: it would be read without them."""
        lacking = [each.lacking() for each in self.windowed if not each.placed]
        if lacking:
            raise RuleError(lacking)


def draft() -> Draft:
    """The rule that is being read."""
    found = BUILDING.get()
    if found is None:
        raise RuleError.of(
            "python-rule", "this is said inside the function of a rule", span=here(), hint="write it below @rule"
        )
    return cast("Draft", found)


class EventInRule(PartOfRule):
    """An event of a pattern, as the rest of the rule names it: its attributes are parts of the rule."""

    __slots__ = ("_kind", "_name")

    def __init__(self, kind: type[Event], name: str) -> None:
        self._kind = kind
        self._name = name

    def __getattr__(self, key: str) -> Symbol:
        slot = self._kind.__slots_of_rule__.get(key)
        if slot is None:
            if key.startswith("__"):
                raise AttributeError(key)
            message = f"'{self._kind.__name__}' has no attribute '{key}'"
            hint = did_you_mean(key, self._kind.__slots_of_rule__)
            raise RuleError.of("unknown-attribute", message, span=here(), hint=hint)
        return Symbol(AttributeRef(self._name, slot.name, here()))

    def __repr__(self) -> str:
        return f"<{self._name}, an event of a rule>"


class Now(Event, name=NOW, declared=False):
    """The moment at which a rule with a timer is evaluated."""


now: Now = cast("Now", EventInRule(Now, NOW))
"""The moment of a rule with a timer: windows may reach back from it, and ``now.time`` is its time."""


def named(kind: type[E], name: str) -> E:
    """An event of the pattern by its name in the rule, where Python has no variable for it yet."""
    return cast("E", EventInRule(kind, name))


def name_of(event: object, place: Site) -> str:
    """What the rule calls an event that is given in Python."""
    if isinstance(event, EventInRule):
        return event._name
    if isinstance(event, WithoutWindow):
        raise RuleError([event.lacking()])
    hint = "give what each(..), last(..) or first(..) has given, or the argument of the rule"
    raise RuleError.of("python-event", "this is no event of the rule", span=place.span, hint=hint)


def pattern_of(kind: object, conditions: tuple[object, ...], alias: str | None, place: Site) -> EventPattern:
    """An event of a type that satisfies conditions, which read its attributes by its class: ``Temp.value > 45``."""
    if not (isinstance(kind, type) and issubclass(kind, Event)):
        hint = "the first argument is a class of events: last(Temp, Temp.value > 45)"
        raise RuleError.of("python-event", "this is no type of events", span=place.argument(0), hint=hint)
    described = draft().use(kind)
    return EventPattern(described.name, constraints_of(described.name, conditions, place), alias, place.argument(0))


def constraints_of(name: str, conditions: tuple[object, ...], place: Site) -> tuple[Constraint, ...]:
    """The constraints of an event of a type."""
    found: list[Constraint] = []
    for condition in conditions:
        node = own_expression(name, condition, place)
        found += joined_by(AND, node)
    return tuple(found)


def owner_names(value: object) -> set[str]:
    """The types of events whose attributes a value reads by their classes."""
    return {event_type(owner).name for owner in value.owners} if isinstance(value, Symbol) else set()


def own_expression(name: str, value: object, place: Site) -> Expression:
    """An expression about an event of a type; it may read other events only by what the rule calls them."""
    node = expression_of(value, place)
    for other in owner_names(value) - {name}:
        raise RuleError.of(
            "python-event",
            f"this is about an event of type '{name}', and names '{other}' by its class, which may be any event of it",
            span=node.span or place.span,
            hint="give the event a name: smoke = last(Smoke).within(..), and write smoke.area",
        )
    return node


def free_expression(value: object, place: Site) -> Expression:
    """An expression that belongs to no event: every attribute is one of a named event."""
    node = expression_of(value, place)
    for name in owner_names(value):
        raise RuleError.of(
            "python-event",
            f"this names '{name}' by its class, and does not say which event of that type is meant",
            span=node.span or place.span,
            hint="write the attribute of the rule's argument, or of what each(..), last(..) or first(..) gave",
        )
    return node


def window(length: object, reference: object | None, place: Site) -> Within:
    """A window before an event, by default before the terminator."""
    name = draft().reference if reference is None else name_of(reference, place)
    return Within(length_of(length, place), name, place.method())


def between(first: object, second: object, place: Site) -> Between:
    """The time between two events."""
    return Between(name_of(first, place), name_of(second, place), place.method())


def length_of(length: object, place: Site) -> int:
    """The microseconds of a length of time."""
    if isinstance(length, str | timedelta):
        try:
            return microseconds_of(length)
        except Exception as error:
            raise RuleError.of("duration", _first_line(error), span=place.method(), hint=_LENGTH) from None
    raise RuleError.of("duration", "this is not a length of time", span=place.method(), hint=_LENGTH)


_LENGTH = "write a number and a unit, '5 min', or a timedelta"


def _first_line(error: Exception) -> str:
    finding: Any = getattr(error, "diagnostics", [None])[0]
    return str(error) if finding is None else finding.message
