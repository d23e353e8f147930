"""A network whose links lose, delay, double and cut, and whose nodes crash and come back, in virtual time.

Everything follows from a seed. Nodes recover from their journals, links resend what was not acknowledged; clients keep
the same kind of link to their node.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random

from cepheus.runtime.network.processor.journaled import MemoryJournal, Node, OutFrame
from cepheus.runtime.network.processor.processor import Processor
from cepheus.runtime.network.protocol.link import Frame, LinkEnd
from cepheus.runtime.network.protocol.messages import Delivered, Found, Lost, Message
from cepheus.runtime.network.protocol.strategy import Options
from cepheus.runtime.network.simulation.simulator import Link, Receipt, Traffic

_NOTHING = Frame(0, 0)


@dataclass(frozen=True, slots=True)
class Faults:
    """What goes wrong: probabilities for each frame, and how often nodes crash and links are cut.

    Times are microseconds. ``until`` is when everything heals for good, except for ``losses``: nodes that die at a
    time, are given up by their neighbours at another, and come back at a third or, with None, never.
    """

    loss: float = 0.0
    duplication: float = 0.0
    extra_delay: int = 0
    crashes: tuple[tuple[str, int, int], ...] = ()
    cuts: tuple[tuple[Link, int, int], ...] = ()
    losses: tuple[tuple[str, int, int, int | None], ...] = ()
    until: int = 0
    checkpoint_every: int = 0

    def later(self, begin: int, until: int) -> Faults:
        """Return faults whose times count from a moment, and that heal at another."""
        crashes = tuple((name, begin + start, begin + end) for name, start, end in self.crashes)
        cuts = tuple((link, begin + start, begin + end) for link, start, end in self.cuts)
        return replace(self, crashes=crashes, cuts=cuts, until=until)


@dataclass(slots=True)
class FaultyNetwork:
    """Nodes and links in virtual time, with faults; ``delays`` are those of the links."""

    delays: Mapping[Link, int]
    options: Options
    names: tuple[str, ...]
    faults: Faults
    seed: int
    retry: int = 150
    now: int = 0
    receipts: list[Receipt] = field(default_factory=list)
    told: list[tuple[int, str, Message]] = field(default_factory=list)
    on_delivered: Callable[[Delivered], None] | None = None
    traffic: Traffic = field(default_factory=Traffic)
    nodes: dict[str, Node | None] = field(init=False)
    _journals: dict[str, MemoryJournal] = field(init=False)
    _neighbours: dict[str, tuple[str, ...]] = field(init=False)
    _clients: dict[str, tuple[str, LinkEnd]] = field(default_factory=dict)
    _queue: list[tuple[int, int, str, str, str, Frame]] = field(default_factory=list)
    _count: int = 0
    _handled: int = 0
    _random: Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = Random(f"faults {self.seed}")
        self._neighbours = {
            name: tuple(sorted({b for a, b in self._both() if a == name})) for name in sorted(self.names)
        }
        self._journals = {name: MemoryJournal() for name in self.names}
        self.nodes = {name: self._make(name) for name in self.names}
        self.inject(self.faults)
        for name in self.names:
            self._push(self.retry, "timer", name, "")

    @property
    def processors(self) -> dict[str, Processor]:
        """The processors of the nodes that are up."""
        return {name: node.processor for name, node in self.nodes.items() if node is not None}

    def inject(self, faults: Faults) -> None:
        """Let other things go wrong from now on."""
        self.faults = faults
        for name, start, end in faults.crashes:
            self._push(start, "crash", name, "")
            self._push(end, "restart", name, "")
        for name, death, noticed, back in faults.losses:
            self._push(death, "crash", name, "")
            for neighbour in self._neighbours[name]:
                self.tell(noticed, neighbour, Lost(name))
            if back is not None:
                self._push(back, "return", name, "")

    def start(self) -> None:
        """Tell all nodes to begin."""
        for name, node in self.nodes.items():
            assert node is not None
            self._transmit(name, node.start(self.now))

    def post(self, time: int, processor: str, message: Message, client: str) -> None:
        """Let a client say something to its node."""
        _, end = self._clients.setdefault(client, (processor, LinkEnd()))
        self._push(time, "client", processor, client, end.send(message))

    def tell(self, time: int, processor: str, message: Message) -> None:
        """Let the host of a node say something, as soon as the node is up."""
        self._push(time, "host", processor, "", Frame(1, 0, message))

    def run(self, until: int) -> None:
        """Let time pass."""
        while self._queue and self._queue[0][0] <= until:
            self.now, _, kind, name, sender, frame = heapq.heappop(self._queue)
            self._step(kind, name, sender, frame)
        self.now = max(self.now, until)

    def settled(self) -> bool:
        """Whether everything that was sent has been acknowledged."""
        given_up = {name for name, _, _, back in self.faults.losses if back is None}
        nodes = [node for name, node in self.nodes.items() if name not in given_up]
        quiet = all(node is not None and not any(end.log for end in node.links.values()) for node in nodes)
        return quiet and not any(end.log for _, end in self._clients.values())

    def settle(self, step: int) -> None:
        """Let time pass until everything that was sent has been acknowledged."""
        self.run(self.now + step)
        while not self.settled():
            self.run(self.now + step)

    def _both(self) -> list[Link]:
        return [*self.delays, *((b, a) for a, b in self.delays)]

    def _make(self, name: str) -> Node:
        return Node(name, self._neighbours[name], self.options, self._journals[name])

    def _push(self, time: int, kind: str, name: str, sender: str, frame: Frame = _NOTHING) -> None:
        self._count += 1
        heapq.heappush(self._queue, (time, self._count, kind, name, sender, frame))

    def _step(self, kind: str, name: str, sender: str, frame: Frame = _NOTHING) -> None:
        node = self.nodes[name]
        match kind:
            case "crash":
                self.nodes[name] = None
            case "restart":
                node = self.nodes[name] = self._make(name)
                for peer in list(node.links):
                    self._transmit(name, node.connected(peer))
            case "return":
                self._return(name)
            case "timer":
                if node is not None:
                    self._transmit(name, node.timer())
                self._resend_clients(name)
                self._push(self.now + self.retry, "timer", name, "")
            case "host":
                if node is None:
                    self._push(self.now + self.retry, kind, name, sender, frame)
                else:
                    message = frame.message
                    assert message is not None
                    self._transmit(name, node.tell(message, self.now))
            case _:
                if node is not None:
                    self._transmit(name, node.frame(sender, frame, self.now))
                    self._handled += 1
                    every = self.faults.checkpoint_every
                    if every and self._handled % every == 0:
                        node.checkpoint()

    def _return(self, name: str) -> None:
        """A node that was given up is back with what it knew; it gives up its old links, as the others did."""
        self.nodes[name] = self._make(name)
        for message in (Lost, Found):
            for neighbour in self._neighbours[name]:
                self._step("host", name, "", Frame(1, 0, message(neighbour)))
                if message is Found:
                    self._step("host", neighbour, "", Frame(1, 0, Found(name)))

    def _resend_clients(self, name: str) -> None:
        for client, (processor, end) in self._clients.items():
            if processor == name:
                for again in end.resend():
                    self._push(self.now, "client", name, client, again)

    def _transmit(self, name: str, frames: list[OutFrame]) -> None:
        for peer, frame in frames:
            delay = self.delays.get((name, peer), self.delays.get((peer, name)))
            if delay is None:
                self._to_client(name, peer, frame)
                continue
            if frame.message is not None:
                self.traffic.count(name, peer, frame.message)
            healed = self.now >= self.faults.until
            for _ in range(1 if healed or self._random.random() >= self.faults.duplication else 2):
                if not healed and (self._cut(name, peer) or self._random.random() < self.faults.loss):
                    continue
                extra = 0 if healed else self._random.randint(0, self.faults.extra_delay)
                self._push(self.now + delay + extra, "frame", peer, name, frame)

    def _to_client(self, name: str, client: str, frame: Frame) -> None:
        if client not in self._clients:
            return
        _, end = self._clients[client]
        message = end.receive(frame)
        if isinstance(message, Delivered):
            self.receipts += [Receipt(message.sink, event, self.now) for event in message.events]
            if self.on_delivered is not None:
                self.on_delivered(message)
        elif message is not None:
            self.told.append((self.now, client, message))
        if frame.number:
            self._push(self.now, "client", name, client, end.acknowledge())

    def _cut(self, one: str, other: str) -> bool:
        pair = {one, other}
        return any(pair == set(link) and start <= self.now < end for link, start, end in self.faults.cuts)
