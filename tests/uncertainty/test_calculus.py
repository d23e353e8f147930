"""The calculus against simulation, and the laws of probability."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheus.core.calculus import Calculus
from cepheus.core.distribution import (
    Discrete,
    Distribution,
    Frozen,
    Mixture,
    Normal,
    Samples,
    Sum,
    Uniform,
    as_distribution,
)
from cepheus.core.errors import EventError, OptionError
from cepheus.core.values import Value, as_float
from cepheus.language.tesla import parse_event_pattern
from cepheus.rules.expressions import AttributeRef, Constraint, Parameter
from cepheus.uncertainty.aggregates import Extreme, Member, compute_aggregate
from cepheus.uncertainty.closed_forms import spread_cdf
from cepheus.uncertainty.computed_errors import error_of
from cepheus.uncertainty.judge import judge
from cepheus.uncertainty.laws import Spreads, distribution_of, law_of, spreads
from cepheus.uncertainty.quantities import Quantity
from cepheus.uncertainty.verdict import Method, conjunction

DRAWS = 40_000
NUMBERS = st.integers(-40, 40).map(lambda n: n / 8)
SIZES = st.integers(1, 24).map(lambda n: n / 8)

NORMALS = st.builds(Normal, NUMBERS, SIZES)
UNIFORMS = st.builds(lambda low, size: Uniform(low, low + size), NUMBERS, SIZES)


@st.composite
def discretes(draw: st.DrawFn) -> Discrete:
    values = draw(st.lists(NUMBERS, min_size=1, max_size=4, unique=True))
    weights = draw(st.lists(st.integers(1, 8), min_size=len(values), max_size=len(values)))
    return Discrete(tuple((v, w / sum(weights)) for v, w in zip(values, weights, strict=True)))


SIMPLE = st.one_of(NORMALS, UNIFORMS, discretes())
MIXTURES = st.builds(lambda a, b, w: Mixture(((w / 8, a), (1 - w / 8, b))), SIMPLE, SIMPLE, st.integers(1, 7))
ANY = st.one_of(SIMPLE, MIXTURES, st.builds(lambda a, b: Sum((a, b)), SIMPLE, SIMPLE))


@dataclass
class Scene:
    """One event under test whose attributes may be uncertain."""

    values: dict[str, float]
    errors: dict[str, Distribution] = field(default_factory=dict)

    def attribute(self, event: str | None, name: str) -> Value | None:  # noqa: ARG002
        return self.values.get(name)

    def computed(self, name: str) -> Value | None:
        return self.values.get(name)

    def quantity(self, reference: AttributeRef | Parameter) -> Quantity | None:
        error = self.errors.get(reference.name)
        return None if error is None else Quantity.observed(reference.name, self.values[reference.name], error)

    def simulate(self, draws: int, seed: int = 7) -> dict[str, np.ndarray]:
        generator = np.random.default_rng(seed)
        return {
            name: law_of(self.errors[name], value).draw(generator, draws)
            if name in self.errors
            else np.full(draws, float(value))
            for name, value in self.values.items()
        }


def constraints(text: str) -> tuple[Constraint, ...]:
    return parse_event_pattern(f"E({text})").constraints


def probability(text: str, scene: Scene, calculus: Calculus | None = None) -> float:
    judgements = judge([(constraint, scene) for constraint in constraints(text)], calculus or Calculus())
    return conjunction(judgement.estimate for judgement in judgements).probability


def agrees(share: float, expected: float, draws: int = DRAWS) -> bool:
    return abs(share - expected) <= 4 * math.sqrt(max(expected * (1 - expected), 1 / draws) / draws)


@settings(max_examples=60, deadline=None)
@given(ANY, ANY, NUMBERS, NUMBERS, st.sampled_from([-2.0, -1.0, 0.5, 1.0]))
def test_comparisons_of_linear_expressions_agree_with_simulation(
    first: Distribution, second: Distribution, x: float, y: float, scale: float
) -> None:
    scene = Scene({"x": x, "y": y}, {"x": first, "y": second})
    drawn = scene.simulate(DRAWS)
    value = drawn["x"] + scale * drawn["y"]
    found = probability(f"x + {scale}*y < 1.3", scene)
    assert 0.0 <= found <= 1.0
    assert agrees(float((value < 1.3).mean()), found)
    band = probability(f"-2 < x + {scale}*y <= 3", scene)
    assert agrees(float(((value > -2) & (value <= 3)).mean()), band)


@settings(max_examples=60, deadline=None)
@given(ANY, ANY, NUMBERS, NUMBERS, NUMBERS)
def test_mutually_exclusive_comparisons_add_up(
    first: Distribution, second: Distribution, x: float, y: float, bound: float
) -> None:
    scene = Scene({"x": x, "y": y}, {"x": first, "y": second})
    parts = [probability(f"x - y {operator} {bound}", scene) for operator in ("<", "=", ">")]
    assert math.fsum(parts) == pytest.approx(1.0, abs=1e-9)
    assert probability(f"x - y != {bound}", scene) == pytest.approx(1.0 - parts[1], abs=1e-9)
    assert probability(f"x - y <= {bound}", scene) == pytest.approx(parts[0] + parts[1], abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(SIMPLE, SIMPLE, NUMBERS, NUMBERS)
def test_constraints_that_share_a_quantity_are_one_joint_event(
    first: Distribution, second: Distribution, x: float, y: float
) -> None:
    scene = Scene({"x": x, "y": y}, {"x": first, "y": second})
    drawn = scene.simulate(DRAWS)
    held = (drawn["x"] > 0) & (drawn["y"] < drawn["x"])
    assert agrees(float(held.mean()), probability("x > 0 and y < x", scene))


@settings(max_examples=15, deadline=None)
@given(ANY, NUMBERS, NUMBERS, NUMBERS)
def test_joined_conditions_on_one_quantity_are_stretches_of_it(
    error: Distribution, x: float, low: float, high: float
) -> None:
    scene = Scene({"x": x, "k": 1.0}, {"x": error})
    drawn = scene.simulate(DRAWS)["x"]
    held = (drawn < low) | (drawn > high)
    assert agrees(float(held.mean()), probability(f"x < {low} or x > {high}", scene))
    outside = probability(f"not ({low} <= x <= {high})", scene)
    assert outside == pytest.approx(probability(f"x < {low} or {high} < x", scene), abs=1e-12)
    assert probability(f"x in ({low}, {high})", scene) == pytest.approx(
        1.0 - probability(f"x not in ({low}, {high})", scene), abs=1e-9
    )
    assert probability(f"x < {low} or x >= {low}", scene) == pytest.approx(1.0, abs=1e-12)
    assert probability(f"x < {low} and k = 1 or k = 2", scene) == pytest.approx(
        probability(f"x < {low}", scene), abs=1e-12
    )
    assert probability(f"x < {low} or missing > 1 or not (k = 1)", scene) == pytest.approx(
        probability(f"x < {low}", scene), abs=1e-12
    )


@settings(max_examples=8, deadline=None)
@given(SIMPLE, SIMPLE, NUMBERS, NUMBERS)
def test_sides_that_share_nothing_are_independent(
    first: Distribution, second: Distribution, x: float, y: float
) -> None:
    scene = Scene({"x": x, "y": y}, {"x": first, "y": second})
    one, other = probability("x > 1", scene), probability("y < 2", scene)
    assert probability("x > 1 or y < 2", scene) == pytest.approx(one + other - one * other, abs=1e-9)
    drawn = scene.simulate(DRAWS)
    held = (drawn["x"] > 1) & (drawn["y"] < 2) | (drawn["x"] + drawn["y"] > 4)
    judged = judge([(constraints("x > 1 and y < 2 or x + y > 4")[0], scene)], Calculus(draws=2000))[0].estimate
    assert abs(float(held.mean()) - judged.probability) <= 4 * math.sqrt(0.25 / 2000)


@settings(max_examples=8, deadline=None)
@given(SIMPLE, SIMPLE, NUMBERS, NUMBERS)
def test_what_is_not_linear_is_simulated_or_gone_through(
    first: Distribution, second: Distribution, x: float, y: float
) -> None:
    scene = Scene({"x": x, "y": y}, {"x": first, "y": second})
    drawn = scene.simulate(DRAWS)
    (judgement,) = judge([(constraints("x*y > 1")[0], scene)], Calculus(draws=4000))
    estimate = judgement.estimate
    assert estimate.method in (Method.SIMULATED, Method.ENUMERATED, Method.QUADRATURE)
    share = float((drawn["x"] * drawn["y"] > 1).mean())
    assert abs(share - estimate.probability) <= 4 * math.hypot(estimate.standard_error, 0.5 / math.sqrt(DRAWS)) + 1e-3
    again = judge([(constraints("x*y > 1")[0], scene)], Calculus(draws=4000))
    assert again[0].estimate == estimate


def test_the_same_quantity_is_never_multiplied_with_itself() -> None:
    scene = Scene({"value": 35.0}, {"value": Normal(0.0, 25.0)})
    joint = probability("value > 30 and value < 40", scene)
    assert joint == pytest.approx(probability("30 < value < 40", scene))
    assert joint == pytest.approx(0.6827, abs=1e-4)
    assert probability("value > 40 and value < 30", scene) == 0.0
    assert probability("value = value", scene) == 1.0


def test_certain_attributes_hold_or_do_not() -> None:
    scene = Scene({"x": 1.0, "y": 2.0})
    assert probability("x < y", scene) == 1.0
    assert probability("x > y", scene) == 0.0


@pytest.mark.parametrize(
    ("sd", "wide", "narrow"), [(1.0, 2.0, 0.0), (0.5, 2.0, 1.0), (1.0, 1e-4, 1e-5), (1.0, 3.0, 1e-4), (0.0, 2.0, 0.5)]
)
def test_spreads_are_distribution_functions(sd: float, wide: float, narrow: float) -> None:
    reach = 9 * sd + wide + narrow
    values = [spread_cdf(t, sd, wide, narrow) for t in np.linspace(-reach, reach, 401).tolist()]
    assert values == pytest.approx(sorted(values), abs=1e-13)
    assert (values[0], values[200], values[-1]) == pytest.approx((0.0, 0.5, 1.0), abs=1e-13)


def test_scipy_distributions() -> None:
    from scipy import stats

    gamma = as_distribution(stats.gamma(2.0, scale=0.5))
    scene = Scene({"x": 3.0, "y": 1.0}, {"x": gamma, "y": Normal(0.0, 1.0)})
    assert probability("x > 2", scene) == pytest.approx(stats.gamma(2.0, scale=0.5).cdf(1.0))
    drawn = scene.simulate(DRAWS)
    assert agrees(float((drawn["x"] - drawn["y"] > 1.5).mean()), probability("x - y > 1.5", scene))
    poisson = Scene({"x": 5.0}, {"x": as_distribution(stats.poisson(2.0))})
    assert probability("x >= 3", poisson) == pytest.approx(stats.poisson(2.0).cdf(2))
    assert probability("x > 3", poisson) == pytest.approx(stats.poisson(2.0).cdf(1))
    assert probability("x = 3", poisson) == pytest.approx(stats.poisson(2.0).pmf(2))


@settings(max_examples=40, deadline=None)
@given(ANY)
def test_a_law_described_as_a_distribution_is_the_same_law(error: Distribution) -> None:
    law = spreads(error)
    again = spreads(distribution_of(law))
    for bound in (-3.0, -0.51, 0.0, 1.27, 4.0):
        assert again.below(bound, inclusive=False) == pytest.approx(law.below(bound, inclusive=False), abs=1e-9)


MEMBERS = st.lists(st.tuples(st.integers(1, 8), NUMBERS, st.none() | SIMPLE), min_size=1, max_size=5)


@settings(max_examples=30, deadline=None)
@given(MEMBERS, st.sampled_from(["Sum", "Avg", "Min", "Max", "Count", "First", "Last", "Stddev"]))
def test_aggregates_weigh_every_subset(
    drawn_members: list[tuple[int, float, Distribution | None]], function: str
) -> None:
    members = [
        Member(chance / 8, value, None if error is None else law_of(error, value))
        for chance, value, error in drawn_members
    ]
    computed = compute_aggregate(function, members, Calculus(draws=3000))
    generator = np.random.default_rng(5)
    draws = 4000
    there = generator.random((draws, len(members))) < [member.probability for member in members]
    values = np.column_stack([member.true_law.draw(generator, draws) for member in members])
    from cepheus.rules.aggregates import aggregate

    results = [aggregate(function, row[mask].tolist()) for row, mask in zip(values, there, strict=True)]
    defined = [as_float(result) for result in results if result is not None]
    if computed.law is None:
        assert all(result == pytest.approx(computed.value) for result in defined)
        return
    tolerance = 4 * 0.5 / math.sqrt(1500) if function == "Stddev" else 0.0
    if function != "Stddev":
        assert agrees(len(defined) / draws, computed.defined, draws)
    if len(defined) < 200:
        return
    for bound in (-1.03, 0.51, 2.07):
        expected = computed.law.below(bound, inclusive=True)
        share = sum(value <= bound for value in defined) / len(defined)
        assert agrees(share, expected, len(defined)) or abs(share - expected) <= tolerance


def test_many_uncertain_members_are_approximated_within_a_bound() -> None:
    members = [Member(0.5 + k / 100, 20.0 + k % 7, law_of(Normal(0.0, 1.0), 20.0 + k % 7)) for k in range(40)]
    for function in ("Sum", "Avg"):
        computed = compute_aggregate(function, members, Calculus())
        assert 0.0 < computed.bound <= 1.0
        generator = np.random.default_rng(3)
        there = generator.random((20_000, 40)) < [member.probability for member in members]
        values = np.column_stack([member.true_law.draw(generator, 20_000) for member in members])
        totals = (values * there).sum(axis=1) / (there.sum(axis=1) if function == "Avg" else 1)
        assert computed.law is not None
        bound = float(np.quantile(totals, 0.7))
        assert computed.law.below(bound, inclusive=True) == pytest.approx(0.7, abs=0.02)
    exact = compute_aggregate("Sum", members, Calculus(accept=0.55))
    assert isinstance(exact.law, Spreads)
    assert len(exact.law.components) == 2**5
    assert exact.bound == 0.0


def test_errors_of_computed_attributes() -> None:
    scene = Scene({"x": 5.0, "y": 2.0}, {"x": Normal(0.5, 1.0), "y": Uniform(-1.0, 1.0)})

    def error(text: str, value: float) -> Distribution | None:
        (comparison,) = constraints(f"{text} > 0")
        return error_of(comparison.operands[0], value, scene, Calculus(draws=2000))  # type: ignore[union-attr]

    assert error("x", 5.0) == Normal(0.5, 1.0)
    assert error("2*x + 1", 11.0) == Normal(1.0, 4.0)
    assert error("-y/2", -1.0) == Uniform(-0.5, 0.5)
    assert error("x - x", 0.0) is None
    assert str(error("x - y", 3.0)) == "S(N(0.5, 1), U(-1, 1))"
    assert isinstance(error("x*y", 10.0), Samples)


@pytest.mark.parametrize("text", ["draws=0", "ignore=0.9, accept=0.1", "negation='never'", "exact_members=99"])
def test_settings_that_make_no_sense(text: str) -> None:
    with pytest.raises(OptionError):
        eval(f"Calculus({text})", {"Calculus": Calculus})


@pytest.mark.parametrize(
    "make",
    [
        lambda: Normal(0.0, -1.0),
        lambda: Normal(math.nan, 1.0),
        lambda: Uniform(2.0, 1.0),
        lambda: Discrete(((1.0, 0.5),)),
        lambda: Samples(()),
        lambda: Sum(()),
        lambda: Frozen("gamma", (-1.0,)),
        lambda: Frozen("os"),
    ],
)
def test_distributions_that_are_none(make: object) -> None:
    with pytest.raises(EventError) as caught:
        make()  # type: ignore[operator]
    assert caught.value.diagnostics[0].code == "distribution"


@pytest.mark.parametrize("largest", [True, False])
def test_a_least_value_of_members_that_are_hardly_there_is_drawn_at_once(largest: bool) -> None:
    members = ((1e-6, law_of(Normal(0.0, 1.0), 0.0)), (3e-6, law_of(Normal(0.0, 1.0), 4.0)))
    law = Extreme(members, largest, 1.0 - (1.0 - 1e-6) * (1.0 - 3e-6))
    assert law.mean() == pytest.approx(3.0, abs=0.05)  # three in four times the second one alone
