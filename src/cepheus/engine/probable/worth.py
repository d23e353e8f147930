"""What bands are worth, compiled: the probability that a linear form of uncertain values lies in an interval."""

from __future__ import annotations

import math

from cepheus.core.error_column import ErrorKind
from cepheus.engine.columns.machine import all_hold, compute
from cepheus.engine.columns.memory import (
    At,
    fixed,
    fixed_float,
    number,
    peek,
    peek_float,
    poke,
    table,
    whole,
    word,
)
from cepheus.engine.probable.compiled import compiled, inlined, settled, spread_cdf
from cepheus.engine.probable.gaussian import standard_cdf
from cepheus.engine.probable.state import Of
from cepheus.engine.probable.tables import BandField, BoundField, SpreadField, TermField
from cepheus.uncertainty.closed_forms import FAR

_BAND_BYTES = 8 * len(BandField)
_TERM_BYTES = 8 * len(TermField)
_BOUND_BYTES = 8 * len(BoundField)
_SPREAD_BYTES = 8 * len(SpreadField)
_NORMAL, _UNIFORM, _OTHER = int(ErrorKind.NORMAL), int(ErrorKind.UNIFORM), int(ErrorKind.OTHER)


@inlined
def error_at(context: int, memory: int, term: int) -> int:
    """Give the address of a term's error: kind and two parameters."""
    position = fixed(term, TermField.POSITION)
    if position < 0:
        return fixed(memory, Of.RESULT_ERRORS) + 24 * fixed(term, TermField.ERROR_SLOT)
    base = word(context, At.BOUND, position)
    return fixed(context, At.STORE) + 8 * (base + fixed(term, TermField.ERROR_SLOT))


@inlined
def _value_of(context: int, term: int) -> float:
    """Give the observed value of a term."""
    position = fixed(term, TermField.POSITION)
    if position < 0:
        if fixed(term, TermField.IS_INTEGER):
            return float(word(context, At.RESULTS, fixed(term, TermField.SLOT)))
        return number(context, At.RESULTS, fixed(term, TermField.SLOT))
    place = word(context, At.BOUND, position) + fixed(term, TermField.SLOT)
    if fixed(term, TermField.IS_INTEGER):
        return float(word(context, At.STORE, place))
    return number(context, At.STORE, place)


@inlined
def _is_defined(context: int, term: int) -> bool:
    position = fixed(term, TermField.POSITION)
    return position >= 0 or word(context, At.RESULTS_DEFINED, fixed(term, TermField.SLOT)) != 0


@compiled
def band_worth(context: int, memory: int, band: int) -> float:
    """Give the probability of a band for the events bound so far."""
    row = fixed(memory, Of.BANDS) + _BAND_BYTES * band
    begin, end = fixed(row, BandField.TERMS), fixed(row, BandField.TERMS_END)
    terms = fixed(memory, Of.TERMS)
    mean, variance, wide, narrow = 0.0, 0.0, 0.0, 0.0
    uncertain, several = False, False
    for at in range(begin, end):
        term = terms + _TERM_BYTES * at
        if not _is_defined(context, term):
            return 0.0
        error = error_at(context, memory, term)
        kind = peek(error, 0)
        coefficient = fixed_float(term, TermField.COEFFICIENT)
        value = _value_of(context, term)
        if kind == 0:
            mean += coefficient * value
            continue
        uncertain = True
        first, second = peek_float(error, 1), peek_float(error, 2)
        if kind == _NORMAL:
            mean += coefficient * (value - first)
            variance += coefficient * coefficient * second
        elif kind == _UNIFORM:
            mean += coefficient * (value - 0.5 * (first + second))
            wide, narrow = _widened(wide, narrow, abs(coefficient) * 0.5 * (second - first))
        else:
            several = True
    if not uncertain:
        if all_hold(context, fixed(row, BandField.CONSTRAINTS), fixed(row, BandField.CONSTRAINTS_END)):
            return 1.0
        return 0.0
    low, low_inside, high, high_inside = -math.inf, False, math.inf, False
    excluded = math.nan
    for at in range(fixed(row, BandField.BOUNDS), fixed(row, BandField.BOUNDS_END)):
        bound = fixed(memory, Of.BOUNDS) + _BOUND_BYTES * at
        limit = fixed_float(bound, BoundField.CONSTANT)
        code = fixed(bound, BoundField.CODE)
        if code >= 0:
            if not compute(context, code):
                return 0.0
            limit = number(context, At.STACK, 0)
        operator = fixed(bound, BoundField.OPERATOR)
        if operator == 1:
            excluded = limit
        if operator == 0 or operator >= 4:
            inside = operator != 4
            if limit > low or (limit == low and not inside):
                low, low_inside = limit, inside
        if operator == 0 or operator == 2 or operator == 3:
            inside = operator != 2
            if limit < high or (limit == high and not inside):
                high, high_inside = limit, inside
    if low > high:
        return 0.0
    if several:
        return settled(_mixed(context, memory, row, low, low_inside, high, high_inside, excluded))
    gaussian = fixed(memory, Of.GAUSSIAN)
    return settled(_inside(gaussian, mean, variance, wide, narrow, low, low_inside, high, high_inside, excluded))


@inlined
def _widened(wide: float, narrow: float, width: float) -> tuple[float, float]:
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
def _inside(
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


@compiled
def _mixed(
    context: int,
    memory: int,
    row: int,
    low: float,
    low_inside: bool,
    high: float,
    high_inside: bool,
    excluded: float,
) -> float:
    """Give the probability of a form of which some terms have several components, going through all combinations."""
    begin, end = fixed(row, BandField.TERMS), fixed(row, BandField.TERMS_END)
    terms = fixed(memory, Of.TERMS)
    places, gaussian = fixed(memory, Of.PLACES), fixed(memory, Of.GAUSSIAN)
    for k in range(end - begin):
        poke(places, k, 0)
    total = 0.0
    more = True
    while more:
        weight, mean, variance, wide, narrow = 1.0, 0.0, 0.0, 0.0, 0.0
        for k in range(end - begin):
            term = terms + _TERM_BYTES * (begin + k)
            error = error_at(context, memory, term)
            kind = peek(error, 0)
            coefficient = fixed_float(term, TermField.COEFFICIENT)
            value = _value_of(context, term)
            first, second = peek_float(error, 1), peek_float(error, 2)
            if kind == 0:
                mean += coefficient * value
            elif kind == _NORMAL:
                mean += coefficient * (value - first)
                variance += coefficient * coefficient * second
            elif kind == _UNIFORM:
                mean += coefficient * (value - 0.5 * (first + second))
                wide, narrow = _widened(wide, narrow, abs(coefficient) * 0.5 * (second - first))
            else:
                at = table(memory, Of.RANGES, 2 * whole(first)) + peek(places, k)
                spread = fixed(memory, Of.SPREADS) + _SPREAD_BYTES * at
                weight *= fixed_float(spread, SpreadField.WEIGHT)
                mean += coefficient * (value - fixed_float(spread, SpreadField.MEAN))
                variance += coefficient * coefficient * fixed_float(spread, SpreadField.VARIANCE)
                size = abs(coefficient)
                wide, narrow = _widened(wide, narrow, size * fixed_float(spread, SpreadField.WIDE))
                wide, narrow = _widened(wide, narrow, size * fixed_float(spread, SpreadField.NARROW))
        total += weight * _inside(gaussian, mean, variance, wide, narrow, low, low_inside, high, high_inside, excluded)
        more = _step(context, memory, begin, end)
    return total


@compiled
def _step(context: int, memory: int, begin: int, end: int) -> bool:
    """Go on to the next combination of components; False if there is none."""
    places = fixed(memory, Of.PLACES)
    for k in range(end - begin):
        term = fixed(memory, Of.TERMS) + _TERM_BYTES * (begin + k)
        error = error_at(context, memory, term)
        if peek(error, 0) == _OTHER:
            which = 2 * whole(peek_float(error, 1))
            count = table(memory, Of.RANGES, which + 1) - table(memory, Of.RANGES, which)
            place = peek(places, k) + 1
            if place < count:
                poke(places, k, place)
                return True
            poke(places, k, 0)
    return False


@inlined
def bands_worth(context: int, memory: int, begin: int, end: int) -> float:
    """Give the probability of all bands of a range."""
    total = 1.0
    for band in range(begin, end):
        total *= band_worth(context, memory, band)
        if total == 0.0:
            return 0.0
    return settled(total)
