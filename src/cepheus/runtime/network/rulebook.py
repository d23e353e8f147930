"""A processor and the rules it knows: requests of clients, changes on their way, which rules its tree needs."""

from __future__ import annotations

from dataclasses import replace

from cepheus.core.errors import CepheusError
from cepheus.core.schema import EventType
from cepheus.core.time import MIN_TIME
from cepheus.plan.partial import input_types
from cepheus.rules.check import check
from cepheus.rules.expressions import EventPattern
from cepheus.rules.model import Pattern, Rule, RuleSet
from cepheus.runtime.network.messages import (
    Deployed,
    DeployRules,
    Ordered,
    Refused,
    RuleChange,
    Settled,
    WithdrawRules,
)
from cepheus.runtime.network.sharing import RELAY, order_of
from cepheus.runtime.network.sinks import Sinks


class Rulebook(Sinks):
    """The rules that have been deployed in the network, as far as this processor must know them."""

    def _on_request(self, message: DeployRules | WithdrawRules, sender: str) -> None:
        self._requests[message.request] = sender
        change = RuleChange(message.request, self.name, self._now)
        if isinstance(message, DeployRules):
            change = replace(change, rules=message.rules, declarations=message.declarations)
        else:
            change = replace(change, withdrawn=message.names)
        if self._many:
            settled = self._accept(change)
            self._settle(settled)
            if settled.since is not None:
                self._flood(change, "")
            return
        self._open_changes[message.request] = change
        tree = self.trees.get(self.leader) if self.leader is not None else None
        if tree is None:
            self._changes.append(change)
        else:
            self._on_rule_change(change, "")

    def _on_rule_change(self, change: RuleChange, sender: str) -> None:
        if self._many:
            if (change.origin, change.request) not in self._known_changes:
                self._accept(change)
                self._flood(change, sender)
            return
        tree = self.trees.get(self.leader) if self.leader is not None else None
        if tree is None:
            self._changes.append(change)
        elif tree.father is not None:
            self._send(tree.father, change)
        else:
            tree.settling.append(self._accept(change))
            self._reconfigure(tree)

    def _pass_changes_on(self) -> None:
        """Hand on what was asked for before there was a tree."""
        changes, self._changes = self._changes, []
        for change in changes:
            self._on_rule_change(change, "")

    def _flood(self, change: RuleChange, sender: str) -> None:
        self._known_changes.add((change.origin, change.request))
        for neighbour in self.neighbours:
            if neighbour != sender:
                self._send(neighbour, change)
        own = self.trees.get(self.name)
        if own is not None and own.complete:
            self._reconfigure(own)
        elif own is None and self._wanted_rules():
            self._plant()

    def _accept(self, change: RuleChange) -> Settled:
        """Take rules up or drop them, if that makes sense."""
        self._known_changes.add((change.origin, change.request))
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
        declared = {kind.name: kind for kind in change.declarations} | self._declared
        try:
            rules = tuple(ordered.rule for ordered in kept.values())
            check(RuleSet((*self._declared.values(), *change.declarations), rules), closed=False)
        except CepheusError as error:
            return Settled(change.request, None, str(error))
        self._declared = declared
        self._edition = (self.epoch, self._edition[1] + 1)
        self.rules = dict(sorted(kept.items(), key=lambda item: order_of(item[1])))
        return Settled(change.request, self._now)

    def _settle(self, settled: Settled) -> None:
        self._open_changes.pop(settled.request, None)
        client = self._requests.pop(settled.request, None)
        if client is None:
            return
        if settled.since is None:
            self._send(client, Refused(settled.request, settled.reason))
        else:
            self._send(client, Deployed(settled.request, None if self._many else settled.since))

    def _wanted_types(self) -> set[str]:
        if self._many:
            return {pattern.type for sink in self._sinks.values() for pattern in sink.patterns}
        tree = self.trees[self.name]
        found = {pattern.type for child in tree.children.values() for pattern in child.interests}
        return found | {pattern.type for sink in self._sinks.values() for pattern in sink.patterns}

    def _wanted_rules(self) -> list[Ordered]:
        """Give the rules that this processor's tree must evaluate; with many trees only those that a sink needs."""
        if not self._many:
            return list(self.rules.values())
        wanted = self._wanted_types()
        found: dict[str, Ordered] = {}
        while True:
            more = [o for n, o in self.rules.items() if n not in found and o.rule.composite.name in wanted]
            if not more:
                return sorted(found.values(), key=order_of)
            for ordered in more:
                found[str(ordered.rule.name)] = ordered
                wanted |= input_types(ordered.rule)

    def _wanted(self) -> list[Ordered]:
        """Give the rules for this processor's tree, with stand-ins for primitive events that sinks ask for."""
        tree = self.trees[self.name]
        produced = tree.types(self._local_types())
        relays = [
            Ordered(
                Rule(EventType(RELAY + kind), Pattern(EventPattern(kind)), name=RELAY + kind),
                MIN_TIME,
                "",
                0,
            )
            for kind in sorted(self._wanted_types() & produced)
        ]
        return [*relays, *self._wanted_rules()]
