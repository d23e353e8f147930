"""Components: rules that feed one another must run together; rules that do not are independent.

Besides, what rules read: the attributes of each event type that they look at, and which of these may have an error as
far as rules and data tell beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cepheus.core.schema import TIME_ATTRIBUTE, EventType
from cepheus.core.values import ValueType
from cepheus.plan.split.links import Site, sites
from cepheus.rules.check import Checked
from cepheus.rules.expressions import AttributeRef, Expression, Parameter
from cepheus.rules.interval.model import Atom, IntervalRule
from cepheus.rules.model import AnyRule, Rule
from cepheus.rules.resolve import resolve
from cepheus.rules.resolved import Absent, Compute, Gather, ResolvedRule
from cepheus.rules.rows.model import RowRule
from cepheus.rules.walk import walk


@dataclass(frozen=True, slots=True)
class Member:
    """A rule, resolved, with its sites; ``feeds`` says that other rules, or the rule itself, look at what it makes."""

    rule: Rule
    resolved: ResolvedRule
    sites: tuple[Site, ...]
    feeds: bool

    @property
    def types(self) -> frozenset[str]:
        """The event types that the rule looks at."""
        return frozenset({self.resolved.terminator.type, *(site.type for site in self.sites)})


@dataclass(frozen=True, slots=True)
class PlacedAtom:
    """An atom of an interval rule: for each of its variables, the attributes that it stands for."""

    type: str
    variables: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class IntervalMember:
    """An interval rule and all its atoms, also those that are negated or aggregated."""

    rule: IntervalRule
    atoms: tuple[PlacedAtom, ...]

    @property
    def types(self) -> frozenset[str]:
        """The event types that the rule looks at."""
        return frozenset(atom.type for atom in self.atoms)

    @property
    def carried(self) -> Mapping[str, tuple[str, ...]]:
        """The variables whose values complex events have, and the attributes that have them."""
        return _by_variable(self.rule.values, self.rule.head)


@dataclass(frozen=True, slots=True)
class RowMember:
    """A query over rows; ``feeds`` says that other rules look at its matches."""

    rule: RowRule
    feeds: bool

    @property
    def types(self) -> frozenset[str]:
        """The event type that its rows are of."""
        return frozenset({self.rule.query.source})


@dataclass(frozen=True, slots=True)
class Component:
    """Rules that feed one another, directly or not."""

    members: tuple[Member, ...] = ()
    interval_members: tuple[IntervalMember, ...] = ()
    row_members: tuple[RowMember, ...] = ()

    @property
    def all_members(self) -> tuple[Member | IntervalMember | RowMember, ...]:
        """The members of all families."""
        return (*self.members, *self.interval_members, *self.row_members)

    @property
    def types(self) -> frozenset[str]:
        """The event types that the rules look at."""
        return frozenset().union(*(member.types for member in self.all_members))

    @property
    def rules(self) -> tuple[AnyRule, ...]:
        """The rules of all families."""
        return tuple(member.rule for member in self.all_members)


def components(rules: Sequence[AnyRule], types: Mapping[str, EventType] | None = None) -> list[Component]:
    """Take rules apart into components, in the order of their first rules.

    ``types`` tells what the arguments of interval rules stand for. Interval rules that make events of one type belong
    together: what two of them derive is one event.
    """
    looked = [_types(rule) for rule in rules]
    wanted = frozenset().union(*looked)
    root = list(range(len(rules)))

    def find(number: int) -> int:
        while root[number] != number:
            root[number] = root[root[number]]
            number = root[number]
        return number

    def join(number: int, other: int) -> None:
        first, second = sorted((find(number), find(other)))
        root[second] = first

    makers: dict[str, list[int]] = {}
    for number, rule in enumerate(rules):
        makers.setdefault(rule.composite.name, []).append(number)
    for number, rule in enumerate(rules):
        for maker in (maker for name in looked[number] for maker in makers.get(name, ())):
            join(number, maker)
        if isinstance(rule, IntervalRule):
            join(number, makers[rule.head.name][0])
    together: dict[int, list[AnyRule]] = {}
    for number, rule in enumerate(rules):
        together.setdefault(find(number), []).append(rule)
    return [_component(found, wanted, types or {}) for found in together.values()]


def _component(rules: Sequence[AnyRule], wanted: frozenset[str], types: Mapping[str, EventType]) -> Component:
    members = []
    for rule in rules:
        if isinstance(rule, Rule):
            resolved = resolve(rule)
            members.append(Member(rule, resolved, sites(resolved), rule.composite.name in wanted))
    return Component(
        tuple(members),
        tuple(_interval_member(rule, types) for rule in rules if isinstance(rule, IntervalRule)),
        tuple(RowMember(rule, rule.composite.name in wanted) for rule in rules if isinstance(rule, RowRule)),
    )


def _interval_member(rule: IntervalRule, types: Mapping[str, EventType]) -> IntervalMember:
    return IntervalMember(
        rule, tuple(PlacedAtom(atom.type, _by_variable(atom.arguments, types[atom.type])) for atom in _atoms(rule))
    )


def _types(rule: AnyRule) -> frozenset[str]:
    """The event types that a rule looks at."""
    if isinstance(rule, IntervalRule):
        return frozenset(atom.type for atom in _atoms(rule))
    if isinstance(rule, RowRule):
        return frozenset({rule.query.source})
    resolved = resolve(rule)
    return frozenset({resolved.terminator.type, *(site.type for site in sites(resolved))})


def _atoms(rule: IntervalRule) -> list[Atom]:
    return [node for node in walk(rule.pattern) if isinstance(node, Atom)]


def _by_variable(arguments: Sequence[object], event_type: EventType) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for argument, attribute in zip(arguments, event_type.attributes, strict=True):
        # equal lists may be written in different ways, which Spark would bring to different shards
        if isinstance(argument, Parameter) and attribute.type is not ValueType.LIST:
            found[argument.name] = (*found.get(argument.name, ()), attribute.name)
    return found


def reads(rules: Iterable[ResolvedRule]) -> dict[str, frozenset[str]]:
    """Collect every event type that patterns mention, with the attributes that rules read of it (its time aside)."""
    found: dict[str, set[str]] = {}
    for rule in rules:
        types = {position.name: position.type for position in rule.positions}
        for name in types.values():
            found.setdefault(name, set())
        _note((rule.terminator, *rule.steps, *rule.assignments), types, None, found)
        inners: list[Compute | Absent | Gather] = [step for step in rule.steps if isinstance(step, Compute)]
        for inner in (*inners, *rule.absences, *rule.gathers):
            found.setdefault(inner.type, set())
            _note((inner,), types, inner.type, found)
    return {name: frozenset(attributes) for name, attributes in found.items()}


def reads_in_order(rules: Sequence[IntervalRule], types: Mapping[str, EventType]) -> dict[str, frozenset[str]]:
    """Collect every event type that interval rules mention, with all its attributes.

    Their places tell what arguments stand for, and events that are alike in all of them are one event.
    """
    atoms = (node for rule in rules for node in walk(rule.pattern) if isinstance(node, Atom))
    return {atom.type: frozenset(attribute.name for attribute in types[atom.type].attributes) for atom in atoms}


def reads_of_rows(rules: Sequence[RowRule]) -> dict[str, frozenset[str]]:
    """Collect every event type that queries take their rows from, with the columns that they read."""
    found: dict[str, frozenset[str]] = {}
    for rule in rules:
        source = rule.query.source
        found[source] = found.get(source, frozenset()) | set(rule.query.read())
    return found


def _note(nodes: Iterable[object], types: dict[str, str], own: str | None, found: dict[str, set[str]]) -> None:
    for node in nodes:
        for child in walk(node):
            if isinstance(child, AttributeRef) and child.name != TIME_ATTRIBUTE:
                owner = own if child.event is None else types[child.event]
                if owner is not None:
                    found[owner].add(child.name)


AttributeKey = tuple[str, str]
"""An event type and an attribute of it."""


def uncertain_attributes(
    checked: Checked, given: frozenset[AttributeKey] = frozenset(), *, doubtful: bool = False
) -> frozenset[AttributeKey]:
    """Find the attributes that may have an error: those given, those declared, and what is computed from them.

    An aggregate may have one as soon as there is anything uncertain, be it only whether an event has happened at all,
    which ``doubtful`` says of events from outside: how many members it has is uncertain then.

    >>> from cepheus.language.tesla import parse
    >>> from cepheus.rules.check import check
    >>> rules = "error Temp.value ~ N(0, 1) define Hot(temp: double, n: int) from Temp() where temp = Temp.value, n = 1"
    >>> sorted(uncertain_attributes(check(parse(rules))))
    [('Hot', 'temp'), ('Temp', 'value')]
    """
    found = set(given)
    found |= {(t.name, a.name) for t in checked.inputs.values() for a in t.attributes if a.error is not None}
    if not found and not doubtful:
        return frozenset()
    resolved = [resolve(rule) for rule in checked.rules.rules]
    while True:
        made = {
            (rule.composite.name, assignment.attribute)
            for rule in resolved
            for assignment in rule.assignments
            if _is_number(checked, rule.composite.name, assignment.attribute)
            and _is_uncertain(assignment.value, rule, found)
        }
        if made <= found:
            return frozenset(found)
        found |= made


def _is_number(checked: Checked, event_type: str, name: str) -> bool:
    attribute = checked.composites[event_type].attribute(name)
    return attribute is None or attribute.type is None or attribute.type.is_numeric


def _is_uncertain(value: Expression, rule: ResolvedRule, found: set[AttributeKey]) -> bool:
    types = {position.name: position.type for position in rule.positions}
    for node in walk(value):
        if isinstance(node, Parameter):  # what is left of parameters stands for aggregates
            return True
        if isinstance(node, AttributeRef) and node.event is not None and (types[node.event], node.name) in found:
            return True
    return False
