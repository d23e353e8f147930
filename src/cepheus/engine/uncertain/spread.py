"""The probability that a value spread around a mean lies in an interval, compiled.

The closed forms are compiled from the plain functions that define them. The distribution function of the standard
Gaussian is read off a table, a few times faster than ``erfc``: between two points of the table it is a polynomial about
the nearer one (Taylor's), whose coefficients (Hermite polynomials times the density) are in the table, too. That is
exact to 1e-15, and to ten digits of itself far out in the tail.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.memory import fixed_float, whole
from cepheus.kernel.parts import with_parts
from cepheus.kernel.program import Words
from cepheus.uncertainty import closed_forms
from cepheus.uncertainty.closed_forms import FAR


def _all_closed() -> dict[str, Any]:
    known: dict[str, Any] = {}
    for name in (
        "settled",
        "normal_density",
        "normal_cdf",
        "_once",
        "_twice",
        "_uniform_normal",
        "_two_uniform_normal",
        "_two_uniform",
        "_lower",
        "spread_cdf",
    ):
        known[name] = compiled(with_parts(getattr(closed_forms, name), **known))
    return known


_FORMS = _all_closed()
settled = cast(Callable[[float], float], _FORMS["settled"])
spread_cdf = cast(Callable[[float, float, float, float], float], _FORMS["spread_cdf"])


_PER_UNIT = 64.0
_STEP = 1.0 / _PER_UNIT
_EDGE = float(math.ceil(closed_forms.FAR))
_ROW = 6


def gaussian_table() -> Words:
    """Make the table: for each point the value there and the coefficients of the powers of the distance from it."""
    rows = []
    for k in range(int(2 * _EDGE * _PER_UNIT) + 1):
        z = k * _STEP - _EDGE
        square = z * z
        hermite = (1.0, -z, square - 1.0, -z * (square - 3.0), square * (square - 6.0) + 3.0)
        density = closed_forms.normal_density(z)
        slopes = [density * h / math.factorial(power) for power, h in enumerate(hermite, 1)]
        rows.append((closed_forms.normal_cdf(z), *slopes))
    return np.array(rows).view(np.int64)


@inlined
def standard_cdf(gaussian: int, z: float) -> float:
    """The probability that a standard Gaussian is at most ``z``, which must not be further than ``FAR`` from 0.

    ``gaussian`` is the address of the table.
    """
    place = whole((z + _EDGE) * _PER_UNIT + 0.5)
    row = gaussian + 8 * _ROW * place
    d = z - (place * _STEP - _EDGE)
    square = d * d
    low = fixed_float(row, 0) + fixed_float(row, 1) * d
    middle = fixed_float(row, 2) + fixed_float(row, 3) * d
    high = fixed_float(row, 4) + fixed_float(row, 5) * d
    return low + square * (middle + square * high)


@inlined
def widened(wide: float, narrow: float, width: float) -> tuple[float, float]:
    """Add a half width to the two there may be."""
    if width > wide:
        return width, wide
    return wide, max(narrow, width)


@inlined
def normal_inside(gaussian: int, mean: float, scale: float, low: float, high: float) -> float:
    """Work out the probability that a Gaussian lies between two numbers; ``scale`` is one over its standard deviation.

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
    """The probability that a spread around a mean lies in an interval."""
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
