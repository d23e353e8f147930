"""Several ordered streams into one: by time, then sequence number, then the order of the streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from cepheus.core.batch import EventBatch


def merge(streams: Sequence[Iterable[EventBatch]]) -> Iterator[EventBatch]:
    """Merge streams of batches, each in total order, into one such stream.

    Only the batches at the front of each stream are in memory, and those that share one time with them.

    >>> from cepheus.core.event import Event
    >>> batch = lambda *times: EventBatch.from_events(Event("A", time) for time in times)
    >>> [b.times.tolist() for b in merge([[batch(1, 4), batch(6)], [batch(2), batch(3, 9)]])]
    [[1, 2], [3, 4], [6], [9]]
    """
    if len(streams) == 1:
        yield from (batch for batch in streams[0] if len(batch))
        return
    fronts = [_Front(iter(stream)) for stream in streams]
    while live := [front for front in fronts if front.fill()]:
        # Nothing before the end of the front that ends first can still come. At its very end something may, unless
        # that stream is over.
        bound = min(front.last for front in live)
        for front in live:
            front.reach_beyond(bound)
        over = all(front.is_over for front in live if front.last == bound)
        yield _sorted([part for front in live if len(part := front.take_until(bound, included=over))])


class _Front:
    """The part of a stream that is in memory."""

    def __init__(self, stream: Iterator[EventBatch]) -> None:
        self._stream = stream
        self._batch = EventBatch.empty()
        self.is_over = False

    @property
    def last(self) -> int:
        """The last time in memory."""
        return int(self._batch.times[-1])

    def fill(self) -> bool:
        """Make sure that something is in memory; False if the stream has ended."""
        while not len(self._batch) and not self.is_over:
            self._read()
        return len(self._batch) > 0

    def reach_beyond(self, time: int) -> None:
        """Read on until memory holds a later time, where all it holds is of that one time."""
        while not self.is_over and int(self._batch.times[0]) == self.last == time:
            self._read()

    def take_until(self, time: int, *, included: bool) -> EventBatch:
        """Take what lies before a time, or also at it, out of memory."""
        count = int(np.searchsorted(self._batch.times, time, side="right" if included else "left"))
        part, self._batch = self._batch.slice(0, count), self._batch.slice(count, len(self._batch))
        return part

    def _read(self) -> None:
        batch = next(self._stream, None)
        if batch is None:
            self.is_over = True
        else:
            self._batch = EventBatch.concat([self._batch, batch])


def _sorted(parts: Sequence[EventBatch]) -> EventBatch:
    batch = EventBatch.concat(parts)
    if len(parts) < 2:
        return batch
    keys = (batch.times,) if batch.sequences is None else (batch.sequences, batch.times)
    return batch.take(np.lexsort(keys))
