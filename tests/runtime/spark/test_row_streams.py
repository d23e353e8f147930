"""Queries over rows on Spark, finite and streaming, give what the reference gives in one process."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from row_jobs import agree_as_tables, agree_in_batch, agree_in_stream, cases_of
from shard_runs import ListedWork, Run

import cepheus
from cepheus.rules.check import check
from cepheus.runtime.spark import state_machine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# ---- Shards of streams, without Spark


def _agree_in_shards(seeds: range, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(state_machine, "_LEAST_BASE", 1)
    cases = cases_of(seeds)
    for seed, case in enumerate(cases):
        work = ListedWork(check(case.rules), case.events, engine_name="auto")
        run = Run.of(work, Random(seed))
        found = sorted(case.shown(event) for event in run.run(disorder=3_000_000))
        assert found == case.wanted, case.text
        assert run.late == 0
    return len(cases)


def test_shards_that_are_cut_killed_and_moved_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _agree_in_shards(range(60), monkeypatch) > 40


@pytest.mark.slow
def test_many_shards_that_are_cut_killed_and_moved_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _agree_in_shards(range(10_000, 11_000), monkeypatch) > 500


# ---- On Spark itself


def test_finite_input_agrees(spark: SparkSession) -> None:
    cases = cases_of(range(14))
    assert len(cases) > 8
    agree_in_batch(spark, cases)


def test_tables_agree(spark: SparkSession) -> None:
    cases = cases_of(range(40, 46))
    assert len(cases) > 3
    agree_as_tables(spark, cases)


def test_streams_agree(spark: SparkSession, tmp_path: Path) -> None:
    cases = cases_of(range(20, 33))
    assert len(cases) > 5
    agree_in_stream(spark, cases, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(20_000, 20_160, 40))
def test_many_cases_agree(first: int, spark: SparkSession, tmp_path: Path) -> None:
    """As ``row_jobs.py``, which was run on more of them."""
    cases = cases_of(range(first, first + 40))
    assert len(cases) > 20
    agree_in_batch(spark, cases)
    agree_as_tables(spark, cases)
    agree_in_stream(spark, cases, tmp_path)


# ---- cepheus.spark.match_recognize over a stream

_VALLEYS = """SELECT symbol, top - bottom AS gain, m FROM prices MATCH_RECOGNIZE (
    PARTITION BY symbol ORDER BY time, n
    MEASURES LAST(DOWN.price) AS bottom, LAST(UP.price) AS top, LAST(n) AS m
    PATTERN (STRT DOWN+ UP+) WITHIN INTERVAL '40' SECOND
    DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)) WHERE top > 3 AND symbol = 'x'"""


def _prices() -> pa.Table:
    return pa.table(
        {
            "n": list(range(200)),
            "symbol": [["x", "y", None, "z"][n % 4] for n in range(200)],
            "price": [(7 * n * n + n) % 11 for n in range(200)],
            "time": pa.array([n * 1_000_000 for n in range(200)], pa.timestamp("us", tz="UTC")),
        }
    )


@pytest.mark.parametrize("all_rows", [False, True], ids=["one row", "all rows"])
def test_a_query_over_a_stream_goes_on_where_it_was_stopped(
    all_rows: bool, spark: SparkSession, tmp_path: Path
) -> None:
    from cepheus.spark import match_recognize

    frame = spark.createDataFrame(_prices())
    (tmp_path / "in").mkdir()
    stream = spark.readStream.schema(frame.schema).parquet(str(tmp_path / "in"))
    query = _VALLEYS.replace("SELECT symbol, top - bottom AS gain, m", "SELECT *") if all_rows else _VALLEYS
    query = query.replace("PATTERN", "ALL ROWS PER MATCH PATTERN") if all_rows else query
    found = match_recognize(query, stream, lateness="0 seconds", shards=2)
    of_rows = ["symbol", "time", "n", "bottom", "top", "m", "price"]
    assert found.columns == (of_rows if all_rows else ["symbol", "gain", "m"])
    for part in (0, 1, 2):
        frame.where(f"n div 70 = {part}").coalesce(1).write.mode("append").parquet(str(tmp_path / "in"))
        writer = found.writeStream.format("parquet").option("path", str(tmp_path / "out"))
        writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(
            availableNow=True
        ).start().awaitTermination()
    given = sorted(map(repr, spark.read.parquet(str(tmp_path / "out")).toArrow().to_pylist()))
    wanted = sorted(map(repr, cepheus.match_recognize(query, _prices()).to_pylist()))
    assert len(given) > 5
    assert set(given) <= set(wanted)
    assert len(wanted) - len(given) <= (12 if all_rows else 2)  # what the last rows could still change


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (_VALLEYS.replace("ORDER BY time, n", "ORDER BY n").replace("WITHIN INTERVAL '40' SECOND", ""), "this order"),
    ],
)
def test_what_streams_cannot_do_is_refused(query: str, words: str, spark: SparkSession, tmp_path: Path) -> None:
    from cepheus.spark import match_recognize

    schema = spark.createDataFrame(_prices()).schema
    stream = spark.readStream.schema(schema).parquet(str(tmp_path))
    with pytest.raises(cepheus.UnsupportedError, match=words):
        match_recognize(
            query.replace("LAST(n) AS n", "LAST(n) AS m").replace("gain, n ", "gain, m "), stream, lateness="1 second"
        )


def test_partitions_that_where_does_not_ask_for_stay_in_spark(spark: SparkSession) -> None:
    from cepheus.spark import match_recognize

    found = match_recognize(_VALLEYS, spark.createDataFrame(_prices()))
    assert "Filter" in found._jdf.queryExecution().analyzed().toString()
    wanted = cepheus.match_recognize(_VALLEYS, _prices()).to_pylist()
    assert sorted(map(repr, found.toArrow().to_pylist())) == sorted(map(repr, wanted))


def test_all_events_are_rows_of_one_query(spark: SparkSession) -> None:
    from cepheus.spark import detect

    query = """SELECT * FROM events MATCH_RECOGNIZE (PARTITION BY user ORDER BY time
      MEASURES LAST(type) AS last, count(*) AS n
      PATTERN (A B+) DEFINE A AS type = 'Login', B AS type <> 'Login') AS Visit"""
    rows = [
        ("Login", 1, "x"),
        ("Click", 2, "x"),
        ("Login", 3, "y"),
        ("Buy", 4, "x"),
        ("Click", 5, "y"),
        ("Login", 6, "x"),
    ]
    events = [{"type": name, "time": at, "user": user} for name, at, user in rows]
    frame = spark.createDataFrame(rows, "type string, time bigint, user string")
    found = detect(query, frame, time_unit="s").of("Visit").toArrow().to_pylist()
    wanted = cepheus.compile(query).detect(events, time_unit="s").to_events()
    assert len(wanted) == 2
    assert sorted((row["last"], row["n"]) for row in found) == sorted((event["last"], event["n"]) for event in wanted)
