"""The sources at a processor: who is attached, which of their events count, how far they are.

What a processor keeps of their events is for trees that are built anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cepheus.core.event import Event
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.engine.matching.store import Record
from cepheus.runtime.network.processor.common import Common
from cepheus.runtime.network.processor.tree import Tree
from cepheus.runtime.network.protocol.event_columns import EventColumns
from cepheus.runtime.network.protocol.messages import Admitted, AttachSource, Publish

Accepted = list[tuple[int, Event]]
"""Events of a source, each with its number."""


@dataclass(slots=True)
class Source:
    """A source at this processor: how far it has published, and since when its events count in each tree.

    While a tree is being settled, it is ``holding``: the source must not be overtaken.
    """

    client: str
    types: frozenset[str]
    through: int = MIN_TIME
    latest: int = MIN_TIME
    since: dict[str, int] = field(default_factory=dict)
    holding: set[str] = field(default_factory=set)
    counter: int = 0
    admitted: bool = False
    gone: bool = False

    def is_settled(self, tree: str, ticked: int) -> bool:
        """Whether all that the source publishes counts in a tree, until the tree or the source changes."""
        return self.since[tree] <= max(self.through, ticked) and tree not in self.holding

    def bound(self, tree: str, ticked: int) -> int:
        """The time up to which everything that the source has for a tree is known, ticks included."""
        since = self.since[tree]
        if tree in self.holding:
            return since
        return max(since - 1, self.through, ticked)


@dataclass(slots=True)
class Sources:
    """Sources by name; ticks promise for all of them, and are not written down with each.

    ``counts`` says how many events of each type were published since it was last cleared. ``slowest`` holds, by tree,
    how far the sources are but for ticks, where that is known.
    """

    common: Common
    by_name: dict[str, Source] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    ticked: int = MIN_TIME
    slowest: dict[str, int] = field(default_factory=dict)

    def attach(self, message: AttachSource, client: str) -> Source:
        """Add a source, or give one that was known before to a client."""
        self.apply_ticks()
        self.ticked = MIN_TIME  # those so far were not for the new source
        before = self.by_name.get(message.source)
        source = Source(client, frozenset(message.types))
        if before is not None:
            source.counter = before.counter
            source.types |= before.types
            source.latest = before.latest
        self.by_name[message.source] = source
        return source

    def detach(self, name: str) -> bool:
        """Wait no longer for a source; False if there is none of that name."""
        source = self.by_name.get(name)
        if source is None:
            return False
        source.gone = True
        self.slowest.clear()
        return True

    def types(self) -> frozenset[str]:
        """The types that sources here publish."""
        return frozenset[str]().union(*(source.types for source in self.by_name.values()))

    def admit(self, name: str, source: Source, since: int) -> None:
        """Let a source publish events from a time on."""
        if not source.admitted and not source.gone:
            source.admitted = True
            source.through = max(source.through, since - 1)
            self.slowest.clear()
            self.common.send(source.client, Admitted(name, since))

    def accept(
        self, source: Source, message: Publish, trees: Mapping[str, Tree], *, keep_all: bool
    ) -> tuple[Accepted, int]:
        """Number the events of a source; return those that may matter to a tree, and how many came too late."""
        if not isinstance(message.events, EventColumns):
            return self._accept_singly(source, message)
        columns = message.events
        rows: Sequence[int] = range(len(columns))
        if not source.admitted:
            return [], len(rows)
        through = max(source.through, self.ticked)
        foreign = {code for code, (kind, _) in enumerate(columns.shapes) if kind not in source.types}
        if foreign or (rows and min(columns.times) <= through):
            times, codes = columns.times, columns.codes
            rows = [row for row in rows if times[row] > through and codes[row] not in foreign]
        if not rows:
            return [], len(columns)
        first = source.counter + 1
        source.counter += len(rows)
        source.latest = max(source.latest, *(columns.times[row] for row in rows))
        for kind, count in columns.counts(rows).items():
            self.counts[kind] = self.counts.get(kind, 0) + count
        concerned = [tree for name, tree in trees.items() if name in source.since]
        masks = [columns.wanted(tree.evaluation.contents) for tree in concerned]
        wanted = [
            (first + place, row) for place, row in enumerate(rows) if keep_all or any(mask[row] for mask in masks)
        ]
        events = columns.events(row for _, row in wanted)
        accepted = [
            (counter, _named(event, message.source, counter))
            for (counter, _), event in zip(wanted, events, strict=True)
        ]
        return accepted, len(columns) - len(rows)

    def _accept_singly(self, source: Source, message: Publish) -> tuple[Accepted, int]:
        """Do the same for events that did not come in columns: in simulations mostly one at a time."""
        late = 0
        accepted: Accepted = []
        through = max(source.through, self.ticked)
        for event in message.events:
            if event.time <= through or not source.admitted or event.type not in source.types:
                late += 1
                continue
            source.counter += 1
            source.latest = max(source.latest, event.time)
            self.counts[event.type] = self.counts.get(event.type, 0) + 1
            accepted.append((source.counter, _named(event, message.source, source.counter)))
        return accepted, late

    def promise(self, source: Source, through: int | None) -> None:
        """Note that a source has published all it has up to a time."""
        if through is not None and through > source.through:
            if source.through in self.slowest.values():
                self.slowest.clear()
            source.through = through

    def tick(self, through: int | None) -> None:
        """Note the same for all sources."""
        if through is not None and through > self.ticked:
            self.ticked = through

    def through(self, tree: str) -> int:
        """The time up to which the sources here have published what they have for a tree."""
        slowest = self.slowest.get(tree)
        if slowest is None:
            ticked = self.ticked
            sources = [source for source in self.by_name.values() if tree in source.since and not source.gone]
            if not all(source.is_settled(tree, ticked) for source in sources):
                return min([source.bound(tree, ticked) for source in sources])
            slowest = self.slowest[tree] = min([source.through for source in sources], default=MAX_TIME)
        return slowest if slowest > self.ticked else self.ticked

    def any_for(self, tree: str) -> bool:
        """Whether some source still publishes for a tree."""
        return any(tree in source.since and not source.gone for source in self.by_name.values())

    def apply_ticks(self) -> None:
        """Write down with each source what ticks have promised for all of them."""
        for source in self.by_name.values():
            source.through = max(source.through, self.ticked)
        self.slowest.clear()

    def begin_epoch(self) -> None:
        """Forget the trees for which sources publish."""
        self.slowest.clear()
        for source in self.by_name.values():
            source.since, source.holding = {}, set()


def _named(event: Event, source: str, counter: int) -> Event:
    """The event with an id that is its own in the whole network, if it has none."""
    if event.id is not None:
        return event
    return Event(
        event.type,
        event.time,
        event.attributes,
        f"{source}:{counter}",
        event.sequence,
        event.probability,
        event.errors,
        event.start,
        event.rule,
        event.made_of,
    )


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
