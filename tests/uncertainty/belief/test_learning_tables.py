"""Tables of networks from cases, complete ones and others."""

from __future__ import annotations

import numpy as np
import pytest

import cepheus
from cepheus.uncertainty.belief.belief import RuleBelief

RULES = "define Fire() from Smoke() and last Temp(value > 45) within 5 min from Smoke"


def network() -> RuleBelief:
    """A fire, smoke that a barbecue may make as well, and a thermometer."""
    belief = cepheus.compile(RULES).belief("Fire").set("Barbecue", {"YES": 0.5, "NO": 0.5})
    smoke = {(fire, grill): {"YES": 0.5, "NO": 0.5} for fire in ("YES", "NO") for grill in ("YES", "NO")}
    return belief.set("Smoke", smoke, given=["Fire", "Barbecue"])


def world(seed: int, count: int = 8_000) -> list[dict[str, str]]:
    """What happens, with chances that nobody wrote down."""
    rng = np.random.default_rng(seed)
    fire, grill = rng.random(count) < 0.3, rng.random(count) < 0.2
    smoke = rng.random(count) < np.where(fire, 0.95, np.where(grill, 0.6, 0.05))
    hot = rng.random(count) < np.where(fire, 0.9, 0.15)
    return [
        {name: "YES" if value else "NO" for name, value in zip(("Fire", "Barbecue", "Smoke", "Temp"), row, strict=True)}
        for row in zip(fire.tolist(), grill.tolist(), smoke.tolist(), hot.tolist(), strict=True)
    ]


def share(cases: list[dict[str, str]], asked: str, **known: str) -> float:
    """How often something was so among the cases in which something else was."""
    own = [case for case in cases if all(case[name] == state for name, state in known.items())]
    return sum(case[asked] == "YES" for case in own) / len(own)


def test_complete_cases_are_counted() -> None:
    cases = world(1)
    made = network().learned(cases, smoothing=0)
    assert made.posterior("Fire", observed={})["YES"] == pytest.approx(share(cases, "Fire"), abs=1e-6)
    for fire in ("YES", "NO"):
        for grill in ("YES", "NO"):
            told = made.posterior("Smoke", observed={"Fire": fire, "Barbecue": grill})["YES"]
            assert told == pytest.approx(share(cases, "Smoke", Fire=fire, Barbecue=grill), abs=1e-6)


def test_a_node_that_is_never_observed_does_not_spoil_what_is_told() -> None:
    cases = world(2)
    seen = [{name: state for name, state in case.items() if name != "Barbecue"} for case in cases]
    made = network().learned(seen)
    assert made.probability() == pytest.approx(share(cases, "Fire", Smoke="YES", Temp="YES"), abs=0.02)
    told = made.posterior("Fire", observed={"Smoke": "YES", "Temp": "NO"})["YES"]
    assert told == pytest.approx(share(cases, "Fire", Smoke="YES", Temp="NO"), abs=0.03)


def test_cases_with_holes_give_nearly_the_tables_of_whole_ones() -> None:
    cases, rng = world(3), np.random.default_rng(3)
    holes = [{name: state if rng.random() < 0.7 else None for name, state in case.items()} for case in cases]
    whole, made = network().learned(cases), network().learned(holes)
    for known in (
        {"Fire": "YES", "Barbecue": "NO"},
        {"Fire": "NO", "Barbecue": "YES"},
        {"Fire": "NO", "Barbecue": "NO"},
    ):
        assert made.posterior("Smoke", observed=known)["YES"] == pytest.approx(
            whole.posterior("Smoke", observed=known)["YES"], abs=0.06
        )
    assert made.posterior("Barbecue", observed={})["YES"] == pytest.approx(0.2, abs=0.03)


def test_few_cases_make_nothing_certain() -> None:
    made = cepheus.compile(RULES).belief("Fire").learned([{"Fire": True, "Smoke": "YES", "Temp": "YES"}] * 3)
    assert 0.5 < made.probability() < 1.0


def test_only_what_is_asked_for_is_learned_and_the_rest_holds() -> None:
    made = network().learned(world(4, 500), only=["Temp"])
    assert made.nodes["Smoke"] == network().nodes["Smoke"]
    assert made.nodes["Temp"] != network().nodes["Temp"]


def test_numbers_are_observed_by_their_bands() -> None:
    belief = network().set("Wind", "N(10, 9)", bands="CALM < 8 < STORM")
    even = {(fire, wind): {"YES": 0.5, "NO": 0.5} for fire in ("YES", "NO") for wind in ("CALM", "STORM")}
    belief = belief.set("Temp", even, given=["Fire", "Wind"])
    cases = [{"Wind": 3.0, "Fire": "YES", "Temp": "YES"}] * 30 + [{"Wind": 12.0, "Fire": "YES", "Temp": "NO"}] * 30
    made = belief.learned(cases, smoothing=0, only=["Temp"])
    assert made.posterior("Temp", observed={"Fire": "YES", "Wind": "CALM"})["YES"] > 0.99
    assert made.posterior("Temp", observed={"Fire": "YES", "Wind": "STORM"})["YES"] < 0.01


def test_what_fits_no_network_is_refused() -> None:
    for cases, message in (
        ([], "no case to learn from"),
        ([{"Fyre": "YES"}], "names 'Fyre'"),
        ([{"Fire": "YES"}, {"Fire": "MAYBE"}], "case 2 has 'Fire' in no state"),
    ):
        with pytest.raises(cepheus.OptionError, match=message):
            network().learned(cases)
    with pytest.raises(cepheus.OptionError, match="no node 'Jam'"):
        network().learned(world(1, 10), only=["Jam"])
    with pytest.raises(cepheus.OptionError, match="cannot be"):
        cepheus.compile(RULES).belief("Fire").learned([{"Fire": "NO", "Smoke": "YES"}], only=["Temp"])


def test_a_row_of_which_no_case_tells_anything_stays_as_the_expert_has_it() -> None:
    certain = {(fire, grill): {"YES": 1.0, "NO": 0.0} for fire in ("YES", "NO") for grill in ("YES", "NO")}
    cases = [case for case in world(4, 500) if case["Barbecue"] == "NO"]
    made = (
        network()
        .set("Smoke", certain, given=["Fire", "Barbecue"])
        .learned(cases, smoothing=0, only=["Fire", "Smoke", "Temp"])
    )
    assert made.posterior("Smoke", observed={"Fire": "NO", "Barbecue": "YES"})["YES"] == 1.0
    assert made.posterior("Smoke", observed={"Fire": "NO", "Barbecue": "NO"})["YES"] < 0.2
