"""Tasks that read rows from files themselves give what one process gives for the table."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import LongType, StructField, StructType

sys.path.append(str(Path(__file__).parents[2] / "engine" / "rows"))

from random_rows import row_case

import cepheus
from cepheus import CepheusError
from cepheus.language.sql import parse_query
from cepheus.runtime.spark import row_files
from cepheus.runtime.spark.parquet_scan import NotPlainError, Scan, ScanFile
from cepheus.runtime.spark.row_files import MOST_TASKS, RowTask, plan_rows, shares

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TYPES = {"n": "bigint", "k": "string", "t": "timestamp_ntz", "v": "bigint", "w": "double", "s": "string"}


def _scan(paths: list[Path], types: dict[str, str]) -> Scan:
    files = tuple(ScanFile(str(path), path.stat().st_size) for path in paths)
    return Scan(files, {name: name for name in types}, types, None)


def _written(table: pa.Table, folder: Path, random: Random) -> list[Path]:
    """A table in files of small row groups, which overlap in their order a little, or not at all."""
    slack = random.choice((0, 0, 6))
    places = sorted(range(table.num_rows), key=lambda place: place + random.uniform(0, slack))
    paths: list[Path] = []
    while places:
        size = random.randint(4, 30)
        paths.append(folder / f"{len(paths)}.parquet")
        pq.write_table(table.take(pa.array(places[:size])), paths[-1], row_group_size=random.randint(2, 9))
        places = places[size:]
    random.shuffle(paths)
    return paths


def _lines(table: pa.Table) -> Counter[str]:
    names = sorted(table.column_names)
    return Counter(repr([(name, row[name]) for name in names]) for row in table.to_pylist())


def _by_tasks(task: RowTask) -> Counter[str]:
    batches = [batch for number in range(task.tasks) for batch in task.run(number)]
    return sum((_lines(pa.Table.from_batches([batch])) for batch in batches), Counter[str]())


def _agree(seeds: range, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Compare cases, whole and piece by piece; how many there were."""
    done = 0
    for seed in seeds:
        random, case = Random(seed), row_case(seed)
        query, table = parse_query(case.query), case.table.sort_by([("t", "ascending"), ("n", "ascending")])
        if not table.num_rows:
            continue
        try:
            wanted = _lines(cepheus.match_recognize(query, table, engine="reference"))
        except CepheusError:
            continue
        own = folder / str(seed)
        own.mkdir()
        monkeypatch.setattr(row_files, "PIECE", random.randint(1, 12))
        monkeypatch.setattr(row_files, "MOST_SORTED", 100)
        scan = _scan(_written(table, own, random), _TYPES)
        task = plan_rows(query, scan, tuple(_TYPES), "auto", random.randint(1, 3))
        for whole in (False, True):
            assert _by_tasks(replace(task, whole=whole)) == wanted, (seed, whole, case.query)
        assert _by_tasks(replace(task, engine="reference")) == wanted, (seed, case.query)
        done += 1
    return done


def test_as_in_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _agree(range(7000, 7060), tmp_path, monkeypatch) > 40


@pytest.mark.slow
def test_as_in_one_process_at_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _agree(range(8000, 9500), tmp_path, monkeypatch) > 1000


@pytest.mark.parametrize("key", ["DESC", "DESC NULLS FIRST", ""])
@pytest.mark.parametrize("kind", ["timestamp", "date", "int", "bigint"])
def test_rows_come_in_the_order_that_is_asked_for(tmp_path: Path, key: str, kind: str) -> None:
    random = Random(kind + key)
    numbers = [random.randint(-40, 40) for _ in range(90)]
    arrow = {"timestamp": pa.timestamp("us", tz="UTC"), "date": pa.date32(), "int": pa.int32(), "bigint": pa.int64()}
    stored = pa.array(numbers, pa.int32() if kind == "date" else pa.int64()).cast(arrow[kind])
    table = pa.table({"at": stored, "p": [n % 4 for n in range(90)], "n": list(range(90))})
    query = parse_query(
        f"MATCH_RECOGNIZE (PARTITION BY p ORDER BY at {key}, n MEASURES FIRST(n) AS a, LAST(n) AS b, count(*) AS c "
        "PATTERN (A B*) DEFINE B AS n > PREV(n))"
    )
    paths = _written(table.sort_by("at"), tmp_path, random)
    types = {"at": kind, "p": "bigint", "n": "bigint"}
    task = plan_rows(query, _scan(paths, types), tuple(types), "auto", 3)
    assert _by_tasks(task) == _lines(cepheus.match_recognize(query, table))


_RISES = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES count(*) AS c PATTERN (A B+) DEFINE B AS v > PREV(v))"


def _refusal(query: str, scan: Scan, tasks: int = 2) -> str:
    with pytest.raises(NotPlainError) as caught:
        plan_rows(parse_query(query), scan, tuple(scan.types), "auto", tasks)
    return str(caught.value)


def test_what_is_in_the_way_is_said(tmp_path: Path) -> None:
    table = pa.table({"k": ["x", "y"], "t": [1, None], "v": [1, 2]})
    paths = [tmp_path / "nulls.parquet"]
    pq.write_table(table, paths[0])
    types = {"k": "string", "t": "bigint", "v": "bigint"}
    scan = _scan(paths, types)
    assert "does not tell" in _refusal(_RISES, scan)
    assert "each of 9 tasks" in _refusal(_RISES, scan, MOST_TASKS + 1)
    assert "no ORDER BY" in _refusal(_RISES.replace("ORDER BY t", ""), scan)
    assert "ordered, has the type string" in _refusal(_RISES.replace("ORDER BY t", "ORDER BY k"), scan)
    assert "parts rows, has the type double" in _refusal(_RISES, _scan(paths, {**types, "k": "double"}))
    assert "has the type map" in _refusal(_RISES, _scan(paths, {**types, "v": "map<string,int>"}))
    jumbled = pa.table({"k": ["x"] * 400, "t": [n * 7 % 400 for n in range(400)], "v": list(range(400))})
    pq.write_table(jumbled, paths[0], row_group_size=20)
    assert "sorted" in _refusal(_RISES, _scan(paths, types))


@pytest.mark.parametrize("whole", [False, True])
def test_files_may_lack_columns(tmp_path: Path, whole: bool) -> None:
    """Also that of PARTITION BY, whose texts are read with a dictionary: all is NULL there."""
    query = parse_query(_RISES.replace("count(*) AS c", "count(*) AS c, LAST(B.k) AS last"))
    parts = [pa.table({"k": ["x", "y"] * 9, "t": list(range(n, n + 18)), "v": list(range(18))}) for n in (0, 18, 36)]
    parts[1] = parts[1].drop_columns(["k"])
    parts[2] = parts[2].set_column(0, "k", parts[2].column("k").cast(pa.large_string()))
    paths = [tmp_path / f"{n}.parquet" for n in range(3)]
    for part, path in zip(parts, paths, strict=True):
        pq.write_table(part, path)
    task = plan_rows(query, _scan(paths, {"k": "string", "t": "bigint", "v": "bigint"}), ("k", "t", "v"), "auto", 2)
    wanted = cepheus.match_recognize(query, pa.concat_tables(parts, promote_options="permissive"))
    assert _by_tasks(replace(task, whole=whole)) == _lines(wanted)


def test_the_least_integer_comes_last_in_falling_order(tmp_path: Path) -> None:
    times = [[-(2**63), *range(10)], [*range(5, 10)], [*range(-9, 0)]]
    paths = [tmp_path / f"{n}.parquet" for n in range(len(times))]
    for path, some in zip(paths, times, strict=True):
        pq.write_table(pa.table({"k": ["x"] * len(some), "t": some, "v": list(range(len(some)))}), path)
    query = parse_query(_RISES.replace("ORDER BY t", "ORDER BY t DESC").replace("B AS v >", "B AS v >="))
    task = plan_rows(query, _scan(paths, {"k": "string", "t": "bigint", "v": "bigint"}), ("k", "t", "v"), "auto", 1)
    found = [time for rows in task._in_order(0) for time in rows.column("t").to_pylist()]
    assert found == sorted((time for some in times for time in some), reverse=True)


def test_equal_keys_stay_together() -> None:
    random = Random(0)
    texts = [random.choice([None, "", "a", "b", "x" * 40 + "1", "x" * 40 + "2", "ä", "area 17"]) for _ in range(300)]
    numbers = [random.choice([None, 0, 1, -1, 2**62]) for _ in range(300)]
    keys: list[Any] = [pa.array(texts), pa.array(numbers, pa.int64())]
    coded = [keys[0].dictionary_encode(), keys[1]]
    large = [keys[0].cast(pa.large_string()), keys[1]]
    found = shares(keys, 1 << 50)
    assert np.array_equal(found, shares(coded, 1 << 50))
    assert np.array_equal(found, shares(large, 1 << 50))
    assert np.array_equal(found[7:], shares([key.slice(7) for key in keys], 1 << 50))
    by_key: dict[Any, set[int]] = {}
    for text, number, share in zip(texts, numbers, found.tolist(), strict=True):
        by_key.setdefault((text, number), set()).add(share)
    assert all(len(each) == 1 for each in by_key.values())
    assert len(set().union(*by_key.values())) == len(by_key)


def test_keys_are_dealt_evenly() -> None:
    for keys in ([f"sensor-{n}" for n in range(4000)], list(range(4000)), [n << 20 for n in range(4000)]):
        counts = np.bincount(shares([pa.array(keys)], 8))
        assert counts.min() > 400
        assert counts.max() < 600


_FORM_OF_TIMES = "spark.sql.parquet.outputTimestampType"


@pytest.fixture
def frame(spark: SparkSession, tmp_path: Path) -> DataFrame:
    begin = datetime(2026, 1, 31, tzinfo=UTC)
    rows = [(begin + timedelta(seconds=n), ["x", "y", None][n % 3], n * 7 % 11, f"d{n // 100}") for n in range(300)]
    made = spark.createDataFrame(rows, "t timestamp, k string, v int, day string").coalesce(1)
    made.write.parquet(str(tmp_path / "old"))
    spark.conf.set(_FORM_OF_TIMES, "TIMESTAMP_MICROS")
    made.write.partitionBy("day").parquet(str(tmp_path / "rows"))
    spark.conf.unset(_FORM_OF_TIMES)
    return spark.read.parquet(str(tmp_path / "rows"))


@pytest.mark.parametrize("read", ["auto", "files"])
def test_files_are_read_by_tasks_on_spark(frame: DataFrame, read: Literal["auto", "files"]) -> None:
    from cepheus.spark import match_recognize

    shapes = frame.where("v < 10 and day <> 'd1'").withColumnRenamed("k", "kind").select("t", "kind", "v", "day")
    query = _RISES.replace("PARTITION BY k", "PARTITION BY kind, day")
    found = match_recognize(query, shapes, read=read)
    assert "Exchange" not in found._jdf.queryExecution().toString()
    wanted = cepheus.match_recognize(query, shapes.toArrow())
    assert wanted.num_rows > 10
    assert _lines(found.toArrow()) == _lines(wanted)
    assert _lines(match_recognize(query, shapes, read="spark").toArrow()) == _lines(wanted)


def test_what_is_no_plain_scan_is_read_by_spark(frame: DataFrame, spark: SparkSession, tmp_path: Path) -> None:
    from cepheus.spark import match_recognize

    old = spark.read.parquet(str(tmp_path / "old"))
    with pytest.raises(cepheus.OptionError, match=r"old form INT96.*outputTimestampType=TIMESTAMP_MICROS"):
        match_recognize(_RISES, old, read="files")

    doubled = frame.selectExpr("t", "k", "v * 2 as v")
    assert "Exchange" in match_recognize(_RISES, doubled)._jdf.queryExecution().toString()
    with pytest.raises(cepheus.OptionError, match="the column 'v' is computed"):
        match_recognize(_RISES, doubled, read="files")
    with pytest.raises(cepheus.OptionError, match="no way to read"):
        match_recognize(_RISES, frame, read="filse")  # type: ignore[arg-type]  # a slip


def test_columns_that_are_not_what_files_have_are_read_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Spark puts in defaults where files lack columns, may find these by numbers, and takes none of two of a name."""
    from pyspark.errors import AnalysisException

    from cepheus.spark import match_recognize

    spark.sql(f"CREATE TABLE with_default (t bigint, k string) USING parquet LOCATION '{tmp_path / 'default'}'")
    try:
        spark.sql("INSERT INTO with_default VALUES (1, 'x'), (2, 'x')")
        spark.sql("ALTER TABLE with_default ADD COLUMN (v int DEFAULT 42)")
        spark.sql("INSERT INTO with_default VALUES (3, 'x', 43), (4, 'x', 44)")
        rows = spark.table("with_default")
        assert [tuple(row) for row in match_recognize(_RISES, rows).collect()] == [("x", 3)]
        with pytest.raises(cepheus.OptionError, match="int with a default"):
            match_recognize(_RISES, rows, read="files")
    finally:
        spark.sql("DROP TABLE with_default")

    told = [StructField(name, LongType(), True, {"parquet.field.id": n}) for n, name in enumerate("tvk")]
    by_id = [StructField(name, LongType(), True, {"parquet.field.id": n}) for n, name in enumerate("vtk")]
    spark.conf.set("spark.sql.parquet.fieldId.write.enabled", "true")
    spark.createDataFrame([(n, -n, 0) for n in range(9)], StructType(told)).write.parquet(str(tmp_path / "ids"))
    spark.conf.set("spark.sql.parquet.fieldId.read.enabled", "true")
    try:
        with pytest.raises(cepheus.OptionError, match="bigint with a field id"):
            match_recognize(_RISES, spark.read.schema(StructType(by_id)).parquet(str(tmp_path / "ids")), read="files")
    finally:
        spark.conf.unset("spark.sql.parquet.fieldId.read.enabled")
        spark.conf.unset("spark.sql.parquet.fieldId.write.enabled")

    twice = spark.read.parquet(str(tmp_path / "ids")).selectExpr("t", "k", "v", "t as v")
    with pytest.raises(AnalysisException, match="AMBIGUOUS"):
        match_recognize(_RISES, twice)
