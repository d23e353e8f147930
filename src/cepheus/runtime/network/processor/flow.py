"""The flow of events through a processor: evaluation as far as it is safe, what goes to fathers, awakenings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cepheus.core.event import Event
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.engine.matching.store import Record
from cepheus.runtime.network.processor.common import Common, value_ago
from cepheus.runtime.network.processor.filtering import Opening
from cepheus.runtime.network.processor.rulebook import Rulebook
from cepheus.runtime.network.processor.sinks import Sinks
from cepheus.runtime.network.processor.sources import Retained, Sources
from cepheus.runtime.network.processor.tree import Tree
from cepheus.runtime.network.processor.trees import Trees
from cepheus.runtime.network.protocol.messages import (
    Awaken,
    Entry,
    Events,
    LateEvents,
    Publish,
    Pulled,
    Release,
    Tick,
)


@dataclass(slots=True)
class Flow:
    """Events on their way from sources to roots; ``due`` names the trees that must be looked at before an answer."""

    common: Common
    rulebook: Rulebook
    sources: Sources
    retained: Retained
    trees: Trees
    sinks: Sinks
    due: set[str] = field(default_factory=set)

    def on_publish(self, message: Publish) -> None:
        """Take in events of a source."""
        source = self.sources.by_name.get(message.source)
        if source is None or source.gone:
            return
        trees = self.trees.by_name
        accepted, late = self.sources.accept(source, message, trees, keep_all=bool(self.retained.awaited))
        if self.retained.awaited:
            self.retained.add(message.source, accepted)
        kinds = {event.type for _, event in accepted}
        for name, tree in trees.items():
            if name not in source.since or kinds.isdisjoint(tree.evaluation.contents):
                continue
            since = MIN_TIME if name in source.holding else source.since[name]
            for counter, event in accepted:
                if event.time >= since and tree.evaluation.wants(event.type):
                    self._arrive(tree, event.time, [Record(event, message.source, counter)])
                    if not self.common.in_order:
                        self.due.add(name)
        self.sources.promise(source, message.through)
        if self.common.in_order:
            for name, tree in trees.items():
                if not self._is_idle(tree, self._limit(tree)):
                    self.due.add(name)
        if late:
            self.common.send(source.client, LateEvents(message.source, late))

    def feed_retained(self, tree: Tree) -> None:
        """Let a renewed tree have what sources here published for those it replaces."""
        for at, records in self.retained.hand_over(tree).items():
            self._arrive(tree, at, records)
        self.retained.arrived(tree.name)

    def on_tick(self, message: Tick) -> None:
        """Learn how far all sources are."""
        self.sources.tick(message.through)
        for name, tree in self.trees.by_name.items():
            if not tree.waits_for_children():  # for those it would wait whatever the sources promise
                self.due.add(name)

    def progress(self) -> None:
        """Evaluate the trees that are due, as far as it is safe."""
        for name in sorted(self.due) if len(self.due) > 1 else self.due:
            self._progress(self.trees.by_name[name])

    def _limit(self, tree: Tree) -> int:
        """Return the time up to which nothing more will come; MAX_TIME if nobody has anything to send.

        If that has been evaluated, sources are not asked: they can only make it earlier.
        """
        children = tree.children_through()
        if children <= tree.evaluation.done:
            return children
        sources = self.sources.through(tree.name)
        return children if children < sources else sources

    def _arrive(self, tree: Tree, at: int, records: list[Record]) -> None:
        """Take in events that come to be known at one moment."""
        if tree.pulling.masters:
            for record in records:
                if record.time == at:
                    for to, awaken in tree.pulling.wake(tree.name, record):
                        self.common.send(to, awaken)
        if not self.common.in_order and (not self.common.pulls or at < tree.pulling.holds):
            tree.evaluation.instant(at, records)
        else:
            tree.evaluation.arrive(at, records)

    def on_events(self, message: Events, sender: str) -> None:
        """Take in events of a child, and how far it is."""
        names = self._take_in(message.entries) if message.entries else set()
        trees = self.trees.by_name
        for name, through in message.through:
            tree = trees.get(name)
            child = None if tree is None else tree.children.get(sender)
            if tree is None or child is None:
                continue  # somebody has another idea of the trees: see Trees.is_meant
            child.through = through
            names.discard(name)
            self._look_at(tree)
        for name in names:
            self._look_at(trees[name])

    def _look_at(self, tree: Tree) -> None:
        """Have a tree evaluated, unless it still waits for children."""
        if not tree.waits_for_children() or not self._is_idle(tree, tree.evaluation.done):
            self.due.add(tree.name)

    def _take_in(self, entries: Sequence[Entry]) -> set[str]:
        """Take in events of a child, moment by moment; give the trees that they were sent for."""
        known = self.trees.by_name
        if len(entries) == 1:
            ((at, source, counter, event, trees),) = entries
            for name in trees:
                tree = known.get(name)
                if tree is not None and event.type in tree.evaluation.contents:
                    self._arrive(tree, at, [Record(event, source, counter)])
            return known.keys() & trees
        together: dict[tuple[str, int], list[Record]] = {}
        names: set[str] = set()
        for at, source, counter, event, trees in entries:
            names.update(trees)
            for name in trees:
                tree = known.get(name)
                if tree is not None and tree.evaluation.wants(event.type):
                    together.setdefault((name, at), []).append(Record(event, source, counter))
        for (name, at), records in together.items():
            self._arrive(known[name], at, records)
        return names & known.keys()

    def _progress(self, tree: Tree) -> None:
        """Evaluate as far as it is safe, and tell the father."""
        evaluation = tree.evaluation
        if self.common.options.retain and self.sources.by_name:
            self._look_back(tree)
        if not self.common.in_order:
            now = self.common.now
            evaluation.advance(min(now, tree.pulling.holds - 1) if self.common.pulls else now)
        elif tree.wave is None or not tree.wave.switched:
            limit = self._limit(tree)
            if limit < MAX_TIME:
                evaluation.advance(min(limit, tree.pulling.holds - 1) if self.common.pulls else limit)
            elif evaluation.waits_for is not None:
                self._drain(tree)
        if evaluation.made or evaluation.sent:
            self.take_sent(tree)
        if self.common.pulls:
            self._release(tree)

    def _look_back(self, tree: Tree) -> None:
        """Let go of events of local sources that no tree would need that takes the place of this one.

        Such a tree goes on from where the root was when somebody was lost, which is noticed before ``retain`` has
        passed. Nobody here knows where that was, but no later than this processor was then.
        """
        then = value_ago(tree.past, self.common.options.retain, self.common.now, tree.evaluation.done)
        if then is not None and then != tree.looked_back_to:
            tree.looked_back_to = then
            tree.evaluation.retained_from = max(MIN_TIME, then - 2 * self.rulebook.reach())

    def _is_idle(self, tree: Tree, limit: int) -> bool:
        """Whether a tree has nothing to evaluate, to send or to promise up to a time, as after most messages."""
        evaluation = tree.evaluation
        done = evaluation.done
        if limit > done or not self.common.in_order or self.common.pulls or tree.wave is not None:
            return False
        if evaluation.sent or evaluation.made or evaluation.is_waiting(limit):
            return False
        return tree.promised == done or tree.father is None or not tree.was_active

    def _drain(self, tree: Tree) -> None:
        """Nobody has anything more to send: evaluate what waits."""
        tree.evaluation.advance(min(tree.evaluation.waits_until, tree.pulling.holds - 1))

    def has_more(self, tree: Tree) -> bool:
        """Whether the father must wait: a source or a child may still have something, or events wait for answers.

        Such events are sent when those who were asked have answered, even if all sources have left in the meantime.
        """
        if self.sources.any_for(tree.name) or tree.children_through() < MAX_TIME:
            return True
        return tree.evaluation.waits_for is not None

    def take_sent(self, tree: Tree) -> None:
        """Put composite events on their way."""
        evaluation = tree.evaluation
        if evaluation.made:
            made, evaluation.made = tuple(evaluation.made), []
            self.sinks.route(tree, made, self.common.name)
        if tree.father is None:
            evaluation.sent.clear()

    def flush(self) -> None:
        """Send to each father what was let through and promised since the last time, each event once."""
        if len(self.due) == 1:
            (name,) = self.due
            self._flush_tree(self.trees.by_name[name])
            return
        entries: dict[str, dict[tuple[str, int, int], tuple[Event, list[str]]]] = {}
        promises: dict[str, list[tuple[str, int | None]]] = {}
        for name in sorted(self.due):
            tree = self.trees.by_name[name]
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
            self.common.send(father, Events(sent, tuple(promises.get(father, ()))))

    def _flush_tree(self, tree: Tree) -> None:
        """Do the same for one tree: there are no other trees to name."""
        if tree.father is None:
            return
        promises = self._promises(tree)
        sent = tree.evaluation.sent
        if sent or promises:
            entries: tuple[Entry, ...] = ()
            if sent:
                names = (tree.name,)
                entries = tuple([Entry(at, record.source, record.counter, record.event, names) for at, record in sent])
                sent.clear()
            self.common.send(tree.father, Events(entries, promises))

    def _promises(self, tree: Tree) -> tuple[tuple[str, int | None], ...]:
        """What the father may be promised that it does not know yet."""
        if not tree.was_active or tree.wave is not None or not self.common.in_order:
            return ()
        promise = tree.evaluation.done if self.has_more(tree) else None
        if promise == tree.promised:
            return ()
        tree.promised = promise
        return ((tree.name, promise),)

    def on_pull(self, message: Awaken | Pulled | Release) -> None:
        """Be asked for events, be answered, or learn what will not be asked for any more."""
        match message:
            case Awaken():
                self._on_awaken(message)
            case Pulled():
                self._on_pulled(message)
            case Release():
                self._on_release(message)

    def _on_awaken(self, message: Awaken) -> None:
        tree = self.trees.by_name[message.tree]
        each = tree.evaluation.filters.get(message.part)
        if each is not None:
            each.open(Opening(message.first, message.last, message.values))
        for to, awaken in tree.pulling.forward(tree.name, message):
            self.common.send(to, awaken)
        if not tree.pulling.for_father:
            self._answer(tree, message.number, message.part, message.first, message.last)

    def _on_pulled(self, message: Pulled) -> None:
        tree = self.trees.by_name[message.tree]
        for request in tree.pulling.answered(message.number):
            if request.answers is not None:
                self._answer(tree, *request.answers)
        self.due.add(tree.name)

    def _on_release(self, message: Release) -> None:
        tree = self.trees.by_name[message.tree]
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
                    self.common.send(name, Release(tree.name, before))

    def _answer(self, tree: Tree, number: int, part: str, first: int, last: int) -> None:
        """Send what an awakening asks for, then say so."""
        self.due.add(tree.name)
        each = tree.evaluation.filters.get(part)
        if each is not None:
            tree.evaluation.advance(tree.evaluation.done)
            tree.evaluation.pull(each, first, last)
        self.flush()
        assert tree.father is not None
        self.common.send(tree.father, Pulled(tree.name, number))
