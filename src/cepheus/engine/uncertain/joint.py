"""The probability of a match whose parts ask about one and the same quantity of the terminator, compiled.

Given the value of that quantity, the pivot, the parts are independent. What depends on it is listed: events that must
fit and events that must not, each with the bands that name the pivot, as intervals of what is left of their forms. The
product over the list is integrated over the pivot's distribution; all that does not depend on the pivot is multiplied
in.
"""

from __future__ import annotations

from cepheus.core.distribution_column import ErrorKind
from cepheus.engine.uncertain.bands import band_probability, bounds_of, error_at, value_at, value_of
from cepheus.engine.uncertain.choices import bands_of_step, own_probability, pass_over_edges, shared_place
from cepheus.engine.uncertain.pivot_integral import ITEM_BAND, ITEM_HEAD, integral
from cepheus.engine.uncertain.spread import widened
from cepheus.engine.uncertain.state import (
    JOINT_PASSED,
    JOINT_PIVOT,
    JOINT_PROBABILITY,
    JOINT_STAMP,
    LAST_HEAD,
    Of,
)
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
from cepheus.kernel.program import PolicyCode, RuleField, StepField, StepKind
from cepheus.kernel.state import OUTPUT_FULL, Cursor, LaneState
from cepheus.kernel.ties import note_passed_over
from cepheus.kernel.windows import entries_in, lane_of, scope

_STEP_BYTES = StepField.row_bytes()
_UNCERTAIN_STEP_BYTES = UncertainStepField.row_bytes()
_UNCERTAIN_RULE_BYTES = UncertainRuleField.row_bytes()
_PIVOT_BYTES = PivotField.row_bytes()
_BAND_BYTES = BandField.row_bytes()
_TERM_BYTES = TermField.row_bytes()
_CURSOR_BYTES = Cursor.row_bytes()
_NORMAL = int(ErrorKind.NORMAL)

_NEARLY_SURE = 1.0 - 1e-10
"""A band that holds with this probability is multiplied in: what it has to do with others changes nothing more."""

_NO_ROOM = -float(OUTPUT_FULL)
"""Stands for a factor that there was no room to note: it goes up as it is, never multiplied."""


@compiled
def joint_probability(context: int, memory: int, rule: int, rule_number: int) -> float:
    """Work out the probability of the match under way; ``_NO_ROOM`` is minus a status to stop with."""
    pivot = fixed(memory, Of.PIVOTS) + _PIVOT_BYTES * rule_number
    uncertain_rule = fixed(memory, Of.RULES) + _UNCERTAIN_RULE_BYTES * rule_number
    scalar = 1.0 - number(context, At.STORE, word(context, At.BOUND, 0) + fixed(pivot, PivotField.DOUBT))
    bands, bands_end = (
        fixed(uncertain_rule, UncertainRuleField.BANDS),
        fixed(uncertain_rule, UncertainRuleField.BANDS_END),
    )
    factor, used = _item(context, memory, pivot, bands, bands_end, 1.0, True, 0)
    if factor == _NO_ROOM:
        return factor
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
                    if factor == _NO_ROOM:
                        return factor
                    scalar *= factor
                    if scalar <= 0.0:
                        return scalar
                else:
                    scalar *= peek_float(fixed(memory, Of.NEAREST), depth)
            if together >= _NEARLY_SURE:
                scalar *= weight * together
                continue
        factor, used = _item(context, memory, pivot, bands, bands_end, weight, True, used)
        if factor == _NO_ROOM:
            return factor
        scalar *= factor
    if not fixed(memory, Of.NEGATION_AS_PRINTED):
        absences = fixed(uncertain_rule, UncertainRuleField.ABSENCES)
        absences_end = fixed(uncertain_rule, UncertainRuleField.ABSENCES_END)
        if used == 0 and absences_end - absences == 1:  # nothing else asks about the pivot
            if scalar <= 0.0:
                return scalar
            factor = _absent_alone(context, memory, pivot, absences)
            return factor if factor == _NO_ROOM else scalar * factor
        for at in range(absences, absences_end):
            if scalar <= 0.0:
                return scalar
            factor, used = _absent(context, memory, pivot, at, used)
            if factor == _NO_ROOM:
                return factor
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
        scalar = factor if factor == _NO_ROOM else scalar * factor
        if scalar <= 0.0:
            break
    put(context, At.BOUND, position, chosen)
    return scalar, used


@inlined
def _takes_latest(step: int) -> bool:
    return fixed(step, StepField.POLICY) == PolicyCode.LAST


@inlined
def _absent_alone(context: int, memory: int, pivot: int, at: int) -> float:
    """The probability that no event occurred that must be absent, worked out once for all rules that ask it."""
    shared = shared_place(memory, fixed(memory, Of.STEPS) + _UNCERTAIN_STEP_BYTES * at)
    if shared == 0:
        return _alone(context, memory, pivot, at)
    asked = (fixed(pivot, PivotField.POSITION) << 32) + fixed(pivot, PivotField.SLOT)
    if peek(shared, JOINT_STAMP) != peek(memory, Of.STAMP) or peek(shared, JOINT_PIVOT) != asked:
        passed = peek(context, At.NEW_PASSED)
        probability = _alone(context, memory, pivot, at)
        if probability == _NO_ROOM:
            return probability
        poke_float(shared, JOINT_PROBABILITY, probability)
        poke(shared, JOINT_PASSED, peek(context, At.NEW_PASSED) - passed)
        poke(shared, JOINT_PIVOT, asked)
        poke(shared, JOINT_STAMP, peek(memory, Of.STAMP))
    else:
        note_passed_over(context, peek(shared, JOINT_PASSED))
    return peek_float(shared, JOINT_PROBABILITY)


@compiled
def _alone(context: int, memory: int, pivot: int, at: int) -> float:
    """The probability that no event occurred that must be absent, whatever else a match asks."""
    scalar, used = _absent(context, memory, pivot, at, 0)
    return scalar if scalar <= 0.0 or used == 0 else scalar * _together(context, memory, pivot, used)


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
        scalar = factor if factor == _NO_ROOM else scalar * factor
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
    needed = used + ITEM_HEAD + ITEM_BAND * (end - begin)
    if needed > room:
        poke(memory, Of.ITEMS_NEEDED, needed)
        return _NO_ROOM, used
    item = fixed(memory, Of.ITEMS) + 8 * used
    count, alone = 0, 1.0
    for band in range(begin, end):
        p = band_probability(context, memory, band)
        if p < _NEARLY_SURE and _asks(memory, pivot, band, band + 1):
            alone *= p
            _write_band(context, memory, pivot, band, item + 8 * (ITEM_HEAD + ITEM_BAND * count))
            count += 1
        else:
            weight *= p
    if count == 0 or alone == 0.0:
        return (weight * alone if holds else 1.0 - weight * alone), used
    poke(item, 0, 1 if holds else 0)
    poke_float(item, 1, 1.0 if holds else weight)
    poke_float(item, 2, alone)
    poke(item, 3, count)
    return (weight if holds else 1.0), used + ITEM_HEAD + ITEM_BAND * count


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
        at += ITEM_HEAD + ITEM_BAND * peek(item, 3)
    if count == 1 or kind == 0:
        return alone
    value = value_at(context, position, fixed(pivot, PivotField.SLOT), fixed(pivot, PivotField.IS_INTEGER))
    if not _was_last(memory, used, error, value):
        _remember(memory, used, error, value, integral(memory, used, error, value))
    return peek_float(fixed(memory, Of.LAST_ITEMS), LAST_HEAD - 1)


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
