"""From samples to verdicts: an interval for each quantity, and whether it lies where a claim has it.

A claim is confirmed if the 95% confidence intervals of all its parts lie in its region, refuted if one lies wholly
outside, and undecided otherwise. As one part in twenty strays by chance and one is enough to refute a claim, that one
has to lie outside also with an interval as wide as the number of parts asks for. Ratios have their interval on the
scale of logarithms, where halves and doubles are alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from benchmarks.papers.claims.model import (
    Change,
    Claim,
    Level,
    Part,
    Quantity,
    Ratio,
    RatioChange,
    Region,
    Samples,
    Swing,
    Verdict,
    names_of,
)

_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its 95% confidence interval, over so many runs."""

    mean: float
    low: float
    high: float
    runs: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A part of a claim, its interval (None: too few runs to have one) and what that says."""

    part: Part
    interval: Interval | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Judgement:
    """A claim, its findings and its verdict."""

    claim: Claim
    findings: tuple[Finding, ...]
    verdict: Verdict


def interval_of(values: Sequence[float], *, counted: bool = False, level: float = _LEVEL) -> Interval | None:
    """The mean of independent values and its interval by Student's distribution; None for one value that was drawn.

    >>> interval_of([10.0, 12.0, 14.0])
    Interval(mean=12.0, low=7.0317..., high=16.9682..., runs=3)
    """
    if len(values) < 2:
        return Interval(values[0], values[0], values[0], 1) if counted and values else None
    mean = float(np.mean(values))
    half = float(student.ppf(0.5 + level / 2, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values)))
    return Interval(mean, mean - half, mean + half, len(values))


def measured(quantity: Quantity, samples: Samples, level: float = _LEVEL) -> Interval | None:
    """The interval of a quantity over the runs that all its samples have; None if there are too few, or no factors."""
    runs = [samples.get(name, {}) for name in names_of(quantity)]
    rows = [[each[run] for each in runs] for run in sorted(set.intersection(*(set(each) for each in runs)))]
    match quantity:
        case Level(counted=counted):
            return interval_of([value for (value,) in rows], counted=counted, level=level)
        case Change():
            return interval_of([value - less for value, less in rows], level=level)
    if any(value <= 0.0 for row in rows for value in row):
        return None
    match quantity:
        case Ratio():
            factors = [over / under for over, under in rows]
        case RatioChange():
            factors = [a / b * d / c for a, b, c, d in rows]
        case Swing(samples=among):
            cut = len(among)
            factors = [_swing(row[:cut]) / _swing(row[cut:]) for row in rows]
    found = interval_of(
        [math.log(factor) for factor in factors],
        counted=isinstance(quantity, Ratio) and quantity.counted,
        level=level,
    )
    if found is None:
        return None
    return Interval(math.exp(found.mean), math.exp(found.low), math.exp(found.high), found.runs)


def _swing(values: Sequence[float]) -> float:
    """The greatest in relation to the least; 1 for no values."""
    return max(values) / min(values) if values else 1.0


def verdict_of(interval: Interval | None, region: Region) -> Verdict:
    """What an interval says of a region.

    >>> from benchmarks.papers.claims.model import GREATER
    >>> [verdict_of(Interval(0, low, high, 9), GREATER).value for low, high in ((1.1, 1.3), (0.7, 0.9), (0.9, 1.1))]
    ['confirmed', 'refuted', 'undecided']
    """
    if interval is None or not math.isfinite(interval.mean):
        return Verdict.NOT_MEASURED
    if region.low <= interval.low and interval.high <= region.high:
        return Verdict.CONFIRMED
    if interval.high < region.low or interval.low > region.high:
        return Verdict.REFUTED
    return Verdict.UNDECIDED


def judge(claim: Claim, samples: Samples) -> Judgement:
    """Judge a claim by all of its parts."""
    findings = []
    for part in claim.parts:
        interval = measured(part.quantity, samples)
        verdict = verdict_of(interval, claim.region)
        if verdict is Verdict.REFUTED:
            wider = measured(part.quantity, samples, 1.0 - (1.0 - _LEVEL) / len(claim.parts))
            verdict = verdict if verdict_of(wider, claim.region) is Verdict.REFUTED else Verdict.UNDECIDED
        findings.append(Finding(part, interval, verdict))
    return Judgement(claim, tuple(findings), together(finding.verdict for finding in findings))


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on a claim about several things: one that is refuted refutes it, all must confirm it.

    >>> together([Verdict.CONFIRMED, Verdict.UNDECIDED]), together([Verdict.REFUTED, Verdict.NOT_MEASURED])
    (<Verdict.UNDECIDED: 'undecided'>, <Verdict.REFUTED: 'refuted'>)
    """
    found = set(verdicts)
    for worst in (Verdict.REFUTED, Verdict.NOT_MEASURED, Verdict.UNDECIDED):
        if worst in found:
            return worst
    return Verdict.CONFIRMED if found else Verdict.NOT_MEASURED
