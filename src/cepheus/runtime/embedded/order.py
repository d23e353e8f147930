"""The reorder buffer: events come nearly in order and leave in total order.

A bound L, the lateness, says how far an event may lag behind the latest time seen. Everything here follows from one
number, the floor: the latest time seen minus L, or the time of the last ``advance`` if that is later. An arriving
event is late if its time lies before the floor as it stands then. Waiting events leave once nothing that is not late
can still come before them: without sequence numbers at times up to and including the floor, with sequence numbers
only before the floor, because an event of equal time and a smaller number may still come.

What leaves, and what is late, does not depend on how the input is cut into batches.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cepheus.core.batch import EventBatch
from cepheus.core.errors import EventError
from cepheus.core.event import Event
from cepheus.core.time import MAX_TIME, MIN_TIME


@dataclass(frozen=True, slots=True)
class Ordered:
    """What a batch led to: the events that may be processed now, and the rows of the batch that came too late."""

    ready: EventBatch
    late: NDArray[np.int64]


_NONE_LATE = np.empty(0, np.int64)


class ReorderBuffer:
    """Puts events into total order, waiting for stragglers up to ``lateness`` microseconds.

    With ``sequenced`` every event must have a sequence number, which breaks ties of time; otherwise events of equal
    time keep the order in which they arrived. ``to_batch`` puts single events into columns.

    While ``bound`` is set, the floor does not rise above it: what comes from elsewhere, and is further, waits.
    ``pushed`` is the latest time of the batch that was pushed last and had any event; whoever asks sets it back before.

    >>> buffer = ReorderBuffer(lateness=5)
    >>> batch = EventBatch.from_events([Event("A", 10), Event("B", 7), Event("C", 13), Event("D", 7)])
    >>> ordered = buffer.push(batch)
    >>> ordered.ready.times.tolist(), ordered.late.tolist(), len(buffer)
    ([7], [3], 2)
    >>> buffer.flush().times.tolist()
    [10, 13]
    """

    def __init__(
        self,
        lateness: int = 0,
        *,
        sequenced: bool = False,
        to_batch: Callable[[Sequence[Event]], EventBatch] = EventBatch.from_events,
    ) -> None:
        self.lateness = min(lateness, MAX_TIME)
        self.sequenced = sequenced
        self._columns_of = to_batch
        # Without lateness and sequence numbers the floor is the latest time, and whatever is not late leaves at once.
        self._immediate = lateness == 0 and not sequenced
        self._floor = MIN_TIME
        self.bound: int | None = None
        self.pushed = MIN_TIME
        self._reach = MIN_TIME  # what the floor would be without a bound
        # Waiting events are either in a batch, sorted, or in a heap: batches come in by the one way, single events by
        # the other, and a caller rarely mixes the two. The number in the heap keeps the order of arrival.
        self._batch = EventBatch.empty()
        self._heap: list[tuple[int, int, int, Event]] = []
        self._arrivals = 0

    def __len__(self) -> int:
        return len(self._batch) + len(self._heap)

    @property
    def floor(self) -> int:
        """The time before which an arriving event is late."""
        return self._floor

    @property
    def is_held_back(self) -> bool:
        """Whether the floor would be higher, had there been no bound; the next push lets it rise."""
        return self._reach > self._floor

    def push(self, batch: EventBatch) -> Ordered:
        """Take events in the order of arrival; give those that may be processed now and those that are late."""
        if not len(batch):
            return Ordered(self._caught_up(), _NONE_LATE)
        times = batch.times
        in_order = len(times) == 1 or bool((times[1:] >= times[:-1]).all())
        self.pushed = int(times[-1] if in_order else times.max())
        is_free = self.bound is None and self._reach <= self._floor
        if self._immediate and is_free and in_order and times[0] >= self._floor:
            self._floor = int(times[-1])
            return Ordered(batch, _NONE_LATE)
        if self.sequenced and batch.sequences is None:
            raise no_sequence()
        floors = np.maximum(times if in_order else np.maximum.accumulate(times), MIN_TIME + self.lateness)
        reaches = np.maximum(floors - self.lateness, max(self._reach, self._floor))
        self._reach = int(reaches[-1])
        floors = reaches if self.bound is None else np.maximum(np.minimum(reaches, self.bound), self._floor)
        late = np.flatnonzero(times < floors)
        self._floor = int(floors[-1])
        if len(late):
            batch = batch.take(np.flatnonzero(times >= floors))
        self._to_batch()
        self._batch = _sorted(EventBatch.concat([self._batch, batch]), self.sequenced)
        return Ordered(self._release(), late)

    def _caught_up(self) -> EventBatch:
        """What may be processed since the bound has risen, or is gone."""
        floor = self._reach if self.bound is None else min(self._reach, self.bound)
        return self.advance(floor) if floor > self._floor else EventBatch.empty()

    def push_event(self, event: Event) -> list[Event] | None:
        """Take one event; give the events that may be processed now, or None if this one is late."""
        time = event.time
        if time < self._floor:
            return None
        if self._immediate:
            self._floor = time
            return [event]
        if self.sequenced and event.sequence is None:
            raise no_sequence()
        self._floor = max(self._floor, time - self.lateness)
        self._to_heap()
        sequence = event.sequence if self.sequenced and event.sequence is not None else 0
        heapq.heappush(self._heap, (time, sequence, self._arrivals, event))
        self._arrivals += 1
        return self._pop()

    def advance(self, time: int) -> EventBatch:
        """Raise the floor to ``time`` (microseconds): nothing before it will come. Give what may be processed now."""
        self._floor = max(self._floor, time)
        self._to_batch()
        return self._release()

    def flush(self) -> EventBatch:
        """Release all that waits. What comes later and belongs before any of it is late."""
        self._to_batch()
        ready, self._batch = self._batch, EventBatch.empty()
        if len(ready):
            last = int(ready.times[-1])
            self._floor = max(self._floor, min(last + 1, MAX_TIME) if self.sequenced else last)
        return ready

    def waiting(self) -> EventBatch:
        """The events that wait, in order; they stay where they are."""
        self._to_batch()
        return self._batch

    def restore(self, waiting: EventBatch, floor: int) -> None:
        """Take over the events that waited in another buffer, and its floor."""
        self._batch, self._heap, self._floor = waiting, [], floor
        self._reach = max(floor, int(waiting.times[-1]) - self.lateness) if len(waiting) else floor

    def _release(self) -> EventBatch:
        """Split off the rows that lie before the floor, or at it where ties cannot change."""
        times = self._batch.times
        count = int(np.searchsorted(times, self._floor, side="left" if self.sequenced else "right"))
        if count == len(self._batch):
            ready, self._batch = self._batch, EventBatch.empty()
        else:
            ready, self._batch = self._batch.slice(0, count), self._batch.slice(count, len(self._batch))
        return ready

    def _pop(self) -> list[Event]:
        last = self._floor - 1 if self.sequenced else self._floor
        ready = []
        while self._heap and self._heap[0][0] <= last:
            ready.append(heapq.heappop(self._heap)[3])
        return ready

    def _to_heap(self) -> None:
        if len(self._batch):
            events, self._batch = self._batch.to_events(), EventBatch.empty()
            self._heap = [
                (event.time, event.sequence if self.sequenced and event.sequence is not None else 0, row, event)
                for row, event in enumerate(events)
            ]
            self._arrivals = len(events)

    def _to_batch(self) -> None:
        if self._heap:
            self._batch = self._columns_of([event for *_, event in sorted(self._heap, key=lambda entry: entry[:3])])
            self._heap, self._arrivals = [], 0


def _sorted(batch: EventBatch, sequenced: bool) -> EventBatch:
    """Sort by time, then sequence where there is one; the order of arrival decides what is left."""
    times, sequences = batch.times, batch.sequences
    if not sequenced or sequences is None:
        if len(times) < 2 or bool((times[1:] >= times[:-1]).all()):
            return batch
        return batch.take(np.argsort(times, kind="stable"))
    return batch.take(np.lexsort((sequences, times)))


def no_sequence() -> EventError:
    """The error for an event without a sequence number where they are needed."""
    return EventError.of(
        "sequence", "an event has no sequence number", hint="give every event one, or leave out the sequence option"
    )
