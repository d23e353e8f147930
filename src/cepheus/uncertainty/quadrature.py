"""Expected values by adaptive Gauss-Kronrod quadrature, of functions that take many arguments at once.

The line is cut where the function may jump or bend; each piece is worked out with 7 and with 15 points, and halved as
long as the two differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from cepheus.uncertainty.laws import Component, Floats, Foreign, Law, Spreads

Function = Callable[[Floats], Floats]

REACH = 8.3
"""Standard deviations beyond which nothing of a Gaussian is left that counts."""

_TOLERANCE = 1e-11
_ROUNDS = 40
_MOST_PIECES = 20_000

_HALF = (
    0.991455371120812639206854697526329,
    0.949107912342758524526189684047851,
    0.864864423359769072789712788640926,
    0.741531185599394439863864773280788,
    0.586087235467691130294144691693013,
    0.405845151377397166906606412076961,
    0.207784955007898467600689403773245,
)
_HALF_KRONROD = (
    0.022935322010529224963732008058970,
    0.063092092629978553290700663189204,
    0.104790010322250183839876322541518,
    0.140653259715525918745189590510238,
    0.169004726639267902826583426598550,
    0.190350578064785409913256402421014,
    0.204432940075298892414161999234649,
)
_HALF_GAUSS = (
    0.129484966168869693270611432679082,
    0.279705391489276667901467771423780,
    0.381830050505118944950369775488975,
)
NODES = np.array([*(-node for node in _HALF), 0.0, *reversed(_HALF)])
KRONROD = np.array([*_HALF_KRONROD, 0.209482141084727828012999174891714, *reversed(_HALF_KRONROD)])
GAUSS = np.array([*_HALF_GAUSS, 0.417959183673469387755102040816327, *reversed(_HALF_GAUSS)])


def is_integrable(law: Law) -> bool:
    """Whether functions can be integrated over a law."""
    if isinstance(law, Foreign):
        return law.has_density
    return isinstance(law, Spreads) and not any(_is_compound(component) for component in law.components)


def mean_of(law: Law, function: Function, breaks: Iterable[float]) -> tuple[float, float]:
    """The expected value of a function between 0 and 1 under an integrable law, and how far off it may be.

    ``breaks`` are values at which the function may jump or bend.
    """
    cuts = sorted(set(breaks))
    if isinstance(law, Foreign):
        shares = [share for cut in cuts if 0.0 < (share := law.below(cut, inclusive=True)) < 1.0]
        return integrate(
            lambda share: function(law.quantiles(share)), [1e-13, *_even(0.0, 1.0, 8), *shares, 1.0 - 1e-13]
        )
    assert isinstance(law, Spreads)
    total = error = 0.0
    for component in law.components:
        value, inaccuracy = _over(component, function, cuts)
        total += component.weight * value
        error += component.weight * inaccuracy
    return total, error


def _is_compound(component: Component) -> bool:
    return len(component.widths) > 1 or (bool(component.widths) and component.variance > 0.0)


def _even(low: float, high: float, pieces: int) -> list[float]:
    return [low + (high - low) * k / pieces for k in range(1, pieces)]


def _over(component: Component, function: Function, cuts: Sequence[float]) -> tuple[float, float]:
    mean = component.mean
    if component.is_point:
        return float(function(np.array([mean]))[0]), 0.0
    if component.widths:
        (width,) = component.widths
        low, high = mean - width, mean + width
        total, error = integrate(function, [low, *_even(low, high, 4), *cuts, high])
        return total / (2.0 * width), error / (2.0 * width)
    sd = math.sqrt(component.variance)
    scaled = [(cut - mean) / sd for cut in cuts]

    def weighted(z: Floats) -> Floats:
        return np.asarray(np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) * function(mean + sd * z))

    return integrate(weighted, [-REACH, *_even(-REACH, REACH, 12), *scaled, REACH])


def integrate(function: Function, edges: Sequence[float]) -> tuple[float, float]:
    """The integral from the first edge to the last, and how far off it may be; edges in between cut the way.

    >>> total, error = integrate(lambda x: np.where(x < 0.3, 1.0, 0.0), [0.0, 0.3, 1.0])
    >>> round(total, 12), error < 1e-12
    (0.3, True)
    """
    first, last = edges[0], edges[-1]
    inner = sorted({edge for edge in edges if first <= edge <= last})
    low, high = np.array(inner[:-1]), np.array(inner[1:])
    total = error = 0.0
    made = 0
    for turn in range(_ROUNDS):
        centre, half = 0.5 * (low + high), 0.5 * (high - low)
        values = function((centre[:, None] + half[:, None] * NODES).ravel()).reshape(-1, len(NODES))
        fine = half * (values @ KRONROD)
        off = np.abs(fine - half * (values[:, 1::2] @ GAUSS))
        made += len(low)
        share = _TOLERANCE * np.maximum((high - low) / (last - first), 1e-3)
        bad = (off > share) & (half > 1e-13 * (last - first))
        if turn == _ROUNDS - 1 or made > _MOST_PIECES:
            bad[:] = False
        total += float(fine[~bad].sum())
        error += float(off[~bad].sum())
        if not bad.any():
            break
        low, centre, high = low[bad], centre[bad], high[bad]
        low, high = np.concatenate([low, centre]), np.concatenate([centre, high])
    return total, error
