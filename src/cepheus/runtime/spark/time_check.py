"""Do the times of DataFrames make sense in their unit? Only columns of integers can be wrong about that.

A finite input is looked at before it runs: a few rows of it. A stream says by and by what times it has: Spark counts
along, and what it reports of the first micro-batch with events is looked at.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.core.time_check import EARLY, FIRST, LAST, TimeCheck
from cepheus.core.values import ValueType
from cepheus.runtime.spark.sources import Naming, Source, column, kind_of, micros
from cepheus.runtime.spark.streaming import is_stream

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

_ROWS = 100
"""How many rows of a finite input are looked at: the first that Spark can give."""


def checked(sources: Sequence[Source], naming: Naming, check: TimeCheck) -> tuple[Source, ...]:
    """Look at the times of sources, now or, if they are streams, as they come; give the sources to go on with."""
    numbers = [kind_of(source.frame.schema[naming.time].dataType) is ValueType.INT for source in sources]
    if not any(numbers):
        return tuple(sources)
    if not is_stream(sources):
        for source in (source for source, is_number in zip(sources, numbers, strict=True) if is_number):
            rows = source.frame.select(column(naming.time)).head(_ROWS)
            times = [row[0] * naming.unit.microseconds for row in rows if row[0] is not None]
            check.look(np.array([min(max(time, MIN_TIME), MAX_TIME) for time in times], np.int64))
        return tuple(sources)
    watch = _refusing if check.strict else _observed
    return tuple(
        watch(source, naming, check) if is_number else source
        for source, is_number in zip(sources, numbers, strict=True)
    )


def _time(source: Source, naming: Naming) -> Column:
    return micros(column(naming.time), source.frame.schema[naming.time].dataType, naming.unit)


def _refusing(source: Source, naming: Naming, check: TimeCheck) -> Source:
    """Let every time that makes no sense stop the stream."""
    from pyspark.sql import functions as f

    time = _time(source, naming)
    far = _told("the times are in no year from 1000 to 3000 in their unit")
    right = f.when((time > LAST) | (time < FIRST), far).otherwise(column(naming.time))
    if not check.given:
        early = _told("the times are numbers without a unit: taken for microseconds they are of early 1970")
        right = f.when((time > -EARLY) & (time < EARLY), early).otherwise(right)
    return replace(source, frame=source.frame.withColumn(naming.time, right))


def _told(message: str) -> Column:
    """Raise an error, written as tasks write theirs."""
    from pyspark.sql import functions as f

    hint = "say which unit they are in: time_unit='s', or ms or us"
    return f.raise_error(f.lit(f"\ncepheus.core.errors.OptionError: error[time-unit]: {message}\n  hint: {hint}"))


def _observed(source: Source, naming: Naming, check: TimeCheck) -> Source:
    """Let Spark report between which times the events of a micro-batch are."""
    from pyspark.sql import functions as f

    name = f"times-{uuid.uuid4().hex}"
    time = _time(source, naming)
    _listen(source.frame.sparkSession, name, check)
    return replace(source, frame=source.frame.observe(name, f.min(time).alias("first"), f.max(time).alias("last")))


def _listen(spark: SparkSession, name: str, check: TimeCheck) -> None:
    from pyspark.sql.streaming.listener import StreamingQueryListener

    class Listener(StreamingQueryListener):
        """Looks at the first times that are reported."""

        def __init__(self) -> None:
            self.done = False

        def onQueryStarted(self, event: Any) -> None:  # noqa: N802  # Spark's name
            """Wait for events."""

        def onQueryIdle(self, event: Any) -> None:  # noqa: N802
            """Wait for events."""

        def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
            """Leave it at that."""

        def onQueryProgress(self, event: Any) -> None:  # noqa: N802
            """Look at the times of a micro-batch."""
            seen = event.progress.observedMetrics.get(name)
            if not self.done and seen is not None and seen["first"] is not None:
                self.done = True
                check.look(np.array([seen["first"], seen["last"]], np.int64))

    spark.streams.addListener(Listener())
