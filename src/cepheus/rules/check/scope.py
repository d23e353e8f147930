"""What each expression of a rule can see: the events by name, who binds the parameters, where expressions stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import assert_never

from cepheus.rules.expressions import (
    Aggregate,
    Arithmetic,
    AttributeRef,
    Call,
    Comparison,
    Constraint,
    EventPattern,
    Expression,
    Negative,
)
from cepheus.rules.model import Aggregation, Collection, FreeCondition, Negation, Rule, Selection
from cepheus.rules.resolve import bindings
from cepheus.rules.timers import MOMENT, NOW, After


class Role(Enum):
    """What an expression is for."""

    EVENT = "constraint of an event that takes part"
    MEMBER = "constraint of a negated or aggregated event"
    VALUE = "value of an aggregated event"
    COMPARISON = "comparison around an aggregate"
    CONDITION = "condition among the parts of the pattern"
    ASSIGNMENT = "assignment"
    RANKING = "value that events are ranked by"
    GROUP = "attribute by whose values events are grouped"


@dataclass(frozen=True, slots=True)
class Site:
    """One expression of a rule.

    ``own`` is the event whose attributes go without a name here. ``index`` counts the parts of the pattern, the
    terminator being 0: events introduced up to there may be named. ``nodes`` are the expression and all below it,
    parents first; what is inside an aggregate stands at sites of its own. ``depth`` is how far they are nested.
    """

    node: Constraint
    own: EventPattern | None
    role: Role
    index: int
    nodes: tuple[Constraint, ...]
    depth: int


@dataclass(frozen=True, slots=True)
class Introduced:
    """An event of the pattern and the index of the part that introduces it."""

    event: EventPattern
    index: int


@dataclass(slots=True)
class RuleScope:
    """A rule taken apart.

    ``events`` are those that take part, ``absent``, ``aggregated`` and ``collected`` the others, by name;
    ``aggregates`` are all aggregates that stand where they may, each with the index of its part, ``misplaced`` those
    that stand elsewhere.
    """

    rule: Rule
    events: dict[str, Introduced] = field(default_factory=dict)
    absent: dict[str, Introduced] = field(default_factory=dict)
    aggregated: dict[str, Introduced] = field(default_factory=dict)
    collected: dict[str, Introduced] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)
    aggregates: list[tuple[Aggregate, int]] = field(default_factory=list)
    misplaced: list[Aggregate] = field(default_factory=list)
    binders: dict[str, AttributeRef | None] = field(default_factory=dict)

    def type_of(self, ref: AttributeRef, own: EventPattern | None) -> str | None:
        """The type of the event whose attribute is meant, None if there is no such event."""
        if ref.event is None:
            return None if own is None else own.type
        if own is not None and ref.event == own.alias:
            return own.type
        introduced = self.events.get(ref.event)
        return None if introduced is None else introduced.event.type

    @property
    def moment(self) -> str | None:
        """What the rule calls the moment of its timer, None if it has none."""
        return None if self.rule.pattern.timer is None else NOW


def scope_of(rule: Rule) -> RuleScope:
    """Take a rule apart for the passes that check it."""
    scope = RuleScope(rule, binders=bindings(rule.pattern))
    if isinstance(rule.pattern.timer, After):
        scope.events[NOW] = Introduced(EventPattern(MOMENT, (), NOW), 0)
    _take_part(scope, rule.pattern.terminator, 0)
    for index, item in enumerate(rule.pattern.items, 1):
        match item:
            case Selection(event=event, per=per, ranking=ranking):
                _take_part(scope, event, index)
                if ranking is not None:
                    _site(scope, ranking.by, event, Role.RANKING, index)
                for attribute in per:
                    _site(scope, attribute, event, Role.GROUP, index)
            case Collection(event=event):
                scope.collected.setdefault(event.name, Introduced(event, index))
                _constraints(scope, event, Role.MEMBER, index)
            case Negation(event=event):
                scope.absent.setdefault(event.name, Introduced(event, index))
                _constraints(scope, event, Role.MEMBER, index)
            case Aggregation(aggregate=aggregate, comparison=comparison):
                _aggregate(scope, aggregate, index)
                if comparison is not None:
                    _site(scope, comparison, None, Role.COMPARISON, index, inside=aggregate)
            case FreeCondition(constraint=constraint):
                _site(scope, constraint, None, Role.CONDITION, index)
            case _:
                assert_never(item)
    last = len(rule.pattern.items) + 1
    for assignment in rule.assignments:
        _site(scope, assignment.value, None, Role.ASSIGNMENT, last)
    return scope


def _take_part(scope: RuleScope, event: EventPattern, index: int) -> None:
    scope.events.setdefault(event.name, Introduced(event, index))
    _constraints(scope, event, Role.EVENT, index)


def _constraints(scope: RuleScope, event: EventPattern, role: Role, index: int) -> None:
    for constraint in event.constraints:
        _site(scope, constraint, event, role, index)


def _aggregate(scope: RuleScope, aggregate: Aggregate, index: int) -> None:
    event = aggregate.event
    scope.aggregates.append((aggregate, index))
    if aggregate.of is None:  # members of a collection have been looked at there
        scope.aggregated.setdefault(event.name, Introduced(event, index))
        _constraints(scope, event, Role.MEMBER, index)
    if aggregate.value is not None:
        _site(scope, aggregate.value, event, Role.VALUE, index)


def _site(
    scope: RuleScope,
    node: Constraint,
    own: EventPattern | None,
    role: Role,
    index: int,
    *,
    inside: Aggregate | None = None,
) -> None:
    nodes, depth = _below(node)
    scope.sites.append(Site(node, own, role, index, nodes, depth))
    for aggregate in nodes:
        if isinstance(aggregate, Aggregate) and aggregate is not inside and aggregate != inside:
            if role in (Role.ASSIGNMENT, Role.CONDITION, Role.RANKING):
                _aggregate(scope, aggregate, index)
            else:
                scope.misplaced.append(aggregate)


def _below(node: Constraint) -> tuple[tuple[Constraint, ...], int]:
    """The node and those below it, parents first, and how deep they are nested; without recursion."""
    found: list[Constraint] = []
    deepest = 0
    stack: list[tuple[Constraint, int]] = [(node, 1)]
    while stack:
        current, depth = stack.pop()
        found.append(current)
        deepest = max(deepest, depth)
        stack.extend((child, depth + 1) for child in _parts(current))
    return tuple(found), deepest


def _parts(node: Constraint) -> Iterator[Expression]:
    """The operands of a node, the last one first."""
    match node:
        case Comparison(operands=operands) | Call(arguments=operands):
            return reversed(operands)
        case Arithmetic(left=left, right=right):
            return iter((right, left))
        case Negative(operand=operand):
            return iter((operand,))
        case _:
            return iter(())
