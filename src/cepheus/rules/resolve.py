"""From a rule as written to the steps that decide it: who binds each parameter, what is checked where.

Before::

    Smoke(area=$a) and last Temp(area=$a and value>45) within 5 min from Smoke

After: the terminator Smoke; then choose the last Temp within 5 min from Smoke for which ``Temp.area = Smoke.area`` and
``Temp.value > 45``. Parameters are gone (those bound to aggregates remain, as names of computed values), every
attribute of a pattern event carries that event's name, and each constraint stands at the first step at which all it
needs is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from cepheus.core.schema import EventType
from cepheus.rules.expressions import (
    Aggregate,
    AttributeRef,
    Between,
    Comparison,
    Constraint,
    EventPattern,
    Expression,
    Parameter,
    Scope,
    Within,
)
from cepheus.rules.model import Aggregation, Assignment, Negation, Pattern, Rule, Selection
from cepheus.rules.policies import Policy
from cepheus.rules.timers import NOW, After, Timer
from cepheus.rules.walk import transform, walk


@dataclass(frozen=True, slots=True)
class Terminator:
    """The event that decides the rule: its name, type and the constraints it must satisfy alone.

    With a timer of the rule it decides at a moment after its time, or is itself a moment.
    """

    name: str
    type: str
    constraints: tuple[Constraint, ...]


@dataclass(frozen=True, slots=True)
class Choose:
    """Choose events of a window by policy; the constraints may name this event, earlier ones and computed values."""

    name: str
    type: str
    policy: Policy
    count: int | None
    window: Within
    constraints: tuple[Constraint, ...]


@dataclass(frozen=True, slots=True)
class Compute:
    """Compute an aggregate and know it by ``name``; in its own constraints and value, event None is the member."""

    name: str
    function: str
    type: str
    constraints: tuple[Constraint, ...]
    value: Expression | None
    scope: Scope


@dataclass(frozen=True, slots=True)
class Require:
    """Go on only if the constraint holds."""

    constraint: Constraint


Step = Choose | Compute | Require


@dataclass(frozen=True, slots=True)
class Absent:
    """No such event in the scope; in the constraints, event None is the event that must not be there."""

    type: str
    constraints: tuple[Constraint, ...]
    scope: Scope


@dataclass(frozen=True, slots=True)
class ResolvedRule:
    """A rule ready to be run: evaluate the steps in order, then the absences, then the assignments."""

    name: str
    composite: EventType
    terminator: Terminator
    steps: tuple[Step, ...]
    absences: tuple[Absent, ...]
    assignments: tuple[Assignment, ...]
    consuming: frozenset[str]
    min_probability: float
    timer: Timer | None = None

    @property
    def delay(self) -> int:
        """How many microseconds after its terminator the rule is evaluated; what it makes carries that time."""
        return self.timer.duration if isinstance(self.timer, After) else 0

    @property
    def positions(self) -> tuple[Terminator | Choose, ...]:
        """The events a composite event is made of: the terminator, then the chosen ones in text order."""
        return (self.terminator, *(step for step in self.steps if isinstance(step, Choose)))

    def called(self, aggregate: str) -> str:
        """What people call an aggregate: its parameter, or what it is if the rule does not give it one."""
        steps = {step.name: step for step in self.steps if isinstance(step, Compute)}
        return f"{steps[aggregate].function}({steps[aggregate].type})" if aggregate.startswith("#") else f"${aggregate}"


def resolve(rule: Rule) -> ResolvedRule:
    """Resolve a rule that has passed the checks and has a name."""
    assert rule.name is not None
    pattern, assignments = _name_aggregates(rule)
    binders = bindings(pattern)
    schedule = _Schedule(binders, {NOW} if pattern.timer is not None else set())
    schedule.terminator(pattern.terminator)
    absences = []
    for item in pattern.items:
        match item:
            case Selection():
                schedule.choose(item)
            case Aggregation():
                schedule.compute(item)
            case Negation(event=event, scope=scope):
                absences.append(Absent(event.type, _inner(event, binders), scope))
    assert not schedule.pending, "the checks refuse a rule whose parameters are never bound"
    return ResolvedRule(
        name=rule.name,
        composite=rule.composite,
        terminator=Terminator(pattern.terminator.name, pattern.terminator.type, tuple(schedule.at_terminator)),
        steps=tuple(schedule.steps),
        absences=tuple(absences),
        assignments=tuple(replace(a, value=_substitute(a.value, None, binders)) for a in assignments),
        consuming=frozenset(rule.consuming),
        min_probability=rule.min_probability or 0.0,
        timer=pattern.timer,
    )


def bindings(pattern: Pattern) -> dict[str, AttributeRef | None]:
    """What binds each parameter: the attribute of its first ``attribute = $p`` in text order, None an aggregate.

    Only events that take part can bind: the terminator and the selected ones, not the negated or aggregated.
    """
    found: dict[str, AttributeRef | None] = {}
    for item in (pattern.terminator, *pattern.items):
        match item:
            case EventPattern():
                _bind(item, found)
            case Selection(event=event):
                _bind(event, found)
            case Aggregation(parameter=str(parameter)):
                found.setdefault(parameter, None)
            case _:
                pass
    return found


def _bind(event: EventPattern, found: dict[str, AttributeRef | None]) -> None:
    for constraint in event.constraints:
        match constraint:
            case Comparison(operands=(AttributeRef() as attribute, Parameter(name=name)), operators=("=",)):
                pass
            case Comparison(operands=(Parameter(name=name), AttributeRef() as attribute), operators=("=",)):
                pass
            case _:
                continue
        if name not in found and attribute.event in (None, event.name):
            found[name] = replace(attribute, event=event.name)


def _name_aggregates(rule: Rule) -> tuple[Pattern, tuple[Assignment, ...]]:
    """Make every aggregate a parameter, moving those of ``where`` into the pattern."""
    items = list(rule.pattern.items)
    count = 0
    for index, item in enumerate(items):
        if isinstance(item, Aggregation) and item.parameter is None:
            items[index] = replace(item, parameter=f"#{count}")
            count += 1
    assignments = []
    for assignment in rule.assignments:

        def lift(node: object) -> object:
            nonlocal count
            if not isinstance(node, Aggregate):
                return node
            name = f"#{count}"
            count += 1
            items.append(Aggregation(node, name))
            return Parameter(name, node.span)

        assignments.append(replace(assignment, value=transform(assignment.value, lift)))
    return replace(rule.pattern, items=tuple(items)), tuple(assignments)


N = TypeVar("N", bound=Constraint)


def _substitute(node: N, own: str | None, binders: dict[str, AttributeRef | None]) -> N:
    """Replace parameters by the attributes they are bound to, and put ``own`` before attributes without an event."""

    def change(child: object) -> object:
        if isinstance(child, Parameter):
            return binders.get(child.name) or child
        if isinstance(child, AttributeRef) and child.event is None and own is not None:
            return replace(child, event=own)
        return child

    result: N = transform(node, change)
    return result


def _inner(event: EventPattern, binders: dict[str, AttributeRef | None]) -> tuple[Constraint, ...]:
    """Resolve the constraints of a negated or aggregated event."""
    return tuple(_inner_node(constraint, event, binders) for constraint in event.constraints)


def _inner_node(node: N, event: EventPattern, binders: dict[str, AttributeRef | None]) -> N:
    """Resolve what is said of a negated or aggregated event: its own attributes keep event None."""

    def unqualify(child: object) -> object:
        if isinstance(child, AttributeRef) and child.event is not None and child.event == event.alias:
            return replace(child, event=None)
        return child

    unqualified: N = transform(node, unqualify)
    return _substitute(unqualified, None, binders)


def needs(node: object) -> Iterator[str]:
    """What a resolved expression reads: names of events, and ``$name`` for computed values."""
    for child in walk(node):
        if isinstance(child, AttributeRef) and child.event is not None:
            yield child.event
        elif isinstance(child, Parameter):
            yield f"${child.name}"


def scope_events(scope: Scope) -> tuple[str, ...]:
    """The events that a scope hangs from."""
    match scope:
        case Within(reference=reference):
            return (reference,)
        case Between(first=first, second=second):
            return (first, second)


class _Schedule:
    """Places constraints and aggregates at the earliest step where all they need is known, in text order."""

    def __init__(self, binders: dict[str, AttributeRef | None], known: set[str]) -> None:
        self._binders = binders
        self._known = known
        self.at_terminator: list[Constraint] = []
        self.steps: list[Step] = []
        self.pending: list[tuple[frozenset[str], Constraint | Compute]] = []

    def terminator(self, event: EventPattern) -> None:
        """Start with the terminator."""
        self._defer(event)
        self._known.add(event.name)
        self.at_terminator = self._ready_constraints()

    def choose(self, item: Selection) -> None:
        """Add a selection with every constraint that becomes checkable with it."""
        event = item.event
        self._defer(event)
        self._known.add(event.name)
        constraints = tuple(self._ready_constraints())
        self.steps.append(Choose(event.name, event.type, item.policy, item.count, item.window, constraints))
        self._release()

    def compute(self, item: Aggregation) -> None:
        """Add an aggregate and the comparison around it."""
        aggregate, name = item.aggregate, item.parameter
        assert name is not None
        inner = _inner(aggregate.event, self._binders)
        value = aggregate.value
        if value is not None:
            value = _inner_node(value, aggregate.event, self._binders)
        step = Compute(name, aggregate.function, aggregate.event.type, inner, value, aggregate.scope)
        required = {*scope_events(aggregate.scope), *(need for node in (*inner, value) if node for need in needs(node))}
        self.pending.append((frozenset(required), step))
        if item.comparison is not None:
            self._pend(transform(item.comparison, lambda node: Parameter(name) if node == aggregate else node))
        self._release()

    def _defer(self, event: EventPattern) -> None:
        for constraint in event.constraints:
            self._pend(constraint, event.name)

    def _pend(self, constraint: Constraint, own: str | None = None) -> None:
        resolved = _substitute(constraint, own, self._binders)
        self.pending.append((frozenset(needs(resolved)), resolved))

    def _ready_constraints(self) -> list[Constraint]:
        ready = [node for required, node in self.pending if required <= self._known and not isinstance(node, Compute)]
        self.pending = [
            (required, node)
            for required, node in self.pending
            if isinstance(node, Compute) or not required <= self._known
        ]
        return ready

    def _release(self) -> None:
        """Emit the aggregates that can be computed now, then the constraints that waited for them."""
        for required, node in list(self.pending):
            if isinstance(node, Compute) and required <= self._known:
                self.pending.remove((required, node))
                self.steps.append(node)
                self._known.add(f"${node.name}")
                self.steps.extend(map(Require, self._ready_constraints()))
                self._release()
                return


def needed_aggregates(rule: ResolvedRule) -> tuple[str, ...]:
    """The aggregates without which the rule does not fire: all but those that only optional attributes read."""
    computed = [step.name for step in rule.steps if isinstance(step, Compute)]
    readers: list[object] = [step for step in rule.steps if isinstance(step, Require | Choose)]
    for assignment in rule.assignments:
        declared = rule.composite.attribute(assignment.attribute)
        if declared is not None and not declared.optional:
            readers.append(assignment.value)
    read = {node.name for reader in readers for node in walk(reader) if isinstance(node, Parameter)}
    return tuple(name for name in computed if name in read)
