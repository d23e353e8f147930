# ruff: noqa: E501  # a case is one line of SQL
"""Behaviours of MATCH_RECOGNIZE that the tests of Flink check, each as a case of our own; streams and WITHIN stand in
``test_row_cases.py`` and in the tests of streams on Spark.
"""

from __future__ import annotations

from table_cases import TableCase
from table_cases import numbers as _numbers

OFFSETS = [
    TableCase(
        "the row before of the same variable in a condition",
        """ORDER BY id MEASURES FIRST(D.id) AS a, LAST(D.id) AS b, U.id AS z, FIRST(D.v, 5) AS n PATTERN (D{2,} U)
        DEFINE D AS v < LAST(D.v, 1) OR LAST(D.v, 1) IS NULL, U AS v < FIRST(D.v)""",
        _numbers(9, 7, 3, 10, 10, 16, 10, 15),
        "a, b, z, n",
        [(1, 2, 3, None), (6, 7, 8, None)],
    ),
    TableCase(
        "rows counted from both ends in a condition",
        """ORDER BY id MEASURES FIRST(id, 1) AS a, LAST(id, 3) AS b PATTERN (D{2,} U)
        DEFINE D AS v < LAST(v, 1) OR LAST(v, 1) IS NULL, U AS v = FIRST(v) AND v > FIRST(v, 2) AND v = LAST(v, 4)""",
        _numbers(9, 8, 7, 6, 9),
        "a, b",
        [(2, 2)],
    ),
]

NULLS = [
    TableCase(
        "NULL meets no condition but IS NULL, and is given as it is",
        "ORDER BY id MEASURES A.id AS a, B.s AS b, C.v AS c PATTERN (A B C) DEFINE A AS v = 1, B AS s IS NULL, C AS v <> 2 OR s = 'c'",
        {"id": [1, 2, 3, 4, 5, 6], "v": [1, 2, None, 1, None, None], "s": ["a", None, "x", "a", None, "c"]},
        "a, b, c",
        [(4, None, None)],
    ),
    TableCase(
        "aggregates leave NULL out",
        """ORDER BY id MEASURES sum(A.v) AS s, count(A.v) AS n, count(A.*) AS r, avg(A.v) AS m, min(A.v) AS lo, max(B.v) AS hi
        PATTERN (A+ B) DEFINE A AS count(A.*) <= 3 AND sum(A.v) IS DISTINCT FROM 9""",
        {"id": [1, 2, 3, 4], "v": [None, 3, 5, None]},
        "s, n, r, m, lo, hi",
        [(8, 2, 3, 4.0, 3, None)],
    ),
    TableCase(
        "an aggregate of no rows in a condition",
        "ORDER BY id MEASURES count(*) AS n PATTERN (A B*) DEFINE A AS sum(B.v) IS NULL AND count(B.v) = 0, B AS sum(B.v) < 9",
        _numbers(7, 3, 5, 2),
        "n",
        [(3,), (1,)],
    ),
]

PLACES = [
    TableCase(
        "rows of a repeated variable by their place, also beyond the last one",
        """ORDER BY id MEASURES FIRST(A.v, 0) AS a, FIRST(A.v, 1) AS b, FIRST(A.v, 9) AS c, LAST(A.v, 0) AS d, LAST(A.v, 1) AS e, LAST(A.v, 9) AS f
        PATTERN (S A* E) DEFINE A AS v > 10, E AS v < FIRST(A.v, 1)""",
        _numbers(5, 12, 14, 13, 8),
        "a, b, c, d, e, f",
        [(12, 14, None, 13, 14, None)],
    ),
]

CASES = [*OFFSETS, *NULLS, *PLACES]
