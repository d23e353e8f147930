"""What Spark finds is what one engine finds, whatever the number of shards and the way that rules are split."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pytest

import cepheus
import cepheus.spark
from cepheus.core.batch import EventBatch
from cepheus.core.errors import LimitError, OptionError, RuleError
from cepheus.runtime.spark import tie_counts
from strategies.split_cases import SplitCase, split_case

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

SCHEMA = "type string, time long, id long, sequence long, k string, n long, km double, v double"


def frame(spark: SparkSession, case: SplitCase) -> DataFrame:
    rows = [
        (event.type, event.time, event.id, event.sequence, *(event.attributes[name] for name in ("k", "n", "km", "v")))
        for event in case.events
    ]
    return spark.createDataFrame(rows, SCHEMA).repartition(3)


def answer(rows: list[Row]) -> list[str]:
    """Give composite events in a form in which two answers compare as multisets."""
    return sorted(repr((row["type"], row["id"], row["from"], row["k"], row["n"], row["km"], row["v"])) for row in rows)


def expected_answer(found: EventBatch) -> list[str]:
    return sorted(
        repr((e.type, e.id, [str(part) for part in e.made_of], e["k"], e["n"], e["km"], e["v"]))
        for e in found.to_events()
    )


@pytest.mark.parametrize(
    ("split", "shards", "seed"),
    [("auto", 1, 7), ("auto", 2, 11), ("auto", 8, 41), ("keys", 8, 53), ("bands", 2, 24), ("slices", 8, 7)],
)
def test_spark_finds_what_one_engine_finds(spark: SparkSession, split: Any, shards: int, seed: int) -> None:
    check_one(spark, split, shards, seed)


@pytest.mark.slow
@pytest.mark.parametrize("split", ["auto", "keys", "bands", "slices"])
@pytest.mark.parametrize("shards", [1, 2, 8])
def test_spark_finds_what_one_engine_finds_in_many_cases(spark: SparkSession, split: Any, shards: int) -> None:
    for seed in range(100, 130):
        check_one(spark, split, shards, seed)


def check_one(spark: SparkSession, split: Any, shards: int, seed: int) -> None:
    try:
        case = split_case(seed)
        program = cepheus.compile(case.checked.rules)
        found = program.detect(list(case.events), limit=3000, sequence="sequence", engine="reference")
    except (RuleError, LimitError):
        return
    detection = cepheus.spark.detect(
        program,
        frame(spark, case),
        sequence="sequence",
        id="id",
        provenance=True,
        shards=shards,
        split=split,
    )
    rows = detection.dataframe.collect()
    assert answer(rows) == expected_answer(found), f"seed {seed}\n{case.text}\n{detection.planned.split}"
    assert detection.ties() == found.ties, f"seed {seed}\n{case.text}\n{detection.planned.split}"


def test_simultaneous_events_are_counted_in_every_split(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tie_counts, "_PATIENCE", 0.5)
    rule = """
    define Hot(km: double, v: double) from Warning(km=$k) and last Temp($k - 2 < km < $k + 2) within 1 min from Warning
    where km=$k and v=Temp.v
    """
    readings = [("Temp", 1 + n // 3, n // 4 + 0.25 * (n % 3), float(n)) for n in range(60)]
    warnings = [("Warning", 1 + n // 2, n / 3, 0.0) for n in range(40)]
    events = spark.createDataFrame([*readings, *warnings], "type string, time long, km double, v double").repartition(3)
    counts = set()
    for split in ("whole", "bands", "slices"):
        found = cepheus.spark.detect(rule, events, shards=4, split=split, time_unit="s")
        with pytest.raises(OptionError, match="only when rows have been asked for"):
            found.ties()
        found.dataframe.write.format("noop").mode("overwrite").save()
        counts.add(found.ties())
    (only,) = counts
    assert only.decided
    assert only.passed_over


def test_an_engine_that_does_not_count_says_so_on_spark(spark: SparkSession) -> None:
    events = spark.createDataFrame([("Temp", 1), ("Temp", 1), ("Smoke", 2)], "type string, time long")
    rule = "define Hot() from Smoke() and last Temp() within 1 min from Smoke"
    found = cepheus.spark.detect(rule, events, shards=2, engine="automata", time_unit="s")
    assert found.dataframe.count() == 1
    assert found.ties() == cepheus.TieCounts.not_counted("automata")


def test_moments_beside_rules_whose_work_is_cut_by_time(spark: SparkSession) -> None:
    """All events have one of two times, so that there are fewer slices than shards; those left over have no work."""
    rules = """
    define Silence(n: int) from every 10 s and $n = Count(A() within 10 s from now) where n=$n
    define Both() from B() and each A() within 5 s from B
    """
    events = [{"type": kind, "time": time} for time in (1, 31) for kind in "AB"]
    frame = spark.createDataFrame([(event["type"], event["time"]) for event in events], "type string, time long")
    detection = cepheus.spark.detect(rules, frame, shards=4, time_unit="s", provenance=True)
    assert "slices" in detection.explain()
    wanted = cepheus.compile(rules).detect(events, time_unit="s", engine="reference").to_events()
    assert len(wanted) == 3
    found = sorted((row.type, int(row.time.timestamp()), row.n) for row in detection.dataframe.collect())
    assert found == sorted((event.type, event.time // 1_000_000, event.attributes.get("n")) for event in wanted)


@pytest.mark.parametrize("on_bad_event", ["stop", "skip"])
def test_events_that_no_rule_reads_let_time_go_on(spark: SparkSession, on_bad_event: Literal["stop", "skip"]) -> None:
    """So do those that are declared; those that are bad, where they are skipped, do not."""
    rules = """
    event A()
    event Tick(n: int)
    define Silence(n: int) from every 10 s and $n = Count(A() within 10 s from now) where n=$n
    """
    rows = [("Tick", 1, 1), ("A", 12, None), ("Tick", 31, 1)]
    if on_bad_event == "skip":
        rows = [("Tick", -29, None), *rows, ("Tick", 61, None)]
    frame = spark.createDataFrame(rows, "type string, time long, n long")
    events = [{"type": kind, "time": time, "n": n} for kind, time, n in rows]
    session = cepheus.compile(rules).start(time_unit="s", engine="reference", on_bad_event=on_bad_event)
    wanted = [(event.time // 1_000_000, event["n"]) for event in session.feed(events).to_events()]
    assert wanted == [(10, 0), (20, 1), (30, 0)]
    for shards in (1, 2):
        found = cepheus.spark.detect(rules, frame, shards=shards, time_unit="s", on_bad_event=on_bad_event)
        assert sorted((int(row.time.timestamp()), row.n) for row in found.dataframe.collect()) == wanted
