"""Batches that tasks read from Parquet files themselves: the answers of one engine, and of the plan with a shuffle."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheus
import cepheus.spark
from cepheus.core.errors import LimitError, OptionError, RuleError
from cepheus.engine.base.ties import TieCounts
from cepheus.runtime.spark import file_plan
from cepheus.runtime.spark.file_plan import FilePlan, ReadBySpark
from strategies.split_cases import SplitCase, split_case

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "type string, time long, id long, sequence long, k string, n long, km double, v double"
ATTRIBUTES = ("k", "n", "km", "v")


def write_case(case: SplitCase, folder: Path, seed: int) -> None:
    """Write events to some files with small row groups, each about in order of time."""
    random = Random(seed)
    events = sorted(case.events, key=lambda event: event.time + random.randint(0, 2))
    columns: dict[str, list[Any]] = {name: [] for name in ("type", "time", "id", "sequence", *ATTRIBUTES)}
    for event in events:
        for name in ("type", "time", "id", "sequence"):
            columns[name].append(getattr(event, name))
        for name in ATTRIBUTES:
            columns[name].append(event.attributes[name])
    kinds = [pa.string(), pa.int64(), pa.int64(), pa.int64(), pa.string(), pa.int64(), pa.float64(), pa.float64()]
    table = pa.table(
        {name: pa.array(column, kind) for (name, column), kind in zip(columns.items(), kinds, strict=True)}
    )
    folder.mkdir(parents=True)
    half = len(events) // 2
    for number, part in enumerate((table.slice(0, half), table.slice(half))):
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=random.choice((2, 3, 7)))


def answer(batches: list[pa.RecordBatch]) -> list[str]:
    rows = [row for batch in batches for row in batch.to_pylist()]
    return sorted(repr((r["type"], r["id"], r["from"], *(r[name] for name in ATTRIBUTES))) for r in rows)


def run_slices(plan: FilePlan) -> tuple[list[pa.RecordBatch], TieCounts]:
    """Run all slices in this process."""
    found, ties = [], TieCounts.none()
    for number in range(len(plan.task.slices)):
        run = plan.task.run(number)
        while True:
            try:
                found.append(next(run))
            except StopIteration as end:
                ties += end.value
                break
    return found, ties


def check_one(spark: SparkSession, folder: Path, seed: int) -> bool:
    """Compare with the reference engine; whether there was anything to compare."""
    try:
        case = split_case(seed)
        program = cepheus.compile(case.checked.rules)
        wanted = program.detect(list(case.events), limit=3000, sequence="sequence", engine="reference")
    except (RuleError, LimitError):
        return False
    write_case(case, folder, seed)
    frame = spark.read.schema(SCHEMA).parquet(str(folder))
    options: dict[str, Any] = {"sequence": "sequence", "id": "id", "provenance": True, "shards": 1 + seed % 4}
    found = cepheus.spark.detect(program, frame, **options)
    if not isinstance(found.reading, FilePlan):
        assert isinstance(found.reading, ReadBySpark)
        assert "in rule" in found.reading.reason, f"seed {seed}: {found.reading.reason}"
        return False
    rows, ties = run_slices(found.reading)
    expected = sorted(
        repr((e.type, str(e.id), [str(part) for part in e.made_of], *(e[name] for name in ATTRIBUTES)))
        for e in wanted.to_events()
    )
    assert answer(rows) == expected, f"seed {seed}\n{case.text}\n{found.explain()}"
    assert ties == wanted.ties, f"seed {seed}\n{case.text}"
    return True


def test_slices_of_files_give_what_one_engine_gives(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_plan, "MOST_READ", 100)  # row groups of two rows overlap all the time
    compared = sum(check_one(spark, tmp_path / str(seed), seed) for seed in range(20))
    assert compared >= 4


@pytest.mark.slow
def test_slices_of_files_give_what_one_engine_gives_in_many_cases(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_plan, "MOST_READ", 100)
    assert sum(check_one(spark, tmp_path / str(seed), seed) for seed in range(1000, 1400)) >= 100


RULES = """
define Fire(area: int, temp: double) from Smoke(area=$a) and last Temp(area=$a and value>45) within 50 s from Smoke
where area = Smoke.area and temp = Temp.value;
define Two(area: int, n: int) from Temp(area=$a and value>90) and 0 < $n = Count(Fire(area=$a) within 100 s from Temp)
where area = $a and n = $n;
define Dry(area: int) from Temp(area=$a and value>80) and not Smoke(area=$a) within 20 s from Temp where area = $a
"""


def write_fires(folder: Path, count: int = 4000) -> None:
    random = Random(5)
    folder.mkdir()
    smoke = [random.random() < 0.2 for _ in range(count)]
    table = pa.table(
        {
            "type": pa.array(["Smoke" if each else "Temp" for each in smoke]),
            "at": pa.array([1_700_000_000_000 + 500 * (number // 3) for number in range(count)], pa.int64()),
            "area": pa.array([random.randrange(5) for _ in range(count)], pa.int32()),
            "value": pa.array([None if each else random.choice((30.0, 50.0, 85.5, 99.0)) for each in smoke]),
            "note": pa.array([None if random.random() < 0.5 else "x" for _ in range(count)]),
        }
    )
    for number in range(2):
        part = folder / f"half={number}"
        part.mkdir()
        pq.write_table(table.slice(number * count // 2, count // 2), part / "a.parquet", row_group_size=250)


def test_both_plans_give_the_same_on_spark_and_explain_says_which(spark: SparkSession, tmp_path: Path) -> None:
    write_fires(tmp_path / "fires")
    frame = spark.read.parquet(str(tmp_path / "fires"))
    chosen = frame.where("note is null and area in (0, 1, 2) and half >= 0").withColumnRenamed("at", "time")
    options: dict[str, Any] = {"time_unit": "ms", "shards": 3}
    by_files = cepheus.spark.detect(RULES, chosen, **options)
    by_spark = cepheus.spark.detect(RULES, chosen, read="spark", **options)
    columns = ("type", "time", "area", "temp", "n")
    rows = sorted(map(repr, by_files.dataframe.select(*columns).collect()))
    assert rows == sorted(map(repr, by_spark.dataframe.select(*columns).collect()))
    assert len(rows) > 100
    assert by_files.ties() == by_spark.ties()
    assert by_files.ties().decided
    assert "read: Parquet files, by the tasks themselves in 3 slices of time" in by_files.explain()
    assert "read: by Spark: as was asked for" in by_spark.explain()

    typed = {
        "Smoke": chosen.where("type = 'Smoke'").select("time", "area"),
        "Temp": chosen.where("type = 'Temp' and value < 99").select("value", "time", "area"),
    }
    one, other = (cepheus.spark.detect(RULES, typed, read=read, **options) for read in ("files", "spark"))
    found = sorted(map(repr, one.dataframe.select(*columns).collect()))
    assert found == sorted(map(repr, other.dataframe.select(*columns).collect()))
    assert found != rows


def reason(rules: str, frame: DataFrame, **options: Any) -> str:
    found = cepheus.spark.detect(rules, frame, **{"time_unit": "ms", "time": "at", **options})
    assert isinstance(found.reading, ReadBySpark)
    return found.reading.reason


def test_what_stands_in_the_way_is_said(spark: SparkSession, tmp_path: Path) -> None:
    write_fires(tmp_path / "fires", 600)
    frame = spark.read.parquet(str(tmp_path / "fires"))
    assert "a limit" in reason(RULES, frame.limit(100))
    computed = frame.selectExpr("type", "at", "area", "value + 1 AS value")
    assert "only Spark can tell the condition (value + 1.0D)" in reason(RULES, computed)
    computed = frame.selectExpr("type", "at + 1 AS at", "area", "value")
    assert "the column 'at' is computed" in reason(RULES, computed)
    assert "only Spark can tell the condition" in reason(RULES, frame.where("value % 2 < 1"))
    assert "timers" in reason(RULES + "; define T() from 5 s after Smoke()", frame)
    assert "in rule 'C'" in reason(
        "define C() from Smoke() and last Temp() within 5 s from Smoke consuming Temp", frame
    )
    assert "name a column: id" in reason(RULES, frame, provenance=True)
    assert "another way to split" in reason(RULES, frame, split="keys")
    with pytest.raises(OptionError, match=r"cannot read the events from files themselves: .* a limit"):
        cepheus.spark.detect(RULES, frame.limit(9), time="at", time_unit="ms", read="files")
    with pytest.raises(OptionError, match="'file' is not a choice for read"):
        cepheus.spark.detect(RULES, frame, time="at", time_unit="ms", read="file")  # type: ignore[arg-type]
    table = pq.read_table(tmp_path / "fires" / "half=0" / "a.parquet")
    (tmp_path / "mixed").mkdir()
    shuffled = table.take(pa.array(Random(1).sample(range(table.num_rows), table.num_rows)))
    pq.write_table(shuffled, tmp_path / "mixed" / "a.parquet", row_group_size=50)
    mixed = spark.read.parquet(str(tmp_path / "mixed"))
    assert "row groups overlap in time" in reason(RULES, mixed, shards=4)
