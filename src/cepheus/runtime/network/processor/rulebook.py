"""The rules of the network, as far as a processor must know them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from cepheus.core.errors import CepheusError
from cepheus.core.schema import EventType
from cepheus.core.time import MAX_TIME
from cepheus.plan.partial import input_types, shape_of
from cepheus.rules.check import check
from cepheus.rules.model import Rule, RuleSet
from cepheus.runtime.network.processor.common import Common
from cepheus.runtime.network.processor.sharing import order_of
from cepheus.runtime.network.processor.tree import Tree
from cepheus.runtime.network.protocol.messages import Activate, Ordered, Renew, RuleChange, Settled


@dataclass(slots=True)
class Rulebook:
    """Rules by name in the order in which they were deployed, declared types, and the edition that they are."""

    common: Common
    rules: dict[str, Ordered] = field(default_factory=dict)
    declared: dict[str, EventType] = field(default_factory=dict)
    edition: tuple[int, int] = (0, 0)

    def reach(self) -> int:
        """How far back, in microseconds, the rules look, through the composite events that feed them too."""
        return reach_of_all(ordered.rule for ordered in self.rules.values())

    def accept(self, change: RuleChange) -> Settled:
        """Take rules up or drop them, if that makes sense; say what came of it."""
        for name in change.withdrawn:
            if name not in self.rules:
                return Settled(change.request, None, f"no rule named '{name}' is deployed")
        kept = {name: ordered for name, ordered in self.rules.items() if name not in change.withdrawn}
        for place, rule in enumerate(change.rules):
            name = str(rule.name)
            if name in kept:
                if (kept[name].moment, kept[name].origin) == (change.moment, change.origin):
                    continue  # asked for again, because the answer was lost with a processor
                return Settled(change.request, None, f"a rule named '{name}' is already deployed")
            kept[name] = Ordered(rule, change.moment, change.origin, place)
        declared = {kind.name: kind for kind in change.declarations} | self.declared
        try:
            rules = tuple(ordered.rule for ordered in kept.values())
            check(RuleSet((*self.declared.values(), *change.declarations), rules), closed=False)
        except CepheusError as error:
            return Settled(change.request, None, str(error))
        self.declared = declared
        self.edition = (self.common.epoch, self.edition[1] + 1)
        self._replace(kept.values())
        return Settled(change.request, self.common.now)

    def learn(self, message: Renew) -> bool:
        """Take over rules that a neighbour knows and this processor does not; True if there are any."""
        declared = {kind.name: kind for kind in message.declarations}
        if self.common.many_trees:
            more = [ordered for ordered in message.rules if str(ordered.rule.name) not in self.rules]
            self.declared = declared | self.declared
            self._replace((*self.rules.values(), *more))
            return bool(more)
        if message.edition <= self.edition:
            return False
        self.edition, self.declared = message.edition, declared
        self.rules = {str(ordered.rule.name): ordered for ordered in message.rules}
        return True

    def adopt(self, message: Activate) -> None:
        """Take over the edition that the root has activated, if it names one that is news."""
        if message.rules or message.edition > self.edition:
            self.edition = message.edition
            self.declared = {kind.name: kind for kind in message.declarations}
            self.rules = {str(ordered.rule.name): ordered for ordered in message.rules}

    def note_since(self, trees: Iterable[Tree]) -> None:
        """Write down since when rules hold in the trees of which this processor is the root."""
        for tree in trees:
            for name, (rule, since) in tree.active.items():
                known = self.rules.get(name)
                if tree.is_root and known is not None and known.rule == rule:
                    self.rules[name] = replace(known, since=since)

    def as_renewal(self) -> Renew:
        """All of it, for neighbours, at the beginning of an epoch."""
        return Renew(self.common.epoch, self.edition, tuple(self.rules.values()), tuple(self.declared.values()))

    def _replace(self, rules: Iterable[Ordered]) -> None:
        self.rules = {str(ordered.rule.name): ordered for ordered in sorted(rules, key=order_of)}


def reach_of_all(rules: Iterable[Rule]) -> int:
    """How far back rules look, through the composite events that feed them, too: windows add up."""
    makers: dict[str, list[Rule]] = {}
    for rule in rules:
        makers.setdefault(rule.composite.name, []).append(rule)
    known: dict[int, int] = {}

    def look(rule: Rule) -> int:
        if id(rule) not in known:
            known[id(rule)] = 0  # whoever feeds itself is not gone into again
            below = [look(maker) for kind in input_types(rule) for maker in makers.get(kind, ())]
            known[id(rule)] = min(shape_of(rule).reach + max(below, default=0), MAX_TIME)
        return known[id(rule)]

    return max([look(rule) for made in makers.values() for rule in made], default=0)
