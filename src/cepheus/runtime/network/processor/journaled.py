"""A processor that survives crashes: it writes down what it is told before it answers, and is told again after a crash.

A processor does the same with the same messages, so the journal of what it was told is all that must be kept: replaying
it gives back the state and the messages sent, each with its number. A snapshot replaces the journal's beginning.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Protocol

from cepheus.runtime.network.processor.processor import Processor
from cepheus.runtime.network.processor.snapshot import restore_node, snapshot_node
from cepheus.runtime.network.protocol.link import Frame, LinkEnd
from cepheus.runtime.network.protocol.messages import Lost, Message, Start
from cepheus.runtime.network.protocol.strategy import Options

log = logging.getLogger("cepheus.node")

OutFrame = tuple[str, Frame]
"""A frame and the peer it is for: a neighbour or a client."""


@dataclass(frozen=True, slots=True)
class Told:
    """One line of the journal: who told the processor what, and when. Nobody is the host itself.

    ``body`` is the message as bytes, if it came so.
    """

    sender: str
    message: Message
    now: int
    body: bytes = field(default=b"", compare=False, repr=False)


class Journal(Protocol):
    """Where a node writes down what it is told; ``append`` returns when the line will survive a crash."""

    def append(self, told: Told) -> None:
        """Write one line."""

    def replace(self, snapshot: bytes) -> None:
        """Start anew from a snapshot; lines before it are no longer needed."""

    def read(self) -> tuple[bytes | None, list[Told]]:
        """Return the last snapshot, if there is one, and the lines after it."""


@dataclass(slots=True)
class MemoryJournal:
    """A journal in memory, for simulations; it survives simulated crashes."""

    snapshot: bytes | None = None
    lines: list[Told] = field(default_factory=list)

    def append(self, told: Told) -> None:
        """Write one line."""
        self.lines.append(told)

    def replace(self, snapshot: bytes) -> None:
        """Start anew from a snapshot."""
        self.snapshot, self.lines = snapshot, []

    def read(self) -> tuple[bytes | None, list[Told]]:
        """Return the last snapshot and the lines after it."""
        return self.snapshot, list(self.lines)


class Node:
    """A processor with its links and its journal; made anew after a crash, it goes on where it was.

    The host hands it frames from peers and sends out what comes back. Frames to a peer that is not connected may be
    dropped: ``connected`` and ``timer`` send again what was not acknowledged.
    """

    def __init__(self, name: str, neighbours: tuple[str, ...], options: Options, journal: Journal) -> None:
        self.name = name
        self.processor = Processor(name, neighbours, options)
        self.links: dict[str, LinkEnd] = {neighbour: LinkEnd() for neighbour in neighbours}
        self._journal = journal
        snapshot, lines = journal.read()
        if snapshot is not None:
            self.processor, self.links = restore_node(snapshot)
        for told in lines:
            if told.sender:
                self._link(told.sender).received += 1
            try:
                self._apply(told)
            except Exception:  # it failed so the first time, too, and the node went on from there
                log.exception("what '%s' once said still fails", told.sender)

    def start(self, now: int, rank: int = 0) -> list[OutFrame]:
        """Begin, the first time; after a crash nothing needs to be begun."""
        return self.tell(Start(rank), now)

    def tell(self, message: Message, now: int) -> list[OutFrame]:
        """Tell the processor something in the name of the host."""
        return self._write_and_apply(Told("", message, now))

    def frame(self, peer: str, frame: Frame, now: int) -> list[OutFrame]:
        """Take a frame from a peer; give the frames it leads to, an acknowledgement among them."""
        link = self._link(peer)
        message = link.receive(frame)
        if message is not None:
            out = self._write_and_apply(Told(peer, message, now, frame.body))
            if not any(to == peer for to, _ in out):
                out.append((peer, link.acknowledge()))
            return out
        return [(peer, link.acknowledge())] if frame.number else []

    def connected(self, peer: str) -> list[OutFrame]:
        """A peer is there again: tell it what was received, and send again what it may have missed."""
        link = self._link(peer)
        return [(peer, link.acknowledge()), *((peer, frame) for frame in link.resend())]

    def timer(self) -> list[OutFrame]:
        """Send again all that is not acknowledged."""
        return [(peer, frame) for peer, link in self.links.items() for frame in link.resend()]

    def checkpoint(self) -> None:
        """Replace the journal by a snapshot."""
        self._journal.replace(self.snapshot())

    def snapshot(self) -> bytes:
        """All that the node knows."""
        return snapshot_node(self.processor, self.links)

    def _link(self, peer: str) -> LinkEnd:
        return self.links.setdefault(peer, LinkEnd())

    def _write_and_apply(self, told: Told) -> list[OutFrame]:
        self._journal.append(told)
        return self._apply(told)

    def _apply(self, told: Told) -> list[OutFrame]:
        if isinstance(told.message, Lost) and not told.sender:
            self.links[told.message.neighbour] = LinkEnd()
        answers = self.processor.handle(told.message, told.now, told.sender)
        return [(peer, self._link(peer).send(message)) for peer, message in answers]
