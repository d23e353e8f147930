"""What one shard of a streaming job does with its events, whoever keeps its state."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import pyarrow as pa

from cepheus.core.batch import EventBatch
from cepheus.core.values import ValueType
from cepheus.engine.base.interface import Engine
from cepheus.runtime.spark.checkpoint_rules import fingerprint
from cepheus.runtime.spark.layout import PROBABILITY, SEQUENCE, START, TIME, TYPE
from cepheus.runtime.spark.order import tied_rows
from cepheus.runtime.spark.shard import Job, memory
from cepheus.runtime.spark.streaming_pack import from_bytes, to_bytes

_BEFORE_ATTRIBUTES = (TYPE, TIME, START, PROBABILITY, SEQUENCE)
_LAYOUT = b"layout"
"""Where a blob of events says which types and attributes its columns stand for."""


@dataclass(frozen=True)
class JobWork:
    """What one shard of a job does."""

    job: Job
    shard: int

    @cached_property
    def fingerprint(self) -> str:
        """Equal for equal rules that are split in the same way."""
        return fingerprint(self.job, self.job.group_of(self.shard))

    @cached_property
    def memory(self) -> int | None:
        """Microseconds that the rules can look back, or None."""
        return memory(self.job.group_of(self.shard).rules)

    @cached_property
    def points(self) -> tuple[int, ...]:
        """The points in time at which something happens though there be no event."""
        return self.job.group_of(self.shard).points

    def computed(self) -> Self:
        """Find out now what is the same in every task, so that tasks do not have to."""
        _ = self.fingerprint, self.memory, self.points
        return self

    def engine(self) -> Engine:
        """Build a new engine with the rules of the shard."""
        return self.job.group_of(self.shard).start()

    def times(self, events: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The times of events in microseconds."""
        found: np.ndarray[tuple[int], np.dtype[np.int64]] = events.column(TIME).to_numpy()
        return found

    def in_order(self, events: pa.Table) -> pa.Table:
        """Put events into total order."""
        times = self.times(events)
        if (times[1:] < times[:-1]).any():
            events = events.take(pa.array(np.argsort(times, kind="stable")))
        rows = tied_rows(self.batch(events))
        return events if rows is None else events.take(pa.array(rows))

    def pack(self, events: pa.Table) -> bytes:
        """Write events as one blob that says what its columns are."""
        return to_bytes(events.replace_schema_metadata({_LAYOUT: self._layout}))

    def unpack(self, data: bytes) -> pa.Table:
        """Read events that were written as one blob."""
        return from_bytes(data)

    def fitted(self, events: pa.Table) -> pa.Table:
        """Events with the columns of the layout of now, if other rules have written them."""
        told = (events.schema.metadata or {}).get(_LAYOUT)
        events = events.replace_schema_metadata(None)
        if told is None or told == self._layout:
            return events
        layout = self.job.events
        types, columns = json.loads(told)
        codes = pa.array([layout.types.index(name) if name in layout.types else None for name in types], pa.int32())
        moved = codes.take(events.column(TYPE).combine_chunks())
        others = [name for name in events.column_names if not name[1:].isdigit()]
        arrays = {name: events.column(name) for name in others if name in _BEFORE_ATTRIBUTES}
        arrays[TYPE] = moved
        before = {(name, kind): f"a{number}" for number, (name, kind) in enumerate(columns)}
        for key in layout.columns:
            old = before.get((key[0], key[1].value))
            kind = pa.int64() if key[1] is ValueType.TIMESTAMP else key[1].arrow
            arrays[layout.name_of(key)] = pa.nulls(events.num_rows, kind) if old is None else events.column(old)
        arrays |= {name: events.column(name) for name in others if name not in _BEFORE_ATTRIBUTES}
        return pa.table(arrays).filter(moved.is_valid())

    @cached_property
    def _layout(self) -> bytes:
        layout = self.job.events
        return json.dumps([layout.types, [[name, kind.value] for name, kind in layout.columns]]).encode()

    def batch(self, events: pa.Table) -> EventBatch:
        """Turn events into a batch as the engine takes it."""
        (rows,) = events.combine_chunks().to_batches()
        return self.job.events.batch(rows)

    def own(self, composites: EventBatch) -> EventBatch:
        """Leave out the composite events that another shard gives."""
        return self.job.group_of(self.shard).kept(self.shard, composites)
