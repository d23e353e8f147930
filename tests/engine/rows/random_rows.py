# ruff: noqa: E501  # choices and clauses are lists of short texts
"""Queries over rows and rows for them, drawn by a random generator: every construct of the language."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pyarrow as pa

_VARIABLES = ("A", "B", "C", "D")
_NEAR = (
    "true", "v > 2", "v < PREV(v)", "v >= PREV(v)", "v = 1 OR v = 3", "PREV(v, 2) < v", "{x}.v <> 0", "w IS NULL", "w < v",
    "v + w > 4", "NOT v > 2", "PREV({x}.v) IS NULL OR v <> PREV(v)", "NEXT(v) > v", "v * 2 / w >= 1", "CLASSIFIER() = 'B'",
    "s LIKE 'a%'", "CASE WHEN v > 2 THEN w > 1 ELSE s = 'b' END", "v IN (0, 2, 4)", "v BETWEEN 1 AND 3", "upper(s) = 'AB'", "s NOT LIKE 'a%'", "NEXT(v, 2) < v",
    "v IS DISTINCT FROM PREV(v)", "v NOT IN (1, 3)", "abs(v - 2) < 2", "NEXT(v - w) > PREV(v)", "coalesce(w, 9) > v", "NULLIF(v, 2) > 1",
)  # fmt: skip
_COMPARED = (
    "v - PREV(v) > 0", "n - PREV(n, 2) <= 3", "w > 1 AND v <= PREV(v)", "t - PREV(t) < INTERVAL '2' SECOND", "w - 0.5 <> PREV(w)", "v = PREV(v, 2)",
    "PREV(w) >= w", "v - 9223372036854775807 < -9223372036854775806", "-9223372036854775807 - n < 0", "v - n = n - v", "w <> 1", "w < 9007199254740993",
)  # fmt: skip
_FAR = (
    "v > {y}.v", "v <> FIRST({y}.v)", "count(*) < 4", "sum(v) <= 7", "count({x}.*) <= 2", "v > avg({y}.v)", "LAST(v, 1) < v",
    "PREV(CLASSIFIER()) = '{y}'", "MATCH_NUMBER() < 3", "FIRST(v) <= v", "max({y}.v) < v + 2", "PREV(LAST({y}.v), 1) < 3",
    "sum(v) FILTER (WHERE w > 1) < 5", "min(w) > 0", "LAST({y}.v) IS NULL", "count(DISTINCT v) < 3", "{y}.v + FIRST({x}.w) > v",
    "CLASSIFIER({y}) <> '{x}'", "FIRST(CLASSIFIER(), 1) = '{y}'", "NEXT(FIRST({y}.v), 1) <> v", "max_by(v, w) >= v", "avg({x}.w) + count({y}.*) < 4", "count(*) FILTER (WHERE CLASSIFIER() = '{x}') < 3",
    "sum({y}.w) IS NULL OR sum({y}.w) < 4", "LAST({y}.s, 1) = s", "min({y}.s) <= s", "count({y}.v) % 2 = 0", "t - FIRST({y}.t) < INTERVAL '6' SECOND", "median(v) < 3",
)  # fmt: skip
_MEASURES = (
    "LAST(v)", "FIRST({x}.v)", "LAST({x}.v, 1)", "FIRST(v, 1)", "PREV(FIRST({x}.v))", "NEXT({x}.v, 2)", "CLASSIFIER()",
    "PREV(CLASSIFIER())", "NEXT(CLASSIFIER())", "FIRST(CLASSIFIER({x}))", "MATCH_NUMBER()", "count(*)", "count({x}.*)", "sum({x}.v)",
    "FINAL sum(w)", "avg(v)", "FINAL LAST(v)", "FINAL count({x}.*)", "RUNNING max({x}.w)", "min(s)", "max_by(s, v)", "LAST(v) + LAST({x}.v)",
    "{x}.v / {x}.w", "FINAL FIRST({x}.w)", "v", "count(DISTINCT s)", "count(*) FILTER (WHERE v > 1)", "min(CLASSIFIER())", "LAST({x}.w + {x}.v, 1)",
    "CASE WHEN count(*) > 2 THEN s ELSE 'few' END", "array_agg(v)", "median(v)",
    "array_agg(DISTINCT s)", "PREV(FINAL LAST(v), 2)", "NEXT(RUNNING LAST({x}.w))", "PREV(LAST({x}.v, 1), 1)", "FINAL FIRST({x}.s, 1)", "LAST(CLASSIFIER({x}), 1)",
    "sum({x}.v) FILTER (WHERE {x}.w < 2)", "FINAL max(t) - LAST(t)", "sum(DISTINCT v)", "{x}.s || CLASSIFIER({x})", "FINAL max_by(CLASSIFIER(), w)", "stddev({x}.w)",
)  # fmt: skip


_MARKED = (
    "LAST(v)", "FIRST(v)", "FIRST({x}.v)", "LAST({x}.w)", "{x}.n", "PREV(FIRST({x}.v))", "NEXT({x}.v, 2)", "MATCH_NUMBER()", "count(*)", "count({x}.*)",
    "LAST({x}.v) - FIRST({x}.v)", "LAST(s)", "FIRST({x}.s)", "v", "FINAL LAST(n)", "CASE WHEN count(*) > 2 THEN {x}.n ELSE MATCH_NUMBER() END",
)  # fmt: skip


@dataclass(frozen=True)
class RowCase:
    """A clause, what a query asks of what it gives (SELECT and WHERE, seldom), and rows."""

    text: str
    rows: list[dict[str, object]]
    columns: str = "*"
    where: str = ""

    @property
    def query(self) -> str:
        """The clause in its query."""
        return f"SELECT {self.columns} FROM rows {self.text} {self.where}"

    @property
    def table(self) -> pa.Table:
        kinds = [
            ("n", pa.int64()),
            ("k", pa.string()),
            ("t", pa.timestamp("us")),
            ("v", pa.int64()),
            ("w", pa.float64()),
        ]
        return pa.Table.from_pylist(self.rows, pa.schema([*kinds, ("s", pa.string())]))


def row_case(seed: int, *, far: float = 0.4, marked: bool = False) -> RowCase:
    """A query and rows; ``far`` is how likely it is that a condition looks at other rows of the match.

    ``marked``: measures read first and last rows and count rows only, there is one row for each match, and in half of
    the cases numbers are compared that are never NULL.
    """
    random = Random(seed)
    names = _VARIABLES[: random.randint(1, 4)]
    pattern = _pattern(random, names, random.randint(0, 3))
    used = [name for name in names if name in pattern.replace("PERMUTE", "")]
    if not used:
        pattern, used = f"{pattern} | A", ["A"]
    rows = random.choice(
        ["ONE ROW PER MATCH"] * 3
        + ["ALL ROWS PER MATCH", "ALL ROWS PER MATCH OMIT EMPTY MATCHES", "ALL ROWS PER MATCH WITH UNMATCHED ROWS"]
    )
    if "WITH UNMATCHED" in rows:
        pattern = pattern.replace("{-", "(").replace("-}", ")")
    skip = random.choice(
        ["PAST LAST ROW"] * 4
        + ["TO NEXT ROW"] * 3
        + [f"TO FIRST {random.choice(used)}", f"TO LAST {random.choice(used)}", f"TO {random.choice(used)}"]
    )
    known = [*used, "U"] if random.random() < 0.3 else used
    if "U" in known and skip.endswith(tuple(used)) and random.random() < 0.5:
        skip = skip[:-1] + "U"
    subset = f"SUBSET U = ({', '.join(sorted(set(random.choices(used, k=2))))})" if "U" in known else ""
    measures = [
        f"{random.choice(_MARKED if marked else _MEASURES).format(x=random.choice(known))} AS m{k}"
        for k in range(random.randint(1, 4))
    ]
    defined = [name for name in used if random.random() < 0.8]
    near = (*_NEAR, *_COMPARED) if marked else _NEAR
    conditions = [f"{name} AS {_condition(random, name, known, far, near)}" for name in defined]
    if marked:
        rows = "ONE ROW PER MATCH"
    within = "WITHIN INTERVAL '5' SECOND" if random.random() < 0.15 and not marked else ""
    partition = random.choice(["PARTITION BY k"] * 6 + ["PARTITION BY k, s"] + [""] * 3)
    define = f"DEFINE {', '.join(conditions)}" if conditions else ""
    text = (
        f"MATCH_RECOGNIZE ({partition} ORDER BY t, n MEASURES {', '.join(measures)} {rows} AFTER MATCH SKIP {skip} "
        f"PATTERN ({pattern}) {within} {subset} {define})"
    )
    rows_drawn = _without_null(_rows(random)) if marked and seed % 2 else _rows(random)
    return RowCase(text, rows_drawn, *_around(Random(-1 - seed), partition))


def _around(random: Random, partition: str) -> tuple[str, str]:
    """The columns that a query selects and its WHERE."""
    known = partition.removeprefix("PARTITION BY ").split(", ") if partition else []
    columns = ", ".join([*known, "m0", "m0 IS NULL AS missing"]) if random.random() < 0.1 else "*"
    if random.random() > 0.2:
        return columns, ""
    conditions = ["m0 IS NOT NULL", "m0 IS NULL", *(f"{name} = '{random.choice('xyab')}'" for name in known)]
    conditions += [f"{name} IS NULL OR '{random.choice('xyab')}' = {name}" for name in known]
    asked = random.sample(conditions, random.randint(1, 2))
    return columns, "WHERE " + " AND ".join(f"({each})" for each in asked)


def _without_null(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    numbers = {"v": 2, "w": 1.5}
    return [{**row, **{name: value for name, value in numbers.items() if row[name] is None}} for row in rows]


def _condition(random: Random, name: str, known: list[str], far: float, near: tuple[str, ...]) -> str:
    def one() -> str:
        source = _FAR if random.random() < far else near
        return random.choice(source).format(x=name, y=random.choice(known))

    return one() if random.random() < 0.8 else f"({one()}) {random.choice(['AND', 'OR'])} ({one()})"


def _pattern(random: Random, names: tuple[str, ...], depth: int) -> str:
    kind = random.random()
    if depth == 0 or kind < 0.2:
        return random.choice(names) if random.random() < 0.93 else random.choice(["()", "^", "$"])
    inner = [_pattern(random, names, depth - 1) for _ in range(random.randint(2, 3))]
    if kind < 0.5:
        return " ".join(f"({part})" if "|" in part else part for part in inner)
    if kind < 0.65:
        return f"({' | '.join(inner)})"
    if kind < 0.9:
        times = random.choice(
            ["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{,2}?", "{2,}", "{0,3}", "{1,}?", "{3}?"]
        )
        return f"({inner[0]}){times}"
    return f"{{- {inner[0]} -}}" if kind < 0.95 else f"PERMUTE({', '.join(inner)})"


def _rows(random: Random) -> list[dict[str, object]]:
    time = 0
    rows: list[dict[str, object]] = []
    for n in range(random.choice([0, 1, 3, 6, 8, 10, 14, 20])):
        time += random.choice([0, 1, 1, 2, 4]) * 1_000_000
        rows.append(
            {
                "n": n,
                "k": random.choice(["x", "x", "y", None]),
                "t": time,
                "v": random.choice([0, 1, 2, 3, 4, None]),
                "w": random.choice([0.0, 0.5, 1.0, 2.0, 3.0, None]),
                "s": random.choice(["a", "ab", "b", None]),
            }
        )
    return rows
