"""A processor and the flow of events: sources, evaluation as far as it is safe, what goes to fathers, awakenings."""

from __future__ import annotations

from collections.abc import Sequence

from cepheus.core.event import Event
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.runtime.network.clients import Source
from cepheus.runtime.network.columns import EventColumns
from cepheus.runtime.network.filtering import Opening
from cepheus.runtime.network.messages import (
    Admitted,
    AttachSource,
    Awaken,
    DetachSource,
    Entry,
    Events,
    LateEvents,
    Publish,
    Pulled,
    Release,
    Tick,
)
from cepheus.runtime.network.rulebook import Rulebook
from cepheus.runtime.network.store import Record
from cepheus.runtime.network.strategy import Order
from cepheus.runtime.network.tree import Tree

_AWAIT = 60_000_000


class Flow(Rulebook):
    """Events on their way from sources to roots."""

    def _on_attach_source(self, message: AttachSource, sender: str) -> None:
        before = self._sources.get(message.source)
        source = Source(sender, frozenset(message.types))
        for tree in self.trees.values():
            tree.evaluation.retain = self.options.retain
        if before is not None:
            source.counter = before.counter
            source.types |= before.types
            source.latest = before.latest
        self._sources[message.source] = source
        if self.options.strategy.many_trees and not self.trees:
            self._admit(message.source, source, MIN_TIME + 1)
        for tree in self.trees.values():
            if tree.complete:
                self._advertise(tree)

    def _on_detach_source(self, message: DetachSource) -> None:
        source = self._sources.get(message.source)
        if source is not None:
            source.gone = True
            self._dirty.update(self.trees)

    def _on_publish(self, message: Publish) -> None:
        source = self._sources.get(message.source)
        if source is None or source.gone:
            return
        accepted, late = self._accept_events(source, message)
        if self._awaited:
            self._retain(message.source, accepted)
        for name, tree in self.trees.items():
            if name not in source.since:
                continue
            since = MIN_TIME if name in source.holding else source.since[name]
            for counter, event in accepted:
                if event.time >= since and tree.evaluation.wants(event.type):
                    self._arrive(tree, event.time, [Record(event, message.source, counter)])
                    self._dirty.add(name)
        if message.through is not None and message.through > source.through:
            source.through = message.through
            if self.options.order is Order.PROGRESS:
                self._dirty.update(self.trees)
        if late:
            self._send(source.client, LateEvents(message.source, late))

    def _accept_events(self, source: Source, message: Publish) -> tuple[list[tuple[int, Event]], int]:
        """Number the events of a source; give those that may matter here, and how many came too late."""
        if not isinstance(message.events, EventColumns):
            return self._accept_singly(source, message)
        columns = message.events
        rows: Sequence[int] = range(len(columns))
        if not source.admitted:
            return [], len(rows)
        foreign = {code for code, (kind, _) in enumerate(columns.shapes) if kind not in source.types}
        if foreign or (rows and min(columns.times) <= source.through):
            times, codes, through = columns.times, columns.codes, source.through
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
        for event in message.events:
            if event.time <= source.through or not source.admitted or event.type not in source.types:
                late += 1
                continue
            source.counter += 1
            source.latest = max(source.latest, event.time)
            self._local_counts[event.type] = self._local_counts.get(event.type, 0) + 1
            accepted.append((source.counter, _named(event, message.source, source.counter)))
        return accepted, late

    def _retain(self, source: str, accepted: list[tuple[int, Event]]) -> None:
        """Keep events for trees that are being built anew; those that never come are not waited for."""
        if self._many_awaited_too_long():
            self._awaited, self._retained = set(), []
            return
        self._retained += [Record(event, source, counter) for counter, event in accepted]

    def _many_awaited_too_long(self) -> bool:
        return self.options.strategy.many_trees and self._now - self._renewed_at > self.options.retain + _AWAIT

    def _feed_retained(self, tree: Tree) -> None:
        """Let a renewed tree have what sources here published for those it replaces."""
        by_time: dict[int, list[Record]] = {}
        for record in self._retained:
            if tree.evaluation.wants(record.type):
                again = Record(record.event, record.source, record.counter)
                by_time.setdefault(record.time, []).append(again)
        for at, records in by_time.items():
            self._arrive(tree, at, records)
        self._awaited -= {"", tree.name}
        if not self._awaited:
            self._retained = []

    def _on_tick(self, message: Tick) -> None:
        through = message.through
        if through is not None:
            for source in self._sources.values():
                source.through = max(source.through, through)
        for name, tree in self.trees.items():
            if tree.children_through() > tree.evaluation.done:  # otherwise it waits for children, not for sources
                self._dirty.add(name)

    def _sources_through(self, tree: Tree) -> int:
        bound, name = MAX_TIME, tree.name
        for source in self._sources.values():
            since = source.since.get(name)
            if since is not None and not source.gone:
                settled = since <= source.through and name not in source.holding
                bound = min(bound, source.through if settled else source.bound(name))
        return bound

    def _limit(self, tree: Tree) -> int:
        """Give the time up to which nothing more will come; MAX_TIME if nobody has anything to send.

        If that has been evaluated, sources are not asked: they can only make it earlier.
        """
        children = tree.children_through()
        if children <= tree.evaluation.done:
            return children
        sources = self._sources_through(tree)
        return children if children < sources else sources

    def _admit(self, name: str, source: Source, since: int) -> None:
        if not source.admitted and not source.gone:
            source.admitted = True
            source.through = max(source.through, since - 1)
            self._send(source.client, Admitted(name, since))

    def _arrive(self, tree: Tree, at: int, records: list[Record]) -> None:
        """Take in events that come to be known at one moment."""
        if tree.pulling.masters:
            for record in records:
                if record.time == at:
                    for to, awaken in tree.pulling.wake(tree.name, record):
                        self._send(to, awaken)
        if self.options.order is Order.ARRIVAL and at < tree.pulling.holds:
            tree.evaluation.instant(at, records)
        else:
            tree.evaluation.arrive(at, records)

    def _on_events(self, message: Events, sender: str) -> None:
        together: dict[tuple[str, int], list[Record]] = {}
        for entry in message.entries:
            for name in entry.trees:
                if self.trees[name].evaluation.wants(entry.event.type):
                    record = Record(entry.event, entry.source, entry.counter)
                    together.setdefault((name, entry.at), []).append(record)
                self._dirty.add(name)
        for (name, at), records in together.items():
            self._arrive(self.trees[name], at, records)
        for name, through in message.through:
            tree = self.trees[name]
            tree.children[sender].through = through
            self._dirty.add(name)

    def _progress(self, tree: Tree) -> None:
        """Evaluate as far as it is safe, and tell the father."""
        evaluation = tree.evaluation
        if self.options.order is Order.ARRIVAL:
            evaluation.advance(min(self._now, tree.pulling.holds - 1))
        elif tree.wave is None or not tree.wave.switched:
            limit = self._limit(tree)
            if self._is_idle(tree, limit):
                self._dirty.discard(tree.name)
                return
            if limit < MAX_TIME:
                evaluation.advance(min(limit, tree.pulling.holds - 1))
            elif evaluation.waits_for is not None:
                self._drain(tree)
        self._take_sent(tree)
        if self._pulls:
            self._release(tree)

    def _is_idle(self, tree: Tree, limit: int) -> bool:
        """Tell whether a tree has nothing to evaluate, to send or to promise, as at most heartbeats."""
        evaluation = tree.evaluation
        done = evaluation.done
        if limit > done or evaluation.sent or evaluation.made or self._pulls or tree.wave is not None:
            return False
        waits_for = evaluation.waits_for
        return (waits_for is None or waits_for > limit) and (
            tree.father is None or not tree.was_active or tree.promised == done
        )

    def _drain(self, tree: Tree) -> None:
        """Nobody has anything more to send: evaluate what waits."""
        tree.evaluation.advance(min(tree.evaluation.last_pending, tree.pulling.holds - 1))

    def _has_inputs(self, tree: Tree) -> bool:
        name = tree.name
        for source in self._sources.values():
            if name in source.since and not source.gone:
                return True
        return tree.children_through() < MAX_TIME

    def _take_sent(self, tree: Tree) -> None:
        """Put composite events on their way."""
        evaluation = tree.evaluation
        if evaluation.made:
            made, evaluation.made = tuple(evaluation.made), []
            self._route(tree, made, self.name)
        if tree.father is None:
            evaluation.sent.clear()

    def _flush_events(self) -> None:
        """Send to each father what was let through and promised since the last time, each event once."""
        if len(self._dirty) == 1:
            (name,) = self._dirty
            self._flush_tree(self.trees[name])
            return
        entries: dict[str, dict[tuple[str, int, int], tuple[Event, list[str]]]] = {}
        promises: dict[str, list[tuple[str, int | None]]] = {}
        for name in sorted(self._dirty):
            tree = self.trees[name]
            father = tree.father
            if father is None:
                continue
            evaluation = tree.evaluation
            if evaluation.sent:
                labelled = entries.setdefault(father, {})
                for at, record in evaluation.sent:
                    labelled.setdefault((record.source, record.counter, at), (record.event, []))[1].append(name)
                evaluation.sent.clear()
            for promise in self._promises(tree):
                promises.setdefault(father, []).append(promise)
        for father in dict.fromkeys([*entries, *promises]):
            sent = tuple(
                Entry(at, source, counter, event, tuple(trees))
                for (source, counter, at), (event, trees) in entries.get(father, {}).items()
            )
            self._send(father, Events(sent, tuple(promises.get(father, ()))))

    def _flush_tree(self, tree: Tree) -> None:
        """Do the same for one tree: there are no other trees to name."""
        if tree.father is None:
            return
        promises = self._promises(tree)
        sent = tree.evaluation.sent
        if sent or promises:
            names = (tree.name,)
            entries = tuple([Entry(at, record.source, record.counter, record.event, names) for at, record in sent])
            sent.clear()
            self._send(tree.father, Events(entries, promises))

    def _promises(self, tree: Tree) -> tuple[tuple[str, int | None], ...]:
        """Give what the father may be promised that it does not know yet."""
        if not tree.was_active or tree.wave is not None or self.options.order is not Order.PROGRESS:
            return ()
        promise = tree.evaluation.done if self._has_inputs(tree) else None
        if promise == tree.promised:
            return ()
        tree.promised = promise
        return ((tree.name, promise),)

    def _on_pull(self, message: Awaken | Pulled | Release) -> None:
        match message:
            case Awaken():
                self._on_awaken(message)
            case Pulled():
                self._on_pulled(message)
            case Release():
                self._on_release(message)

    def _on_awaken(self, message: Awaken) -> None:
        tree = self.trees[message.tree]
        each = tree.evaluation.filters.get(message.part)
        if each is not None:
            each.openings.append(Opening(message.first, message.last, message.values))
        for to, awaken in tree.pulling.forward(tree.name, message):
            self._send(to, awaken)
        if not any(
            request.answers and request.answers[0] == message.number for request in tree.pulling.requests.values()
        ):
            self._answer(tree, message.number, message.part, message.first, message.last)

    def _on_pulled(self, message: Pulled) -> None:
        tree = self.trees[message.tree]
        for request in tree.pulling.answered(message.number):
            if request.answers is not None:
                self._answer(tree, *request.answers)
        self._dirty.add(tree.name)

    def _on_release(self, message: Release) -> None:
        tree = self.trees[message.tree]
        tree.evaluation.keep_from = max(tree.evaluation.keep_from, message.before)
        self._release(tree)

    def _release(self, tree: Tree) -> None:
        """Tell the children, now and then, from when on they may still be asked for events."""
        evaluation = tree.evaluation
        before = min(evaluation.done, evaluation.keep_from if evaluation.waits_to_be_asked else MAX_TIME)
        if before - tree.released > evaluation.horizon:
            tree.released = before
            tree.pulling.forget(before - 2 * evaluation.horizon)
            for name, child in tree.children.items():
                if any(assigned.pull for assigned in child.program.parts):
                    self._send(name, Release(tree.name, before))

    def _answer(self, tree: Tree, number: int, part: str, first: int, last: int) -> None:
        """Send what an awakening asks for, then say so."""
        self._dirty.add(tree.name)
        each = tree.evaluation.filters.get(part)
        if each is not None:
            tree.evaluation.advance(tree.evaluation.done)
            tree.evaluation.pull(each, first, last)
        self._flush_events()
        assert tree.father is not None
        self._send(tree.father, Pulled(tree.name, number))


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
