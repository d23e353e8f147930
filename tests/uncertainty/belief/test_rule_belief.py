"""The networks of the paper, edits of networks, and what is refused."""

from __future__ import annotations

import copy
import pickle

import pytest
from scipy import stats

import cepheus
from cepheus.core.distribution import Normal
from cepheus.core.time import HOUR, parse_time
from cepheus.uncertainty.belief.belief import RuleBelief

R1 = """
rule R1
define TVS_Malfun(km: double, temp: double, ox: double)
from   Oxygen(concentr =< 18% and km=$a) and
       last Temp($a-10 < km < $a+10 and value>30) within 5 min from Oxygen
where  km=Oxygen.km and temp=Temp.value and ox=Oxygen.concentr
"""
JAMS = """
network R1 {
  node TrafficJam {HIGH: .1, MEDIUM: .3, LOW: .6}
  node Temp given TVS_Malfun, TrafficJam {
    YES, *:     {YES: 1, NO: 0}
    NO, HIGH:   {YES: .3, NO: .7}
    NO, MEDIUM: {YES: .1, NO: .9}
    NO, LOW:    {YES: .05, NO: .95}
  }
  node Oxygen given TVS_Malfun, TrafficJam {
    YES, *:     {YES: 1, NO: 0}
    NO, HIGH:   {YES: .3, NO: .7}
    NO, MEDIUM: {YES: .1, NO: .9}
    NO, LOW:    {YES: .04, NO: .96}
  }
}
"""
HOT_WATER = """
rule Hot define HotWater() from SolarPanel()
network Hot {
  node SolarPanel {YES: .7, NO: .3}
  node Boiler given SolarPanel { YES: {ON: .8, OFF: .2}  NO: {ON: .95, OFF: .05} }
  node HotWater given SolarPanel, Boiler {
    YES, ON: {YES: 1, NO: 0}   YES, OFF: {YES: .9, NO: .1}
    NO, ON: {YES: .9, NO: .1}  NO, OFF: {YES: .1, NO: .9}
  }
}
"""


def belief_of(text: str, rule: str = "R1") -> RuleBelief:
    return cepheus.compile(text).belief(rule)


def refused(*codes: str) -> pytest.RaisesExc[cepheus.CepheusError]:
    return pytest.RaisesExc(
        cepheus.CepheusError, check=lambda error: tuple(finding.code for finding in error.diagnostics) == codes
    )


# ---- The paper ---------------------------------------------------------------------------------------------------


def test_figure_2_hot_water_when_the_solar_panel_is_on() -> None:
    belief = belief_of(HOT_WATER, "Hot")
    assert belief.probability() == pytest.approx(0.98, abs=1e-15)
    assert belief.posterior("HotWater", observed={"SolarPanel": "YES"})["YES"] == pytest.approx(0.98, abs=1e-15)
    assert belief.posterior("SolarPanel", observed={"HotWater": "NO"})["NO"] > 0.3


def test_figure_3_a_rule_alone_is_certain() -> None:
    belief = belief_of(R1)
    assert [(node.name, node.parents) for node in belief.nodes.values()] == [
        ("TVS_Malfun", ()),
        ("Oxygen", ("TVS_Malfun",)),
        ("Temp", ("TVS_Malfun",)),
    ]
    assert belief.parts == {"Oxygen": "YES", "Temp": "YES"}
    assert belief.probability() == 1.0


def test_figure_4_traffic_jams_explain_some_of_it() -> None:
    # The paper prints 98.70% for tables that only its figure shows; these give the same.
    belief = belief_of(R1 + JAMS)
    assert belief.probability() == pytest.approx(1 / (1 + 0.1 * 0.09 + 0.3 * 0.01 + 0.6 * 0.002), rel=1e-15)
    assert round(belief.probability(), 4) == 0.9870


# ---- Translation -------------------------------------------------------------------------------------------------


def test_a_negated_event_is_observed_not_to_happen_and_names_that_are_taken_get_numbers() -> None:
    rule = (
        "define A() from T() and last A() within 1 min from T and not B() within 1 min from T "
        "and last B() as C within 1 min from T and 3 < Count(B() within 1 min from T)"
    )
    belief = belief_of(rule, "A")
    assert belief.parts == {"T": "YES", "A_2": "YES", "B": "NO", "C": "YES", "B_2": "YES"}
    assert belief.probability() == 1.0
    rain = belief.set("B", {"YES": {"YES": 0, "NO": 1}, "NO": {"YES": 0.25, "NO": 0.75}}, given=["A"])
    assert rain.probability() == 1.0  # the other parts still need an A
    assert rain.posterior("A", observed={"B": "NO"})["YES"] == pytest.approx(1 / 1.75)


# ---- Edits -------------------------------------------------------------------------------------------------------


def test_edits_give_new_networks() -> None:
    plain = belief_of(R1)
    jam = plain.set("Jam", {"HIGH": 0.2, "LOW": 0.8})
    assert "Jam" not in plain.nodes
    assert jam.nodes["Jam"].states == ("HIGH", "LOW")
    table = {
        ("YES", "*"): {"YES": 1, "NO": 0},
        ("NO", "HIGH"): {"YES": 0.5, "NO": 0.5},
        ("NO", "LOW"): {"YES": 0, "NO": 1},
    }
    both = jam.set("Temp", table, given=["TVS_Malfun", "Jam"]).set("Oxygen", table, given=["TVS_Malfun", "Jam"])
    assert both.probability() == pytest.approx(1 / (1 + 0.2 * 0.25))
    assert both.set("Jam", {"HIGH": 1, "LOW": 0}).probability() == pytest.approx(1 / 1.25)
    assert both.observe("Jam", "LOW").probability() == 1.0
    assert both.observe("Jam", "LOW").observe("Jam", None) == both
    assert both.remove("Temp").remove("Oxygen").remove("Jam") == plain
    assert plain.write(both.text().split("\n", 1)[1].rsplit("\n", 1)[0]) == both


def test_networks_travel_between_processes() -> None:
    belief = belief_of(R1 + JAMS)
    assert belief.probability() == pickle.loads(pickle.dumps(belief)).probability()  # noqa: S301  # our own
    assert pickle.loads(pickle.dumps(belief)) == belief == copy.deepcopy(belief)  # noqa: S301


def test_edges_can_be_reversed() -> None:
    belief = belief_of(R1).reverse("Temp").reverse("Oxygen")
    assert belief.nodes["TVS_Malfun"].parents == ("Temp", "Oxygen")
    assert belief.nodes["Temp"].parents == ()
    assert belief.probability() == 1.0
    assert belief.posterior("TVS_Malfun", observed={"Temp": "YES", "Oxygen": "NO"})["YES"] == 0.0
    doubt = {
        ("YES", "YES"): {"YES": 0.9, "NO": 0.1},
        ("YES", "NO"): {"YES": 0, "NO": 1},
        ("NO", "*"): {"YES": 0, "NO": 1},
    }
    assert belief.set("TVS_Malfun", doubt).probability() == pytest.approx(0.9)


def test_a_number_is_seen_in_bands() -> None:
    table = {
        ("YES", "*"): {"YES": 1, "NO": 0},
        ("NO", "HOT"): {"YES": 0.5, "NO": 0.5},
        ("NO", "MILD"): {"YES": 0, "NO": 1},
    }
    heat = belief_of(R1).set("Outside", Normal(20, 16), bands="MILD < 24 < HOT")
    heat = heat.set("Temp", table, given=["TVS_Malfun", "Outside"]).set(
        "Oxygen", table, given=["TVS_Malfun", "Outside"]
    )
    hot = stats.norm(20, 4).sf(24)
    assert heat.probability() == pytest.approx(1 / (1 + hot * 0.25), rel=1e-12)
    skewed = heat.set("Outside", stats.gamma(2, scale=10))
    assert skewed.probability() == pytest.approx(1 / (1 + stats.gamma(2, scale=10).sf(24) * 0.25), rel=1e-12)
    rain = heat.set("Rain", {"YES": 0.5, "NO": 0.5})
    rain = rain.set("Outside", {"YES": "N(15, 16)", "NO": "U(20, 30)"}, given=["Rain"])
    assert rain.posterior("Outside", observed={})["HOT"] == pytest.approx(0.5 * stats.norm(15, 4).sf(24) + 0.5 * 0.6)
    jump = heat.set("Outside", "D(24: 0.5, 23: 0.5)")
    assert jump.posterior("Outside", observed={}) == {"MILD": 0.5, "HOT": 0.5}  # a cut belongs to the band above


def test_tables_change_over_time() -> None:
    belief = belief_of(R1 + JAMS)
    busy = belief.during("TrafficJam", "07:00", "09:00", {"HIGH": 0.5, "MEDIUM": 0.3, "LOW": 0.2})
    assert busy.is_scheduled
    assert not belief.is_scheduled
    assert busy.probability() == busy.probability(6 * HOUR) == busy.probability(9 * HOUR) == belief.probability()
    assert busy.probability(7 * HOUR) == pytest.approx(1 / (1 + 0.5 * 0.09 + 0.3 * 0.01 + 0.2 * 0.002))
    assert (busy.next_change(0), busy.next_change(7 * HOUR), belief.next_change(0)) == (7 * HOUR, 9 * HOUR, None)
    holiday = busy.during("TrafficJam", "12-24", "12-27", {"HIGH": 0, "MEDIUM": 0, "LOW": 1})
    christmas = parse_time("2026-12-25T08:00:00Z")
    assert holiday.probability(christmas) == pytest.approx(1 / 1.002)  # the last period that applies counts
    assert holiday.next_change(christmas) == parse_time("2026-12-25T09:00:00Z")
    assert (
        holiday.set("TrafficJam", {"HIGH": 0, "MEDIUM": 0, "LOW": 1}).nodes["TrafficJam"].seasons
        == holiday.nodes["TrafficJam"].seasons
    )


# ---- What is refused ---------------------------------------------------------------------------------------------


def test_edits_that_make_no_sense_are_refused() -> None:
    belief = belief_of(R1 + JAMS)
    with refused("table-sum"):
        belief.set("TrafficJam", {"HIGH": 0.2, "MEDIUM": 0.3, "LOW": 0.6})
    with refused("probability"):
        belief.set("TrafficJam", {"HIGH": -0.1, "MEDIUM": 0.5, "LOW": 0.6})
    with refused("unknown-state", "unknown-state"):
        belief.set("TrafficJam", {"HIGH": 0.2, "MEDIUM": 0.3, "NONE": 0.5})
    with refused("unknown-node"):
        belief.set("Temp", {("*", "*"): {"YES": 1, "NO": 0}}, given=["TVS_Malfun", "Jam"])
    with refused("table-size"):
        belief.set("Temp", {"YES": {"YES": 1, "NO": 0}}, given=["TVS_Malfun"])
    with refused("network-cycle"):
        belief.set("TrafficJam", {"*": {"HIGH": 0.1, "MEDIUM": 0.3, "LOW": 0.6}}, given=["Temp"])
    with refused("observation"):
        belief.observe("Temp", "NO")
    with refused("unknown-node", "unknown-node"):
        belief.remove("TrafficJam")
    with refused("bands"):
        belief.set("TrafficJam", "N(0, 1)")


def test_calls_that_make_no_sense_are_refused() -> None:
    belief = belief_of(R1)
    for call in (
        lambda: belief.posterior("Tmep"),
        lambda: belief.posterior("Temp", observed={"Oxygen": "MAYBE"}),
        lambda: belief.observe("Jam", "LOW"),
        lambda: belief.reverse("TVS_Malfun"),
        lambda: belief.remove("Jam"),
    ):
        with refused("node"):
            call()
    with refused("period"):
        belief.during("Temp", "07:00", "Mon", {"*": {"YES": 0.5, "NO": 0.5}})
    for table in ({"HIGH": "much"}, {3: 0.5}, {"HIGH": True}):
        with refused("table"):
            belief.set("Jam", table)
    with refused("table"):
        belief.set("Jam", "N(0, 1)", bands="LOW < HIGH")
    with refused("table"):
        belief.set("Temp", "N(0, 1)", given=["TVS_Malfun"])
    with refused("network"):
        cepheus.compile(R1).belief("R2")


def test_evidence_of_probability_zero_is_refused_with_the_place() -> None:
    impossible = "network R1 { node Temp given TVS_Malfun { *: {YES: 0, NO: 1} } }"
    with pytest.raises(cepheus.RuleError) as caught:
        cepheus.compile(R1 + impossible)
    finding = caught.value.diagnostics[0]
    assert finding.code == "evidence"
    assert finding.span is not None
    assert finding.span.text == "R1"
    never = (
        "network R1 { node Temp given TVS_Malfun { *: {YES: 1, NO: 0} } from 'Mon' to 'Tue' { *: {YES: 0, NO: 1} } }"
    )
    with refused("evidence"):
        cepheus.compile(R1 + never)


def test_networks_that_are_too_large_are_refused() -> None:
    causes = [f"C{number}" for number in range(17)]
    text = "".join(f"node {name} {{A: .5, B: .5}}\n" for name in causes)
    with refused("network-size"):
        belief_of(R1).write(
            text + f"node Temp given {', '.join(causes)} {{ {', '.join('*' * 17)}: {{YES: 1, NO: 0}} }}"
        )
    pairs = [(one, other) for place, one in enumerate(causes[:13]) for other in causes[place + 1 : 13]]
    states = ", ".join(f"S{number}: 0.25" for number in range(4))
    text = "".join(f"node {name} {{{states}}}\n" for name in causes[:13])
    for place, (one, other) in enumerate(pairs):
        text += f"node E{place} given {one}, {other} {{ *, *: {{YES: .5, NO: .5}} }}\nobserve E{place} = YES\n"
    with refused("network-size"):
        belief_of(R1).write(text).probability()
