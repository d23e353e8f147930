"""Conditions on rows of files, which mean what they mean in Spark: three-valued, and NaN is the greatest number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cepheus.runtime.spark.file_conditions import Condition, evaluate
from cepheus.runtime.spark.parquet_scan import scan_of

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

NAN, INFINITY = float("nan"), float("inf")
TABLE = pa.table(
    {
        "n": pa.array(range(12)),
        "v": pa.array([None, NAN, -INFINITY, INFINITY, 0.0, -0.0, 1.5, 2.0, NAN, None, -3.0, 7.0]),
        "w": pa.array([NAN, NAN, 1.0, None, 0.0, 0.0, 1.0, 2.0, 5.0, None, NAN, 7.0]),
        "k": pa.array(["a", "b", None, "ab", "a", "ba", "", "a%", "A", None, "b", "c"]),
        "i": pa.array([1, 2, None, 4, 5, 6, 7, 8, 9, 10, 11, -1], pa.int32()),
    }
)
TEXTS = [
    "v > 1",
    "v >= w",
    "v < 2",
    "v <= w",
    "v = w",
    "not (v > 1)",
    "not (v = w)",
    "v > w or k = 'a'",
    "v is null and k is not null",
    "k in ('a', 'b') and i > 1",
    "not (k in ('a', 'b'))",
    "i in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)",
    "k like 'a%'",
    "contains(k, 'b') or isnan(v)",
    "i > 2.5",
    "k > 'a'",
]


def test_conditions_choose_the_rows_that_spark_chooses(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "rows.parquet")
    frame = spark.read.parquet(str(tmp_path))
    for text in TEXTS:
        chosen = frame.where(text)
        condition = scan_of(chosen).condition
        assert condition is not None
        ours = condition.rows(TABLE).column("n").to_pylist()
        assert ours == sorted(row.n for row in chosen.select("n").collect()), text
        coded = TABLE.set_column(3, "k", TABLE.column("k").dictionary_encode())
        if "contains" not in text and "like" not in text:
            assert condition.rows(coded).column("n").to_pylist() == ours, text


@pytest.mark.parametrize(("operator", "wanted"), [("=", [True, None]), ("<", [False, None]), (">=", [True, None])])
def test_nothing_compares_with_null(operator: str, wanted: list[bool | None]) -> None:
    both = Condition(operator, (Condition("column", (), ("a", "double")), Condition("column", (), ("b", "double"))))
    table = pa.table({"a": pa.array([1.0, None]), "b": pa.array([1.0, 2.0])})
    assert evaluate(both, table).to_pylist() == wanted
