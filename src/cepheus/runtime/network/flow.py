"""A processor and the flow of events: evaluation as far as it is safe, what goes to fathers, awakenings."""

from __future__ import annotations

from collections.abc import Sequence

from cepheus.core.event import Event
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.runtime.network.filtering import Opening
from cepheus.runtime.network.looking_back import as_it_was, reach_of_all
from cepheus.runtime.network.messages import (
    Awaken,
    Entry,
    Events,
    LateEvents,
    Publish,
    Pulled,
    Release,
    Tick,
)
from cepheus.runtime.network.sources import Sources
from cepheus.runtime.network.store import Record
from cepheus.runtime.network.tree import Tree

_AWAIT = 60_000_000


class Flow(Sources):
    """Events on their way from sources to roots."""

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
                    if not self._in_order:
                        self._dirty.add(name)
        if message.through is not None and message.through > source.through:
            if source.through in self._slowest.values():
                self._slowest.clear()
            source.through = message.through
        if self._in_order:
            for name, tree in self.trees.items():
                if not self._is_idle(tree, self._limit(tree)):
                    self._dirty.add(name)
        if late:
            self._send(source.client, LateEvents(message.source, late))

    def _retain(self, source: str, accepted: list[tuple[int, Event]]) -> None:
        """Keep events for trees that are being built anew; those that never come are not waited for."""
        if self._many_awaited_too_long():
            self._awaited, self._retained = set(), []
            return
        self._retained += [Record(event, source, counter) for counter, event in accepted]

    def _many_awaited_too_long(self) -> bool:
        return self._many and self._now - self._renewed_at > self.options.retain + _AWAIT

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
        if through is not None and through > self._ticked:
            self._ticked = through
        for name, tree in self.trees.items():
            if not tree.waits_for_children():  # for those it would wait whatever the sources promise
                self._dirty.add(name)

    def _limit(self, tree: Tree) -> int:
        """Give the time up to which nothing more will come; MAX_TIME if nobody has anything to send.

        If that has been evaluated, sources are not asked: they can only make it earlier.
        """
        children = tree.children_through()
        if children <= tree.evaluation.done:
            return children
        sources = self._sources_through(tree)
        return children if children < sources else sources

    def _arrive(self, tree: Tree, at: int, records: list[Record]) -> None:
        """Take in events that come to be known at one moment."""
        if tree.pulling.masters:
            for record in records:
                if record.time == at:
                    for to, awaken in tree.pulling.wake(tree.name, record):
                        self._send(to, awaken)
        if not self._in_order and at < tree.pulling.holds:
            tree.evaluation.instant(at, records)
        else:
            tree.evaluation.arrive(at, records)

    def _on_events(self, message: Events, sender: str) -> None:
        names = self._take_in(message.entries) if message.entries else set()
        for name, through in message.through:
            tree = self.trees[name]
            tree.children[sender].through = through
            names.discard(name)
            self._look_at(tree)
        for name in names:
            self._look_at(self.trees[name])

    def _look_at(self, tree: Tree) -> None:
        """Have a tree evaluated, unless it still waits for children."""
        if not tree.waits_for_children() or not self._is_idle(tree, tree.evaluation.done):
            self._dirty.add(tree.name)

    def _take_in(self, entries: Sequence[Entry]) -> set[str]:
        """Take in events of a child, moment by moment; give the trees that they were sent for."""
        together: dict[tuple[str, int], list[Record]] = {}
        names: set[str] = set()
        for at, source, counter, event, trees in entries:
            names.update(trees)
            for name in trees:
                if self.trees[name].evaluation.wants(event.type):
                    together.setdefault((name, at), []).append(Record(event, source, counter))
        for (name, at), records in together.items():
            self._arrive(self.trees[name], at, records)
        return names

    def _progress(self, tree: Tree) -> None:
        """Evaluate as far as it is safe, and tell the father."""
        evaluation = tree.evaluation
        if self.options.retain and self._sources:
            self._look_back(tree)
        if not self._in_order:
            evaluation.advance(min(self._now, tree.pulling.holds - 1))
        elif tree.wave is None or not tree.wave.switched:
            limit = self._limit(tree)
            if limit < MAX_TIME:
                evaluation.advance(min(limit, tree.pulling.holds - 1) if self._pulls else limit)
            elif evaluation.waits_for is not None:
                self._drain(tree)
        if evaluation.made or evaluation.sent:
            self._take_sent(tree)
        if self._pulls:
            self._release(tree)

    def _look_back(self, tree: Tree) -> None:
        """Let go of events of local sources that no tree would need that takes the place of this one.

        Such a tree goes on from where the root was when somebody was lost, which is noticed before ``retain`` has
        passed. Nobody here knows where that was, but no later than this processor was then.
        """
        then = as_it_was(tree.past, self.options.retain, self._now, tree.evaluation.done)
        if then is not None and then != tree.looked_back_to:
            tree.looked_back_to = then
            reach = reach_of_all(ordered.rule for ordered in self.rules.values())
            tree.evaluation.retained_from = max(MIN_TIME, then - 2 * reach)

    def _is_idle(self, tree: Tree, limit: int) -> bool:
        """Tell whether a tree has nothing to evaluate, to send or to promise up to a time, as after most messages."""
        evaluation = tree.evaluation
        done = evaluation.done
        if limit > done or not self._in_order or self._pulls or tree.wave is not None:
            return False
        if evaluation.sent or evaluation.made or evaluation.is_waiting(limit):
            return False
        return tree.promised == done or tree.father is None or not tree.was_active

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
            entries: tuple[Entry, ...] = ()
            if sent:
                names = (tree.name,)
                entries = tuple([Entry(at, record.source, record.counter, record.event, names) for at, record in sent])
                sent.clear()
            self._send(tree.father, Events(entries, promises))

    def _promises(self, tree: Tree) -> tuple[tuple[str, int | None], ...]:
        """Give what the father may be promised that it does not know yet."""
        if not tree.was_active or tree.wave is not None or not self._in_order:
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
