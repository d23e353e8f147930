"""Changes of the rules on their way: from the client that asks for one to whoever decides, and the answer back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from cepheus.runtime.network.processor.common import Common
from cepheus.runtime.network.processor.programs import Programs
from cepheus.runtime.network.processor.rulebook import Rulebook
from cepheus.runtime.network.processor.trees import Trees
from cepheus.runtime.network.protocol.messages import Deployed, DeployRules, Refused, RuleChange, Settled, WithdrawRules


@dataclass(slots=True)
class Changes:
    """Requests by the clients that made them, and changes that are not settled yet.

    With one tree its root decides; with many, whoever is asked decides and tells everybody.
    """

    common: Common
    rulebook: Rulebook
    trees: Trees
    programs: Programs
    clients: dict[str, str] = field(default_factory=dict)
    waiting: list[RuleChange] = field(default_factory=list)
    unsettled: dict[str, RuleChange] = field(default_factory=dict)
    seen: set[tuple[str, str]] = field(default_factory=set)

    def on_request(self, message: DeployRules | WithdrawRules, sender: str) -> None:
        """Take up a client's request."""
        self.clients[message.request] = sender
        change = RuleChange(message.request, self.common.name, self.common.now)
        if isinstance(message, DeployRules):
            change = replace(change, rules=message.rules, declarations=message.declarations)
        else:
            change = replace(change, withdrawn=message.names)
        if self.common.many_trees:
            settled = self._accept(change)
            self.settle(settled)
            if settled.since is not None:
                self._flood(change, "")
            return
        self.unsettled[message.request] = change
        self.on_rule_change(change, "")

    def on_rule_change(self, change: RuleChange, sender: str) -> None:
        """Decide on a change, or hand it on to whoever does."""
        if self.common.many_trees:
            if (change.origin, change.request) not in self.seen:
                self._accept(change)
                self._flood(change, sender)
            return
        tree = self.trees.of_leader
        if tree is None:
            self.waiting.append(change)
        elif tree.father is not None:
            self.common.send(tree.father, change)
        else:
            tree.settling.append(self._accept(change))
            self.programs.reconfigure(tree)

    def pass_on(self) -> None:
        """Hand on what was asked for before there was a tree."""
        waiting, self.waiting = self.waiting, []
        for change in waiting:
            self.on_rule_change(change, "")

    def _accept(self, change: RuleChange) -> Settled:
        self.seen.add((change.origin, change.request))
        return self.rulebook.accept(change)

    def _flood(self, change: RuleChange, sender: str) -> None:
        self.common.send_to_neighbours(change, but=sender)
        own = self.trees.own
        if own is not None and own.complete:
            self.programs.reconfigure(own)
        elif own is None and self.programs.wanted_rules():
            self.trees.plant()

    def settle(self, settled: Settled) -> None:
        """Answer the client that asked for a change, if it did so here."""
        self.unsettled.pop(settled.request, None)
        client = self.clients.pop(settled.request, None)
        if client is None:
            return
        if settled.since is None:
            self.common.send(client, Refused(settled.request, settled.reason))
        else:
            self.common.send(client, Deployed(settled.request, None if self.common.many_trees else settled.since))

    def begin_epoch(self) -> None:
        """Ask again for what the root of an earlier epoch may not have settled."""
        self.waiting = [] if self.common.many_trees else list(self.unsettled.values())
