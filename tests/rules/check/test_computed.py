"""Parameters that stand for computed values: what is written out for them, and what is told of those that cannot be."""

from __future__ import annotations

import pytest

import cepheus
from cepheus.core.errors import Diagnostic, RuleError
from cepheus.language.tesla import format_rules, parse


def written(pattern: str) -> str:
    """A rule with this pattern as the engines get it, from its first part on."""
    text = format_rules(cepheus.compile(f"define X(v: double) from {pattern} where v=1").checked.rules)
    return " ".join(text.split()).partition(" from ")[2].removesuffix(" where v=1")


def findings(rule: str) -> list[Diagnostic]:
    with pytest.raises(RuleError) as caught:
        cepheus.compile(rule)
    return list(caught.value.diagnostics)


def test_it_is_written_out_wherever_it_stands() -> None:
    assert written("A() and $t = A.x * 2 and $t > 3") == "A() and A.x*2 > 3"
    assert (
        written("A() and $t = A.x * 2 and not B(y < $t) within 1 s from A")
        == "A() and not B(y<A.x*2) within 1 s from A"
    )
    assert written("A() and 1 < $t = A.x < 5") == "A() and 1 < A.x < 5"
    assert written("A() and $t = A.x and $u = $t + 1 and $u > $t") == "A() and A.x+1 > A.x"


def test_aggregates_in_it_are_computed_once() -> None:
    found = written("A() and $r = Count(B() within 1 s from A) / 2 and $r > 1 and $r < 5")
    assert found == "A() and $r_1 = Count(B() within 1 s from A) and $r_1/2 > 1 and $r_1/2 < 5"
    found = written("A(y=$r_1) and $r = Count(B(y=$r_1) within 1 s from A) / 2 and $r > 1")
    assert found == "A(y=$r_1) and $r_2 = Count(B(y=$r_1) within 1 s from A) and $r_2/2 > 1"


def test_what_is_bound_before_is_compared() -> None:
    assert written("A(x=$t) and $t = A.y * 2") == "A(x=$t) and $t = A.y*2"
    later = "A() and $t = B.y and last B(x=$t) within 1 s from A"
    assert "later-event" in {finding.code for finding in findings(f"define X() from {later}")}


def test_text_keeps_what_was_written() -> None:
    text = "define X(v: double)\nfrom   A() and $t = A.x*2 and $t > 3\nwhere  v=$t\n"
    assert parse(format_rules(parse(text))) == parse(text)
    assert "$t = A.x*2" in format_rules(parse(text))


@pytest.mark.parametrize(
    ("pattern", "marked"),
    [
        ("A() and $t = $t + 1 and $t > 3", "$t"),
        ("A() and $t = $u and $u = $t and $t > 3", "$t"),
        ("A() and $t = B.x and last B() within 1 s from A and $t > 3", "$t"),
    ],
)
def test_it_names_what_stands_before_it(pattern: str, marked: str) -> None:
    found = findings(f"define X() from {pattern}")[0]
    assert found.span is not None
    assert (found.code, found.span.text) == ("unbound-parameter", marked)
    assert found.message == f"{marked} is to stand for a value that is not known here"


def test_one_that_is_not_used_is_told() -> None:
    (warning,) = cepheus.compile("define X() from A() and $t = A.x * 2").warnings
    assert (warning.code, warning.message) == ("unused-parameter", "$t stands for a value that nothing uses")
    assert cepheus.compile("define X() from A() and 3 < $t = A.x * 2").warnings == ()
