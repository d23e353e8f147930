"""A shard as Spark's ``transformWithState`` runs it: the state machine, its state in RocksDB, Spark's timers."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pandas as pd
import pyarrow as pa
from pyspark import TaskContext, cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, IntegerType, LongType, StructField, StructType

from cepheus.core.time import MIN_TIME
from cepheus.runtime.spark.shard import Job
from cepheus.runtime.spark.shard_state import LiveShards
from cepheus.runtime.spark.shard_work import JobWork
from cepheus.runtime.spark.state_machine import Outcome, ShardMachine
from cepheus.runtime.spark.streaming_answer import answer
from cepheus.runtime.spark.streaming_pack import from_bytes

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, MapState, TimerValues, ValueState

_DATA = StructType([StructField("data", BinaryType())])
_PART = StructType([StructField("number", LongType()), StructField("part", IntegerType())])

_SHARDS = LiveShards()
"""The shards that this worker has run, of whatever queries and operators, each by its name.

Workers live on from one micro-batch to the next."""


class SparkStore:
    """The state of the shard that Spark has set, in RocksDB."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._head: ValueState = handle.getValueState("head", _DATA)
        self._parts: MapState = handle.getMapState("parts", _PART, _DATA)

    def head(self) -> bytes | None:
        """Read the head."""
        found = self._head.get()
        return None if found is None else bytes(found[0])

    def set_head(self, data: bytes) -> None:
        """Write the head."""
        self._head.update((data,))

    def part(self, number: int, part: int) -> bytes:
        """Read a part of a blob."""
        found = self._parts.getValue((number, part))
        assert found is not None
        return bytes(found[0])

    def set_part(self, number: int, part: int, data: bytes) -> None:
        """Write a part of a blob."""
        self._parts.updateValue((number, part), (data,))

    def remove_part(self, number: int, part: int) -> None:
        """Forget a part of a blob."""
        self._parts.removeKey((number, part))


class ShardProcessor(StatefulProcessor):
    """Runs shards; ``slots`` tells which key stands for which shard, ``late`` whether late events are given.

    What one processor has at work in a Python process, another never takes over: it may have the same rules and the
    same checkpoint, and yet another limit or other tables of a network.
    """

    def __init__(self, job: Job, slots: Sequence[int], *, late: bool) -> None:
        self._works = {slot: JobWork(job, shard).computed() for shard, slot in enumerate(slots)}
        self._late = late
        self._identity = uuid4().hex

    # Spark sends what is larger than a megabyte in another way, which its stateful operators do not know: such a query
    # fails in its first micro-batch. A thousand rules are as much; they have a lot in common, so they are compressed.

    def __getstate__(self) -> bytes:
        return zlib.compress(cloudpickle.dumps(self.__dict__))  # type: ignore[no-untyped-call]

    def __setstate__(self, data: bytes) -> None:
        self.__dict__.update(cloudpickle.loads(zlib.decompress(data)))

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called before anything else, in every task."""
        self._timers = handle
        self._store = SparkStore(handle)

    def handleInputRows(  # noqa: N802  # Spark's name
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Called with the rows of a shard in a micro-batch."""
        work = self.work(key)
        events = pa.concat_tables([from_bytes(payload) for frame in rows for payload in frame["payload"]])
        events = work.job.events.errors.sound(events)
        if events.num_rows:
            work.job.events.check(work.batch(events))
        yield self._handle(work, events if events.num_rows else None, timerValues, None)

    def handleExpiredTimer(  # noqa: N802  # Spark's name
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Called when the watermark has passed what a shard waits for, and no rows came for it."""
        yield self._handle(self.work(key), None, timerValues, expiredTimerInfo.getExpiryTimeInMs())

    def close(self) -> None:
        """Called at the end of a task."""

    def work(self, key: Any) -> JobWork:
        """What the shard of a key does."""
        return self._works[key[0]]

    def answer(self, work: JobWork, outcome: Outcome, events: int) -> pd.DataFrame:
        """The rows for what a shard found."""
        late = None if outcome.late is None else work.job.told_late(work.shard, outcome.late)
        missed = 0 if late is None else late.num_rows
        given = work.job.events.plain(work.batch(late)) if self._late and late is not None and missed else None
        return answer(work.job.composites, outcome, events, missed, given)

    def _handle(self, work: JobWork, events: pa.Table | None, timers: TimerValues, expired: int | None) -> pd.DataFrame:
        context = TaskContext.get()
        query = None if context is None else context.getLocalProperty("sql.streaming.queryId")
        watermark = timers.getCurrentWatermarkInMs()
        # a query starts with a watermark of 0, which says nothing
        until = watermark * 1000 if watermark > 0 else MIN_TIME
        outcome = ShardMachine(work, _SHARDS, (query, self._identity)).handle(self._store, events, until)
        if outcome.wake != outcome.slept:
            if outcome.slept is not None and outcome.slept != expired:  # Spark deletes the expired one by itself
                self._timers.deleteTimer(outcome.slept)
            if outcome.wake is not None:
                self._timers.registerTimer(outcome.wake)
        return self.answer(work, outcome, 0 if events is None else events.num_rows)
