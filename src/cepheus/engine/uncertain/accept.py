"""Whom an uncertain event concerns, compiled: rules it may terminate, columns it may enter, how probably.

Listeners are found as for certain events, and those with uncertain bands by an index of their own: from a value and its
error to the bands they may lie in.
"""

from __future__ import annotations

import math

from cepheus.core.distribution_column import ErrorKind
from cepheus.engine.uncertain.bands import band_probability, bands_probability
from cepheus.engine.uncertain.index_tables import BandIndexField, MemberField, RestField
from cepheus.engine.uncertain.spread import normal_inside, settled
from cepheus.engine.uncertain.state import Of
from cepheus.engine.uncertain.tables import SpreadField, UncertainColumnField, UncertainRuleField
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.index import sort_words
from cepheus.kernel.lanes import append_entry, column_at, lane_at
from cepheus.kernel.machine import all_hold
from cepheus.kernel.memory import (
    At,
    fixed,
    fixed_float,
    number,
    peek,
    peek_float,
    poke,
    poke_float,
    prefetch,
    put,
    put_number,
    table,
    whole,
    word,
)
from cepheus.kernel.process import accept
from cepheus.kernel.program import ColumnField
from cepheus.kernel.state import LaneState

_INDEX_BYTES = BandIndexField.row_bytes()
_MEMBER_BYTES = MemberField.row_bytes()
_REST_BYTES = RestField.row_bytes()
_SPREAD_BYTES = SpreadField.row_bytes()
_UNCERTAIN_RULE_BYTES = UncertainRuleField.row_bytes()
_UNCERTAIN_COLUMN_BYTES = UncertainColumnField.row_bytes()
_NORMAL, _UNIFORM, _NONE = int(ErrorKind.NORMAL), int(ErrorKind.UNIFORM), int(ErrorKind.NONE)


@compiled
def accept_uncertain(context: int, kind: int) -> tuple[int, int]:
    """Find the rules that the current event may terminate, in order of deployment, and the columns it may enter.

    Returns how many there are of each; their numbers and probabilities are in the working space.
    """
    memory, base = fixed(context, At.MEMORY), word(context, At.BOUND, 0)
    occurrence = 1.0 - number(context, At.STORE, base + table(memory, Of.DOUBTS, kind))
    rules, columns = accept(context, kind)
    rules = _probable_rules(context, memory, rules, occurrence)
    columns = _probable_columns(context, memory, columns, occurrence)
    found, columns = _near_listeners(context, memory, kind, occurrence, rules, columns)
    if found > rules:
        sort_words(fixed(context, At.ACCEPTED_RULES), found)
    return found, columns


@inlined
def _probable_rules(context: int, memory: int, rules: int, occurrence: float) -> int:
    """Keep the accepted rules whose remaining bands the event may reach with a probability that is still enough."""
    kept = 0
    for k in range(rules):
        rule = word(context, At.ACCEPTED_RULES, k)
        row = fixed(memory, Of.RULES) + _UNCERTAIN_RULE_BYTES * rule
        begin, end = fixed(row, UncertainRuleField.BANDS), fixed(row, UncertainRuleField.BANDS_END)
        probability = occurrence
        if begin < end:
            probability *= bands_probability(context, memory, begin, end)
        if probability > 0.0 and probability >= fixed_float(row, UncertainRuleField.FLOOR):
            put(context, At.ACCEPTED_RULES, kept, rule)
            poke_float(fixed(memory, Of.OPENINGS), rule, probability)
            kept += 1
    return kept


@inlined
def _probable_columns(context: int, memory: int, columns: int, occurrence: float) -> int:
    """Keep the accepted columns that the event belongs to with a probability that may be enough."""
    kept = 0
    for k in range(columns):
        column = word(context, At.ACCEPTED_COLUMNS, k)
        row = fixed(memory, Of.COLUMNS) + _UNCERTAIN_COLUMN_BYTES * column
        begin, end = fixed(row, UncertainColumnField.BANDS), fixed(row, UncertainColumnField.BANDS_END)
        probability = occurrence
        if begin < end:
            probability *= bands_probability(context, memory, begin, end)
        if probability > 0.0 and probability >= fixed_float(row, UncertainColumnField.FLOOR):
            put(context, At.ACCEPTED_COLUMNS, kept, column)
            poke_float(fixed(memory, Of.ENTRANCES), column, probability)
            kept += 1
    return kept


@inlined
def store_uncertain(context: int, k: int, base: int, now: int, row_number: int) -> None:
    """Append an entry that has, where the column sums nothing, the event's own probability as its value."""
    memory, lane = fixed(context, At.MEMORY), word(context, At.ACCEPTED_LANES, k)
    column = word(context, At.ACCEPTED_COLUMNS, k)
    append_entry(context, column, lane, base, now, row_number)
    row = lane_at(context, lane)
    if fixed(column_at(context, column), ColumnField.SUM_KIND) == 0:
        place = peek(row, LaneState.OFFSET) + ((peek(row, LaneState.NEXT) - 1) & peek(row, LaneState.MASK))
        put_number(context, At.VALUES, place, peek_float(fixed(memory, Of.ENTRANCES), column))


@inlined
def _near_listeners(
    context: int, memory: int, kind: int, occurrence: float, rules: int, columns: int
) -> tuple[int, int]:
    """Add the rules and columns that the current event concerns with enough probability, found by its uncertain values.

    The probabilities go to where those of a rule's opening and of a column's entrance are kept.
    """
    for at in range(table(memory, Of.INDEX_TYPES, kind), table(memory, Of.INDEX_TYPES, kind + 1)):
        rules, columns = _near(context, memory, at, occurrence, rules, columns)
    return rules, columns


@compiled
def _near(context: int, memory: int, number: int, occurrence: float, rules: int, columns: int) -> tuple[int, int]:
    """Add the members of an index that the current event concerns."""
    index = fixed(memory, Of.INDEXES) + _INDEX_BYTES * number
    row = fixed(context, At.STORE) + 8 * word(context, At.BOUND, 0)
    slot = fixed(index, BandIndexField.SLOT)
    value = float(peek(row, slot)) if fixed(index, BandIndexField.IS_INTEGER) else peek_float(row, slot)
    error = row + 8 * fixed(index, BandIndexField.ERROR_SLOT)
    kind, first, second = peek(error, 0), peek_float(error, 1), peek_float(error, 2)
    deviations = fixed_float(index, BandIndexField.DEVIATIONS)
    mean, scale = value, 0.0
    if kind == _NORMAL and second > 0.0:
        mean = value - first
        sd = math.sqrt(second)
        scale = 1.0 / sd
        found = _candidates(memory, index, mean - deviations * sd, mean + deviations * sd)
    else:
        low, high = _extent(memory, kind, value, first, second, deviations)
        found = _candidates(memory, index, low, high)
    candidates, chances = fixed(memory, Of.CANDIDATES), fixed(memory, Of.CHANCES)
    members, gaussian = fixed(memory, Of.INDEX_MEMBERS), fixed(memory, Of.GAUSSIAN)
    for k in range(found):
        prefetch(members + _MEMBER_BYTES * peek(candidates, k))
    if scale > 0.0:
        for k in range(found):  # nothing else in this loop: the processor works on several at once
            member = members + _MEMBER_BYTES * peek(candidates, k)
            low, high = fixed_float(member, MemberField.LOW), fixed_float(member, MemberField.HIGH)
            poke_float(chances, k, occurrence * settled(normal_inside(gaussian, mean, scale, low, high)))
    else:
        for k in range(found):
            member = members + _MEMBER_BYTES * peek(candidates, k)
            poke_float(chances, k, occurrence * band_probability(context, memory, fixed(member, MemberField.BAND)))
    for k in range(found):
        member = members + _MEMBER_BYTES * peek(candidates, k)
        probability = peek_float(chances, k)
        floor = fixed_float(member, MemberField.FLOOR)
        if probability > 0.0 and probability >= floor:
            probability *= _rest(context, memory, member)
        if probability > 0.0 and probability >= floor:
            target = fixed(member, MemberField.TARGET)
            if fixed(member, MemberField.IS_RULE):
                put(context, At.ACCEPTED_RULES, rules, target)
                poke_float(fixed(memory, Of.OPENINGS), target, probability)
                rules += 1
            else:
                put(context, At.ACCEPTED_COLUMNS, columns, target)
                poke_float(fixed(memory, Of.ENTRANCES), target, probability)
                columns += 1
    return rules, columns


@inlined
def _rest(context: int, memory: int, member: int) -> float:
    """The probability of what a member asks besides the band it was found by."""
    number = fixed(member, MemberField.REST)
    if number < 0:
        return 1.0
    rest = fixed(memory, Of.INDEX_RESTS) + _REST_BYTES * number
    if not all_hold(context, fixed(rest, RestField.FILTERS), fixed(rest, RestField.FILTERS_END)):
        return 0.0
    return bands_probability(context, memory, fixed(rest, RestField.BANDS), fixed(rest, RestField.BANDS_END))


@compiled
def _extent(
    memory: int, kind: int, value: float, first: float, second: float, deviations: float
) -> tuple[float, float]:
    """From where to where a true value may lie, for bands that so many standard deviations are enough for."""
    if kind == _NONE:
        return value, value
    if kind == _NORMAL:  # of no variance
        return value - first, value - first
    if kind == _UNIFORM:
        mean = value - 0.5 * (first + second)
        return (mean, mean) if deviations == 0.0 else (value - second, value - first)
    low, high = math.inf, -math.inf
    which = 2 * whole(first)
    if table(memory, Of.RANGES, which) == table(memory, Of.RANGES, which + 1):  # only Python knows
        return -math.inf, math.inf
    for at in range(table(memory, Of.RANGES, which), table(memory, Of.RANGES, which + 1)):
        spread = fixed(memory, Of.SPREADS) + _SPREAD_BYTES * at
        mean = value - fixed_float(spread, SpreadField.MEAN)
        reach = 0.0
        if deviations > 0.0:
            reach = deviations * math.sqrt(fixed_float(spread, SpreadField.VARIANCE))
            reach += fixed_float(spread, SpreadField.WIDE) + fixed_float(spread, SpreadField.NARROW)
        low, high = min(low, mean - reach), max(high, mean + reach)
    return low, high


@inlined
def _candidates(memory: int, index: int, low: float, high: float) -> int:
    """Note the members whose bands have a point between two; give how many there are."""
    candidates = fixed(memory, Of.CANDIDATES)
    begin, end = fixed(index, BandIndexField.POINTS), fixed(index, BandIndexField.POINTS_END)
    points = fixed(memory, Of.INDEX_POINTS)
    place = _beyond(points, begin, end, low)
    exact = place > begin and fixed_float(points, place - 1) == low
    leaves = 1
    while leaves < 2 * (end - begin) + 1:
        leaves *= 2
    node = leaves + 2 * (place - begin) - (1 if exact else 0)
    found = 0
    while node > 0:
        at = 2 * (fixed(index, BandIndexField.NODES) + node)
        for k in range(table(memory, Of.INDEX_NODES, at), table(memory, Of.INDEX_NODES, at + 1)):
            poke(candidates, found, table(memory, Of.INDEX_HUNG, k))
            found += 1
        node >>= 1
    if high > low:
        lows = fixed(memory, Of.INDEX_LOWS)
        first, last = fixed(index, BandIndexField.LOWS), fixed(index, BandIndexField.LOWS_END)
        first = _beyond(lows, first, last, low)
        for k in range(first, _beyond(lows, first, last, high)):
            poke(candidates, found, table(memory, Of.INDEX_LOW_MEMBERS, k))
            found += 1
    return found


@inlined
def _beyond(numbers: int, begin: int, end: int, value: float) -> int:
    """Find the place of the first of sorted numbers that is greater than a value."""
    low, high = begin, end
    while low < high:
        middle = (low + high) >> 1
        if fixed_float(numbers, middle) <= value:
            low = middle + 1
        else:
            high = middle
    return low
