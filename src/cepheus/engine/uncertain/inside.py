"""The probability that a spread around a mean lies in an interval, compiled."""

from __future__ import annotations

import math

from cepheus.engine.uncertain.forms import spread_cdf
from cepheus.engine.uncertain.gaussian import standard_cdf
from cepheus.kernel.compiled import inlined
from cepheus.uncertainty.closed_forms import FAR


@inlined
def widened(wide: float, narrow: float, width: float) -> tuple[float, float]:
    """Add a half width to the two there may be."""
    if width > wide:
        return width, wide
    return wide, max(narrow, width)


@inlined
def normal_inside(gaussian: int, mean: float, scale: float, low: float, high: float) -> float:
    """Give the probability that a Gaussian lies between two numbers; ``scale`` is one over its standard deviation.

    Nothing is the answer if something is no number.
    """
    top, bottom = (high - mean) * scale, (low - mean) * scale
    if not (top >= -FAR and bottom <= FAR):
        return 0.0
    upper = 1.0 if top > FAR else standard_cdf(gaussian, top)
    lower = 0.0 if bottom < -FAR else standard_cdf(gaussian, bottom)
    return max(upper - lower, 0.0)


@inlined
def inside(
    gaussian: int,
    mean: float,
    variance: float,
    wide: float,
    narrow: float,
    low: float,
    low_inside: bool,
    high: float,
    high_inside: bool,
    excluded: float,
) -> float:
    """Give the probability that a spread around a mean lies in an interval."""
    if variance == 0.0 and wide == 0.0:
        above = mean > low or (low_inside and mean == low)
        below = mean < high or (high_inside and mean == high)
        return 1.0 if above and below and mean != excluded else 0.0
    if wide == 0.0:
        return normal_inside(gaussian, mean, 1.0 / math.sqrt(variance), low, high)
    sd = math.sqrt(variance)
    upper = 1.0 if high == math.inf else spread_cdf(high - mean, sd, wide, narrow)
    lower = 0.0 if low == -math.inf else spread_cdf(low - mean, sd, wide, narrow)
    return max(upper - lower, 0.0)
