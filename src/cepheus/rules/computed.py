"""Parameters that stand for computed values: ``$kmh = distance(..) / $hours`` among the parts of a pattern.

Before::

    Login(user=$u) and last Login(user=$u) as Before within 1 day from Login and
    $gap = Login.time - Before.time and 1 min < $gap < 1 h

After: ``$gap`` is gone, and what it stands for is in its place: ``1 min < Login.time - Before.time < 1 h``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeVar

from cepheus.rules.expressions import (
    Aggregate,
    AttributeRef,
    Comparison,
    EventPattern,
    Expression,
    Parameter,
    scope_events,
)
from cepheus.rules.model import Aggregation, Assignment, Collection, FreeCondition, PatternItem, Rule, Selection
from cepheus.rules.resolve import bindings
from cepheus.rules.timers import NOW
from cepheus.rules.walk import transform, walk

N = TypeVar("N", bound=PatternItem | Assignment | Expression | EventPattern)


def computed(rule: Rule) -> tuple[Rule, tuple[Parameter, ...]]:
    """Write out what computed parameters stand for, and tell which of them are never used.

    The first condition ``$p = expression`` says what ``$p`` is, if nothing before it has bound ``$p`` and all that the
    expression names stands before it. It may be part of a chain, ``900 < $p = expression``, which is a condition then.
    Aggregates of the expression get names of their own, so that they are computed once.
    """
    if not any(_defines(item) is not None for item in rule.pattern.items):
        return rule, ()
    writing = _Writing(rule)
    items = tuple(found for item in rule.pattern.items for found in writing.item(item))
    if not writing.meanings:
        return rule, ()
    items = tuple(map(writing.written, items))  # what stands before a definition may use it, too
    assignments = tuple(map(writing.written, rule.assignments))
    unused = tuple(each for each in writing.idle.values() if each.name not in writing.used)
    terminator = writing.written(rule.pattern.terminator)
    pattern = replace(rule.pattern, terminator=terminator, items=items)
    return replace(rule, pattern=pattern, assignments=assignments), unused


def _defines(item: PatternItem) -> int | None:
    """Where a condition has ``$p =`` and a value behind it."""
    if not isinstance(item, FreeCondition) or not isinstance(item.constraint, Comparison):
        return None
    for place, (left, operator, _) in enumerate(item.constraint.links):
        if operator == "=" and isinstance(left, Parameter):
            return place
    return None


@dataclass
class _Writing:
    """What is known at a place of a rule, from its beginning on."""

    rule: Rule
    meanings: dict[str, Expression] = field(default_factory=dict)
    idle: dict[str, Parameter] = field(default_factory=dict)
    """Those that are only defined, in no chain that compares them."""
    used: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        terminator = self.rule.pattern.terminator
        self._events = {terminator.name, NOW}
        self._bound = set(bindings(replace(self.rule.pattern, items=())))
        self._taken = {node.name for node in walk(self.rule) if isinstance(node, Parameter)}

    def item(self, item: PatternItem) -> list[PatternItem]:
        """A part as it is without computed parameters; what follows it may name what it introduces."""
        place = _defines(item)
        if place is not None:
            assert isinstance(item, FreeCondition)
            assert isinstance(item.constraint, Comparison)
            parameter, value = item.constraint.operands[place : place + 2]
            assert isinstance(parameter, Parameter)
            if parameter.name not in self._bound | self.meanings.keys() and self._knows(value):
                return self._defined(parameter, item, item.constraint, place)
        match item:
            case Selection(event=event):
                self._events.add(event.name)
                self._bound |= set(bindings(replace(self.rule.pattern, items=(item,))))
            case Collection(event=event):
                self._events.add(event.name)
            case Aggregation(parameter=str(name)):
                self._bound.add(name)
            case _:
                pass
        return [self.written(item)]

    def _knows(self, value: Expression) -> bool:
        """Whether all that an expression names has been introduced, by its name."""
        inner = {id(node) for aggregate in walk(value) if isinstance(aggregate, Aggregate) for node in walk(aggregate)}
        for node in walk(value):
            match node:
                case Parameter(name=name):
                    known = name in self._bound or name in self.meanings
                case AttributeRef(event=None):
                    known = id(node) in inner
                case AttributeRef(event=str(event)):
                    known = event in self._events or id(node) in inner
                case Aggregate(scope=scope):
                    known = self._events.issuperset(scope_events(scope))
                case _:
                    continue
            if not known:
                return False
        return True

    def _defined(self, parameter: Parameter, item: FreeCondition, chain: Comparison, place: int) -> list[PatternItem]:
        name, parts = parameter.name, list[PatternItem]()
        numbers = (f"{name}_{number}" for number in count(1))

        def lifted(node: object) -> object:
            if not isinstance(node, Aggregate):
                return node
            own = next(each for each in numbers if each not in self._taken)
            parts.append(Aggregation(node, own, span=node.span))
            self._bound.add(own)
            return Parameter(own, node.span)

        self.meanings[name] = transform(self.written(chain.operands[place + 1]), lifted)
        operands = (*chain.operands[:place], *chain.operands[place + 1 :])
        if len(operands) > 1:
            operands = tuple(self.meanings[name] if n == place else each for n, each in enumerate(operands))
            operators = (*chain.operators[:place], *chain.operators[place + 1 :])
            left = self.written(Comparison(operands, operators, chain.span))
            parts.append(replace(item, constraint=left))
        else:
            self.idle[name] = parameter
        return parts

    def written(self, node: N) -> N:
        """A node with what parameters stand for in their places."""
        if not self.meanings:
            return node

        def change(child: object) -> object:
            if not isinstance(child, Parameter) or child.name not in self.meanings:
                return child
            self.used.add(child.name)
            return self.meanings[child.name]

        found: N = transform(node, change)
        return found
