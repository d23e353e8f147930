"""What Spark finds is what one engine finds, whatever the number of shards and the way that rules are split."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import cepheus
import cepheus.spark
from cepheus.core.batch import EventBatch
from cepheus.core.errors import LimitError, RuleError
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
