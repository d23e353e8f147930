from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheus.core.errors import CepheusError
from cepheus.core.source import Span
from cepheus.editor.analysis import Analysis, analyse
from cepheus.editor.completion import complete
from cepheus.editor.navigation import definitions, formatted, meaning_at, renamed, uses
from cepheus.language import etalis, tesla
from cepheus.rules.model import RuleSet
from strategies.rules import valid_rule_sets

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted([*ROOT.glob("examples/**/*.tesla"), *ROOT.glob("examples/**/*.etalis")])

RULES = """event Temp(area: string, value: double)
event Smoke(area: string)
rule Hot define Fire(area: string, temp: double)
from Smoke(area=$a) and last Temp(area=$a and value>45) as Warm within 5 min from Smoke
  and not Rain(area=$a) between Warm and Smoke and 2 < $n = Count(Temp(value>$t) within 5 min from Warm)
  and all 2.. Temp(value=$t) as Temps within 5 min from Smoke
where Fire.area=Smoke.area and temp=Avg(Temps.value) + Warm.value
consuming Warm;
network Hot { node Smoke given Fire { YES: {YES: 1, NO: 0} NO: {YES: 0, NO: 1} } }
error Temp.value ~ N(0, 1)
"""


def _analysis(text: str = RULES) -> Analysis:
    return analyse(text, "rules.tesla")


def _renamed(text: str, at: str, name: str, file: str = "rules.tesla") -> str:
    for span, new in sorted(renamed(analyse(text, file), text.index(at), name), key=lambda each: -each[0].start):
        text = text[: span.start] + new + text[span.end :]
    return text


@pytest.mark.parametrize(
    ("at", "name", "count"),
    [
        ("Warm", "Hottest", 5),
        ("Temp(", "Heat", 5),
        ("value:", "degrees", 7),
        ("$a", "$where", 3),
        ("Hot", "Burning", 2),
        ("Fire", "Blaze", 3),
    ],
)
def test_a_name_changes_wherever_it_stands(at: str, name: str, count: int) -> None:
    changed = _renamed(RULES, at, name)
    assert changed.count(name) == count
    assert tesla.read(changed)[1] == []
    assert _renamed(changed, name, at.rstrip("(:")) == RULES


def test_a_name_that_is_a_keyword_is_quoted() -> None:
    assert "as `last` within" in _renamed(RULES, "Warm", "last")


@pytest.mark.parametrize(
    ("at", "name", "said"),
    [
        ("Warm", "Temp", "already"),
        ("$a", "$t", "already"),
        ("$a", "1", "no parameter"),
        ("within", "x", "no name here"),
    ],
)
def test_a_name_that_cannot_be_is_refused(at: str, name: str, said: str) -> None:
    with pytest.raises(CepheusError, match=said):
        renamed(_analysis(), RULES.index(at), name)


def test_names_of_etalis() -> None:
    text = "far(Y, X) :- near(X, Y).\nnear(a, b).\npair(X) <- a(X, Y) SEQ b(X) WHERE near(X, Y), NOT far(X, Y).\n"
    assert _renamed(text, "near(X", "close", "r.etalis").count("close(") == 3
    assert _renamed(text, "X) <-", "Room", "r.etalis").count("Room") == 5
    assert _renamed(text, "a(X, Y) SEQ", "start", "r.etalis").count("start") == 1  # not the constant of the fact
    with pytest.raises(CepheusError, match="no name for a parameter"):
        _renamed(text, "X) <-", "room", "r.etalis")


def test_definitions_and_uses() -> None:
    analysis = _analysis()
    occurrence = analysis.at(RULES.index("Warm.value"))
    assert occurrence is not None
    assert [span.line for span in definitions(analysis, occurrence.symbol)] == [4]
    assert [found.span.line for found in uses(analysis, occurrence.symbol)] == [4, 5, 5, 7, 8]


def test_meanings() -> None:
    analysis = _analysis()
    texts = {at: meaning_at(analysis, RULES.index(at)) for at in ("Temp(", "value>", "within", "Avg", "network")}
    assert all(texts.values())
    said = {at: found.text for at, found in texts.items() if found is not None}
    assert "Temp(area: string, value: double)" in said["Temp("]
    assert "Temp.value: double" in said["value>"]
    assert "Avg(Temp().value within" in said["Avg"]


CURSOR = "|"


@pytest.mark.parametrize(
    ("text", "offered", "missing"),
    [
        ("define F(a: string) from |", {"Temp", "Smoke", "each", "every"}, {"area"}),
        ("define F(a: string) from Smoke(|", {"area", "time"}, {"value"}),
        ("define F(a: string) from Smoke(area=$b) and last Temp(area=$|", {"b"}, {"Temp"}),
        ("define F(a: |", {"string", "double"}, {"Temp"}),
        ("define F(a: string) from Smoke() and last Temp() as Hot within 5 |", {"min", "s"}, {"Temp"}),
        (
            "define F(a: string) from Smoke() and last Temp() as Hot within 5 min from |",
            {"Smoke", "Hot"},
            {"Temp", "area"},
        ),
        (
            "define F(a: string) from Smoke() and last Temp() as Hot within 5 min from Smoke where a=Hot.|",
            {"area", "value"},
            {"Temp"},
        ),
        ("define F(a: string) from Smoke() and 3 < Avg(Temp(area='x').|", {"value"}, {"Smoke"}),
        ("define F(a: string) from Smoke() and 3 < Avg(Temp(|).value within 5 min from Smoke)", {"value"}, {"min"}),
        ("|", {"define", "event"}, {"Temp"}),
        ("define F() from Smoke(); |", {"define", "rule"}, {"Smoke"}),
    ],
)
def test_completion(text: str, offered: set[str], missing: set[str]) -> None:
    whole = "event Temp(area: string, value: double)\nevent Smoke(area: string);\n" + text
    offset = whole.index(CURSOR)
    labels = {found.label for found in complete(_analysis(whole.replace(CURSOR, "")), offset)}
    assert offered <= labels
    assert not missing & labels


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_understood(path: Path) -> None:
    text = path.read_text()
    analysis = analyse(text, path.name)
    assert not [finding for finding in analysis.findings if finding.severity.value == "error"]
    for occurrence in analysis.occurrences:
        shown = occurrence.span.text.strip("`").lstrip("\\$")
        assert shown == occurrence.symbol.name
    assert formatted(analysis) == (etalis if path.suffix == ".etalis" else tesla).reformat(text, path.name)


@given(st.integers(0, len(RULES)), st.integers(0, 40))
def test_unfinished_text_is_no_reason_to_fail(at: int, left_out: int) -> None:
    text = RULES[:at] + RULES[at + left_out :]
    for language in ("rules.tesla", "rules.etalis"):
        analysis = analyse(text, language)
        complete(analysis, min(at, len(text)))
        meaning_at(analysis, min(at, len(text)))


@pytest.mark.parametrize(
    ("text", "at", "name", "after"),
    [
        ("define F() from A(-(x) > 3 and not(b))", "x)", "y", "define F() from A(-(y) > 3 and not(b))"),
        ("define F() from A() and 3 < (A.x)", "A.x", "B", "define F() from B() and 3 < (B.x)"),
        ("define F() from A() and 3 < (A.x)", "x)", "y", "define F() from A() and 3 < (A.y)"),
        (
            "define F(n: int) from A() where n=Sum(A().x since start)",
            "A()",
            "B",
            "define F(n: int) from B() where n=Sum(B().x since start)",
        ),
    ],
)
def test_nothing_but_names_is_changed(text: str, at: str, name: str, after: str) -> None:
    assert _renamed(text, at, name) == after


@pytest.mark.parametrize(("at", "problem"), [("every", "no name"), ("now", "no name"), ("time;", "under this name")])
def test_words_of_the_language_are_no_names(at: str, problem: str) -> None:
    text = "define F(t: timestamp) from every 3 min and last A() within 3 min from now where t=A.time;"
    with pytest.raises(CepheusError, match=problem):
        _renamed(text, at, "other")


@settings(max_examples=60)
@given(valid_rule_sets(), st.floats(0, 1))
def test_names_of_generated_rules_are_changed_and_changed_back(rules: RuleSet, where: float) -> None:
    text = tesla.format_rules(rules)
    names = [each for each in analyse(text, "rules.tesla").occurrences if each.symbol.name != "time"]
    chosen = names[int(where * (len(names) - 1))]
    other = "$another" if chosen.span.text.startswith("$") else "another"
    changed = text
    for span, new in sorted(renamed(analyse(text, "r.tesla"), chosen.span.start, other), key=_start, reverse=True):
        changed = changed[: span.start] + new + changed[span.end :]
    before, after = (analyse(each, "r.tesla").findings for each in (text, changed))
    assert {each.code for each in after} <= {each.code for each in before}
    assert _renamed(changed, other, chosen.span.text, "r.tesla") == text


def _start(change: tuple[Span, str]) -> int:
    return change[0].start
