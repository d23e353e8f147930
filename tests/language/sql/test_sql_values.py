"""What expressions of SQL mean inside MATCH_RECOGNIZE, by both engines, and what is refused instead of guessed."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from cepheus import CepheusError, EventError, RuleError, match_recognize
from cepheus.core.values import Value
from cepheus.language.sql import parse_query

_TABLE = pa.table(
    {
        "id": [1, 2, 3, 4],
        "v": [5, 3, None, 9],
        "w": [0.5, 1.5, 2.5, None],
        "s": ["a", "b", None, "ca"],
        "t": pa.array([datetime(2026, 1, 31, 7, 8, second, tzinfo=UTC) for second in range(4)]),
    }
)


@pytest.mark.parametrize("engine", ["rows", "reference"])
@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        ("s LIKE '_'", [1, 2]),
        ("s NOT LIKE 'b%'", [1, 4]),
        ("NOT s LIKE 'b%'", [1, 4]),
        ("v NOT IN (5, 9)", [2]),
        ("v NOT IN (5, NULL)", []),
        ("v NOT BETWEEN 4 AND 6", [2, 4]),
        ("v IS NOT DISTINCT FROM PREV(v, 4)", [3]),
        ("(v > 4) IS NOT TRUE", [2, 3]),
        ("contains(s, 'a')", [1, 4]),
        ("t >= DATE '2026-02-01'", []),
        ("t > DATE '2026-01-31'", [1, 2, 3, 4]),
        ("t >= TIMESTAMP '2026-01-31 07:08:02'", [3, 4]),
        ("t = TIMESTAMP '2026-01-31 07:08:02.000000'", [3]),
        ("t = CAST('2026-01-31T07:08:01Z' AS timestamp(3))", [2]),
        ("v <> NULLIF(v, 3) OR v IS NULL", [3]),
        ("second(t) = 2 OR extract(minute FROM t) = 9", [3]),
        ("GREATEST(v, 4) = 4", [2]),
        ("CEILING(w) = 2 AND round(w) = 2 AND POWER(v, 2) = 9", [2]),
    ],
)
def test_conditions(condition: str, wanted: list[int], engine: str) -> None:
    clause = f"MATCH_RECOGNIZE (ORDER BY id MEASURES id AS id PATTERN (A) DEFINE A AS {condition})"
    assert match_recognize(clause, _TABLE, engine=engine).column("id").to_pylist() == wanted


@pytest.mark.parametrize("engine", ["rows", "reference"])
@pytest.mark.parametrize(
    ("measure", "wanted"),
    [
        ("array_agg(DISTINCT length(s))", "[1, 2]"),
        ("sum(U.v) FILTER (WHERE CLASSIFIER(U) = 'A')", 5),
        ("count(DISTINCT CLASSIFIER())", 3),
        ("first (v) + last(A.v)", 10),
        ("log10(FIRST(v) * 20)", 2.0),
        ("split(FINAL LAST(s), 'a', 1)", "c"),
    ],
)
def test_measures(measure: str, wanted: Value, engine: str) -> None:
    clause = f"MATCH_RECOGNIZE (ORDER BY id MEASURES {measure} AS x PATTERN (A B+ C) SUBSET U = (A, B))"
    assert match_recognize(clause, _TABLE, engine=engine).column("x").to_pylist() == [wanted]


_AGGREGATES = (
    "count(*)", "count(v)", "sum(v)", "avg(v)", "min(v)", "max(v)", "stddev(v)", "median(v)", "array_agg(v)",
    "max_by(id, v)", "min_by(id, v)", "count_if(v < 6)", "bool_or(v < 4)", "bool_and(v > 4)",
    "sum(v) FILTER (WHERE v < 6)",
)  # fmt: skip


@pytest.mark.parametrize("aggregate", _AGGREGATES)
def test_every_aggregate_is_running_or_final(aggregate: str) -> None:
    measures = f"RUNNING {aggregate} AS r, FINAL {aggregate} AS f"
    clause = f"MATCH_RECOGNIZE (ORDER BY id MEASURES {measures} ALL ROWS PER MATCH PATTERN (A+))"
    found = match_recognize(clause, pa.table({"id": [1, 2, 3], "v": [5, 3, 9]}))
    running, final = found.column("r").to_pylist(), found.column("f").to_pylist()
    assert final == [running[-1]] * 3
    assert running != final


def test_final_is_refused_in_conditions_whatever_it_stands_before() -> None:
    for aggregate in ("sum(v)", "max_by(id, v)", "bool_or(v > 3)", "LAST(v)"):
        with pytest.raises(RuleError, match="FINAL cannot stand in DEFINE"):
            parse_query(f"MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS FINAL {aggregate} IS NULL)")


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        ("v BETWEEN SYMMETRIC 5 AND 3", "'symmetric' of BETWEEN"),
        ("s LIKE 'b!%' ESCAPE '!'", "ESCAPE is not part"),
        ("ceil(w, 1)", "ceil takes 1 argument"),
        ("count(DISTINCT *)", "count takes one value"),
        ("count(v, w)", "count takes one value"),
        ("sum(A.v) FILTER (WHERE CLASSIFIER(U) = 'A')", "of one variable"),
        ("max(s || CLASSIFIER(U))", "of one variable"),
        ("CAST(s AS varchar(1))", "there is no type"),
        ("CAST(t AS varchar)", "a time cannot be cast to a text"),
        ("CAST(v AS DATE)", "only a text can be made a DATE"),
        ("1e400", "beyond all doubles"),
        ("FINAL abs(v)", "FINAL cannot stand before abs"),
        ("RUNNING CLASSIFIER()", "RUNNING cannot stand before CLASSIFIER"),
        ("LAST(PREV(v))", "PREV cannot stand here inside another"),
        ("LAST(LAST(v))", "LAST cannot stand here inside another"),
        ("PREV(PREV(v), 0)", "PREV cannot stand here inside another"),
        ("CAST('2026-01-31T07:08:01.25Z' AS timestamp(1))", "there is no type"),
        ("abs(v) FILTER (WHERE v > 1)", "FILTER stands behind an aggregate"),
        ("FINAL v", "'v' cannot stand behind 'FINAL'"),
        ("array_agg(v ORDER BY v)", "ORDER is not part"),
        ("LAST(v) IGNORE NULLS", "IGNORENULLS is not part"),
        ("(SELECT 1)", "SUBQUERY is not part"),
        ("sum(v) OVER (ORDER BY id)", "WINDOW is not part"),
    ],
)
def test_what_has_no_meaning_here_is_refused(measure: str, said: str) -> None:
    clause = f"MATCH_RECOGNIZE (ORDER BY id MEASURES {measure} AS x PATTERN (A B+) SUBSET U = (A, B))"
    with pytest.raises(CepheusError) as error:
        match_recognize(clause, _TABLE)
    assert said in str(error.value)


def test_names_that_stand_twice_and_queries_without_columns() -> None:
    with pytest.raises(RuleError, match="'U' is the name of a variable already"):
        match_recognize("MATCH_RECOGNIZE (MEASURES v AS x PATTERN (A B) SUBSET U = (A), U = (B))", _TABLE)
    with pytest.raises(RuleError, match="gives no column"):
        match_recognize("MATCH_RECOGNIZE (ORDER BY id PATTERN (A B))", _TABLE)


def test_columns_of_other_types_matter_only_where_they_are_read() -> None:
    table = pa.table({"id": [1], "l": [[1, 2]], "u": pa.array([2**64 - 1], pa.uint64())})
    one = "MATCH_RECOGNIZE (ORDER BY id MEASURES {} AS x {} PATTERN (A))"
    assert match_recognize(one.format("id", ""), table).to_pylist() == [{"x": 1}]
    with pytest.raises(EventError, match="'l' is of type list"):
        match_recognize(one.format("l", ""), table)
    with pytest.raises(EventError, match="'l' is of type list"):
        match_recognize(one.format("id", "ALL ROWS PER MATCH"), table)
    with pytest.raises(EventError, match="'u' has integers beyond 64 bits"):
        match_recognize(one.format("u", ""), table)


@pytest.mark.parametrize("engine", ["rows", "reference"])
def test_partitions_of_what_is_not_a_number(engine: str) -> None:
    table = pa.table({"k": [0.0, float("nan"), -0.0, float("nan"), None]})
    found = match_recognize(
        "MATCH_RECOGNIZE (PARTITION BY k MEASURES count(*) AS n PATTERN (A+))", table, engine=engine
    )
    assert found.column("n").to_pylist() == [2, 2, 1]
