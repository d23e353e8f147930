"""Row patterns on Spark give what they give in one process."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import cepheus
from cepheus.runtime.spark.row_patterns import whole_partitions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_VALLEYS = """SELECT symbol, top - bottom AS gain, n, finish FROM prices MATCH_RECOGNIZE (
    PARTITION BY symbol ORDER BY n
    MEASURES LAST(DOWN.price) AS bottom, LAST(UP.price) AS top, LAST(n) AS n, LAST(time) AS finish
    PATTERN (STRT DOWN+ UP+)
    DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)) WHERE top > 3"""
_SESSIONS = """MATCH_RECOGNIZE (ORDER BY n DESC MEASURES count(*) AS events, CLASSIFIER() AS label
    ALL ROWS PER MATCH PATTERN (A B*) DEFINE B AS PREV(n) - n < 3 AND sum(B.price) < 20)"""


def _rows() -> pa.Table:
    prices = [(7 * n * n + n) % 11 for n in range(200)]
    return pa.table(
        {
            "n": list(range(200)),
            "symbol": [["x", "y", None, "z"][n % 4] for n in range(200)],
            "price": prices,
            "time": pa.array([n * 1_000_000 for n in range(200)], pa.timestamp("us", tz="UTC")),
        }
    )


@pytest.mark.parametrize("query", [_VALLEYS, _SESSIONS])
def test_as_in_one_process(query: str, spark: SparkSession) -> None:
    from cepheus.spark import match_recognize

    frame = spark.createDataFrame(_rows())
    found = match_recognize(query, frame).toArrow().to_pylist()
    wanted = cepheus.match_recognize(query, _rows()).to_pylist()
    assert len(wanted) > 10
    assert sorted(map(repr, found)) == sorted(map(repr, wanted))


def test_a_wrong_column_is_told_before_anything_runs(spark: SparkSession) -> None:
    from cepheus.spark import match_recognize

    with pytest.raises(cepheus.RuleError, match="no column 'prise'"):
        match_recognize("MATCH_RECOGNIZE (MEASURES LAST(prise) AS v PATTERN (A))", spark.createDataFrame(_rows()))


@pytest.mark.parametrize("size", [1, 3, 100])
def test_partitions_stay_whole(size: int) -> None:
    keys = [1, 1, 1, 2, 3, 3, 3, 3, None, None]
    for portion in (1, 2, 3, 7):
        tables = [pa.table({"k": pa.array(keys[at : at + portion], pa.int64())}) for at in range(0, len(keys), portion)]
        parts = [table.column("k").to_pylist() for table in whole_partitions(tables, ("k",), size)]
        assert [key for part in parts for key in part] == keys
        for part, following in pairwise(parts):
            assert part[-1] != following[0]
