"""When the network changes: trees are built anew without a neighbour that is gone, or with one found again.

Everybody starts an *epoch*: trees are dropped, a leader is elected, trees are created. What sources published in the
last windows is remembered where it was published and evaluated again; sinks know what they were told and are told
nothing twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cepheus.runtime.network.processor.changes import Changes
from cepheus.runtime.network.processor.common import Common
from cepheus.runtime.network.processor.election import Election
from cepheus.runtime.network.processor.flow import Flow
from cepheus.runtime.network.processor.rulebook import Rulebook
from cepheus.runtime.network.processor.sinks import Sinks
from cepheus.runtime.network.processor.sources import Retained, Sources
from cepheus.runtime.network.processor.trees import Trees
from cepheus.runtime.network.protocol.messages import Elect, Elected, Found, Lost, Message, Renew, Start


@dataclass(slots=True)
class Renewal:
    """Epochs: who is there and who leads.

    ``absent`` are neighbours that were given up; those that are ``behind`` have not yet begun the present epoch.
    """

    common: Common
    rulebook: Rulebook
    sources: Sources
    retained: Retained
    trees: Trees
    sinks: Sinks
    flow: Flow
    changes: Changes
    election: Election
    rank: int = 0
    absent: set[str] = field(default_factory=set)
    behind: set[str] = field(default_factory=set)

    def is_of_the_past(self, message: Message, sender: str) -> bool:
        """Whether a neighbour sent this before it knew of the present epoch."""
        return sender in self.behind and not isinstance(message, Renew)

    def on_election(self, message: Start | Elect | Elected, sender: str) -> None:
        """Take part in the election; the winner plants the tree, where there is but one."""
        if isinstance(message, Start):
            self.rank = message.rank
        for to, answer in self.election.handle(message, sender):
            self.common.send(to, answer)
        if self.election.won and self.trees.leader is None:
            self.trees.leader = self.common.name
            if not self.common.many_trees:
                self.trees.plant()

    def on_change_of_network(self, message: Renew | Lost | Found, sender: str) -> None:
        """Begin an epoch when a neighbour is lost or found, or has begun one itself."""
        match message:
            case Renew():
                self._on_renew(message, sender)
            case Lost():
                self._on_lost(message)
            case Found():
                self._on_found(message)

    def _on_lost(self, message: Lost) -> None:
        """Go on without a neighbour."""
        neighbours = self.common.neighbours
        if message.neighbour in neighbours:
            self.absent.add(message.neighbour)
            self.common.neighbours = tuple(name for name in neighbours if name != message.neighbour)
            self._begin_epoch(self.common.epoch + 1, "")

    def _on_found(self, message: Found) -> None:
        """Go on with a neighbour that had been given up."""
        if message.neighbour in self.absent:
            self.absent.discard(message.neighbour)
            self.common.neighbours = tuple(sorted((*self.common.neighbours, message.neighbour)))
            self._begin_epoch(self.common.epoch + 1, "")

    def _on_renew(self, message: Renew, sender: str) -> None:
        """Learn the rules that a neighbour knows, and begin its epoch if that is later."""
        if self.rulebook.learn(message) and message.epoch == self.common.epoch:
            self.common.send_to_neighbours(self.rulebook.as_renewal(), but=sender)
        if message.epoch > self.common.epoch:
            self._begin_epoch(message.epoch, sender)
        elif message.epoch == self.common.epoch:
            self.behind.discard(sender)

    def _begin_epoch(self, epoch: int, sender: str) -> None:
        """Drop all trees, remember what they need to be built anew, and elect a leader."""
        trees = self.trees
        self.retained.begin_epoch(trees.by_name, set(self.sources.by_name), self.absent)
        self.rulebook.note_since(trees.by_name.values())
        self.common.epoch = epoch
        trees.by_name, trees.leader = {}, None
        self.flow.due.clear()
        self.behind = set(self.common.neighbours) - {sender}
        self.changes.begin_epoch()
        self.sources.begin_epoch()
        self.common.send_to_neighbours(self.rulebook.as_renewal())
        self.election = Election(self.common.name, self.common.neighbours)
        self.on_election(Start(self.rank), "")
        if self.common.many_trees and self.sinks.by_name and trees.own is None:
            trees.plant()
