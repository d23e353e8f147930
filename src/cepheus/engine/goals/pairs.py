"""Pairs, compiled: the combination of two matches, and everything that fits under the unrestricted policy."""

from __future__ import annotations

from cepheus.engine.goals.matches import (
    copy_words,
    end_of_pair,
    key_hash,
    new_match,
    node_at,
    partners,
    parts_of,
    set_value,
    start_of_pair,
    tag_of,
    value_of,
)
from cepheus.engine.goals.steps import count_of, first_of, step_at
from cepheus.engine.goals.store import (
    NOWHERE,
    has_keys,
    is_sought,
    newer_row,
    newest_row,
    older_row,
    oldest_row,
    row_at,
    state_at,
    table_at,
)
from cepheus.engine.goals.waiting_goals import waiting_hash, waits_already
from cepheus.kernel.calls import call_3
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import before
from cepheus.kernel.memory import fixed, peek, poke, table
from cepheus.plan.interval.layout import ARENA_FULL, DONE, MATCH_HEADER, ROW_HEADER, At, Match, TableState
from cepheus.plan.interval.program import NodeField, OperatorCode, StepField, TableField

_MATCH_BYTES = 8 * ROW_HEADER
_BEGINNING = -(2**63)


@compiled
def make_pair(context: int, node: int, left: int, right: int) -> bool:
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
def earliest_end(context: int, node: int, mine: int, is_left: bool, number: int) -> int:
    """The end before which no row of the other operand can be a partner."""
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
def hash_in(context: int, node: int, number: int, mine: int, is_left: bool) -> int:
    """The hash under which the partners of a match stand in a table."""
    if not has_keys(context, number):
        return 0
    operand = node_at(context, fixed(node, NodeField.LEFT if is_left else NodeField.RIGHT))
    tag_words = fixed(operand, NodeField.TAG_WORDS)
    keys, count = fixed(node, NodeField.KEYS), fixed(node, NodeField.KEY_COUNT)
    return key_hash(context, number, mine, tag_words, keys, count, 0 if is_left else 1)


@compiled
def oldest_since(context: int, number: int, hashed: int, floor: int) -> int:
    """Find the oldest row with a hash that does not end before ``floor``; all that are newer do not, either.

    It is looked for from both ends at once, as nobody knows which is nearer.
    """
    old = oldest_row(context, number, hashed)
    if floor == _BEGINNING:
        return old
    new = newest_row(context, number, hashed)
    found = NOWHERE
    while new != NOWHERE:
        here = row_at(context, old)
        if is_sought(context, number, hashed, here) and peek(here, ROW_HEADER + Match.END) >= floor:
            return old
        old = newer_row(context, number, here)
        here = row_at(context, new)
        if is_sought(context, number, hashed, here):
            if peek(here, ROW_HEADER + Match.END) < floor:
                return found
            found = new
        new = older_row(context, number, here)
    return found


@compiled
def _pair_with_all(context: int, node: int, mine: int, is_left: bool) -> bool:
    """Combine a match with every partner that waits at the other operand; False if the arena must grow."""
    number = fixed(node, NodeField.RIGHT_TABLE if is_left else NodeField.LEFT_TABLE)
    if number < 0 or peek(state_at(context, number), TableState.COUNT) == 0:
        return True
    hashed = hash_in(context, node, number, mine, is_left)
    row = oldest_since(context, number, hashed, earliest_end(context, node, mine, is_left, number))
    while row != NOWHERE:
        here = row_at(context, row)
        if is_sought(context, number, hashed, here):
            other = here + _MATCH_BYTES
            left, right = (mine, other) if is_left else (other, mine)
            if partners(context, node, left, right) and not make_pair(context, node, left, right):
                return False
        row = newer_row(context, number, here)
    return True


@compiled
def _is_repeated(context: int, node: int, operand: int, match: int) -> bool:
    """Whether an equal match came to an operand before, in this instant: a pattern denotes a set."""
    number = fixed(node, NodeField.LEFT_TABLE + operand)
    source = node_at(context, fixed(node, NodeField.LEFT + operand))
    if number < 0 or fixed(source, NodeField.REPEATS) == 0:
        return False
    last = peek(state_at(context, number), TableState.LAST)
    if last == NOWHERE or peek(row_at(context, last), ROW_HEADER + Match.END) < peek(match, Match.END):
        return False
    hashed = waiting_hash(context, node, operand, match)
    tag_words, variables = fixed(source, NodeField.TAG_WORDS), fixed(source, NodeField.VARIABLES)
    return waits_already(context, number, hashed, match, tag_words, variables)


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
        if _is_repeated(context, node, 0, left):
            continue
        if not _pair_with_all(context, node, left, True):
            return ARENA_FULL
        for j in range(rights):
            right = first_of(context, step, right_back) + j * right_bytes
            fits = partners(context, node, left, right) and not _is_repeated(context, node, 1, right)
            if fits and not make_pair(context, node, left, right):
                return ARENA_FULL
    for j in range(rights):
        right = first_of(context, step, right_back) + j * right_bytes
        if not _is_repeated(context, node, 1, right) and not _pair_with_all(context, node, right, False):
            return ARENA_FULL
    return DONE
