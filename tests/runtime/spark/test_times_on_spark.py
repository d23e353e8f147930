"""Attributes of type timestamp, and values of other types than expected, on Spark."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cepheus.spark
from cepheus.core.errors import CepheusWarning, OptionError, RuleError
from cepheus.core.time import SECOND, TimeUnit
from cepheus.runtime.spark.session import plain_failures

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOON = 1_772_445_600  # 2026-03-02T10:00:00Z
RULES = """
event Order(due: timestamp, n: int)
define Late(due: timestamp, at: timestamp, soon: timestamp, left: int) from Order(due > time)
where due = Order.due and at = Order.time and soon = Order.due + 500000 and left = Order.due - Order.time
"""
LATE = [(NOON + 300, NOON, NOON + 300.5, 300 * SECOND), (NOON + 60, NOON + 1, NOON + 60.5, 59 * SECOND)]


def orders(spark: SparkSession, unit: TimeUnit, kind: str) -> DataFrame:
    scale = SECOND // unit.microseconds
    rows = [("Order", at * scale, due * scale, 1) for at, due in ((NOON, NOON + 300), (NOON + 1, NOON + 60))]
    frame = spark.createDataFrame(rows, "type string, time bigint, due bigint, n int")
    if kind == "timestamp":
        frame = frame.selectExpr("type", "time", f"timestamp_micros(due * {unit.microseconds}) as due", "n")
    return frame


def found(rows: list[Any]) -> list[tuple[Any, ...]]:
    times = [(row["due"].timestamp(), row["at"].timestamp(), row["soon"].timestamp(), row["left"]) for row in rows]
    return sorted(times, key=lambda row: row[1])


@pytest.mark.parametrize("kind", ["bigint", "timestamp"])
@pytest.mark.parametrize("unit", TimeUnit)
def test_batch(spark: SparkSession, unit: TimeUnit, kind: str) -> None:
    detection = cepheus.spark.detect(RULES, orders(spark, unit, kind), time_unit=unit.value, shards=1)
    assert found(detection.dataframe.collect()) == LATE
    types = {field.name: field.dataType.simpleString() for field in detection.dataframe.schema}
    assert {types[name] for name in ("due", "at", "soon", "time")} == {"timestamp"}


@pytest.mark.parametrize("engine", ["columns", "reference"])
def test_stream(spark: SparkSession, engine: str, tmp_path: Path) -> None:
    folder = str(tmp_path / "orders")
    orders(spark, TimeUnit.S, "bigint").coalesce(1).write.json(folder)
    frame = spark.readStream.schema("type string, time bigint, due bigint, n int").json(folder)
    detection = cepheus.spark.detect(RULES, frame, time_unit="s", shards=1, lateness="0 seconds", engine=engine)
    name = f"late_{engine}"
    query = detection.dataframe.writeStream.format("memory").queryName(name).trigger(availableNow=True).start()
    query.awaitTermination()
    assert found(spark.table(name).collect()) == LATE[:1]  # the watermark has not passed the last one


COLUMNS = ["boolean", "bigint", "double", "string", "timestamp"]
TYPES = {"boolean": "bool", "bigint": "int", "double": "double", "string": "string", "timestamp": "timestamp"}
ALSO_TAKEN = {("double", "bigint"), ("timestamp", "bigint")}
"""Declared types that columns of another type may have: as in all formats."""

USED = {
    "double": "E(x > 1)",
    "string": "E(x > 'hot')",
    "boolean": "E(x = true)",
    "timestamp": "E(x > timestamp '2026-01-01T00:00:00Z')",
}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("declared", COLUMNS)
def test_declared_types_are_checked_against_columns(spark: SparkSession, declared: str, column: str) -> None:
    frame = spark.createDataFrame([], f"type string, time timestamp, x {column}")
    rules = f"event E(x: {TYPES[declared]})\ndefine F() from E()"
    if declared == column or (declared, column) in ALSO_TAKEN:
        cepheus.spark.detect(rules, frame, shards=1)
        return
    with pytest.raises(RuleError) as caught:
        cepheus.spark.detect(rules, frame, shards=1)
    assert [finding.code for finding in caught.value.diagnostics] == ["column-type"]


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("used", USED)
def test_what_rules_compare_is_checked_against_columns(spark: SparkSession, used: str, column: str) -> None:
    frame = spark.createDataFrame([], f"type string, time timestamp, x {column}")
    rules = f"define F() from {USED[used]}"
    if used == column or (used, column) == ("double", "bigint"):
        cepheus.spark.detect(rules, frame, shards=1)
        return
    with pytest.raises(RuleError) as caught:
        cepheus.spark.detect(rules, frame, shards=1)
    assert [finding.code for finding in caught.value.diagnostics] == ["type-mismatch"]


FORGOTTEN = "they look like seconds since 1970: time_unit='s'"


def test_a_forgotten_unit_is_told_in_a_batch(spark: SparkSession) -> None:
    frame = orders(spark, TimeUnit.S, "bigint")
    with pytest.warns(CepheusWarning, match="taken for microseconds they are 1970") as caught:
        cepheus.spark.detect(RULES, frame, shards=1)
    (warning,) = [each.message for each in caught if isinstance(each.message, CepheusWarning)]
    assert warning.diagnostic.hint == FORGOTTEN
    with pytest.raises(OptionError, match=r"error\[time-unit\]"):
        cepheus.spark.detect(RULES, frame, shards=1, strict=True)


def test_a_wrong_unit_is_told_in_a_batch(spark: SparkSession) -> None:
    for unit in (TimeUnit.MS, TimeUnit.US):
        with pytest.raises(OptionError, match="the times are in the year"):
            cepheus.spark.detect(RULES, orders(spark, unit, "bigint"), time_unit="s", shards=1, strict=True)


def test_times_that_make_sense_are_not_doubted(spark: SparkSession) -> None:
    small = spark.createDataFrame([("Order", 7, 9, 1)], "type string, time bigint, due bigint, n int")
    moments = small.selectExpr("type", "timestamp_micros(time) as time", "due", "n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cepheus.spark.detect(RULES, small, time_unit="s", shards=1, strict=True)
        cepheus.spark.detect(RULES, moments, shards=1, strict=True)
        cepheus.spark.detect(RULES, orders(spark, TimeUnit.US, "bigint"), shards=1, strict=True)


def arriving(spark: SparkSession, folder: Path) -> DataFrame:
    orders(spark, TimeUnit.S, "bigint").coalesce(1).write.json(str(folder))
    return spark.readStream.schema("type string, time bigint, due bigint, n int").json(str(folder))


def test_a_forgotten_unit_is_told_by_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    detection = cepheus.spark.detect(RULES, arriving(spark, tmp_path / "orders"), shards=1, lateness="0 seconds")
    found: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always", CepheusWarning)
        warnings.showwarning = lambda message, *_, **__: found.append(message)
        query = detection.dataframe.writeStream.format("noop").trigger(availableNow=True).start()
        query.awaitTermination()
        patience = 600
        while not found and patience:  # progress is reported by another thread
            time.sleep(0.1)
            patience -= 1
    assert [warning.diagnostic.hint for warning in found if isinstance(warning, CepheusWarning)] == [FORGOTTEN]


@pytest.mark.parametrize(("unit", "words"), [(None, "without a unit"), ("ms", None), ("s", None)])
def test_a_strict_stream_fails(spark: SparkSession, unit: Any, words: str | None, tmp_path: Path) -> None:
    frame = arriving(spark, tmp_path / "orders")
    detection = cepheus.spark.detect(RULES, frame, time_unit=unit, shards=1, lateness="0 seconds", strict=True)
    query = detection.dataframe.writeStream.format("noop").trigger(availableNow=True).start()
    if words is None:
        query.awaitTermination()
        return
    with pytest.raises(OptionError, match=rf"error\[time-unit\]: the times are numbers {words}"), plain_failures():
        query.awaitTermination()
