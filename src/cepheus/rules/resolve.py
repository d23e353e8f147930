"""From a rule as written to the steps that decide it: who binds each parameter, what is checked where.

Before::

    Smoke(area=$a) and last Temp(area=$a and value>45) within 5 min from Smoke

After: the terminator Smoke; then choose the last Temp within 5 min from Smoke for which ``Temp.area = Smoke.area`` and
``Temp.value > 45``. Parameters are gone (those bound to aggregates remain, as names of computed values), every
attribute of a pattern event carries that event's name, and each constraint stands at the first step at which all it
needs is known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar, assert_never

from cepheus.core.errors import RuleError
from cepheus.core.values import ValueType
from cepheus.rules.expressions import (
    Aggregate,
    AttributeRef,
    Call,
    Comparison,
    Constant,
    Constraint,
    EventPattern,
    Parameter,
    joined_by,
    scope_events,
)
from cepheus.rules.functions import AND, OR
from cepheus.rules.model import (
    Aggregation,
    Assignment,
    Collection,
    FreeCondition,
    Negation,
    Pattern,
    PatternItem,
    Ranking,
    Rule,
    Selection,
)
from cepheus.rules.resolved import (
    Absent,
    Choose,
    Compute,
    Gather,
    Ranked,
    Require,
    ResolvedRule,
    Step,
    Terminator,
    needs,
)
from cepheus.rules.timers import NOW
from cepheus.rules.walk import transform, walk


def resolve(rule: Rule) -> ResolvedRule:
    """Resolve a rule that has passed the checks and has a name."""
    assert rule.name is not None
    pattern, assignments = _name_aggregates(rule)
    binders = bindings(pattern)
    gathers = tuple(
        Gather(item.event.name, item.event.type, _inner(item.event, binders), item.scope)
        for item in rule.pattern.items
        if isinstance(item, Collection)
    )
    schedule = _Schedule(binders, {NOW} if pattern.timer is not None else set())
    schedule.terminator(pattern.terminator)
    absences = []
    for item in _ranks_known(pattern.items):
        match item:
            case Selection():
                schedule.choose(item)
            case Aggregation():
                schedule.compute(item)
            case Collection():
                pass  # how many members it has is an aggregate, who they are is found when all else is settled
            case Negation(event=event, scope=scope):
                absences.append(Absent(event.type, _inner(event, binders), scope))
            case FreeCondition(constraint=constraint):
                schedule.require(constraint)
            case _:
                assert_never(item)
    assert not schedule.pending, "the checks refuse a rule whose parameters are never bound"
    computes = [step for step in schedule.steps if isinstance(step, Compute)]
    return ResolvedRule(
        name=rule.name,
        composite=rule.composite,
        terminator=Terminator(pattern.terminator.name, pattern.terminator.type, tuple(schedule.at_terminator)),
        steps=tuple(schedule.steps),
        absences=tuple(absences),
        assignments=tuple(replace(a, value=_substitute(a.value, None, binders)) for a in assignments),
        consuming=frozenset(rule.consuming),
        min_probability=rule.min_probability or 0.0,
        gathers=(*gathers, *(map(_counted_by, computes) if rule.full_provenance else ())),
        ordered=rule.ordered,
        timer=pattern.timer,
    )


def _ranks_known(items: tuple[PatternItem, ...]) -> list[PatternItem]:
    """Put aggregates that events are ranked by, and are written further on, before the choice of these events."""
    left = list(items)
    found: list[PatternItem] = []
    while left:
        item = left.pop(0)
        if isinstance(item, Selection) and item.ranking is not None:
            wanted, known = [item.ranking.by], set[str]()
            while wanted:
                for node in walk(wanted.pop()):
                    if isinstance(node, Parameter) and node.name not in known:
                        known.add(node.name)
                        late = [each for each in left if isinstance(each, Aggregation) and each.parameter == node.name]
                        left = [each for each in left if each not in late]
                        found += late
                        wanted += [each.aggregate for each in late]
        found.append(item)
    return found


def _counted_by(step: Compute) -> Gather:
    """Name the events that an aggregate counts."""
    value = None if step.even_undefined else step.value
    return Gather(step.name, step.type, step.constraints, step.scope, counted=True, value=value)


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
    """Make every aggregate a parameter, moving those of conditions and of ``where`` into the pattern.

    Of a collection the aggregate is left that counts its members.
    """
    count = 0
    items: list[PatternItem] = []

    def name() -> str:
        nonlocal count
        count += 1
        return f"#{count - 1}"

    def lift(node: object) -> object:
        if not isinstance(node, Aggregate):
            return node
        lifted = Aggregation(node, name())
        items.append(lifted)
        return Parameter(str(lifted.parameter), node.span)

    for item in rule.pattern.items:
        match item:
            case Aggregation(parameter=None):
                items.append(replace(item, parameter=name()))
            case FreeCondition(constraint=constraint):
                items.append(replace(item, constraint=transform(constraint, lift)))
            case Selection(ranking=Ranking(by=by) as ranking):
                ranked = replace(ranking, by=transform(by, lift))
                items.append(replace(item, ranking=ranked))
            case Collection():
                items.append(replace(_counting(item), parameter=name()))
            case _:
                items.append(item)
    assignments = tuple(replace(each, value=transform(each.value, lift)) for each in rule.assignments)
    return replace(rule.pattern, items=tuple(items)), assignments


def _counting(item: Collection) -> Aggregation:
    """The aggregate that says whether a collection has as many members as it must, and counts whom it passes over."""
    count = Aggregate("Count", item.event, None, item.scope)
    if item.least == 0 and item.most is None:
        return Aggregation(count)
    least = Constant(item.least, ValueType.INT)
    if item.most is None:
        return Aggregation(count, comparison=Comparison((least, count), ("<=",)))
    most = Constant(item.most, ValueType.INT)
    return Aggregation(count, comparison=Comparison((least, count, most), ("<=", "<=")))


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
    inner = (_inner_node(constraint, event, binders) for constraint in event.constraints)
    return tuple(part for constraint in inner for part in factored(constraint))


def _inner_node(node: N, event: EventPattern, binders: dict[str, AttributeRef | None]) -> N:
    """Resolve what is said of a negated or aggregated event: its own attributes keep event None."""

    def unqualify(child: object) -> object:
        if isinstance(child, AttributeRef) and child.event is not None and child.event == event.alias:
            return replace(child, event=None)
        return child

    unqualified: N = transform(node, unqualify)
    return _substitute(unqualified, None, binders)


def factored(condition: Constraint) -> tuple[Constraint, ...]:
    """Draw out what all sides of an ``or`` demand, so that it can be looked up by: a key that each of them names.

    >>> from cepheus.language.tesla import parse_event_pattern
    >>> from cepheus.language.tesla.print import format_condition
    >>> event = parse_event_pattern("A(k=1 and x=2 or k=1 and y=3)")
    >>> [format_condition(part) for part in factored(event.constraints[0])]
    ['k=1', 'x=2 or y=3']
    """
    sides = [joined_by(AND, side) for side in joined_by(OR, condition)]
    if len(sides) == 1:
        return sides[0]
    shared = tuple(part for part in dict.fromkeys(sides[0]) if all(part in side for side in sides))
    if not shared:
        return (condition,)
    rests = [tuple(part for part in side if part not in shared) for side in sides]
    if not all(rests):  # one side asks for no more
        return shared
    left = tuple(rest[0] if len(rest) == 1 else Call(AND, rest, condition.span) for rest in rests)
    return (*shared, Call(OR, left, condition.span))


@dataclass(frozen=True, slots=True)
class _Pending:
    """What waits for events and computed values; a free condition has no say in the choice of an event."""

    required: frozenset[str]
    node: Constraint | Compute
    free: bool = False


class _Schedule:
    """Places constraints and aggregates at the earliest step where all they need is known, in text order."""

    def __init__(self, binders: dict[str, AttributeRef | None], known: set[str]) -> None:
        self._binders = binders
        self._known = known
        self._terminator = ""
        self.at_terminator: list[Constraint] = []
        self.steps: list[Step] = []
        self.pending: list[_Pending] = []

    def terminator(self, event: EventPattern) -> None:
        """Start with the terminator."""
        self._defer(event)
        self._known.add(event.name)
        self._terminator = event.name
        self.at_terminator = self._ready_constraints()

    def choose(self, item: Selection) -> None:
        """Add a selection with every constraint that becomes checkable with it."""
        event = item.event
        self._defer(event)
        self._known.add(event.name)
        # Where all are taken, a condition may just as well be one on the event: that finds it by its values.
        takes_all = item.policy.takes_all and item.ranking is None
        constraints = tuple(self._ready_constraints(free=takes_all))
        per = tuple(replace(attribute, event=event.name) for attribute in item.per)
        step = Choose(event.name, event.type, item.policy, item.count, item.window, constraints, per)
        if item.ranking is None:
            self.steps.append(step)
        else:
            ranked = self._ranked(item.ranking, event.name)
            self.steps += [replace(step, ranked=ranked), *ranked.computes]
        self.steps.extend(map(Require, self._ready_constraints()))
        self._release()

    def _ranked(self, ranking: Ranking, own: str) -> Ranked:
        """Resolve what events are ranked by, with all that has to be computed for it."""
        by = _substitute(ranking.by, own, self._binders)
        computes: list[Compute] = []
        wanted = [need for need in needs(by) if need not in self._known]
        while wanted:
            name = wanted.pop()
            found = next((each for each in self.pending if f"${getattr(each.node, 'name', '')}" == name), None)
            if name in self._known:
                continue
            if found is None or not isinstance(found.node, Compute):
                message = f"what '{own}' is ranked by needs {name}, which is known only later"
                raise RuleError.of("ranking", message, span=ranking.by.span, hint="bind it before this place")
            missing = [need for need in found.required if need not in self._known]
            if missing and name in wanted:
                message = f"what '{own}' is ranked by needs {missing[0]}, which is known only later"
                raise RuleError.of("ranking", message, span=ranking.by.span, hint="bind it before this place")
            if missing:
                wanted = [*wanted, name, *missing]
                continue
            self.pending.remove(found)
            self._known.add(name)
            computes.append(found.node)
        return Ranked(ranking.count, by, tuple(computes))

    def require(self, condition: Constraint) -> None:
        """Add a free condition; what it joins by ``and`` is checked part by part."""
        for part in joined_by(AND, condition):
            self._pend(part, free=True)
        for ready in self._ready_constraints():
            if set(needs(ready)) <= {self._terminator}:
                self.at_terminator.append(ready)
            else:
                self._check_now(ready)

    def _check_now(self, condition: Constraint) -> None:
        """Add a condition behind all steps, or to that of an event of which all are taken: see ``choose``."""
        place = len(self.steps) - 1
        while place >= 0 and isinstance(self.steps[place], Require):
            place -= 1
        step = self.steps[place] if place >= 0 else None
        if isinstance(step, Choose) and step.policy.takes_all and step.ranked is None:
            self.steps[place] = replace(step, constraints=(*step.constraints, condition))
        else:
            self.steps.append(Require(condition))

    def compute(self, item: Aggregation) -> None:
        """Add an aggregate and the comparison around it."""
        aggregate, name = item.aggregate, item.parameter
        assert name is not None
        inner = _inner(aggregate.event, self._binders)
        value = aggregate.value
        if value is not None:
            value = _inner_node(value, aggregate.event, self._binders)
        step = Compute(
            name,
            aggregate.function,
            aggregate.event.type,
            inner,
            value,
            aggregate.scope,
            aggregate.argument,
            silent=aggregate.of is not None,
            even_undefined=aggregate.even_undefined,
        )
        required = {*scope_events(aggregate.scope), *(need for node in (*inner, value) if node for need in needs(node))}
        self.pending.append(_Pending(frozenset(required), step))
        if item.comparison is not None:
            compared = transform(item.comparison, lambda node: Parameter(name) if node == aggregate else node)
            self._pend(compared, free=True)
        self._release()

    def _defer(self, event: EventPattern) -> None:
        for constraint in event.constraints:
            self._pend(constraint, event.name)

    def _pend(self, constraint: Constraint, own: str | None = None, *, free: bool = False) -> None:
        for resolved in factored(_substitute(constraint, own, self._binders)):
            self.pending.append(_Pending(frozenset(needs(resolved)), resolved, free))

    def _ready_constraints(self, *, free: bool = True) -> list[Constraint]:
        ready: list[Constraint] = []
        waiting: list[_Pending] = []
        for each in self.pending:
            if isinstance(each.node, Compute) or not each.required <= self._known or (each.free and not free):
                waiting.append(each)
            else:
                ready.append(each.node)
        self.pending = waiting
        return ready

    def _release(self) -> None:
        """Emit the aggregates that can be computed now, then the constraints that waited for them."""
        for each in list(self.pending):
            if isinstance(each.node, Compute) and each.required <= self._known:
                self.pending.remove(each)
                self.steps.append(each.node)
                self._known.add(f"${each.node.name}")
                self.steps.extend(map(Require, self._ready_constraints()))
                self._release()
                return
