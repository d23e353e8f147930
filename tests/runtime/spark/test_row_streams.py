"""Queries over rows on Spark, finite and streaming, give what the reference gives in one process."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import cepheus
from cepheus import CepheusError
from cepheus.core.batch import EventBatch
from cepheus.core.event import Event
from cepheus.language import sql, tesla
from cepheus.rules.check import check
from cepheus.rules.model import RuleSet
from cepheus.runtime.spark import state_machine

sys.path.append(str(Path(__file__).parents[2] / "engine" / "rows"))

from random_rows import row_case
from shard_runs import ListedWork, Run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_KINDS = {"n": pa.int64(), "k": pa.string(), "time": pa.timestamp("us", tz="UTC"), "v": pa.int64(), "w": pa.float64()}
_SCHEMA = pa.schema([*_KINDS.items(), ("s", pa.string())])
_EPOCH = datetime(2026, 1, 31, tzinfo=UTC)


class Case:
    """A query in the form of a rule, its rows, and what the reference gives for them; None where that is an error."""

    def __init__(self, seed: int) -> None:
        case = row_case(seed)
        self.seed = seed
        self.name = f"Found{seed}"
        self.all_rows = "ALL ROWS" in case.text
        text = re.sub(r"\bt\b", "time", case.text.replace("ORDER BY t, n", "ORDER BY t"))
        text = text.replace("array_agg(", "max(")
        text = text.replace("MEASURES ", "MEASURES FIRST(n) AS begins, LAST(n) AS ends, ", 1)
        self.text = f"SELECT * FROM Row{seed} {text} AS {self.name}"
        self.rows: list[dict[str, Any]] = [
            {**row, "type": f"Row{seed}", "time": _EPOCH + timedelta(microseconds=int(str(row["t"])))}
            for row in case.rows
        ]
        try:
            found = cepheus.match_recognize(self.text, pa.Table.from_pylist(self.rows, _SCHEMA), engine="reference")
        except CepheusError:
            self.wanted = None
        else:
            self.wanted = sorted(self._as_event(row) for row in found.to_pylist())

    def _as_event(self, row: dict[str, Any]) -> str:
        """A row that the reference gives as what an event has: with all rows of matches its time is the row's."""
        moment = row.pop("time") if self.all_rows else None
        return _shown(self.name, row, None if moment is None else _since_epoch(moment))

    def shown(self, event: Event) -> str:
        return _shown(self.name, event.attributes, event.time if self.all_rows else None)

    @property
    def rules(self) -> RuleSet:
        """The query; where all rows are given, those of a declared type, whose columns are known."""
        declared = f"event Row{self.seed}(n: int?, k: string?, v: int?, w: double?, s: string?)"
        return (tesla.parse(declared) if self.all_rows else RuleSet()) + sql.parse(self.text)

    @property
    def events(self) -> EventBatch:
        micros = [_since_epoch(row["time"]) for row in self.rows]
        attributes = [{name: row[name] for name in "nkvws" if row[name] is not None} for row in self.rows]
        return EventBatch.from_events(
            Event(str(row["type"]), time, values, id=place)
            for place, (row, time, values) in enumerate(zip(self.rows, micros, attributes, strict=True))
        )


def _since_epoch(moment: datetime) -> int:
    return int((moment - _EPOCH) / timedelta(microseconds=1))


def _shown(name: str, values: Mapping[str, Any], moment: int | None) -> str:
    known = {key.split(" (")[0]: value for key, value in values.items() if value is not None}
    return f"{name} {moment} {sorted((key, value) for key, value in known.items())}"


def _cases(seeds: range) -> list[Case]:
    return [case for seed in seeds if (case := Case(seed)).wanted is not None and case.rows]


# ---- Shards of streams, without Spark


def _agree_in_shards(seeds: range, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(state_machine, "_LEAST_BASE", 1)
    cases = _cases(seeds)
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


def _frame(spark: SparkSession, cases: list[Case]) -> DataFrame:
    rows = [{**row, "seq": row["n"]} for case in cases for row in case.rows]
    table = pa.Table.from_pylist(rows, pa.schema([*_SCHEMA, ("type", pa.string()), ("seq", pa.int64())]))
    return spark.createDataFrame(table)


def _rules(cases: list[Case]) -> RuleSet:
    return sum((case.rules for case in cases), RuleSet())


def _found(frame: DataFrame, cases: list[Case]) -> list[str]:
    own = {"type", "time", "start", "id", "from"}
    all_rows = {case.name for case in cases if case.all_rows}
    return sorted(
        _shown(
            row["type"],
            {name: value for name, value in row.items() if name not in own},
            _since_epoch(row["time"]) if row["type"] in all_rows else None,
        )
        for row in frame.toArrow().to_pylist()
    )


def _agree_in_batch(spark: SparkSession, seeds: range) -> int:
    from cepheus.spark import detect

    cases = _cases(seeds)
    found = detect(_rules(cases), _frame(spark, cases), sequence="seq", shards=3)
    assert _found(found.dataframe, cases) == sorted(shown for case in cases for shown in case.wanted or ())
    return len(cases)


def _agree_in_stream(spark: SparkSession, seeds: range, folder: Path) -> int:
    """Run all cases in one query, whose last file lets the watermark pass all rows; what waits for more rows does not
    come, as a stream has no end.
    """
    from cepheus.spark import detect

    cases = _cases(seeds)
    frame = _frame(spark, cases)
    for part in range(3):
        chosen = frame.where(f"(seq + length(type)) % 3 = {part}").coalesce(1)
        chosen.write.mode("append").parquet(str(folder / "in"))
    late = spark.createDataFrame([(_EPOCH + timedelta(days=1), "Tick")], "time timestamp, type string")
    nothing = {field.name: field.dataType.simpleString() for field in frame.schema if field.name not in late.columns}
    late.selectExpr("*", *(f"cast(null as {kind}) as {name}" for name, kind in nothing.items())).select(
        *frame.columns
    ).write.mode("append").parquet(str(folder / "in"))
    stream = spark.readStream.schema(frame.schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    with pytest.warns(cepheus.CepheusWarning, match="may wait for ever"):
        found = detect(_rules(cases), stream, sequence="seq", lateness="1 hour", shards=2)
    query = (
        found.dataframe.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    given = _found(spark.read.parquet(str(folder / "out")), cases)
    assert given == _decided(cases)
    return len(cases)


def _decided(cases: list[Case]) -> list[str]:
    """What a session has given when time has gone on for a day, but the input has not ended."""
    found: list[str] = []
    for case in cases:
        session = cepheus.compile(case.rules).start(time_unit="us")
        given = [*session.feed(case.events).to_events(), *session.advance(86_400_000_000).to_events()]
        found += (case.shown(event) for event in given)
    return sorted(found)


def test_finite_input_agrees(spark: SparkSession) -> None:
    assert _agree_in_batch(spark, range(14)) > 8


def test_streams_agree(spark: SparkSession, tmp_path: Path) -> None:
    assert _agree_in_stream(spark, range(20, 30), tmp_path) > 5


@pytest.mark.slow
def test_finite_input_agrees_in_many_cases(spark: SparkSession) -> None:
    assert sum(_agree_in_batch(spark, range(first, first + 40)) for first in range(20_000, 20_800, 40)) > 500


@pytest.mark.slow
def test_streams_agree_in_many_cases(spark: SparkSession, tmp_path: Path) -> None:
    parts = range(30_000, 30_800, 40)
    assert sum(_agree_in_stream(spark, range(first, first + 40), tmp_path / str(first)) for first in parts) > 500


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
