"""The shape of a rule: its positions, what each looks at, how far back, and where they lie to one another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from cepheus.core.schema import EventType
from cepheus.rules.expressions import Aggregate, AttributeRef, Comparison, Constraint, EventPattern, Scope, Within
from cepheus.rules.model import Aggregation, FreeCondition, Negation, Pattern, PatternItem, Rule, Selection
from cepheus.rules.resolve import resolve
from cepheus.rules.resolved import Choose, needs, reach
from cepheus.rules.walk import walk


@dataclass(frozen=True, slots=True)
class RuleShape:
    """A rule taken apart.

    ``pattern`` is the rule's pattern with the aggregates of ``where`` moved into it, and without free conditions.
    ``selections`` are the chosen positions by name. ``choice_needs`` tells, for each position, which other events and
    computed values (``$name``) decide what is chosen there. ``reach`` is how far back the rule looks, in microseconds.
    """

    pattern: Pattern
    selections: dict[str, Selection]
    choice_needs: dict[str, frozenset[str]]
    reach: int

    @property
    def positions(self) -> tuple[str, ...]:
        """The names of the events that take part, the terminator first."""
        return (self.pattern.terminator.name, *self.selections)

    def path(self, position: str) -> tuple[str, ...]:
        """A position and those it hangs from, up to the terminator."""
        names = [position]
        while names[-1] in self.selections:
            names.append(self.selections[names[-1]].window.reference)
        return tuple(names)

    def back(self, position: str, ancestor: str) -> int:
        """The longest time by which a position can lie before an event it hangs from."""
        path = self.path(position)
        return sum(self.selections[name].window.duration for name in path[: path.index(ancestor)])


def shape_of(rule: Rule) -> RuleShape:
    """Take a checked rule apart."""
    return _shape_of(rule)


@lru_cache(maxsize=4096)
def _shape_of(rule: Rule) -> RuleShape:
    pattern = whole_pattern(rule)
    return shape_of_pattern(pattern)


def shape_of_pattern(pattern: Pattern) -> RuleShape:
    """Take the pattern of a rule or of a partial rule apart."""
    resolved = resolve(Rule(EventType("#"), pattern, name="#"))
    choice_needs = {resolved.terminator.name: _needs(resolved.terminator.constraints)}
    for step in resolved.steps:
        if isinstance(step, Choose):
            choice_needs[step.name] = _needs(step.constraints) - {step.name}
    selections = {item.event.name: item for item in pattern.items if isinstance(item, Selection)}
    return RuleShape(pattern, selections, choice_needs, reach(resolved))


def whole_pattern(rule: Rule) -> Pattern:
    """Return the rule's pattern, with each aggregate of ``where`` and of free conditions as one more item of it.

    Free conditions themselves are left out: who evaluates the whole rule checks them, where all they name is known.
    """
    free = [item.constraint for item in rule.pattern.items if isinstance(item, FreeCondition)]
    computed = [*free, *(assignment.value for assignment in rule.assignments)]
    lifted = [node for value in computed for node in walk(value) if isinstance(node, Aggregate)]
    if not free and not lifted:
        return rule.pattern
    extra = tuple(Aggregation(node, f"where_{place}") for place, node in enumerate(lifted))
    kept = tuple(item for item in rule.pattern.items if not isinstance(item, FreeCondition))
    return replace(rule.pattern, items=kept + extra)


def input_types(rule: Rule) -> frozenset[str]:
    """The types of all events that a rule looks at.

    >>> from cepheus.language.tesla import parse
    >>> sorted(input_types(parse("define F() from A() and not B() within 1 s from A").rules[0]))
    ['A', 'B']
    """
    return frozenset(event.type for event in events_of(whole_pattern(rule)))


def consumed_types(rule: Rule) -> frozenset[str]:
    """The types of which a rule uses up events: those it has used up are not seen at any other place in it.

    >>> from cepheus.language.tesla import parse
    >>> rule = parse("define F() from A() and last B() within 1 s from A consuming B").rules[0]
    >>> sorted(consumed_types(rule))
    ['B']
    """
    shape = shape_of(rule)
    events = (shape.pattern.terminator, *(selection.event for selection in shape.selections.values()))
    return frozenset(event.type for event in events if event.name in rule.consuming)


def events_of(pattern: Pattern) -> Iterator[EventPattern]:
    """The events that a pattern looks at, those that free conditions compute with included."""
    yield pattern.terminator
    for item in pattern.items:
        if isinstance(item, FreeCondition):
            yield from (node.event for node in walk(item.constraint) if isinstance(node, Aggregate))
        else:
            yield item_event(item)


def item_event(item: PatternItem) -> EventPattern:
    """The event that a pattern item is about."""
    assert not isinstance(item, FreeCondition), "the pattern of a whole rule without its conditions"
    return item.aggregate.event if isinstance(item, Aggregation) else item.event


def item_scope(item: Negation | Aggregation) -> Scope:
    """The scope of a negation or of an aggregate."""
    return item.aggregate.scope if isinstance(item, Aggregation) else item.scope


def scope_span(scope: Scope, shape: RuleShape) -> tuple[str, int]:
    """Find an event that a scope hangs from, and how far before it the scope can begin.

    For an interval between two events, this is the nearest event from which both hang.
    """
    if isinstance(scope, Within):
        return scope.reference, scope.duration
    first, second = shape.path(scope.first), shape.path(scope.second)
    common = next(name for name in first if name in second)
    return common, max(shape.back(scope.first, common), shape.back(scope.second, common))


def _needs(constraints: tuple[Constraint, ...]) -> frozenset[str]:
    return frozenset(need for constraint in constraints for need in needs(constraint))


@dataclass(frozen=True, slots=True)
class Span:
    """How far before and after an event of the master events of the slave matter, in microseconds."""

    past: int
    future: int


def span_around(rule: Rule, master: str, slave: str) -> Span:
    """The window that an event at one root opens for another; roots are named as in ``PartialRule.root``.

    With the terminator as master only the past matters, with the terminator as slave only the future; two
    sequences that meet further up open both.

    >>> from cepheus.language.tesla import parse
    >>> rule = parse("define F() from Smoke() and each Temp() within 5 min from Smoke").rules[0]
    >>> span_around(rule, "Smoke", "Temp"), span_around(rule, "Temp", "Smoke")
    (Span(past=300000000, future=0), Span(past=0, future=300000000))
    """
    shape = shape_of(rule)
    chain, behind = _hangs(shape, master)
    target, reaches = _hangs(shape, slave)
    if slave in shape.selections and slave in chain and not shape.selections[slave].policy.takes_all:
        target = target[1:]  # whoever chooses there compares it with others that lie as far from its reference
        reaches += shape.selections[slave].window.duration
    common = next(name for name in chain if name in target)
    future = behind + shape.back(chain[0], common)
    past = reaches + shape.back(target[0], common)
    return Span(past, future)


def shared_values(rule: Rule, master: str, slave: str) -> tuple[tuple[str, str], ...]:
    """Find pairs of attributes, of the master's event and of the slave's, that must be equal for both to take part.

    Only where the master's event is known when the slave's is chosen, or all of the slave's are taken: elsewhere an
    event with another value may be the one that is chosen, to no avail.
    """
    steps = {step.name: step for step in resolve(rule).steps if isinstance(step, Choose)}
    names = shape_of(rule).positions
    if master not in names or slave not in names or master == slave:
        return ()
    later, earlier = (slave, master) if names.index(slave) > names.index(master) else (master, slave)
    step = steps[later]
    selection = shape_of(rule).selections.get(slave)
    taken_all = selection is None or selection.policy.takes_all
    if later == master and not taken_all:
        return ()
    pairs = []
    for constraint in step.constraints:
        match constraint:
            case Comparison(
                operands=(AttributeRef(event=str(left), name=one), AttributeRef(event=str(right), name=other)),
                operators=("=",),
            ) if {left, right} == {earlier, later}:
                pairs.append((one, other) if left == master else (other, one))
    return tuple(pairs)


def _hangs(shape: RuleShape, root: str) -> tuple[tuple[str, ...], int]:
    """The positions that a root hangs from, the nearest first, and how far before the nearest it can lie."""
    if not root.startswith("#"):
        return shape.path(root), 0
    item = shape.pattern.items[int(root[1:])]
    assert isinstance(item, Negation | Aggregation), item_event(item).name
    reference, duration = scope_span(item_scope(item), shape)
    return shape.path(reference), duration
