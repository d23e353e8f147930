"""Components: rules that feed one another must run together; rules that do not are independent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepheus.plan.split.ties import Site, sites
from cepheus.rules.model import Rule
from cepheus.rules.resolve import ResolvedRule, resolve


@dataclass(frozen=True, slots=True)
class Member:
    """A rule, resolved, with its sites; ``feeds`` says that other rules, or the rule itself, look at what it makes."""

    rule: Rule
    resolved: ResolvedRule
    sites: tuple[Site, ...]
    feeds: bool


@dataclass(frozen=True, slots=True)
class Component:
    """Rules that feed one another, directly or not."""

    members: tuple[Member, ...]

    @property
    def types(self) -> frozenset[str]:
        """The event types that the rules look at."""
        return frozenset(name for member in self.members for name in looked_at(member.resolved, member.sites))


def looked_at(rule: ResolvedRule, places: Sequence[Site]) -> frozenset[str]:
    """Give the event types that a rule looks at."""
    return frozenset({rule.terminator.type, *(site.type for site in places)})


def components(rules: Sequence[Rule]) -> list[Component]:
    """Take rules apart into components, in the order of their first rules."""
    resolved = [resolve(rule) for rule in rules]
    places = [sites(rule) for rule in resolved]
    looked = [looked_at(rule, sites) for rule, sites in zip(resolved, places, strict=True)]
    wanted = frozenset().union(*looked)
    root = list(range(len(rules)))

    def find(number: int) -> int:
        while root[number] != number:
            root[number] = root[root[number]]
            number = root[number]
        return number

    makers: dict[str, list[int]] = {}
    for number, rule in enumerate(rules):
        makers.setdefault(rule.composite.name, []).append(number)
    for number, types in enumerate(looked):
        for maker in (maker for name in types for maker in makers.get(name, ())):
            one, other = sorted((find(number), find(maker)))
            root[other] = one
    members: dict[int, list[Member]] = {}
    for number, rule in enumerate(rules):
        feeds = rule.composite.name in wanted
        members.setdefault(find(number), []).append(Member(rule, resolved[number], places[number], feeds))
    return [Component(tuple(found)) for found in members.values()]
