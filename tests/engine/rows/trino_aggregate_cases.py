# ruff: noqa: E501  # a case is one line of SQL
"""Behaviours of aggregates, measures and skips that the tests of Trino check, each as a case of our own."""

from __future__ import annotations

import pyarrow as pa
from table_cases import TableCase
from table_cases import numbers as _numbers

AGGREGATES = [
    TableCase(
        "labels so far",
        "ORDER BY id MEASURES array_agg(CLASSIFIER(U)) AS l, array_agg(U.v) AS x ALL ROWS PER MATCH PATTERN (X Y Z Y) SUBSET U = (X, Z)",
        _numbers(5, 6, 7, 8),
        "id, l, x",
        [(1, '["X"]', "[5]"), (2, '["X"]', "[5]"), (3, '["X", "Z"]', "[5, 7]"), (4, '["X", "Z"]', "[5, 7]")],
    ),
    TableCase(
        "the value with the greatest label",
        "ORDER BY id MEASURES max_by(v, CLASSIFIER()) AS x ALL ROWS PER MATCH PATTERN (A B D C)",
        _numbers(5, 6, 7, 8),
        "x",
        [(5,), (6,), (7,), (7,)],
    ),
    TableCase(
        "tentative labels are dropped",
        "ORDER BY id MEASURES sum(v) AS s, CLASSIFIER() AS c ALL ROWS PER MATCH PATTERN ((A | B)*) DEFINE A AS sum(v) > 4",
        _numbers(2, 2, 2, 2),
        "c, s",
        [("B", 2), ("B", 4), ("A", 6), ("A", 8)],
    ),
    TableCase(
        "an average of a variable that is tried",
        "ORDER BY id MEASURES avg(A.v) AS s, CLASSIFIER() AS c ALL ROWS PER MATCH PATTERN ((A | B)*) DEFINE A AS avg(A.v) = 3",
        _numbers(2, 4, 0, 3),
        "c, s",
        [("B", None), ("B", None), ("B", None), ("A", 3.0)],
    ),
    TableCase(
        "an average of the other variable",
        "ORDER BY id MEASURES avg(B.v) AS s, CLASSIFIER() AS c ALL ROWS PER MATCH PATTERN ((A | B)*) DEFINE A AS avg(B.v) = 3",
        _numbers(2, 4, 0),
        "c, s",
        [("B", 2.0), ("B", 3.0), ("A", 3.0)],
    ),
    TableCase(
        "arguments that depend on the match",
        "ORDER BY id MEASURES max(v) AS x, CLASSIFIER() AS c ALL ROWS PER MATCH PATTERN ((A | B)*) DEFINE A AS max(v + MATCH_NUMBER()) > 5",
        _numbers(1, 3, 5, 2),
        "c, x",
        [("B", 1), ("B", 3), ("A", 5), ("A", 5)],
    ),
    TableCase(
        "several aggregates of labels in conditions",
        """ORDER BY id MEASURES MATCH_NUMBER() AS m, array_agg(CLASSIFIER()) AS l PATTERN ((A | B){3})
        DEFINE A AS max(id - 2 * MATCH_NUMBER()) > 0 AND max(CLASSIFIER()) = 'B', B AS min(lower(CLASSIFIER())) = 'b' OR min(MATCH_NUMBER() + 9) < 0""",
        _numbers(*[0] * 6),
        "m, l",
        [(1, '["B", "B", "A"]'), (2, '["B", "A", "A"]')],
    ),
    TableCase(
        "counts",
        "ORDER BY id MEASURES count(*) AS a, count() AS b, FINAL count(*) AS c, count(C.*) AS d, count(U.*) AS e ALL ROWS PER MATCH PATTERN (A B C D) SUBSET U = (B, D)",
        _numbers(1, 1, 1, 1),
        "a, b, c, d, e",
        [(1, 1, 4, 0, 0), (2, 2, 4, 0, 1), (3, 3, 4, 1, 1), (4, 4, 4, 1, 2)],
    ),
    TableCase(
        "two sums in balance",
        "ORDER BY id MEASURES sum(A.v) AS a, sum(B.v) AS b, CLASSIFIER() AS c ALL ROWS PER MATCH PATTERN ((A | B)*) DEFINE A AS sum(A.v) - A.v <= sum(B.v)",
        _numbers(3, 5, 6, 1, 9),
        "c, a, b",
        [("B", None, 3), ("A", 5, 3), ("B", 5, 9), ("A", 6, 9), ("A", 15, 9)],
    ),
    TableCase(
        "two sets of one sum",
        "ORDER BY id MEASURES array_agg(CLASSIFIER()) AS l PATTERN (^ (A | B)* (YA | YB) $) DEFINE YA AS sum(A.id) + id = sum(B.id), YB AS sum(B.id) + id = sum(A.id)",
        _numbers(*[0] * 4),
        "l",
        [('["A", "B", "B", "YA"]',)],
    ),
    TableCase(
        "ways that fork and are tested in the end",
        "ORDER BY id MEASURES array_agg(CLASSIFIER()) AS l PATTERN ((A | B | C)* X) DEFINE X AS FIRST(CLASSIFIER()) = 'C' AND LAST(CLASSIFIER(), 1) = 'B' AND count(A.*) = 1 AND count(*) = 4",
        _numbers(*[0] * 4),
        "l",
        [('["C", "A", "B", "X"]',)],
    ),
    TableCase(
        "minutes of presence",
        """PARTITION BY who ORDER BY id MEASURES COALESCE(sum(C.id) - sum(A.id), 0) AS minutes PATTERN ((A B* C | D)*)
        DEFINE B AS id = PREV(id) + 1, C AS id = PREV(id) + 1""",
        {"who": ["x"] * 5 + ["y"] * 3, "id": [3, 4, 5, 8, 9, 2, 3, 4]},
        "who, minutes",
        [("y", 2), ("x", 3)],
    ),
    TableCase(
        "arguments with the number of the match, running and final",
        "ORDER BY id MEASURES sum(MATCH_NUMBER() * 10) AS r, FINAL sum(-MATCH_NUMBER()) AS f ALL ROWS PER MATCH PATTERN (A B)",
        _numbers(*[0] * 4),
        "r, f",
        [(10, -2), (20, -2), (20, -4), (40, -4)],
    ),
]

_RISES = "DEFINE B AS B.v < PREV(B.v), C AS C.v > PREV(C.v)"

MEASURES = [
    TableCase(
        "running and final of every variable",
        f"""ORDER BY id MEASURES CLASSIFIER() AS c, FINAL LAST(CLASSIFIER()) AS f, LAST(v) AS r, FINAL LAST(v) AS z, LAST(A.v) AS ar, FINAL LAST(A.v) AS az,
        LAST(B.v) AS br, FINAL LAST(B.v) AS bz, LAST(C.v) AS cr, FINAL LAST(C.v) AS cz ALL ROWS PER MATCH PATTERN (A B+ C+) {_RISES}""",
        _numbers(9, 8, 7, 20, 30),
        "id, c, f, r, z, ar, az, br, bz, cr, cz",
        [
            (1, "A", "C", 9, 30, 9, 9, None, 7, None, 30),
            (2, "B", "C", 8, 30, 9, 9, 8, 7, None, 30),
            (3, "B", "C", 7, 30, 9, 9, 7, 7, None, 30),
            (4, "C", "C", 20, 30, 9, 9, 7, 7, 20, 30),
            (5, "C", "C", 30, 30, 9, 9, 7, 7, 30, 30),
        ],
    ),
    *(
        TableCase(
            f"the search goes on {skip}",
            f"ORDER BY id MEASURES MATCH_NUMBER() AS m, LAST(v) AS l, CLASSIFIER() AS c ALL ROWS PER MATCH AFTER MATCH SKIP {skip} PATTERN (A B+ C+ D?) SUBSET U = (C, D) {_RISES}, D AS false",
            _numbers(90, 80, 70, 80, 70, 80),
            "id, m, l, c",
            [(1, 1, 90, "A"), (2, 1, 80, "B"), (3, 1, 70, "B"), (4, 1, 80, "C"), *more],
        )
        for skip, more in [
            ("PAST LAST ROW", []),
            *(
                (skip, [(4, 2, 80, "A"), (5, 2, 70, "B"), (6, 2, 80, "C")])
                for skip in ("TO FIRST C", "TO LAST B", "TO B", "TO U")
            ),
            (
                "TO NEXT ROW",
                [(2, 2, 80, "A"), (3, 2, 70, "B"), (4, 2, 80, "C"), (4, 3, 80, "A"), (5, 3, 70, "B"), (6, 3, 80, "C")],
            ),
        ]
    ),
    TableCase(
        "no rows in any partition",
        f"PARTITION BY k ORDER BY id MEASURES MATCH_NUMBER() AS m, PREV(LAST(v)) AS p ALL ROWS PER MATCH PATTERN (A B+ C) {_RISES}",
        {"k": pa.array([], pa.string()), "id": pa.array([], pa.int64()), "v": pa.array([], pa.int64())},
        "k, id, m, p",
        [],
    ),
    TableCase(
        "labels and values together, in partitions that come mixed",
        "PARTITION BY k ORDER BY id MEASURES array_agg(v || v || CLASSIFIER()) AS l PATTERN (X Y Z+)",
        {
            "k": ["q", "p", "p", "q", "p", "q", "p"],
            "id": [2, 1, 4, 1, 2, 3, 3],
            "v": ["h", "a", "d", "g", "b", "i", "c"],
        },
        "k, l",
        [("p", '["aaX", "bbY", "ccZ", "ddZ"]'), ("q", '["ggX", "hhY", "iiZ"]')],
    ),
    TableCase(
        "rolling sums of matches that overlap",
        "ORDER BY id MEASURES sum(v) AS s, MATCH_NUMBER() AS m ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (B+)",
        _numbers(1, 10, 100),
        "m, id, s",
        [(1, 1, 1), (1, 2, 11), (1, 3, 111), (2, 2, 10), (2, 3, 110), (3, 3, 100)],
    ),
    TableCase(
        "three sets of one sum",
        """ORDER BY id MEASURES array_agg(CLASSIFIER()) AS l PATTERN (^ (A | B | C)* (XA | XB | XC) $)
        DEFINE XA AS sum(A.id) + id = sum(B.id) AND sum(B.id) = sum(C.id), XB AS sum(B.id) + id = sum(A.id) AND sum(A.id) = sum(C.id),
        XC AS sum(C.id) + id = sum(A.id) AND sum(A.id) = sum(B.id)""",
        _numbers(*[0] * 5),
        "l",
        [],
    ),
    TableCase(
        "three sets of one sum, of six numbers",
        """ORDER BY id MEASURES array_agg(CLASSIFIER()) AS l PATTERN (^ (A | B | C)* (XA | XB | XC) $)
        DEFINE XA AS sum(A.id) + id = sum(B.id) AND sum(B.id) = sum(C.id), XB AS sum(B.id) + id = sum(A.id) AND sum(A.id) = sum(C.id),
        XC AS sum(C.id) + id = sum(A.id) AND sum(A.id) = sum(B.id)""",
        _numbers(*[0] * 6),
        "l",
        [('["A", "B", "C", "C", "B", "XA"]',)],
    ),
    TableCase(
        "two arguments that depend on the match, in a condition, too",
        """ORDER BY id MEASURES MATCH_NUMBER() AS m, max_by(MATCH_NUMBER() * 10 + id, CLASSIFIER()) AS r,
        FINAL max_by(-MATCH_NUMBER() - id, lower(CLASSIFIER())) AS f ALL ROWS PER MATCH PATTERN (A B) DEFINE A AS max_by(MATCH_NUMBER(), CLASSIFIER()) > 0""",
        _numbers(0, 0, 0, 0),
        "id, m, r, f",
        [(1, 1, 11, -3), (2, 1, 12, -3), (3, 2, 23, -6), (4, 2, 24, -6)],
    ),
    TableCase(
        "LIKE in conditions, measures and aggregates",
        """ORDER BY id MEASURES CLASSIFIER() AS c, CLASSIFIER() LIKE '%X' AS x, bool_or(CLASSIFIER() LIKE '%B') AS b ALL ROWS PER MATCH
        PATTERN ((A | B)* X) DEFINE X AS PREV(CLASSIFIER()) LIKE '%B' AND bool_or(CLASSIFIER() LIKE '%A')""",
        _numbers(0, 0, 0),
        "id, c, x, b",
        [(1, "A", False, False), (2, "B", False, True), (3, "X", True, True)],
    ),
    TableCase(
        "what has no value in a part that does not count",
        """ORDER BY id MEASURES CLASSIFIER() AS c, true OR MATCH_NUMBER() / 0 > 0 AS x, bool_and(MATCH_NUMBER() / 0 > 0 AND false) AS b ALL ROWS PER MATCH
        PATTERN ((A | B)* X) DEFINE X AS IF(false, 0 / 0, MATCH_NUMBER()) = 1 OR bool_and(MATCH_NUMBER() / 0 > 0 AND false)""",
        _numbers(0, 0, 0),
        "id, c, x, b",
        [(1, "A", True, False), (2, "A", True, False), (3, "X", True, False)],
    ),
    TableCase(
        "aggregates of every open match are its own",
        """ORDER BY id MEASURES array_agg(CLASSIFIER()) AS l PATTERN ((A | B)* X)
        DEFINE X AS min_by(CLASSIFIER(), id) = 'B' AND avg(B.id) = 1 AND sum(B.id) = 1 AND min(CLASSIFIER()) = 'A' AND count(*) = 3""",
        _numbers(0, 0, 0),
        "l",
        [('["B", "A", "X"]',)],
    ),
    *(
        TableCase(
            f"{aggregate} of truths",
            f"ORDER BY id MEASURES {aggregate}(v > 2) AS x, {aggregate}(A.v > 2) AS a, {aggregate}(v > 2) FILTER (WHERE v <> 3) AS f ALL ROWS PER MATCH PATTERN (A B*)",
            _numbers(*values),
            "x, a, f",
            expected,
        )
        for aggregate, values, expected in [
            (
                "bool_or",
                (None, 1, 3, 9),
                [(None, None, None), (False, None, False), (True, None, False), (True, None, True)],
            ),
            (
                "bool_and",
                (None, 9, 3, 1),
                [(None, None, None), (True, None, True), (True, None, True), (False, None, False)],
            ),
        ]
    ),
]

CASES = [*AGGREGATES, *MEASURES]
