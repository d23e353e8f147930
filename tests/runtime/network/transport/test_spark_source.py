"""Composite events of a network as a Spark source, batch and stream; a stream that starts again misses nothing."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import NodeProcess
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import LongType, StructField, StructType

from cepheus import Event
from cepheus.network import Access, AsyncClient, Client, Source
from cepheus.runtime.network.transport.known_types import KnownTypes
from cepheus.runtime.spark.node_source import CepheusDataSource
from cepheus.spark import register_source

SCHEMA = "type string, time timestamp, n long"


@pytest.fixture
def node(tmp_path: Path) -> object:
    started = NodeProcess(tmp_path, "p1")
    started.write([])
    started.start()
    yield started
    started.kill()


def test_a_stream_goes_on_where_it_was(spark: SparkSession, node: NodeProcess, tmp_path: Path) -> None:
    register_source(spark)
    events = spark.readStream.format("cepheus").options(address=node.address, subscribe="Fire").schema(SCHEMA).load()
    place = {"path": str(tmp_path / "out"), "checkpointLocation": str(tmp_path / "checkpoint")}
    writer = events.writeStream.format("parquet").options(**place)
    with Client(Access(node.address, patience=240.0)) as client:
        client.deploy("define Fire(n: int) from Smoke() where n=Smoke.n")
        source = client.source("s", ["Smoke"])
        query = writer.start()
        query = _going(writer, query, lambda: bool(client.status()["clients"][-1]["sinks"]))
        _publish(source, range(1, 6))
        query = _going(writer, query, lambda: _found(spark, tmp_path) == 5)
        query.stop()
        _publish(source, range(6, 11))
        query = writer.start()
        _publish(source, range(11, 16))
        query = _going(writer, query, lambda: _found(spark, tmp_path) >= 15)
        query.processAllAvailable()
        query.stop()
        source.close()
    rows = spark.read.schema(SCHEMA).parquet(str(tmp_path / "out")).orderBy("n").collect()
    assert [(row["type"], row["n"]) for row in rows] == [("Fire", n) for n in range(1, 16)]


def test_a_stream_that_failed_inside_its_first_batch_goes_on(
    spark: SparkSession, node: NodeProcess, tmp_path: Path
) -> None:
    """Found by trying: Spark asks for the first offset once more then, and a new session is not the old one."""
    register_source(spark)
    events = spark.readStream.format("cepheus").options(address=node.address, subscribe="Smoke").schema(SCHEMA).load()
    out, failed = tmp_path / "out", tmp_path / "failed"

    def write(batch: DataFrame, number: int) -> None:
        del number
        if not failed.exists():
            failed.touch()
            raise ValueError("not yet")
        batch.write.mode("append").parquet(str(out))

    writer = events.writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path / "checkpoint"))
    with Client(Access(node.address, patience=240.0)) as client:
        source = client.source("s", ["Smoke"])
        query = _going(writer, writer.start(), lambda: any(each["sinks"] for each in client.status()["clients"]))
        _publish(source, range(1, 6))
        _wait(lambda: query.exception() is not None)
        query = writer.start()
        _publish(source, range(6, 11))
        query = _going(writer, query, lambda: _found(spark, tmp_path) >= 10)
        query.stop()
        source.close()
    rows = spark.read.schema(SCHEMA).parquet(str(out)).orderBy("n").collect()
    assert [row["n"] for row in rows] == [*range(1, 11)]


def test_what_comes_while_a_stream_subscribes_belongs_to_it(node: NodeProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine events came before the subscription was seen to stand, and the stream passed over them."""
    known_types = AsyncClient.known_types
    reader = CepheusDataSource({"address": node.address, "subscribe": "Smoke"}).simpleStreamReader(
        StructType([StructField("n", LongType())])
    )
    with Client(Access(node.address, patience=240.0)) as client:
        source = client.source("s", ["Smoke"])

        async def publish_first(self: AsyncClient, before: KnownTypes | None = None) -> KnownTypes:
            await source.inner.publish([Event("Smoke", 1000, {"n": 1})], 1000)
            while not self.position.received:
                await asyncio.sleep(0.01)
            return await known_types(self, before)

        monkeypatch.setattr(AsyncClient, "known_types", publish_first)  # the last thing that subscribing waits for
        start = reader.initialOffset()
        rows, end = reader.read(start)
        assert [*rows] == [(1,)]
        assert [*reader.readBetweenOffsets(start, end)] == [(1,)]
        source.close()


def test_a_batch_takes_what_comes(spark: SparkSession, node: NodeProcess) -> None:
    register_source(spark)
    frame = spark.read.format("cepheus").options(address=node.address, subscribe="Smoke", count="3", idle="200").load()
    found: list[object] = []
    reading = threading.Thread(target=lambda: found.extend(frame.collect()))
    with Client(Access(node.address, patience=240.0)) as client:
        source = client.source("s", ["Smoke"])
        reading.start()
        _wait(lambda: any(each["sinks"] for each in client.status()["clients"]))
        _publish(source, range(1, 4))
        reading.join()
        source.close()
    assert [row["event"][:16] for row in found] == ['{"type": "Smoke"'] * 3  # type: ignore[index]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"subscribe": "Fire"}, "needs the address"),
        ({"address": "127.0.0.1:1"}, "something to subscribe to"),
        ({"address": "127.0.0.1:1", "subscribe": "Fire", "idel": "3"}, "did you mean 'idle'"),
    ],
)
def test_wrong_options_are_told(spark: SparkSession, options: dict[str, str], message: str) -> None:
    register_source(spark)
    with pytest.raises(PySparkException, match=message):
        spark.read.format("cepheus").options(**options).load().collect()


def _publish(source: Source, numbers: range) -> None:
    for number in numbers:
        source.publish([Event("Smoke", number * 1000, {"n": number})], number * 1000)


def _found(spark: SparkSession, folder: Path) -> int:
    return spark.read.schema(SCHEMA).parquet(str(folder / "out")).count() if (folder / "out").exists() else 0


def _going(writer: DataStreamWriter, query: StreamingQuery, holds: Callable[[], bool]) -> StreamingQuery:
    """Wait for something while a query runs, and give the query; its error is raised at once if it fails.

    Spark gives the process of a source ten seconds to start; a query that failed by that is started again.
    """
    while True:
        _wait(lambda: holds() or query.exception() is not None)  # noqa: B023 - it is called at once
        error = query.exception()
        if error is None or holds():
            return query
        if "worker failed to connect back" not in str(error):
            raise error
        query = writer.start()


def _wait(holds: Callable[[], bool], seconds: float = 240.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)
