# ruff: noqa: E501  # a case is one line of SQL
"""Behaviours that the tests of Trino check, each as a case of our own: other rows, other names.

What ``row_cases.py`` has is not here again; ``trino_aggregate_cases.py`` has what is about aggregates and measures.
"""

from __future__ import annotations

from table_cases import Columns, Given, TableCase
from table_cases import numbers as _numbers

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

CASES = [
    *QUANTIFIERS, *ANCHORS, *EXCLUSIONS, *LOOKING_BACK, *NAMES, *NAVIGATION, *BEYOND, *LISTS, *TABLES,
]  # fmt: skip
