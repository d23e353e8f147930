"""Queries with several branches of one ``detect``, or several of them: every branch gives all that it finds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pair_files import MORE_RULES, RULES, finite, flowing, ids, start, write_pairs
from pyspark.sql import functions as f

import cepheus.spark
from cepheus.core.errors import LimitError
from cepheus.runtime.spark.session import plain_failures
from cepheus.spark import Detection

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def branch(found: Detection, composite: str) -> DataFrame:
    return found.of(composite).select("time", "k", "id")


def united(found: Detection) -> DataFrame:
    return branch(found, "Pair").union(branch(found, "Other"))


def joined(found: Detection) -> DataFrame:
    pairs, others = branch(found, "Pair").alias("a"), branch(found, "Other").alias("b")
    return pairs.join(others, f.expr("a.k = b.k and a.time < b.time")).select("a.id", f.col("b.id").alias("id2"))


def joined_with_itself(found: Detection) -> DataFrame:
    one, other = found.dataframe.alias("a"), found.dataframe.alias("b")
    return one.join(other, f.expr("a.k = b.k and a.time < b.time")).select("a.id", f.col("b.id").alias("id2"))


BRANCHES = [united, joined, joined_with_itself]


@pytest.mark.parametrize("branches", BRANCHES)
def test_branches_of_a_stream_give_what_a_finite_run_gives(
    spark: SparkSession, tmp_path: Path, branches: Callable[[Detection], DataFrame]
) -> None:
    write_pairs(tmp_path / "in")
    found = flowing(spark, tmp_path / "in")
    query = start(branches(found), tmp_path)
    query.awaitTermination()
    expected = ids(branches(finite(spark, tmp_path / "in")))
    assert len(expected) > 10
    assert ids(spark.read.parquet(str(tmp_path / "out"))) == expected
    assert found.metrics is not None
    counted = [progress["observedMetrics"][found.metrics] for progress in query.recentProgress]
    assert all(count is not None for row in counted for count in row)
    assert sum(row["composites"] for row in counted) == finite(spark, tmp_path / "in").dataframe.count()


def test_two_detections_in_one_query(spark: SparkSession, tmp_path: Path) -> None:
    """Over one stream or two, with other rules or the same: each has metrics of its own."""
    write_pairs(tmp_path / "in")
    write_pairs(tmp_path / "in2", first=30)
    one, same = flowing(spark, tmp_path / "in"), flowing(spark, tmp_path / "in")
    more, elsewhere = flowing(spark, tmp_path / "in", MORE_RULES, name="more"), flowing(spark, tmp_path / "in2")
    assert more.metrics == "more"
    assert len({one.metrics, same.metrics, more.metrics, elsewhere.metrics}) == 4
    together = united(one).union(branch(same, "Pair")).union(branch(more, "Again")).union(branch(elsewhere, "Other"))
    query = start(together, tmp_path)
    query.awaitTermination()
    assert flowing(spark, tmp_path / "in").metrics == one.metrics  # as it would be called after a restart
    once = finite(spark, tmp_path / "in")
    again = finite(spark, tmp_path / "in", MORE_RULES)
    other = finite(spark, tmp_path / "in2")
    expected = united(once).union(branch(once, "Pair")).union(branch(again, "Again")).union(branch(other, "Other"))
    assert ids(spark.read.parquet(str(tmp_path / "out"))) == ids(expected)
    composites = {
        name: sum(progress["observedMetrics"][name]["composites"] for progress in query.recentProgress)
        for name in ("more", elsewhere.metrics)
    }
    assert composites == {"more": again.dataframe.count(), elsewhere.metrics: other.dataframe.count()}


def test_one_detection_in_two_queries_at_once(spark: SparkSession, tmp_path: Path) -> None:
    """With checkpoints beside one another; more events come while both are running."""
    write_pairs(tmp_path / "in")
    found = flowing(spark, tmp_path / "in")
    checkpoints = tmp_path / "checkpoints"
    queries = []
    try:
        for name, frame in (("pairs", branch(found, "Pair")), ("all", united(found))):
            queries.append(start(frame, tmp_path / name, checkpoints / name, ending=False))
            queries[-1].processAllAvailable()  # one after the other: two Pythons that start at once take too long
        write_pairs(tmp_path / "in", first=4100)
        for query in queries:
            query.processAllAvailable()
    finally:
        for query in queries:
            query.stop()
    once = finite(spark, tmp_path / "in")
    assert ids(spark.read.parquet(str(tmp_path / "pairs" / "out"))) == ids(branch(once, "Pair"))
    assert ids(spark.read.parquet(str(tmp_path / "all" / "out"))) == ids(united(once))


def test_a_query_that_is_started_again_does_not_run_with_engines_of_its_past(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_pairs(tmp_path / "in")
    start(flowing(spark, tmp_path / "in").dataframe, tmp_path).awaitTermination()
    write_pairs(tmp_path / "in", first=4100)
    twice = RULES.replace("last A(k = $k)", "each A(k = $k)")
    start(flowing(spark, tmp_path / "in", twice).dataframe, tmp_path / "other").awaitTermination()
    write_pairs(tmp_path / "in", first=8200)
    with pytest.raises(LimitError), plain_failures():
        start(flowing(spark, tmp_path / "in", twice, limit=1).dataframe, tmp_path / "other").awaitTermination()


POINTS = """
unit s.
noon <- 5.
later(X) <- a(X) SEQ 7.
"""


@pytest.mark.parametrize("pieces", [None, 1], ids=["as they are", "in one task"])
def test_points_in_time_are_reached_in_every_branch_of_a_batch(spark: SparkSession, pieces: int | None) -> None:
    """A shard is told by its rows, not by the number of the task that happens to run it."""
    events = spark.createDataFrame([(1, 4), (2, 9)], "time long, arg1 long")
    found = cepheus.spark.detect(POINTS, {"a": events}, time_unit="s", shards=2)
    once = sorted(row["type"] for row in found.dataframe.collect())
    assert once == ["later", "later", "noon"]
    twice = found.dataframe.union(found.dataframe)
    twice = twice if pieces is None else twice.coalesce(pieces)
    assert sorted(row["type"] for row in twice.collect()) == sorted(once * 2)


def test_branches_of_a_finite_input(spark: SparkSession, tmp_path: Path) -> None:
    write_pairs(tmp_path / "in")
    found = finite(spark, tmp_path / "in")
    rows = [(row["type"], row["time"], row["k"], row["id"]) for row in found.dataframe.collect()]
    pairs = [(a, b) for a in rows for b in rows if a[2] == b[2] and a[1] < b[1]]
    assert ids(united(found)) == sorted((row[3],) for row in rows)
    assert ids(joined(found)) == sorted((a[3], b[3]) for a, b in pairs if (a[0], b[0]) == ("Pair", "Other"))
    assert ids(joined_with_itself(found)) == sorted((a[3], b[3]) for a, b in pairs)
    assert found.metrics is None
