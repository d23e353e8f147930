# ruff: noqa: E501  # a case is one line of SQL
"""Behaviours that the tests of Trino and Flink check, each as a case of our own: other rows, other names.

A case has a clause, columns by name (each a list of values), and what is given. What ``row_cases.py`` has is not here
again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from cepheus.core.values import Value

Given = Sequence[tuple[Value | None, ...]]
Columns = Mapping[str, Any]
"""A list of values, or an array, for each column."""


@dataclass(frozen=True)
class TableCase:
    name: str
    clause: str
    columns: Columns
    select: str
    expected: Given


def _numbers(*values: Value | None) -> Columns:
    return {"id": [*range(1, len(values) + 1)], "v": [*values]}


_LABELS = "ORDER BY id MEASURES MATCH_NUMBER() AS m, CLASSIFIER() AS c ALL ROWS PER MATCH"
_FALL = _numbers(8, 6, 5, 5)
_WAVE = _numbers(8, 6, 5, 7, 9, 4, 3, 6)
_NO_RISE = "DEFINE B AS v <= PREV(v)"
_BOTH = "DEFINE B AS v < PREV(v), C AS v > PREV(v)"


def _labels(name: str, pattern: str, columns: Columns, expected: Given, define: str, more: str = "") -> TableCase:
    return TableCase(name, f"{_LABELS} {more} PATTERN ({pattern}) {define}", columns, "id, m, c", expected)


_NOTHING: Given = [(1, 1, None), (2, 2, None), (3, 3, None), (4, 4, None)]
_ALL_B: Given = [(2, 1, "B"), (3, 1, "B"), (4, 1, "B")]
_EACH_B: Given = [(2, 1, "B"), (3, 2, "B"), (4, 3, "B")]

QUANTIFIERS = [
    _labels(f"quantifier {pattern}", pattern, _FALL, expected, _NO_RISE)
    for pattern, expected in [
        ("B{,}", [(1, 1, None), (2, 2, "B"), (3, 2, "B"), (4, 2, "B")]),
        ("B{,}?", _NOTHING),
        ("B{1,}", _ALL_B),
        ("B{1,}?", _EACH_B),
        ("B{2,}", _ALL_B),
        ("B{2,}?", [(2, 1, "B"), (3, 1, "B")]),
        ("B{5,}?", []),
        ("B{,1}?", _NOTHING),
        ("B{,2}", [(1, 1, None), (2, 2, "B"), (3, 2, "B"), (4, 3, "B")]),
        ("B{,5}", [(1, 1, None), (2, 2, "B"), (3, 2, "B"), (4, 2, "B")]),
        ("B{1,1}", _EACH_B),
        ("B{1,1}?", _EACH_B),
        ("B{1,5}", _ALL_B),
        ("B{1,5}?", _EACH_B),
        ("B{5,7}", []),
        ("B{1}?", _EACH_B),
        ("B{2}?", [(2, 1, "B"), (3, 1, "B")]),
        ("B{5}", []),
        ("^* | B", _NOTHING),
        ("$* | B", _NOTHING),
        ("()+ | B", _NOTHING),
    ]
]

ANCHORS = [
    _labels("start on both sides", "^ A ^", _FALL, [], ""),
    _labels("end on both sides", "$ A $", _FALL, [], ""),
]

EXCLUSIONS = [
    _labels(
        "exclusions side by side",
        "{- A -} {- B+ -} C+",
        _WAVE,
        [(4, 1, "C"), (5, 1, "C"), (8, 2, "C")],
        _BOTH,
    ),
    _labels("an exclusion with bounds", "A {- B -}{1,2} {- C -}{1,2}", _WAVE, [(1, 1, "A"), (6, 2, "A")], _BOTH),
    _labels("an exclusion that may be missing", "A {- B -}* {- C -}*", _WAVE, [(1, 1, "A"), (6, 2, "A")], _BOTH),
    _labels("excluded rises before falls", "A {- C -}{2,3} {- B -}{2,3}", _WAVE, [(3, 1, "A")], _BOTH),
    TableCase(
        "aggregates count what is excluded",
        "ORDER BY id MEASURES sum(v) AS s, array_agg(CLASSIFIER()) AS l ALL ROWS PER MATCH PATTERN (P {- Q R -} S) DEFINE P AS id > 1",
        _numbers(1, 2, 3, 4, 5),
        "id, s, l",
        [(2, 2, '["P"]'), (5, 14, '["P", "Q", "R", "S"]')],
    ),
]

LOOKING_BACK = [
    TableCase(
        "the variable that a condition names is taken",
        "ORDER BY id MEASURES CLASSIFIER() AS c ALL ROWS PER MATCH PATTERN ((A | B)* X) DEFINE X AS v = A.v",
        _numbers(7, 7),
        "id, c",
        [(1, "A"), (2, "X")],
    ),
    TableCase(
        "conditions on variables of a subset",
        """ORDER BY id MEASURES CLASSIFIER() AS c, PREV(CLASSIFIER(U), 1) = 'A' AND LAST(CLASSIFIER(), 3) = 'B' AND FIRST(CLASSIFIER(U)) = 'B' AS d
        ALL ROWS PER MATCH PATTERN ((A | B)* X $) SUBSET U = (A, B)
        DEFINE X AS PREV(CLASSIFIER(U), 1) = 'A' AND LAST(CLASSIFIER(), 3) = 'B' AND FIRST(CLASSIFIER(U)) = 'B'""",
        _numbers(1, 2, 3, 4, 5),
        "id, c, d",
        [(1, "B", None), (2, "B", False), (3, "A", False), (4, "A", True), (5, "X", True)],
    ),
    TableCase(
        "no variable is known beyond the row at hand in a condition",
        "ORDER BY id MEASURES LAST(v) AS l ALL ROWS PER MATCH PATTERN (A+) DEFINE A AS NEXT(CLASSIFIER()) = 'A'",
        _FALL,
        "id, l",
        [],
    ),
    TableCase(
        "the last of many ways",
        "ORDER BY id MEASURES CLASSIFIER() AS c ALL ROWS PER MATCH PATTERN ((A | B)+ Z) DEFINE Z AS "
        + " AND ".join(f"FIRST(CLASSIFIER(), {k}) = 'B'" for k in range(7)),
        _numbers(1, 2, 3, 4, 5, 6, 7, 8),
        "c",
        [("B",)] * 7 + [("Z",)],
    ),
    TableCase(
        "a way that equals others",
        "MEASURES CLASSIFIER() AS c PATTERN ((A+)+ B) DEFINE A AS v = 3, B AS v = 4",
        _numbers(*[3] * 10),
        "c",
        [],
    ),
]

NAMES = [
    TableCase(
        "variables in capitals unless quoted",
        'ORDER BY id MEASURES CLASSIFIER() AS c ALL ROWS PER MATCH PATTERN (a "b"+ C+) DEFINE "b" AS "b".v < PREV("b".v), C AS C.v > PREV(C.v)',
        _numbers(8, 6, 5, 7),
        "id, c",
        [(1, "A"), (2, "b"), (3, "b"), (4, "C")],
    ),
    TableCase(
        "a column named like a variable",
        "ORDER BY id MEASURES count(A.A) AS x, count(A) AS y, count(A.*) AS z ALL ROWS PER MATCH PATTERN (A B A A)",
        {"id": [1, 2, 3, 4], "A": ["p", "q", None, "s"]},
        "id, x, y, z",
        [(1, 1, 1, 1), (2, 1, 2, 1), (3, 1, 2, 2), (4, 2, 3, 3)],
    ),
    TableCase(
        "functions of labels and of values",
        "ORDER BY id MEASURES lower(LAST(CLASSIFIER())) || '!' AS c ALL ROWS PER MATCH PATTERN (A B+) DEFINE B AS B.v + 1 < abs(PREV(B.v))",
        _numbers(9, 8, 6),
        "id, c",
        [(2, "a!"), (3, "b!")],
    ),
    TableCase(
        "subsets of some and of all variables",
        """ORDER BY id MEASURES CLASSIFIER(U) AS u, CLASSIFIER(W) AS w ALL ROWS PER MATCH PATTERN ((L | H) A)
        SUBSET U = (L, H), W = (A, L, H) DEFINE A AS A.v = 5, L AS L.v < 5, H AS H.v > 5""",
        _numbers(7, 5, 3, 5),
        "id, u, w",
        [(1, "H", "H"), (2, "H", "A"), (3, "L", "L"), (4, "L", "A")],
    ),
]

_NAVIGATIONS: list[tuple[str, list[int | None]]] = [
    ("v", [10, 20, 30]),
    ("RUNNING LAST(v)", [10, 20, 30]),
    ("FINAL LAST(v)", [30, 30, 30]),
    ("RUNNING FIRST(v)", [10, 10, 10]),
    ("FINAL FIRST(v)", [10, 10, 10]),
    ("FINAL LAST(v, 2)", [10, 10, 10]),
    ("FINAL FIRST(v, 2)", [30, 30, 30]),
    ("FIRST(v, 2)", [None, None, 30]),
    ("LAST(v, 10)", [None, None, None]),
    ("PREV(v)", [None, 10, 20]),
    ("NEXT(v)", [20, 30, None]),
    ("NEXT(FIRST(v), 2)", [30, 30, 30]),
    ("NEXT(FIRST(v), 10)", [None, None, None]),
    ("PREV(FIRST(v, 10), 2)", [None, None, None]),
    ("PREV(LAST(v, 10), 2)", [None, None, None]),
]
NAVIGATION = [
    TableCase(
        f"navigation {expression}",
        f"ORDER BY id MEASURES {expression} AS x ALL ROWS PER MATCH PATTERN (A+)",
        _numbers(10, 20, 30),
        "x",
        [(value,) for value in expected],
    )
    for expression, expected in _NAVIGATIONS
]

BEYOND = [
    TableCase(
        f"beyond the match: {expression}",
        f"ORDER BY id MEASURES {expression} AS x PATTERN (A B) DEFINE B AS B.v = PREV(B.v)",
        _numbers(1, 2, 3, 3, 4),
        "x",
        [(expected,)],
    )
    for expression, expected in [
        ("PREV(B.v, 4)", None),
        ("PREV(B.v, 3)", 1),
        ("PREV(B.v, 2)", 2),
        ("NEXT(B.v, 1)", 4),
        ("NEXT(B.v, 2)", None),
    ]
]

LISTS = [
    TableCase(
        f"IN {expression}",
        f"ORDER BY id MEASURES {expression} AS x AFTER MATCH SKIP TO NEXT ROW PATTERN (A+)",
        _numbers(1, 2, 3),
        "x",
        [(value,) for value in expected],
    )
    for expression, expected in [
        ("FIRST(A.v) IN (2, LAST(A.v))", [False, True, True]),
        ("CLASSIFIER() IN ('X', lower(CLASSIFIER()))", [False, False, False]),
        ("MATCH_NUMBER() IN (0, MATCH_NUMBER())", [True, True, True]),
    ]
]

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

TABLES = [
    TableCase(
        "partitions and rows in any order",
        "PARTITION BY k ORDER BY id MEASURES MATCH_NUMBER() AS m, PREV(RUNNING LAST(v)) AS p ALL ROWS PER MATCH PATTERN (B+) DEFINE B AS B.v < PREV(B.v)",
        {"k": ["p", "p", "q", "p", "q"], "id": [3, 1, 2, 2, 1], "v": [5, 9, 1, 7, 4]},
        "k, id, m, p",
        [("p", 2, 1, 9), ("p", 3, 1, 7), ("q", 2, 1, 4)],
    ),
    TableCase(
        "no measures",
        "PARTITION BY k ORDER BY id ALL ROWS PER MATCH PATTERN (B+) DEFINE B AS B.v < PREV(B.v)",
        {"k": ["p", "p", "q"], "id": [2, 1, 1], "v": [5, 9, 1]},
        "id, k",
        [(2, "p")],
    ),
    TableCase(
        "columns of all rows: partition, order, measures, the rest",
        "PARTITION BY k ORDER BY id MEASURES CLASSIFIER() AS c ALL ROWS PER MATCH PATTERN (A)",
        {"v": [1], "id": [2], "k": ["p"]},
        "*",
        [("p", 2, "A", 1)],
    ),
    TableCase(
        "columns of one row: partition, measures",
        "PARTITION BY k ORDER BY id MEASURES CLASSIFIER() AS c PATTERN (A)",
        {"v": [1], "id": [2], "k": ["p"]},
        "*",
        [("p", "A")],
    ),
    TableCase(
        "rows matched before are not unmatched",
        """ORDER BY id MEASURES MATCH_NUMBER() AS m, CLASSIFIER() AS c ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO NEXT ROW
        PATTERN (A B{2}) DEFINE B AS B.v < PREV(B.v)""",
        _numbers(9, 9, 8, 7, 6, 9),
        "id, m, c",
        [
            (1, None, None),
            (2, 1, "A"),
            (3, 1, "B"),
            (4, 1, "B"),
            (3, 2, "A"),
            (4, 2, "B"),
            (5, 2, "B"),
            (6, None, None),
        ],
    ),
]

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

_RISES = "DEFINE B AS B.v < PREV(B.v), C AS C.v > PREV(C.v)"

MORE = [
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

CASES = [
    *MORE,
    *OFFSETS,
    *QUANTIFIERS, *ANCHORS, *EXCLUSIONS, *LOOKING_BACK, *NAMES, *NAVIGATION, *BEYOND, *LISTS, *AGGREGATES, *TABLES,
]  # fmt: skip
