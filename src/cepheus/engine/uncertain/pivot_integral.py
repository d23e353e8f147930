"""The product of all that asks about one quantity, the pivot, on average over its distribution, compiled.

Adaptive Gauss-Kronrod quadrature, over as much of the line as the product can be more than 0 on, cut where an interval
has no blur of its own.
"""

from __future__ import annotations

import math

import numpy as np

from cepheus.core.distribution_column import ErrorKind
from cepheus.engine.uncertain.spread import inside
from cepheus.engine.uncertain.state import Of
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.memory import fixed, peek, peek_float
from cepheus.kernel.program import Floats
from cepheus.uncertainty.quadrature import GAUSS, KRONROD, NODES, REACH

_NORMAL = int(ErrorKind.NORMAL)

ITEM_HEAD, ITEM_BAND = 4, 10
"""Words of what depends on the pivot: whether it must hold, its weight, its probability alone, and its bands.

Of a band: the pivot's coefficient, the mean, variance and two half widths of the rest, the interval with whether its
ends belong to it, and a point that is left out.
"""

_TOLERANCE = 1e-10
_DEEPEST = 48
_EVEN_CUTS = 7


@compiled
def _over(memory: int, used: int, middle: float, scale: float, low: float, high: float, normal: bool) -> float:
    """Integrate over ``middle + scale * z`` for z between two numbers, a standard Gaussian or evenly spread."""
    if scale == 0.0:
        return _product(memory, used, middle)
    low, high = _inside_of_all(memory, used, middle, scale, low, high)
    if high <= low:
        return 0.0
    cuts = np.empty(_EVEN_CUTS + used, np.float64)  # of the words of a band, each stands for one at most
    count = _cuts(memory, used, middle, scale, low, high, cuts)
    cuts[:count].sort()
    lows, highs = np.empty(_DEEPEST + 2, np.float64), np.empty(_DEEPEST + 2, np.float64)
    total = 0.0
    for k in range(count - 1):
        if cuts[k + 1] <= cuts[k]:
            continue
        lows[0], highs[0], top = cuts[k], cuts[k + 1], 0
        while top >= 0:
            a, b = lows[top], highs[top]
            top -= 1
            centre, half = 0.5 * (a + b), 0.5 * (b - a)
            fine, coarse = 0.0, 0.0
            for node in range(15):
                z = centre + half * NODES[node]
                y = _product(memory, used, middle + scale * z)
                if normal:
                    y *= math.exp(-0.5 * z * z) * 0.3989422804014327
                else:
                    y *= 0.5
                fine += KRONROD[node] * y
                if node & 1:
                    coarse += GAUSS[node >> 1] * y
            if half * abs(fine - coarse) <= _TOLERANCE or top + 2 >= _DEEPEST or half < 1e-12:
                total += half * fine
                continue
            lows[top + 1], highs[top + 1] = centre, b
            lows[top + 2], highs[top + 2] = a, centre
            top += 2
    return total


@compiled
def _product(memory: int, used: int, value: float) -> float:
    """The probability of all that depends on the pivot, given its value."""
    gaussian, items = fixed(memory, Of.GAUSSIAN), fixed(memory, Of.ITEMS)
    total, at = 1.0, 0
    while at < used and total > 0.0:
        item = items + 8 * at
        count = peek(item, 3)
        p = peek_float(item, 1)
        for k in range(count):
            band = item + 8 * (ITEM_HEAD + ITEM_BAND * k)
            p *= inside(
                gaussian,
                peek_float(band, 1) + peek_float(band, 0) * value,
                peek_float(band, 2),
                peek_float(band, 3),
                peek_float(band, 4),
                peek_float(band, 5),
                peek(band, 6) != 0,
                peek_float(band, 7),
                peek(band, 8) != 0,
                peek_float(band, 9),
            )
        total *= p if peek(item, 0) else 1.0 - p
        at += ITEM_HEAD + ITEM_BAND * count
    return total


@compiled
def _inside_of_all(memory: int, used: int, middle: float, scale: float, low: float, high: float) -> tuple[float, float]:
    """Narrow the line down to where the product may be more than 0, as far as bands without blur tell.

    Among hundreds of nearer events, the one that is chosen may be so for a sliver of values alone.
    """
    items, at = fixed(memory, Of.ITEMS), 0
    while at < used:
        item = items + 8 * at
        holds, count = peek(item, 0) != 0, peek(item, 3)
        for k in range(count):
            band = item + 8 * (ITEM_HEAD + ITEM_BAND * k)
            slope = peek_float(band, 0) * scale
            if peek_float(band, 2) > 0.0 or peek_float(band, 3) > 0.0 or slope == 0.0:
                continue
            if peek_float(band, 5) > peek_float(band, 7):  # it never holds
                continue
            centre = peek_float(band, 1) + peek_float(band, 0) * middle
            one, other = (peek_float(band, 5) - centre) / slope, (peek_float(band, 7) - centre) / slope
            first, last = min(one, other), max(one, other)
            if holds:
                low, high = max(low, first), min(high, last)
            elif count == 1 and peek_float(item, 1) == 1.0 and math.isnan(peek_float(band, 9)):
                if first <= low:  # all from here to there is out of the question
                    low = max(low, last)
                elif last >= high:
                    high = min(high, first)
        at += ITEM_HEAD + ITEM_BAND * count
    return low, high


@compiled
def _cuts(memory: int, used: int, middle: float, scale: float, low: float, high: float, cuts: Floats) -> int:
    """Write where the product may jump, bend or turn quickly, and some points between; give how many there are."""
    count = 0
    for k in range(_EVEN_CUTS):
        cuts[count] = low + (high - low) * k / (_EVEN_CUTS - 1.0)
        count += 1
    items, at = fixed(memory, Of.ITEMS), 0
    while at < used:
        item = items + 8 * at
        for k in range(peek(item, 3)):
            band = item + 8 * (ITEM_HEAD + ITEM_BAND * k)
            slope, variance = peek_float(band, 0) * scale, peek_float(band, 2)
            wide, narrow = peek_float(band, 3), peek_float(band, 4)
            if variance > 0.25 * slope * slope:
                continue
            for end in range(5, 9, 2):
                z = (peek_float(band, end) - peek_float(band, 1) - peek_float(band, 0) * middle) / slope
                for side in range(5):
                    reach = (wide + narrow, wide - narrow, 0.0, narrow - wide, -wide - narrow)[side]
                    if side != 2 and wide == 0.0:
                        continue
                    cut = z + reach / slope
                    if low < cut < high:
                        cuts[count] = cut
                        count += 1
        at += ITEM_HEAD + ITEM_BAND * peek(item, 3)
    return count


@inlined
def integral(memory: int, used: int, error: int, value: float) -> float:
    """The product over the list, on average over the pivot of an error and observed value."""
    first, second = peek_float(error, 1), peek_float(error, 2)
    if peek(error, 0) == _NORMAL:
        return _over(memory, used, value - first, math.sqrt(second), -REACH, REACH, True)
    middle, half = value - 0.5 * (first + second), 0.5 * (second - first)
    return _over(memory, used, middle, half, -1.0, 1.0, False)
