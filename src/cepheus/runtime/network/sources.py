"""A processor and its sources: who is attached, which of their events count, how far they are."""

from __future__ import annotations

from collections.abc import Sequence

from cepheus.core.event import Event
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.runtime.network.clients import Source
from cepheus.runtime.network.columns import EventColumns
from cepheus.runtime.network.messages import Admitted, AttachSource, DetachSource, Publish
from cepheus.runtime.network.rulebook import Rulebook
from cepheus.runtime.network.tree import Tree


class Sources(Rulebook):
    """Sources at this processor; ticks promise for all of them, and are not written down with each."""

    def _on_attach_source(self, message: AttachSource, sender: str) -> None:
        self.apply_ticks()
        self._ticked = MIN_TIME  # those so far were not for the new source
        before = self._sources.get(message.source)
        source = Source(sender, frozenset(message.types))
        if self.options.retain:
            for tree in self.trees.values():
                tree.evaluation.retained_from = min(tree.evaluation.retained_from, tree.evaluation.forgotten)
        if before is not None:
            source.counter = before.counter
            source.types |= before.types
            source.latest = before.latest
        self._sources[message.source] = source
        if self._many and not self.trees:
            self._admit(message.source, source, MIN_TIME + 1)
        for tree in self.trees.values():
            if tree.complete:
                self._advertise(tree)

    def _on_detach_source(self, message: DetachSource) -> None:
        source = self._sources.get(message.source)
        if source is not None:
            source.gone = True
            self._slowest.clear()
            self._dirty.update(self.trees)

    def _admit(self, name: str, source: Source, since: int) -> None:
        if not source.admitted and not source.gone:
            source.admitted = True
            source.through = max(source.through, since - 1)
            self._slowest.clear()
            self._send(source.client, Admitted(name, since))

    def _accept_events(self, source: Source, message: Publish) -> tuple[list[tuple[int, Event]], int]:
        """Number the events of a source; give those that may matter here, and how many came too late."""
        if not isinstance(message.events, EventColumns):
            return self._accept_singly(source, message)
        columns = message.events
        rows: Sequence[int] = range(len(columns))
        if not source.admitted:
            return [], len(rows)
        through = max(source.through, self._ticked)
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
            self._local_counts[kind] = self._local_counts.get(kind, 0) + count
        trees = [tree for name, tree in self.trees.items() if name in source.since]
        masks = [columns.wanted(tree.evaluation.contents) for tree in trees]
        wanted = [
            (first + place, row) for place, row in enumerate(rows) if self._awaited or any(mask[row] for mask in masks)
        ]
        events = columns.events(row for _, row in wanted)
        accepted = [
            (counter, _named(event, message.source, counter))
            for (counter, _), event in zip(wanted, events, strict=True)
        ]
        return accepted, len(columns) - len(rows)

    def _accept_singly(self, source: Source, message: Publish) -> tuple[list[tuple[int, Event]], int]:
        """Do the same for events that did not come in columns: in simulations mostly one at a time."""
        late = 0
        accepted: list[tuple[int, Event]] = []
        through = max(source.through, self._ticked)
        for event in message.events:
            if event.time <= through or not source.admitted or event.type not in source.types:
                late += 1
                continue
            source.counter += 1
            source.latest = max(source.latest, event.time)
            self._local_counts[event.type] = self._local_counts.get(event.type, 0) + 1
            accepted.append((source.counter, _named(event, message.source, source.counter)))
        return accepted, late

    def _sources_through(self, tree: Tree) -> int:
        """Give the time up to which the sources here have published what they have."""
        name = tree.name
        slowest = self._slowest.get(name)
        if slowest is None:
            ticked = self._ticked
            sources = [source for source in self._sources.values() if name in source.since and not source.gone]
            if not all(source.is_settled(name, ticked) for source in sources):
                return min([source.bound(name, ticked) for source in sources])
            slowest = self._slowest[name] = min([source.through for source in sources], default=MAX_TIME)
        return slowest if slowest > self._ticked else self._ticked

    def apply_ticks(self) -> None:
        """Write down with each source what ticks have promised for all of them."""
        for source in self._sources.values():
            source.through = max(source.through, self._ticked)
        self._slowest.clear()


def _named(event: Event, source: str, counter: int) -> Event:
    """Give an event an id that is its own in the whole network, if it has none."""
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
