"""What ``match_recognize`` takes for rows, and what it says of the rest."""

from typing import Any

import pytest

import cepheus
from cepheus.core.errors import EventError

QUERY = """MATCH_RECOGNIZE (ORDER BY day MEASURES FIRST(day) AS start, LAST(price) AS last
  PATTERN (A+) DEFINE A AS price < 9)"""


def test_columns_are_those_of_all_dicts() -> None:
    rows = [{"day": 1}, {"day": 2, "price": 5}, {"price": 4, "day": 3}]
    assert cepheus.match_recognize(QUERY, rows).to_pylist() == [{"start": 2, "last": 4}]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("p.csv", "'p.csv' is not a table"),
        ({"day": [1], "price": [2]}, "a dict of columns is not a table"),
        (5, "5 is not a table"),
        ([{"day": 1, "price": 2}, 5], "row:2: error.* 5 is not a row"),
        ([{1: 2}], "1 is not the name of a column"),
        ([{"day": 1, "price": 2}, {"day": 2, "price": "x"}], "row:2: .*'price' holds 'x', and 2 in a row before"),
        ([{"day": 1, "price": 2**70}], "row:1: .*'price' holds 1180591620717411303424, which does not fit"),
    ],
)
def test_what_is_no_rows_is_told_in_words(rows: Any, told: str) -> None:
    with pytest.raises(EventError, match=told):
        cepheus.match_recognize(QUERY, rows)
