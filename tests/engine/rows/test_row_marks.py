"""Which queries are found by marks in whole tables, and that they give what others give."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from cepheus import match_recognize
from cepheus.engine.rows.marked import usable_marks
from cepheus.language.sql import parse_query

VALLEY = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES {measures} {rows}
    PATTERN (STRT DOWN+ UP+) {within} DEFINE DOWN AS v < PREV(v), UP AS v > PREV(v))"""


def _marks(measures: str, rows: str = "", within: str = "") -> int | None:
    found = usable_marks(parse_query(VALLEY.format(measures=measures, rows=rows, within=within)))
    return None if found is None else len(found.all_of)


@pytest.mark.parametrize(
    ("measures", "marks"),
    [
        ("FIRST(v) AS a", 1),  # where the match begins, which is always marked
        ("FIRST(STRT.v) AS a, LAST(v) AS b, LAST(UP.v) AS c", 1),  # matches begin with STRT and end with UP
        ("LAST(DOWN.v) AS a, LAST(DOWN.t) AS b", 2),
        ("LAST(DOWN.v) - FIRST(UP.v) AS a, count(*) AS b, count(UP.*) AS c", 5),
        ("PREV(LAST(DOWN.v), 2) AS a, MATCH_NUMBER() AS b", 2),
    ],
)
def test_measures_of_first_and_last_rows_are_marked(measures: str, marks: int) -> None:
    assert _marks(measures) == marks


@pytest.mark.parametrize("measures", ["CLASSIFIER() AS a", "sum(v) AS a", "LAST(DOWN.v, 1) AS a", "count(v) AS a"])
def test_what_needs_all_rows_of_a_match_is_not_found_by_marks(measures: str) -> None:
    assert _marks(measures) is None


def test_rows_of_matches_and_bounds_of_time_are_not_found_by_marks() -> None:
    assert _marks("v AS a", rows="ALL ROWS PER MATCH") is None
    assert _marks("v AS a", within="WITHIN INTERVAL '1' HOUR") is None


@pytest.mark.parametrize(
    ("condition", "values", "wanted"),
    [
        ("v < PREV(v)", [3.0, math.nan, 2.0, 1.0], 3),
        ("v <> PREV(v)", [1.0, math.nan, math.nan, 1.0], 1),
        ("v - PREV(v) < 5", [1e308, -1e308, 1.0, 2.0], 3),
        ("v - PREV(v) < 0", [-(2**63), 2**63 - 1, 5], 2),
        ("v < 9007199254740993", [9007199254740992.0, 1.0], 1),
        ("v < 9007199254740993.0", [9007199254740992.0, 1.0], 1),
    ],
)
def test_numbers_that_are_hard_to_compare(condition: str, values: list[float], wanted: int) -> None:
    """The row of the first match: NULL never holds, an integer beside a float is a float."""
    rows = pa.table({"n": range(len(values)), "v": values})
    query = f"MATCH_RECOGNIZE (ORDER BY n MEASURES FIRST(n) AS a PATTERN (A) DEFINE A AS {condition})"
    found, expected = (match_recognize(query, rows, engine=name).to_pylist() for name in ("rows", "reference"))
    assert found == expected
    assert found[0]["a"] == wanted


def test_keys_that_a_dictionary_has_twice_are_one_partition() -> None:
    keys = pa.DictionaryArray.from_arrays(pa.array([1, 0, 2], pa.int32()), pa.array(["a", "b", "a"]))
    rows = pa.table({"k": keys, "v": [3, 2, 1]})
    query = "MATCH_RECOGNIZE (PARTITION BY k MEASURES count(*) AS c PATTERN (A+))"
    assert match_recognize(query, rows).to_pylist() == [{"k": "b", "c": 1}, {"k": "a", "c": 2}]


def test_partitions_come_in_the_order_of_their_first_rows() -> None:
    keys = pa.array(["b", None, "a", "b", None]).dictionary_encode()
    rows = pa.table({"k": keys, "v": [1, 2, 3, 4, 5]})
    query = "MATCH_RECOGNIZE (PARTITION BY k MEASURES LAST(v) AS v, MATCH_NUMBER() AS n PATTERN (A))"
    found = [(row["k"], row["v"], row["n"]) for row in match_recognize(query, rows).to_pylist()]
    assert found == [("b", 1, 1), ("b", 4, 2), (None, 2, 1), (None, 5, 2), ("a", 3, 1)]
