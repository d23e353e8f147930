"""Measures how fast streams go when all has arrived: an identity query, our micro-batches, and Spark's operator.

The same files, a few seconds' worth of events in each micro-batch, the result thrown away. What the first micro-batches
take, in which Spark compiles and workers start, is not counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measuring.timing import Say
from cepheus.runtime.spark.detect import Detection

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

_NOT_COUNTED = 3
"""So many micro-batches warm up."""

TOGETHER = 5
"""So many files are one micro-batch."""


@dataclass(frozen=True, slots=True)
class BacklogMeasured:
    """Events a second of each contender."""

    identity: float
    micro_batches: float
    operator: float

    @property
    def share(self) -> float:
        """What our micro-batches reach of the identity query."""
        return self.micro_batches / self.identity


def backlog(events: DataFrame, found: Detection, folder: Path, rows: int, say: Say) -> BacklogMeasured:
    """Let each contender take all files, ``rows`` events in each micro-batch."""

    def identity() -> StreamingQuery:
        through = events.mapInArrow(lambda batches: batches, events.schema)
        return started(through, folder / "identity", availableNow=True)

    def ours() -> StreamingQuery:
        checkpoint = folder / "micro-batches"
        return found.write_stream("noop", checkpoint=checkpoint, trigger="available now").query

    def operator() -> StreamingQuery:
        return started(found.dataframe, folder / "operator", availableNow=True)

    return BacklogMeasured(
        _rate(identity, rows, "an identity query", say),
        _rate(ours, rows, "micro-batches", say),
        _rate(operator, rows, "an operator of Spark's", say),
    )


def started(frame: DataFrame, checkpoint: Path, **trigger: Any) -> StreamingQuery:
    """Start a query whose result is thrown away."""
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    writer = writer.trigger(**trigger) if trigger else writer
    return writer.start()


def _rate(start: Callable[[], StreamingQuery], rows: int, who: str, say: Say) -> float:
    say(f"a backlog of events: {who}")
    query = start()
    while not query.awaitTermination(5):
        time.sleep(0)
    progress: Sequence[Any] = [each for each in query.recentProgress if each["numInputRows"]][_NOT_COUNTED:]
    seconds = sum(each["durationMs"]["triggerExecution"] for each in progress) / 1000
    return rows * len(progress) / seconds if seconds else float("nan")
