"""Splits a rule among the children of a processor, by what each of them can see.

Before, with A and B produced below child 3, C and E below 4, D below 5::

    A() and last B() within 5 min from A and last C() within 5 min from B
        and last D() within 5 min from C and last E() within 5 min from D

After::

    3: A() and last B() within 5 min from A
    4: C() and each E() within 10 min from C
    5: D()
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from cepheus.plan.partial.shape import (
    RuleShape,
    consumed_types,
    input_types,
    item_event,
    item_scope,
    shape_of,
    shape_of_pattern,
)
from cepheus.rules.expressions import (
    AttributeRef,
    Comparison,
    Constraint,
    EventPattern,
    Parameter,
    Within,
    scope_events,
)
from cepheus.rules.model import Aggregation, Negation, Pattern, PatternItem, Rule, Selection
from cepheus.rules.policies import Policy
from cepheus.rules.resolve import bindings
from cepheus.rules.walk import walk


@dataclass(frozen=True, slots=True)
class PartialRule:
    """A pattern without a composite event: events that cannot satisfy it need not be sent on.

    ``root`` says which part of the rule the pattern's terminator is: the name of a position, or ``#n`` for the n-th
    item of the whole pattern, a negation or an aggregate. ``origins`` gives for each item of ``pattern`` the item of
    the whole pattern that it was made from.
    """

    rule: Rule
    root: str
    pattern: Pattern
    origins: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """What tells this partial rule from all others at one processor."""
        return f"{self.rule.name}/{self.root}"

    @property
    def selection(self) -> Selection | None:
        """How the rule chooses the pattern's terminator: None if that is the rule's own, or not chosen at all."""
        return shape_of(self.rule).selections.get(self.root)

    @property
    def keeps_all(self) -> bool:
        """Whether every event at the root must be sent, because the choice of several needs to count them."""
        return self.selection is not None and self.selection.count not in (None, 1)

    @property
    def joined(self) -> bool:
        """Whether other events, or what the rule has consumed, decide which events are candidates at the root."""
        shape = shape_of(self.rule)
        if shape.choice_needs.get(self.root):
            return True
        return self.selection is not None and self.selection.event.type in consumed_types(self.rule)


HERE = ""
"""Stands among the children for the processor itself: its own sources, and the rules that it evaluates."""

Producers = Mapping[str, frozenset[str]]
"""For each event type the children below which it is produced."""


def sole_child(rules: Iterable[Rule], producers: Producers) -> str | None:
    """The child that sees all that some rules need, if there is one: it can take them over completely."""
    sources: set[str] = set()
    for rule in rules:
        for event_type in input_types(rule):
            sources |= producers.get(event_type, frozenset())
    return next(iter(sources)) if len(sources) == 1 and HERE not in sources else None


def partition(whole: Rule | PartialRule, producers: Producers) -> dict[str, tuple[PartialRule, ...]]:
    """Split a rule, or a partial rule again, into partial rules for the children.

    A type that only one child produces is left to that child: its events are put into one pattern with what else is
    the child's alone. Of any other type each child that produces it sends all that satisfies the constraints on the
    event itself.
    """
    given = _Whole.of(whole)
    found: dict[str, list[PartialRule]] = {}
    for child, part in given.split(producers):
        if part not in found.setdefault(child, []):
            found[child].append(part)
    return {child: tuple(parts) for child, parts in found.items()}


def seen_here(whole: Rule | PartialRule, producers: Producers) -> tuple[PartialRule, ...]:
    """The positions of which the processor itself sees events, each as a partial rule of its own."""
    given = _Whole.of(whole)
    return tuple(given.alone(name) for name, kind in given.types.items() if HERE in producers.get(kind, frozenset()))


class _Whole:
    """What is being split."""

    def __init__(self, rule: Rule, root: str, shape: RuleShape, origins: tuple[int, ...]) -> None:
        self.rule = rule
        self.root = root
        self.shape = shape
        self.origins = dict(zip(map(id, shape.pattern.items), origins, strict=True))
        self.consumed = consumed_types(rule)
        self.binders = bindings(shape.pattern)
        self.types = {shape.pattern.terminator.name: shape.pattern.terminator.type}
        self.types |= {name: selection.event.type for name, selection in shape.selections.items()}

    @classmethod
    def of(cls, whole: Rule | PartialRule) -> _Whole:
        if isinstance(whole, PartialRule):
            return cls(whole.rule, whole.root, shape_of_pattern(whole.pattern), whole.origins)
        shape = shape_of(whole)
        return cls(whole, shape.pattern.terminator.name, shape, tuple(range(len(shape.pattern.items))))

    def split(self, producers: Producers) -> Iterator[tuple[str, PartialRule]]:
        owners = {kind: next(iter(found)) for kind, found in producers.items() if len(found) == 1 and HERE not in found}
        types = self.types
        attached: set[int] = set()
        for child in dict.fromkeys(owners.values()):
            own = [name for name, event_type in types.items() if owners.get(event_type) == child]
            for tree in self._trees(own):
                part = self._part(tree, {kind for kind, owner in owners.items() if owner == child})
                attached |= set(part.origins)
                yield child, part
        for name, event_type in types.items():
            if event_type not in owners:
                for child in sorted(producers.get(event_type, frozenset()) - {HERE}):
                    yield child, self.alone(name)
        for item in self.shape.pattern.items:
            origin = self.origins[id(item)]
            if not isinstance(item, Selection) and origin not in attached:
                event = item_event(item)
                alone = Pattern(replace(event, constraints=tuple(self._alone(event))))
                for child in sorted(producers.get(event.type, frozenset()) - {HERE}):
                    yield child, PartialRule(self.rule, f"#{origin}", alone)

    def alone(self, name: str) -> PartialRule:
        """Make the partial rule of one position."""
        return self._part([name], set())

    def _trees(self, own: list[str]) -> list[list[str]]:
        """Put positions together that hang from one another, with or without others in between."""
        trees: dict[str, list[str]] = {}
        for name in own:
            top = [step for step in self.shape.path(name) if step in own][-1]
            trees.setdefault(top, []).append(name)
        return list(trees.values())

    def _part(self, tree: list[str], exclusive: set[str]) -> PartialRule:
        """Make the partial rule of some positions, the first of which all others hang from."""
        root, *others = tree
        known = set(tree)
        kept: list[tuple[PatternItem, int]] = []
        for item in self.shape.pattern.items:
            match item:
                case Selection(event=event) if event.name in others:
                    kept.append((item, self.origins[id(item)]))
                case Negation() | Aggregation() if self._attaches(item, known, exclusive):
                    kept.append((item, self.origins[id(item)]))
                    if isinstance(item, Aggregation) and item.parameter is not None:
                        known.add(f"${item.parameter}")
        top = self.shape.selections[root].event if root in self.shape.selections else self.shape.pattern.terminator
        terminator = self._content(top, known)
        items = [self._item(item, tree, known) for item, _ in kept]
        used = _used_parameters((terminator, *items), self.binders)
        pattern = Pattern(_without_bindings(terminator, used), tuple(_drop_unused(item, used) for item in items))
        label = self.root if root == self.shape.pattern.terminator.name else root
        return PartialRule(self.rule, label, pattern, tuple(origin for _, origin in kept))

    def _item(self, item: PatternItem, tree: list[str], known: set[str]) -> PatternItem:
        match item:
            case Selection(event=event, window=window):
                selection = replace(item, event=self._content(event, known))
                name = event.name
                ancestor = next(step for step in self.shape.path(name)[1:] if step in tree)
                direct = ancestor == window.reference
                if direct and self.shape.choice_needs[name] <= known and event.type not in self.consumed:
                    return selection
                return replace(
                    selection,
                    policy=Policy.EACH,
                    count=None,
                    window=Within(self.shape.back(name, ancestor), ancestor),
                )
            case Aggregation(comparison=Comparison() as comparison) if not self._needs(comparison) <= known:
                return replace(item, comparison=None)
            case _:
                return item

    def _attaches(self, item: Negation | Aggregation, known: set[str], exclusive: set[str]) -> bool:
        """Whether a negation or aggregate can be decided with the positions known; what is consumed is not."""
        event = item_event(item)
        wanted = {*scope_events(item_scope(item))}
        for constraint in event.constraints:
            wanted |= self._needs(constraint, event)
        if isinstance(item, Aggregation) and item.aggregate.value is not None:
            wanted |= self._needs(item.aggregate.value, event)
        return event.type in exclusive - self.consumed and wanted <= known

    def _content(self, event: EventPattern, known: set[str]) -> EventPattern:
        """Keep the constraints that can be checked where only some events are known."""
        own = {*known, event.name}
        kept = tuple(c for c in event.constraints if self._needs(c, event) <= own)
        return replace(event, constraints=kept)

    def _alone(self, event: EventPattern) -> Iterator[Constraint]:
        return (constraint for constraint in event.constraints if not self._needs(constraint, event))

    def _needs(self, node: Constraint, own: EventPattern | None = None) -> set[str]:
        """Collect the other events and computed values (``$name``) that an expression needs."""
        found: set[str] = set()
        for child in walk(node):
            if isinstance(child, Parameter):
                binder = self.binders.get(child.name)
                found.add(f"${child.name}" if binder is None else str(binder.event))
            elif isinstance(child, AttributeRef) and child.event is not None:
                found.add(child.event)
        if own is not None and (own.name in self.shape.positions or own.alias is not None):
            found.discard(own.name)
        return found


def _is_binding(constraint: Constraint, event: EventPattern, binders: Mapping[str, AttributeRef | None]) -> str | None:
    """The parameter that a constraint binds, if that is all it does."""
    match constraint:
        case Comparison(operands=(AttributeRef(name=attribute), Parameter(name=name)), operators=("=",)):
            pass
        case Comparison(operands=(Parameter(name=name), AttributeRef(name=attribute)), operators=("=",)):
            pass
        case _:
            return None
    binder = binders.get(name)
    return name if binder is not None and (binder.event, binder.name) == (event.name, attribute) else None


def _used_parameters(
    nodes: tuple[EventPattern | PatternItem, ...], binders: Mapping[str, AttributeRef | None]
) -> set[str]:
    """The parameters that something else than their own binding needs."""
    used: set[str] = set()
    for node in nodes:
        event = node if isinstance(node, EventPattern) else item_event(node)
        takes_part = isinstance(node, EventPattern | Selection)
        bound = {id(c): name for c in event.constraints if takes_part and (name := _is_binding(c, event, binders))}
        for constraint in event.constraints:
            if id(constraint) not in bound:
                used |= {child.name for child in walk(constraint) if isinstance(child, Parameter)}
        if isinstance(node, Aggregation):
            extra = [part for part in (node.aggregate.value, node.comparison) if part is not None]
            used |= {child.name for part in extra for child in walk(part) if isinstance(child, Parameter)}
    return used


def _without_bindings(event: EventPattern, used: set[str]) -> EventPattern:
    kept = tuple(
        constraint
        for constraint in event.constraints
        if not any(isinstance(child, Parameter) and child.name not in used for child in walk(constraint))
    )
    return replace(event, constraints=kept)


def _drop_unused(item: PatternItem, used: set[str]) -> PatternItem:
    return replace(item, event=_without_bindings(item.event, used)) if isinstance(item, Selection) else item
