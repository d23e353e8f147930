"""The calculus, by both engines, against all possible worlds of events with discrete errors."""

from __future__ import annotations

import math

import pytest
from exact_worlds import DECLARATIONS, IGNORED, DiscreteCase, exact_shares
from possible_worlds import Case, weighed

import cepheus
from cepheus.core.calculus import Calculus
from cepheus.core.event import Event


def differences(seed: int) -> list[str]:
    """What an engine says otherwise than the worlds of a case, by more than five standard errors if it had to draw."""
    discrete = DiscreteCase.of(seed)
    truth, weights = discrete.truth(), weighed(discrete.case)
    errors = {made: 5 * error for made, (_, error) in weights.items()}
    if any(abs(weights[made][0] - discrete.least) < error for made, error in errors.items()):
        return []  # drawn, and too near to the least probability
    told = {
        "reference": {made: probability for made, (probability, _) in weights.items()},
        "columns": discrete.compiled(100),
        "columns, in pieces": discrete.compiled(seed % 3 + 1),
    }
    return [
        f"{engine}: {made} {found.get(made, 0.0)}, but {truth.get(made, 0.0)}"
        for engine, found in told.items()
        for made in found.keys() | truth.keys()
        if abs(found.get(made, 0.0) - truth.get(made, 0.0)) > 2 * IGNORED + errors.get(made, 0.0)
    ]


@pytest.mark.parametrize("part", range(6))
def test_generated_rules_agree_with_all_worlds(part: int) -> None:
    for seed in range(10 * part, 10 * part + 10):
        assert not differences(seed), f"seed {seed}\n{DiscreteCase.of(seed).case.text}"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(100))
def test_many_generated_rules_agree_with_all_worlds(part: int) -> None:
    for seed in range(1000 + 20 * part, 1020 + 20 * part):
        assert not differences(seed), f"seed {seed}\n{DiscreteCase.of(seed).case.text}"


@pytest.mark.parametrize("engine", ["reference", "columns"])
def test_what_binds_a_parameter_has_to_be_there_also_where_its_type_has_errors(engine: str) -> None:
    program = cepheus.compile("event B(y: double?)\ndefine R(t: timestamp) from B(y=$y) where t=B.time")
    readings = [{"type": "B", "time": 1, "y": {"value": 1.0, "error": "N(0, 1)"}}, {"type": "B", "time": 2}]
    found = program.detect(readings, time_unit="us", engine=engine).to_events()
    assert [event.time for event in found] == [1]


@pytest.mark.parametrize("engine", ["reference", "columns"])
def test_whether_a_value_is_there_needs_no_outcome_of_it(engine: str) -> None:
    program = cepheus.compile("event B(x: double, y: double?)\ndefine R() from B(y is null or x = 1)")
    unsure = {"value": 1.0, "error": "D(0: 0.25, 1: 0.75)"}
    readings = [{"type": "B", "time": 1, "x": unsure, "y": unsure}, {"type": "B", "time": 2, "x": unsure}]
    found = program.detect(readings, time_unit="us", engine=engine).to_events()
    assert [(event.time, event.probability) for event in found] == [(1, 0.25), (2, 1.0)]


def test_a_drawn_aggregate_that_hardly_holds_has_the_error_of_its_draws() -> None:
    """A median that is above 1.5 in 2% of the worlds: of 4000 draws that is 2% ± 0.2%, not ± 0.8% of 2%."""
    rule = "define R(v: double) from A() as T and 1.5 < $a = Median(B().x within 90 us from T) where v = T.x"
    lots = [(0.0, 0.75)] * 4 + [(0.0, 1.0)] * 2 + [(2.0, 0.75)] * 4
    readings = [
        Event("B", time, {"x": value, "n": 0, "k": "p"}, probability=chance)
        for time, (value, chance) in enumerate(lots, 1)
    ]
    case = Case.of(DECLARATIONS + rule, [*readings, Event("A", 20, {"x": 0.0, "n": 0, "k": "p"})])
    ((probability, error),) = weighed(case, Calculus(draws=4000)).values()
    (truth,) = exact_shares(case).values()
    assert 0.0 < truth < 0.05
    assert math.isclose(error, math.sqrt(truth * (1 - truth) / 4000), rel_tol=0.3)
    assert abs(probability - truth) < 5 * error
