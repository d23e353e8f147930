"""Pairs of events in files, and rules with several kinds of composite events: for queries with more than one branch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from event_rows import write_arrival

import cepheus.spark
from cepheus.core.time import SECOND

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

RULES = """
event A(k: string, n: int);
event B(k: string, n: int);
define Pair(k: string) from B(k = $k) and last A(k = $k) within 5 s from B where k = B.k;
define Other(k: string) from A(k = $k) and last B(k = $k) within 5 s from A where k = A.k
"""
MORE_RULES = """
event A(k: string, n: int);
define Again(k: string) from A(k = $k) and last A(k = $k) as Before within 3 s from A where k = A.k
"""
SCHEMA = "type string, time timestamp, k string, n long"


def write_pairs(folder: Path, first: int = 0) -> None:
    """Let events arrive in three files, and in a fourth one that is much later, which lets all of them be decided."""
    folder.mkdir(parents=True, exist_ok=True)
    events = [("AB"[n % 2] if n % 5 else "A", 1000 + n, f"k{n % 3 // 2}", n) for n in range(first, first + 18)]
    for number in range(3):
        _write(events[6 * number : 6 * number + 6], folder, first + number)
    _write([("A", 5000 + first, "end", first + 99)], folder, first + 3)


def _write(events: list[tuple[str, int, str, int]], folder: Path, number: int) -> None:
    types, times, keys, numbers = zip(*events, strict=True)
    moments = pa.array([time * SECOND for time in times], pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    write_arrival(pa.table({"type": types, "time": moments, "k": keys, "n": numbers}), folder, number)


def finite(spark: SparkSession, folder: Path, rules: str = RULES, **options: Any) -> cepheus.spark.Detection:
    """Find what is in the files, in one go."""
    events = spark.read.schema(SCHEMA).parquet(str(folder))
    return cepheus.spark.detect(rules, events, sequence="n", id="n", provenance=True, shards=2, **options)


def flowing(spark: SparkSession, folder: Path, rules: str = RULES, **options: Any) -> cepheus.spark.Detection:
    """Find what is in the files, one a micro-batch."""
    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))
    given = {"shards": 2, "lateness": "2 seconds", **options}
    return cepheus.spark.detect(rules, events, sequence="n", id="n", **given)


def start(frame: DataFrame, folder: Path, checkpoint: Path | None = None, *, ending: bool = True) -> StreamingQuery:
    """Start a query that takes what is there and ends, or goes on."""
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(checkpoint or folder / "checkpoint"))
    return (writer.trigger(availableNow=True) if ending else writer).start(str(folder / "out"))


def ids(frame: DataFrame) -> list[tuple[str, ...]]:
    """Give the ids in rows: those of joined rows stand side by side."""
    return sorted(
        tuple(row) for row in frame.select(*[name for name in frame.columns if name.startswith("id")]).collect()
    )
