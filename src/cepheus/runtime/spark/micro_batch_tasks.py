"""What tasks do in a micro-batch that we run ourselves: pack rows by shard, then run every shard. Arrow in, Arrow out.

A task that packs tells every shard the latest time that it has seen of each source, also in rows that no rule looks at.
So a shard knows, before it runs, how far the watermark has come *with* this micro-batch, and gives what is decided at
once. Events are late if they lie before the watermark that the micro-batch before has left.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheus.core.batch import EventBatch
from cepheus.core.time import MILLISECOND, MIN_TIME
from cepheus.runtime.spark.layout import OWNED, SHARD, TIME, TYPE, CompositeLayout
from cepheus.runtime.spark.shard_files import ShardFiles, StateFolder
from cepheus.runtime.spark.shard_state import Head, LiveShards
from cepheus.runtime.spark.shard_work import JobWork
from cepheus.runtime.spark.state_machine import Outcome, ShardMachine
from cepheus.runtime.spark.streaming_answer import LATE, late_rows
from cepheus.runtime.spark.streaming_pack import ROWS_TOGETHER, from_bytes, to_bytes

SOURCE = "source"
"""The column that tells which source a row came from."""

PACKED = f"{SHARD} int, payload binary, seen string"
"""The schema of packed rows: events of a shard, or what a task has seen of time."""

_SEEN = "seen"

_SHARDS = LiveShards()
"""The shards that this worker has run; workers live on from one micro-batch to the next."""

Seen = tuple[int | None, ...]
"""The latest time of each source, in microseconds; None of a source that has had no event yet."""


@dataclass(frozen=True, slots=True)
class Timekeeping:
    """How the watermark follows the latest times of sources.

    ``delays`` are in milliseconds, which is how Spark counts them; with ``latest`` the watermark is that of the source
    that is ahead, and not of the slowest.
    """

    delays: tuple[int, ...]
    latest: bool = False

    def watermark(self, seen: Seen) -> int:
        """The watermark in microseconds.

        >>> Timekeeping((5,)).watermark((12_345,)), Timekeeping((5, 0)).watermark((12_345, 9_000))
        (7000, 7000)
        """
        each = [
            MIN_TIME if time is None else (time // MILLISECOND - delay) * MILLISECOND
            for time, delay in zip(seen, self.delays, strict=True)
        ]
        return max(max(each) if self.latest else min(each), MIN_TIME)


def later(one: Seen, other: Seen) -> Seen:
    """The later time of each source.

    >>> later((None, 5), (3, 4))
    (3, 5)
    """
    return tuple(max((t for t in pair if t is not None), default=None) for pair in zip(one, other, strict=True))


def pack(shards: int, sources: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pack rows by shard; at the end every shard is told what was seen of time. Rows without a shard only tell that."""
    held: list[pa.RecordBatch] = []
    count = 0
    seen: Seen = (None,) * sources
    for rows in batches:
        seen = later(seen, _latest(rows, sources))
        given = rows.filter(rows.column(SHARD).is_valid()) if rows.column(SHARD).null_count else rows
        held.append(given)
        count += given.num_rows
        if count >= ROWS_TOGETHER:
            yield _packed(held)
            held, count = [], 0
    if count:
        yield _packed(held)
    told = json.dumps(seen)
    yield _rows(list(range(shards)), [None] * shards, [told] * shards)


def _latest(rows: pa.RecordBatch, sources: int) -> Seen:
    times = rows.column(TIME)
    if sources == 1:
        return (pc.max(times).as_py(),)
    own = rows.column(SOURCE)
    return tuple(pc.max(times.filter(pc.equal(own, number))).as_py() for number in range(sources))


def _packed(held: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    table = pa.Table.from_batches(held)
    numbers = table.column(SHARD).to_numpy()
    events = table.drop_columns([SHARD, SOURCE])
    found, payloads = [], []
    for shard in np.unique(numbers).tolist():
        rows = np.flatnonzero(numbers == shard)
        found.append(shard)
        payloads.append(to_bytes(events if len(rows) == len(numbers) else events.take(pa.array(rows))))
    return _rows(found, payloads, [None] * len(found))


def _rows(shards: Sequence[int], payloads: Sequence[bytes | None], seen: Sequence[str | None]) -> pa.RecordBatch:
    arrays = [pa.array(shards, pa.int32()), pa.array(payloads, pa.binary()), pa.array(seen, pa.string())]
    return pa.RecordBatch.from_arrays(arrays, [SHARD, "payload", "seen"])


class Counter(Protocol):
    """Takes what a shard has counted in a micro-batch; Spark's accumulators do."""

    def add(self, term: dict[str, Any]) -> None:
        """Add what was counted, by the shard that counted it."""


@dataclass(frozen=True)
class ShardTask:
    """All that a task needs to run shards in a micro-batch.

    ``run`` names the run of the query: what another run has at work in a process is not taken over. ``folders`` and
    ``firsts`` have, for every shard, where its state is and the micro-batch with which it begins; ``reported`` has the
    types whose late events it tells of: an event may go to several groups, and is late once.
    """

    works: tuple[JobWork, ...]
    folder: StateFolder
    times: Timekeeping
    run: str
    batch: int
    folders: tuple[str, ...]
    firsts: tuple[int, ...]
    late: bool
    reported: tuple[frozenset[int], ...]
    counter: Counter | None = field(default=None, compare=False)

    @property
    def schema(self) -> str:
        """The schema of what is found, as Spark takes it."""
        return answer_sql(self.works[0].job.composites, late=self.late)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the shards whose rows come, one after the other."""
        payloads: dict[int, list[bytes]] = {}
        seen: Seen = (None,) * len(self.times.delays)
        for rows in batches:
            for shard, payload, told in zip(*(column.to_pylist() for column in rows.columns), strict=True):
                own = payloads.setdefault(shard, [])
                if payload is not None:
                    own.append(payload)
                if told is not None:
                    seen = later(seen, tuple(json.loads(told)))
        for shard in sorted(payloads):
            yield from self._run(shard, payloads[shard], seen)

    def _run(self, shard: int, payloads: Sequence[bytes], seen: Seen) -> Iterator[pa.RecordBatch]:
        work = self.works[shard]
        before = None if self.batch == self.firsts[shard] else self.batch - 1
        store = ShardFiles(self.folder.below(self.folders[shard]), self.batch, before)
        _take_over(store, work.fingerprint)
        known: Seen = tuple(store.notes.get(_SEEN, (None,) * len(seen)))
        seen = later(known, seen)
        events = pa.concat_tables([from_bytes(payload) for payload in payloads]) if payloads else None
        if events is not None:
            events = work.job.events.errors.sound(events)
            if events.num_rows:
                work.job.events.check(work.batch(events))
        watermark, late_before = self.times.watermark(seen), self.times.watermark(known)
        machine = ShardMachine(work, _SHARDS, (self.run, shard))
        outcome = self._told_once(shard, machine.handle(store, events, watermark, late_before))
        store.note({_SEEN: seen})
        store.commit()
        if before is not None and not self.batch % _TIDY_EVERY:
            store.tidy()
        if self.counter is not None:
            counted = counts(outcome, 0 if events is None else events.num_rows, watermark)
            self.counter.add({f"{self.batch}/{shard}": counted})
        yield from self._answer(work, outcome)

    def _told_once(self, shard: int, outcome: Outcome) -> Outcome:
        """Leave out the late events that another shard tells of."""
        late = outcome.late
        if late is None:
            return outcome
        own = pc.is_in(late.column(TYPE), pa.array(sorted(self.reported[shard]), pa.int32()))
        if OWNED in late.column_names:
            own = pc.and_(own, late.column(OWNED))
        late = late.filter(own)
        return replace(outcome, late=late if late.num_rows else None)

    def _answer(self, work: JobWork, outcome: Outcome) -> Iterator[pa.RecordBatch]:
        layout = work.job.composites
        if len(outcome.composites):
            yield _with_late(layout.rows(outcome.composites), None, late=self.late)
        if self.late and outcome.late is not None:
            late = work.job.events.plain(work.batch(outcome.late))
            yield _with_late(late_rows(layout, late), late, late=True)


def _take_over(store: ShardFiles, rules: str) -> None:
    """Go on with state that was written with other rules beside these; when the query started, that was found right."""
    data = store.head()
    if data is not None and (head := Head.from_bytes(data)).rules != rules:
        store.set_head(replace(head, rules=rules).to_bytes())


_TIDY_EVERY = 100
"""After so many micro-batches a shard looks for files that failed attempts have left."""


def _with_late(rows: pa.RecordBatch, events: EventBatch | None, *, late: bool) -> pa.RecordBatch:
    if not late:
        return rows
    texts = [None] * rows.num_rows if events is None else [json.dumps(event) for event in events.to_dicts()]
    return pa.RecordBatch.from_arrays([*rows.columns, pa.array(texts, pa.string())], [*rows.schema.names, LATE])


def answer_sql(layout: CompositeLayout, *, late: bool) -> str:
    """The schema of what shards give, as Spark takes it."""
    return f"{layout.sql}, {LATE} string" if late else layout.sql


def counts(outcome: Outcome, events: int, watermark: int) -> dict[str, Any]:
    """What a shard counted in a micro-batch."""
    made = outcome.composites
    numbers = np.bincount(made.codes, minlength=len(made.types)).tolist() if len(made) else []
    return {
        "events": events,
        "late": 0 if outcome.late is None else outcome.late.num_rows,
        "composites": {name: number for name, number in zip(made.types, numbers, strict=False) if number},
        "state_bytes": outcome.head.size,
        "watermark": watermark,
        "ties": outcome.ties.to_dict(),
    }
