"""What explain says and draws of queries over rows."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console
from typer.testing import CliRunner

from cepheus.cli import app
from cepheus.explain import draw
from cepheus.explain.rows import rivals, row_tree
from cepheus.language import sql
from cepheus.rules.check import check
from cepheus.rules.rows.model import RowRule

SVG = "{http://www.w3.org/2000/svg}"
_DIP = """SELECT * FROM Stock MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY time
  MEASURES FIRST(price) AS top, LAST(DOWN.price) AS bottom
  PATTERN ({pattern}) {within}
  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price), HIGH AS price > avg(DOWN.price)) AS Dip"""


def _said(rule: RowRule) -> str:
    console = Console(width=300, record=True, file=StringIO())
    console.print(row_tree(rule))
    return console.export_text()


def test_the_tree_tells_what_is_deterministic_kept_and_waited_for() -> None:
    said = _said(check(sql.parse(_DIP.format(pattern="STRT DOWN+ UP+ HIGH?", within=""))).rules.row_rules[0])
    assert "rows: events Stock, for each symbol, in the order of time" in said
    assert "DOWN: price < PREV(price)" in said
    assert "HIGH: price > avg(DOWN.price)   (looks back at the match)" in said
    assert "not deterministic: after UP a row may be taken by UP or HIGH" in said
    assert "of each open match what conditions of HIGH look at" in said
    assert "waits: at DOWN+" in said
    assert "bottom = LAST(DOWN.price)" in said
    bounded = check(sql.parse(_DIP.format(pattern="STRT DOWN+ UP+ HIGH", within="WITHIN INTERVAL '5' MINUTE")))
    assert "decided at the latest 5 min after its first row" in _said(bounded.rules.row_rules[0])


@pytest.mark.parametrize(
    ("clause", "said"),
    [
        ("PATTERN (A) DEFINE A AS x > 1", "waits: never, a match is decided with its row"),
        ("PATTERN (A) DEFINE A AS NEXT(x) > 1", "waits: at A, on a stream for ever"),
        ("PATTERN (A B) WITHIN INTERVAL '1' HOUR DEFINE B AS NEXT(x) > 1", "WITHIN does not bound that"),
        ("MEASURES NEXT(LAST(x)) AS m PATTERN (A B) WITHIN INTERVAL '1' HOUR", "waits: at A B, on a stream for ever"),
        ("PATTERN (A B $) WITHIN INTERVAL '1' HOUR", "waits: at $, on a stream for ever"),
        ("PATTERN (A B*)", "waits: at B*, on a stream for ever if its partition gets no further row; WITHIN bounds"),
    ],
)
def test_what_a_match_may_wait_for(clause: str, said: str) -> None:
    text = f"SELECT * FROM Stock MATCH_RECOGNIZE (ORDER BY time {clause}) AS Found"
    text = text.replace("time PATTERN", "time MEASURES count(*) AS n PATTERN")
    assert said in _said(check(sql.parse(text)).rules.row_rules[0])


@pytest.mark.parametrize(
    ("clause", "found"),
    [
        ("PATTERN (A B C) DEFINE A AS x = 1, B AS x = 2, C AS x = 3", []),
        ("PATTERN (A B+ C) DEFINE B AS x < PREV(x), C AS x >= PREV(x)", []),
        ("PATTERN (A B+ C) DEFINE B AS x < PREV(x) AND y = 1, C AS x > PREV(x)", []),
        ("PATTERN (A B+ C) DEFINE B AS x < PREV(x), C AS y > PREV(y)", [("B", ("B", "C"))]),
        ("PATTERN (A | A B)", [("the start", ("A",))]),
    ],
)
def test_rivals_are_variables_that_may_take_the_same_row(clause: str, found: list[object]) -> None:
    assert rivals(sql.parse_query(f"MATCH_RECOGNIZE ({clause})")) == found


def test_the_automaton_is_drawn_with_a_state_for_each_place_of_a_variable() -> None:
    rule = check(sql.parse(_DIP.format(pattern="STRT (DOWN | UP)+ DOWN? HIGH", within=""))).rules.row_rules[0]
    drawing = ElementTree.fromstring(draw([], [], [rule]))
    texts = [element.text for element in drawing.iter(f"{SVG}text")]
    assert texts.count("DOWN") == 2
    assert {"STRT", "UP", "HIGH", "DOWN: price < PREV(price)"} <= set(texts)
    classes = [element.get("class") for element in drawing.iter()]
    assert classes.count("accept-ring") == 1
    huge = check(sql.parse(_DIP.format(pattern="STRT DOWN{100} UP HIGH", within=""))).rules.row_rules[0]
    assert "STRT DOWN{100} UP HIGH" in draw([], [], [huge])


def test_commands_take_files_of_sql(tmp_path: Path) -> None:
    file = tmp_path / "dip.sql"
    file.write_text(_DIP.format(pattern="STRT DOWN+ UP+ HIGH", within=""))
    runner = CliRunner()
    assert "1 rule in 1 file: no errors" in runner.invoke(app, ["check", str(file)]).output
    assert "pattern: STRT DOWN+ UP+ HIGH" in runner.invoke(app, ["explain", str(file)]).output
    refused = runner.invoke(app, ["fmt", str(file)])
    assert refused.exit_code == 1
    assert "is SQL" in refused.output
    file.write_text("MATCH_RECOGNIZE (PATTERN (A B) DEFINE C AS x > 1)")
    wrong = runner.invoke(app, ["check", str(file)])
    assert wrong.exit_code == 1
    assert "there is no variable 'C' in the pattern" in wrong.output
