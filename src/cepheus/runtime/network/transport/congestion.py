"""Which processors have more to send than the others take: while there is one, sources everywhere have to wait.

A queue grows where a neighbour is away or slow, which may be many links from the sources that fill it. So whoever has
a long queue says so again and again, and it is passed on to everybody, each time once. Nobody decides from what others
decided, so there is no circle in which everyone waits for everyone. A client that publishes faster than it may waits,
too (``Pace``).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from cepheus.runtime.network.protocol.codec import MessageError


@dataclass(slots=True)
class Pace:
    """A bucket that fills at ``rate`` per second and holds one second's worth; 0 is no limit.

    >>> pace = Pace(100.0, now=0.0)
    >>> pace.take(100, now=0.0), pace.take(50, now=0.0), pace.take(10, now=1.0)
    (0.0, 0.5, 0.0)
    """

    rate: float
    now: float
    _used: float = 0.0

    def take(self, events: int, now: float) -> float:
        """Count events; give the seconds to wait before the next ones."""
        if not self.rate:
            return 0.0
        self._used = max(0.0, self._used - (now - self.now) * self.rate) + events
        self.now = now
        return max(0.0, self._used / self.rate - 1.0)


_REPEAT = 0.5
_VALID = 2.0
"""Seconds after which what was said of a queue is said again, and after which it does not count any more."""


@dataclass(frozen=True, slots=True)
class Note:
    """Whether somebody's queue is long, as they said it for the ``moment``-th time."""

    origin: str
    moment: int
    long: bool

    def encode(self) -> bytes:
        """Write it as bytes."""
        return json.dumps({"queue": [self.origin, self.moment, self.long]}).encode()

    @classmethod
    def decode(cls, data: bytes) -> Note:
        """Read it from bytes; MessageError if it is none.

        >>> Note.decode(Note("p1", 5, True).encode())
        Note(origin='p1', moment=5, long=True)
        """
        try:
            origin, moment, long = json.loads(data)["queue"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise MessageError.of("message", "this is no note of a processor") from None
        if type(origin) is not str or type(moment) is not int or type(long) is not bool:
            raise MessageError.of("message", "this is no note of a processor")
        return cls(origin, moment, long)


@dataclass(slots=True)
class Congestion:
    """What a processor knows of queues: its own, and those that others speak of. Times are seconds.

    ``first`` is where its own notes begin to count: later than those of an earlier run of the same processor.

    >>> here = Congestion("p1", window=100, first=1)
    >>> here.look([120, 3], now=0.0), here.holds(0.0)
    (Note(origin='p1', moment=1, long=True), True)
    >>> here.look([60, 3], now=0.1), here.look([40, 3], now=0.2), here.holds(0.2)
    (None, Note(origin='p1', moment=2, long=False), False)
    >>> here.hear(Note("p9", 7, True), now=1.0), here.hear(Note("p9", 7, True), now=1.1), here.holds(1.2), here.holds(9)
    (True, False, True, False)
    """

    name: str
    window: int
    first: int
    _moment: int = field(init=False)
    _long: bool = False
    _said: float = 0.0
    _heard: dict[str, tuple[Note, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._moment = self.first - 1

    def look(self, queues: Iterable[int], now: float) -> Note | None:
        """Look at one's own queues, in bytes; give what everybody must be told, if anything.

        A queue is long from ``window`` on, until it is half of that: else sources would stop and go all the time.
        """
        longest = max(queues, default=0)
        long = longest > (self.window // 2 if self._long else self.window)
        if long == self._long and not (long and now - self._said > _REPEAT):
            return None
        self._long, self._said = long, now
        self._moment += 1
        return Note(self.name, self._moment, long)

    def hear(self, note: Note, now: float) -> bool:
        """Take a note; True if it is new, and must be passed on."""
        known = self._heard.get(note.origin)
        if note.origin == self.name or (known is not None and known[0].moment >= note.moment):
            return False
        self._heard[note.origin] = (note, now)
        return True

    def holds(self, now: float) -> bool:
        """Whether sources have to wait."""
        return self._long or any(note.long and now - since < _VALID for note, since in self._heard.values())

    def origins(self, now: float) -> Collection[str]:
        """Return the names of those whose queues are long."""
        others = [name for name, (note, since) in self._heard.items() if note.long and now - since < _VALID]
        return sorted([self.name, *others] if self._long else others)
