"""Queries over rows in editors: names, completion, meaning, renaming, colours, finished or not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheus.core.errors import OptionError
from cepheus.editor.analysis import Language, analyse
from cepheus.editor.colours import Colour, colour_sql
from cepheus.editor.completion import complete
from cepheus.editor.lexers import RowLexer
from cepheus.editor.navigation import definitions, formatted, meaning_at, renamed
from cepheus.language.sql import parse

TEXT = (Path(__file__).parents[2] / "examples/rows/dips.sql").read_text()


def changed(text: str, found: list[tuple[object, str]]) -> str:
    """The text after some changes."""
    for span, new in sorted(found, key=lambda each: -each[0].start):  # type: ignore[attr-defined]
        text = text[: span.start] + new + text[span.end :]  # type: ignore[attr-defined]
    return text


def test_mistakes_are_shown_where_they_are() -> None:
    found = analyse(TEXT.replace("DOWN AS", "DWN AS"), "dips.sql")
    assert found.language is Language.SQL
    (finding,) = found.findings
    assert finding.span is not None
    assert (finding.span.text, finding.hint) == ("DWN", "did you mean 'DOWN'?")
    assert not analyse(TEXT, "dips.sql").findings


def test_sql_of_others_is_left_alone() -> None:
    found = analyse("SELECT a FROM t WHERE 'x", "report.sql")
    assert (found.findings, found.occurrences) == ((), [])
    assert [each.label for each in complete(found, 7)] == ["MATCH_RECOGNIZE"]
    assert formatted(analyse(TEXT, "dips.sql")) == TEXT


@pytest.mark.parametrize(
    ("at", "name", "expected"),
    [
        ("DOWN+", "fall", 3),
        ("price AS top", "worth", 7),
        ("bottom AS first", "low", 5),
        ("Dip;", "Valley", 2),
        ("symbol\n  ORDER", "ticker", 3),
    ],
)
def test_a_name_is_changed_wherever_it_means_the_same(at: str, name: str, expected: int) -> None:
    analysis = analyse(TEXT, "dips.sql")
    found = renamed(analysis, TEXT.index(at), name)
    assert len(found) == expected
    again = changed(TEXT, list(found))
    assert not analyse(again, "dips.sql").findings
    assert len(parse(again).row_rules) == 2


def test_a_name_that_is_taken_is_refused() -> None:
    analysis = analyse(TEXT, "dips.sql")
    with pytest.raises(OptionError, match="already a variable of a pattern called 'UP'"):
        renamed(analysis, TEXT.index("DOWN+"), "up")
    quoted = renamed(analysis, TEXT.index("bottom AS first"), "order")
    assert {new for _, new in quoted} == {'"order"'}


def test_definitions_and_meanings() -> None:
    analysis = analyse(TEXT, "dips.sql")
    place = analysis.at(TEXT.index("DOWN.price"))
    assert place is not None
    (defined,) = definitions(analysis, place.symbol)
    assert TEXT[defined.start :].startswith("DOWN AS price < PREV")

    def meaning(text: str) -> str:
        found = meaning_at(analysis, TEXT.index(text))
        assert found is not None
        return found.text

    assert "DEFINE DOWN AS price < PREV(price)" in meaning("DOWN+")
    assert meaning("STRT DOWN") == "`STRT`: any row\nvariable of the pattern"
    assert "so many rows before" in meaning("PREV")
    assert "rows of each value apart" in meaning("BY symbol")
    assert "event Dip(symbol, top, bottom, recovered)" in meaning("Dip MATCH")


@pytest.mark.parametrize(
    ("text", "some"),
    [
        ("", {"MATCH_RECOGNIZE", "SELECT"}),
        ("SELECT * FROM Stock MATCH_RECOGNIZE (", {"PARTITION BY", "PATTERN", "DEFINE"}),
        ("MATCH_RECOGNIZE (PATTERN (A B) ", {"DEFINE", "WITHIN"}),
        ("MATCH_RECOGNIZE (PATTERN (A B) DEFINE B AS price > ", {"price", "A", "B", "PREV", "abs", "NOT"}),
        ("MATCH_RECOGNIZE (PATTERN (A B) DEFINE B AS price > A.", {"price", "time"}),
        ("MATCH_RECOGNIZE (ORDER BY time AFTER MATCH SKIP ", {"TO NEXT ROW", "PATTERN"}),
        ("MATCH_RECOGNIZE (MEASURES CAST(A.x AS ", {"double"}),
        ("SELECT * FROM ", {"events"}),
    ],
)
def test_completion(text: str, some: set[str]) -> None:
    whole = text if "MATCH" in text or not text else f"{text}x MATCH_RECOGNIZE ("
    found = {each.label for each in complete(analyse(whole, "q.sql"), len(text))}
    assert some <= found or not text
    assert text or "MATCH_RECOGNIZE" in found


def test_words_are_coloured_as_they_are_understood() -> None:
    text = 'MATCH_RECOGNIZE (MEASURES FIRST(A.first) AS "last" PATTERN (A B*?) DEFINE B AS define > 3 -- why\n)'
    pieces = [(text[piece.start : piece.end], piece.colour) for piece in colour_sql(text)]
    assert ("FIRST", Colour.FUNCTION) in pieces
    assert ("first", Colour.NAME) in pieces
    assert ("B", Colour.VARIABLE) in pieces
    assert ("?", Colour.OPERATOR) in pieces
    assert ("-- why", Colour.COMMENT) in pieces


@given(st.text(alphabet=st.sampled_from("aZ_ $`'\"().,;:<>=-/*%#{}|\n019é"), max_size=60))
def test_no_text_is_lost_and_none_is_too_odd(text: str) -> None:
    lexer = RowLexer(stripnl=False, ensurenl=False)
    assert "".join(piece for _, piece in lexer.get_tokens(text)) == text.replace("\r\n", "\n").replace("\r", "\n")
    query = f"MATCH_RECOGNIZE ({text}"
    complete(analyse(query, "q.sql"), len(query) // 2)


@pytest.mark.parametrize("end", range(0, len(TEXT), 7))
def test_every_beginning_of_a_file_is_understood(end: int) -> None:
    analysis = analyse(TEXT[:end], "dips.sql")
    complete(analysis, end)
    meaning_at(analysis, max(0, end - 1))
