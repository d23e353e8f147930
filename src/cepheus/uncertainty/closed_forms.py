"""Closed forms of probability: plain functions of numbers, which a compiled engine compiles as they stand.

A spread is what surrounds a mean: a Gaussian part of standard deviation ``sd`` plus at most two uniform parts of half
widths ``wide >= narrow``, all independent and symmetric about zero. Sums and differences of Normal, Uniform and
discrete quantities are mixtures of such spreads, shifted.
"""

from __future__ import annotations

import math

NEGLIGIBLE = 1e-12
"""A probability nearer to 0 or to 1 than this is taken for 0 or 1: rounding errors are of that size."""

FAR = 7.2
"""Standard deviations beyond which what is left of a Gaussian is less than negligible."""

_SQRT_HALF = math.sqrt(0.5)
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)
_THIN = 1e-3


def settled(probability: float) -> float:
    """A probability without rounding errors that lead out of [0, 1] or keep it from being 0 or 1.

    >>> settled(-1e-17), settled(0.3), settled(1 - 1e-15)
    (0.0, 0.3, 1.0)
    """
    if probability < NEGLIGIBLE:
        return 0.0
    return 1.0 if probability > 1.0 - NEGLIGIBLE else probability


def normal_density(z: float) -> float:
    """The density of the standard Gaussian."""
    return _DENSITY * math.exp(-0.5 * z * z)


def normal_cdf(z: float) -> float:
    """The probability that a standard Gaussian is at most ``z``.

    >>> round(normal_cdf(1.8), 3)
    0.964
    """
    return 0.5 * math.erfc(-z * _SQRT_HALF)


def spread_cdf(t: float, sd: float, wide: float, narrow: float) -> float:
    """The probability that a spread is at most ``t``; a spread of no width is the point 0.

    >>> spread_cdf(0.0, 0.0, 0.0, 0.0), spread_cdf(0.5, 0.0, 1.0, 0.0), round(spread_cdf(0.0, 2.0, 1.0, 0.5), 9)
    (1.0, 0.75, 0.5)
    """
    if sd == 0.0 and wide == 0.0:
        return 1.0 if t >= 0.0 else 0.0
    if t > 0.0:  # by symmetry; the lower tail loses no digits
        return 1.0 - _lower(-t, sd, wide, narrow)
    return _lower(t, sd, wide, narrow)


def _lower(t: float, sd: float, wide: float, narrow: float) -> float:
    """The distribution function of a spread that has some width, for ``t <= 0``."""
    if wide == 0.0:
        return normal_cdf(t / sd)
    if sd == 0.0:
        return _two_uniform(t, wide, narrow)
    if narrow == 0.0:
        return _uniform_normal(t, sd, wide)
    return _two_uniform_normal(t, sd, wide, narrow)


def _two_uniform(t: float, wide: float, narrow: float) -> float:
    """The distribution function of the trapezium that two uniform spreads make, for ``t <= 0``."""
    if t >= narrow - wide:
        return (t + wide) / (2.0 * wide)
    reach = t + wide + narrow
    return reach * reach / (8.0 * wide * narrow) if reach > 0.0 else 0.0


def _once(z: float) -> float:
    """The integral of the standard Gaussian's distribution function up to ``z``."""
    return z * normal_cdf(z) + normal_density(z)


def _twice(z: float) -> float:
    """The integral of ``_once`` up to ``z``."""
    return 0.5 * ((z * z + 1.0) * normal_cdf(z) + z * normal_density(z))


def _uniform_normal(t: float, sd: float, width: float) -> float:
    if width < _THIN * sd:  # the difference below would lose its digits; the third term is below 1e-13
        z, ratio = t / sd, width / sd
        return normal_cdf(z) - z * normal_density(z) * ratio * ratio / 6.0
    return (_once((t + width) / sd) - _once((t - width) / sd)) * sd / (2.0 * width)


def _two_uniform_normal(t: float, sd: float, wide: float, narrow: float) -> float:
    if narrow < _THIN * sd:
        upper, lower = normal_density((t + wide) / sd), normal_density((t - wide) / sd)
        if wide < _THIN * sd:
            z = t / sd
            bend = -z * normal_density(z) / (sd * sd)
        else:
            bend = (upper - lower) / (2.0 * wide * sd)
        return _uniform_normal(t, sd, wide) + bend * narrow * narrow / 6.0
    both, apart = wide + narrow, wide - narrow
    corners = _twice((t + both) / sd) - _twice((t + apart) / sd) - _twice((t - apart) / sd) + _twice((t - both) / sd)
    return corners * sd * sd / (4.0 * wide * narrow)
