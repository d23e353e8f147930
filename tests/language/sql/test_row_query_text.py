"""What is wrong with the text of a query is told all at once, with its place and a hint."""

from __future__ import annotations

import pytest

from cepheus import RuleError
from cepheus.language.sql import parse_queries, parse_query
from cepheus.rules.rows.model import RowsPerMatch, SkipKind
from cepheus.rules.rows.pattern import written


def _told(text: str) -> list[tuple[str, str]]:
    with pytest.raises(RuleError) as error:
        parse_query(text)
    return [(each.code, "" if each.span is None else each.span.text) for each in error.value.diagnostics]


def test_all_mistakes_are_told_at_once() -> None:
    text = """MATCH_RECOGNIZE (
      MEASURES LAST(DWN.price) AS bottom, foo(x) AS y, sum(DOWN.x + UP.y) AS z, first(sum(x)) AS f
      AFTER MATCH SKIP TO LAST XX
      PATTERN (STRT DOWN+ UP+)
      DEFINE UP AS FINAL LAST(price) > 3, ZZ AS 3) m"""
    assert [code for code, _ in _told(text)] == [
        "variable",
        "function",
        "aggregate",
        "aggregate",
        "variable",
        "navigation",
        "variable",
    ]


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("SELECT 1", "syntax", "SELECT 1"),
        ("MATCH_RECOGNIZE (PATTERN (A)", "syntax", "("),
        ("MATCH_RECOGNIZE (ORDER BY t)", "syntax", ")"),
        ("MATCH_RECOGNIZE (PATTERN (A | ))", "syntax", "|"),
        ("MATCH_RECOGNIZE (PATTERN (A & B))", "syntax", "&"),
        ("MATCH_RECOGNIZE (PATTERN (A{4,3}))", "quantifier", "{4,3}"),
        ("MATCH_RECOGNIZE (PATTERN (A) ORDER BY t)", "syntax", "ORDER BY"),
        ("MATCH_RECOGNIZE (MEASURES LAST(x) PATTERN (A))", "syntax", "LAST(x)"),
        ("MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x >)", "syntax", ">"),
        ("MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS PREV(x, -1) > 2)", "navigation", "1"),
        ("MATCH_RECOGNIZE (PATTERN (A B) DEFINE A AS PREV(A.x + B.x) > 2)", "navigation", "PREV(A.x + B.x"),
        ("MATCH_RECOGNIZE (PATTERN (A) WITHIN INTERVAL '5' MINUTE)", "interval", "A"),
        ("MATCH_RECOGNIZE (ORDER BY t DESC PATTERN (A) WITHIN INTERVAL '5' MINUTE)", "interval", "t DESC"),
        ("MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS NEXT(coalesce(x, 1)) > 2)", "navigation", "NEXT(coalesce(x, 1"),
        ("SELECT x FROM a, b MATCH_RECOGNIZE (PATTERN (A))", "syntax", "SELECT x FROM a, b"),
        ("MATCH_RECOGNIZE (PATTERN (A) SUBSET U = (B))", "variable", "B"),
        ("MATCH_RECOGNIZE (ALL ROWS PER MATCH WITHOUT ROWS PATTERN (A))", "syntax", "WITHOUT ROWS"),
    ],
)
def test_mistakes_have_places(text: str, code: str, place: str) -> None:
    assert (code, place) in _told(text)


def test_a_close_name_is_suggested() -> None:
    with pytest.raises(RuleError, match="did you mean 'DOWN'"):
        parse_query("MATCH_RECOGNIZE (PATTERN (STRT DOWN+) DEFINE DWN AS true)")


def test_the_whole_of_a_query() -> None:
    query = parse_query(
        """-- falls
        SELECT m.k, n + 1 AS more FROM Stock MATCH_RECOGNIZE (
          PARTITION BY k, "other key" ORDER BY t, n DESC NULLS FIRST
          MEASURES count(*) AS n
          ALL ROWS PER MATCH OMIT EMPTY MATCHES
          AFTER MATCH SKIP TO FIRST b
          PATTERN (a "b c"? {- (B | ())+? -} PERMUTE(a, B) $)
          WITHIN INTERVAL '90' SECOND
          SUBSET U = (a, B)
          DEFINE b AS v < PREV(v) /* falls */) AS m WHERE n > 2;"""
    )
    assert (query.source, query.name, query.partition) == ("Stock", "m", ("k", "other key"))
    assert [(key.column, key.descending, key.nulls_first) for key in query.order] == [
        ("t", False, False),
        ("n", True, True),
    ]
    assert (query.rows, query.after.kind, query.after.target) == (RowsPerMatch.OMIT_EMPTY, SkipKind.TO_FIRST, "B")
    assert written(query.pattern) == "A b c? {- (B | ())+? -} PERMUTE(A, B) $"
    assert (query.within, query.members("U")) == (90_000_000, ("A", "B"))
    assert query.select is not None
    assert [each.name for each in query.select] == ["k", "more"]


def test_several_queries_in_one_text() -> None:
    text = "MATCH_RECOGNIZE (PATTERN (A)) AS One; MATCH_RECOGNIZE (PATTERN (B)) AS Two"
    assert [query.name for query in parse_queries(text)] == ["One", "Two"]
    with pytest.raises(RuleError, match="2 queries"):
        parse_query(text)
