"""Verdicts: made-up results on both sides of each threshold, for every claim there is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.papers.claims.judging import Interval, interval_of, judge, measured, together, verdict_of
from benchmarks.papers.claims.model import (
    CHANGE,
    FALLS,
    GREATER,
    GROWS,
    LESS,
    SLIGHTLY_LESS,
    SLIGHTLY_MORE,
    STEADY,
    Change,
    Claim,
    Level,
    Paper,
    Part,
    Quantity,
    Ratio,
    RatioChange,
    Region,
    Swing,
    Verdict,
)
from benchmarks.papers.claims.page import claims_page, findings_in_words, verdict_table
from benchmarks.papers.claims.register import all_claims, groups
from benchmarks.papers.claims.store import load, load_all, save
from benchmarks.papers.deployment.claims import strategy_claims

RUNS = (-1.0, 0.0, 1.0)
"""How far the runs of made-up results lie from their mean, in some measure."""

CLAIMS = [claim for claim in all_claims() if claim.parts]


def made_up(quantity: Quantity, values: Sequence[float]) -> dict[str, dict[int, float]]:
    """Samples that give a quantity these values, one a run."""
    ones = dict.fromkeys(range(len(values)), 7.0)
    given = dict(enumerate(values))
    match quantity:
        case Level(sample=sample):
            return {sample: given}
        case Ratio(over=over, under=under):
            return {under: ones, over: {run: 7.0 * value for run, value in given.items()}}
        case RatioChange(last=last, first=first):
            others = dict.fromkeys((last.under, first.over, first.under), ones)
            return {**others, last.over: {run: 7.0 * value for run, value in given.items()}}
        case Change(sample=sample, less=less):
            return {less: ones, sample: {run: 7.0 + value for run, value in given.items()}}
        case Swing(samples=samples, against=against):
            greatest = {run: 70.0 * value for run, value in given.items()}
            others = {**dict.fromkeys((*against, *samples), ones), samples[-1]: greatest}
            tenfold = {against[-1]: dict.fromkeys(given, 70.0)} if against else {}
            return {**others, **tenfold} if against else {**others, samples[-1]: _scaled(greatest, 0.1)}


def _scaled(runs: dict[int, float], factor: float) -> dict[int, float]:
    return {run: factor * value for run, value in runs.items()}


def near(bound: float, side: int, *, additive: bool) -> list[float]:
    """Runs whose mean lies a little above (1) or below (-1) a bound and which differ by less than that."""
    step = 0.01 * max(abs(bound), 0.01)
    if additive:
        return [bound + side * step + 0.1 * step * run for run in RUNS]
    return [bound * math.exp(0.01 * side + 0.001 * run) for run in RUNS]


def astride(bound: float, *, additive: bool) -> list[float]:
    """Runs whose mean is a bound, so that their interval lies on both sides."""
    step = 0.01 * max(abs(bound), 0.01)
    return [bound + step * run if additive else bound * math.exp(0.001 * run) for run in RUNS]


def bounds(region: Region) -> list[tuple[float, int]]:
    """The bounds of a region that can be crossed, each with the side on which it holds."""
    found = [(region.low, 1), (region.high, -1)]
    return [(bound, side) for bound, side in found if math.isfinite(bound)]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.key)
def test_every_claim_is_confirmed_on_one_side_of_its_thresholds_and_refuted_on_the_other(claim: Claim) -> None:
    assert bounds(claim.region), "a claim that cannot be wrong"
    for bound, side in bounds(claim.region):
        for part in claim.parts:
            additive = isinstance(part.quantity, Level | Change)
            for verdict, runs in (
                (Verdict.CONFIRMED, near(bound, side, additive=additive)),
                (Verdict.REFUTED, near(bound, -side, additive=additive)),
                (Verdict.UNDECIDED, astride(bound, additive=additive)),
            ):
                found = measured(part.quantity, made_up(part.quantity, runs))
                assert verdict_of(found, claim.region) is verdict, (part.of, bound, found)


def test_one_part_refutes_and_all_confirm() -> None:
    for verdict in Verdict:
        assert together([verdict]) is verdict
    assert together([Verdict.CONFIRMED, Verdict.CONFIRMED]) is Verdict.CONFIRMED
    assert together([Verdict.CONFIRMED, Verdict.UNDECIDED]) is Verdict.UNDECIDED
    assert together([Verdict.UNDECIDED, Verdict.NOT_MEASURED]) is Verdict.NOT_MEASURED
    assert together([Verdict.CONFIRMED, Verdict.REFUTED, Verdict.NOT_MEASURED]) is Verdict.REFUTED
    assert together([]) is Verdict.NOT_MEASURED


def test_one_of_many_parts_refutes_only_beyond_what_strays_by_chance() -> None:
    """1.02 to 1.18 with 95%, 0.99 to 1.21 with what ten parts ask for: alone that refutes, one among ten does not."""
    parts = [Part(name, Level(name)) for name in "abcdefghij"]
    samples = {part.of: {run: 0.5 + 0.01 * run for run in range(3)} for part in parts}
    samples["j"] = {run: 1.1 + 0.0323 * step for run, step in enumerate(RUNS)}
    for chosen, verdict in ((parts[-1:], Verdict.REFUTED), (parts, Verdict.UNDECIDED)):
        claim = Claim(Paper.OVERVIEW, "1", "It is less.", "level", LESS, tuple(chosen), "")
        assert judge(claim, samples).verdict is verdict
    samples["j"] = {run: 2.1 + 0.0323 * step for run, step in enumerate(RUNS)}
    assert judge(claim, samples).verdict is Verdict.REFUTED


def test_what_is_zero_has_no_factors() -> None:
    samples = {"a": {1: 1.0, 2: 2.0}, "b": {1: 0.0, 2: 1.0}}
    assert measured(Ratio("a", "b"), samples) is None
    assert measured(Swing(("a", "b")), samples) is None
    assert measured(Change("a", "b"), samples) is not None


def test_one_threshold_for_changes_and_for_none() -> None:
    assert {GROWS.low, STEADY.high, SLIGHTLY_MORE.high} == {1 + CHANGE}
    assert {FALLS.high, STEADY.low, SLIGHTLY_LESS.low} == {1 / (1 + CHANGE)}
    assert {GREATER.low, LESS.high, SLIGHTLY_MORE.low, SLIGHTLY_LESS.high} == {1.0}


def test_intervals() -> None:
    assert interval_of([]) is None
    assert interval_of([5.0]) is None, "one run has no interval"
    assert interval_of([5.0], counted=True) == Interval(5.0, 5.0, 5.0, 1)
    found = interval_of([10.0, 12.0, 14.0])
    assert found is not None
    assert found.high - found.mean == pytest.approx(4.303 * 2 / math.sqrt(3), rel=1e-3)


def test_quantities_are_taken_run_by_run() -> None:
    """What all samples of a run have in common cancels out; runs that one of them lacks do not count."""
    samples = {
        "a": {1: 2.0, 2: 20.0, 3: 200.0, 4: 1.0},
        "b": {1: 1.0, 2: 10.0, 3: 100.0},
        "c": {1: 1.0, 2: 5.0, 3: 1.0},
    }
    found = measured(Ratio("a", "b"), samples)
    assert found is not None
    assert found.runs == 3
    assert [found.low, found.high] == pytest.approx([2.0, 2.0])
    assert measured(Change("a", "b"), samples) == interval_of([1.0, 10.0, 100.0])
    change = measured(RatioChange(Ratio("a", "b"), Ratio("a", "b")), samples)
    assert change is not None
    assert change.mean == pytest.approx(1.0)
    swing = measured(Swing(("a", "b", "c")), samples)
    assert swing is not None
    assert swing.mean == pytest.approx((2 * 4 * 200) ** (1 / 3))
    against = measured(Swing(("a", "b"), ("a", "b")), samples)
    assert against is not None
    assert against.mean == pytest.approx(1.0)
    assert measured(Ratio("a", "nobody"), samples) is None


def test_claims_have_all_that_the_page_shows() -> None:
    keys = [(reading, claim.key) for _, reading, claims in groups() for claim in claims]
    assert len(keys) == len({*keys})
    for claim in all_claims():
        assert claim.sentence
        assert claim.section
        assert claim.quantity
        assert claim.parts or claim.reason, claim.key
        assert claim.command or not claim.parts, claim.key


def test_the_page_of_claims() -> None:
    claim = CLAIMS[0]
    part = claim.parts[0]
    assert "not run" in findings_in_words(judge(claim, {}))
    samples = made_up(part.quantity, near(claim.region.high, -1, additive=True))
    judgement = judge(claim, samples)
    assert "no figure" in findings_in_words(judgement)
    assert len(verdict_table([judgement])) == 3
    text = claims_page(groups(), {})
    for paper, _, claims in groups():
        assert f"## {paper.value}" in text
        assert all(each.sentence in text for each in claims)


def test_the_page_says_how_many_are_undecided_for_want_of_runs() -> None:
    claim = next(each for each in CLAIMS if isinstance(each.parts[0].quantity, Ratio) and len(each.parts) == 1)
    (part,) = claim.parts
    bound, _ = bounds(claim.region)[0]
    for runs, few in ((2, 1), (9, 0)):
        values = (astride(bound, additive=False) * 3)[:runs]
        text = claims_page([(claim.paper, "", [claim])], made_up(part.quantity, values))
        assert f"| {claim.paper.value} | 0 | 0 | 1 | 0 | {few} |" in text
        assert f"| {runs} | **undecided** |" in text


def test_a_reading_of_which_nothing_was_run_is_not_shown_row_by_row() -> None:
    claims = strategy_claims(exponential=True)
    text = claims_page([(claims[0].paper, "rates exponential", claims)], {})
    assert "none has been measured in this reading yet" in text
    assert claims[0].sentence not in text


def test_results_are_kept(tmp_path: Path) -> None:
    assert load("nothing", tmp_path) == {}
    save("some", {"b": {2: 1.5, 1: 0.25}, "a": {1: 123456.7}}, tmp_path)
    assert load("some", tmp_path) == {"a": {1: 123457.0}, "b": {1: 0.25, 2: 1.5}}
    save("more", {"c": {1: 1.0}}, tmp_path)
    assert load_all(tmp_path).keys() == {"a", "b", "c"}
