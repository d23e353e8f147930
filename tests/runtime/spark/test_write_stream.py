"""Streams written micro-batch by micro-batch: as exact as one run, over stops; late events, sinks, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fire_files import RULES, SCHEMA, arrivals, expected, make_events, write_file
from pyspark.sql import functions as f

import cepheus.spark
from cepheus.core.errors import OptionError, SnapshotError
from cepheus.runtime.spark.shard_files import StateFolder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from cepheus.runtime.spark.micro_batches import DetectionQuery


def stream_of(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))


def found_in(spark: SparkSession, folder: Path, rules: str = RULES, **options: Any) -> cepheus.spark.Detection:
    given = {"sequence": "n", "id": "n", "late": True, "lateness": "3 seconds", "shards": 2, **options}
    return cepheus.spark.detect(rules, stream_of(spark, folder / "in"), **given)


def run(spark: SparkSession, folder: Path, rules: str = RULES) -> DetectionQuery:
    """Process the files that are there, and stop."""
    query = found_in(spark, folder, rules).write_stream(
        "parquet", folder / "out", checkpoint=folder / "checkpoint", trigger="available now"
    )
    query.await_termination()
    return query


def test_a_written_stream_gives_what_one_run_gives_and_goes_on_after_a_stop(
    spark: SparkSession, tmp_path: Path
) -> None:
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
    done = [*before.progress.recent, *query.progress.recent]
    assert [each.batch for each in done] == list(range(len(files) + 1))
    assert sum(each.late for each in done) == 1
    assert sum(sum(each.composites.values()) for each in done) == len(rows)
    ties = cepheus.compile(RULES).detect(events, sequence="n").ties
    assert (before.progress.ties + query.progress.ties).decided == ties.decided


def test_rows_of_one_type_go_to_a_function_and_to_other_formats(spark: SparkSession, tmp_path: Path) -> None:
    events = make_events(200, seed=3)
    for number, some in enumerate(arrivals(events, 4, seed=4)):
        write_file(some, tmp_path / "in", number)
    taken: list[tuple[int, int, str]] = []

    def take(rows: DataFrame, batch: int) -> None:
        assert rows.columns == ["time", "id", "from", "area", "temp"]
        rows.count()  # to ask twice is to find once
        taken.extend((batch, int(row.time.timestamp()), row.id) for row in rows.collect())

    found = found_in(spark, tmp_path, late=False)
    query = found.write_stream(take, checkpoint=tmp_path / "c1", composite="Fire", trigger="available now")
    query.await_termination()
    wanted = sorted(name for kind, _, name in expected(events) if kind == "Fire")
    assert sorted(name for _, _, name in taken) == wanted
    assert sum(each.composites.get("Fire", 0) for each in query.progress.recent) == len(wanted)

    ignoring = found.write_stream(lambda *_: None, checkpoint=tmp_path / "c2", trigger="available now")
    ignoring.await_termination()
    assert sum(each.composites.get("Fire", 0) for each in ignoring.progress.recent) == len(wanted)
    found.write_stream("noop", checkpoint=tmp_path / "c3", trigger="available now").await_termination()


def test_what_cannot_be_written_is_refused_at_once(spark: SparkSession, tmp_path: Path) -> None:
    write_file(make_events(3, seed=1), tmp_path / "in", 0)
    found = found_in(spark, tmp_path)
    with pytest.raises(OptionError, match="'memory' cannot be written to by write_stream"):
        found.write_stream("memory", checkpoint=tmp_path / "checkpoint")
    with pytest.raises(OptionError, match="'parquet' needs a path"):
        found.write_stream("parquet", checkpoint=tmp_path / "checkpoint")
    with pytest.raises(OptionError, match="does not say when"):
        found.write_stream("noop", checkpoint=tmp_path / "checkpoint", trigger="available")
    with pytest.raises(OptionError, match="no rule defines 'Fier'"):
        found.write_stream("noop", checkpoint=tmp_path / "checkpoint", composite="Fier")
    with pytest.raises(OptionError, match="cannot open the checkpoint 'nowhere://x/cepheus"):
        StateFolder("nowhere://x").below("cepheus").open()
    finite = cepheus.spark.detect(RULES, spark.read.schema(SCHEMA).parquet(str(tmp_path / "in")))
    with pytest.raises(OptionError, match="these events are no stream"):
        finite.write_stream("noop", checkpoint=tmp_path / "checkpoint")


def test_checkpoints_of_the_two_ways_are_told_apart(spark: SparkSession, tmp_path: Path) -> None:
    write_file(make_events(20, seed=1), tmp_path / "in", 0)
    found = found_in(spark, tmp_path)
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    found.write_stream("noop", checkpoint=ours, trigger="available now").await_termination()
    writer = found.dataframe.writeStream.format("noop").trigger(availableNow=True)
    with pytest.raises(SnapshotError, match="made by write_stream"):
        writer.option("checkpointLocation", str(ours)).start()
    writer.option("checkpointLocation", str(theirs)).start().awaitTermination()
    with pytest.raises(SnapshotError, match="made by Spark's writeStream of a detection"):
        found.write_stream("noop", checkpoint=theirs)


CHANGED = """
event Smoke(area: string, n: int);
event Temp(area: string, value: double, n: int);
define Fire(area: string, temp: double)
from Smoke(area = $a) and last Temp(area = $a and value > 45) within 5 s from Smoke
where area = Smoke.area and temp = Temp.value;
define Pair(n: int, m: int)
from Smoke(area = $a) and last Smoke(area = $a) as Before within 20 s from Smoke
where n = Smoke.n and m = Before.n
"""
BEFORE = CHANGED[: CHANGED.index("define Pair")] + (
    "define Hot(area: string) from Temp(area = $a and value > 80) and last Temp(area = $a and value > 70) as Before "
    "within 9 s from Temp where area = $a"
)


def test_rules_that_stay_keep_their_state_and_others_begin_and_end(spark: SparkSession, tmp_path: Path) -> None:
    events = [{**event, "area": f"A{number % 2}"} for number, event in enumerate(make_events(300, seed=9))]
    files = arrivals(events, 6, seed=2)
    for number, some in enumerate(files[:3]):
        write_file(some, tmp_path / "in", number)
    run(spark, tmp_path, BEFORE)
    last = max(event["time"] for some in files[:3] for event in some)
    for number, some in enumerate(files[3:], start=3):
        write_file(some, tmp_path / "in", number)
    run(spark, tmp_path, CHANGED)

    rows = spark.read.parquet(str(tmp_path / "out")).select("type", f.unix_micros("time"), "id").collect()
    found = sorted(map(tuple, rows))
    records = [{**event, "id": event["n"]} for event in events]

    def wanted(rules: str, kind: str) -> list[tuple[str, int, str]]:
        made = cepheus.compile(rules).detect(records, sequence="n")
        return sorted((e.type, e.time, str(e.id)) for e in made.to_events() if e.type == kind)

    assert [row for row in found if row[0] == "Fire"] == wanted(BEFORE, "Fire")
    hot = [row for row in found if row[0] == "Hot"]
    assert hot
    assert hot == [row for row in wanted(BEFORE, "Hot") if row[1] <= max(each[1] for each in hot)]
    assert max(each[1] for each in hot) <= last
    pairs = [row for row in found if row[0] == "Pair"]
    assert pairs
    assert {*pairs} < {*wanted(CHANGED, "Pair")}

    broken = CHANGED.replace("within 5 s", "within 6 s") + (
        "; define Again() from Fire(area = $a) and last Pair() within 9 s from Fire"
    )
    with pytest.raises(SnapshotError, match=r"'Fire' hangs together with 'Pair'.*\n.*restart=\"fresh state\""):
        run(spark, tmp_path, broken)
    fresh = found_in(spark, tmp_path, broken)
    query = fresh.write_stream(
        "noop", checkpoint=tmp_path / "checkpoint", trigger="available now", restart="fresh state"
    )
    query.await_termination()
