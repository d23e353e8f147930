"""A network in virtual time: discrete events, fixed by a seed, on the same processors that run for real.

Links deliver in the order of sending, each message after the link's delay and, where a bandwidth is set, once those
before it are through. All traffic is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from cepheus.core.event import Event
from cepheus.runtime.network.processor.processor import Processor
from cepheus.runtime.network.protocol.messages import (
    Awaken,
    Completed,
    Deliver,
    Delivered,
    Entry,
    Events,
    Message,
    Pulled,
    Start,
)
from cepheus.runtime.network.protocol.strategy import Options

_HEADER = 24
_EVENT = 32
_VALUE = 8
_ENTRY = 16
_PROMISE = 12
_SHORT = _HEADER + 8


def _size(events: Sequence[Event]) -> int:
    """The size of a message of events in bytes, as a compact binary encoding would have it."""
    size = _HEADER + _EVENT * len(events)
    for event in events:
        size += _VALUE * len(event.attributes)
    return size


def _size_of_entries(entries: Sequence[Entry]) -> int:
    """Do the same for events that say where they come from and which trees they are for."""
    size = _HEADER + (_ENTRY + _EVENT) * len(entries)
    for entry in entries:
        size += _VALUE * len(entry.event.attributes)
    return size


@dataclass(slots=True)
class Traffic:
    """Counts by direction of a link.

    ``notifications`` are events, primitive or composite, each time they cross a link; ``awakenings`` the questions of
    pull mode; ``heartbeats`` messages that only carry promises, or say that a question has been answered; ``control``
    all others. ``bytes`` are of notifications and awakenings, ``other_bytes`` of the rest.
    """

    notifications: Counter[tuple[str, str]] = field(default_factory=Counter)
    bytes: Counter[tuple[str, str]] = field(default_factory=Counter)
    awakenings: int = 0
    heartbeats: int = 0
    control: int = 0
    other_bytes: int = 0

    def count(self, name: str, to: str, message: Message) -> int:
        """Count one message; give its size in bytes."""
        match message:
            case Events(entries=entries, through=through):
                if entries:
                    size = _size_of_entries(entries) + _PROMISE * len(through)
                    return self._count_events(name, to, len(entries), size)
                self.heartbeats += 1
                size = _HEADER + _PROMISE * len(through)
            case Deliver(events=events):
                return self._count_events(name, to, len(events), _size(events))
            case Awaken(values=values):
                self.awakenings += 1
                size = _HEADER + 24 + 16 * len(values)
                self.bytes[name, to] += size
                return size
            case Pulled() | Completed():
                self.heartbeats += 1
                size = _SHORT
            case _:
                self.control += 1
                size = _SHORT
        self.other_bytes += size
        return size

    def _count_events(self, name: str, to: str, count: int, size: int) -> int:
        link = name, to
        self.notifications[link] += count
        self.bytes[link] += size
        return size

    @property
    def total(self) -> int:
        """All notifications and awakenings: the papers' traffic."""
        return self.notifications.total() + self.awakenings


Link = tuple[str, str]
_Item = tuple[str, str, Message] | Callable[[], None]


@dataclass(slots=True)
class LinkState:
    """A link in one direction: its delay in microseconds, bytes per second (None: no limit), when it is free."""

    delay: int
    bandwidth: float | None = None
    free_at: int = 0


@dataclass(slots=True)
class Receipt:
    """What a sink received, and when."""

    sink: str
    event: Event
    received: int


@dataclass(slots=True)
class Network:
    """Processors and links in virtual time; ``delays`` gives the delay of each link, the same both ways."""

    delays: Mapping[Link, int]
    options: Options
    names: tuple[str, ...] = ()
    bandwidth: float | None = None
    now: int = 0
    receipts: list[Receipt] = field(default_factory=list)
    told: list[tuple[int, str, Message]] = field(default_factory=list)
    traffic: Traffic = field(default_factory=Traffic)
    on_told: Callable[[str, Message], None] | None = None
    on_delivered: Callable[[Delivered], None] | None = None
    processors: dict[str, Processor] = field(init=False)
    _links: dict[str, dict[str, LinkState]] = field(init=False)
    _queue: list[tuple[int, int, _Item]] = field(default_factory=list)
    _count: int = 0

    def __post_init__(self) -> None:
        self._links = {name: {} for name in self.names}
        for (one, other), delay in self.delays.items():
            self._links.setdefault(one, {})[other] = LinkState(delay, self.bandwidth)
            self._links.setdefault(other, {})[one] = LinkState(delay, self.bandwidth)
        self.processors = {
            name: Processor(name, tuple(sorted(found)), self.options) for name, found in sorted(self._links.items())
        }

    def post(self, time: int, processor: str, message: Message, sender: str = "") -> None:
        """Hand a message of a client to a processor at a time."""
        self._push(time, (processor, sender, message))

    def call(self, time: int, action: Callable[[], None]) -> None:
        """Call a function when a time has come."""
        self._push(time, action)

    def hand(self, processor: str, message: Message, sender: str = "") -> None:
        """Hand a message to a processor now."""
        self._deliver(processor, sender, message)

    def _push(self, time: int, item: _Item) -> None:
        self._count += 1
        heappush(self._queue, (time, self._count, item))

    def start(self) -> None:
        """Tell all processors to begin."""
        for name in self.processors:
            self.post(self.now, name, Start())

    def run(self, until: int | None = None) -> None:
        """Let time pass until nothing is under way, or up to a time."""
        queue = self._queue
        while queue and (until is None or queue[0][0] <= until):
            self.now, _, item = heappop(queue)
            if isinstance(item, tuple):
                self._deliver(*item)
            else:
                item()
        if until is not None:
            self.now = max(self.now, until)

    def _deliver(self, name: str, sender: str, message: Message) -> None:
        links = self._links[name]
        for to, answer in self.processors[name].handle(message, self.now, sender):
            link = links.get(to)
            if link is not None:
                self._transmit(name, to, link, answer)
            elif isinstance(answer, Delivered):
                self.receipts += [Receipt(answer.sink, event, self.now) for event in answer.events]
                if self.on_delivered is not None:
                    self.on_delivered(answer)
            else:
                self.told.append((self.now, to, answer))
                if self.on_told is not None:
                    self.on_told(to, answer)

    def _transmit(self, name: str, to: str, link: LinkState, message: Message) -> None:
        size = self.traffic.count(name, to, message)
        start = self.now
        if link.bandwidth is not None:
            start = link.free_at = max(start, link.free_at) + round(size / link.bandwidth * 1_000_000)
        self._count += 1
        heappush(self._queue, (start + link.delay, self._count, (to, name, message)))
