"""A probability together with how it was found and how far it can be trusted."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

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
