"""The steps of a plan, compiled: what each kind of node makes of the new matches of its operands.

Steps only read goal tables. A goal that a restricting policy uses up is marked and noted, so that whatever happens
can be taken back when the plan must be run again with more room.
"""

from __future__ import annotations

from cepheus.engine.columns.lanes import before
from cepheus.engine.columns.memory import fixed, peek, poke, table
from cepheus.engine.goals.compiled import call_3, compiled, inlined
from cepheus.engine.goals.conditions import NO_ROOM, fits_loaded, hash_of_loaded, solve
from cepheus.engine.goals.layout import (
    ARENA_FULL,
    CONSUMED_FULL,
    DONE,
    MARK_WORDS,
    MATCH_HEADER,
    RECORD_HEADER,
    ROW_HEADER,
    ArgumentField,
    ArgumentKind,
    At,
    ChoiceCode,
    Mark,
    Match,
    NodeField,
    OperatorCode,
    PreferenceCode,
    Record,
    Row,
    StepField,
    StepState,
    TableField,
    TableState,
)
from cepheus.engine.goals.machine import as_float, is_number, same_value
from cepheus.engine.goals.matches import (
    copy_words,
    end_of_pair,
    key_hash,
    load_for_guard,
    load_match,
    load_pair,
    new_match,
    node_at,
    partners,
    parts_of,
    set_value,
    start_of_pair,
    tag_of,
    value_of,
)
from cepheus.engine.goals.store import NOWHERE, newest_of, oldest_of, row_at, state_at, table_at

_ARGUMENT_BYTES = 8 * len(ArgumentField)
_STEP_BYTES = 8 * len(StepField)
_STEP_STATE_BYTES = 8 * len(StepState)
_MATCH_BYTES = 8 * ROW_HEADER
_MARK_BYTES = 8 * MARK_WORDS
NO_PART = -(2**63)
_BEGINNING = -(2**63)


@inlined
def step_at(context: int, step: int) -> int:
    """Give the address of a step's row."""
    return fixed(context, At.STEPS) + _STEP_BYTES * step


@inlined
def step_state(context: int, step: int) -> int:
    """Give the address of what is known of a step while its plan runs."""
    return fixed(context, At.STEP_STATE) + _STEP_STATE_BYTES * step


@inlined
def count_of(context: int, step: int, back: int) -> int:
    """Give how many new matches a step before gave; 0 if there is no such step."""
    return 0 if back == 0 else peek(step_state(context, step - back), StepState.COUNT)


@inlined
def first_of(context: int, step: int, back: int) -> int:
    """Give the address of the first of them."""
    return fixed(context, At.ARENA) + 8 * peek(step_state(context, step - back), StepState.FIRST)


# ---- Atoms ---------------------------------------------------------------------------------------------------------


@compiled
def atom_step(context: int, node: int, record: int) -> int:
    """Make a match of an event that fits an atom."""
    tag_words = fixed(node, NodeField.TAG_WORDS)
    match = new_match(context, fixed(node, NodeField.WIDTH), tag_words)
    if match == 0:
        return ARENA_FULL
    places = record + 8 * RECORD_HEADER
    begin, end = fixed(node, NodeField.BEGIN), fixed(node, NodeField.END)
    tags = places
    values = places + 8 * fixed(node, NodeField.RECORD_TAGS)
    variables = 0
    for k in range(begin, end):
        argument = fixed(context, At.ARGUMENTS) + _ARGUMENT_BYTES * k
        place, kind = fixed(argument, ArgumentField.PLACE), fixed(argument, ArgumentField.KIND)
        tag = (peek(tags, place >> 4) >> ((place & 15) << 2)) & 15
        value = peek(values, place)
        if kind == ArgumentKind.BIND:
            set_value(match, tag_words, variables, tag, value)
            variables += 1
            fits = tag != 0
        elif kind == ArgumentKind.CONSTANT:
            fits = same_value(tag, value, fixed(argument, ArgumentField.TAG), fixed(argument, ArgumentField.WORD))
        elif kind == ArgumentKind.NEVER:
            fits = False
        else:
            variable = fixed(argument, ArgumentField.WORD)
            fits = same_value(tag, value, tag_of(match, variable), value_of(match, tag_words, variable))
        if not fits:
            poke(context, At.ARENA_USED, peek(context, At.ARENA_USED) - fixed(node, NodeField.WIDTH))
            return DONE
    poke(match, Match.START, peek(record, Record.START))
    poke(match, Match.END, peek(record, Record.END))
    if fixed(node, NodeField.PARTS) == 1:
        poke(parts_of(node, match), 0, peek(record, Record.ID))
    return DONE


# ---- Pairs ---------------------------------------------------------------------------------------------------------


@compiled
def _make_pair(context: int, node: int, left: int, right: int) -> bool:
    """Make the combination of two matches; False if the arena must grow."""
    tag_words = fixed(node, NodeField.TAG_WORDS)
    match = new_match(context, fixed(node, NodeField.WIDTH), tag_words)
    if match == 0:
        return False
    operator = fixed(node, NodeField.OPERATOR)
    poke(match, Match.START, start_of_pair(operator, peek(left, Match.START), peek(right, Match.START)))
    poke(match, Match.END, end_of_pair(operator, peek(left, Match.END), peek(right, Match.END)))
    left_node, right_node = (
        node_at(context, fixed(node, NodeField.LEFT)),
        node_at(context, fixed(node, NodeField.RIGHT)),
    )
    left_tags, right_tags = fixed(left_node, NodeField.TAG_WORDS), fixed(right_node, NodeField.TAG_WORDS)
    known = fixed(left_node, NodeField.VARIABLES)
    copy_words(left + 8 * MATCH_HEADER, match + 8 * MATCH_HEADER, left_tags)
    copy_words(left + 8 * (MATCH_HEADER + left_tags), match + 8 * (MATCH_HEADER + tag_words), known)
    fresh = fixed(node, NodeField.FRESH)
    for k in range(fixed(node, NodeField.FRESH_COUNT)):
        variable = table(context, At.LINKS, 2 * (fresh + k))
        set_value(match, tag_words, known + k, tag_of(right, variable), value_of(right, right_tags, variable))
    shared = fixed(node, NodeField.SHARED)
    for k in range(fixed(node, NodeField.SHARED_COUNT)):  # what the left may lack, the right may have
        variable, other = table(context, At.LINKS, 2 * (shared + k)), table(context, At.LINKS, 2 * (shared + k) + 1)
        if tag_of(match, variable) == 0:
            set_value(match, tag_words, variable, tag_of(right, other), value_of(right, right_tags, other))
    parts = parts_of(node, match)
    left_parts = fixed(left_node, NodeField.PARTS)
    copy_words(parts_of(left_node, left), parts, left_parts)
    copy_words(parts_of(right_node, right), parts + 8 * left_parts, fixed(right_node, NodeField.PARTS))
    return True


@compiled
def _earliest_end(context: int, node: int, mine: int, is_left: bool, number: int) -> int:
    """Give the end before which no row of the other operand can be a partner."""
    operator = fixed(node, NodeField.OPERATOR)
    start, end = peek(mine, Match.START), peek(mine, Match.END)
    floor = _BEGINNING
    if operator == OperatorCode.EQUALS or operator == OperatorCode.FINISHES:
        floor = end
    elif operator == OperatorCode.MEETS:
        floor = end if is_left else start
    elif operator == OperatorCode.STARTS:
        floor = start
    elif operator != OperatorCode.SEQ and operator != OperatorCode.AND:
        floor = start + 1
    reach = fixed(table_at(context, number), TableField.REACH)
    return max(floor, before(end, reach)) if reach >= 0 else floor


@compiled
def _hash_in(context: int, node: int, number: int, mine: int, is_left: bool) -> int:
    """Give the hash under which the partners of a match stand in a table."""
    operand = node_at(context, fixed(node, NodeField.LEFT if is_left else NodeField.RIGHT))
    tag_words = fixed(operand, NodeField.TAG_WORDS)
    keys, count = fixed(node, NodeField.KEYS), fixed(node, NodeField.KEY_COUNT)
    return key_hash(context, number, mine, tag_words, keys, count, 0 if is_left else 1)


@compiled
def _oldest_since(context: int, number: int, hashed: int, floor: int) -> int:
    """Give the oldest row of a bucket from which on no row of a table ends before ``floor``."""
    if floor == _BEGINNING:
        return oldest_of(context, hashed)
    found = NOWHERE
    row = newest_of(context, hashed)
    while row != NOWHERE:
        here = row_at(context, row)
        if peek(here, Row.HASH) == hashed and peek(here, Row.TABLE) == number:
            if peek(here, ROW_HEADER + Match.END) < floor:
                return found
            found = row
        row = peek(here, Row.OLDER)
    return found


@compiled
def _pair_with_all(context: int, node: int, mine: int, is_left: bool) -> bool:
    """Combine a match with every partner that waits at the other operand; False if the arena must grow."""
    number = fixed(node, NodeField.RIGHT_TABLE if is_left else NodeField.LEFT_TABLE)
    if number < 0 or peek(state_at(context, number), TableState.COUNT) == 0:
        return True
    hashed = _hash_in(context, node, number, mine, is_left)
    row = _oldest_since(context, number, hashed, _earliest_end(context, node, mine, is_left, number))
    while row != NOWHERE:
        here = row_at(context, row)
        if peek(here, Row.HASH) == hashed and peek(here, Row.TABLE) == number:
            other = here + _MATCH_BYTES
            left, right = (mine, other) if is_left else (other, mine)
            if partners(context, node, left, right) and not _make_pair(context, node, left, right):
                return False
        row = peek(here, Row.NEWER)
    return True


@inlined
def unrestricted_step(context: int, node: int, step: int) -> int:
    """Combine new matches with everything that fits."""
    return call_3(fixed(context, At.UNRESTRICTED), context, node, step)


def unrestricted_step_behind(context: int, node: int, step: int) -> int:
    """Do what ``unrestricted_step`` says, behind a seam."""
    row = step_at(context, step)
    left_back, right_back = fixed(row, StepField.LEFT), fixed(row, StepField.RIGHT)
    lefts, rights = count_of(context, step, left_back), count_of(context, step, right_back)
    left_bytes = 8 * fixed(node_at(context, fixed(node, NodeField.LEFT)), NodeField.WIDTH)
    right_bytes = 8 * fixed(node_at(context, fixed(node, NodeField.RIGHT)), NodeField.WIDTH)
    for i in range(lefts):
        left = first_of(context, step, left_back) + i * left_bytes
        if not _pair_with_all(context, node, left, True):
            return ARENA_FULL
        for j in range(rights):
            right = first_of(context, step, right_back) + j * right_bytes
            if partners(context, node, left, right) and not _make_pair(context, node, left, right):
                return ARENA_FULL
    for j in range(rights):
        if not _pair_with_all(context, node, first_of(context, step, right_back) + j * right_bytes, False):
            return ARENA_FULL
    return DONE


# ---- Pairs under a restricting policy ------------------------------------------------------------------------------


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
    x = as_float(tag, value_of(one, tag_words, variable))
    y = as_float(other_tag, value_of(other, tag_words, variable))
    order = (x > y) - (x < y)
    return order if fixed(node, NodeField.PREFERENCE) == PreferenceCode.GREATEST else -order


@inlined
def _order(one: int, other: int) -> int:
    return (one > other) - (one < other)


@compiled
def _before(context: int, node: int, one: int, other: int, are_left: bool) -> int:
    """Tell which of two matches of an operand the policy takes: 1 the first, -1 the second, 0 as they arrived."""
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
    """Tell whether two matches can be combined, all that stands around the operator included."""
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


@compiled
def _takes(context: int, node: int, mine: int, other: int, best: int, is_left: bool, newest_first: bool) -> bool:
    """Tell whether a match is a better partner than the best so far."""
    if best != 0:
        order = _before(context, node, other, best, not is_left)
        # of equals, recent takes the one that arrived last, chronological the one that arrived first
        keeps_first = newest_first == (fixed(node, NodeField.CHOICE) == ChoiceCode.RECENT)
        if order < 0 or (order == 0 and keeps_first):
            return False
    return _acceptable(context, node, mine, other) if is_left else _acceptable(context, node, other, mine)


@compiled
def _best_new(context: int, node: int, mine: int, is_left: bool, first: int, count: int, marks: int, best: int) -> int:
    """Give which new match of the other operand is a better partner than the best that waits; -1 for none.

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
    """Give the best partner among those that wait at the other operand; 0 if there is none."""
    number = fixed(node, NodeField.RIGHT_TABLE if is_left else NodeField.LEFT_TABLE)
    if number < 0 or peek(state_at(context, number), TableState.COUNT) == 0:
        return 0
    recent = fixed(node, NodeField.CHOICE) == ChoiceCode.RECENT
    operator = fixed(node, NodeField.OPERATOR)
    floor = _earliest_end(context, node, mine, is_left, number)
    newest_first = recent or (operator != OperatorCode.SEQ and operator != OperatorCode.AND)
    longest = peek(state_at(context, number), TableState.LONGEST)
    by_arrival = fixed(node, NodeField.PREFERENCE) == PreferenceCode.ARRIVAL
    now = peek(context, At.NOW)
    length = fixed(table_at(context, number), TableField.LENGTH)
    since = before(now, length) if length >= 0 else _BEGINNING
    hashed = _hash_in(context, node, number, mine, is_left)
    best = 0
    row = newest_of(context, hashed) if newest_first else oldest_of(context, hashed)
    while row != NOWHERE:
        here = row_at(context, row)
        if peek(here, Row.HASH) == hashed and peek(here, Row.TABLE) == number:
            other = here + _MATCH_BYTES
            end = peek(other, Match.END)
            if newest_first:
                if end < floor or (recent and best != 0 and (by_arrival or end < peek(best, Match.END))):
                    return best
            elif best != 0 and (by_arrival or end - longest > peek(best, Match.START)):
                return best
            # what is too long for the window around it is out from the next instant on
            free = end >= floor and (end == now or peek(other, Match.START) >= since) and peek(other, Match.TAKEN) == 0
            if free and _takes(context, node, mine, other, best, is_left, newest_first):
                best = other
        row = peek(here, Row.OLDER) if newest_first else peek(here, Row.NEWER)
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


@compiled
def _pair_with_best(
    context: int, node: int, mine: int, is_left: bool, mark: int, first: int, count: int, marks: int
) -> int:
    """Combine a match with the one partner that the policy chooses among goals and new matches."""
    best = _best_waiting(context, node, mine, is_left)
    new = _best_new(context, node, mine, is_left, first, count, marks, best)
    if new >= 0:
        width = fixed(node_at(context, fixed(node, NodeField.RIGHT if is_left else NodeField.LEFT)), NodeField.WIDTH)
        best = first + 8 * width * new
    if best == 0:
        return DONE
    left, right = (mine, best) if is_left else (best, mine)
    if not _make_pair(context, node, left, right):
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


# ---- Absence -------------------------------------------------------------------------------------------------------


@compiled
def blocked(context: int, node: int, left: int, until: int) -> bool:
    """Tell whether what must be absent came after an opening delimiter and was over before a time.

    The values of both delimiters are loaded.
    """
    number = fixed(node, NodeField.NEGATED_TABLE)
    if peek(state_at(context, number), TableState.COUNT) == 0:
        return False
    negated = node_at(context, fixed(node, NodeField.NEGATED))
    keys, count = fixed(node, NodeField.NEGATED_KEYS), fixed(node, NodeField.NEGATED_KEY_COUNT)
    hashed = hash_of_loaded(context, number, keys, count)
    after = peek(left, Match.END)
    tag_words = fixed(negated, NodeField.TAG_WORDS)
    row = newest_of(context, hashed)
    while row != NOWHERE:
        here = row_at(context, row)
        if peek(here, Row.HASH) == hashed and peek(here, Row.TABLE) == number:
            other = here + _MATCH_BYTES
            if peek(other, Match.END) <= after:
                return False
            between = peek(other, Match.END) < until and peek(other, Match.START) > after
            if between and fits_loaded(context, other, tag_words, keys, count):
                shared = fixed(node, NodeField.NEGATED_SHARED)
                if fits_loaded(context, other, tag_words, shared, fixed(node, NodeField.NEGATED_SHARED_COUNT)):
                    return True
        row = peek(here, Row.OLDER)
    return False


@compiled
def _same_values(one: int, other: int, tag_words: int, variables: int) -> bool:
    for variable in range(variables):
        if not same_value(
            tag_of(one, variable),
            value_of(one, tag_words, variable),
            tag_of(other, variable),
            value_of(other, tag_words, variable),
        ):
            return False
    return True


@compiled
def _blocked_up_to(context: int, node: int, opener: int, closer: int, right: int) -> bool:
    """Tell whether an opening delimiter is ruled out together with one that has the values and end of ``right``."""
    if peek(closer, Match.END) != peek(right, Match.END) or peek(opener, Match.END) >= peek(closer, Match.START):
        return False
    spec = node_at(context, fixed(node, NodeField.RIGHT))
    if not _same_values(closer, right, fixed(spec, NodeField.TAG_WORDS), fixed(spec, NodeField.VARIABLES)):
        return False
    return blocked(context, node, opener, peek(closer, Match.START))


@compiled
def _blocked_for(context: int, node: int, step: int, opener: int, right: int) -> bool:
    """Tell whether an opening delimiter is ruled out with any closing one of this instant that is like ``right``."""
    back = fixed(step_at(context, step), StepField.RIGHT)
    stride = 8 * fixed(node_at(context, fixed(node, NodeField.RIGHT)), NodeField.WIDTH)
    for j in range(count_of(context, step, back)):
        if _blocked_up_to(context, node, opener, first_of(context, step, back) + j * stride, right):
            return True
    number = fixed(node, NodeField.RIGHT_TABLE)
    hashed = _hash_in(context, node, number, right, False)
    row = newest_of(context, hashed)
    while row != NOWHERE:
        here = row_at(context, row)
        if peek(here, Row.HASH) == hashed and peek(here, Row.TABLE) == number:
            if peek(here, ROW_HEADER + Match.END) < peek(right, Match.END):
                return False
            if _blocked_up_to(context, node, opener, here + _MATCH_BYTES, right):
                return True
        row = peek(here, Row.OLDER)
    return False


@compiled
def _blocked_somewhere(context: int, node: int, step: int, left: int, right: int) -> bool:
    """Tell whether any two delimiters with these values and this outer interval have something between them."""
    load_pair(context, node, left, right)
    if blocked(context, node, left, peek(right, Match.START)):
        return True
    number = fixed(node, NodeField.LEFT_TABLE)
    left_node = node_at(context, fixed(node, NodeField.LEFT))
    tag_words, variables = fixed(left_node, NodeField.TAG_WORDS), fixed(left_node, NodeField.VARIABLES)
    rights = count_of(context, step, fixed(step_at(context, step), StepField.RIGHT))
    rights += peek(state_at(context, fixed(node, NodeField.RIGHT_TABLE)), TableState.COUNT)
    if peek(state_at(context, number), TableState.LONGEST) == 0 and rights == 1:
        return False  # nothing but this pair has these values and ends
    hashed = _hash_in(context, node, number, right, False)
    row = newest_of(context, hashed)
    while row != NOWHERE:
        here = row_at(context, row)
        other = here + _MATCH_BYTES
        if peek(here, Row.HASH) == hashed and peek(here, Row.TABLE) == number:
            if peek(other, Match.END) < peek(left, Match.START):
                return False
            alike = peek(other, Match.START) == peek(left, Match.START)
            alike = alike and _same_values(other, left, tag_words, variables)
            if alike and _blocked_for(context, node, step, other, right):
                return True
        row = peek(here, Row.OLDER)
    return False


@inlined
def absence_step(context: int, node: int, step: int) -> int:
    """Combine new closing delimiters with every opening one such that nothing in between rules it out."""
    return call_3(fixed(context, At.ABSENCE), context, node, step)


def absence_step_behind(context: int, node: int, step: int) -> int:
    """Do what ``absence_step`` says, behind a seam."""
    back = fixed(step_at(context, step), StepField.RIGHT)
    number = fixed(node, NodeField.LEFT_TABLE)
    right_bytes = 8 * fixed(node_at(context, fixed(node, NodeField.RIGHT)), NodeField.WIDTH)
    for j in range(count_of(context, step, back)):
        right = first_of(context, step, back) + j * right_bytes
        hashed = _hash_in(context, node, number, right, False)
        row = _oldest_since(context, number, hashed, _earliest_end(context, node, right, False, number))
        while row != NOWHERE:
            here = row_at(context, row)
            if peek(here, Row.HASH) == hashed and peek(here, Row.TABLE) == number:
                left = here + _MATCH_BYTES
                fits = partners(context, node, left, right)
                fits = fits and not _blocked_somewhere(context, node, step, left, right)
                if fits and not _make_pair(context, node, left, right):
                    return ARENA_FULL
            row = peek(here, Row.NEWER)
    return DONE


# ---- One operand ---------------------------------------------------------------------------------------------------


@compiled
def filter_step(context: int, node: int, step: int) -> int:
    """Continue new matches with each way to satisfy conditions."""
    back = fixed(step_at(context, step), StepField.LEFT)
    source = node_at(context, fixed(node, NodeField.LEFT))
    stride = 8 * fixed(source, NodeField.WIDTH)
    begin, end = fixed(node, NodeField.BEGIN), fixed(node, NodeField.END)
    for k in range(count_of(context, step, back)):
        match = first_of(context, step, back) + k * stride
        load_match(context, source, match)
        if solve(context, begin, end, node, source, match) == NO_ROOM:
            return ARENA_FULL
    return DONE


@compiled
def _pass_on(context: int, node: int, operand: int, match: int, places: int) -> bool:
    """Copy a match of an alternative; ``places`` tells where its variables go (-1: where they are)."""
    tag_words = fixed(node, NodeField.TAG_WORDS)
    copy = new_match(context, fixed(node, NodeField.WIDTH), tag_words)
    if copy == 0:
        return False
    poke(copy, Match.START, peek(match, Match.START))
    poke(copy, Match.END, peek(match, Match.END))
    for variable in range(fixed(node, NodeField.VARIABLES)):
        poke(copy, MATCH_HEADER + tag_words + variable, 0)
    operand_tags = fixed(operand, NodeField.TAG_WORDS)
    for variable in range(fixed(operand, NodeField.VARIABLES)):
        place = variable if places < 0 else table(context, At.LINKS, 2 * (places + variable))
        set_value(copy, tag_words, place, tag_of(match, variable), value_of(match, operand_tags, variable))
    parts = parts_of(node, copy)
    for k in range(fixed(node, NodeField.PARTS)):
        poke(parts, k, NO_PART)
    count = fixed(operand, NodeField.PARTS)
    before_mine = 0 if places < 0 else fixed(node, NodeField.PARTS) - count
    copy_words(parts_of(operand, match), parts + 8 * before_mine, count)
    return True


@compiled
def either_step(context: int, node: int, step: int) -> int:
    """Pass the new matches of both alternatives on."""
    row = step_at(context, step)
    for side in range(2):
        back = fixed(row, StepField.LEFT + side)
        operand = node_at(context, fixed(node, NodeField.LEFT + side))
        stride = 8 * fixed(operand, NodeField.WIDTH)
        places = -1 if side == 0 else fixed(node, NodeField.FRESH)
        for k in range(count_of(context, step, back)):
            if not _pass_on(context, node, operand, first_of(context, step, back) + k * stride, places):
                return ARENA_FULL
    return DONE
