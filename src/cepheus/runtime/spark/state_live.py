"""A shard at work in this process: an engine, and the events that wait for the watermark.

Spark gives a shard to whichever Python worker is free, so a worker keeps the engines that it has run before and brings
one up to date from the pieces that it has missed. Whether it may is told by tokens alone: an engine that has seen
other events than the state says, because a task failed or a checkpoint was set back, is thrown away.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from cepheus.core.batch import EventBatch
from cepheus.core.time import MIN_TIME
from cepheus.engine.base.interface import Engine
from cepheus.runtime.spark.state_head import Head, Piece

_MOST_KEPT = 64


class ShardWork(Protocol):
    """What a shard does with its events; they travel as Arrow tables.

    ``fingerprint`` differs where state cannot be shared. ``memory`` is how far back, in microseconds, the past of a
    shard can matter; None if there is no bound, as for rules that consume events or feed themselves.
    """

    @property
    def fingerprint(self) -> str:
        """Equal for equal rules that are split in the same way."""

    @property
    def memory(self) -> int | None:
        """Microseconds that the rules can look back, or None."""

    @property
    def points(self) -> Sequence[int]:
        """The points in time, in order and in microseconds, at which something happens though there be no event."""

    def engine(self) -> Engine:
        """Build a new engine with the rules of the shard."""

    def times(self, events: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The times of events in microseconds."""

    def in_order(self, events: pa.Table) -> pa.Table:
        """Put events into total order."""

    def batch(self, events: pa.Table) -> EventBatch:
        """Turn events into a batch as the engine takes it."""

    def own(self, composites: EventBatch) -> EventBatch:
        """Leave out the composite events that another shard makes as well and gives."""


@dataclass(slots=True)
class Live:
    """An engine that has processed all events before ``floor`` of the pieces up to number ``after``."""

    work: ShardWork
    engine: Engine
    floor: int = MIN_TIME
    after: int = -1
    token: str = ""
    waiting: pa.Table | None = None

    def take(self, events: pa.Table) -> None:
        """Add events to those that wait."""
        if events.num_rows:
            both = events if self.waiting is None else pa.concat_tables([self.waiting, events])
            self.waiting = self.work.in_order(both)

    def run(self, until: int) -> EventBatch:
        """Process the events before a time, and give what they and the time itself complete."""
        later = until > self.floor
        self.floor = max(self.floor, until)
        found = [self._feed(until)]
        if later:
            found.append(self.engine.advance(until))
        return EventBatch.concat(found)

    def _feed(self, until: int) -> EventBatch:
        if self.waiting is None:
            return EventBatch.empty()
        count = int(np.searchsorted(self.work.times(self.waiting), until, side="left"))
        if not count:
            return EventBatch.empty()
        ready = self.waiting.slice(0, count)
        rest = self.waiting.slice(count)
        self.waiting = rest if rest.num_rows else None
        return self.engine.feed(self.work.batch(ready))

    def follows(self, head: Head) -> bool:
        """Whether this can be brought up to the state that a head describes by what it has not seen of it."""
        if self.floor > head.floor:
            return False
        if self.after == head.next - 1:
            return self.token == head.token
        if head.base is not None and self.after < head.base.number:
            return False  # what it has missed may be gone
        tokens = {piece.number: piece.token for piece in head.pieces}
        known = tokens.get(self.after) == self.token
        return known and all(piece.first >= self.floor for piece in missed(head, self.after))


def missed(head: Head, after: int) -> Sequence[Piece]:
    """The pieces that came after a number."""
    return [piece for piece in head.pieces if piece.number > after]


class LiveShards:
    """The shards that were at work in this process lately, by name; the least recently used are given up."""

    def __init__(self, most: int = _MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, Live] = OrderedDict()

    def take(self, name: Hashable, head: Head) -> Live | None:
        """Take out the shard of a name if it goes with its state. Whoever fails with it does not put it back."""
        live = self._kept.pop(name, None)
        return live if live is not None and live.follows(head) else None

    def keep(self, name: Hashable, live: Live) -> None:
        """Keep a shard for the next micro-batch."""
        self._kept[name] = live
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Live]:
        return iter(self._kept.values())
