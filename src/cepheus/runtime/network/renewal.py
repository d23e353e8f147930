"""A processor when the network changes: trees are built anew without a neighbour that is gone, or with one found again.

Everybody starts an *epoch*: trees are dropped, a leader is elected, trees are created. What sources published in the
last windows is remembered where it was published and evaluated again; sinks know what they were told and are told
nothing twice.
"""

from __future__ import annotations

from dataclasses import replace

from cepheus.core.time import MIN_TIME
from cepheus.runtime.network.election import Election
from cepheus.runtime.network.messages import Found, Lost, Message, Renew, Start
from cepheus.runtime.network.programs import Programs
from cepheus.runtime.network.sharing import order_of
from cepheus.runtime.network.store import Record


class Renewal(Programs):
    """Epochs: who is there, and what must be remembered from one epoch to the next."""

    def _is_of_the_past(self, message: Message, sender: str) -> bool:
        """Tell whether a neighbour sent this before it knew of the present epoch."""
        return sender in self._behind and not isinstance(message, Renew)

    def _on_change_of_network(self, message: Renew | Lost | Found, sender: str) -> None:
        match message:
            case Renew():
                self._on_renew(message, sender)
            case Lost():
                self._on_lost(message)
            case Found():
                self._on_found(message)

    def _on_lost(self, message: Lost) -> None:
        if message.neighbour in self.neighbours:
            self.absent.add(message.neighbour)
            self.neighbours = tuple(name for name in self.neighbours if name != message.neighbour)
            self._begin_epoch(self.epoch + 1, "")

    def _on_found(self, message: Found) -> None:
        if message.neighbour in self.absent:
            self.absent.discard(message.neighbour)
            self.neighbours = tuple(sorted((*self.neighbours, message.neighbour)))
            self._begin_epoch(self.epoch + 1, "")

    def _on_renew(self, message: Renew, sender: str) -> None:
        if self._learn(message) and message.epoch == self.epoch:
            for neighbour in self.neighbours:
                if neighbour != sender:
                    self._send(neighbour, self._renewal())
        if message.epoch > self.epoch:
            self._begin_epoch(message.epoch, sender)
        elif message.epoch == self.epoch:
            self._behind.discard(sender)

    def _renewal(self) -> Renew:
        return Renew(self.epoch, self._edition, tuple(self.rules.values()), tuple(self._declared.values()))

    def _learn(self, message: Renew) -> bool:
        """Take over rules that the sender knows and this processor does not; True if there are any."""
        declared = {kind.name: kind for kind in message.declarations}
        if self._many:
            more = {str(o.rule.name): o for o in message.rules if str(o.rule.name) not in self.rules}
            self._declared = declared | self._declared
            self.rules = dict(sorted((self.rules | more).items(), key=lambda item: order_of(item[1])))
            return bool(more)
        if message.edition <= self._edition:
            return False
        self._edition, self._declared = message.edition, declared
        self.rules = {str(ordered.rule.name): ordered for ordered in message.rules}
        return True

    def _begin_epoch(self, epoch: int, sender: str) -> None:
        """Drop all trees, remember what they need to be built anew, and elect a leader."""
        self._remember()
        self.epoch = epoch
        self._renewed_at = self._now
        self._awaited = (self._awaited | set(self.trees)) - self.absent if self._many else {""}
        self.trees, self.leader = {}, None
        self._dirty.clear()
        self._behind = set(self.neighbours) - {sender}
        self._changes = [] if self._many else list(self._open_changes.values())
        self._slowest.clear()
        for source in self._sources.values():
            source.since, source.holding = {}, set()
        for neighbour in self.neighbours:
            self._send(neighbour, self._renewal())
        self._election = Election(self.name, self.neighbours)
        self._on_election(Start(self._rank), "")
        if self._many and self._sinks and self.name not in self.trees:
            self._plant()

    def _remember(self) -> None:
        """Keep the events of local sources, and from when on all of them are known; and since when rules hold."""
        kept = {(record.source, record.counter): record for record in self._retained}
        for tree in self.trees.values():
            evaluation = tree.evaluation
            if self._sources:  # a processor without any has nothing to remember
                self._remembers_from = max(self._remembers_from, evaluation.forgotten)
            for record in evaluation.all_records():
                if record.source in self._sources and not record.key[3]:
                    kept.setdefault((record.source, record.counter), record)
            for name, (rule, since) in tree.active.items():
                known = self.rules.get(name)
                if tree.is_root and known is not None and known.rule == rule:
                    self.rules[name] = replace(known, since=since)
        self._retained = [
            Record(record.event, record.source, record.counter)
            for record in sorted(kept.values(), key=lambda record: record.key)
            if record.time >= self._remembers_from or self._remembers_from == MIN_TIME
        ]
