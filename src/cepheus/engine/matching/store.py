"""Events in total order, whatever the order in which they come: those that are remembered, and those that still wait.

At a processor of a network a partial rule may let an old event through only when a later one completes it. So an event
is put into its place in the order, wherever that is.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from operator import itemgetter

from cepheus.core.event import Event, id_word
from cepheus.core.time import MIN_TIME

Key = tuple[int, str, int, int, tuple[int | str, ...]]
"""Place in the total order: time, source, counter; for a composite event how deep and by which choices it was made."""

_TRIM = 64


class Record:
    """A remembered event: its place in the order, and the rules for which it is gone.

    ``sent`` is the moment at which a processor let it through to its father.
    """

    __slots__ = ("_word", "consumed", "counter", "event", "key", "sent", "source", "time", "type")

    def __init__(
        self, event: Event, source: str, counter: int, depth: int = 0, path: tuple[int | str, ...] = ()
    ) -> None:
        self.event = event
        self.type = event.type
        self.time = event.time
        self.source = source
        self.counter = counter
        self.key: Key = (event.time, source, counter, depth, path)
        self.sent: int | None = None
        self.consumed: set[str] | None = None
        self._word: int | None = None

    @property
    def start(self) -> int:
        """When the event began."""
        return self.time if self.event.start is None else self.event.start

    @property
    def word(self) -> int:
        """What the id adds to the ids of composite events; kept, as an event is often part of several."""
        if self._word is None:
            assert self.event.id is not None
            self._word = id_word(self.event.id)
        return self._word


def _is_sent(record: Record, at: int) -> bool:
    return record.sent is not None and record.sent <= at


class Column:
    """The events of one type, in total order."""

    __slots__ = ("_sent_at", "_sent_end", "_sent_start", "records", "times")

    def __init__(self) -> None:
        self.times: list[int] = []
        self.records: list[Record] = []
        self._sent_start = self._sent_end = 0  # events in these places have been sent, up to this moment
        self._sent_at = MIN_TIME

    def insert(self, record: Record) -> bool:
        """Put an event into its place; False if it was there before."""
        times, records, time = self.times, self.records, record.time
        if not times or time > times[-1]:
            times.append(time)
            records.append(record)
            return True
        place = bisect_right(times, time)
        while place and records[place - 1].key > record.key:
            place -= 1
        if place and records[place - 1].key == record.key:
            return False
        times.insert(place, time)
        records.insert(place, record)
        if place < self._sent_end:
            self._sent_end += 1
            self._sent_start = place + 1 if place >= self._sent_start else self._sent_start + 1
        return True

    def unsent(self, low: int, high: int, at: int) -> list[Record]:
        """The events in some places that have not been sent up to a moment.

        Windows move on and mostly cover what the one before them did: places in which everything has been sent are
        remembered, and not gone through again.
        """
        if at < self._sent_at or not self._sent_start <= low <= self._sent_end:
            self._sent_start = self._sent_end = low
        self._sent_at = at
        records = self.records
        while self._sent_end < high and _is_sent(records[self._sent_end], at):
            self._sent_end += 1
        return [record for record in records[self._sent_end : high] if not _is_sent(record, at)]

    def within(self, start: int, end: int) -> tuple[int, int]:
        """The places of the events from ``start`` up to, not including, ``end``."""
        times = self.times
        return bisect_left(times, start), bisect_left(times, end)

    def forget(self, before: int) -> None:
        """Drop events before a time, many at once."""
        if len(self.times) > _TRIM and self.times[_TRIM - 1] < before:
            gone = bisect_left(self.times, before)
            del self.times[:gone]
            del self.records[:gone]
            self._sent_start, self._sent_end = max(0, self._sent_start - gone), max(0, self._sent_end - gone)


class Store:
    """All remembered events, a column for each type."""

    def __init__(self) -> None:
        self.columns: dict[str, Column] = {}

    def column(self, event_type: str) -> Column:
        """The events of a type; an empty column if there are none yet."""
        found = self.columns.get(event_type)
        if found is None:
            found = self.columns[event_type] = Column()
        return found

    def insert(self, record: Record) -> bool:
        """Remember an event; False if it was remembered before."""
        column = self.columns.get(record.type)
        return (self.column(record.type) if column is None else column).insert(record)

    def find(self, record: Record) -> Record | None:
        """Look up what is remembered of the same event."""
        column = self.column(record.type)
        place = bisect_left(column.times, record.time)
        while place < len(column.times) and column.times[place] == record.time:
            if column.records[place].key == record.key:
                return column.records[place]
            place += 1
        return None

    def forget(self, before: int) -> None:
        """Drop events before a time."""
        for column in self.columns.values():
            column.forget(before)

    def __iter__(self) -> Iterator[Record]:
        """All events, type by type, each type in total order."""
        for column in self.columns.values():
            yield from column.records


Arrival = tuple[int, int, list[Record]]
"""A moment, the number of an arrival and the events that come to be known then."""


class Waiting:
    """Events that have come, in any order, and wait until it is safe to evaluate them."""

    __slots__ = ("_queue", "arrivals")

    def __init__(self, queue: list[Arrival] | None = None, arrivals: int = 0) -> None:
        self._queue: list[Arrival] = [] if queue is None else queue
        heapify(self._queue)
        self.arrivals = arrivals

    def __bool__(self) -> bool:
        return bool(self._queue)

    def add(self, at: int, records: list[Record]) -> None:
        """Let events wait that come to be known at a moment."""
        self.arrivals += 1
        heappush(self._queue, (at, self.arrivals, records))

    def take(self, through: int) -> Iterator[tuple[int, list[Record]]]:
        """Go through the moments up to a time, and the events of each; they no longer wait."""
        queue = self._queue
        while queue and queue[0][0] <= through:
            at, _, records = heappop(queue)
            if queue and queue[0][0] == at:
                records = list(records)
                while queue and queue[0][0] == at:
                    records += heappop(queue)[2]
            yield at, records

    def any_until(self, through: int) -> bool:
        """Whether something waits whose moment is not after a time."""
        return bool(self._queue) and self._queue[0][0] <= through

    @property
    def earliest(self) -> int | None:
        """The moment of what waits for the longest time; None if nothing waits."""
        return self._queue[0][0] if self._queue else None

    @property
    def latest(self) -> int:
        """The last moment that something waits for."""
        return max((at for at, _, _ in self._queue), default=MIN_TIME)

    def in_order(self) -> list[Arrival]:
        """All that waits, by moment and arrival."""
        return sorted(self._queue, key=itemgetter(0, 1))
