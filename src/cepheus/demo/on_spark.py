"""The demo as a Spark job: files arrive, a streaming query finds composite events, each shown when it is found."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from cepheus.core.batch import EventBatch
from cepheus.core.event import Event, EventId, composite_id
from cepheus.core.time import SECOND
from cepheus.demo.scenario import Scenario, Stream
from cepheus.language.tesla import parse
from cepheus.rules.check import check
from cepheus.rules.model import Rule
from cepheus.runtime.spark.session import find_java, spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Show = Callable[[Sequence[Event]], None]
"""What is called with the composite events of each micro-batch."""

FILES = 6
"""In so many files the events of a story arrive."""

_APART = 1.0
"""Seconds from one file to the next."""

_WATERMARK = "1 second"
_END = 365 * 24 * 3600 * SECOND
"""So much later than the last event comes one that only tells that time has passed."""


def what_is_missing() -> str | None:
    """Why the demo cannot run on Spark here; None if it can."""
    for package in ("pyspark", "pandas", "google.protobuf"):
        try:
            found = find_spec(package) is not None
        except ModuleNotFoundError:
            found = False
        if not found:
            return f"the package {package.removeprefix('google.')} is not installed"
    return None if find_java() is not None else "there is no Java 17 or newer"


@contextmanager
def spark_for_demo() -> Iterator[SparkSession]:
    """Open a session on all cores of this machine, and end it. What Spark says on stderr goes to a file."""
    with TemporaryFile() as log, _stderr_to(log):
        spark = spark_session("local[*]", name="cepheus demo")
        try:
            yield spark
        finally:
            spark.stop()


@contextmanager
def _stderr_to(file: IO[bytes]) -> Iterator[None]:
    """Send stderr to a file, also that of other processes that are started."""
    saved = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def find_on_spark(spark: SparkSession, scenario: Scenario, stream: Stream, show: Show) -> list[Event]:
    """Run the rules of a scenario as a streaming query over files that arrive; give what it found, in order of time."""
    from pyspark.sql.functions import unix_micros

    from cepheus.runtime.spark.detect import detect

    rules = check(parse(scenario.rules)).rules.rules
    found: dict[EventId, Event] = {}

    def tell(batch: DataFrame, number: int) -> None:
        del number
        some = sorted((_event(row.asDict(), rules) for row in batch.collect()), key=lambda event: event.time)
        found.update((event.id, event) for event in some if event.id is not None)  # an id again is the same event
        show(some)

    with TemporaryDirectory(prefix="cepheus-demo-") as name:
        folder = Path(name)
        arriving = folder / "arriving"
        arriving.mkdir()
        tables = _tables(stream)
        _arrive(tables[0], arriving, 0)
        events = (
            spark.readStream.schema(spark.read.parquet(str(arriving)).schema)
            .option("maxFilesPerTrigger", 1)
            .parquet(str(arriving))
        )
        composites = detect(scenario.rules, events, id="n", sequence="n", lateness=_WATERMARK)
        query = (
            composites.dataframe.withColumn("time", unix_micros("time"))
            .writeStream.foreachBatch(tell)
            .option("checkpointLocation", str(folder / "checkpoint"))
            .start()
        )
        done = threading.Event()
        for number, table in enumerate(tables[1:], start=1):
            done.wait(_APART)
            _arrive(table, arriving, number)
        query.processAllAvailable()
        query.stop()
    return sorted(found.values(), key=lambda event: (event.time, str(event.id)))


def _tables(stream: Stream) -> list[pa.Table]:
    """The events in as many tables as there are files, and one more that tells the time."""
    batch = EventBatch.from_events(stream.events)
    types = pa.DictionaryArray.from_arrays(pa.array(batch.codes), pa.array(batch.types)).cast(pa.string())
    table = pa.table(
        {
            "type": types,
            "time": pa.array(batch.times).cast(pa.timestamp("us", tz="UTC")),
            "n": pa.array(range(len(batch)), pa.int64()),
            **{name: column for (name, _), column in batch.columns.items()},
        }
    )
    size = -(-table.num_rows // FILES)
    end = pa.table(
        {
            "type": ["End"],
            "time": pa.array([int(batch.times[-1]) + _END], pa.int64()).cast(pa.timestamp("us", tz="UTC")),
            "n": pa.array([table.num_rows], pa.int64()),
            **{name: pa.nulls(1, column.type) for (name, _), column in batch.columns.items()},
        }
    )
    return [*(table.slice(start, size) for start in range(0, table.num_rows, size)), end]


def _arrive(table: pa.Table, folder: Path, number: int) -> None:
    """Let a file appear with all that is in it at once."""
    hidden = folder / f"_{number:03}.parquet"
    pq.write_table(table, hidden)
    hidden.rename(folder / f"{number:03}.parquet")


def _event(row: dict[str, Any], rules: Sequence[Rule]) -> Event:
    """Turn a row of the answer into an event, with the rule that its id tells."""
    kind, time, given, parts = (row.pop(name) for name in ("type", "time", "id", "from"))
    made_of: tuple[EventId, ...] = tuple(int(part) if part.isdigit() else part for part in parts)
    rule = next(str(rule.name) for rule in rules if composite_id(kind, str(rule.name), made_of) == given)
    attributes = {name: value for name, value in row.items() if value is not None}
    return Event(kind, time, attributes, id=given, rule=rule, made_of=made_of)
