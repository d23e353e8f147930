"""What one shard of a streaming job does with its events, whoever keeps its state."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import pyarrow as pa

from cepheus.core.batch import EventBatch
from cepheus.engine.base.interface import Engine
from cepheus.runtime.spark.checkpoint_rules import fingerprint
from cepheus.runtime.spark.layout import TIME
from cepheus.runtime.spark.order import tied_rows
from cepheus.runtime.spark.shard import Job, memory


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

    def batch(self, events: pa.Table) -> EventBatch:
        """Turn events into a batch as the engine takes it."""
        (rows,) = events.combine_chunks().to_batches()
        return self.job.events.batch(rows)

    def own(self, composites: EventBatch) -> EventBatch:
        """Leave out the composite events that another shard gives."""
        return self.job.group_of(self.shard).kept(self.shard, composites)
