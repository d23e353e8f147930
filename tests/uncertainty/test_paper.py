"""Every worked number of the paper on uncertainty, as printed and as its own model has it.

The paper's arithmetic slips in four places, and each is pinned here. P(U(15.2, 17.2) < 17.1) is 0.95, not 0.9 (which is
the value for 17.0). The position 10.3 becomes 10.2 and the difference 0.3. Sums of variances are used as if they were
standard deviations where kilometres are compared. And the negation formula 1 - prod(p) is printed for prod(1 - p).
"""

from __future__ import annotations

import pytest

import cepheus
from cepheus.core.calculus import Calculus
from cepheus.core.distribution import Distribution, Normal, Uniform
from cepheus.core.event import Event
from cepheus.engine.reference.engine import ReferenceEngine
from cepheus.uncertainty.verdict import Reason, Verdict

SECOND = 1_000_000
STANDARD = Normal(0.0, 1.0)

SELECTION = "define TVS_Malfun() from Temp(km < {bound} and value > 30)"
COMBINATION = """
define TVS_Malfun(km: double, temp: double)
from   Oxygen(km=$a) and last Temp($a-10 < km < $a+10 and value>30) within 5 min. from Oxygen
where  km=Oxygen.km and temp=Temp.value
"""
NEGATION = """
define TVS_Malfun()
from   Temp(km=$a and value>30) and not TrafficJam($a-10 < km < $a+10) within 5 min. from Temp
"""
AGGREGATION = (
    "define TVS_Malfun(t: double) from Oxygen() and 30 < $t=Avg(Temp().value within 5 min. from Oxygen) where t=$t"
)


def event(kind: str, time: int, **attributes: tuple[float, Distribution]) -> Event:
    values = {name: value for name, (value, _) in attributes.items()}
    return Event(kind, time * SECOND, values, errors={name: error for name, (_, error) in attributes.items()})


def run(rule: str, events: list[Event], calculus: Calculus | None = None) -> tuple[Event, Verdict]:
    told: list[tuple[Event, Verdict]] = []
    program = cepheus.compile(rule)
    engine = ReferenceEngine(
        calculus=calculus or Calculus(), observe=lambda made, verdict: told.append((made, verdict))
    )
    engine.deploy(program.rules.rules, program.inputs)
    for given in events:
        engine.feed_event(given)
    ((made, verdict),) = told
    assert verdict.estimate.probability == made.probability
    return made, verdict


def constraints(verdict: Verdict) -> list[float]:
    return [factor.estimate.probability for factor in verdict.factors if factor.reason is Reason.CONSTRAINT]


@pytest.mark.parametrize(("bound", "km", "both"), [(17.0, 0.9, 0.868), (17.1, 0.95, 0.916)])
def test_selection(bound: float, km: float, both: float) -> None:
    reading = event("Temp", 13, km=(16.2, Uniform(-1.0, 1.0)), value=(31.8, STANDARD))
    made, verdict = run(SELECTION.format(bound=bound), [reading])
    assert constraints(verdict) == pytest.approx([km, 0.964], abs=5e-4)
    assert made.probability == pytest.approx(both, abs=5e-4)


def test_combination_and_production() -> None:
    events = [
        event("Temp", 10, km=(10.5, STANDARD), value=(31.8, STANDARD)),
        event("Oxygen", 12, km=(10.3, Normal(0.0, 2.0))),
    ]
    made, verdict = run(COMBINATION, events)
    near, hot = constraints(verdict)
    assert near == pytest.approx(1.0, abs=1e-7)
    assert hot == pytest.approx(0.964, abs=5e-4)
    assert made.attributes == {"km": 10.3, "temp": 31.8}
    assert made.errors == {"km": Normal(0.0, 2.0), "temp": STANDARD}


def test_combination_as_printed() -> None:
    """N(0.3, 3) read as a deviation of 3 gives the printed 0.999 and 0.963."""
    events = [
        event("Temp", 10, km=(10.5, Normal(0.0, 3.0)), value=(31.8, STANDARD)),
        event("Oxygen", 12, km=(10.2, Normal(0.0, 6.0))),
    ]
    made, verdict = run(COMBINATION, events)
    assert constraints(verdict) == pytest.approx([0.999, 0.964], abs=5e-4)
    assert made.probability == pytest.approx(0.963, abs=5e-4)


def jams(first: float, second: float) -> list[Event]:
    return [
        event("TrafficJam", 10, km=(25.3, Normal(0.0, first))),
        event("TrafficJam", 12, km=(24.8, Normal(0.0, second))),
        event("Temp", 14, km=(10.5, STANDARD), value=(31.8, STANDARD)),
    ]


@pytest.mark.parametrize(("formula", "absent", "both"), [("as-printed", 0.992, 0.956), ("independent", 0.814, 0.785)])
def test_negation_as_printed(formula: str, absent: float, both: float) -> None:
    """Sums of variances read as deviations of 3 and 4 give the printed 0.055 and 0.141.

    Both jams are near to the same uncertain kilometre: that none is there is not just a product.
    """
    made, verdict = run(NEGATION, jams(8.0, 15.0), Calculus(negation=formula))  # type: ignore[arg-type]
    (negation,) = (factor for factor in verdict.factors if factor.reason is Reason.NEGATION)
    assert sorted(probability for _, probability in negation.details) == pytest.approx([0.055, 0.141], abs=5e-4)
    assert negation.estimate.probability == pytest.approx(absent, abs=5e-4)
    assert made.probability == pytest.approx(both, abs=7e-4)


def test_negation_corrected() -> None:
    made, verdict = run(NEGATION, jams(2.0, 3.0))
    (negation,) = (factor for factor in verdict.factors if factor.reason is Reason.NEGATION)
    assert sorted(probability for _, probability in negation.details) == pytest.approx([0.00279, 0.01578], abs=5e-6)
    assert negation.estimate.probability == pytest.approx(0.981694, abs=1e-6)  # 4,000,000 draws say 0.981685
    assert made.probability == pytest.approx(0.946, abs=5e-4)


def test_aggregation_is_the_papers_gaussian() -> None:
    values, variances = [31.0, 30.5, 32.0], [1.0, 2.0, 0.5]
    events = [
        event("Temp", k, value=(v, Normal(0.0, s))) for k, (v, s) in enumerate(zip(values, variances, strict=True))
    ]
    made, _ = run(AGGREGATION, [*events, Event("Oxygen", 60 * SECOND)])
    assert made.attributes["t"] == pytest.approx(sum(values) / 3)
    error = made.errors["t"]
    assert isinstance(error, Normal)
    assert (error.mean, error.variance) == pytest.approx((0.0, sum(variances) / 9))
    deviation = (sum(variances) / 9) ** 0.5
    from scipy import stats

    assert made.probability == pytest.approx(stats.norm.sf(30.0, sum(values) / 3, deviation), abs=1e-12)


def test_aggregate_over_uncertain_members_weighs_every_subset() -> None:
    rule = """define M(t: double) from Oxygen(km=$a) and
    30 < $t=Avg(Temp($a-10 < km < $a+10).value within 5 min. from Oxygen) where t=$t"""
    temps = [
        event("Temp", 1, km=(21.0, STANDARD), value=(31.0, STANDARD)),
        event("Temp", 2, km=(20.5, STANDARD), value=(33.0, STANDARD)),
    ]
    made, _ = run(rule, [*temps, Event("Oxygen", 9 * SECOND, {"km": 11.0})])
    from scipy import stats

    first, second = stats.norm.cdf(0.0), stats.norm.cdf(0.5)
    both = first * second * stats.norm.sf(30, 32, 0.5**0.5)
    alone = first * (1 - second) * stats.norm.sf(30, 31, 1) + (1 - first) * second * stats.norm.sf(30, 33, 1)
    assert made.probability == pytest.approx(both + alone, abs=1e-12)


def test_hierarchies_forget_the_past() -> None:
    rules = """
    rule R1 define CE(attr: double) from SE(attr>10) where CE.attr = SE.attr
    rule R2 define CE2() from CE(attr>20)
    """
    program = cepheus.compile(rules)
    engine = ReferenceEngine()
    engine.deploy(program.rules.rules, program.inputs)
    lower, upper = engine.feed_event(event("SE", 1, attr=(11.0, Normal(0.0, 25.0))))
    from scipy import stats

    assert lower.probability == pytest.approx(stats.norm.sf(10, 11, 5))
    assert upper.probability == pytest.approx(stats.norm.sf(20, 11, 5))  # CE counts as certain, its error stays


def test_an_untrusted_event_is_neither_delivered_nor_fed_on() -> None:
    rules = """
    rule R1 define CE(attr: double) from SE(attr>10) where CE.attr = SE.attr min probability 0.6
    rule R2 define CE2() from CE()
    """
    program = cepheus.compile(rules)
    engine = ReferenceEngine()
    engine.deploy(program.rules.rules, program.inputs)
    assert engine.feed_event(event("SE", 1, attr=(11.0, Normal(0.0, 25.0)))) == []
    assert len(engine.feed_event(event("SE", 2, attr=(12.0, Normal(0.0, 25.0))))) == 2
