"""The sinks at a processor: who wants which events, and the way of composite events to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cepheus.core.event import Event
from cepheus.core.time import MIN_TIME
from cepheus.rules.expressions import EventPattern
from cepheus.runtime.network.processor.common import Common, History, value_ago
from cepheus.runtime.network.processor.rulebook import Rulebook
from cepheus.runtime.network.processor.tree import Tree
from cepheus.runtime.network.processor.trees import Trees
from cepheus.runtime.network.protocol.interests import any_matches, without_covered
from cepheus.runtime.network.protocol.messages import AttachSink, Deliver, Delivered, DetachSink, Interests

_FEW = 1000


@dataclass(slots=True)
class Sink:
    """A sink at this processor and what it has subscribed to.

    With ``promises`` it is told how far everything has been delivered; ``through`` is what it was told last.
    """

    client: str
    patterns: list[EventPattern] = field(default_factory=list)
    types: set[str] = field(default_factory=set)
    promises: bool = False
    through: int = MIN_TIME

    def wanted(self, events: Sequence[Event]) -> tuple[Event, ...]:
        """The events that the sink has subscribed to."""
        return tuple([event for event in events if event.type in self.types and any_matches(self.patterns, event)])


@dataclass(slots=True)
class Told:
    """What a sink was told: the times of events by what tells them apart, so that none is told twice.

    ``kept`` is how many were left when old ones were last dropped, ``past`` how far the sink was a while ago.
    """

    times: dict[str, int] = field(default_factory=dict)
    kept: int = _FEW
    past: History = field(default_factory=list)


@dataclass(slots=True)
class Sinks:
    """Subscriptions, and the delivery of composite events.

    ``asked`` tells whether a sink, here or elsewhere, has asked to be told how far everything has been delivered.
    """

    common: Common
    trees: Trees
    rulebook: Rulebook
    by_name: dict[str, Sink] = field(default_factory=dict)
    told: dict[str, Told] = field(default_factory=dict)
    asked: bool = False

    def on_client(self, message: AttachSink | DetachSink, sender: str) -> None:
        """Subscribe a sink to events of a pattern, or end that."""
        if isinstance(message, AttachSink):
            self._attach(message, sender)
        else:
            self._detach(message)

    def _attach(self, message: AttachSink, sender: str) -> None:
        self.asked = self.asked or message.promises
        sink = self.by_name.setdefault(message.sink, Sink(sender))
        sink.client = sender
        sink.promises = sink.promises or message.promises
        if message.pattern not in sink.patterns:
            sink.patterns.append(message.pattern)
            sink.types.add(message.pattern.type)
        self._changed()

    def _detach(self, message: DetachSink) -> None:
        sink = self.by_name.get(message.sink)
        if sink is None:
            return
        sink.patterns = [p for p in sink.patterns if message.pattern is not None and p != message.pattern]
        sink.types = {pattern.type for pattern in sink.patterns}
        if not sink.patterns:
            del self.by_name[message.sink]
            self.told.pop(message.sink, None)
        self._changed()

    def _changed(self) -> None:
        if not self.common.many_trees:
            for tree in self.trees.by_name.values():
                self.announce_interests(tree)
            return
        own = self.trees.own
        if own is not None:
            self.trees.reactions.reconfigure(own)
        elif self.by_name:
            self.trees.plant()

    def announce_interests(self, tree: Tree) -> None:
        """Tell the father what sinks at and below this processor want, if that has changed."""
        if self.common.many_trees or not tree.complete:
            return
        own = [pattern for sink in self.by_name.values() for pattern in sink.patterns]
        below = [pattern for child in tree.children.values() for pattern in child.interests]
        patterns = without_covered([*own, *below])
        promises = self.promising or any(child.promises for child in tree.children.values())
        if (patterns, promises) == (tree.announced, tree.announced_promises):
            return
        tree.announced, tree.announced_promises = patterns, promises
        if tree.father is not None:
            self.common.send(tree.father, Interests(tree.name, patterns, promises))
        else:
            self.trees.reactions.reconfigure(tree)

    def on_interests(self, message: Interests, sender: str) -> None:
        """Learn what sinks below a child want."""
        tree = self.trees.by_name[message.tree]
        tree.children[sender].subscribe(message.patterns, promises=message.promises)
        self.asked = self.asked or message.promises
        self.announce_interests(tree)

    @property
    def promising(self) -> bool:
        """Whether a sink here asks to be told how far everything has been delivered."""
        return any(sink.promises for sink in self.by_name.values())

    def promise(self, through: int) -> None:
        """Tell the sinks here that ask for it up to which time everything has been delivered."""
        for name, sink in self.by_name.items():
            if sink.promises and through > sink.through:
                sink.through = through
                self.common.send(sink.client, Delivered(name, (), through))

    def wanted_types(self) -> set[str]:
        """The types that sinks ask of this processor's own tree."""
        found = {pattern.type for sink in self.by_name.values() for pattern in sink.patterns}
        if self.common.many_trees:
            return found
        tree = self.trees.by_name[self.common.name]
        return found | {pattern.type for child in tree.children.values() for pattern in child.interests}

    def on_deliver(self, message: Deliver, sender: str) -> None:
        """Hand composite events on."""
        self.route(self.trees.by_name[message.tree], message.events, sender)

    def route(self, tree: Tree, events: tuple[Event, ...], came_from: str) -> None:
        """Bring composite events to sinks here, to children that want them, and on to the father."""
        if tree.reports:
            tree.latest = max(tree.latest, *(event.time for event in events))
        if tree.father is not None and came_from != tree.father:
            self.common.send(tree.father, Deliver(tree.name, events))
            if self.common.from_root:
                return
        if not self.common.many_trees or tree.father is None:
            self._tell(events)
        if self.common.many_trees:
            return
        for name, child in tree.children.items():
            if child.interests and (name != came_from or self.common.from_root):
                wanted = child.wanted(events)
                if wanted:
                    self.common.send(name, Deliver(tree.name, wanted))

    def _tell(self, events: tuple[Event, ...]) -> None:
        for name, sink in self.by_name.items():
            wanted = sink.wanted(events)
            if wanted and self.common.options.retain:
                wanted = self._not_told(name, wanted)
            if wanted:
                self.common.send(sink.client, Delivered(name, wanted))

    def _not_told(self, sink: str, events: tuple[Event, ...]) -> tuple[Event, ...]:
        """Leave out what a sink was told before trees were built anew, and remember what it is told now."""
        told = self.told.setdefault(sink, Told())
        fresh = []
        for event in events:
            key = f"{event.type} {event.time} {event.id}"
            if key not in told.times:
                told.times[key] = event.time
                fresh.append(event)
        latest = max((event.time for event in events), default=MIN_TIME)
        then = value_ago(told.past, 2 * self.common.options.retain, self.common.now, latest)
        if then is not None and len(told.times) > 2 * told.kept:
            before = then - 4 * self.rulebook.reach()
            told.times = {key: time for key, time in told.times.items() if time >= before}
            told.kept = max(_FEW, len(told.times))
        return tuple(fresh)
