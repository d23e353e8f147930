"""The probabilities of bands, compiled: that a linear form of uncertain values lies in an interval."""

from __future__ import annotations

import math

from cepheus.core.distribution_column import ErrorKind
from cepheus.engine.uncertain.members import WEIGHED, weighed_inside
from cepheus.engine.uncertain.spread import inside, settled, widened
from cepheus.engine.uncertain.state import ASKED_FORM, QUESTION_HEAD, QUESTION_TERM, Of
from cepheus.engine.uncertain.tables import BandField, BoundField, SpreadField, TermField
from cepheus.kernel.calls import call_2
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.machine import all_hold, compute
from cepheus.kernel.memory import At, fixed, fixed_float, number, peek, peek_float, poke, poke_float, table, whole, word

_BAND_BYTES = BandField.row_bytes()
_TERM_BYTES = TermField.row_bytes()
_BOUND_BYTES = BoundField.row_bytes()
_SPREAD_BYTES = SpreadField.row_bytes()
_NORMAL, _UNIFORM, _OTHER = int(ErrorKind.NORMAL), int(ErrorKind.UNIFORM), int(ErrorKind.OTHER)


@inlined
def error_at(context: int, memory: int, term: int) -> int:
    """The address of a term's error: kind and two parameters."""
    position = fixed(term, TermField.POSITION)
    if position < 0:
        return fixed(memory, Of.RESULT_ERRORS) + 24 * fixed(term, TermField.ERROR_SLOT)
    base = word(context, At.BOUND, position)
    return fixed(context, At.STORE) + 8 * (base + fixed(term, TermField.ERROR_SLOT))


@inlined
def value_of(context: int, term: int) -> float:
    """The observed value of a term."""
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
def band_probability(context: int, memory: int, band: int) -> float:
    """Work out the probability of a band for the events bound so far."""
    row = fixed(memory, Of.BANDS) + _BAND_BYTES * band
    begin, end = fixed(row, BandField.TERMS), fixed(row, BandField.TERMS_END)
    terms = fixed(memory, Of.TERMS)
    mean, variance, wide, narrow = 0.0, 0.0, 0.0, 0.0
    uncertain, several, asked = False, False, False
    weighed, scale = 0, 1.0
    for at in range(begin, end):
        term = terms + _TERM_BYTES * at
        if not _is_defined(context, term):
            return 0.0
        error = error_at(context, memory, term)
        kind = peek(error, 0)
        coefficient = fixed_float(term, TermField.COEFFICIENT)
        value = value_of(context, term)
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
            wide, narrow = widened(wide, narrow, abs(coefficient) * 0.5 * (second - first))
        elif kind == WEIGHED:
            weighed, scale = fixed(memory, Of.MEMBERS) + 8 * peek(error, 1), coefficient
        else:
            several = True
            which = 2 * whole(first)
            asked = asked or table(memory, Of.RANGES, which) == table(memory, Of.RANGES, which + 1)
    if not uncertain:
        if all_hold(context, fixed(row, BandField.CONSTRAINTS), fixed(row, BandField.CONSTRAINTS_END)):
            return 1.0
        return 0.0
    low, low_inside, high, high_inside, excluded = bounds_of(context, memory, row)
    if not low <= high:
        return 0.0
    if weighed != 0:  # nothing else of the form is uncertain
        low, high, excluded = (low - mean) / scale, (high - mean) / scale, (excluded - mean) / scale
        if scale < 0.0:
            low, low_inside, high, high_inside = high, high_inside, low, low_inside
        return settled(weighed_inside(memory, weighed, low, low_inside, high, high_inside, excluded))
    if asked:
        return settled(_ask(context, memory, row, low, low_inside, high, high_inside, excluded))
    if several:
        return settled(_mixed(context, memory, row, low, low_inside, high, high_inside, excluded))
    gaussian = fixed(memory, Of.GAUSSIAN)
    return settled(inside(gaussian, mean, variance, wide, narrow, low, low_inside, high, high_inside, excluded))


@inlined
def bounds_of(context: int, memory: int, row: int) -> tuple[float, bool, float, bool, float]:
    """The interval that a band leaves to its form, without a point; an empty one if a bound is undefined."""
    low, low_inside, high, high_inside = -math.inf, False, math.inf, False
    excluded = math.nan
    for at in range(fixed(row, BandField.BOUNDS), fixed(row, BandField.BOUNDS_END)):
        bound = fixed(memory, Of.BOUNDS) + _BOUND_BYTES * at
        limit = fixed_float(bound, BoundField.CONSTANT)
        code = fixed(bound, BoundField.CODE)
        if code >= 0:
            if not compute(context, code):
                return math.inf, False, -math.inf, False, excluded
            limit = number(context, At.STACK, 0)
        operator = fixed(bound, BoundField.OPERATOR)
        if operator == 1:
            excluded = limit
        if operator == 0 or operator >= 4:
            included = operator != 4
            if limit > low or (limit == low and not included):
                low, low_inside = limit, included
        if operator == 0 or operator == 2 or operator == 3:
            included = operator != 2
            if limit < high or (limit == high and not included):
                high, high_inside = limit, included
    return low, low_inside, high, high_inside, excluded


@inlined
def value_at(context: int, position: int, slot: int, is_integer: int) -> float:
    """A number in the row of a bound event."""
    place = word(context, At.BOUND, position) + slot
    return float(word(context, At.STORE, place)) if is_integer else number(context, At.STORE, place)


@compiled
def _ask(
    context: int,
    memory: int,
    row: int,
    low: float,
    low_inside: bool,
    high: float,
    high_inside: bool,
    excluded: float,
) -> float:
    """The probability of a form of which a term has a distribution that only Python knows."""
    begin, end = fixed(row, BandField.TERMS), fixed(row, BandField.TERMS_END)
    question = fixed(memory, Of.QUESTION)
    poke_float(question, 1, low)
    poke(question, 2, 1 if low_inside else 0)
    poke_float(question, 3, high)
    poke(question, 4, 1 if high_inside else 0)
    poke_float(question, 5, excluded)
    for k in range(end - begin):
        term = fixed(memory, Of.TERMS) + _TERM_BYTES * (begin + k)
        error = error_at(context, memory, term)
        place = QUESTION_HEAD + QUESTION_TERM * k
        poke_float(question, place, fixed_float(term, TermField.COEFFICIENT))
        poke_float(question, place + 1, value_of(context, term))
        for part in range(3):
            poke(question, place + 2 + part, peek(error, part))
    call_2(fixed(memory, Of.ASK), ASKED_FORM, end - begin)
    return peek_float(question, 0)


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
    """The probability of a form of which some terms have several components, going through all combinations."""
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
            value = value_of(context, term)
            first, second = peek_float(error, 1), peek_float(error, 2)
            if kind == 0:
                mean += coefficient * value
            elif kind == _NORMAL:
                mean += coefficient * (value - first)
                variance += coefficient * coefficient * second
            elif kind == _UNIFORM:
                mean += coefficient * (value - 0.5 * (first + second))
                wide, narrow = widened(wide, narrow, abs(coefficient) * 0.5 * (second - first))
            else:
                at = table(memory, Of.RANGES, 2 * whole(first)) + peek(places, k)
                spread = fixed(memory, Of.SPREADS) + _SPREAD_BYTES * at
                weight *= fixed_float(spread, SpreadField.WEIGHT)
                mean += coefficient * (value - fixed_float(spread, SpreadField.MEAN))
                variance += coefficient * coefficient * fixed_float(spread, SpreadField.VARIANCE)
                size = abs(coefficient)
                wide, narrow = widened(wide, narrow, size * fixed_float(spread, SpreadField.WIDE))
                wide, narrow = widened(wide, narrow, size * fixed_float(spread, SpreadField.NARROW))
        total += weight * inside(gaussian, mean, variance, wide, narrow, low, low_inside, high, high_inside, excluded)
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
def bands_probability(context: int, memory: int, begin: int, end: int) -> float:
    """Work out the probability of all bands of a range."""
    total = 1.0
    for band in range(begin, end):
        total *= band_probability(context, memory, band)
        if total == 0.0:
            return 0.0
    return settled(total)
