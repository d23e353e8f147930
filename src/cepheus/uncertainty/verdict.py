"""Probabilities with how they were found, how far they can be trusted, and every factor that they come from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from cepheus.core.calculus import NegationFormula
from cepheus.core.event import Event
from cepheus.uncertainty.closed_forms import settled


class Method(Enum):
    """How a probability was found, from the most to the least precise."""

    CERTAIN = "certain"
    CLOSED = "closed form"
    ENUMERATED = "all outcomes"
    QUADRATURE = "quadrature"
    APPROXIMATED = "approximation"
    SIMULATED = "simulation"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A probability, how it was found, and its standard error (0 where it is exact but for rounding)."""

    probability: float
    method: Method = Method.CERTAIN
    standard_error: float = 0.0


CERTAIN = Estimate(1.0)
IMPOSSIBLE = Estimate(0.0)

_ORDER = {method: place for place, method in enumerate(Method)}


def conjunction(estimates: Iterable[Estimate]) -> Estimate:
    """The probability that independent events all occur, with the error of the product.

    >>> conjunction([Estimate(0.5), Estimate(0.5, Method.SIMULATED, 0.01)])
    Estimate(probability=0.25, method=<Method.SIMULATED: 'simulation'>, standard_error=0.005)
    """
    estimates = list(estimates)
    total = math.prod(estimate.probability for estimate in estimates)
    method = max((estimate.method for estimate in estimates), key=_ORDER.__getitem__, default=Method.CERTAIN)
    variance = math.fsum(
        (estimate.standard_error * total / estimate.probability) ** 2
        for estimate in estimates
        if estimate.standard_error and estimate.probability
    )
    return Estimate(settled(total), method, math.sqrt(variance))


class Reason(Enum):
    """What a factor of a probability comes from."""

    EVENT = "event"
    CONSTRAINT = "constraint"
    NEGATION = "negation"
    CHOICE = "choice"
    AGGREGATE = "aggregate"
    JOINT = "together"
    NETWORK = "network"
    RULE = "rule"


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor: what it comes from, in words, and its probability; ``details`` are what it was made of in turn."""

    reason: Reason
    text: str
    estimate: Estimate
    details: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The probability of a match: the product of its factors."""

    factors: tuple[Factor, ...]

    @property
    def estimate(self) -> Estimate:
        """The probability with its standard error."""
        return conjunction(factor.estimate for factor in self.factors)

    def __str__(self) -> str:
        lines = []
        for factor in self.factors:
            estimate = factor.estimate
            error = f" ± {estimate.standard_error:.2g}" if estimate.standard_error else ""
            lines.append(f"{estimate.probability:.6f}{error}  {factor.reason.value}: {factor.text}")
            lines += [f"    {probability:.6f}  {text}" for text, probability in factor.details]
        return "\n".join(lines)


Observer = Callable[[Event, Verdict], None]
"""Is told of a composite event and why it has its probability."""


def absence(probabilities: Sequence[float], formula: NegationFormula) -> Estimate:
    """The probability that none of the events occurs that a negation would match with these probabilities.

    >>> round(absence([0.055, 0.141], "independent").probability, 3)
    0.812
    >>> round(absence([0.055, 0.141], "as-printed").probability, 3)
    0.992
    """
    possible = [probability for probability in probabilities if probability > 0.0]
    if not possible:
        return Estimate(1.0)
    total = 1.0
    for probability in possible:
        total *= probability if formula == "as-printed" else 1.0 - probability
    uncertain = any(probability < 1.0 for probability in possible)
    return Estimate(
        settled(1.0 - total if formula == "as-printed" else total), Method.CLOSED if uncertain else Method.CERTAIN
    )
