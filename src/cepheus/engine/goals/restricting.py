"""Pairs under a restricting policy, compiled: the one partner that a new match is combined with."""

from __future__ import annotations

import math

from cepheus.engine.goals.absence import blocked
from cepheus.engine.goals.conditions import solve
from cepheus.engine.goals.machine import is_number, order_exactly
from cepheus.engine.goals.matches import load_for_guard, load_pair, node_at, partners, tag_of, value_of
from cepheus.engine.goals.pairs import earliest_end, hash_in, make_pair, oldest_since
from cepheus.engine.goals.steps import count_of, first_of, step_at, step_state
from cepheus.engine.goals.store import (
    NOWHERE,
    is_sought,
    newer_row,
    newest_row,
    older_row,
    row_at,
    state_at,
    table_at,
)
from cepheus.engine.goals.waiting_goals import screen_of
from cepheus.kernel.calls import call_3
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import before
from cepheus.kernel.memory import fixed, peek, peek_float, poke
from cepheus.plan.interval.layout import (
    ARENA_FULL,
    CONSUMED_FULL,
    DONE,
    MARK_WORDS,
    ROW_HEADER,
    At,
    Mark,
    Match,
    Row,
    StepState,
    TableState,
)
from cepheus.plan.interval.program import ChoiceCode, NodeField, PreferenceCode, StepField, TableField

_MATCH_BYTES = 8 * ROW_HEADER
_MARK_BYTES = 8 * MARK_WORDS
_BEGINNING = -(2**63)


@compiled
def _by_attribute(context: int, node: int, one: int, other: int, are_left: bool) -> int:
    """Compare two matches of one operand by the variable that the policy prefers by: 1, -1, or 0 for equal."""
    variable = fixed(node, NodeField.LEFT_ATTRIBUTE if are_left else NodeField.RIGHT_ATTRIBUTE)
    if variable < 0:
        return 0
    tag_words = fixed(
        node_at(context, fixed(node, NodeField.LEFT if are_left else NodeField.RIGHT)), NodeField.TAG_WORDS
    )
    tag, other_tag = tag_of(one, variable), tag_of(other, variable)
    numbers, other_numbers = is_number(tag), is_number(other_tag)
    if not (numbers and other_numbers):
        return int(numbers) - int(other_numbers)
    value, other_value = value_of(one, tag_words, variable), value_of(other, tag_words, variable)
    order = order_exactly(tag, value, other_tag, other_value)
    return order if fixed(node, NodeField.PREFERENCE) == PreferenceCode.GREATEST else -order


@inlined
def _order(one: int, other: int) -> int:
    return (one > other) - (one < other)


@compiled
def _before(context: int, node: int, one: int, other: int, are_left: bool) -> int:
    """Which of two matches of an operand the policy takes: 1 the first, -1 the second, 0 as they arrived."""
    preference = fixed(node, NodeField.PREFERENCE)
    start, other_start = peek(one, Match.START), peek(other, Match.START)
    end, other_end = peek(one, Match.END), peek(other, Match.END)
    if fixed(node, NodeField.CHOICE) == ChoiceCode.RECENT:
        order, shorter = _order(end, other_end), _order(start, other_start)
    elif preference == PreferenceCode.ARRIVAL:
        return 0
    else:
        order, shorter = _order(other_start, start), _order(other_end, end)
    if order != 0 or preference == PreferenceCode.ARRIVAL:
        return order
    if preference == PreferenceCode.SHORTER:
        return shorter
    if preference == PreferenceCode.LONGER:
        return -shorter
    return _by_attribute(context, node, one, other, are_left)


@compiled
def _acceptable(context: int, node: int, left: int, right: int) -> bool:
    """Whether two matches can be combined, all that stands around the operator included."""
    if not partners(context, node, left, right):
        return False
    begin, end = fixed(node, NodeField.GUARD), fixed(node, NodeField.GUARD_END)
    absence = fixed(node, NodeField.NEGATED) >= 0
    if begin == end and not absence:
        return True
    if fixed(node, NodeField.READS) >= 0:
        load_for_guard(context, node, left, right)
    else:
        load_pair(context, node, left, right)
    if absence and blocked(context, node, left, peek(right, Match.END)):
        if fixed(node, NodeField.FINAL) and peek(context, At.CONSUMED_COUNT) < fixed(context, At.CONSUMED_SIZE):
            _take(context, left)  # whatever comes, it will be ruled out again
        return False
    return begin == end or solve(context, begin, end, 0, 0, 0) > 0


@inlined
def _takes(context: int, node: int, mine: int, other: int, best: int, is_left: bool, newest_first: bool) -> bool:
    """Whether a match is a better partner than the best so far."""
    if best != 0:
        order = _before(context, node, other, best, not is_left)
        # of equals, recent takes the one that arrived last, chronological the one that arrived first
        keeps_first = newest_first == (fixed(node, NodeField.CHOICE) == ChoiceCode.RECENT)
        if order < 0 or (order == 0 and keeps_first):
            return False
    return _acceptable(context, node, mine, other) if is_left else _acceptable(context, node, other, mine)


@inlined
def _best_new(context: int, node: int, mine: int, is_left: bool, first: int, count: int, marks: int, best: int) -> int:
    """Find a new match of the other operand that is a better partner than the best that waits; -1 for none.

    All of them came after that.
    """
    stride = 8 * fixed(node_at(context, fixed(node, NodeField.RIGHT if is_left else NodeField.LEFT)), NodeField.WIDTH)
    found = -1
    for k in range(count):
        mark = marks + _MARK_BYTES * k
        if peek(mark, Mark.TAKEN) == 0 and peek(mark, Mark.PARTNER) != mine:
            other = first + k * stride
            if _takes(context, node, mine, other, best, is_left, False):
                best, found = other, k
    return found


@compiled
def _best_waiting(context: int, node: int, mine: int, is_left: bool) -> int:
    """Find the best partner among those that wait at the other operand; 0 if there is none."""
    number = fixed(node, NodeField.RIGHT_TABLE if is_left else NodeField.LEFT_TABLE)
    if number < 0 or peek(state_at(context, number), TableState.COUNT) == 0:
        return 0
    recent = fixed(node, NodeField.CHOICE) == ChoiceCode.RECENT
    floor = earliest_end(context, node, mine, is_left, number)
    longest = peek(state_at(context, number), TableState.LONGEST)
    by_arrival = fixed(node, NodeField.PREFERENCE) == PreferenceCode.ARRIVAL
    now = peek(context, At.NOW)
    length = fixed(table_at(context, number), TableField.LENGTH)
    since = before(now, length) if length >= 0 else _BEGINNING
    hashed = hash_in(context, node, number, mine, is_left)
    screens = fixed(node, NodeField.LEFT_SCREEN) >= 0
    highest = math.inf  # computed only once a look at a row has been in vain
    best = 0
    row = newest_row(context, number, hashed) if recent else oldest_since(context, number, hashed, floor)
    while row != NOWHERE:
        here = row_at(context, row)
        if is_sought(context, number, hashed, here):
            other = here + _MATCH_BYTES
            end = peek(other, Match.END)
            if recent:
                if end < floor or (best != 0 and (by_arrival or end < peek(best, Match.END))):
                    return best
            elif best != 0 and (by_arrival or end - longest > peek(best, Match.START)):
                return best
            # what is too long for the window around it is out from the next instant on
            free = (end == now or peek(other, Match.START) >= since) and peek(other, Match.TAKEN) == 0
            free = free and not (screens and peek_float(here, Row.SCREEN) > highest)
            if free and _takes(context, node, mine, other, best, is_left, recent):
                best = other
            elif free and screens and highest == math.inf:
                highest = -screen_of(context, node, 0 if is_left else 1, mine)
        row = older_row(context, number, here) if recent else newer_row(context, number, here)
    return best


@compiled
def _take(context: int, match: int) -> bool:
    """Mark a goal as taken and note it, so that it can be removed; False if there is no room for the note."""
    noted = peek(context, At.CONSUMED_COUNT)
    if noted >= fixed(context, At.CONSUMED_SIZE):
        return False
    poke(match, Match.TAKEN, 1)
    poke(fixed(context, At.CONSUMED), noted, (match - fixed(context, At.POOL)) // 8 - ROW_HEADER)
    poke(context, At.CONSUMED_COUNT, noted + 1)
    return True


@inlined
def _pair_with_best(
    context: int, node: int, mine: int, is_left: bool, mark: int, first: int, count: int, marks: int
) -> int:
    """Combine a match with the one partner that the policy chooses among goals and new matches."""
    best = _best_waiting(context, node, mine, is_left)
    new = _best_new(context, node, mine, is_left, first, count, marks, best) if count > 0 else -1
    if new >= 0:
        width = fixed(node_at(context, fixed(node, NodeField.RIGHT if is_left else NodeField.LEFT)), NodeField.WIDTH)
        best = first + 8 * width * new
    if best == 0:
        return DONE
    left, right = (mine, best) if is_left else (best, mine)
    if not make_pair(context, node, left, right):
        return ARENA_FULL
    poke(mark, Mark.PARTNER, best)  # so that the pair is not made again from the other side
    if fixed(node, NodeField.ONCE):
        if new >= 0:
            poke(marks + _MARK_BYTES * new, Mark.TAKEN, 1)
        elif not _take(context, best):
            return CONSUMED_FULL
    return DONE


@inlined
def restricting_step(context: int, node: int, step: int) -> int:
    """Combine each new match with the partner that the policy chooses, those of the left operand first."""
    return call_3(fixed(context, At.RESTRICTING), context, node, step)


def restricting_step_behind(context: int, node: int, step: int) -> int:
    """Do what ``restricting_step`` says, behind a seam."""
    row = step_at(context, step)
    left_back, right_back = fixed(row, StepField.LEFT), fixed(row, StepField.RIGHT)
    lefts, rights = count_of(context, step, left_back), count_of(context, step, right_back)
    left_bytes = 8 * fixed(node_at(context, fixed(node, NodeField.LEFT)), NodeField.WIDTH)
    right_bytes = 8 * fixed(node_at(context, fixed(node, NodeField.RIGHT)), NodeField.WIDTH)
    used = peek(context, At.ARENA_USED)
    if used + MARK_WORDS * (lefts + rights) > fixed(context, At.ARENA_SIZE):
        return ARENA_FULL
    state = step_state(context, step)
    poke(state, StepState.MARKS, used)
    left_marks = fixed(context, At.ARENA) + 8 * used
    right_marks = left_marks + _MARK_BYTES * lefts
    for k in range(MARK_WORDS * (lefts + rights)):
        poke(left_marks, k, 0)
    used += MARK_WORDS * (lefts + rights)
    poke(context, At.ARENA_USED, used)
    poke(state, StepState.FIRST, used)
    left, right = first_of(context, step, left_back), first_of(context, step, right_back)
    for i in range(lefts):
        mark = left_marks + _MARK_BYTES * i
        status = _pair_with_best(context, node, left + i * left_bytes, True, mark, right, rights, right_marks)
        if status != DONE:
            return status
    for j in range(rights):
        mark = right_marks + _MARK_BYTES * j
        status = _pair_with_best(context, node, right + j * right_bytes, False, mark, left, lefts, left_marks)
        if status != DONE:
            return status
    return DONE
