"""A node in a process: its journal on disk, the connections of its links, its clients, what it bears.

Nothing here knows of gRPC. Everything happens on one event loop, one message after the other.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from cepheus.core.errors import Diagnostic, OptionError, Place, SnapshotError
from cepheus.core.time import MAX_TIME
from cepheus.runtime.network.processor.journaled import Node, OutFrame
from cepheus.runtime.network.processor.processor import Processor
from cepheus.runtime.network.protocol.link import Frame, LinkEnd
from cepheus.runtime.network.protocol.messages import (
    AttachSink,
    AttachSource,
    DetachSink,
    DetachSource,
    Found,
    Lost,
    Message,
    Publish,
)
from cepheus.runtime.network.transport.config import NodeConfig
from cepheus.runtime.network.transport.congestion import Congestion, Note
from cepheus.runtime.network.transport.connection import GOODBYE, Connection
from cepheus.runtime.network.transport.journal import DiskJournal, ForkedWork, JournalBrokenError
from cepheus.runtime.network.transport.known_types import TypeBook
from cepheus.runtime.network.transport.security import Principal, RefusedError
from cepheus.runtime.network.transport.validity import check_sense

log = logging.getLogger("cepheus.node")

CLIENT_PREFIX = "client:"
_SNAPSHOT_PATIENCE = 300.0
"""Seconds after which the writing of a snapshot is given up."""

_SAY_SOMETHING, _SILENT = 4.0, 12.0
"""Seconds after which a neighbour hears something even if there is nothing to say, and after which one that says
nothing hangs. Its process may be stopped, or its machine gone without a word: connections last for a minute then.
"""

_DOUBT = 0.3
"""Seconds after which a neighbour that still does not know what it should has lost its state."""


def client_peer(principal: Principal, session: str) -> str:
    """The name under which a node knows one run of a client."""
    return f"{CLIENT_PREFIX}{principal.name}:{session}"


@dataclass(slots=True)
class Counts:
    """What a node has done since it was started."""

    events_in: int = 0
    messages_in: int = 0
    late: int = 0
    refused: int = 0
    checkpoints: int = 0
    checkpoint_seconds: float = 0.0
    by_peer: dict[str, list[int]] = field(default_factory=dict)
    """Connections made, bytes in, bytes out."""


def _placed(finding: Diagnostic, state: Path) -> Diagnostic:
    """Say in which directory state is damaged, and what to do, where that was not known."""
    hint = finding.hint or "start the node with an empty directory; its neighbours build their trees anew"
    return replace(finding, place=finding.place or Place(str(state)), hint=hint)


class NodeHost:
    """A node, and what connects it to the world."""

    def __init__(self, config: NodeConfig, place: str = "", clock: Callable[[], int] | None = None) -> None:
        self.config = config
        self.started = time.time()
        self.counts = Counts()
        self.types = TypeBook()
        self.connections: dict[str, Connection] = {}
        self._clock = clock if clock is not None else lambda: time.time_ns() // 1000
        self.neighbours = tuple(sorted(neighbour.name for neighbour in config.neighbour))
        self.journal = DiskJournal(config.state, sync=config.sync, limit=config.checkpoint_bytes)
        try:
            self.node = self._take_up(place)
        except BaseException:
            self.journal.close()
            raise
        self._left = {peer: time.monotonic() for peer in self.node.links}
        self._doubted: dict[str, float] = {}
        self._snapshot: tuple[int, ForkedWork] | None = None
        self.congestion = Congestion(config.name, config.limits.window_bytes, first=time.time_ns() // 1000)
        self._relieved = asyncio.Event()
        self._relieved.set()
        self.broken: JournalBrokenError | None = None
        self.ended = asyncio.Event()
        self._first_checkpoint(place)

    def _take_up(self, place: str) -> Node:
        """Go on from the journal, or begin."""
        is_new = self.journal.is_new
        try:
            node = Node(self.config.name, self.neighbours, self.config.options, self.journal)
        except SnapshotError as error:
            raise SnapshotError([_placed(each, self.config.state) for each in error.diagnostics]) from None
        self._before = {peer: (link.sent, link.received) for peer, link in node.links.items()}
        if is_new:
            node.start(self._clock(), self.config.rank)
        self._check_same(node.processor, place)
        return node

    def _first_checkpoint(self, place: str) -> None:
        try:
            self.checkpoint()
        except OSError as error:
            self.journal.abandon()
            reason = (error.strerror or "it failed").lower()
            raise OptionError.of(
                "node-state",
                f"the node cannot write to '{self.config.state}': {reason}",
                place=Place(place) if place else None,
                hint="make room on the disk, or give the node another directory",
            ) from None

    def link(self, peer: str) -> LinkEnd:
        """The link to a peer."""
        return self.node.links.setdefault(peer, LinkEnd())

    def messages(self, peer: str) -> tuple[int, int]:
        """Return how many messages were sent to a peer and received from it since the node was started."""
        link = self.link(peer)
        sent, received = self._before.get(peer, (0, 0))
        return link.sent - sent, link.received - received

    def connect(self, peer: str, connection: Connection) -> None:
        """A peer is there; a connection that it had before is of no use any more."""
        before = self.connections.get(peer)
        if before is not None:
            before.close("another connection has taken up the session" if peer.startswith(CLIENT_PREFIX) else "")
        self.connections[peer] = connection
        self._left.pop(peer, None)
        self._doubted.pop(peer, None)
        self._count(peer)[0] += 1
        log.info("%s connected", peer)
        if peer in self.node.processor.absent:
            log.info("'%s' is back; trees are built anew with it", peer)
            self.tell(Found(peer))

    def disconnect(self, peer: str, connection: Connection, *, for_good: bool = False) -> None:
        """A connection has ended; ``for_good`` if a client said so."""
        totals = self._count(peer)
        totals[1] += connection.bytes_in
        totals[2] += connection.bytes_out
        if self.connections.get(peer) is connection:
            del self.connections[peer]
            self._left[peer] = time.monotonic()
            log.info("%s disconnected", peer)
            if for_good and peer.startswith(CLIENT_PREFIX):
                self.forget(peer)

    def handle(self, peer: str, principal: Principal | None, frames: Iterable[Frame]) -> int:
        """Take frames from a peer; give the number of events in them. ``principal`` is None for neighbours."""
        if self.broken is not None:
            raise self.broken
        events = 0
        touched: dict[str, None] = {}
        now = self._clock()
        try:
            for frame in frames:
                message = frame.message
                if message is not None:
                    self.counts.messages_in += 1
                    if principal is not None:
                        self._check(peer, principal, message)
                    if isinstance(message, Publish):
                        events += len(message.events)
                elif frame.body:
                    self._hear(peer, principal, frame.body)
                touched.update((to, None) for to, _ in self.node.frame(peer, frame, now))
        finally:
            self._answer(touched)
        self.counts.events_in += events
        return events

    def _hear(self, peer: str, principal: Principal | None, body: bytes) -> None:
        """Take a client's goodbye, or a note from another host, and pass that on if it is new."""
        if principal is not None:
            if body != GOODBYE:
                raise RefusedError("clients have no queues to speak of")
            self.connections[peer].leaving = True
            return
        note = Note.decode(body)
        if self.congestion.hear(note, time.monotonic()):
            self._note(note, besides=peer)

    def _note(self, note: Note, besides: str = "") -> None:
        for name in self.neighbours:
            connection = self.connections.get(name)
            if connection is not None and name != besides:
                connection.note(note.encode())

    def tell(self, message: Message) -> None:
        """Tell the processor something in the name of the host."""
        self._answer(self._peers(self.node.tell(message, self._clock())))

    async def until_relieved(self) -> None:
        """Wait until everybody has taken enough of what was sent to them."""
        while self.congestion.holds(time.monotonic()):
            self._relieved.clear()
            await self._relieved.wait()

    def sweep(self) -> None:
        """Now and then: end the sessions of clients that do not come back or do not keep up."""
        now = time.monotonic()
        for peer in [peer for peer in self.node.links if peer.startswith(CLIENT_PREFIX)]:
            connection = self.connections.get(peer)
            why = ""
            if self.node.links[peer].waiting > self.config.limits.backlog_bytes:
                log.warning("%s does not keep up with what it subscribed to; its session ends", peer)
                why = "the client does not keep up with what it subscribed to, and its session has ended"
            elif connection is not None or now - self._left.get(peer, now) < self.config.session_timeout / 1_000_000:
                continue
            else:
                log.warning("%s has not come back; its session ends", peer)
            if connection is not None:
                connection.close(why)
            self.forget(peer)
        for name in self.neighbours:
            self._look_for_silence(name, now)
            since = self._left.get(name)
            if self.config.gone_after and since is not None and now - since > self.config.gone_after / 1_000_000:
                self.give_up(name)
        self._look_at_queues()
        self._look_after_snapshots()

    def _look_for_silence(self, neighbour: str, now: float) -> None:
        """Close the connection to a neighbour that says nothing; let it hear that this node is there."""
        connection = self.connections.get(neighbour)
        if connection is None or connection.closed.is_set():
            return
        if now - connection.heard > _SILENT:
            log.warning("'%s' has said nothing for %.0f s; its connection is closed", neighbour, _SILENT)
            connection.close()
        elif now - connection.said > _SAY_SOMETHING:
            connection.say_something()

    def doubt(self, neighbour: str) -> None:
        """A neighbour does not know what it should: give it up, unless two connections got into each other's way."""
        now = time.monotonic()
        if neighbour in self.connections:
            return
        since = self._doubted.setdefault(neighbour, now)
        if now - since > _DOUBT:
            self.give_up(neighbour)

    def give_up(self, neighbour: str) -> None:
        """Wait no longer for a neighbour, or for what it has forgotten."""
        self._doubted.pop(neighbour, None)
        if neighbour not in self.node.processor.absent:
            log.warning("'%s' is gone; trees are built anew without it", neighbour)
            self.tell(Lost(neighbour))
            self._before.pop(neighbour, None)  # the link begins anew

    def forget(self, peer: str) -> None:
        """End a client's session: its sources and sinks leave."""
        sources, sinks = self.node.processor.attached(peer)
        for source in sources:
            self.tell(DetachSource(source))
        for sink in sinks:
            self.tell(DetachSink(sink))
        self.node.links.pop(peer, None)
        self._before.pop(peer, None)
        self._left.pop(peer, None)
        self.counts.by_peer.pop(peer, None)

    def checkpoint(self) -> None:
        """Replace the journal by a snapshot, and wait for it. OSError if there is no room for it."""
        if self._snapshot is not None:
            generation, writer = self._snapshot
            self._snapshot_written(generation, writer, done=writer.wait(_SNAPSHOT_PATIENCE))
        start = time.perf_counter()
        self.node.checkpoint()
        self.counts.checkpoints += 1
        self.counts.checkpoint_seconds += time.perf_counter() - start

    def _look_after_snapshots(self) -> None:
        """Let a process beside this one write a snapshot when the journal is long; note when it has done so."""
        if self._snapshot is not None:
            generation, writer = self._snapshot
            done = writer.ended() if writer.seconds < _SNAPSHOT_PATIENCE else writer.wait(_SNAPSHOT_PATIENCE)
            if done is not None:
                self._snapshot_written(generation, writer, done=done)
        elif self.journal.wants_checkpoint:
            generation = self.journal.turn()
            self._snapshot = (
                generation,
                ForkedWork.begin(lambda: self.journal.write_snapshot(generation, self.node.snapshot())),
            )

    def _snapshot_written(self, generation: int, writer: ForkedWork, *, done: bool) -> None:
        self._snapshot = None
        if done:
            self.journal.begin_from(generation)
            self.counts.checkpoints += 1
            self.counts.checkpoint_seconds += writer.seconds
            return
        log.warning("a snapshot could not be written beside the node; it is written by the node")
        try:
            self.checkpoint()  # whatever was in the way there, the journal must not grow for ever
        except OSError as error:
            log.warning("nor could the node (%s); the journal goes on", error.strerror)

    def close(self) -> None:
        """Write everything down and let go of the directory."""
        if self.broken is not None:
            self.journal.abandon()
            return
        try:
            self.checkpoint()
        except OSError as error:
            log.warning("a snapshot could not be written (%s); the journal has everything", error.strerror)
        self.journal.close()

    def _answer(self, touched: dict[str, None]) -> None:
        """Let what is known now leave, after it has been written down."""
        try:
            self.journal.flush()
        except JournalBrokenError as error:
            self._break(error)
            raise
        for peer in touched:
            connection = self.connections.get(peer)
            if connection is not None:
                connection.wake()
        self._look_at_queues()
        self._look_after_snapshots()

    def _break(self, error: JournalBrokenError) -> None:
        """End: nobody may hear what was made of messages that are not written down."""
        self.broken = error
        for connection in self.connections.values():
            connection.close()
        self.ended.set()

    def _look_at_queues(self) -> None:
        """Tell everybody of a queue that is long or no longer so; let sources go on if there is none."""
        now, links = time.monotonic(), self.node.links
        note = self.congestion.look([links[name].waiting for name in self.neighbours], now)
        if note is not None:
            self._note(note)
        if not self._relieved.is_set() and not self.congestion.holds(now):
            self._relieved.set()

    def _peers(self, frames: list[OutFrame]) -> dict[str, None]:
        return {peer: None for peer, _ in frames}

    def _check(self, peer: str, principal: Principal, message: Message) -> None:
        principal.check(message)
        ahead = self.config.limits.ahead
        check_sense(message, self._clock() + ahead if ahead else MAX_TIME)
        owner = None
        match message:
            case AttachSource(source=name) | Publish(source=name) | DetachSource(source=name):
                owner = self.node.processor.client_of_source(name)
            case AttachSink(sink=name) | DetachSink(sink=name):
                owner = self.node.processor.client_of_sink(name)
        if owner is None or owner == peer:
            return
        if isinstance(message, Publish) or owner.rpartition(":")[0] != peer.rpartition(":")[0]:
            raise RefusedError(f"'{name}' belongs to another client")
        if owner in self.connections:
            raise RefusedError(f"'{name}' is in use by another client that is connected: choose another name")

    def _check_same(self, found: Processor, place: str) -> None:
        config, neighbours = self.config, tuple(sorted({*found.neighbours, *found.absent}))
        if (found.name, neighbours, found.options) != (config.name, self.neighbours, config.options):
            raise OptionError.of(
                "node-state",
                f"the state in '{self.config.state}' is that of a node with another name, neighbours or strategy",
                place=Place(place) if place else None,
                hint="give the node a new directory, or the configuration it had",
            )

    def _count(self, peer: str) -> list[int]:
        return self.counts.by_peer.setdefault(peer, [0, 0, 0])
