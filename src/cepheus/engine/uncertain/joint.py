"""The probability of a match whose parts ask about one and the same quantity of the terminator, compiled.

Given the value of that quantity, the pivot, the parts are independent. What depends on it is listed: events that must
fit and events that must not, each with the bands that name the pivot, as intervals of what is left of their forms. The
product over the list is integrated over the pivot's distribution by adaptive Gauss-Kronrod quadrature, cut where an
interval has no blur of its own; all that does not depend on the pivot is multiplied in.
"""

from __future__ import annotations

import math

import numpy as np

from cepheus.core.distribution_column import ErrorKind
from cepheus.engine.uncertain.bands import band_probability, bounds_of, error_at, value_at, value_of
from cepheus.engine.uncertain.choices import bands_of_step, own_probability, pass_over_edges
from cepheus.engine.uncertain.spread import inside, widened
from cepheus.engine.uncertain.state import LAST_HEAD, Of
from cepheus.engine.uncertain.tables import (
    BandField,
    PivotField,
    TermField,
    UncertainRuleField,
    UncertainStepField,
)
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import entry_row, lane_at
from cepheus.kernel.memory import (
    At,
    fixed,
    fixed_float,
    fixed_half,
    number,
    peek,
    peek_float,
    poke,
    poke_float,
    put,
    word,
)
from cepheus.kernel.program import Floats, PolicyCode, RuleField, StepField, StepKind
from cepheus.kernel.state import OUTPUT_FULL, Cursor, LaneState
from cepheus.kernel.windows import entries_in, lane_of, scope
from cepheus.uncertainty.quadrature import GAUSS, KRONROD, NODES, REACH

_STEP_BYTES = StepField.row_bytes()
_UNCERTAIN_STEP_BYTES = UncertainStepField.row_bytes()
_UNCERTAIN_RULE_BYTES = UncertainRuleField.row_bytes()
_PIVOT_BYTES = PivotField.row_bytes()
_BAND_BYTES = BandField.row_bytes()
_TERM_BYTES = TermField.row_bytes()
_CURSOR_BYTES = Cursor.row_bytes()
_NORMAL = int(ErrorKind.NORMAL)

_HEAD, _BAND = 4, 10
"""Words of what depends on the pivot: whether it must hold, its weight, its probability alone, and its bands.

Of a band: the pivot's coefficient, the mean, variance and two half widths of the rest, the interval with whether its
ends belong to it, and a point that is left out.
"""

_TOLERANCE = 1e-10
_NEARLY_SURE = 1.0 - 1e-10
"""A band that holds with this probability is multiplied in: what it has to do with others changes nothing more."""

_DEEPEST = 48
_MOST_CUTS = 256
_NO_ROOM = -float(OUTPUT_FULL)


@compiled
def joint_probability(context: int, memory: int, rule: int, rule_number: int) -> float:
    """Work out the probability of the match under way; less than nothing is minus a status to stop with."""
    pivot = fixed(memory, Of.PIVOTS) + _PIVOT_BYTES * rule_number
    uncertain_rule = fixed(memory, Of.RULES) + _UNCERTAIN_RULE_BYTES * rule_number
    scalar = 1.0 - number(context, At.STORE, word(context, At.BOUND, 0) + fixed(pivot, PivotField.DOUBT))
    bands, bands_end = (
        fixed(uncertain_rule, UncertainRuleField.BANDS),
        fixed(uncertain_rule, UncertainRuleField.BANDS_END),
    )
    factor, used = _item(context, memory, pivot, bands, bands_end, 1.0, True, 0)
    scalar *= factor
    begin, end = fixed_half(rule, RuleField.STEPS), fixed_half(rule, RuleField.ABSENCES)
    for at in range(begin, end):
        if scalar <= 0.0:
            return scalar
        step, uncertain_step = _steps(context, memory, at)
        depth = at - begin
        worth = peek_float(fixed(memory, Of.WORTHS), depth)
        kind = fixed(step, StepField.KIND)
        if kind == StepKind.COMPUTE:
            scalar *= worth
            continue
        bands, bands_end = _bands_of(uncertain_step)
        weight = 1.0
        if kind == StepKind.CHOOSE:
            together = bands_of_step(context, memory, step, uncertain_step)
            weight = worth / together
            if fixed(uncertain_step, UncertainStepField.UNSURE) and not fixed(memory, Of.CHOICE_AS_PRINTED):
                weight = peek_float(fixed(memory, Of.ENTRANCE), depth)
                if _asks(memory, pivot, bands, bands_end):
                    factor, used = _rivals(context, memory, pivot, step, uncertain_step, depth, used)
                    scalar *= factor
                    if scalar <= 0.0:
                        return scalar
                else:
                    scalar *= peek_float(fixed(memory, Of.NEAREST), depth)
            if together >= _NEARLY_SURE:
                scalar *= weight * together
                continue
        factor, used = _item(context, memory, pivot, bands, bands_end, weight, True, used)
        scalar *= factor
    if not fixed(memory, Of.NEGATION_AS_PRINTED):
        absences = fixed(uncertain_rule, UncertainRuleField.ABSENCES)
        for at in range(absences, fixed(uncertain_rule, UncertainRuleField.ABSENCES_END)):
            if scalar <= 0.0:
                return scalar
            factor, used = _absent(context, memory, pivot, at, used)
            scalar *= factor
    return scalar if scalar <= 0.0 or used == 0 else scalar * _together(context, memory, pivot, used)


@inlined
def _steps(context: int, memory: int, at: int) -> tuple[int, int]:
    """The addresses of a step and of what is known of its uncertainty."""
    return fixed(context, At.STEPS) + _STEP_BYTES * at, fixed(memory, Of.STEPS) + _UNCERTAIN_STEP_BYTES * at


@inlined
def _bands_of(uncertain_step: int) -> tuple[int, int]:
    return fixed(uncertain_step, UncertainStepField.BANDS), fixed(uncertain_step, UncertainStepField.BANDS_END)


@compiled
def _rivals(
    context: int, memory: int, pivot: int, step: int, uncertain_step: int, depth: int, used: int
) -> tuple[float, int]:
    """List the nearer events that must not fit; give the probability of what does not depend on the pivot."""
    cursor = fixed(context, At.CURSORS) + _CURSOR_BYTES * depth
    begin = peek(cursor, Cursor.LEFT)
    listed = (peek(cursor, Cursor.END) - begin) // 2
    turn = peek(cursor, Cursor.ENTRY) - 1
    nearer = listed - 1 - turn if _takes_latest(step) else turn
    row = lane_at(context, peek(cursor, Cursor.LANE))
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    position = fixed(step, StepField.POSITION)
    chosen = word(context, At.BOUND, position)
    scalar = 1.0
    for k in range(nearer):
        place = offset + (word(context, At.CHOSEN, begin + 2 * k) & mask)
        factor, used = _against(context, memory, pivot, step, uncertain_step, place, used)
        scalar *= factor
        if scalar <= 0.0:
            break
    put(context, At.BOUND, position, chosen)
    return scalar, used


@inlined
def _takes_latest(step: int) -> bool:
    return fixed(step, StepField.POLICY) == PolicyCode.LAST


@compiled
def _absent(context: int, memory: int, pivot: int, at: int, used: int) -> tuple[float, int]:
    """List the events that must be absent; give the probability of what does not depend on the pivot."""
    step, uncertain_step = _steps(context, memory, at)
    lane = lane_of(context, step)
    if lane < 0:
        return 1.0, used
    since, until = scope(context, step)
    row = lane_at(context, lane)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    first, entry = entries_in(context, step, lane)
    pass_over_edges(context, step, lane, since, until, entry)
    scalar = 1.0
    while entry > first and scalar > 0.0:
        entry -= 1
        factor, used = _against(context, memory, pivot, step, uncertain_step, offset + (entry & mask), used)
        scalar *= factor
    return scalar, used


@compiled
def _against(
    context: int, memory: int, pivot: int, step: int, uncertain_step: int, place: int, used: int
) -> tuple[float, int]:
    """Note that the event of an entry must not fit."""
    own = own_probability(context, memory, step, uncertain_step, place, entry_row(context, place))
    occurred = number(context, At.VALUES, place)
    if own == 0.0 or own >= occurred * _NEARLY_SURE:
        return 1.0 - own, used
    bands, bands_end = _bands_of(uncertain_step)
    return _item(context, memory, pivot, bands, bands_end, occurred, False, used)


@inlined
def _is_pivot(memory: int, pivot: int, at: int) -> bool:
    """Whether a term is the pivot."""
    term = fixed(memory, Of.TERMS) + _TERM_BYTES * at
    return fixed(term, TermField.POSITION) == fixed(pivot, PivotField.POSITION) and fixed(
        term, TermField.SLOT
    ) == fixed(pivot, PivotField.SLOT)


@compiled
def _asks(memory: int, pivot: int, begin: int, end: int) -> bool:
    """Whether one of a range of bands names the pivot."""
    for band in range(begin, end):
        row = fixed(memory, Of.BANDS) + _BAND_BYTES * band
        for at in range(fixed(row, BandField.TERMS), fixed(row, BandField.TERMS_END)):
            if _is_pivot(memory, pivot, at):
                return True
    return False


@compiled
def _item(
    context: int, memory: int, pivot: int, begin: int, end: int, weight: float, holds: bool, used: int
) -> tuple[float, int]:
    """Note an event that must fit, or must not, as far as the pivot decides it; give what does not depend on that.

    The latter is less than nothing for want of room.
    """
    room = fixed(memory, Of.ITEMS_ROOM)
    needed = used + _HEAD + _BAND * (end - begin)
    if needed > room:
        poke(memory, Of.ITEMS_NEEDED, needed)
        return _NO_ROOM, used
    item = fixed(memory, Of.ITEMS) + 8 * used
    count, alone = 0, 1.0
    for band in range(begin, end):
        p = band_probability(context, memory, band)
        if p < _NEARLY_SURE and _asks(memory, pivot, band, band + 1):
            alone *= p
            _write_band(context, memory, pivot, band, item + 8 * (_HEAD + _BAND * count))
            count += 1
        else:
            weight *= p
    if count == 0 or alone == 0.0:
        return (weight * alone if holds else 1.0 - weight * alone), used
    poke(item, 0, 1 if holds else 0)
    poke_float(item, 1, 1.0 if holds else weight)
    poke_float(item, 2, alone)
    poke(item, 3, count)
    return (weight if holds else 1.0), used + _HEAD + _BAND * count


@compiled
def _write_band(context: int, memory: int, pivot: int, band: int, target: int) -> None:
    """Write a band that names the pivot as an interval of the rest of its form."""
    row = fixed(memory, Of.BANDS) + _BAND_BYTES * band
    slope, mean, variance, wide, narrow = 0.0, 0.0, 0.0, 0.0, 0.0
    for at in range(fixed(row, BandField.TERMS), fixed(row, BandField.TERMS_END)):
        term = fixed(memory, Of.TERMS) + _TERM_BYTES * at
        coefficient = fixed_float(term, TermField.COEFFICIENT)
        if _is_pivot(memory, pivot, at):
            slope = coefficient
            continue
        error = error_at(context, memory, term)
        kind, value = peek(error, 0), value_of(context, term)
        if kind == 0:
            mean += coefficient * value
            continue
        first, second = peek_float(error, 1), peek_float(error, 2)
        if kind == _NORMAL:
            mean += coefficient * (value - first)
            variance += coefficient * coefficient * second
        else:
            mean += coefficient * (value - 0.5 * (first + second))
            wide, narrow = widened(wide, narrow, abs(coefficient) * 0.5 * (second - first))
    low, low_inside, high, high_inside, excluded = bounds_of(context, memory, row)
    poke_float(target, 0, slope)
    poke_float(target, 1, mean)
    poke_float(target, 2, variance)
    poke_float(target, 3, wide)
    poke_float(target, 4, narrow)
    poke_float(target, 5, low)
    poke(target, 6, 1 if low_inside else 0)
    poke_float(target, 7, high)
    poke(target, 8, 1 if high_inside else 0)
    poke_float(target, 9, excluded)


@compiled
def _together(context: int, memory: int, pivot: int, used: int) -> float:
    """The probability of all that depends on the pivot."""
    position, slot = fixed(pivot, PivotField.POSITION), fixed(pivot, PivotField.ERROR_SLOT)
    error = fixed(context, At.STORE) + 8 * (word(context, At.BOUND, position) + slot)
    kind = peek(error, 0)
    items = fixed(memory, Of.ITEMS)
    alone, count, at = 1.0, 0, 0
    while at < used:
        item = items + 8 * at
        p = peek_float(item, 2)
        alone *= p if peek(item, 0) else 1.0 - peek_float(item, 1) * p
        count += 1
        at += _HEAD + _BAND * peek(item, 3)
    if count == 1 or kind == 0:
        return alone
    value = value_at(context, position, fixed(pivot, PivotField.SLOT), fixed(pivot, PivotField.IS_INTEGER))
    if not _was_last(memory, used, error, value):
        _remember(memory, used, error, value, _integral(memory, used, error, value))
    return peek_float(fixed(memory, Of.LAST_ITEMS), LAST_HEAD - 1)


@inlined
def _integral(memory: int, used: int, error: int, value: float) -> float:
    """The product over the list, on average over the pivot of an error and observed value."""
    first, second = peek_float(error, 1), peek_float(error, 2)
    if peek(error, 0) == _NORMAL:
        return _over(memory, used, value - first, math.sqrt(second), -REACH, REACH, True)
    middle, half = value - 0.5 * (first + second), 0.5 * (second - first)
    return _over(memory, used, middle, half, -1.0, 1.0, False)


@compiled
def _was_last(memory: int, used: int, error: int, value: float) -> bool:
    """Whether the very same was integrated last: many rules ask the same of what surrounds one terminator."""
    items, last = fixed(memory, Of.ITEMS), fixed(memory, Of.LAST_ITEMS)
    if peek(last, 0) != used or peek_float(last, 4) != value:
        return False
    for part in range(3):
        if peek(last, 1 + part) != peek(error, part):
            return False
    for at in range(used):
        if peek(last, LAST_HEAD + at) != peek(items, at):
            return False
    return True


@compiled
def _remember(memory: int, used: int, error: int, value: float, result: float) -> None:
    """Keep what was integrated just now, and what came out."""
    items, last = fixed(memory, Of.ITEMS), fixed(memory, Of.LAST_ITEMS)
    poke(last, 0, used)
    for part in range(3):
        poke(last, 1 + part, peek(error, part))
    poke_float(last, 4, value)
    poke_float(last, LAST_HEAD - 1, result)
    for at in range(used):
        poke(last, LAST_HEAD + at, peek(items, at))


@compiled
def _over(memory: int, used: int, middle: float, scale: float, low: float, high: float, normal: bool) -> float:
    """Integrate over ``middle + scale * z`` for z between two numbers, a standard Gaussian or evenly spread."""
    if scale == 0.0:
        return _product(memory, used, middle)
    cuts = np.empty(_MOST_CUTS + 2, np.float64)
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
            band = item + 8 * (_HEAD + _BAND * k)
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
        at += _HEAD + _BAND * count
    return total


@compiled
def _cuts(memory: int, used: int, middle: float, scale: float, low: float, high: float, cuts: Floats) -> int:
    """Write where the product may jump, bend or turn quickly, and some points between; give how many there are."""
    count = 0
    for k in range(7):
        cuts[count] = low + (high - low) * k / 6.0
        count += 1
    items, at = fixed(memory, Of.ITEMS), 0
    while at < used:
        item = items + 8 * at
        for k in range(peek(item, 3)):
            band = item + 8 * (_HEAD + _BAND * k)
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
                    if low < cut < high and count < _MOST_CUTS:
                        cuts[count] = cut
                        count += 1
        at += _HEAD + _BAND * peek(item, 3)
    return count
