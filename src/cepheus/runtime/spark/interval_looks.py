"""What interval rules ask of an event alone, as constraints on its attributes: for Spark to leave out the others.

An atom asks that its constants are equal and that its variables have values. A condition of WHERE over the variables of
one atom narrows that atom, too, where events that fail it make no difference. Under the unrestricted policy that is
every atom below the condition that has to match. A policy that chooses looks for partners only among those that meet
what stands directly around the operator; further down, an event that fails a condition may still be chosen, and use
up its partner, so there nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from cepheus.core.schema import EventType
from cepheus.core.values import ValueType
from cepheus.rules.expressions import AttributeRef, Comparison, Constant, Constraint, Parameter
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
from cepheus.rules.walk import transform, walk
from cepheus.runtime.spark.pushdown import Look

_NUMBER = "number"
_FAMILIES = {ValueType.INT: _NUMBER, ValueType.FLOAT: _NUMBER, ValueType.STRING: "text", ValueType.BOOL: "truth"}
"""Values of different families are never equal, while Spark would convert one to the other."""


def interval_looks(rules: Sequence[IntervalRule], types: Mapping[str, EventType]) -> list[Look]:
    """Find all places at which interval rules look at events."""
    found = []
    for rule in rules:
        free = rule.policy is None or rule.policy.choice is Choice.UNRESTRICTED
        for atom, conditions in _atoms(rule.pattern, (), free):
            found.append(_look(atom, conditions, types[atom.type]))
        aggregated = (node for node in walk(rule.pattern) if isinstance(node, Aggregated))
        found += [_look(node.atom, (), types[node.atom.type]) for node in aggregated]
    return found


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


def _look(atom: Atom, conditions: Conditions, event_type: EventType) -> Look:
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
    return Look(atom.type, None, tuple(constraints), observed=True)


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
