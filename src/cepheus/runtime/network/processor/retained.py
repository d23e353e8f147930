"""What a processor keeps of its sources' events for trees that are built anew."""

from __future__ import annotations

from dataclasses import dataclass, field

from cepheus.core.event import Event
from cepheus.core.time import MIN_TIME
from cepheus.engine.matching.store import Record
from cepheus.runtime.network.processor.common import Common
from cepheus.runtime.network.processor.tree import Tree

_PATIENCE = 60_000_000
"""For how long, in microseconds, trees of other processors are waited for beyond what is remembered anyway."""


@dataclass(slots=True)
class Retained:
    """Events that sources here published for trees of an earlier epoch, which those of the present one need again.

    ``awaited`` names the trees that are not yet there; the one tree of strategies that have but one has no name until
    its root is known. All events from ``complete_from`` on are known.
    """

    common: Common
    awaited: set[str] = field(default_factory=set)
    since: int = 0
    complete_from: int = MIN_TIME
    records: list[Record] = field(default_factory=list)

    def is_awaited(self, tree: str) -> bool:
        """Whether a tree takes the place of one of an earlier epoch."""
        return not self.awaited.isdisjoint(("", tree))

    def add(self, source: str, accepted: list[tuple[int, Event]]) -> None:
        """Keep events while trees are awaited; those that never come are not waited for."""
        patience = self.common.options.retain + _PATIENCE
        if self.common.many_trees and self.common.now - self.since > patience:
            self.awaited, self.records = set(), []
            return
        self.records += [Record(event, source, counter) for counter, event in accepted]

    def hand_over(self, tree: Tree) -> dict[int, list[Record]]:
        """Return, by time, what a tree wants of all that is kept; the tree is no longer awaited then."""
        by_time: dict[int, list[Record]] = {}
        for record in self.records:
            if tree.evaluation.wants(record.type):
                again = Record(record.event, record.source, record.counter)
                by_time.setdefault(record.time, []).append(again)
        return by_time

    def arrived(self, tree: str) -> None:
        """Note that a tree is there; what no other tree waits for is let go."""
        self.awaited -= {"", tree}
        if not self.awaited:
            self.records = []

    def begin_epoch(self, trees: dict[str, Tree], sources: set[str], absent: set[str]) -> None:
        """Keep what the trees, which are about to be dropped, know of the sources here; expect the same trees again."""
        kept = {(record.source, record.counter): record for record in self.records}
        for tree in trees.values():
            evaluation = tree.evaluation
            if sources:  # a processor without any has nothing to remember
                self.complete_from = max(self.complete_from, evaluation.forgotten)
            for record in evaluation.all_records():
                if record.source in sources and not record.key[3]:
                    kept.setdefault((record.source, record.counter), record)
        self.records = [
            Record(record.event, record.source, record.counter)
            for record in sorted(kept.values(), key=lambda record: record.key)
            if record.time >= self.complete_from or self.complete_from == MIN_TIME
        ]
        self.since = self.common.now
        self.awaited = (self.awaited | set(trees)) - absent if self.common.many_trees else {""}
