"""Row patterns on Spark give what they give in one process."""

from __future__ import annotations

import sys
from functools import reduce
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING
from zlib import crc32

import pyarrow as pa
import pytest

sys.path.append(str(Path(__file__).parents[2] / "engine" / "rows"))

from random_rows import row_case

import cepheus
from cepheus import CepheusError
from cepheus.language.sql import parse_query
from cepheus.rules.rows.model import RowsPerMatch
from cepheus.runtime.spark import row_patterns
from cepheus.runtime.spark.row_order import BUCKET, pieces_of_buckets, whole_buckets
from cepheus.runtime.spark.row_patterns import _work

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
def test_buckets_stay_whole_and_large_ones_end_once(size: int) -> None:
    numbers = [1, 1, 1, 2, 3, 3, 3, 3, 9, 9]
    for portion in (1, 2, 3, 7):
        tables = [
            pa.table({BUCKET: numbers[at : at + portion], "n": list(range(at, min(at + portion, len(numbers))))})
            for at in range(0, len(numbers), portion)
        ]
        found: list[list[int]] = [[]]
        ended = True
        for piece, begins, ends in pieces_of_buckets(tables, size):
            assert begins == ended
            found[-1] += piece.column("n").to_pylist()
            if ends:
                found.append([])
            ended = ends
        assert ended
        assert [n for each in found for n in each] == list(range(len(numbers)))
        for one, other in pairwise(each for each in found if each):
            assert numbers[one[-1]] != numbers[other[0]]
        assert [table.column("n").to_pylist() for table in whole_buckets(tables, size)] == [
            each for each in found if each
        ]


def test_one_bucket_where_there_are_no_partitions() -> None:
    tables = [pa.table({"n": [1, 2]}), pa.table({"n": [3]})]
    given = [(piece.num_rows, begins, ends) for piece, begins, ends in pieces_of_buckets(tables, 1)]
    assert given == [(2, True, False), (1, False, False), (0, False, True)]


def _task(seed: int) -> str | None:
    """What is wrong with what a task gives for generated rows in buckets, in batches and portions of any size."""
    case, random = row_case(seed), Random(seed)
    query = parse_query(case.query)
    if query.partition:
        buckets = [crc32(repr([row[name] for name in query.partition]).encode()) % 3 for row in case.rows]
    else:
        buckets = [0] * len(case.rows)
    places = sorted(range(len(buckets)), key=lambda place: buckets[place])  # in each bucket by time, keys mixed
    rows = case.table.take(pa.array(places, pa.int64()))
    needed = list(query.read()) or ["n"]
    if query.rows is RowsPerMatch.ONE_ROW or query.select is not None:
        rows = rows.select(needed)
    if query.partition:
        rows = rows.append_column(BUCKET, pa.array([buckets[place] for place in places], pa.int16()))
    batches = rows.combine_chunks().to_batches(max_chunksize=random.choice([1, 2, 3, 50]))
    engine = random.choice(["rows", "rows", "reference"])
    try:
        found = [
            row for batch in _work(batches, query, engine, random.choice([1, 2, 5, 9, 50])) for row in batch.to_pylist()
        ]
        wanted = cepheus.match_recognize(query, case.table, engine="reference").to_pylist()
    except CepheusError:
        return None
    return None if sorted(map(repr, found)) == sorted(map(repr, wanted)) else f"seed {seed}: {case.query}"


def test_tasks_give_what_one_process_gives() -> None:
    assert [wrong for seed in range(150) if (wrong := _task(seed)) is not None] == []


_ORDERS = ["t", "t DESC", "t NULLS FIRST", "t DESC NULLS FIRST", "n", "n DESC", "s DESC, n", "w, n", "t, s"]


def test_rows_of_any_order_and_of_extreme_times(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that do not fit into the one that is sorted by, NULLs and equal ones; buckets that are cut."""
    from pyspark.sql import functions as f

    from cepheus.spark import match_recognize

    numbers = [0, 2**63 - 1, -(2**63), 2**52, 2**52 - 1, 2**52 + 1, -(2**52), -(2**52) - 1, None, 5]
    micros = [0, 1, 253_402_300_799_999_999, -62_135_596_800_000_000, None, 5_000_000_000_000_000]
    rows = pa.table(
        {
            "k": [["x", "y", "z", None][place % 4] for place in range(240)],
            "n": [numbers[place * 7 % 10] for place in range(240)],
            "t": pa.array([micros[place * 5 % 6] for place in range(240)], pa.timestamp("us", tz="UTC")),
            "s": [f"s{place * 13 % 11}" for place in range(240)],
            "w": [float(place * 3 % 17) for place in range(240)],
        }
    )
    frame = spark.createDataFrame(rows)
    query = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY {} MEASURES {} AS m, count(*) AS c PATTERN (A+))"
    monkeypatch.setattr(row_patterns, "_ROWS_AT_A_TIME", 7)
    given, wanted = [], []
    for place, order in enumerate(_ORDERS):
        shown = (
            "array_agg(" + " || '|' || ".join(f"COALESCE(CAST({name} AS varchar), '?')" for name in _told(order)) + ")"
        )
        text = query.format(order, shown)
        given.append(match_recognize(text, frame).select(f.lit(place), "*"))
        wanted += [(place, *row.values()) for row in cepheus.match_recognize(text, rows).to_pylist()]
    found = reduce(lambda one, other: one.union(other), given).collect()
    assert sorted(map(repr, map(tuple, found))) == sorted(map(repr, wanted))


def _told(order: str) -> list[str]:
    """The columns of an order as numbers or texts; a time cannot be a text."""
    names = [part.split()[0] for part in order.split(",")]
    return ["(t - TIMESTAMP '1970-01-01')" if name == "t" else name for name in names]
