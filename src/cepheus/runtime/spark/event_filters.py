"""What rules ask of an event alone, wherever they look at one: what decides which events can matter to no rule.

Of an interval rule, an atom asks that its constants are equal and that its variables have values. A condition of WHERE
over the variables of one atom narrows that atom, too, where events that fail it make no difference. Under the
unrestricted policy that is every atom below the condition that has to match. A policy that chooses looks for partners
only among those that meet what stands directly around the operator; further down, an event that fails a condition may
still be chosen, and use up its partner, so there nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import assert_never

from cepheus.core.calculus import DEFAULT_CALCULUS, Calculus
from cepheus.core.schema import TIME_ATTRIBUTE, EventType
from cepheus.core.values import ValueType
from cepheus.rules.expressions import (
    Arithmetic,
    AttributeRef,
    Call,
    Comparison,
    Constant,
    Constraint,
    Expression,
    Negative,
    Parameter,
)
from cepheus.rules.functions import takes_undefined
from cepheus.rules.interval.model import (
    Absence,
    Aggregated,
    Anything,
    Atom,
    Choice,
    Combined,
    Either,
    Holds,
    IntervalPattern,
    IntervalRule,
    Lasting,
    ListPattern,
    TimePoint,
    Where,
)
from cepheus.rules.resolved import Choose, Compute, ResolvedRule
from cepheus.rules.rows.model import RowRule
from cepheus.rules.walk import transform, walk

_NUMBER = "number"
_FAMILIES = {ValueType.INT: _NUMBER, ValueType.FLOAT: _NUMBER, ValueType.STRING: "text", ValueType.BOOL: "truth"}
"""Values of different families are never equal, while Spark would convert one to the other."""


@dataclass(frozen=True, slots=True)
class EventFilter:
    """What rules ask of the events of a type at one place; ``own`` is the event's name in the constraints.

    ``value`` is what an aggregate takes of the event; an event without it does not count. Where numbers are uncertain,
    an event that meets the constraints with a probability below ``least`` does not matter; if that is None, every
    event may. Rules that take values as they were ``observed`` do not ask for errors.
    """

    type: str
    own: str | None
    constraints: tuple[Constraint, ...]
    value: Expression | None = None
    least: float | None = 0.0
    observed: bool = False

    @property
    def needed(self) -> frozenset[str]:
        """The attributes that an event must have to match here."""
        nodes = (*self.constraints, *([] if self.value is None else [self.value]))
        return frozenset().union(*(_needed_to_hold(node, self.own) for node in nodes))


def event_filters(rules: Iterable[ResolvedRule], calculus: Calculus = DEFAULT_CALCULUS) -> list[EventFilter]:
    """What rules ask of an event at every place at which they look at one.

    What is chosen with too little probability makes nothing; what is counted or must not be there matters as long as
    it is possible at all, and by the formula of the paper for negations even then.
    """
    found = []
    for rule in rules:
        least = enough_probability(rule.min_probability, calculus.draws)
        found.append(EventFilter(rule.terminator.type, rule.terminator.name, rule.terminator.constraints, least=least))
        for step in rule.steps:
            if isinstance(step, Choose):
                # what is hardly possible takes the place of the last one now and then
                single = not step.policy.takes_all and calculus.choice == "possible-worlds"
                own = 0.0 if single else least
                found.append(EventFilter(step.type, step.name, step.constraints, least=own))
            elif isinstance(step, Compute):
                found.append(EventFilter(step.type, None, step.constraints, step.value))
        found += [EventFilter(gather.type, None, gather.constraints) for gather in rule.gathers]
        possible = 0.0 if calculus.negation == "independent" else None
        found += [EventFilter(absent.type, None, absent.constraints, least=possible) for absent in rule.absences]
    return found


def _needed_to_hold(node: Constraint, own: str | None) -> frozenset[str]:
    """The attributes of the event itself without which a condition cannot be true: of a chain, those of every link."""
    if isinstance(node, Comparison):
        return frozenset().union(*(_needed(operand, own) for operand in node.operands))
    return _needed(node, own)


def _needed(node: Constraint, own: str | None) -> frozenset[str]:
    """The attributes of the event itself without which an expression is undefined.

    A chain is false, not undefined, as soon as one of its links is: it needs only what all of them need.
    """
    match node:
        case AttributeRef(event=event, name=name):
            return frozenset((name,) if event == own and name != TIME_ATTRIBUTE else ())
        case Call(function="in", arguments=(value, *_)):
            return _needed(value, own)
        case Call(function=function) if takes_undefined(function):
            return frozenset()
        case Comparison(links=links):
            return frozenset.intersection(*(_needed(left, own) | _needed(right, own) for left, _, right in links))
        case Call(arguments=operands):
            return frozenset().union(*(_needed(operand, own) for operand in operands))
        case Arithmetic(left=left, right=right):
            return _needed(left, own) | _needed(right, own)
        case Negative(operand=operand):
            return _needed(operand, own)
        case _:
            return frozenset()


def _always_needed(filters: Sequence[EventFilter]) -> dict[str, frozenset[str]]:
    """For each event type, the attributes without which an event of it matters to no rule."""
    found: dict[str, frozenset[str]] = {}
    for asked in filters:
        found[asked.type] = found.get(asked.type, asked.needed) & asked.needed
    return found


def settled_inputs(
    inputs: Sequence[EventType], declared: Iterable[str], filters: Sequence[EventFilter]
) -> list[EventType]:
    """The types of events as engines meet them: what is left after Spark's conditions lacks less.

    An attribute that every filter needs is never undefined, as events without it are left out. That of a declared type
    is as it is declared.
    """
    needed = _always_needed(filters)
    told = set(declared)
    return [
        event_type
        if event_type.name in told
        else replace(
            event_type,
            attributes=tuple(
                replace(a, optional=False) if a.name in needed[event_type.name] else a for a in event_type.attributes
            ),
        )
        for event_type in inputs
    ]


def enough_probability(least: float, draws: int) -> float:
    """The probability below which an event may be left out, if what it takes part in needs the ``least``.

    Where there is no closed form the engine estimates probabilities by so many draws, and may be off by four standard
    errors.

    >>> enough_probability(0.5, 10_000), enough_probability(0.01, 10_000)
    (0.48, 0.0)
    """
    return max(least - 2 / sqrt(draws), 0.0)


def interval_filters(rules: Sequence[IntervalRule], types: Mapping[str, EventType]) -> list[EventFilter]:
    """What interval rules ask of an event at every place at which they look at one."""
    found = []
    for rule in rules:
        free = rule.policy is None or rule.policy.choice is Choice.UNRESTRICTED
        for atom, conditions in _atoms(rule.pattern, (), free):
            found.append(_filter_of(atom, conditions, types[atom.type]))
        aggregated = (node for node in walk(rule.pattern) if isinstance(node, Aggregated))
        found += [_filter_of(node.atom, (), types[node.atom.type]) for node in aggregated]
    return found


def row_filters(rules: Sequence[RowRule]) -> list[EventFilter]:
    """What queries ask of a row: nothing, as any row may part two others."""
    return [EventFilter(rule.query.source, None, (), observed=True) for rule in rules]


Conditions = tuple[Constraint, ...]


def _atoms(pattern: IntervalPattern, around: Conditions, free: bool) -> Iterator[tuple[Atom, Conditions]]:
    """Yield the atoms of a pattern, each with the conditions that stand around it and that its event has to meet."""
    match pattern:
        case Atom():
            yield pattern, around
        case TimePoint():
            return
        case Lasting(pattern=inner):
            yield from _atoms(inner, around, free)
        case Where(pattern=inner, conditions=conditions):
            mine = tuple(each.constraint for each in conditions if isinstance(each, Holds))
            yield from _atoms(inner, (*around, *mine), free)
        case Either(left=left, right=right) | Combined(left=left, right=right):
            for operand in (left, right):
                yield from _atoms(operand, around if free or isinstance(operand, Atom) else (), free)
        case Absence(negated=negated, first=first, second=second):
            for operand in (first, second):
                yield from _atoms(operand, around if free or isinstance(operand, Atom) else (), free)
            yield from _atoms(negated, (), free)
        case _:
            assert_never(pattern)


def _filter_of(atom: Atom, conditions: Conditions, event_type: EventType) -> EventFilter:
    constraints: list[Constraint] = []
    own: dict[str, AttributeRef] = {}
    kinds = {attribute.name: _FAMILIES.get(attribute.type) for attribute in event_type.attributes if attribute.type}
    for argument, attribute in zip(atom.arguments, event_type.attributes, strict=True):
        ref = AttributeRef(None, attribute.name)
        match argument:
            case ListPattern():
                constraints.append(Comparison((ref, ref), ("=",)))  # it has a value
            case Parameter(name=name):
                own.setdefault(name, ref)
                constraints.append(Comparison((ref, ref), ("=",)))  # it has a value
            case Constant():
                equal = Comparison((ref, argument), ("=",))
                constraints.append(equal if _is_plain(equal, kinds) else Comparison((ref, ref), ("=",)))
            case Anything():
                pass
    for condition in conditions:
        variables = {node.name for node in walk(condition) if isinstance(node, Parameter)}
        if variables and variables <= own.keys():
            narrowed = transform(condition, lambda node: own[node.name] if isinstance(node, Parameter) else node)
            constraints += [narrowed] if _is_plain(narrowed, kinds) else []
    return EventFilter(atom.type, None, tuple(constraints), observed=True)


def _is_plain(constraint: Constraint, kinds: Mapping[str, str | None]) -> bool:
    """Whether a comparison is between values of one family, so that it means the same to Spark."""
    if not isinstance(constraint, Comparison):
        return False
    found: set[str | None] = set()
    for node in walk(constraint):
        match node:
            case AttributeRef(name=name):
                found.add(kinds.get(name))
            case Constant(type=kind):
                found.add(_FAMILIES.get(kind))
            case _:
                pass
    return len(found) == 1 and None not in found
