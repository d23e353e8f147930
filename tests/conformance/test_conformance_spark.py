"""The conformance suite on Spark: many cases in one job, as each job takes a while to start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from conformance_suite import load_cases, outcome
from conformance_together import Together, together

import cepheus.spark
from cepheus.core.values import ValueType
from cepheus.formats.cells import id_of_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

GROUPS = together(load_cases())
SQL = {ValueType.FLOAT: "double", ValueType.INT: "bigint", ValueType.STRING: "string", ValueType.BOOL: "boolean"}


def tables(spark: SparkSession, group: Together) -> DataFrame | dict[str, DataFrame]:
    if not group.by_type:
        return table(spark, group.events, group.kinds)
    return {
        name: table(spark, [event for event in group.events if event["type"] == name], kinds).drop("type")
        for name, kinds in group.by_type.items()
    }


def table(spark: SparkSession, events: list[dict[str, Any]], kinds: dict[str, ValueType]) -> DataFrame:
    names = ["type", "time", "id", "sequence", *kinds]
    rows = [tuple(str(e[n]) if n == "id" else _value(e.get(n), kinds.get(n)) for n in names) for e in events]
    typed = "".join(f", `{name}` {SQL[kind]}" for name, kind in kinds.items())
    return spark.createDataFrame(rows, f"type string, time bigint, id string, sequence bigint{typed}").repartition(3)


def _value(value: Any, kind: ValueType | None) -> Any:
    return float(value) if kind is ValueType.FLOAT and value is not None else value


def plain(events: list[dict[str, Any]]) -> list[str]:
    """Give events for comparison; whether a number is written with a point does not matter."""
    return outcome([{name: _number(value) for name, value in event.items()} for event in events])


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: f"{len(group.cases)} cases")
def test_batch(spark: SparkSession, group: Together) -> None:
    detection = cepheus.spark.detect(
        group.rules,
        tables(spark, group),
        time_unit="s",
        sequence="sequence",
        id="id",
        provenance=True,
        shards=3,
    )
    found = []
    for row in detection.dataframe.collect():
        record = {name.partition(" (")[0]: value for name, value in row.asDict().items() if value is not None}
        record["from"] = [id_of_text(part) for part in row["from"]]
        record["time"] = int(row["time"].timestamp() * 1_000_000)
        found.append(record)
    assert plain(found) == plain(group.expected)


def test_all_cases_take_part() -> None:
    assert sum(len(group.cases) for group in GROUPS) == len(load_cases())
