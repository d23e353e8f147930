"""No pattern runs away: what is nested costs nothing, what cannot be bounded ends at a limit that names it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from cepheus import LimitError, match_recognize
from cepheus.core.values import ValueType
from cepheus.engine.rows.engine import RowEngine
from cepheus.language.sql import parse_query

_ROWS = 100_000


def _found(pattern: str, define: str, rows: int = _ROWS) -> int:
    table = pa.table({"n": np.arange(rows), "v": np.ones(rows, np.int64)})
    clause = f"MATCH_RECOGNIZE (ORDER BY n MEASURES count(*) AS c PATTERN ({pattern}) {define})"
    count: int = match_recognize(clause, table, engine="rows").num_rows
    return count


@pytest.mark.parametrize(
    ("pattern", "define", "wanted"),
    [
        ("(A+)+ B", "DEFINE B AS v = 2", 0),
        ("(A | A)* B", "DEFINE B AS v = 2", 0),
        ("((A*)*)* B", "DEFINE B AS v = 2", 0),
        ("PERMUTE(A, B, C, D, E, F)", "", _ROWS // 6),
        ("PERMUTE(A, B, C, D, E, F) G", "DEFINE G AS v = 2", 0),
        ("PERMUTE(A, B, C, D, E, F)", "DEFINE A AS count(*) < 9, B AS v <= A.v OR A.v IS NULL", _ROWS // 6),
        ("A B{300} C", "DEFINE C AS v = 2", 0),
        ("A+", "", 1),
    ],
)
def test_patterns_that_are_traps_elsewhere(pattern: str, define: str, wanted: int) -> None:
    assert _found(pattern, define) == wanted


def test_a_search_that_looks_at_everything_from_every_row_is_given_up() -> None:
    with pytest.raises(LimitError, match=r"the pattern \(A C\* D \| A\) looks at each row more than"):
        _found("A C* D | A", "DEFINE D AS v = 2")


def test_histories_that_multiply_are_given_up() -> None:
    with pytest.raises(LimitError, match="matches open at once"):
        _found("(A | B)* C", "DEFINE A AS stddev(B.v) < 1000 OR v = 1, C AS v = 2", 300)


def test_histories_that_conditions_cannot_tell_apart_are_one() -> None:
    assert _found("(A | B)* C", "DEFINE A AS count(B.*) < 1000, C AS v = 2", 150) == 0


def test_a_search_with_conditions_on_the_match_that_runs_away_is_given_up() -> None:
    with pytest.raises(LimitError, match=r"the pattern \(\(A\+\)\+ B\) tries each row more than"):
        _found("(A+)+ B", "DEFINE A AS v <= FIRST(v), B AS v = 2")


def test_a_pattern_that_is_too_large_is_told() -> None:
    with pytest.raises(LimitError, match="steps when it is written out"):
        _found("(A{1000}){1000}", "")


def test_a_long_match_with_a_history() -> None:
    assert _found("A+", "DEFINE A AS count(*) < 500", 600) == 2


def test_equal_histories_are_one() -> None:
    assert _found("(A+)+ B", "DEFINE A AS v <= FIRST(v), B AS v = 2", 100) == 0


@pytest.mark.parametrize("condition", ["v = 2", "v = 2 AND count(*) > 1"], ids=["near", "far"])
@pytest.mark.parametrize(
    ("within", "most"), [("WITHIN INTERVAL '1' MINUTE", 10_000), ("", 40_000)], ids=["within", "open"]
)
def test_within_bounds_what_is_kept(within: str, most: int, condition: str) -> None:
    """Rows of each second, in two partitions, that never end a match: it keeps as many as WITHIN lets it."""
    clause = f"""MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES count(*) AS c PATTERN (A B* C) {within}
        DEFINE C AS {condition})"""
    types = {"k": ValueType.INT, "t": ValueType.TIMESTAMP, "v": ValueType.INT}
    matching = RowEngine(parse_query(clause), types).build()
    held = []
    for begin in range(0, 40_000, 2_000):
        numbers = np.arange(begin, begin + 2_000)
        rows = {"k": numbers % 2, "t": numbers * 1_000_000, "v": np.ones(2_000, np.int64)}
        assert matching.feed(pa.table(rows)).table.num_rows == 0
        held.append(matching.held)
    assert max(held) <= most
    assert within or held[-1] == 40_000
