"""A shard of a streaming query as a state machine without Spark: events and a watermark in, composite events out.

What comes out over time is what a single run over all events that were not late gives, however the stream is cut into
micro-batches and whichever process runs a shard when. An event is late if its time lies before the watermark of the
micro-batch that brings it; events leave for the engine in total order once the watermark has passed them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from typing import Protocol
from uuid import uuid4

import numpy as np
import pyarrow as pa

from cepheus.core.batch import EventBatch
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.engine.assembly.ending import next_deadline
from cepheus.engine.base import snapshot_form as form
from cepheus.engine.base.snapshot import restoring
from cepheus.engine.base.ties import TieCounts
from cepheus.runtime.spark.shard_state import (
    Base,
    Head,
    LiveShard,
    LiveShards,
    Piece,
    ShardWork,
    missed,
    refuse_other_rules,
)

_RECENT = 16
"""So many of the newest pieces are left alone, so that a process which lags behind finds what it has missed."""

_FAN_IN = 8
"""So many pieces of a level are merged into one of the next."""

_MOST_MERGED = 8 << 20
"""Larger pieces, in bytes, are not worth merging."""

_LEAST_BASE = 1 << 20
"""Before so many bytes have been processed, a new base is not worth writing."""

_MILLISECOND = 1000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call led to: composite events, events that were late, the state as it is now.

    ``slept`` is the ``wake`` that an earlier call gave; ``ties`` is what this call counted of simultaneous events.
    """

    composites: EventBatch
    late: pa.Table | None
    head: Head
    slept: int | None = None
    ties: TieCounts = field(default_factory=TieCounts)

    @property
    def wake(self) -> int | None:
        """When the watermark reaches this time, in milliseconds as Spark's timers, there is something to do."""
        return self.head.wake


def _new_name() -> str:
    return uuid4().hex


class ShardMachine:
    """Runs one shard of a query. What it has at work in this process goes by the name that its state has.

    ``new_name`` gives a name that was never given before.
    """

    def __init__(
        self, work: ShardWork, shards: LiveShards, query: Hashable, new_name: Callable[[], str] = _new_name
    ) -> None:
        self._work = work
        self._shards = shards
        self._query = query
        self._new_name = new_name

    def handle(
        self, store: ShardStore, events: pa.Table | None, watermark: int, late_before: int | None = None
    ) -> Outcome:
        """Take the events of a micro-batch, none if only time has passed, and its watermark in microseconds.

        Events before ``late_before`` are late, by default those before the watermark.
        """
        head = self._head(store)
        slept = head.wake
        name = (self._query, head.shard, head.rules)
        live = self._shards.take(name, head) or self._restored(store, head)
        self._catch_up(store, live, head)
        until = max(head.floor, watermark)
        late = None
        if events is not None and events.num_rows:
            # what lies before the floor has been processed, also if more lateness is allowed than before
            events, late = self._apart(events, until if late_before is None else max(late_before, head.floor))
            head = replace(head, late=head.late + (0 if late is None else late.num_rows))
            if events.num_rows:
                head = self._add(store, live, head, self._work.in_order(events))
        counted = live.engine.ties
        composites = self._work.own(live.run(until))
        ties = live.engine.ties.since(counted)
        head = self._forget(store, live, replace(head, floor=until))
        head = self._merge(store, head)
        head = replace(head, wake=self._wake(live, head))
        store.set_head(head.to_bytes())
        self._shards.keep(name, live)
        return Outcome(composites, late, head, slept, ties)

    def _head(self, store: ShardStore) -> Head:
        data = store.head()
        if data is None:
            return Head(self._work.fingerprint, self._new_name())
        head = Head.from_bytes(data)
        refuse_other_rules(head, self._work.fingerprint)
        return head if head.shard else replace(head, shard=self._new_name())

    def _restored(self, store: ShardStore, head: Head) -> LiveShard:
        """Start from the base, or from nothing."""
        live = LiveShard(self._work, self._work.engine())
        if head.base is not None:
            with restoring():
                live.engine.restore(read_blob(store, head.base.number, head.base.parts))
            live.floor = head.base.floor
        return live

    def _catch_up(self, store: ShardStore, live: LiveShard, head: Head) -> None:
        """Process what the state says has been processed; the composite events were given when that happened.

        Piece after piece: what no later piece comes before is processed at once, so that a long past does not have to
        fit into memory.
        """
        pieces = missed(head, live.after)
        known = live.floor
        bounds = np.minimum.accumulate([head.floor, *(piece.first for piece in reversed(pieces))])[-2::-1]
        for piece, bound in zip(pieces, bounds.tolist(), strict=True):
            with restoring():
                events = self._piece(store, piece)
                if piece.first < known:  # the base holds what lies before
                    times = self._work.times(events)
                    events = events.slice(int(np.searchsorted(times, known, side="left")))
                live.take(events)
            live.run(bound)
        live.run(head.floor)
        live.after, live.token = head.next - 1, head.token

    def _piece(self, store: ShardStore, piece: Piece) -> pa.Table:
        """Read the events of a piece, if they are what the head says."""
        data = read_blob(store, piece.number, piece.parts)
        form.require(len(data) == piece.size, "$.pieces", "a piece has another size")
        events = self._work.unpack(data)
        events.validate(full=True)  # of what others may have written, not even the offsets are sure
        times = self._work.times(events)
        form.require(len(times) and (times[1:] >= times[:-1]).all(), "$.pieces", "a piece is not in order")
        form.require((times[0], times[-1]) == (piece.first, piece.last), "$.pieces", "a piece has other events")
        return self._work.fitted(events)

    def _apart(self, events: pa.Table, until: int) -> tuple[pa.Table, pa.Table | None]:
        """Separate events that are in time from those that are late."""
        times = self._work.times(events)
        if times.min() >= until:
            return events, None
        in_time = pa.array(times >= until)
        return events.filter(in_time), events.filter(pa.array(times < until))

    def _add(self, store: ShardStore, live: LiveShard, head: Head, events: pa.Table) -> Head:
        """Let events wait, and write them down."""
        data = self._work.pack(events)
        token = hashlib.blake2b(data, key=head.token.encode(), digest_size=16).hexdigest()
        times = self._work.times(events)
        piece = Piece(head.next, write_blob(store, head.next, data), len(data), int(times[0]), int(times[-1]), token)
        live.take(events)
        live.after, live.token = piece.number, token
        return replace(head, next=head.next + 1, token=token, pieces=(*head.pieces, piece))

    def _forget(self, store: ShardStore, live: LiveShard, head: Head) -> Head:
        """Drop what nothing will ask for again."""
        memory = self._work.memory
        if memory is not None:
            return self._without(store, head, max(head.floor - memory, MIN_TIME))
        passed = sum(piece.size for piece in head.pieces if piece.last < head.floor)
        if passed < max(_LEAST_BASE, 0 if head.base is None else head.base.size):
            return head
        if head.base is not None:
            remove_blob(store, head.base.number, head.base.parts)
        data = live.engine.snapshot()
        base = Base(head.next, write_blob(store, head.next, data), len(data), head.floor)
        # The base takes a number of its own: a process that has not come so far must start from the base.
        head = self._without(store, replace(head, base=base, next=head.next + 1), head.floor)
        live.after = base.number
        return head

    def _without(self, store: ShardStore, head: Head, before: int) -> Head:
        """Remove the pieces that lie wholly before a time."""
        kept = tuple(piece for piece in head.pieces if piece.last >= before)
        for piece in head.pieces:
            if piece.last < before:
                remove_blob(store, piece.number, piece.parts)
        return replace(head, pieces=kept)

    def _merge(self, store: ShardStore, head: Head) -> Head:
        """Merge small old pieces, so that the head stays short however long a window is."""
        older = head.pieces[:-_RECENT]
        for _, level in groupby(older, key=lambda piece: piece.level):
            run = tuple(islice(level, _FAN_IN))
            if len(run) == _FAN_IN and sum(piece.size for piece in run) <= _MOST_MERGED:
                at = head.pieces.index(run[0])
                merged = self._merged(store, run)
                if merged is None:
                    return head
                return replace(head, pieces=(*head.pieces[:at], merged, *head.pieces[at + _FAN_IN :]))
        return head

    def _merged(self, store: ShardStore, run: tuple[Piece, ...]) -> Piece | None:
        """Merge pieces; None if nothing of them is left that the rules of now look at."""
        with restoring():
            events = pa.concat_tables([self._piece(store, piece) for piece in run], promote_options="default")
            if not events.num_rows:
                return None
            events = self._work.in_order(events)
            data = self._work.pack(events)
        times = self._work.times(events)
        for piece in run:
            remove_blob(store, piece.number, piece.parts)
        last = run[-1]
        return Piece(
            last.number,
            write_blob(store, last.number, data),
            len(data),
            int(times[0]),
            int(times[-1]),
            last.token,
            last.level + 1,
        )

    def _wake(self, live: LiveShard, head: Head) -> int | None:
        """When there is something to do: events to process, points in time and deadlines that come up, pieces to drop.

        A watermark begins at 0, so before that there is no time to wake at.
        """
        due = [point for point in self._work.points if point > head.floor][:1]
        if live.waiting is not None:
            due.append(int(self._work.times(live.waiting)[0]))
        elif self._work.memory is not None and head.pieces:
            due.append(min(max(piece.last for piece in head.pieces) + self._work.memory, MAX_TIME))
        deadline = next_deadline(live.engine)
        if deadline is not None:
            due.append(deadline)
        return max(min(due) // _MILLISECOND + 1, 1) if due else None


PART = 4 << 20
"""The most bytes that are kept under one key."""


class ShardStore(Protocol):
    """The state of one shard. All changes of one micro-batch become durable together, or none does."""

    def head(self) -> bytes | None:
        """Read the head; None for a shard that is new."""

    def set_head(self, data: bytes) -> None:
        """Write the head."""

    def part(self, number: int, part: int) -> bytes:
        """Read a part of the blob of that number."""

    def set_part(self, number: int, part: int, data: bytes) -> None:
        """Write a part of a blob."""

    def remove_part(self, number: int, part: int) -> None:
        """Forget a part of a blob."""


def write_blob(store: ShardStore, number: int, data: bytes) -> int:
    """Write a blob in parts, and give how many there are."""
    parts = 0
    for part in _cut(data):
        store.set_part(number, parts, part)
        parts += 1
    return parts


def read_blob(store: ShardStore, number: int, parts: int) -> bytes:
    """Read a blob, all its parts together."""
    return b"".join(store.part(number, part) for part in range(parts))


def remove_blob(store: ShardStore, number: int, parts: int) -> None:
    """Forget a blob."""
    for part in range(parts):
        store.remove_part(number, part)


def _cut(data: bytes) -> Iterator[bytes]:
    for start in range(0, max(len(data), 1), PART):
        yield data[start : start + PART]
