"""The state of a shard of a streaming query: what is written of it, and what a process keeps of it at work.

Written are a small head, and the pieces that it names. The events of every micro-batch are one *piece*, written once,
sorted, and never touched again until no window can reach it. A shard's whole knowledge is defined by its pieces and its
*floor*, the watermark up to which it has processed: the events before the floor were fed to the engine in total order,
the others wait. Where the memory of rules has no bound (consumption, rules that feed themselves), a snapshot of the
engine, the *base*, stands for everything before the floor it was taken at.

Spark gives a shard to whichever Python worker is free, so a worker keeps the engines that it has run before and brings
one up to date from the pieces that it has missed. Whether it may is told by tokens alone: an engine that has seen
other events than the state says, because a task failed or a checkpoint was set back, is thrown away.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from cepheus.core.batch import EventBatch
from cepheus.core.errors import SnapshotError
from cepheus.core.time import MIN_TIME
from cepheus.engine.base import snapshot_form as form
from cepheus.engine.base.interface import Engine
from cepheus.engine.base.snapshot import restoring
from cepheus.rules.json_fields import integer_between

FORMAT = 2
"""The version of the form in which a shard's state is kept. In the first one shards had no names."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Events that came together: times from ``first`` to ``last`` in microseconds, in so many bytes and parts.

    ``token`` is a digest of this piece and of all before it: two shards with equal tokens have seen equal events.
    ``level`` tells how often it was merged from smaller pieces.
    """

    number: int
    parts: int
    size: int
    first: int
    last: int
    token: str
    level: int = 0


@dataclass(frozen=True, slots=True)
class Base:
    """A snapshot of the engine as it stood when all before ``floor`` had been processed."""

    number: int
    parts: int
    size: int
    floor: int


@dataclass(frozen=True, slots=True)
class Head:
    """All that is read and written in every micro-batch.

    ``shard`` is a name that no other shard of any query has, given when there is first something to write: the same
    rules may run twice in a query, and nothing outside of the state tells which of the two operators a task is of.
    ``rules`` is the fingerprint of the rules, ``next`` the number of the next piece, ``wake`` the time in
    milliseconds of the registered timer. ``late`` counts the events that came too late.
    """

    rules: str
    shard: str = ""
    floor: int = MIN_TIME
    next: int = 0
    token: str = ""
    pieces: tuple[Piece, ...] = field(default=())
    base: Base | None = None
    wake: int | None = None
    late: int = 0

    @property
    def size(self) -> int:
        """Bytes of all that the head names."""
        return sum(piece.size for piece in self.pieces) + (self.base.size if self.base is not None else 0)

    def to_bytes(self) -> bytes:
        """Write the head.

        >>> Head.from_bytes(Head("r1", floor=7).to_bytes()).floor
        7
        """
        return json.dumps({"format": FORMAT, **asdict(self)}, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Head:
        """Read what was written; SnapshotError if this Cepheus cannot."""
        with restoring():
            found: dict[str, Any] = json.loads(data)
            version = found.pop("format")
            if version not in (1, FORMAT):
                raise SnapshotError.of(
                    "snapshot-version",
                    f"the state of the query has version {version}, this Cepheus reads version {FORMAT}",
                    hint="go on with the Cepheus that wrote the checkpoint, or start with a new checkpoint",
                )
            fields = _HEAD({"shard": "", **found} if version == 1 else found, "$")
            pieces = tuple(Piece(**piece) for piece in fields.pop("pieces"))
            base = fields.pop("base")
            head = cls(**fields, pieces=pieces, base=None if base is None else Base(**base))
            _require_sense(head)
            return head


_BLOB = {"number": form.count, "parts": integer_between(1, 1 << 31), "size": form.count}
_HEAD = form.record(
    rules=form.text,
    shard=form.text,
    floor=form.time,
    next=form.count,
    token=form.text,
    pieces=form.listing(form.record(**_BLOB, first=form.time, last=form.time, token=form.text, level=form.count)),
    base=form.maybe(form.record(**_BLOB, floor=form.time)),
    wake=form.maybe(form.count),
    late=form.count,
)


def _require_sense(head: Head) -> None:
    """Refuse pieces out of order, and numbers that are to come."""
    numbers = [piece.number for piece in head.pieces]
    form.require(numbers == sorted(set(numbers)), "$.pieces", "the pieces are not in order")
    form.require(all(piece.first <= piece.last for piece in head.pieces), "$.pieces", "a piece ends before it starts")
    known = [*numbers, *([] if head.base is None else [head.base.number])]
    form.require(all(number < head.next for number in known), "$.next", "a piece has not come yet")
    form.require(head.base is None or head.base.floor <= head.floor, "$.base", "the base is ahead of the floor")


def refuse_other_rules(head: Head, rules: str) -> None:
    """Refuse state that was made by other rules: what they remember is not what these rules need."""
    if head.rules != rules:
        raise SnapshotError.of(
            "checkpoint-rules",
            "the checkpoint was made by other rules, or by rules that were split in another way",
            hint="go on with the rules and the number of shards that made it, or start with a new checkpoint",
        )


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

    def pack(self, events: pa.Table) -> bytes:
        """Write events as one blob."""

    def unpack(self, data: bytes) -> pa.Table:
        """Read events that were written as one blob."""

    def fitted(self, events: pa.Table) -> pa.Table:
        """Events that were unpacked, with the columns that rules read now."""

    def batch(self, events: pa.Table) -> EventBatch:
        """Turn events into a batch as the engine takes it."""

    def own(self, composites: EventBatch) -> EventBatch:
        """Leave out the composite events that another shard makes as well and gives."""


@dataclass(slots=True)
class LiveShard:
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
            # what was written for other rules may be null where fresh events may not
            pieces = [events] if self.waiting is None else [self.waiting, events]
            both = pa.concat_tables(pieces, promote_options="default")
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
        self._kept: OrderedDict[Hashable, LiveShard] = OrderedDict()

    def take(self, name: Hashable, head: Head) -> LiveShard | None:
        """Take out the shard of a name if it goes with its state. Whoever fails with it does not put it back."""
        live = self._kept.pop(name, None)
        return live if live is not None and live.follows(head) else None

    def keep(self, name: Hashable, live: LiveShard) -> None:
        """Keep a shard for the next micro-batch."""
        self._kept[name] = live
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[LiveShard]:
        return iter(self._kept.values())
