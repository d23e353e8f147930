"""From a rule to its parts in words: what the tree prints and the drawings draw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import assert_never

from cepheus.core.time import MAX_TIME, format_duration
from cepheus.language.tesla.print import bounds_text, format_condition, format_expression
from cepheus.rules.expressions import (
    Aggregate,
    AttributeRef,
    Comparison,
    Constraint,
    EventPattern,
    Expression,
    Parameter,
    Scope,
    Within,
    scope_events,
)
from cepheus.rules.model import Aggregation, Collection, FreeCondition, Negation, PatternItem, Rule, Selection
from cepheus.rules.resolve import bindings, resolve
from cepheus.rules.resolved import reach
from cepheus.rules.timers import NOW, After, Every
from cepheus.rules.walk import transform, walk


def constraint_text(constraint: Constraint, names: Mapping[Expression, str] | None = None) -> str:
    """Write a constraint; expressions that have a name of their own are written by that name.

    >>> from cepheus.core.values import ValueType
    >>> from cepheus.rules.expressions import AttributeRef, Constant
    >>> constraint_text(Comparison((AttributeRef(None, "value"), Constant(45, ValueType.INT)), (">",)))
    'value > 45'
    """
    names = names or {}
    if not isinstance(constraint, Comparison):
        return names.get(constraint) or format_condition(constraint)
    words = [names.get(constraint.operands[0]) or format_expression(constraint.operands[0])]
    for symbol, operand in zip(constraint.operators, constraint.operands[1:], strict=True):
        words += [symbol, names.get(operand) or format_expression(operand)]
    return " ".join(words)


EventItem = Selection | Negation | Aggregation | Collection
"""An item of a pattern that is about events of its own."""


def condition_text(condition: Constraint, names: Mapping[Aggregate, str] | None = None) -> str:
    """Write a condition among the parts of a pattern; aggregates in it are called by their names."""
    named: Mapping[Aggregate, str] = names or {}

    def change(node: object) -> object:
        return Parameter(named[node]) if isinstance(node, Aggregate) and node in named else node

    return constraint_text(transform(condition, change))


def _letter(place: int, among: Sequence[object]) -> str:
    """What tells the aggregates of one condition apart, if there are several."""
    return "" if len(among) == 1 else chr(ord("a") + place) if place < 26 else f"_{place}"


class Role(Enum):
    """What a part does in the rule."""

    MOMENT = "moment"
    TERMINATOR = "terminator"
    SELECTED = "selected"
    NEGATED = "negated"
    AGGREGATED = "aggregated"
    COLLECTED = "collected"


_SELECTED = (Role.MOMENT, Role.TERMINATOR, Role.SELECTED)


@dataclass(frozen=True, slots=True)
class Link:
    """A constraint that relates a part to others: its text, its parameters, the parts it needs besides its own.

    ``decided_at`` is the last of these parts in text order: only there all that the constraint needs is known.
    """

    text: str
    parameters: tuple[str, ...]
    others: tuple[str, ...]
    decided_at: str


@dataclass(frozen=True, slots=True)
class Part:
    """One event of the pattern: its name in the rule, its role, and all that is required of it.

    A moment at which a rule is evaluated is a part, too; its ``type`` says when it comes: ``every 10 min``,
    ``5 min after A``. The event that it comes after lies its time before it.
    ``policy`` is the words in front of it (``each``, ``3 last``, ``not``, ``Avg of value``). ``binds`` pairs each
    parameter that is bound here with the attribute that gives its value. ``condition`` is the comparison around an
    aggregate; ``purpose`` is the attribute of the composite event that an aggregate in ``where`` is computed for.
    ``groups`` are the attributes for each value of which there is a choice of its own, ``ranked`` is the value by which
    the greatest are taken.
    """

    name: str
    type: str
    role: Role
    policy: str
    scope: Scope | None
    content: tuple[str, ...]
    links: tuple[Link, ...]
    binds: tuple[tuple[str, str], ...]
    condition: str | None = None
    consumed: bool = False
    purpose: str | None = None
    groups: tuple[str, ...] = ()
    ranked: str | None = None

    @property
    def references(self) -> tuple[str, ...]:
        """The events this part hangs from; none for what decides the rule."""
        return () if self.scope is None else scope_events(self.scope)

    @property
    def per(self) -> str:
        """What it is ranked by and chosen for each value of, in words behind its name."""
        by = f" by {self.ranked}" if self.ranked is not None else ""
        return by + (f" per {', '.join(self.groups)}" if self.groups else "")


@dataclass(frozen=True, slots=True)
class Use:
    """A parameter: where its value comes from and where it is used."""

    parameter: str
    source: str
    used: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RuleParts:
    """A rule taken apart: the parts in text order, what decides the rule first.

    ``requirements`` are the conditions that stand among the parts. ``reach`` is the longest time, in microseconds,
    between a terminator, or a moment, and an event that the rule looks at for it.
    """

    name: str
    composite: str
    parts: tuple[Part, ...]
    parameters: tuple[Use, ...]
    assignments: tuple[tuple[str, str], ...]
    consuming: tuple[str, ...]
    min_probability: float | None
    reach: int
    requirements: tuple[str, ...] = ()

    @property
    def terminator(self) -> Part:
        """What decides the rule: an event or, with a timer, a moment."""
        return self.parts[0]

    @property
    def is_timed(self) -> bool:
        """Whether moments decide the rule."""
        return self.terminator.role is Role.MOMENT

    @property
    def look(self) -> str:
        """How far the rule looks, in words.

        >>> from cepheus.language.tesla import parse
        >>> from cepheus.rules.check.check import name_rules
        >>> (rule,) = name_rules(parse("define L() from 5 min after A() and not B() between A and now")).rules
        >>> rule_parts(rule).look
        'looks back at most 5 min from each moment'
        """
        name = self.terminator.name
        if not self.reach:
            return f"looks at {'the moment' if self.is_timed else name} alone"
        if self.reach >= MAX_TIME:
            return f"looks back to the start from each {'moment' if self.is_timed else name}"
        return f"looks back at most {format_duration(self.reach)} from each {'moment' if self.is_timed else name}"

    @property
    def selected(self) -> tuple[Part, ...]:
        """What decides the rule and the chosen events: what a composite event is made of."""
        return tuple(part for part in self.parts if part.role in _SELECTED)

    @property
    def conditions(self) -> tuple[Part, ...]:
        """The negated and aggregated events, looked at but not part of what is made, and the collections."""
        return tuple(part for part in self.parts if part.role not in _SELECTED)

    def part(self, name: str) -> Part:
        """The part of that name."""
        return next(part for part in self.parts if part.name == name)


def rule_parts(rule: Rule) -> RuleParts:
    """Take apart a rule that has passed the checks and has a name."""
    assert rule.name is not None
    builder = _Builder(rule)
    items = [builder.item(item, index) for item, index in builder.items]
    requirements = tuple(builder.requirements())
    computed = [part for _, found in requirements for part in found]
    events = (builder.terminator(), *items, *computed, *builder.computed_for_where())
    return RuleParts(
        name=rule.name,
        composite=str(rule.composite),
        parts=(*builder.moment(), *events),
        requirements=tuple(text for text, _ in requirements),
        parameters=tuple(builder.uses(events)),
        assignments=tuple(
            (assignment.attribute, format_expression(assignment.value)) for assignment in rule.assignments
        ),
        consuming=rule.consuming,
        min_probability=rule.min_probability,
        reach=reach(resolve(rule)),
    )


class _Builder:
    """Makes the parts of one rule; knows who binds what and in which order events are introduced."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.binders = bindings(rule.pattern)
        self.items = [
            (item, index) for index, item in enumerate(rule.pattern.items, 1) if not isinstance(item, FreeCondition)
        ]
        self._order = [NOW, rule.pattern.terminator.name, *(part_name(item, index) for item, index in self.items)]

    def moment(self) -> Iterator[Part]:
        """The moment that the terminator sets."""
        pattern = self.rule.pattern
        if isinstance(pattern.timer, After):
            moment = EventPattern(f"{pattern.timer} {pattern.terminator.name}", (), NOW)
            yield self._part(moment, NOW, Role.MOMENT)

    def terminator(self) -> Part:
        event, timer = self.rule.pattern.terminator, self.rule.pattern.timer
        match timer:
            case None:
                return self._part(event, event.name, Role.TERMINATOR)
            case After(duration=duration):
                return self._part(event, event.name, Role.TERMINATOR, scope=Within(duration, NOW))
            case Every():
                return replace(self._part(event, event.name, Role.MOMENT), type=str(timer))
            case _:
                assert_never(timer)

    def item(self, item: EventItem, index: int) -> Part:
        name = part_name(item, index)
        match item:
            case Selection(event=event, policy=policy, count=count, window=window, per=per, ranking=ranking):
                words = policy.value if count is None else f"{count} {policy.value}"
                words = words if ranking is None else f"{ranking.count} top"
                groups = tuple(attribute.name for attribute in per)
                by = None if ranking is None else format_expression(ranking.by)
                return replace(
                    self._part(event, name, Role.SELECTED, policy=words, scope=window), groups=groups, ranked=by
                )
            case Collection(event=event, scope=scope):
                words = f"all {bounds_text(item)}".strip()
                return self._part(event, name, Role.COLLECTED, policy=words, scope=scope)
            case Negation(event=event, scope=scope):
                return self._part(event, name, Role.NEGATED, policy="not", scope=scope)
            case Aggregation(aggregate=aggregate, comparison=comparison):
                condition = None if comparison is None else constraint_text(comparison, {aggregate: name})
                return self._aggregated(aggregate, name, condition)
            case _:
                assert_never(item)

    def requirements(self) -> Iterator[tuple[str, list[Part]]]:
        """Each condition among the parts, and the aggregates that are computed for it."""
        for index, item in enumerate(self.rule.pattern.items, 1):
            if isinstance(item, FreeCondition):
                found = list(dict.fromkeys(node for node in walk(item.constraint) if isinstance(node, Aggregate)))
                names = {node: f"{node.function}{index}{_letter(place, found)}" for place, node in enumerate(found)}
                self._order += [f"${name}" for name in names.values()]
                text = condition_text(item.constraint, names)
                yield text, [self._aggregated(node, f"${name}", None) for node, name in names.items()]

    def computed_for_where(self) -> Iterator[Part]:
        """The aggregates that assignments compute."""
        for assignment in self.rule.assignments:
            found = [node for node in walk(assignment.value) if isinstance(node, Aggregate)]
            for number, aggregate in enumerate(found, 1):
                name = f"{aggregate.function} for {assignment.attribute} #{number}"
                self._order.append(name)
                yield replace(self._aggregated(aggregate, name, None), purpose=assignment.attribute)

    def uses(self, parts: tuple[Part, ...]) -> Iterator[Use]:
        """Say of each parameter what binds it and what it is used for."""
        items = (self.rule.pattern.terminator, *(item for item, _ in self.items))
        free = [item for item in self.rule.pattern.items if isinstance(item, FreeCondition)]
        for name, binder in self.binders.items():
            used = [shown(part) for part, item in zip(parts, items, strict=False) if name in self._mentioned(item)]
            source = None if binder is None else f"{binder.event}.{binder.name}"
            if source is None:
                computed = next(part for part in parts if part.name == f"${name}")
                source = shown(computed)
                used += [computed.condition] if computed.condition is not None else []
            used += [condition_text(item.constraint) for item in free if name in self._mentioned(item)]
            for assignment in self.rule.assignments:
                if any(isinstance(node, Parameter) and node.name == name for node in walk(assignment.value)):
                    used.append(f"where {assignment.attribute}")
            yield Use(f"${name}", source, tuple(used))

    def _mentioned(self, item: EventPattern | PatternItem) -> set[str]:
        """The parameters that an item uses; the constraint that binds a parameter does not use it."""
        nodes: list[object] = [item]
        if isinstance(item, EventPattern | Selection):
            event = item if isinstance(item, EventPattern) else item.event
            nodes = [each for each in event.constraints if self._binding(each, event.name) is None]
        return {child.name for node in nodes for child in walk(node) if isinstance(child, Parameter)}

    def _aggregated(self, aggregate: Aggregate, name: str, condition: str | None) -> Part:
        words = aggregate.function
        if aggregate.value is not None:
            words += f" of {format_expression(aggregate.value)}"
        return self._part(
            aggregate.event, name, Role.AGGREGATED, policy=words, scope=aggregate.scope, condition=condition
        )

    def _part(
        self,
        event: EventPattern,
        name: str,
        role: Role,
        *,
        policy: str = "",
        scope: Scope | None = None,
        condition: str | None = None,
    ) -> Part:
        content: list[str] = []
        links: list[Link] = []
        binds: list[tuple[str, str]] = []
        own = event.name if role in (Role.TERMINATOR, Role.SELECTED) else event.alias
        for constraint in event.constraints:
            bound = self._binding(constraint, own) if role in (Role.TERMINATOR, Role.SELECTED) else None
            if bound is not None:
                binds.append(bound)
            elif others := self._others(constraint, own):
                links.append(self._link(constraint, name, others))
            else:
                content.append(constraint_text(constraint))
        if role is Role.AGGREGATED and name.startswith("$"):
            binds.append((name, policy))
        return Part(
            name,
            event.type,
            role,
            policy,
            scope,
            tuple(content),
            tuple(links),
            tuple(binds),
            condition,
            role in (Role.SELECTED, Role.COLLECTED) and name in self.rule.consuming,
        )

    def _binding(self, constraint: Constraint, own: str | None) -> tuple[str, str] | None:
        """Whether this constraint is the one that gives a parameter its value."""
        match constraint:
            case Comparison(operands=(AttributeRef() as attribute, Parameter(name=name)), operators=("=",)):
                pass
            case Comparison(operands=(Parameter(name=name), AttributeRef() as attribute), operators=("=",)):
                pass
            case _:
                return None
        binder = self.binders.get(name)
        owned = binder is not None and binder.event == own and binder.name == attribute.name
        return (f"${name}", attribute.name) if owned and attribute.event in (None, own) else None

    def _others(self, constraint: Constraint, own: str | None) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for node in walk(constraint):
            if isinstance(node, AttributeRef) and node.event is not None and node.event != own:
                found[node.event] = None
            elif isinstance(node, Parameter):
                binder = self.binders.get(node.name)
                found[f"${node.name}" if binder is None else str(binder.event)] = None
        return tuple(name for name in found if name != own)

    def _link(self, constraint: Constraint, name: str, others: tuple[str, ...]) -> Link:
        parameters = dict.fromkeys(f"${node.name}" for node in walk(constraint) if isinstance(node, Parameter))
        decided_at = max((name, *others), key=self._order.index)
        return Link(constraint_text(constraint), tuple(parameters), others, decided_at)


def part_name(item: EventItem, index: int) -> str:
    """Name an item of a pattern: events by alias or type, aggregates by parameter, what has no name by position."""
    match item:
        case Selection(event=event) | Collection(event=event):
            return event.name
        case Aggregation(parameter=str(parameter)):
            return f"${parameter}"
        case Aggregation(aggregate=aggregate):
            return f"{aggregate.function} #{index}"
        case Negation():
            return f"not #{index}"
        case _:
            assert_never(item)


def shown(part: Part) -> str:
    """Name a part for a reader: ``Temp``, ``not Rain``, ``Avg of value over Temp``."""
    match part.role:
        case Role.MOMENT | Role.TERMINATOR | Role.SELECTED:
            return part.name
        case Role.NEGATED:
            return f"not {part.type}"
        case Role.COLLECTED:
            return f"all {part.name}"
        case Role.AGGREGATED:
            return f"{part.policy} over {part.type}"
        case _:
            assert_never(part.role)
