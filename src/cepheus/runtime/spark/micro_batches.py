"""Streams written to sinks, micro-batch by micro-batch, with the state of shards in files of our own.

Spark reads the sources, keeps track of what it has read, and hands over every micro-batch (``foreachBatch``). Tasks
pack its rows by shard, then run the shards: the same engines as everywhere, kept at work in Python workers from one
micro-batch to the next. A task writes its shard's state before the rows it found are written by the sink, so that a
micro-batch which is run again begins from the same state and finds the same rows.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from cepheus.core.errors import OptionError
from cepheus.core.time import MILLISECOND
from cepheus.engine.base.ties import TieCounts
from cepheus.runtime.spark.layout import SHARD
from cepheus.runtime.spark.micro_batch_tasks import PACKED, SOURCE, ShardTask, Timekeeping, answer_sql, pack
from cepheus.runtime.spark.planning import Planned
from cepheus.runtime.spark.reports import Reports
from cepheus.runtime.spark.routing import Routed, route, source_rows
from cepheus.runtime.spark.rule_cohorts import Cohort
from cepheus.runtime.spark.shard import Job
from cepheus.runtime.spark.shard_files import StateFolder
from cepheus.runtime.spark.shard_work import JobWork
from cepheus.runtime.spark.sources import Source
from cepheus.runtime.spark.stream_notes import StreamNotes
from cepheus.runtime.spark.stream_sinks import StreamSink

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.accumulators import Accumulator
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

_LOG = logging.getLogger("cepheus.spark")
_DELAY = "spark.watermarkDelayMs"
_REMEMBERED = 1000
"""Of so many micro-batches the progress is kept."""


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """What a micro-batch did: events that some rule can use, those that were late, composite events by type, the bytes
    of the state, the watermark in microseconds, how long it took, what was counted of simultaneous events.
    """

    batch: int
    events: int
    late: int
    composites: Mapping[str, int]
    state_bytes: int
    watermark: int
    seconds: float
    ties: TieCounts

    @classmethod
    def of(cls, batch: int, counted: Sequence[Mapping[str, Any]], seconds: float) -> BatchProgress:
        """Add up what shards have counted."""
        composites: dict[str, int] = {}
        for each in counted:
            for name, count in each["composites"].items():
                composites[name] = composites.get(name, 0) + count
        return cls(
            batch,
            sum(each["events"] for each in counted),
            sum(each["late"] for each in counted),
            composites,
            sum(each["state_bytes"] for each in counted),
            min(each["watermark"] for each in counted),
            seconds,
            sum((TieCounts.from_dict(each["ties"]) for each in counted), TieCounts.none()),
        )


@dataclass(slots=True)
class Progress:
    """The micro-batches of a running query, the last ones in detail, and listeners that are told of each."""

    recent: deque[BatchProgress] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    ties: TieCounts = field(default_factory=TieCounts.none)
    listeners: list[Callable[[BatchProgress], None]] = field(default_factory=list)

    def add(self, done: BatchProgress) -> None:
        """Take in a micro-batch."""
        self.recent.append(done)
        self.ties += done.ties
        for listener in self.listeners:
            listener(done)


@dataclass(frozen=True, slots=True, eq=False)
class DetectionQuery:
    """A stream that is being written; ``query`` is Spark's own handle on it.

    ``end_between`` ends it when no micro-batch is under way, so that other rules may go on with its checkpoint.
    """

    query: StreamingQuery
    progress: Progress
    end_between: Callable[[], None]

    def await_termination(self, seconds: float | None = None) -> bool:
        """Wait until it ends, at most so long; whether it has. What made it fail is raised, if it is one of ours."""
        from cepheus.runtime.spark.session import plain_failures

        with plain_failures():
            if seconds is None:
                self.query.awaitTermination()
                return True
            return bool(self.query.awaitTermination(seconds))  # type: ignore[arg-type]  # Spark takes fractions

    def process_all_available(self) -> None:
        """Wait until all that has arrived by now is written: for tests and notebooks."""
        from cepheus.runtime.spark.session import plain_failures

        with plain_failures():
            self.query.processAllAvailable()

    def stop(self) -> None:
        """End it; it can be started again from its checkpoint."""
        self.query.stop()


def timekeeping(sources: Sequence[Source], lateness: int | None) -> Timekeeping:
    """How far the watermark stays behind each source: by the lateness, or what the DataFrames say themselves."""
    spark = sources[0].frame.sparkSession
    policy = spark.conf.get("spark.sql.streaming.multipleWatermarkPolicy", "min")
    delays = []
    for source in sources:
        own = [f.metadata[_DELAY] for f in source.frame.schema.fields if _DELAY in f.metadata]
        delays.append(int(own[0]) if own else -(-(lateness or 0) // MILLISECOND))
    return Timekeeping(tuple(delays), latest=policy == "max")


def timed_rows(planned: Planned, sources: Sequence[Source], routed: Sequence[Routed]) -> tuple[DataFrame, list[Source]]:
    """All rows of all sources that rules look at, with their shards; rows that no rule can use have none."""
    from pyspark.sql import functions as f

    frames: list[DataFrame] = []
    read: list[Source] = []
    for source in sources:
        rows = source_rows(
            source, planned.inputs, planned.events, planned.options.naming, planned.pushed, all_rows=True
        )
        if rows is not None:
            number = len(read)
            read.append(source)
            frames.append(route([rows], routed, planned.inputs, planned.events).withColumn(SOURCE, f.lit(number)))
    if not frames:
        raise OptionError.of("events", "no rule looks at any event of the stream")
    return reduce(lambda one, other: one.unionByName(other), frames), read


class StreamOverError(Exception):
    """Told to Spark when it hands over a micro-batch after the end; nothing was done of it."""


class MicroBatches:
    """Runs micro-batches as Spark hands them over: called with the rows of one and its number.

    ``cohorts`` say where the state of the groups of rules is. ``chosen`` turns what shards give into what the sink
    takes.
    """

    def __init__(
        self,
        job: Job,
        routed: Sequence[Routed],
        folder: StateFolder,
        times: Timekeeping,
        sink: StreamSink,
        chosen: Callable[[DataFrame], DataFrame],
        *,
        query: str,
        cohorts: Sequence[Cohort],
        late: bool,
        notes: StreamNotes,
        progress: Progress | None = None,
    ) -> None:
        self.progress = progress or Progress()
        self.last: int | None = None
        self.wanted: Callable[[], bool] = lambda: True
        self._notes = notes
        self._works = tuple(JobWork(job, shard).computed() for shard in range(shard_count(job)))
        self._reported = _reported(job, routed)
        self._folder, self._times, self._sink, self._chosen = folder, times, sink, chosen
        self._query, self._late = query, late
        self._folders = tuple(name for cohort in cohorts for name in cohort.shards)
        self._firsts = tuple(cohort.first for cohort in cohorts for _ in cohort.shards)
        self._run = uuid4().hex
        self._names = ", ".join(str(rule.name) for group in job.groups for rule in group.rules)
        self._one_at_a_time = Lock()
        self._is_over = False
        self._counter: Accumulator[dict[str, Any]] | None = None

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Run a micro-batch, and let the sink write what it gives."""
        with self._one_at_a_time:
            self._notes.wait_while_paused(self._is_wanted)
            if self._is_over:
                raise StreamOverError
            began = time.monotonic()
            context = rows.sparkSession.sparkContext
            context.setJobDescription(f"cepheus {_short(self._names)}: micro-batch {batch}")
            counter = self._counting(context)
            task = ShardTask(
                self._works,
                self._folder,
                self._times,
                self._run,
                batch,
                self._folders,
                self._firsts,
                self._late,
                self._reported,
                counter,
            )
            found = self._found(self._packed(rows), task)
            self._write(found, batch)
            if len(self._counted(batch)) < len(self._works):
                # the sink did not ask for all rows, or has had them: the state goes on all the same
                marked = self._packed(rows).unionByName(self._marks(rows))
                self._found(marked, task).write.format("noop").mode("overwrite").save()
            done = BatchProgress.of(batch, self._counted(batch), time.monotonic() - began)
            self.last = batch
            self.progress.add(done)
            self._notes.done(done)
            _LOG.info("%s", told(self._names, done))

    def end(self) -> None:
        """Let the micro-batch that is under way be done, and begin no other: what Spark hands over stays undone."""
        self._is_over = True
        with self._one_at_a_time:
            pass

    def _is_wanted(self) -> bool:
        return self.wanted() and not self._is_over  # the first is said once the query has begun

    def _counting(self, context: SparkContext) -> Accumulator[dict[str, Any]]:
        """The one counter of the run, at nothing: Spark keeps every one that there ever was."""
        if self._counter is None:
            self._counter = context.accumulator({}, Reports())
        self._counter.value = {}
        return self._counter

    def _counted(self, batch: int) -> list[dict[str, Any]]:
        """What the shards have counted in a micro-batch."""
        assert self._counter is not None
        return [counted for key, counted in self._counter.value.items() if key.startswith(f"{batch}/")]

    def _packed(self, rows: DataFrame) -> DataFrame:
        shards, sources = len(self._works), len(self._times.delays)

        def packing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return pack(shards, sources, batches)

        return rows.mapInArrow(packing, PACKED)

    def _marks(self, rows: DataFrame) -> DataFrame:
        """A row for every shard, so that it runs though there be no event."""
        told = [(shard, None, None) for shard in range(len(self._works))]
        return rows.sparkSession.createDataFrame(told, PACKED)

    def _found(self, packed: DataFrame, task: ShardTask) -> DataFrame:
        dealt = packed.repartitionById(len(self._works), SHARD)

        def running(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return task(batches)

        found = dealt.mapInArrow(running, answer_sql(self._works[0].job.composites, late=self._late))
        return self._chosen(found)

    def _write(self, found: DataFrame, batch: int) -> None:
        if not self._sink.reads_often:
            self._sink.write(found, batch, self._query)
            return
        kept = found.persist()  # to ask twice is to run twice
        try:
            self._sink.write(kept, batch, self._query)
        finally:
            kept.unpersist()


def _reported(job: Job, routed: Sequence[Routed]) -> tuple[frozenset[int], ...]:
    """For every shard, the codes of the types whose late events it tells of: those that no group before it takes."""
    taken: set[str] = set()
    found: list[frozenset[int]] = []
    for group in routed:
        own = [name for name in group.group.inputs if name not in taken]
        taken.update(own)
        codes = frozenset(job.events.types.index(name) for name in own if name in job.events.types)
        found += [codes] * len(group.shards)
    return tuple(found)


def shard_count(job: Job) -> int:
    """How many shards a job has."""
    return max(group.shards.stop for group in job.groups)


def told(names: str, done: BatchProgress) -> str:
    """What a micro-batch did, in a line."""
    made = ", ".join(f"{count} {name}" for name, count in done.composites.items()) or "nothing found"
    late = f", {done.late} late" if done.late else ""
    return f"{_short(names)}: micro-batch {done.batch}, {done.events} events{late}, {made}, {done.seconds:.2f} s"


_LONGEST = 80


def _short(names: str) -> str:
    return names if len(names) <= _LONGEST else names[: _LONGEST - 2] + ".."
