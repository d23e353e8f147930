"""Streams on Spark: as exact as the embedded engine, over restarts; late events, metrics, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from fire_files import RULES, SCHEMA, arrivals, expected, make_events, write_file
from pyspark.sql import functions as f

import cepheus.spark
from cepheus.core.errors import OptionError
from cepheus.core.time import SECOND
from cepheus.runtime.spark import streaming
from cepheus.runtime.spark.streaming_pack import spread_slots

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


def stream_of(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))


def run(spark: SparkSession, folder: Path, rules: str = RULES) -> StreamingQuery:
    """Process the files that are there, and stop."""
    found = cepheus.spark.detect(
        rules,
        stream_of(spark, folder / "in"),
        sequence="n",
        id="n",
        provenance=True,
        late=True,
        lateness="3 seconds",
        shards=2,
        name="cepheus",
    )
    query = (
        found.dataframe.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return query


def test_a_stream_gives_what_one_run_gives_and_goes_on_after_a_stop(spark: SparkSession, tmp_path: Path) -> None:
    events = make_events(600, seed=1)
    files = arrivals(events, 6, seed=2)
    for number, some in enumerate(files[:3]):
        write_file(some, tmp_path / "in", number)
    before = run(spark, tmp_path)
    for number, some in enumerate(files[3:], start=3):
        write_file(some, tmp_path / "in", number)
    write_file([{**events[0], "n": 10_000}], tmp_path / "in", 100)  # an hour too late
    query = run(spark, tmp_path)

    written = spark.read.parquet(str(tmp_path / "out"))
    rows = written.where("late is null").select("type", f.unix_micros("time"), "id").collect()
    assert sorted(map(tuple, rows)) == expected(events)
    late = [json.loads(row.late) for row in written.where("late is not null").collect()]
    assert [(event["type"], event["time"], event["id"]) for event in late] == [
        (events[0]["type"], events[0]["time"], 10_000)
    ]
    metrics = [progress["observedMetrics"]["cepheus"] for progress in query.recentProgress]
    assert sum(metric["late"] for metric in metrics) == 1
    metrics += [progress["observedMetrics"]["cepheus"] for progress in before.recentProgress]
    ties = cepheus.compile(RULES).detect(events, sequence="n").ties
    assert ties.decided
    assert ties.passed_over
    assert sum(metric["ties_decided"] for metric in metrics) == ties.decided
    assert sum(metric["ties_passed_over"] for metric in metrics) == ties.passed_over
    assert sum(metric["ties_at_least"] for metric in metrics) == 0
    assert (
        sum(progress["observedMetrics"]["source0"]["rows"] for progress in query.recentProgress)
        == len([event for some in files[3:] for event in some]) + 1
    )

    write_file([{**events[-1], "time": events[-1]["time"] + 7200 * SECOND}], tmp_path / "in", 101)
    with pytest.raises(Exception, match=r"error\[checkpoint-rules\]: the checkpoint was made by other rules"):
        run(spark, tmp_path, RULES.replace("within 5 s", "within 6 s"))


def test_regular_moments_begin_with_the_first_event_of_all(spark: SparkSession, tmp_path: Path) -> None:
    """It may be one that another rule looks at, or that Spark could leave out: at these moments nothing is counted."""
    rules = """
    define Load(n: int) from every 10 s and $n = Count(Smoke(n > 5) within 10 s from now) where n=$n
    define Hot() from Temp(value > 45)
    """
    firsts = [("Temp", 3, 9.0, 1), ("Smoke", 12, None, 1), ("Smoke", 25, None, 9), ("Tick", 41, None, 0)]
    events = [
        {"type": kind, "time": time * SECOND, "area": "x", "value": value, "n": n} for kind, time, value, n in firsts
    ]
    for number, event in enumerate(events):
        write_file([event], tmp_path / "in", number)
    found = cepheus.spark.detect(rules, stream_of(spark, tmp_path / "in"), lateness="0 seconds", shards=2)
    assert "events Smoke: columns n; all rows" in found.explain()
    query = found.dataframe.writeStream.format("memory").queryName("loads").trigger(availableNow=True).start()
    query.awaitTermination()
    session = cepheus.compile(rules).start(engine="reference", time_unit="us")
    wanted = [*session.feed(events).to_events(), *session.advance(41 * SECOND).to_events()]
    assert [(event.time // SECOND, event["n"]) for event in wanted] == [(10, 0), (20, 0), (30, 1), (40, 0)]
    rows = spark.table("loads").select(f.unix_seconds("time"), "n").collect()
    assert sorted(map(tuple, rows)) == [(event.time // SECOND, event["n"]) for event in wanted]


@pytest.mark.parametrize("on_bad_event", ["stop", "skip"])
def test_regular_moments_begin_with_an_event_that_no_rule_reads(
    spark: SparkSession, tmp_path: Path, on_bad_event: Literal["stop", "skip"]
) -> None:
    """If its type is declared: it is an event of the stream like the others. A bad one that is skipped is none."""
    rules = """
    event Temp(value: double)
    event Smoke(n: int?)
    event Tick()
    define Load(n: int) from every 10 s and $n = Count(Smoke(n > 5) within 10 s from now) where n=$n
    """
    firsts = [("Temp", 3, 9.0, 1), ("Smoke", 25, None, 9), ("Tick", 41, None, 0)]
    if on_bad_event == "skip":
        firsts = [("Temp", -17, None, 1), *firsts]
    for number, (kind, time, value, n) in enumerate(firsts):
        event = {"type": kind, "time": time * SECOND, "area": "x", "value": value, "n": n}
        write_file([event], tmp_path / "in", number)
    events = stream_of(spark, tmp_path / "in")
    found = cepheus.spark.detect(rules, events, lateness="0 seconds", shards=2, on_bad_event=on_bad_event)
    memory = found.dataframe.writeStream.format("memory").queryName(f"begun_{on_bad_event}")
    memory.trigger(availableNow=True).start().awaitTermination()
    rows = spark.table(f"begun_{on_bad_event}").select(f.unix_seconds("time"), "n").collect()
    assert sorted(map(tuple, rows)) == [(10, 0), (20, 0), (30, 1), (40, 0)]


def test_a_stream_needs_a_watermark(spark: SparkSession, tmp_path: Path) -> None:
    write_file(make_events(3, seed=1), tmp_path, 0)
    events = stream_of(spark, tmp_path)
    with pytest.raises(OptionError, match="without a watermark"):
        cepheus.spark.detect(RULES, events)
    with pytest.raises(OptionError, match="watermark already"):
        cepheus.spark.detect(RULES, events.withWatermark("time", "1 second"), lateness="1 second")
    with pytest.raises(OptionError, match="some events come as a stream"):
        cepheus.spark.detect(
            RULES, {"Smoke": events, "Temp": spark.read.schema(SCHEMA).parquet(str(tmp_path))}, lateness="1 second"
        )
    assert cepheus.spark.detect(RULES, events.withWatermark("time", "1 second")).dataframe.isStreaming


def test_without_protobuf_a_stream_is_refused_early(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(streaming, "import_module", missing)
    write_file(make_events(3, seed=1), tmp_path, 0)
    with pytest.raises(OptionError, match="need the package protobuf"):
        cepheus.spark.detect(RULES, stream_of(spark, tmp_path), lateness="1 second")


@pytest.mark.parametrize("shards", [1, 2, 3, 8])
def test_every_shard_has_a_partition_of_its_own(spark: SparkSession, shards: int) -> None:
    slots = spark.createDataFrame([(slot,) for slot in spread_slots(shards)], "slot int")
    placed = [row[0] for row in slots.select(f.pmod(f.hash("slot"), f.lit(shards))).collect()]
    assert placed == list(range(shards))
