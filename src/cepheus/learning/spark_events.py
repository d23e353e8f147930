"""A history in DataFrames: Spark counts it, cuts it and searches it; a bounded part of it comes to the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cepheus.core.batch import EventBatch
from cepheus.core.errors import EventError, OptionError
from cepheus.core.options import OnBadEvent, RunOptions
from cepheus.learning.history import LEARNED_TYPES, Ints
from cepheus.learning.reading import read_history
from cepheus.rules.model import RuleSet
from cepheus.runtime.spark.detect import Detection, cores, find
from cepheus.runtime.spark.planning import SparkOptions, on_spark
from cepheus.runtime.spark.sources import Naming, Source, column, kind_of, micros, sources_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_TIME, _PLACE, _LOW, _HIGH = "#time", "#place", "#low", "#high"
"""No attribute is called so."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How many events of each type there are, how many of them before some time, and the first and the last time."""

    counts: Mapping[str, int]
    before: Mapping[str, int]
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class SparkEvents:
    """One DataFrame with a column of types, or one for each type of events."""

    frames: Mapping[str | None, DataFrame]
    options: RunOptions
    shards: int | None = None
    naming: Naming = field(init=False)

    def __post_init__(self) -> None:
        run = on_spark(self.options)
        object.__setattr__(self, "naming", Naming.of(run, run.columns.start))
        for name, frame in self.frames.items():
            if frame.isStreaming:
                raise OptionError.of("learn-spark", "a stream has no past", hint="read the history as a table")
            needed = (self.naming.time,) if name is not None else (self.naming.type, self.naming.time)
            for each in needed:
                if each not in frame.columns:
                    raise OptionError.of(
                        "column", f"the history has no column '{each}'", hint=f"it has {', '.join(frame.columns[:20])}"
                    )

    @classmethod
    def of(
        cls, events: DataFrame | Mapping[str, DataFrame], options: RunOptions, shards: int | None = None
    ) -> SparkEvents:
        """Take what ``cepheus.spark.detect`` takes."""
        if not isinstance(events, Mapping):
            return cls({None: events}, options, shards)
        return cls({name: frame for name, frame in events.items()}, options, shards)  # noqa: C416

    # ---- Counting and cutting ---------------------------------------------------------------------------------------

    def tally(self, moment: int) -> Tally:
        """Count events by type, in one pass; EventError if some have no time."""
        from pyspark.sql import functions as f

        counts: dict[str, int] = {}
        before: dict[str, int] = {}
        times: list[int] = []
        for name, frame in self.frames.items():
            time = self.time_of(frame)
            kind = f.lit(name) if name is not None else column(self.naming.type)
            rows = (
                frame.groupBy(kind.alias("kind"))
                .agg(
                    f.count(f.lit(1)).alias("all"),
                    f.sum((time < moment).cast("bigint")).alias("before"),
                    f.min(time).alias("first"),
                    f.max(time).alias("last"),
                    f.sum(time.isNull().cast("bigint")).alias("timeless"),
                )
                .collect()
            )
            for row in rows:
                if row["kind"] is None or (row["timeless"] and self.options.on_bad_event is not OnBadEvent.SKIP):
                    what = "no type" if row["kind"] is None else "no time"
                    message = f"{row['timeless'] or row['all']} events have {what}"
                    raise EventError.of("event", message, hint="leave out such events: on_bad_event='skip'")
                counts[row["kind"]] = counts.get(row["kind"], 0) + row["all"] - row["timeless"]
                before[row["kind"]] = before.get(row["kind"], 0) + (row["before"] or 0)
                times += [each for each in (row["first"], row["last"]) if each is not None]
        return Tally(counts, before, (min(times), max(times)) if times else (0, 0))

    def frame_of(self, name: str) -> DataFrame | None:
        """The rows of a type of events; None if there can be none."""
        if None in self.frames:
            return self.frames[None].where(column(self.naming.type) == name)
        return self.frames.get(name)

    def of_type(self, name: str) -> EventBatch:
        """All events of a type."""
        frame = self.frame_of(name)
        own = None if None in self.frames else name
        return EventBatch.empty() if frame is None else self.read(frame, own, starts=True)

    def within(self, lows: Ints, highs: Ints, but: str) -> EventBatch:
        """The events of some spans of time that do not overlap, all types but one."""
        from pyspark.sql import functions as f

        if not len(lows):
            return EventBatch.empty()
        width = int(max(np.median(highs - lows), 1))
        first, last = lows // width, (highs - 1) // width
        which = np.repeat(np.arange(len(lows)), last - first + 1)
        place = np.concatenate([np.arange(low, high + 1) for low, high in zip(first, last, strict=True)])
        spans = pa.table({_PLACE: place, _LOW: lows[which], _HIGH: highs[which]})
        parts = []
        for name, frame in self.frames.items():
            if name == but:
                continue
            cut = f.broadcast(frame.sparkSession.createDataFrame(spans))
            time = self.time_of(frame)
            chosen = frame if name is not None else frame.where(column(self.naming.type) != but)
            joined = chosen.withColumn(_TIME, time).join(
                cut,
                (f.floor(column(_TIME) / f.lit(width)) == column(_PLACE))
                & (column(_TIME) >= column(_LOW))
                & (column(_TIME) < column(_HIGH)),
            )
            parts.append(self.read(joined.select(*(column(each) for each in frame.columns)), name))
        return EventBatch.concat(parts)

    def read(self, frame: DataFrame, name: str | None, *, starts: bool = False) -> EventBatch:
        """Rows as events, with the attributes that rules are learned over."""
        own = {self.naming.time, self.naming.type} if name is None else {self.naming.time}
        if starts and "start" in frame.columns:
            own.add("start")
        kept = [
            each.name for each in frame.schema.fields if each.name in own or kind_of(each.dataType) in LEARNED_TYPES
        ]
        rows = frame.where(column(self.naming.time).isNotNull()).select(*(column(each) for each in kept)).toArrow()
        return read_history(rows, self.options, name)

    def time_of(self, frame: DataFrame) -> Column:
        """When its events were, in microseconds."""
        return micros(column(self.naming.time), frame.schema[self.naming.time].dataType, self.naming.unit)

    # ---- Searching --------------------------------------------------------------------------------------------------

    def found(self, rules: RuleSet, span: tuple[int, int]) -> Detection:
        """What rules find in the events of a span: engines look for it, in tasks."""
        named = {name: frame for name, frame in self.frames.items() if name is not None}
        given = named or self.frames[None]
        sources = tuple(self._between(source, span) for source in sources_of(given, rules, self.naming))
        shards = self.shards or cores(sources[0].frame.sparkSession)
        return find(rules, sources, SparkOptions(on_spark(self.options), self.naming, shards, False))

    def _between(self, source: Source, span: tuple[int, int]) -> Source:
        time = self.time_of(source.frame)
        return Source(source.frame.where((time >= span[0]) & (time < span[1])), source.types, source.typed)


def identity(time: Column, attributes: Sequence[tuple[str, Column]]) -> Column:
    """What tells an event from others: its time and its attributes. Events that agree in all are the same to rules."""
    from pyspark.sql import functions as f

    if not attributes:
        return f.xxhash64(time)
    in_order = sorted(attributes, key=lambda each: each[0])
    return f.xxhash64(time, f.to_json(f.struct(*(value.alias(name) for name, value in in_order))))
