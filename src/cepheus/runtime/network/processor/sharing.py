"""Shares a program out: what a processor does itself, and what it leaves to each child."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cepheus.plan.partial import HERE, PartialRule, Producers, input_types, partition, seen_here, sole_child
from cepheus.rules.expressions import EventPattern
from cepheus.rules.model import Pattern, Rule
from cepheus.runtime.network.protocol.messages import Assigned, Ordered, Program

RELAY = "__relay__"
"""Begins the name of a stand-in rule that hands primitive events of a type to sinks."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A rule or partial rule that is evaluated here from partial rules of the children.

    ``labels`` gives, for each root of these, the children that have it; none for a position that only local sources
    fill. ``possible`` are the roots that can be master. ``master`` is the root whose events open windows for those
    that are ``waiting`` to be asked; None if all push. ``pulled`` says that the origin itself waits to be asked.
    """

    name: str
    rule: Rule
    root: str
    labels: Mapping[str, tuple[str, ...]]
    parts: Mapping[str, PartialRule]
    possible: tuple[str, ...] = ()
    master: str | None = None
    waiting: frozenset[str] = frozenset()
    pulled: bool = False
    since: int | None = None


@dataclass(frozen=True, slots=True)
class Shared:
    """A program shared out."""

    rules: tuple[Ordered, ...] = ()
    parts: tuple[Assigned, ...] = ()
    children: Mapping[str, Program] = field(default_factory=dict)
    origins: tuple[Origin, ...] = ()


def share_out(
    program: Program,
    producers: Producers,
    *,
    central: bool = False,
    choose: Callable[[Sequence[Origin]], Sequence[Origin]] | None = None,
) -> Shared:
    """Share a program out among a processor and its children.

    Rules that feed one another stay together. A child that sees all they need takes them over; otherwise they are
    evaluated here, from the partial rules of the children. ``choose`` decides which of these wait to be asked.
    """
    taken: dict[str, list[Ordered]] = {}
    hosted: list[Ordered] = []
    origins: list[Origin] = []
    for group in groups(program.rules):
        child = None if central else sole_child((ordered.rule for ordered in group), producers)
        if child is not None:
            taken.setdefault(child, []).extend(group)
            continue
        hosted += group
        origins += _origins_of_group(group, producers, central=central)
    for assigned in program.parts:
        parts = partition(assigned.part, producers)
        local = seen_here(assigned.part, producers)
        origin = _origin(assigned.part.name, assigned.part.rule, assigned.part.root, parts, local)
        origins.append(
            replace(origin, since=assigned.since, pulled=assigned.pull, possible=_possible(origin, frozenset()))
        )
    origins = list(choose(origins)) if choose is not None else origins
    given = _give(origins)
    return Shared(
        rules=tuple(sorted(hosted, key=order_of)),
        parts=program.parts,
        children={
            child: Program(tuple(taken.get(child, ())), tuple(given.get(child, {}).values()))
            for child in dict.fromkeys([*taken, *given])
        },
        origins=tuple(origins),
    )


def _origins_of_group(group: Sequence[Ordered], producers: Producers, *, central: bool) -> list[Origin]:
    """Partition rules that feed one another; the composite events they share are seen here alone."""
    composites = frozenset(ordered.rule.composite.name for ordered in group)
    seen = {**producers, **{kind: producers.get(kind, frozenset()) | {HERE} for kind in composites}}
    found = []
    for ordered in group:
        rule = ordered.rule
        parts = _raw(rule, producers) if central else partition(rule, seen)
        origin = _origin(str(rule.name), rule, rule.pattern.terminator.name, parts, seen_here(rule, producers))
        found.append(replace(origin, since=ordered.since, possible=_possible(origin, composites)))
    return found


def order_of(ordered: Ordered) -> tuple[int, str, int]:
    """Return a rule's place in the order of deployment."""
    return ordered.moment, ordered.origin, ordered.place


def groups(rules: Sequence[Ordered]) -> list[list[Ordered]]:
    """Put together the rules that feed one another, directly or through others."""
    leader = list(range(len(rules)))

    def find(place: int) -> int:
        while leader[place] != place:
            place = leader[place]
        return place

    consumers: dict[str, list[int]] = {}
    for place, ordered in enumerate(rules):
        for kind in input_types(ordered.rule):
            consumers.setdefault(kind, []).append(place)
    for place, ordered in enumerate(rules):
        for consumer in consumers.get(ordered.rule.composite.name, ()):
            leader[find(consumer)] = find(place)
    found: dict[int, list[Ordered]] = {}
    for place, ordered in enumerate(rules):
        found.setdefault(find(place), []).append(ordered)
    return list(found.values())


def _raw(rule: Rule, producers: Producers) -> dict[str, tuple[PartialRule, ...]]:
    """Ask for all events of the types that a rule looks at, whatever their content."""
    found: dict[str, list[PartialRule]] = {}
    for kind in sorted(input_types(rule)):
        for child in sorted(producers.get(kind, frozenset()) - {HERE}):
            found.setdefault(child, []).append(PartialRule(rule, f"*{kind}", Pattern(EventPattern(kind))))
    return {child: tuple(parts) for child, parts in found.items()}


def _origin(
    name: str,
    rule: Rule,
    root: str,
    parts: Mapping[str, tuple[PartialRule, ...]],
    local: Sequence[PartialRule],
) -> Origin:
    labels: dict[str, tuple[str, ...]] = {part.root: () for part in local}
    patterns = {part.root: part for part in local}
    for child, given in parts.items():
        for part in given:
            labels[part.root] = (*labels.get(part.root, ()), child)
            patterns[part.root] = part
    return Origin(name, rule, root, labels, patterns)


def _possible(origin: Origin, composites: frozenset[str]) -> tuple[str, ...]:
    """Return the roots that can be master: the rule needs an event there, and all of them are seen coming."""
    return tuple(
        label
        for label, part in origin.parts.items()
        if not label.startswith(("#", "*")) and part.pattern.terminator.type not in composites
    )


def _give(origins: Sequence[Origin]) -> dict[str, dict[str, Assigned]]:
    """Hand each child its partial rules."""
    given: dict[str, dict[str, Assigned]] = {}
    for origin in origins:
        for label, children in origin.labels.items():
            part = origin.parts[label]
            pull = origin.pulled or label in origin.waiting
            for child in children:
                given.setdefault(child, {})[part.name] = Assigned(part, origin.since, pull)
    return given
