"""Groups: rules that run together, and the engines that run them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from cepheus.core.errors import OptionError
from cepheus.core.event import Event
from cepheus.core.schema import TIME_ATTRIBUTE
from cepheus.engine.columns.engine import ColumnsEngine
from cepheus.engine.parallel.dealer import Dealer
from cepheus.plan.split.component import Component, components
from cepheus.plan.split.model import Reason
from cepheus.plan.split.search import Attributes
from cepheus.plan.split.ways import find_keys
from cepheus.rules.model import Rule

_MOST_KEYED = 4
"""Groups that are split by keys; each has as many engines as there are threads."""


@dataclass(slots=True, eq=False)
class Group:
    """Rules and their engines: one, or several among which events are dealt out by their keys.

    ``keys`` names the key of each event type; None if there is but one engine.
    """

    engines: list[ColumnsEngine]
    keys: Attributes | None
    dealer: Dealer
    rules: dict[str, Rule] = field(default_factory=dict)
    looked: frozenset[str] = frozenset()
    made: frozenset[str] = frozenset()

    def engine_for(self, event: Event) -> ColumnsEngine:
        """The engine that an event goes to."""
        if self.keys is None:
            return self.engines[0]
        attribute = self.keys[event.type]
        value = event.time if attribute == TIME_ATTRIBUTE else event.attributes.get(attribute)
        return self.engines[self.dealer.owner(value)]

    def know(self, rules: Iterable[Rule]) -> None:
        """Take note of the rules that the engines run now."""
        self.rules = {str(rule.name): rule for rule in rules}
        self.looked = frozenset(name for part in components(tuple(self.rules.values())) for name in part.types)
        self.made = frozenset(rule.composite.name for rule in self.rules.values())


@dataclass(slots=True)
class Place:
    """Where new rules go: a group, with the keys that it goes by then."""

    group: Group
    keys: Attributes | None
    rules: list[Rule]


def place(
    rules: Sequence[Rule], groups: Sequence[Group], shards: int, make_engine: Callable[[], ColumnsEngine]
) -> list[Place]:
    """Find a group for each new rule, a new one where none fits; OptionError if rules link what runs apart.

    Nothing is changed: the groups take up the rules when they are deployed.
    """
    places = [Place(group, group.keys, []) for group in groups]
    parts = components(rules)
    for part in sorted(parts, key=lambda part: (not any(member.sites for member in part.members), -len(part.members))):
        added = [member.rule for member in part.members]
        linked = [known for known in places if _link(part, known)]
        if len(linked) > 1:
            raise _refused(added[0], "it brings together what rules in different threads make or look at")
        if linked:
            _join(linked[0], added)
        elif not _share_keys(part, places, shards, make_engine):
            _smallest(places, shards, make_engine).rules.extend(added)
    order = {str(rule.name): number for number, rule in enumerate(rules)}
    for found in places:
        found.rules.sort(key=lambda rule: order[str(rule.name)])
    return [found for found in places if found.rules]


def _link(part: Component, known: Place) -> bool:
    """Whether rules look at what those of a group make, or the other way round."""
    made = {member.rule.composite.name for member in part.members}
    return not (part.types.isdisjoint(known.group.made) and made.isdisjoint(known.group.looked))


def _join(known: Place, added: list[Rule]) -> None:
    """Add rules to a group that they are linked with; OptionError if its keys are none of theirs."""
    keys = known.keys
    if keys is not None:
        for part in components((*known.group.rules.values(), *known.rules, *added)):
            found = find_keys(part, keys)
            if isinstance(found, Reason):
                raise _refused(added[0], f"rules that it is linked with are spread over threads by key, and {found}")
            keys = found
    known.keys = keys
    known.rules += added


def _share_keys(part: Component, places: list[Place], shards: int, make_engine: Callable[[], ColumnsEngine]) -> bool:
    """Add rules to a group that goes by keys which suit them, or make one; False if no keys do."""
    keyed = [known for known in places if known.keys is not None]
    for known in keyed:
        assert known.keys is not None
        keys = find_keys(part, known.keys)
        if not isinstance(keys, Reason):
            known.keys = keys
            known.rules += [member.rule for member in part.members]
            return True
    keys = find_keys(part, {})
    if isinstance(keys, Reason) or len(keyed) >= _MOST_KEYED or shards == 1:
        return False
    group = Group([make_engine() for _ in range(shards)], keys, Dealer(shards))
    places.append(Place(group, keys, [member.rule for member in part.members]))
    return True


def _smallest(places: list[Place], shards: int, make_engine: Callable[[], ColumnsEngine]) -> Place:
    """Find the group of one engine that has the fewest rules, a new one while there are fewer than threads."""
    whole = [known for known in places if known.keys is None]
    if len(whole) < shards:
        places.append(Place(Group([make_engine()], None, Dealer(1)), None, []))
        return places[-1]
    return min(whole, key=lambda known: len(known.group.rules) + len(known.rules))


def _refused(rule: Rule, why: str) -> OptionError:
    return OptionError.of(
        "threads",
        f"rule '{rule.name}' cannot join the rules that run in several threads: {why}",
        span=rule.span,
        hint="deploy these rules together, before the first event, or run with threads=1",
    )
