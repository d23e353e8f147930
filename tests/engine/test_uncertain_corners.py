"""Aggregates of values at the corners of their types, over members that may not be there."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import pytest
from test_uncertain_agreement import CALCULUS, aggregating, find
from uncertain_cases import DECLARATIONS, UncertainCase, at_work

from cepheus.core.calculus import Calculus
from cepheus.core.event import Event
from cepheus.core.values import INT_MAX, INT_MIN, Value
from cepheus.engine.uncertain.engine import UncertainEngine
from cepheus.language.tesla import parse
from cepheus.rules.check import check
from strategies.corners import DOUBLES, INTEGERS

FUNCTIONS = ("Count", "Sum", "Avg", "Min", "Max", "First", "Last")


def at_corners(seed: int, text: str) -> UncertainCase:
    """Give a case whose members have corners in what is aggregated, and errors in what they are chosen by."""
    random = Random(seed)

    def moved(event: Event) -> Event:
        corners: dict[str, Value] = {"n": random.choice(INTEGERS), "y": random.choice(DOUBLES)}
        return replace(event, attributes={**event.attributes, **(corners if random.random() < 0.5 else {})})

    events = tuple(moved(event) for event in aggregating(seed, "Count", "").events)
    return UncertainCase(seed, text, check(parse(text)), events)


@pytest.mark.parametrize("value", [".n", ".y", ".(n + 1)", ".(y * 2)"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_fires_and_how_likely_is_the_same(function: str, value: str) -> None:
    fired: set[str] = set()
    for seed, members in enumerate(("", "x > 1", "y > 0", "x > $n")):
        text = f"""{DECLARATIONS}
            define Made(m: double) from A(n=$n) and $agg = {function}(C({members}){value} within 20 us from A)
            where m = $agg
            define Asked() from B(n=$n) and 0.5 < $agg = {function}(C({members}){value} within 20 us from B)
        """
        case = at_corners(seed, text)
        wanted, _ = find(case, "reference", "whole")
        made, engine = find(case, "columns", ("single", "cut")[seed % 2])
        # What is chosen and what is aggregated may be one event, which then leaves the kernel.
        assert "y" in value or isinstance(at_work(engine), UncertainEngine)
        assert [(e.type, e.made_of) for e in made] == [(e.type, e.made_of) for e in wanted], text
        for one, other in zip(made, wanted, strict=True):
            assert math.isclose(one.probability, other.probability, abs_tol=1e-9), f"{text}\n{one}\n{other}"
            assert one.errors.keys() == other.errors.keys()
        fired |= {event.type for event in wanted}
    assert fired == {"Made", "Asked"}


WHOLE = [INT_MAX, INT_MAX - 1, INT_MIN, INT_MIN + 1, 2**53 + 1, -(2**53) - 1, 7]


@pytest.mark.parametrize("function", ["Sum", "Min", "Max", "First", "Last", "Avg"])
def test_integers_are_exact_where_all_members_count_as_certain(function: str) -> None:
    given = "double" if function == "Avg" else "int"
    text = f"""{DECLARATIONS}
        define Made(m: {given}) from A() and $agg = {function}(C(x > 1).n within 5 us from A) where m = $agg
    """
    events: list[Event] = []
    for place, (one, other) in enumerate((one, other) for one in WHOLE for other in WHOLE):
        attributes: dict[str, Value] = {"x": 4.0, "y": 0.0, "k": "p"}
        for number, (name, value) in enumerate((("C", one), ("C", other), ("A", 0))):
            unsure = 0.99 if name == "C" else 1.0
            events.append(
                Event(name, 10 * place + number, {**attributes, "n": value}, id=len(events), probability=unsure)
            )
    case = UncertainCase(1, text, check(parse(text)), tuple(events))
    calculus = Calculus(draws=CALCULUS.draws, accept=0.9)
    wanted, _ = find(case, "reference", "whole", calculus)
    made, engine = find(case, "columns", "cut", calculus)
    assert isinstance(at_work(engine), UncertainEngine)
    assert len(wanted) > len(WHOLE)
    assert [(e.made_of, e["m"]) for e in made] == [(e.made_of, e["m"]) for e in wanted]
