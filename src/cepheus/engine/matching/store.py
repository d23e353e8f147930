"""The events that a processor remembers for one tree, by type, in total order.

Events come in any order: a partial rule may let an old event through only when a later one completes it. So an event
is put into its place in the order, wherever that is.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from cepheus.core.event import Event, id_word
from cepheus.core.time import MIN_TIME

Key = tuple[int, str, int, int, tuple[int | str, ...]]
"""Place in the total order: time, source, counter; for a composite event how deep and by which choices it was made."""

_TRIM = 64


class Record:
    """An event remembered for one tree: the moment at which it was let through, and for which rules it is gone."""

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
        """What the id adds to the ids of composite events, which an event is often part of."""
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
        """Put an event into its place; False if it is there already."""
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
        """Give the events in some places that have not been sent up to a moment.

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
        """Give the places of the events from ``start`` up to, not including, ``end``."""
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
    """All events that are remembered for one tree."""

    def __init__(self) -> None:
        self.columns: dict[str, Column] = {}

    def column(self, event_type: str) -> Column:
        """Give the events of a type."""
        found = self.columns.get(event_type)
        if found is None:
            found = self.columns[event_type] = Column()
        return found

    def insert(self, record: Record) -> bool:
        """Remember an event; False if it is remembered already."""
        column = self.columns.get(record.type)
        return (self.column(record.type) if column is None else column).insert(record)

    def find(self, record: Record) -> Record | None:
        """Give what is remembered of the same event."""
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
        """Give all events, type by type, each in total order."""
        for column in self.columns.values():
            yield from column.records
