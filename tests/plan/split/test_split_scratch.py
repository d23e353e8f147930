"""Shards run a function or an aggregate that no compiled engine has: by the reference engine, or not at all."""

from __future__ import annotations

import pytest
from dealing import dealt_answer, whole_answer

from cepheus.core.errors import UnsupportedError
from cepheus.language.tesla import parse
from cepheus.plan.split import WayName
from cepheus.rules.check import check
from strategies.scratch_functions import DECLARED, EVENTS, EXPECTED, RULES, register
from strategies.split_cases import SplitCase


@pytest.mark.parametrize("name", list(RULES))
def test_shards_find_what_the_reference_finds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    text = DECLARED + RULES[name]
    case = SplitCase(1, text, check(parse(text)), tuple(EVENTS))
    expected = whole_answer(case)
    assert len(expected) == len(EXPECTED[name])
    for ways in (set(WayName), {WayName.SLICES, WayName.WHOLE}):
        assert dealt_answer(case, 2, ways)[0] == expected
    with pytest.raises(UnsupportedError, match=name):
        dealt_answer(case, 2, set(WayName), engine="columns")
