"""Subscriptions: who covers whom."""

from __future__ import annotations

import pytest

from cepheus.core.event import Event
from cepheus.language.tesla import parse_event_pattern as read
from cepheus.runtime.network.protocol.interests import covers, matches, without_covered


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"),
    [
        ("A()", "A(x=1)", True),
        ("A(x=1)", "A()", False),
        ("A(x>1)", "A(x>=2)", True),
        ("A(x>=2)", "A(x>2)", True),
        ("A(x>2)", "A(x>=2)", False),
        ("A(x<5)", "A(x=3, y=1)", True),
        ("A(5 > x)", "A(x<=4)", True),
        ("A(s='a')", "A(s='b')", False),
        ("A()", "B()", False),
    ],
)
def test_covering(wide: str, narrow: str, expected: bool) -> None:
    assert covers(read(wide), read(narrow)) is expected


def test_what_is_covered_is_left_out() -> None:
    patterns = [read("A(x>3)"), read("A(x>1)"), read("B()"), read("A(x>5)")]
    assert without_covered(patterns) == (read("A(x>1)"), read("B()"))


def test_matching() -> None:
    assert matches(read("A(x>1)"), Event("A", 0, {"x": 2}))
    assert not matches(read("A(x>1)"), Event("A", 0, {"x": 1}))
