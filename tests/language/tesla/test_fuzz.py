"""Garbage and damaged rules give an error or rules, never anything else."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from cepheus.core.errors import Diagnostic, RuleError
from cepheus.language.tesla import format_rules, parse, parse_event_pattern, parse_pattern, reformat
from cepheus.rules.model import RuleSet
from strategies.rules import rule_sets

_TEXT = """
    rule define from where consuming min probability event timestamp each last first not and or as within between
    true false A B Temp x value Avg Count max abs $a \\$b 1 2.5 18% 1e999 99999999999999999999 'a' "b" 5 min. s
    ( ) ( ) , ; : = == != < <= =< > => + - * / . ? -- // # /* */ ' \" \u201c \u2019 \\ $ % ! & | \x00 é
"""
_PIECES = _TEXT.split()
_soup = st.lists(st.sampled_from(_PIECES), max_size=40).map(" ".join)


def check_text(text: str) -> None:
    """Parse a text in every way; whatever comes of it must be rules or an error that points into the text."""
    findings: list[Diagnostic] = []
    for read in (parse, parse_pattern, parse_event_pattern, reformat):
        try:
            read(text)
        except RuleError as error:
            findings += error.diagnostics
    for finding in findings:
        assert finding.span is not None
        assert 0 <= finding.span.start <= finding.span.end <= len(text)
        own_words = re.sub(r"U\+[0-9A-F]+", "", finding.message.replace(finding.span.text, ""))
        assert not re.search("Token|[A-Z]{4,}", own_words)


@given(st.text())
@example("\ud800")
@example("define F() from A(x='\ud800')")
@example("$")
@example("'")
def test_any_text(text: str) -> None:
    check_text(text)


@given(_soup)
def test_words_of_the_language_in_any_order(text: str) -> None:
    check_text(text)


@given(rule_sets(), st.data())
def test_damaged_rules(rules: RuleSet, data: st.DataObject) -> None:
    text = format_rules(rules)
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 8)))
        text = text[:start] + data.draw(st.sampled_from(_PIECES) | st.text(max_size=2)) + text[end:]
    check_text(text)


@given(_soup)
def test_what_parses_round_trips(text: str) -> None:
    try:
        rules = parse(text)
    except RuleError:
        return
    assert parse(format_rules(rules)) == rules
