"""Rules in Python and queries in SQL in the editor: read and never run, coloured, completed, explained, laid out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from studio_cases import QUERY, posting

from cepheus.core.errors import RuleError
from cepheus.demo import SCENARIOS
from cepheus.editor import python_text, queries
from cepheus.language.python.read_text import read_text
from cepheus.studio.examples import EXAMPLES
from cepheus.studio.server import Studio
from cepheus.studio.workspace import Workspace, program_of
from cepheus.typed import from_tesla, to_python

HEAD = """from cepheus.typed import *
class Temp(Event):
    value: float
class Hot(Composite):
    value: float
"""
RULE = """@rule
def hot(temp: Temp) -> Hot:
    when(Temp.value > 45)
    return Hot(value=temp.value)
"""


@pytest.mark.parametrize("text", [EXAMPLES["fire"].rules, *(each.rules for each in SCENARIOS.values())])
def test_python_that_is_read_says_what_python_that_is_run_says(text: str) -> None:
    assert str(read_text(to_python(text))) == str(from_tesla(text))


def test_a_part_of_a_rule_knows_its_place_in_the_text() -> None:
    text = HEAD + RULE
    rule = read_text(text).model.rules[0]
    (constraint,) = rule.pattern.terminator.constraints
    assert constraint.span is not None
    assert constraint.span.text == "Temp.value > 45"
    assert rule.span is not None
    assert rule.span.text == "hot"


@pytest.mark.parametrize(
    "written",
    [
        "import os",
        "from os import system",
        "from cepheus.typed import udf",
        "from cepheus import compile",
        "x = rule.__globals__",
        "x = Temp.__init__",
        "x = Temp.mro()",
        "x = agg.__class__",
        "x = 'a'.format(1)",
        "x = ''.join",
        "x = (1).real",
        "x = 9 ** 9",
        "x = 'a' * 9",
        "x = 9007199254740993 * 2",
        "x = [y for y in range(9)]",
        "x = lambda: 1",
        "x = f'{rule}'",
        "x = open('/etc/passwd')",
        "x = __import__('os')",
        "x = str('a')",
        "for x in [1]: pass",
        "while True: pass",
        "exec('1')",
        "class A: pass",
        "class A(Event):\n    def f(self): pass",
        "class A(Event, metaclass=rule): pass",
        "@open\ndef f(a): pass",
        "def f(a): pass",
        "with rule: pass",
        "del rule",
        "x: int",
        "(" * 80 + "1" + ")" * 80 + ".a",
        "x = 1 if True else 2",
        "@rule\ndef f(a: Temp = open('x')) -> Hot: return Hot()",
        "@rule\ndef f(a: 'open(1)') -> Hot: return Hot()",
    ],
)
def test_nothing_else_is_read_and_nothing_is_run(written: str) -> None:
    with pytest.raises(RuleError) as refused:
        read_text(f"{HEAD}{written}\n{RULE}")
    assert all(each.span is not None for each in refused.value.diagnostics)


def test_mistakes_in_python_are_told_at_their_place() -> None:
    for wrong, found in (
        ("when(Temp.vale > 45)", "has no attribute 'vale'"),
        ("when(Temp.value > 45 and Temp.value < 60)", "only events can tell"),
        ("when(0 < Temp.value < 60)", "only events can tell"),
        ("when(Temp.value > )", "this is not Python"),
        ("whn(Temp.value > 3)", "there is no 'whn' here"),
        ("last(Temp).within('5 mn', of=temp)", "mn"),
        ("no(Temp)", "this has no window"),
        ("last(Temp).witin('5 min')", "did you mean 'within'"),
        ("when(Temp.value > agg.avg(Temp.value))", "this has no window"),
        ("x = f'{temp.value}'", "write fn.concat"),
        ("Temp.value > 45", "stands by itself asks nothing"),
    ):
        with pytest.raises(RuleError, match=found) as refused:
            read_text(HEAD + RULE.replace("when(Temp.value > 45)", wrong))
        span = refused.value.diagnostics[0].span
        assert span is not None
        assert span.start >= len(HEAD)


@pytest.fixture
def ask(start_studio: Callable[..., Studio]) -> Callable[..., Any]:
    return posting(start_studio(Workspace.of([])))


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_every_example_is_right_and_finds_something(ask: Callable[..., Any], name: str) -> None:
    opened = ask("example", {"name": name})
    told = ask("analyse", {"text": opened["text"]})
    assert [each for each in told["findings"] if each["severity"] == "error"] == []
    assert any(kind == "comment" for _, _, kind in told["colours"])
    assert ask("draw", {"text": opened["text"]})["svg"].startswith("<svg")
    assert ask("run", {"text": opened["text"]})["count"] > 0


def test_python_is_edited_as_the_other_languages_are(ask: Callable[..., Any]) -> None:
    text = HEAD + RULE
    told = ask("analyse", {"text": text})
    assert (told["language"], [rule["name"] for rule in told["rules"]]) == ("python", ["hot"])
    assert text[slice(*told["colours"][0][:2])] == "from"
    behind_dot = text.index("Temp.value > 45") + len("Temp.")
    assert [each["label"] for each in ask("complete", {"text": text, "offset": behind_dot})] == ["value", "time"]
    of_the_event = text.index("temp.value)") + len("temp.")
    assert "value" in [each["label"] for each in ask("complete", {"text": text, "offset": of_the_event})]
    assert "last" in [each["label"] for each in ask("complete", {"text": text + "l", "offset": len(text) + 1})]
    assert "Temp(value: float)" in ask("hover", {"text": text, "offset": text.index("Temp.value") + 1})["text"]
    assert "when" in ask("hover", {"text": text, "offset": text.index("when(") + 1})["text"]
    refused = ask("format", {"text": text}, 422)
    assert "Python is left as it is" in refused["diagnostics"][0]["message"]
    wrong = ask("analyse", {"text": text.replace("> 45", "> ")})
    assert wrong["findings"][0]["from"] > len(HEAD)


def test_queries_are_edited_as_the_other_languages_are(ask: Callable[..., Any]) -> None:
    told = ask("analyse", {"text": QUERY})
    assert told["language"] == "sql"
    assert {QUERY[a:b] for a, b, kind in told["colours"] if kind == "keyword"} >= {"SELECT", "DEFINE", "PREV"}
    labels = [each["label"] for each in ask("complete", {"text": QUERY, "offset": 5})]
    assert {"MEASURES", "COUNT", "symbol"} <= set(labels)
    assert "the row before" in ask("hover", {"text": QUERY, "offset": QUERY.index("PREV") + 1})["text"]
    assert ask("hover", {"text": QUERY, "offset": QUERY.index("symbol")}) is None
    laid_out = ask("format", {"text": QUERY.lower().replace("price.", "Price.")})["text"]
    assert "\n  PARTITION BY symbol\n  ORDER BY time\n" in laid_out
    assert program_of(laid_out).rules.row_rules == program_of(QUERY.lower().replace("price.", "Price.")).rules.row_rules


def test_a_query_with_comments_and_strings_is_laid_out_and_says_the_same() -> None:
    text = QUERY.replace("MEASURES", "-- ' what is told\nMEASURES").replace(
        "AS B.price", "AS B.note <> 'ORDER (' AND B.price"
    )
    laid_out = queries.formatted(text)
    assert program_of(laid_out).rules.row_rules == program_of(text).rules.row_rules
    assert "-- ' what is told\n" in laid_out
    assert "'ORDER ('" in laid_out
    assert queries.formatted(laid_out) == laid_out


def test_unfinished_texts_are_coloured_and_completed() -> None:
    for text in ("class T(", "from cepheus.typed import (", 'x = """', "@rule\ndef f(", "SELECT 'a", 'x "', "/* a"):
        for end in range(len(text) + 1):
            for module in (python_text, queries):
                pieces = module.colours(text[:end])
                assert all(0 <= piece.start < piece.end <= end for piece in pieces)
                module.completions(text[:end], end)
                module.meaning(text[:end], end)


def test_networks_are_not_spliced_into_python(ask: Callable[..., Any]) -> None:
    edit = {"text": HEAD + RULE, "rule": "hot", "node": "Grill", "states": ["YES", "NO"], "rows": [[0.5, 0.5]]}
    assert "not edited in Python" in ask("belief/edit", edit, 422)["diagnostics"][0]["message"]
