"""Shares a program out: what a processor does itself, and what it leaves to each child."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from cepheus.plan.partial import HERE, PartialRule, Producers, input_types, partition, seen_here, sole_child
from cepheus.rules.expressions import EventPattern
from cepheus.rules.model import Pattern, Rule
from cepheus.runtime.network.messages import Assigned, Ordered, Program

RELAY = "__relay__"
"""Begins the name of a stand-in rule that hands primitive events of a type to sinks."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A rule or partial rule that is evaluated here from partial rules of the children.

    ``labels`` gives, for each root of these, the children that have it; none for a position that only local sources
    fill. ``possible`` are the roots that can be master. ``master`` is the root whose events open windows
    for all others; None if all push. ``pulled`` says that the origin itself waits to be asked for.
    """

    name: str
    rule: Rule
    root: str
    labels: Mapping[str, tuple[str, ...]]
    parts: Mapping[str, PartialRule]
    possible: tuple[str, ...] = ()
    master: str | None = None
    pulled: bool = False


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
    pulls: bool = False,
    masters: Mapping[str, str] | None = None,
) -> Shared:
    """Share a program out among a processor and its children.

    Rules that feed one another stay together. A child that sees all they need takes them over; otherwise they are
    evaluated here, from the partial rules of the children. ``masters`` are the roots that have been found to be rare.
    """
    taken: dict[str, list[Ordered]] = {}
    given: dict[str, dict[str, Assigned]] = {}
    hosted: list[Ordered] = []
    origins: list[Origin] = []
    masters = masters or {}
    for group in groups(program.rules):
        child = None if central else sole_child((ordered.rule for ordered in group), producers)
        if child is not None:
            taken.setdefault(child, []).extend(group)
            continue
        hosted += group
        composites = {ordered.rule.composite.name for ordered in group}
        feeding = {kind: producers.get(kind, frozenset()) | {HERE} for kind in composites}
        seen = {**producers, **feeding}
        for ordered in group:
            parts = _raw(ordered.rule, producers) if central else partition(ordered.rule, seen)
            top = ordered.rule.pattern.terminator.name
            origin = _origin(str(ordered.rule.name), ordered.rule, top, parts, seen_here(ordered.rule, producers))
            origin = replace(origin, possible=_possible(origin, composites))
            origin = _with_master(origin, masters) if pulls else origin
            origins.append(origin)
            _give(given, parts, ordered.since, origin)
    for assigned in program.parts:
        parts = partition(assigned.part, producers)
        local = seen_here(assigned.part, producers)
        origin = _origin(assigned.part.name, assigned.part.rule, assigned.part.root, parts, local)
        origin = replace(origin, possible=_possible(origin, set()))
        origin = replace(origin, pulled=True) if assigned.pull else _with_master(origin, masters) if pulls else origin
        origins.append(origin)
        _give(given, parts, assigned.since, origin)
    names = dict.fromkeys([*taken, *given])
    return Shared(
        rules=tuple(sorted(hosted, key=order_of)),
        parts=program.parts,
        children={child: Program(tuple(taken.get(child, ())), tuple(given.get(child, {}).values())) for child in names},
        origins=tuple(origins),
    )


def order_of(ordered: Ordered) -> tuple[int, str, int]:
    """Give a rule's place in the order of deployment."""
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


def _possible(origin: Origin, composites: set[str]) -> tuple[str, ...]:
    """Give the roots that can be master: the rule needs an event there, and all of them are seen coming."""
    return tuple(
        label
        for label, part in origin.parts.items()
        if not label.startswith(("#", "*")) and part.pattern.terminator.type not in composites
    )


def _with_master(origin: Origin, masters: Mapping[str, str]) -> Origin:
    """Choose a master: the one found to be rare, or else the top of the pattern."""
    if len(origin.labels) < 2 or not origin.possible:
        return origin
    wanted = masters.get(origin.name, origin.root)
    return replace(origin, master=wanted if wanted in origin.possible else origin.possible[0])


def _give(
    given: dict[str, dict[str, Assigned]],
    parts: Mapping[str, tuple[PartialRule, ...]],
    since: int | None,
    origin: Origin,
) -> None:
    for child, found in parts.items():
        for part in found:
            pull = origin.pulled or (origin.master is not None and part.root != origin.master)
            before = given.setdefault(child, {}).get(part.name)
            if before is not None:
                pull = pull and before.pull
            given[child][part.name] = Assigned(part, since, pull)
