"""A processor and its sinks: who wants which events, and the way of composite events to them."""

from __future__ import annotations

from cepheus.core.event import Event
from cepheus.core.time import MIN_TIME
from cepheus.runtime.network.clients import Sink
from cepheus.runtime.network.interests import without_covered
from cepheus.runtime.network.looking_back import as_it_was, reach_of_all
from cepheus.runtime.network.member import Member
from cepheus.runtime.network.messages import (
    AttachSink,
    Deliver,
    Delivered,
    DetachSink,
    Interests,
)
from cepheus.runtime.network.tree import Tree

_FEW = 1000


class Sinks(Member):
    """Subscriptions, and the delivery of composite events."""

    def _on_attach_sink(self, message: AttachSink, sender: str) -> None:
        sink = self._sinks.setdefault(message.sink, Sink(sender))
        sink.client = sender
        if message.pattern not in sink.patterns:
            sink.patterns.append(message.pattern)
            sink.types.add(message.pattern.type)
        self._interests_changed()

    def _on_detach_sink(self, message: DetachSink) -> None:
        sink = self._sinks.get(message.sink)
        if sink is None:
            return
        sink.patterns = [p for p in sink.patterns if message.pattern is not None and p != message.pattern]
        sink.types = {pattern.type for pattern in sink.patterns}
        if not sink.patterns:
            del self._sinks[message.sink]
            self._delivered.pop(message.sink, None)
            self._kept_told.pop(message.sink, None)
            self._told_past.pop(message.sink, None)
        self._interests_changed()

    def _interests_changed(self) -> None:
        if not self._many:
            for tree in self.trees.values():
                self._announce_interests(tree)
            return
        own = self.trees.get(self.name)
        if own is not None:
            self._reconfigure(own)
        elif self._sinks:
            self._plant()

    def _announce_interests(self, tree: Tree) -> None:
        if self._many or not tree.complete:
            return
        own = [pattern for sink in self._sinks.values() for pattern in sink.patterns]
        below = [pattern for child in tree.children.values() for pattern in child.interests]
        patterns = without_covered([*own, *below])
        if patterns == tree.announced:
            return
        tree.announced = patterns
        if tree.father is not None:
            self._send(tree.father, Interests(tree.name, patterns))
        else:
            self._reconfigure(tree)

    def _on_interests(self, message: Interests, sender: str) -> None:
        tree = self.trees[message.tree]
        tree.children[sender].subscribe(message.patterns)
        self._announce_interests(tree)

    def _route(self, tree: Tree, events: tuple[Event, ...], came_from: str) -> None:
        """Bring composite events to sinks here, to children that want them, and on to the father."""
        if tree.father is not None and came_from != tree.father:
            self._send(tree.father, Deliver(tree.name, events))
        if not self._many or tree.father is None:
            self._tell_sinks(events)
        if self._many:
            return
        for name, child in tree.children.items():
            if name != came_from and child.interests:
                wanted = child.wanted(events)
                if wanted:
                    self._send(name, Deliver(tree.name, wanted))

    def _tell_sinks(self, events: tuple[Event, ...]) -> None:
        for name, sink in self._sinks.items():
            wanted = sink.wanted(events)
            if wanted and self.options.retain:
                wanted = self._not_told(name, wanted)
            if wanted:
                self._send(sink.client, Delivered(name, wanted))

    def _not_told(self, sink: str, events: tuple[Event, ...]) -> tuple[Event, ...]:
        """Leave out what a sink was told before trees were built anew, and remember what it is told now."""
        told = self._delivered.setdefault(sink, {})
        fresh = []
        for event in events:
            key = f"{event.type} {event.time} {event.id}"
            if key not in told:
                told[key] = event.time
                fresh.append(event)
        latest = max((event.time for event in events), default=MIN_TIME)
        then = as_it_was(self._told_past.setdefault(sink, []), 2 * self.options.retain, self._now, latest)
        if then is not None and len(told) > 2 * self._kept_told.get(sink, _FEW):
            before = then - 4 * reach_of_all(ordered.rule for ordered in self.rules.values())
            self._delivered[sink] = told = {key: time for key, time in told.items() if time >= before}
            self._kept_told[sink] = max(_FEW, len(told))
        return tuple(fresh)

    def _on_deliver(self, message: Deliver, sender: str) -> None:
        self._route(self.trees[message.tree], message.events, sender)
