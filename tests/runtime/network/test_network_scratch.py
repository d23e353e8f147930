"""Processors of a network run a function or an aggregate that no compiled engine has."""

from __future__ import annotations

from dataclasses import replace

import pytest
from random_cases import Case
from trials import Trial, check, run

from cepheus.language.tesla import parse
from cepheus.rules.check import check as check_rules
from cepheus.runtime.network.protocol.strategy import Strategy
from strategies.scratch_functions import DECLARED, EVENTS, EXPECTED, RULES, register


@pytest.mark.parametrize("name", list(RULES))
@pytest.mark.parametrize("strategy", list(Strategy))
def test_sinks_receive_what_the_reference_makes(name: str, strategy: Strategy, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    text = DECLARED + RULES[name]
    case = Case(1, text, check_rules(parse(text)), tuple(EVENTS), (0,), None)
    trial = Trial(
        seed=1,
        strategy=strategy,
        case=case,
        links={("p", "q"): 3, ("q", "r"): 2},
        processors=("p", "q", "r"),
        sources={"one": ("p", ("A",)), "two": ("r", ("B",))},
        sinks={"sink": ("q", ("R",))},
        events=tuple(("one" if event.type == "A" else "two", replace(event, id=f"e{event.id}")) for event in EVENTS),
    )
    check(trial, run)
    received, _ = run(trial)
    assert sum(received.values()) == len(EXPECTED[name])
