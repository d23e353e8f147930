"""Runs a shard over a stream in many ways: cut anywhere, killed anywhere, on workers that lag behind."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np
import pyarrow as pa
from memory_store import MemoryStore

from cepheus.core.batch import EventBatch
from cepheus.core.calculus import DEFAULT_CALCULUS, Calculus
from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.schema import Schema
from cepheus.core.time import MIN_TIME
from cepheus.core.values import INT_MAX
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.interface import Engine
from cepheus.engine.base.ties import TieCounts
from cepheus.rules.check import Checked
from cepheus.rules.interval.reach import points
from cepheus.runtime.spark.shard import memory
from cepheus.runtime.spark.shard_state import LiveShards, ShardWork
from cepheus.runtime.spark.state_machine import ShardMachine
from cepheus.runtime.spark.streaming_pack import from_bytes, to_bytes


@dataclass(frozen=True)
class ListedWork:
    """Work on events that stand in a batch, in total order; what travels is their places in it."""

    checked: Checked
    events: EventBatch
    engine_name: str = "reference"
    bounded: bool = True
    fingerprint: str = "rules"
    limit: int = 2000
    calculus: Calculus = DEFAULT_CALCULUS

    @property
    def memory(self) -> int | None:
        return memory(self.checked.rules.all_rules) if self.bounded else None

    @property
    def points(self) -> tuple[int, ...]:
        return points(self.checked.rules.all_rules)

    def engine(self) -> Engine:
        schema = Schema([*self.checked.inputs.values(), *self.checked.composites.values()])
        return create(
            RunOptions(engine=self.engine_name, limit=self.limit, calculus=self.calculus),
            self.checked.rules.all_rules,
            schema,
        )

    def times(self, events: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        found: np.ndarray[tuple[int], np.dtype[np.int64]] = self.events.times[events.column("place").to_numpy()]
        return found

    def in_order(self, events: pa.Table) -> pa.Table:
        return events.sort_by("place")

    def pack(self, events: pa.Table) -> bytes:
        return to_bytes(events)

    def unpack(self, data: bytes) -> pa.Table:
        return from_bytes(data)

    def fitted(self, events: pa.Table) -> pa.Table:
        return events

    def batch(self, events: pa.Table) -> EventBatch:
        return self.events.take(events.column("place").to_numpy())

    def own(self, composites: EventBatch) -> EventBatch:
        return composites


@dataclass
class Run:
    """A stream on its way through a shard, on two workers, either of which may take any micro-batch."""

    work: ShardWork
    events: pa.Table
    random: Random
    store: MemoryStore = field(default_factory=MemoryStore)
    found: list[Event] = field(default_factory=list)
    late: int = 0
    ties: TieCounts = field(default_factory=TieCounts)

    def __post_init__(self) -> None:
        self.workers = [LiveShards(), LiveShards()]

    @classmethod
    def of(cls, work: ListedWork, random: Random) -> Run:
        """Run the events that the work has listed."""
        return cls(work, pa.table({"place": pa.array(range(len(work.events)), pa.int64())}), random)

    def call(self, rows: Sequence[int], watermark: int) -> int | None:
        """Hand over a micro-batch; now and then the worker dies, before or after it has changed the state."""
        events = self.events.take(pa.array(rows, pa.int64()))
        worker = self.random.randrange(2)
        if self.random.random() < 0.2:
            self.workers[worker] = LiveShards()
        while True:
            attempt = copy.deepcopy(self.store)
            outcome = ShardMachine(self.work, self.workers[worker], "shard").handle(attempt, events, watermark)
            if self.random.random() < 0.2:
                worker = self.random.randrange(2)  # the task failed before it was committed: tried again, anywhere
                continue
            self.store = attempt
            self.found += outcome.composites.to_events()
            self.ties += outcome.ties
            self.late += 0 if outcome.late is None else outcome.late.num_rows
            return outcome.wake

    def run(self, disorder: int = 0, end: int = INT_MAX) -> list[Event]:
        """Run the whole stream, no event late, in micro-batches of random size; the watermark goes on to its end."""
        times = self.work.times(self.events).tolist()
        arrivals = sorted(range(len(times)), key=lambda row: (times[row] + self.random.randint(0, disorder), row))
        seen, watermark, place = MIN_TIME, MIN_TIME, 0
        while place < len(times):
            size = self.random.choice((1, 2, 3, 5, 11))
            some = arrivals[place : place + size]
            self.random.shuffle(some)
            self.call(some, watermark)
            place += size
            seen = max(seen, *(times[row] for row in some))
            watermark = max(watermark, seen - disorder)
            if self.random.random() < 0.3:
                self.call([], watermark)
        self.call([], end)
        return self.found
