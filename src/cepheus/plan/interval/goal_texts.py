"""What is under way: the goals that wait, in the words of the rules that they are goals of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cepheus.core.event import EventId
from cepheus.core.lists import list_text
from cepheus.core.values import Value
from cepheus.language.etalis.print import format_pattern
from cepheus.rules.interval.model import (
    Absence,
    Atom,
    Combined,
    Either,
    IntervalPattern,
    IntervalRule,
    Lasting,
    TimePoint,
    Where,
)


@dataclass(frozen=True, slots=True)
class Goal:
    """A part of a pattern that has happened and waits for the rest.

    ``happened`` is that part and ``missing`` what it waits for next, as the rule writes them; ``absent`` is what must
    not happen meanwhile. ``start`` and ``end`` (microseconds) are its interval, ``values`` those of its variables,
    ``parts`` the ids of its events. ``fraction`` is how much of the rule's pattern is there, counted in events.
    """

    rule: str
    type: str
    happened: str
    missing: str
    absent: str | None
    start: int
    end: int
    values: Mapping[str, Value]
    parts: tuple[EventId, ...]
    fraction: float

    def __str__(self) -> str:
        values = ", ".join(f"{name} = {_shown(value)}" for name, value in self.values.items())
        waits = f"waits for {self.missing}" + (f" without {self.absent}" if self.absent else "")
        return f"{self.type}: {self.happened}{f' with {values}' if values else ''} {waits} ({self.fraction:.0%})"


def _shown(value: Value) -> str:
    return list_text(value) if isinstance(value, tuple) else repr(value)


@dataclass(frozen=True, slots=True)
class Seat:
    """A place where goals wait, in words: the part of a pattern that they are, and its partner."""

    happened: str
    missing: str
    absent: str | None
    names: tuple[str, ...]
    events: int


def seat_of(operator: Combined | Absence, operand: int, names: tuple[str, ...]) -> Seat:
    """Describe where an operand of an operator waits."""
    if isinstance(operator, Absence):
        mine, other, absent = operator.first, operator.second, format_pattern(operator.negated)
    else:
        mine, other = (operator.left, operator.right) if operand == 0 else (operator.right, operator.left)
        absent = None
    return Seat(format_pattern(mine), format_pattern(other), absent, names, events_of(mine))


def events_of(pattern: IntervalPattern) -> int:
    """The number of events that a match of a pattern has: the most, where alternatives differ."""
    match pattern:
        case Atom():
            return 1
        case TimePoint():
            return 0
        case Lasting(pattern=inner) | Where(pattern=inner):
            return events_of(inner)
        case Combined(left=left, right=right) | Absence(first=left, second=right):
            return events_of(left) + events_of(right)
        case Either(left=left, right=right):
            return max(events_of(left), events_of(right))


def fraction_of(seat: Seat, rule: IntervalRule) -> float:
    """The share of a rule's pattern that is there at a place where goals wait."""
    return seat.events / max(1, events_of(rule.pattern))
