# ruff: noqa: E501  # a case is one line of SQL
"""Cases of row patterns that every engine must meet: a clause, the values of the rows, what is given.

Rows have ``id`` counting from 1 and ``value``. Each case checks one behaviour of the standard.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepheus.core.values import Value

Given = list[tuple[Value | None, ...]]

_MARKED = "ORDER BY id MEASURES MATCH_NUMBER() AS m, CLASSIFIER() AS label"
_FALLS = "DEFINE B AS value < PREV(value)"
_VALLEY = "DEFINE B AS value < PREV(value), C AS value > PREV(value)"


@dataclass(frozen=True)
class RowCase:
    name: str
    clause: str
    values: list[int]
    expected: Given
    select: str = "id, m, label"


def _all(name: str, pattern: str, values: list[int], expected: Given, define: str = _FALLS, mode: str = "") -> RowCase:
    define = define if "B" in pattern else ""
    return RowCase(name, f"{_MARKED} ALL ROWS PER MATCH {mode} PATTERN ({pattern}) {define}", values, expected)


def _one(name: str, clause: str, values: list[int], expected: Given, select: str) -> RowCase:
    return RowCase(name, clause, values, expected, select)


_FALL = [50, 40, 30, 30]
_EMPTY: Given = [(1, 1, None), (2, 2, None), (3, 3, None), (4, 4, None)]

PATTERNS = [
    _all("concatenation", "A B C", [5, 4, 3, 8], [(2, 1, "A"), (3, 1, "B"), (4, 1, "C")], _VALLEY),
    _all(
        "first alternative first",
        "B | C | A",
        _FALL,
        [(1, 1, "A"), (2, 2, "B"), (3, 3, "B"), (4, 4, "C")],
        "DEFINE B AS value < PREV(value), C AS value <= PREV(value)",
    ),
    _all(
        "order of permutations",
        "PERMUTE(B, C)",
        _FALL,
        [(2, 1, "B"), (3, 1, "C")],
        "DEFINE B AS value < PREV(value), C AS value < PREV(value)",
    ),
    _all("a later permutation", "PERMUTE(B, C)", [5, 7, 3], [(2, 1, "C"), (3, 1, "B")], _VALLEY),
    _all("empty alternative preferred", "() | A", _FALL, _EMPTY),
    _all("greedy star", "B*", _FALL, [(1, 1, None), (2, 2, "B"), (3, 2, "B"), (4, 3, None)]),
    _all("reluctant star", "B*?", _FALL, _EMPTY),
    _all("greedy plus", "B+", _FALL, [(2, 1, "B"), (3, 1, "B")]),
    _all("reluctant plus", "B+?", _FALL, [(2, 1, "B"), (3, 2, "B")]),
    _all("greedy option", "B?", _FALL, [(1, 1, None), (2, 2, "B"), (3, 3, "B"), (4, 4, None)]),
    _all("reluctant option", "B??", _FALL, _EMPTY),
    _all("range", "B{,1}", _FALL, [(1, 1, None), (2, 2, "B"), (3, 3, "B"), (4, 4, None)]),
    _all("reluctant range", "A{2,3}?", [1, 1, 1, 1], [(1, 1, "A"), (2, 1, "A"), (3, 2, "A"), (4, 2, "A")]),
    _all("greedy range", "A{2,3}", [1, 1, 1, 1], [(1, 1, "A"), (2, 1, "A"), (3, 1, "A")]),
    _all("exactly", "B{2}", [9, 8, 7, 6, 5, 5], [(2, 1, "B"), (3, 1, "B"), (4, 2, "B"), (5, 2, "B")]),
    _all("at least", "B{3,}", _FALL, []),
    _all("start of partition", "^ A", _FALL, [(1, 1, "A")]),
    _all("nothing before the start", "A ^", _FALL, []),
    _all("end of partition", "A $", _FALL, [(4, 1, "A")]),
    _all("nothing after the end", "$ A", _FALL, []),
    _all("whole partition", "^ A+ $", _FALL, [(1, 1, "A"), (2, 1, "A"), (3, 1, "A"), (4, 1, "A")]),
    _all("groups", "((A) (B (C)))", [5, 4, 9], [(1, 1, "A"), (2, 1, "B"), (3, 1, "C")], _VALLEY),
    _all("exclusion", "A {- B+ -} C", [5, 4, 3, 8], [(1, 1, "A"), (4, 1, "C")], _VALLEY),
    _all("exclusion inside exclusion", "A {- {- B+ -} C -}", [5, 4, 3, 8], [(1, 1, "A")], _VALLEY),
    _all("everything excluded", "{- A B+ C -}", [5, 4, 3, 8], [], _VALLEY),
    _all("excluded nothing", "A {- ()* -} B", [5, 4], [(1, 1, "A"), (2, 1, "B")]),
    _all("quantified exclusion", "A {- B -}+", _FALL, [(1, 1, "A")]),
    _all("empty loop first", "()* | B", _FALL, _EMPTY),
    _all("empty loop many times", "(){5,} | B", _FALL, _EMPTY),
    _all("empty loop last", "B | ()*", _FALL, [(1, 1, None), (2, 2, "B"), (3, 3, "B"), (4, 4, None)]),
    _all("empty loop inside a loop", "(B ()*)*", _FALL, [(1, 1, None), (2, 2, "B"), (3, 2, "B"), (4, 3, None)]),
    _all("empty loop inside a reluctant loop", "(B ()*)*?", _FALL, _EMPTY),
    _all("loop of an anchor", "^+ | B", _FALL, [(1, 1, None), (2, 2, "B"), (3, 3, "B")]),
    _all("star of an anchor", "^* A B", _FALL, [(1, 1, "A"), (2, 1, "B")]),
    _all("loop of the other anchor", "$+ | B", _FALL, [(2, 1, "B"), (3, 2, "B")]),
    _all("end after a loop", "B A $+", [5, 4, 3, 3], [(3, 1, "B"), (4, 1, "A")]),
    _all("loop that may take nothing", "(() | A)* B", _FALL, [(1, 1, "A"), (2, 1, "B"), (3, 2, "B")]),
    _all("longest is not preferred", "A | A B", _FALL, [(1, 1, "A"), (2, 2, "A"), (3, 3, "A"), (4, 4, "A")]),
    _all("backtracking", "A+ B", _FALL, [(1, 1, "A"), (2, 1, "A"), (3, 1, "B")]),
    _all("no rows", "A", [], []),
]

ROWS_PER_MATCH = [
    _all(
        "empty matches shown",
        "B*",
        _FALL,
        [(1, 1, None), (2, 2, "B"), (3, 2, "B"), (4, 3, None)],
        mode="SHOW EMPTY MATCHES",
    ),
    _all("empty matches omitted", "B*", _FALL, [(2, 2, "B"), (3, 2, "B")], mode="OMIT EMPTY MATCHES"),
    _all("unmatched rows left out", "B+", _FALL, [(2, 1, "B"), (3, 1, "B")], mode="OMIT EMPTY MATCHES"),
    _all(
        "unmatched rows",
        "B+",
        _FALL,
        [(1, None, None), (2, 1, "B"), (3, 1, "B"), (4, None, None)],
        mode="WITH UNMATCHED ROWS",
    ),
    _all(
        "unmatched rows and empty matches",
        "^ | B",
        _FALL,
        [(1, 1, None), (2, 2, "B"), (3, 3, "B"), (4, None, None)],
        mode="WITH UNMATCHED ROWS",
    ),
    _one(
        "one row for each match",
        "MEASURES MATCH_NUMBER() AS m, LAST(value) AS v PATTERN (B*) " + _FALLS,
        _FALL,
        [(1, None), (2, 30), (3, None)],
        "m, v",
    ),
    _one(
        "count of an empty match",
        "ORDER BY id MEASURES count(*) AS n PATTERN (B*) " + _FALLS,
        _FALL,
        [(0,), (2,), (0,)],
        "n",
    ),
]

SKIPPING = [
    _one(
        "past the last row",
        f"ORDER BY id MEASURES FIRST(id) AS a, LAST(id) AS z AFTER MATCH SKIP PAST LAST ROW PATTERN (A B) {_FALLS}",
        [5, 4, 3, 2],
        [(1, 2), (3, 4)],
        "a, z",
    ),
    _one(
        "to the next row",
        f"ORDER BY id MEASURES FIRST(id) AS a, LAST(id) AS z AFTER MATCH SKIP TO NEXT ROW PATTERN (A B+) {_FALLS}",
        [5, 4, 3, 2],
        [(1, 4), (2, 4), (3, 4)],
        "a, z",
    ),
    _one(
        "to the first",
        f"ORDER BY id MEASURES FIRST(id) AS a, LAST(id) AS z AFTER MATCH SKIP TO FIRST B PATTERN (A B+) {_FALLS}",
        [5, 4, 3, 2],
        [(1, 4), (2, 4), (3, 4)],
        "a, z",
    ),
    _one(
        "to the last",
        f"ORDER BY id MEASURES FIRST(id) AS a, LAST(id) AS z AFTER MATCH SKIP TO LAST B PATTERN (A B+ C) {_VALLEY}",
        [5, 4, 3, 4, 2, 6],
        [(1, 4), (4, 6)],
        "a, z",
    ),
    _one(
        "to a variable is to its last",
        f"ORDER BY id MEASURES FIRST(id) AS a, LAST(id) AS z AFTER MATCH SKIP TO B PATTERN (A B+) {_FALLS}",
        [5, 4, 3, 2],
        [(1, 4)],
        "a, z",
    ),
    _one(
        "to a subset",
        f"ORDER BY id MEASURES FIRST(id) AS a, LAST(id) AS z AFTER MATCH SKIP TO FIRST U PATTERN (A B C) SUBSET U = (B, C) {_VALLEY}",
        [5, 4, 6, 5, 7],
        [(1, 3), (3, 5)],
        "a, z",
    ),
    _one(
        "overlapping matches with unmatched rows",
        f"ORDER BY id MEASURES MATCH_NUMBER() AS m, CLASSIFIER() AS label ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) {_FALLS}",
        [5, 4, 3, 3],
        [(1, 1, "A"), (2, 1, "B"), (2, 2, "A"), (3, 2, "B"), (4, None, None)],
        "id, m, label",
    ),
]

NAVIGATION = [
    _one(
        "logical and physical",
        "ORDER BY id MEASURES FIRST(A.value) AS a, FIRST(A.value, 1) AS b, LAST(A.value, 1) AS c, PREV(FIRST(A.value, 1), 1) AS d, "
        "NEXT(A.value, 1) AS e, NEXT(LAST(A.value), 5) AS f, LAST(A.value, 9) AS g PATTERN (A A A)",
        [10, 20, 30, 40],
        [(10, 20, 20, 10, 40, None, None)],
        "a, b, c, d, e, f, g",
    ),
    _one(
        "running and final",
        "ORDER BY id MEASURES LAST(value) AS r, FINAL LAST(value) AS f, RUNNING FIRST(B.value) AS b, FINAL FIRST(B.value) AS fb "
        "ALL ROWS PER MATCH PATTERN (A B B) ",
        [1, 2, 3],
        [(1, 3, None, 2), (2, 3, 2, 2), (3, 3, 2, 2)],
        "r, f, b, fb",
    ),
    _one(
        "navigation leaves the match, not the partition",
        "ORDER BY id MEASURES PREV(FIRST(value)) AS p, NEXT(LAST(value)) AS n PATTERN (B) DEFINE B AS value > 5",
        [1, 9, 2, 9],
        [(1, 2), (2, None)],
        "p, n",
    ),
    _one(
        "subset",
        "ORDER BY id MEASURES LAST(U.value) AS u, CLASSIFIER(U) AS c PATTERN (A B C) SUBSET U = (A, B)",
        [1, 2, 3],
        [(2, "B")],
        "u, c",
    ),
    _one(
        "classifier of other rows",
        "ORDER BY id MEASURES PREV(CLASSIFIER()) AS p, FIRST(CLASSIFIER()) AS f, NEXT(CLASSIFIER()) AS n ALL ROWS PER MATCH PATTERN (A B C)",
        [1, 2, 3],
        [(None, "A", "B"), ("A", "A", "C"), ("B", "A", None)],
        "p, f, n",
    ),
    _one(
        "variable that took nothing",
        "ORDER BY id MEASURES LAST(B.value) AS b, count(B.*) AS n PATTERN (A B?) DEFINE B AS value < 0",
        [1],
        [(None, 0)],
        "b, n",
    ),
    _one(
        "back reference picks the alternative",
        f"{_MARKED} ALL ROWS PER MATCH PATTERN ((A | B)* X) DEFINE X AS value = B.value",
        [1, 1],
        [(1, 1, "B"), (2, 1, "X")],
        "id, m, label",
    ),
    _one(
        "back reference with offsets",
        f"{_MARKED} ALL ROWS PER MATCH PATTERN ((A | B)* X) DEFINE X AS value = PREV(LAST(A.value), 3) + FIRST(A.value) + PREV(LAST(B.value), 2)",
        [1, 2, 3, 4, 5, 6],
        [(1, 1, "B"), (2, 1, "A"), (3, 1, "A"), (4, 1, "A"), (5, 1, "B"), (6, 1, "X")],
        "id, m, label",
    ),
    _one(
        "condition on the variables themselves",
        f"{_MARKED} ALL ROWS PER MATCH PATTERN ((A | B)* X $) DEFINE X AS PREV(CLASSIFIER()) = 'B' AND FIRST(CLASSIFIER()) = 'A'",
        [1, 2, 3],
        [(1, 1, "A"), (2, 1, "B"), (3, 1, "X")],
        "id, m, label",
    ),
    _one(
        "condition on the number of the match",
        f"{_MARKED} ALL ROWS PER MATCH PATTERN (A | B) DEFINE A AS MATCH_NUMBER() <> 2",
        [1, 2, 3],
        [(1, 1, "A"), (2, 2, "B"), (3, 3, "A")],
        "id, m, label",
    ),
    _one(
        "a condition on the first row",
        "ORDER BY id MEASURES FIRST(id) AS a, LAST(id) AS z PATTERN (A B+) DEFINE B AS value > FIRST(A.value)",
        [3, 4, 5, 2, 9],
        [(1, 3), (4, 5)],
        "a, z",
    ),
    _one(
        "rows that come next in a condition",
        "ORDER BY id MEASURES LAST(id) AS z PATTERN (A) DEFINE A AS NEXT(value) > value",
        [1, 2, 1, 5],
        [(1,), (3,)],
        "z",
    ),
]

AGGREGATES = [
    _one(
        "over all, a variable, a subset",
        "ORDER BY id MEASURES sum(value) AS s, sum(B.value) AS b, avg(U.value) AS u, count(*) AS n, count(B.*) AS nb, min(value) AS lo, max(B.value) AS hi "
        "PATTERN (A B C) SUBSET U = (A, C)",
        [1, 2, 6],
        [(9, 2, 3.5, 3, 1, 1, 2)],
        "s, b, u, n, nb, lo, hi",
    ),
    _one(
        "running and final",
        "ORDER BY id MEASURES sum(value) AS r, FINAL sum(value) AS f ALL ROWS PER MATCH PATTERN (A B C)",
        [1, 2, 4],
        [(1, 7), (3, 7), (7, 7)],
        "r, f",
    ),
    _one(
        "of nothing",
        "ORDER BY id MEASURES sum(B.value) AS s, count(B.value) AS n, max(B.value) AS x PATTERN (A B?) DEFINE B AS value > 100",
        [1],
        [(None, 0, None)],
        "s, n, x",
    ),
    _one("of an expression", "ORDER BY id MEASURES sum(2 * A.value + 1) AS s PATTERN (A A)", [1, 2], [(8,)], "s"),
    _one(
        "of the variables",
        "ORDER BY id MEASURES max(CLASSIFIER()) AS x, count(CLASSIFIER(U)) AS n PATTERN (A B C) SUBSET U = (A, B)",
        [1, 2, 3],
        [("C", 2)],
        "x, n",
    ),
    _one(
        "by another",
        "ORDER BY id MEASURES max_by(id, value) AS x, min_by(CLASSIFIER(), value) AS n PATTERN (A B C)",
        [5, 9, 1],
        [(2, "C")],
        "x, n",
    ),
    _one(
        "distinct and filtered",
        "ORDER BY id MEASURES count(DISTINCT value) AS d, count(*) FILTER (WHERE value > 1) AS f PATTERN (A+)",
        [1, 2, 2, 3],
        [(3, 3)],
        "d, f",
    ),
    _one(
        "in a condition",
        "ORDER BY id MEASURES FIRST(id) AS a, LAST(id) AS z PATTERN (A+) DEFINE A AS sum(A.value) <= 5",
        [2, 2, 2, 1, 1, 7, 5],
        [(1, 2), (3, 5), (7, 7)],
        "a, z",
    ),
    _one(
        "average in a condition",
        "ORDER BY id MEASURES LAST(id) AS z, count(*) AS n PATTERN (A+ B) DEFINE B AS value > 2 * avg(A.value)",
        [2, 3, 2, 9, 1],
        [(4, 4)],
        "z, n",
    ),
    _one(
        "an aggregate that rules alternatives out",
        f"{_MARKED} ALL ROWS PER MATCH PATTERN ((A | B)* C) DEFINE A AS count(A.*) <= 1, C AS count(B.*) = 2",
        [1, 2, 3, 4],
        [(1, 1, "A"), (2, 1, "B"), (3, 1, "B"), (4, 1, "C")],
        "id, m, label",
    ),
]

CASES = [*PATTERNS, *ROWS_PER_MATCH, *SKIPPING, *NAVIGATION, *AGGREGATES]
