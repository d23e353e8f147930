"""Whatever shares an uncertain quantity is one joint event: cases by hand, and generated ones in possible worlds."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from joint_cases import make_joint_case
from possible_worlds import Case, differences, weighed
from scipy import stats

import cepheus
from cepheus.core.batch import EventBatch
from cepheus.core.calculus import Calculus
from cepheus.core.distribution import (
    Discrete,
    Distribution,
    Frozen,
    Mixture,
    Normal,
    Samples,
    Uniform,
    as_distribution,
    parse_distribution,
)
from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.values import Value
from cepheus.engine.assembly.certain_first import CertainFirstEngine
from cepheus.engine.assembly.registry import create
from cepheus.engine.uncertain.engine import UncertainEngine
from cepheus.language.tesla import parse
from cepheus.language.tesla.print import format_error

TYPES = "event Temp(value: double, km: double)\nevent Ref(r: double)\nevent Jam(km: double)\nevent S(a: double)\n"
GAUSSIAN = NormalDist()
UNSURE = Normal(0.0, 1.0)


def made(kind: str, time: int, errors: dict[str, Distribution] | None = None, **attributes: Value) -> Event:
    return Event(kind, time, attributes, errors=errors or {})


def temp(time: int, value: float, error: Distribution | None = None, km: float = 1.0) -> Event:
    return made("Temp", time, {} if error is None else {"value": error}, value=value, km=km)


def only(rule: str, events: list[Event], calculus: Calculus | None = None) -> tuple[float, float]:
    """Give the probability of what a rule makes, which is one thing, and its standard error."""
    found = weighed(Case.of(TYPES + rule, events), calculus or Calculus())
    assert len(found) == 1
    return next(iter(found.values()))


def compiled(rule: str, events: list[Event], calculus: Calculus | None = None) -> list[tuple[float, bool]]:
    """Give the probabilities by the fast engine, each with whether the compiled kernel found it."""
    case = Case.of(TYPES + rule, events)
    engine = create(
        RunOptions(engine="columns", calculus=calculus or Calculus()), case.checked.rules.rules, case.schema
    )
    found = engine.feed(EventBatch.from_events(list(case.events))).to_events()
    assert isinstance(engine, CertainFirstEngine)
    return [(event.probability, isinstance(engine.at_work, UncertainEngine)) for event in found]


def test_a_constraint_and_a_negation_that_contradict_one_another() -> None:
    rule = "define H() from Temp(value=$v and value>30) and not Ref(r<$v) within 10 us from Temp"
    events = [made("Ref", 1, r=30.0), temp(2, 30.0, UNSURE)]
    assert weighed(Case.of(TYPES + rule, events)) == {}
    assert compiled(rule, events) == []


def test_two_jams_share_the_kilometre_they_are_near_to() -> None:
    rule = "define H() from Temp(km=$a) and not Jam($a-1 < km < $a+1) within 10 us from Temp"
    place = made("Temp", 2, {"km": Normal(0.0, 1.0)}, value=30.0, km=11.0)
    probability, error = only(rule, [made("Jam", 1, km=10.0), made("Jam", 1, km=10.0), place])
    truth = 1.0 - (GAUSSIAN.cdf(0.0) - GAUSSIAN.cdf(-2.0))
    assert math.isclose(probability, truth, abs_tol=1e-9)  # one of them decides both; the square would be 0.273
    assert error < 1e-9
    ((fast, in_kernel),) = compiled(rule, [made("Jam", 1, km=10.0), made("Jam", 1, km=10.0), place])
    assert in_kernel
    assert math.isclose(fast, truth, abs_tol=1e-8)


def test_a_member_that_its_own_value_decides() -> None:
    rule = "define H() from S() and 30 < Avg(Temp(value>30).value within 10 us from S)"
    assert only(rule, [temp(1, 30.0, UNSURE), made("S", 2, a=1.0)]) == (0.5, 0.0)
    assert compiled(rule, [temp(1, 30.0, UNSURE), made("S", 2, a=1.0)])[0][0] == 0.5


def test_members_of_a_count_share_a_parameter() -> None:
    rule = "define H() from S(a=$a) and 2 <= Count(Temp(value>$a) within 10 us from S)"
    events = [temp(1, 30.0), temp(1, 30.05), made("S", 2, {"a": UNSURE}, a=30.05)]
    probability, error = only(rule, events)
    assert math.isclose(probability, GAUSSIAN.cdf(-0.05), abs_tol=1e-9)
    assert error < 1e-9


def test_a_count_and_a_sum_over_the_same_members() -> None:
    rule = """define H() from S() and 2 <= Count(Temp(value>30) within 10 us from S)
        and 61 < Sum(Temp(value>30).value within 10 us from S)"""
    events = [temp(1, 30.0, UNSURE), temp(1, 30.5, UNSURE), made("S", 2, a=1.0)]
    drawn = np.random.default_rng(5).normal([[30.0], [30.5]], 1.0, (2, 400_000))
    truth = float(((drawn > 30.0).all(axis=0) & (drawn.sum(axis=0) > 61.0)).mean())
    probability, error = only(rule, events)
    assert 0.0 < error < 0.01
    assert abs(probability - truth) < 4.0 * error + 0.003


def test_what_hardly_can_be_does_not_hide_what_is() -> None:
    rule = "define H() from S() and last Temp(value>30) within 10 us from S"
    events = [temp(1, 40.0), temp(2, 27.0, UNSURE), made("S", 3, a=1.0)]
    hidden = GAUSSIAN.cdf(-3.0)
    expected = {("H", (2, 0)): 1.0 - hidden, ("H", (2, 1)): hidden}
    found = weighed(Case.of(TYPES + rule, events))
    assert found.keys() == expected.keys()
    assert all(math.isclose(found[name][0], expected[name], abs_tol=1e-9) for name in expected)
    fast = compiled(rule, events)
    assert [round(p, 9) for p, _ in fast] == [round(p, 9) for p in expected.values()]
    assert all(in_kernel for _, in_kernel in fast)
    printed = Calculus(choice="as-printed")
    assert weighed(Case.of(TYPES + rule, events), printed).keys() == {("H", (2, 1))}
    assert len(compiled(rule, events, printed)) == 1


def test_rules_that_ask_the_same_of_one_event_get_what_each_of_them_gets_alone() -> None:
    rule = "define H{n}() from Temp(km=$a and value>{n}) and not Jam($a-1 < km < $a+1) within 10 us from Temp\n"
    places = [made("Jam", 1, {"km": Normal(0.0, 0.25)}, km=km) for km in (9.5, 10.0, 12.5)]
    error: dict[str, Distribution] = {"km": Normal(0.0, 1.0), "value": UNSURE}
    temps = [made("Temp", 2 + k, error, value=31.0, km=km) for k, km in enumerate((11.0, 11.0, 11.2, 10.0))]
    numbers = (29, 30, 31)
    together = compiled("".join(rule.format(n=n) for n in numbers), [*places, *temps])
    assert len(together) == len(numbers) * len(temps)
    assert all(in_kernel for _, in_kernel in together)
    alone = [[p for p, _ in compiled(rule.format(n=n), [*places, *temps])] for n in numbers]
    assert [p for p, _ in together] == [p for each in zip(*alone, strict=True) for p in each]
    exact = weighed(Case.of(TYPES + rule.format(n=30), [*places, *temps]))
    assert np.allclose([p for p, _ in exact.values()], alone[1], atol=1e-8)


@pytest.mark.parametrize("occurred", [1.0, 0.5])
def test_there_is_room_for_all_that_shares_a_quantity(occurred: float) -> None:
    rule = "define H() from Temp(value=$v) and not Ref(r>$v) within 500 us from Temp"
    events = [made("Ref", time, r=-2.0 - time / 1000) for time in range(200)]
    terminator = Event("Temp", 200, {"value": 0.0, "km": 0.0}, errors={"value": UNSURE}, probability=occurred)
    ((probability, in_kernel),) = compiled(rule, [*events, terminator])
    assert in_kernel
    assert math.isclose(probability, occurred * GAUSSIAN.cdf(2.0), abs_tol=1e-8)


def test_the_last_of_hundreds_for_a_sliver_of_values() -> None:
    rule = "define H() from Temp(value=$v) and last Ref(r<$v) within 500 us from Temp"
    bounds = [time / 100 - 1.5 for time in range(300)]
    events = [*(made("Ref", time, r=bound) for time, bound in enumerate(bounds)), temp(300, 0.0, UNSURE)]
    found = compiled(rule, events)
    assert all(in_kernel for _, in_kernel in found)
    expected = [GAUSSIAN.cdf(high) - GAUSSIAN.cdf(low) for low, high in zip(bounds, [*bounds[1:], 99.0], strict=True)]
    assert np.allclose(sorted(p for p, _ in found), sorted(expected), atol=1e-9)


def test_whoever_lies_behind_one_that_nearly_surely_fits_is_not_gone_through() -> None:
    rule = "define H() from S() and last Temp(value>30) within 10 us from S"
    nearly = temp(2, 36.0, UNSURE)  # fits but for one case in a thousand million
    events = [temp(1, 30.0, UNSURE), nearly, temp(3, 29.0, UNSURE), made("S", 4, a=1.0)]
    expected = {("H", (3, 2)): GAUSSIAN.cdf(-1.0), ("H", (3, 1)): GAUSSIAN.cdf(1.0)}
    found = weighed(Case.of(TYPES + rule, events))
    assert found.keys() == expected.keys()
    assert all(math.isclose(found[name][0], expected[name], abs_tol=1e-8) for name in expected)
    assert sorted(round(p, 7) for p, _ in compiled(rule, events)) == sorted(round(p, 7) for p in expected.values())
    all_of_them = Calculus(ignore=0.0)
    assert len(weighed(Case.of(TYPES + rule, events), all_of_them)) == 3
    assert len(compiled(rule, events, all_of_them)) == 3


def test_what_no_drawn_world_has_is_not_impossible() -> None:
    rule = "define H() from S() and 2.5 < First(Temp(km<2).value within 10 us from S)"
    reading = Event("Temp", 1, {"value": -2.5, "km": 1.0}, errors={"value": Normal(0.5, 4.0)}, probability=0.75)
    probability, error = only(rule, [reading, made("S", 2, a=1.0)], Calculus(draws=20))
    assert math.isclose(probability, 0.75 * GAUSSIAN.cdf(-2.75), abs_tol=1e-12)
    assert error == 0.0


def test_two_last_of_uncertain_events() -> None:
    rule = "define H() from S() and 2 last Temp(value>30) within 10 us from S"
    events = [temp(1, 40.0), temp(2, 30.0, UNSURE), temp(3, 30.0, UNSURE), made("S", 4, a=1.0)]
    fast = [round(p, 9) for p, _ in compiled(rule, events)]
    assert fast == [0.75, 0.5, 0.5]  # the earliest is taken unless both others are
    assert sorted(fast) == sorted(round(p, 9) for p, _ in weighed(Case.of(TYPES + rule, events)).values())


CHAINS = [
    ("last Temp(value>30) as E within 10 us from S and last Temp(value>30) as F within 10 us from E", True),
    ("each Temp(value>30) as E within 10 us from S and first Temp(value>30) as F within 10 us from E", True),
    ("2 last Temp(value>30) as E within 10 us from S and not Temp(value>30) within 2 us from E", True),
    ("each Temp(value>30) as E within 10 us from S and not Temp(value>30) between E and S", True),
    ("first Temp(value>30) as E within 10 us from S and 1 <= Count(Temp(value>30) between S and E)", True),
    ("first Temp(value>30) as E within 10 us from S and last Temp(value>29) as F within 10 us from E", False),
    ("last Temp(value>30) as E within 10 us from S and not Temp(value>31) between E and S", False),
    ("last Temp(value>30) as E within 10 us from S and last Temp(value>31) as F within 10 us from S", False),
]


@pytest.mark.parametrize(("parts", "in_kernel"), CHAINS)
def test_events_of_one_type_that_lie_one_before_the_other_do_not_share_anything(parts: str, in_kernel: bool) -> None:
    rule = f"define H() from S() and {parts}"
    values = (30.5, 30.0, 29.5, 31.0)
    events = [temp(time, value, UNSURE) for time, value in enumerate(values, 1)] + [made("S", 5, a=1.0)]
    exact = weighed(Case.of(TYPES + rule, events))
    fast = compiled(rule, events)
    assert len(fast) > 1
    assert all(found is in_kernel for _, found in fast)
    assert np.allclose(sorted(p for p, _ in fast), sorted(p for p, _ in exact.values()), atol=1e-9 if in_kernel else 0)
    assert not differences(Case.of(TYPES + rule, events), 2000, 1)


def test_readings_of_a_sensor_drift_together() -> None:
    rules = """
        event Reading(sensor: string, value: double)
        error Reading.value ~ N(0, 1) + shared N(0, 4) per sensor
        define Both() from Reading(value > 30 and sensor=$s) as B and each Reading(value > 30 and sensor=$s) as A
        within 10 us from B
    """

    def reading(time: int, sensor: str) -> Event:
        return made("Reading", time, sensor=sensor, value=30.0)

    same = weighed(Case.of(rules, [reading(1, "a"), reading(2, "a")]))
    # the correlation is 4 / 5: the orthant probability of two Gaussians
    assert math.isclose(same["Both", (1, 0)][0], 0.25 + math.asin(0.8) / (2.0 * math.pi), abs_tol=0.02)
    assert not differences(
        Case.of(rules, [reading(1, "a"), reading(2, "a"), reading(3, "b"), reading(4, "a")]), 4000, 1
    )
    (declaration,) = parse(rules).errors
    assert format_error(declaration) == "error Reading.value ~ N(0, 1) + shared N(0, 4) per sensor"
    assert parse_distribution(str(declaration.error)) == declaration.error


@pytest.mark.parametrize("members", [12, 40])
def test_sums_of_many_members_that_may_not_be_there(members: int) -> None:
    rule = "define H() from S() and {} <= Sum(Temp().value within 90 us from S)"
    events = [Event("Temp", time, {"value": 1.0, "km": 0.0}, probability=0.25) for time in range(members)]
    events.append(made("S", members, a=1.0))
    for bound in (1, 3, 6):
        truth = float(stats.binom(members, 0.25).sf(bound - 1))
        probability, error = only(rule.format(bound), events)
        assert math.isclose(probability, truth, abs_tol=1e-9)
        assert error == 0.0
        ((fast, in_kernel),) = compiled(rule.format(bound), events)
        assert in_kernel
        assert math.isclose(fast, truth, abs_tol=1e-9)


def test_a_sum_that_is_approximated_says_how_far_it_may_be_off() -> None:
    rule = "define H() from S() and 4 <= Sum(Temp().value within 90 us from S)"
    events = [
        Event("Temp", time, {"value": 1.0, "km": 0.0}, errors={"value": UNSURE}, probability=0.5) for time in range(14)
    ]
    probability, error = only(rule, [*events, made("S", 20, a=1.0)])
    generator = np.random.default_rng(3)
    there = generator.random((200_000, 14)) < 0.5
    truth = float((np.where(there, generator.normal(1.0, 1.0, there.shape), 0.0).sum(axis=1) >= 4.0).mean())
    assert 0.0 < error <= 0.01
    assert abs(probability - truth) < 4.0 * error


@pytest.mark.parametrize("members", [2, 3, 12])
def test_a_deviation_of_members_that_may_not_be_there_needs_two_of_them(members: int) -> None:
    rule = "define H() from S() and 0 <= Stddev(Temp().value within 90 us from S)"
    events = [Event("Temp", time, {"value": time, "km": 0.0}, probability=0.25) for time in range(members)]
    probability, error = only(rule, [*events, made("S", members, a=1.0)])
    truth = float(stats.binom(members, 0.25).sf(1))
    assert abs(probability - truth) <= (1e-12 if members <= Calculus().exact_members else 4.0 * error)
    assert error < 0.01


def test_a_slope_needs_members_of_two_times() -> None:
    rule = "define H() from S() and -100 < Slope(Temp().value within 90 us from S)"
    events = [Event("Temp", time, {"value": 1.0, "km": 0.0}, probability=0.5) for time in (1, 1, 2)]
    assert only(rule, [*events, made("S", 3, a=1.0)])[0] == 0.375  # the last, and one of the others at least


def test_an_event_at_two_places_of_a_pattern_took_place_once() -> None:
    rule = "define H() from S() and last Temp() as A within 10 us from S and first Temp(km<2) as B within 10 us from S"
    events = [Event("Temp", 1, {"value": 1.0, "km": 1.0}, probability=0.75), made("S", 2, a=1.0)]
    assert only(rule, events) == (0.75, 0.0)
    assert compiled(rule, events)[0][0] == 0.75


class Heavy(stats.rv_continuous):  # type: ignore[misc]  # SciPy says nothing of types
    """A distribution that has taken another's name."""

    def _cdf(self, x: object) -> object:
        return stats.laplace.cdf(x)


GIVEN = [
    (Heavy(name="norm")(), 0.5 * math.exp(-0.2)),
    (stats.t(5), float(stats.t(5).sf(0.2))),
    (stats.gaussian_kde([0.0, 1.0, 2.0]), None),
    (stats.rv_histogram(np.histogram([0.0, 1.0, 1.0, 2.0], bins=4)), 0.9),
    (stats.rv_discrete(values=([0, 1], [0.25, 0.75]))(), 0.75),
]


@pytest.mark.parametrize(("given", "above"), GIVEN, ids=["custom", "t", "kernel density", "histogram", "discrete"])
def test_distributions_of_scipy_are_asked_themselves(given: object, above: float | None) -> None:
    if above is None:
        above = float(given.integrate_box_1d(0.2, math.inf))  # type: ignore[attr-defined]
    events = [Event("Temp", 1, {"value": 30.2, "km": 1.0}, errors={"value": as_distribution(given)})]
    plain = Event("Temp", 2, {"value": 30.2, "km": 1.0}, errors={"value": Normal(0.0, 0.25)})
    (first, second) = compiled("define H() from Temp(value > 30)", [*events, plain])
    assert math.isclose(first[0], 1.0 - above, abs_tol=1e-9)
    assert math.isclose(second[0], GAUSSIAN.cdf(0.4), abs_tol=1e-9)
    assert first[1]  # only the comparison left the kernel
    assert second[1]


@pytest.mark.parametrize(("given", "above"), GIVEN, ids=["custom", "t", "kernel density", "histogram", "discrete"])
def test_distributions_of_scipy_stand_in_events_given_as_dicts(given: object, above: float | None) -> None:
    if above is None:
        above = float(given.integrate_box_1d(0.2, math.inf))  # type: ignore[attr-defined]
    hot = cepheus.compile("define H() from Temp(value > 30)")
    found = hot.detect([{"type": "Temp", "time": 1, "value": {"value": 30.2, "error": given}}], time_unit="s")
    assert math.isclose(float(found.probabilities[0]), 1.0 - above, abs_tol=1e-9)  # type: ignore[index]


@pytest.mark.parametrize("given", [3, None, [0.5, -0.5], {"mean": 1}, True, object()])
def test_what_is_no_distribution_is_refused_in_an_event(given: object) -> None:
    hot = cepheus.compile("define H() from Temp(value > 30)")
    with pytest.raises(cepheus.EventError, match="is not a distribution"):
        hot.detect([{"type": "Temp", "time": 1, "value": {"value": 30.2, "error": given}}], time_unit="s")


def test_a_custom_distribution_written_down_is_nearly_the_same() -> None:
    table = parse_distribution(str(as_distribution(Heavy(name="norm")())))
    assert isinstance(table, Mixture)
    for bound in (-3.0, -0.5, 0.0, 0.7, 4.0):
        below = sum(
            share * min(max((bound - part.low) / (part.high - part.low), 0.0), 1.0)
            for share, part in table.parts
            if isinstance(part, Uniform)
        )
        assert math.isclose(below, float(stats.laplace.cdf(bound)), abs_tol=2e-6)


def test_what_passed_is_cut_off_where_that_is_wanted() -> None:
    rules = TYPES + "error Temp.value ~ N(0, 0.25)\ndefine H(v: double) from Temp(value > 30) where v = Temp.value"
    program = cepheus.compile(rules)
    reading = [{"type": "Temp", "time": 1, "value": 30.2, "km": 1.0}]
    (as_it_came,) = program.detect(reading, time_unit="s").to_events()
    (passed,) = program.detect(reading, time_unit="s", calculus=Calculus(posterior=True)).to_events()
    assert as_it_came.errors["v"] == Normal(0.0, 0.25)
    assert math.isclose(as_it_came.probability, passed.probability, abs_tol=1e-12)
    error = passed.errors["v"]
    assert isinstance(error, Frozen)
    assert math.isclose(float(error.scipy().sf(0.2)), 0.0, abs_tol=1e-9)  # the true value is above 30


def test_more_worlds_are_drawn_where_few_hold_and_too_few_are_told() -> None:
    program = cepheus.compile("define Far(v: double) from Step(x * y > 6) where v = Step.x * Step.y")

    def step(x: float, y: float) -> list[dict[str, object]]:
        errors = {"x": {"value": x, "error": "N(0, 1)"}, "y": {"value": y, "error": "U(-1, 1)"}}
        return [{"type": "Step", "time": 1, **errors}]

    (far,) = program.detect(step(1.0, 1.4), time_unit="s", calculus=Calculus(draws=1_000, posterior=True)).to_events()
    assert far.probability < 0.05  # of 1,000 worlds fewer than 50 hold
    error = far.errors["v"]
    assert isinstance(error, Samples)
    assert len(set(error.values)) >= 100
    assert all(1.4 - each > 6.0 for each in error.values)
    with pytest.warns(cepheus.CepheusWarning, match="too few to tell this error from"):
        program.detect(step(1.0, 0.9), time_unit="s", calculus=Calculus(draws=200, posterior=True))


def test_what_hardly_can_be_does_not_consume() -> None:
    rule = "define H() from S() and each Temp(value>30) within 10 us from S consuming Temp"
    events = [temp(1, 24.0, UNSURE), made("S", 2, a=1.0), made("S", 3, a=1.0)]
    assert weighed(Case.of(TYPES + rule, events)) == {}
    assert compiled(rule, events) == []
    likely = [temp(1, 31.0, UNSURE), made("S", 2, a=1.0), made("S", 3, a=1.0)]
    assert weighed(Case.of(TYPES + rule, likely)).keys() == {("H", (1, 0))}
    assert len(compiled(rule, likely)) == 1


def test_discrete_errors_are_gone_through() -> None:
    rule = "define H() from Temp(value=$v and value>30) and not Ref(r>$v) within 10 us from Temp"
    error = Discrete(((0.0, 0.5), (-2.0, 0.25), (2.0, 0.25)))
    probability, _ = only(rule, [made("Ref", 1, r=32.5), temp(2, 31.0, error)])
    assert probability == 0.25  # 31 and 33 are above 30, and 33 above 32.5


GENERATED = 120


def test_generated_rules_agree_with_possible_worlds() -> None:
    for seed in range(GENERATED):
        case = make_joint_case(seed)
        found = differences(case, 400, seed, Calculus(draws=2000))
        assert not found, f"seed {seed}\n{case.text}\n" + "\n".join(found)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(100))
def test_ten_thousand_generated_rules_agree_with_possible_worlds(part: int) -> None:
    for seed in range(1000 + 100 * part, 1100 + 100 * part):
        case = make_joint_case(seed)
        found = differences(case, 1000, seed, Calculus(draws=4000))
        assert not found, f"seed {seed}\n{case.text}\n" + "\n".join(found)
