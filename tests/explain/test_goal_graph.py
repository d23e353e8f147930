"""The drawing of goals: every part once, whatever rules share it."""

from collections import Counter
from xml.etree import ElementTree

from cepheus.core.time import TimeUnit
from cepheus.explain import draw
from cepheus.language.etalis import parse
from cepheus.rules.check import check

SVG = "{http://www.w3.org/2000/svg}"


def texts(rules: str) -> Counter[str]:
    found = check(parse(rules, unit=TimeUnit.S)).rules.interval_rules
    root = ElementTree.fromstring(draw([], found))
    return Counter(element.text or "" for element in root.iter(f"{SVG}text"))


def test_rules_that_have_a_part_in_common_are_drawn_with_it_once() -> None:
    words = texts("LABEL one: p(X) <- a(X) SEQ b(X) SEQ c(X). LABEL two: q(Y) <- a(Y) SEQ b(Y) SEQ d(Y).")
    assert words["a(X)"] == words["b(X)"] == words["one: p"] == words["two: q"] == 1
    assert words["SEQ"] == 3
    assert words["a(Y)"] == 0


def test_windows_conditions_and_absence() -> None:
    words = texts("p(X) <- (NOT(c).[a(X), b(X)]).5 WHERE X > 3.")
    assert words["NOT between"] == words["c()"] == words["lasts at most 5 s"] == words["X > 3"] == 1
