from __future__ import annotations

import math

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from flink_cases import CASES as FLINK_CASES
from row_cases import CASES, RowCase
from table_cases import TableCase
from trino_aggregate_cases import CASES as AGGREGATE_CASES
from trino_cases import CASES as TRINO_CASES

from cepheus import RuleError, match_recognize
from cepheus.core.values import ValueType
from cepheus.engine.rows.engine import RowEngine
from cepheus.language.sql import parse_query
from cepheus.runtime.embedded.row_tables import ENGINES


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: RowCase, engine: str) -> None:
    rows = [{"id": place + 1, "value": value} for place, value in enumerate(case.values)]
    query = parse_query(f"SELECT {case.select} FROM events MATCH_RECOGNIZE ({case.clause})")
    table = match_recognize(query, _table(rows), engine=engine)
    assert [tuple(row.values()) for row in table.to_pylist()] == case.expected


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", [*TRINO_CASES, *AGGREGATE_CASES, *FLINK_CASES], ids=lambda case: case.name)
def test_behaviour_of_others(case: TableCase, engine: str) -> None:
    query = parse_query(f"SELECT {case.select} FROM events MATCH_RECOGNIZE ({case.clause})")
    found = match_recognize(query, pa.table(dict(case.columns)), engine=engine)
    assert [tuple(row.values()) for row in found.to_pylist()] == case.expected


def _table(rows: list[dict[str, int]]) -> pa.Table:
    return pa.Table.from_pylist(rows, pa.schema([("id", pa.int64()), ("value", pa.int64())]))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("skip", "pattern", "said"),
    [("TO FIRST A", "A B", "A is the first row of the match"), ("TO LAST C", "A B | C", "the match has no row of C")],
)
def test_skipping_that_leads_nowhere(skip: str, pattern: str, said: str, engine: str) -> None:
    clause = f"MATCH_RECOGNIZE (MEASURES LAST(value) AS v AFTER MATCH SKIP {skip} PATTERN ({pattern}))"
    with pytest.raises(RuleError, match=said):
        match_recognize(clause, [{"value": 1}, {"value": 2}], engine=engine)


def test_partitions_are_apart() -> None:
    rows = [{"key": key, "n": n} for n in range(3) for key in ("x", "y")]
    clause = "MATCH_RECOGNIZE (PARTITION BY key ORDER BY n MEASURES LAST(n) AS z, PREV(FIRST(n)) AS p PATTERN (A A))"
    assert match_recognize(clause, rows).to_pylist() == [
        {"key": "x", "z": 1, "p": None},
        {"key": "y", "z": 1, "p": None},
    ]


def test_order_and_nulls() -> None:
    rows = [{"n": n} for n in (3, None, 1, 2)]
    clause = "MATCH_RECOGNIZE (ORDER BY n{} MEASURES FIRST(n) AS a, LAST(n) AS z PATTERN (A A A A))"
    for order, ends in [("", (1, None)), (" DESC", (3, None)), (" NULLS FIRST", (None, 3))]:
        assert [tuple(row.values()) for row in match_recognize(clause.format(order), rows).to_pylist()] == [ends]


@pytest.mark.parametrize(
    ("order", "wanted"),
    [("x", "531402"), ("x DESC", "041352"), ("x NULLS FIRST", "253140"), ("x DESC NULLS FIRST", "204135")],
)
def test_what_is_not_a_number_is_the_greatest(order: str, wanted: str) -> None:
    numbers = [math.nan, 1.0, None, 0.0, 2.0, -math.inf]
    table = pa.table({"x": pa.array(numbers, pa.float64()), "id": ["0", "1", "2", "3", "4", "5"]})
    clause = f"MATCH_RECOGNIZE (ORDER BY {order} MEASURES id AS m ALL ROWS PER MATCH PATTERN (A+))"
    found = [row["m"] for row in match_recognize(clause, table).to_pylist()]
    assert "".join(found) == wanted


def test_order_of_texts_that_are_coded() -> None:
    table = pa.table({"s": pa.array(["b", "a", None, "b"]).dictionary_encode(), "id": [1, 2, 3, 4]})
    clause = "MATCH_RECOGNIZE (ORDER BY s DESC, id DESC MEASURES id AS m ALL ROWS PER MATCH PATTERN (A+))"
    assert [row["m"] for row in match_recognize(clause, table).to_pylist()] == [4, 1, 2, 3]


def test_texts_of_polars_and_pandas() -> None:
    columns = {"k": ["b", "a", "b", None], "s": ["y", "x", "z", None]}
    clause = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY s DESC MEASURES LAST(e) AS e, LAST(s) AS s PATTERN (A+))"
    polars = pl.DataFrame(columns).with_columns(pl.col("k").cast(pl.Categorical).alias("e"))
    pandas = pd.DataFrame(columns).assign(e=pd.Categorical(columns["k"]))
    wanted = [{"k": "b", "e": "b", "s": "y"}, {"k": "a", "e": "a", "s": "x"}, {"k": None, "e": None, "s": None}]
    assert match_recognize(clause, polars).to_pylist() == wanted
    assert match_recognize(clause, pandas).to_pylist() == wanted


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_not_a_number_does_not_count(engine: str) -> None:
    table = pa.table({"w": [math.nan, 2.0, math.nan, 1.0], "id": [0, 1, 2, 3]})
    clause = """MATCH_RECOGNIZE (ORDER BY id MEASURES min(w) AS a, max(w) AS b, sum(w) AS c, count(w) AS d,
        count(DISTINCT w) AS e, median(w) AS f, max_by(id, w) AS g, avg(w) AS h PATTERN (A+)
        DEFINE A AS (min(w) > 0 OR min(w) IS NULL) AND count(w) < 3 AND (sum(w) < 4) IS NOT FALSE)"""
    found = match_recognize(clause, table, engine=engine).to_pylist()
    assert [tuple(row.values()) for row in found] == [(1.0, 2.0, 3.0, 2, 2, 1.5, 1, 1.5)]


@pytest.mark.parametrize("engine", ENGINES)
def test_navigation_to_no_row_is_null_whatever_is_inside(engine: str) -> None:
    clause = """MATCH_RECOGNIZE (ORDER BY id MEASURES LAST(coalesce(B.v, -1)) AS a, FIRST(A.v IS NULL) AS b,
        FIRST(coalesce(v, -1), 1) AS c, coalesce(B.v, -1) AS d, PREV(CASE WHEN v > 2 THEN v END) AS e
        ALL ROWS PER MATCH PATTERN (A B?) DEFINE A AS LAST(B.v IS NULL) IS NULL, B AS v IS NULL)"""
    found = match_recognize(clause, pa.table({"id": [1, 2, 3], "v": [3, None, 5]}), engine=engine)
    assert [tuple(row.values())[1:-1] for row in found.to_pylist()] == [
        (None, False, None, -1, None),
        (-1, False, -1, -1, 3),
        (None, False, None, -1, None),
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_navigation_to_no_row_is_null_in_later_matches_too(engine: str) -> None:
    clause = """MATCH_RECOGNIZE (ORDER BY id MEASURES
        LAST(CASE WHEN MATCH_NUMBER() > 1 THEN v IS NULL END, 9) AS a,
        LAST(CASE WHEN MATCH_NUMBER() > 1 THEN v IS NULL END) AS b,
        FIRST(CASE WHEN MATCH_NUMBER() = 2 THEN coalesce(B.v, -1) ELSE B.v END) AS c,
        PREV(CASE WHEN v IS NOT NULL AND MATCH_NUMBER() > 1 THEN 1 END) AS d,
        NEXT(v * MATCH_NUMBER()) AS e
        PATTERN (A | B) DEFINE A AS LAST(CASE WHEN MATCH_NUMBER() > 1 THEN B.v IS NULL END) IS NULL AND v <> 3)"""
    found = match_recognize(clause, pa.table({"id": [1, 2, 3], "v": [3, 5, None]}), engine=engine)
    assert [tuple(row.values()) for row in found.to_pylist()] == [
        (None, None, 3, None, 5),
        (None, False, None, 1, None),
        (None, True, None, 1, None),
    ]


@pytest.mark.parametrize(
    ("navigation", "said"),
    [
        ("NEXT(CASE WHEN MATCH_NUMBER() > 1 THEN coalesce(v, -1) END)", "has a value even where there is no row"),
        ("PREV(CASE WHEN v > 1 THEN 1 ELSE MATCH_NUMBER() END)", "has a value even where there is no row"),
        ("PREV(CASE WHEN MATCH_NUMBER() > 2 THEN CLASSIFIER() IS NULL END)", "has a value even where there is no row"),
        ("LAST(CASE WHEN count(*) > 2 THEN v IS NULL END)", "an aggregate cannot stand inside LAST"),
        ("PREV(sum(v), 0)", "an aggregate cannot stand inside PREV"),
    ],
)
def test_navigation_that_may_have_a_value_without_a_row_is_refused(navigation: str, said: str) -> None:
    with pytest.raises(RuleError, match=said):
        parse_query(f"MATCH_RECOGNIZE (ORDER BY id MEASURES {navigation} AS x PATTERN (A))")


def test_names_in_backquotes() -> None:
    clause = """MATCH_RECOGNIZE (ORDER BY `my id` MEASURES LAST(`low point`.`my id`) AS `z z`
        PATTERN (A `low point`+) DEFINE `low point` AS `my id` > 1)"""
    assert match_recognize(clause, [{"my id": 1}, {"my id": 2}]).to_pylist() == [{"z z": 2}]


def test_within() -> None:
    rows = [{"n": n, "time": second * 1_000_000} for n, second in enumerate([0, 4, 9, 10, 30])]
    table = pa.table(
        {"n": [row["n"] for row in rows], "time": pa.array([row["time"] for row in rows], pa.timestamp("us"))}
    )
    clause = """MATCH_RECOGNIZE (ORDER BY time MEASURES FIRST(n) AS a, LAST(n) AS z
        PATTERN (A A+) WITHIN INTERVAL '10' SECOND)"""
    assert [tuple(row.values()) for row in match_recognize(clause, table).to_pylist()] == [(0, 2)]


def test_time_settles_within() -> None:
    """A watermark ends what WITHIN bounds; a row at the very end of the interval is outside."""
    clause = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY time MEASURES FIRST(n) AS a, LAST(n) AS z
        PATTERN (A B+) WITHIN INTERVAL '10' SECOND DEFINE B AS sum(n) < 100)"""
    types = {"k": ValueType.STRING, "time": ValueType.TIMESTAMP, "n": ValueType.INT}
    matching = RowEngine(parse_query(clause), types).build()

    def fed(*rows: tuple[str, int, int]) -> list[dict[str, object]]:
        columns = zip(*rows, strict=True)
        table = pa.table(dict(zip(("k", "time", "n"), map(list, columns), strict=True)))
        found: list[dict[str, object]] = matching.feed(table).table.to_pylist()
        return found

    assert fed(("x", 0, 1), ("y", 1_000_000, 2), ("x", 4_000_000, 3)) == []
    assert matching.advance(9_999_999).table.to_pylist() == []
    assert matching.advance(10_000_000).table.to_pylist() == [{"k": "x", "a": 1, "z": 3}]
    assert fed(("y", 11_000_000, 4), ("y", 12_000_000, 5)) == []
    assert matching.advance(60_000_000).table.to_pylist() == [{"k": "y", "a": 4, "z": 5}]
    assert matching.finish().table.num_rows == 0


def test_types_that_do_not_fit_are_all_told() -> None:
    clause = """SELECT a, nothing FROM events MATCH_RECOGNIZE (ORDER BY tme
        MEASURES sum(name) AS a, LAST(vaule) AS b PATTERN (A B) DEFINE A AS name > 5, B AS value + 1)"""
    with pytest.raises(RuleError) as error:
        match_recognize(clause, [{"name": "x", "value": 1, "time": 2}])
    assert [each.code for each in error.value.diagnostics] == ["column", "column", "type", "column", "type", "type"]


@pytest.mark.parametrize("condition", ["NEXT(n) > n", "NEXT(n) > n AND count(*) < 9"])
def test_time_does_not_end_what_a_row_that_has_come_may_still_belong_to(condition: str) -> None:
    """The second row is within the interval, but whether B takes it is known only with the third."""
    clause = f"""MATCH_RECOGNIZE (ORDER BY time MEASURES FIRST(n) AS a, LAST(n) AS z
        PATTERN (A B) WITHIN INTERVAL '10' SECOND DEFINE B AS {condition})"""
    matching = RowEngine(parse_query(clause), {"time": ValueType.TIMESTAMP, "n": ValueType.INT}).build()
    assert matching.feed(pa.table({"time": [0, 4_000_000], "n": [1, 2]})).table.num_rows == 0
    assert matching.advance(20_000_000).table.num_rows == 0
    assert matching.feed(pa.table({"time": [21_000_000], "n": [3]})).table.to_pylist() == [{"a": 1, "z": 2}]
