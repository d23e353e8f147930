"""Goals that wait, compiled: how a match becomes a row of a table, and when it takes the place of an older one.

Where a condition around an operator compares something of the one operand with something of the other, a row carries
its side of the comparison as a number. Rows that cannot satisfy it are passed over without a further look.
Python puts goals and background knowledge into tables itself when rules are deployed or restored.
"""

from __future__ import annotations

import math

import numpy as np

from cepheus.engine.goals.conditions import condition_at
from cepheus.engine.goals.machine import as_float, compute, is_number, same_value, stir, stir_value
from cepheus.engine.goals.matches import (
    copy_words,
    key_hash,
    load_match,
    node_at,
    same_match,
    same_variables,
    tag_of,
    value_of,
)
from cepheus.engine.goals.store import (
    NOWHERE,
    forget,
    has_keys,
    is_sought,
    link_row,
    newest_of,
    newest_row,
    older_row,
    remove_row,
    row_at,
    state_at,
    table_at,
    take_row,
)
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.instructions import Op
from cepheus.kernel.memory import fixed, peek, peek_float, poke, poke_float, signed, table
from cepheus.plan.interval.layout import ROW_HEADER, At, Awaited, Match, Row, TableState, Tag
from cepheus.plan.interval.program import ConditionField, IndexCode, NodeField, OutlivesCode, PreferenceCode, TableField

_MATCH_BYTES = 8 * ROW_HEADER
_AWAITED_BYTES = Awaited.row_bytes()
_INT, _FLOAT = int(Tag.INT), int(Tag.FLOAT)
_ALL_EXACT = 2**53  # below this, each integer is a float of its own


@compiled
def screen_of(context: int, node: int, operand: int, match: int) -> float:
    """Compute a match's side of the comparison that a node screens by, NaN if it is no number.

    A waiting match and a new one of the other operand cannot be partners if the sum of their numbers is above zero.
    """
    source = node_at(context, fixed(node, NodeField.LEFT + operand))
    code = fixed(node, NodeField.LEFT_SCREEN + operand)
    instructions = fixed(context, At.CODE) + 24 * code
    if fixed(instructions, 0) == Op.VARIABLE and fixed(instructions, 3) == Op.END:
        variable = fixed(instructions, 1)
        tag, word = tag_of(match, variable), value_of(match, fixed(source, NodeField.TAG_WORDS), variable)
    else:
        load_match(context, source, match)
        tag = compute(context, code)
        word = peek(fixed(context, At.STACK), 0)
    if not is_number(tag):
        return math.nan
    negative = (operand == 1) != (fixed(node, NodeField.SCREEN_DOWNWARD) != 0)
    return -as_float(tag, word) if negative else as_float(tag, word)


@compiled
def _values_hash(number: int, match: int, tag_words: int, variables: int) -> int:
    digest = stir(np.uint64(0x2F0E1B75), number)
    for variable in range(variables):
        digest = stir_value(digest, tag_of(match, variable), value_of(match, tag_words, variable))
    return signed(digest >> np.uint64(1))


@inlined
def waiting_hash(context: int, node: int, operand: int, match: int) -> int:
    """The hash under which a match of an operand waits."""
    number = fixed(node, NodeField.LEFT_TABLE + operand)
    index = fixed(table_at(context, number), TableField.INDEX)
    if index == IndexCode.NONE:
        return 0
    source = node_at(context, fixed(node, NodeField.LEFT + operand))
    tag_words = fixed(source, NodeField.TAG_WORDS)
    if index == IndexCode.VALUES:
        return _values_hash(number, match, tag_words, fixed(source, NodeField.VARIABLES))
    if operand == 2:
        keys, count = fixed(node, NodeField.NEGATED_KEYS), fixed(node, NodeField.NEGATED_KEY_COUNT)
        return key_hash(context, number, match, tag_words, keys, count, 0)
    keys, count = fixed(node, NodeField.KEYS), fixed(node, NodeField.KEY_COUNT)
    return key_hash(context, number, match, tag_words, keys, count, operand)


@inlined
def _fill(context: int, row: int, node: int, operand: int, match: int) -> None:
    """Write a match into a row, with what it is screened by."""
    here = row_at(context, row)
    width = fixed(node_at(context, fixed(node, NodeField.LEFT + operand)), NodeField.WIDTH)
    copy_words(match, here + _MATCH_BYTES, width)
    if operand < 2 and fixed(node, NodeField.LEFT_SCREEN) >= 0:
        poke_float(here, Row.SCREEN, screen_of(context, node, operand, match))


@inlined
def wait_with_hash(context: int, node: int, operand: int, match: int, hashed: int) -> bool:
    """Put a match at the new end of the table of an operand; False if there is no room."""
    number = fixed(node, NodeField.LEFT_TABLE + operand)
    row = take_row(context, number)
    if row == NOWHERE:
        return False
    _fill(context, row, node, operand, match)
    link_row(context, number, row, hashed)
    state = state_at(context, number)
    lasts = peek(match, Match.END) - peek(match, Match.START)
    if lasts > peek(state, TableState.LONGEST):
        poke(state, TableState.LONGEST, lasts)
    return True


@inlined
def _outlived(node: int, old: int, new: int) -> bool:
    """Whether no partner to come can prefer an older match to a new one."""
    code = fixed(node, NodeField.OUTLIVES)
    lasting = peek(new, Match.START) < peek(new, Match.END)
    not_longer = peek(new, Match.START) >= peek(old, Match.START)
    if code == OutlivesCode.IF_LASTING:
        return lasting
    if code == OutlivesCode.IF_NOT_LONGER:
        return not_longer
    return code == OutlivesCode.ALWAYS or (lasting and not_longer)


@compiled
def _same_keys(context: int, node: int, operand: int, one: int, other: int, tag_words: int) -> bool:
    """Whether whatever agrees with a match of an operand on the variables that it shares agrees with another.

    A float may agree with integers that differ, so that an integer does not always stand in for it.
    """
    keys = fixed(node, NodeField.KEYS)
    for k in range(fixed(node, NodeField.KEY_COUNT)):
        variable = table(context, At.LINKS, 2 * (keys + k) + operand)
        value, other_value = value_of(one, tag_words, variable), value_of(other, tag_words, variable)
        if not same_value(tag_of(one, variable), value, tag_of(other, variable), other_value):
            return False
        rounded = other_value >= _ALL_EXACT or other_value <= -_ALL_EXACT
        if rounded and tag_of(one, variable) == _FLOAT and tag_of(other, variable) == _INT:
            return False
    return True


@compiled
def take_over(context: int, node: int, operand: int, match: int, hashed: int) -> bool:
    """Let a new match take the place of the newest one that waits for the same, if nothing can prefer that.

    The place is kept if it is that of the newest row; else it is given up, and the match is still to wait.
    """
    number = fixed(node, NodeField.LEFT_TABLE + operand)
    row = newest_row(context, number, hashed)
    while row != NOWHERE and not is_sought(context, number, hashed, row_at(context, row)):
        row = older_row(context, number, row_at(context, row))
    if row == NOWHERE:
        return False
    old = row_at(context, row) + _MATCH_BYTES
    tags = fixed(node_at(context, fixed(node, NodeField.LEFT + operand)), NodeField.TAG_WORDS)
    if not _outlived(node, old, match) or not _same_keys(context, node, operand, old, match, tags):
        return False
    in_place = peek(state_at(context, number), TableState.LAST) == row
    in_place = in_place and (not has_keys(context, number) or newest_of(context, hashed) == row)
    if in_place:
        _fill(context, row, node, operand, match)
    else:
        remove_row(context, row)
    return in_place


@inlined
def awaited_at(context: int, kind: int) -> int:
    """The address of what is known of the events of a type that goals wait for."""
    return fixed(context, At.AWAITED) + _AWAITED_BYTES * kind


@inlined
def _stands_in(context: int, node: int, old: int, new: int) -> bool:
    """Whether no instant to come can prefer a goal to a later one."""
    one, other = old + _MATCH_BYTES, new + _MATCH_BYTES
    by_arrival = fixed(node, NodeField.PREFERENCE) == PreferenceCode.ARRIVAL
    if peek(one, Match.END) == peek(other, Match.END) and not by_arrival:
        return False
    if fixed(node, NodeField.LEFT_SCREEN) >= 0:
        screen, least = peek_float(old, Row.SCREEN), peek_float(new, Row.SCREEN)
        # large numbers that are equal as floats may differ; what is no number is not compared
        if not (least < screen or (least == screen and abs(screen) < _ALL_EXACT)):
            return False
    tags = fixed(node_at(context, fixed(node, NodeField.LEFT)), NodeField.TAG_WORDS)
    return _same_keys(context, node, 0, one, other, tags)


@inlined
def _older_sought(context: int, number: int, hashed: int, here: int) -> int:
    row = older_row(context, number, here)
    while row != NOWHERE and not is_sought(context, number, hashed, row_at(context, row)):
        row = older_row(context, number, row_at(context, row))
    return row


@compiled
def let_go(context: int, node: int, hashed: int) -> None:
    """Remove goals with a hash that no instant to come can prefer to a later one, if there were but instants so far.

    The first match of an instant calls for it: then whatever waits ended before, and each instant to come is after it.
    Rows of the last instant are compared with all that are older, these have been compared with one another before.
    """
    number = fixed(node, NodeField.LEFT_TABLE)
    awaited = awaited_at(context, fixed(node, NodeField.AWAITS))
    few = peek(state_at(context, number), TableState.COUNT) < fixed(context, At.SURE_AFTER)
    if few or peek(awaited, Awaited.LASTED) != 0:
        return
    row = newest_row(context, number, hashed)
    while row != NOWHERE and not is_sought(context, number, hashed, row_at(context, row)):
        row = older_row(context, number, row_at(context, row))
    if row == NOWHERE:
        return
    here = row_at(context, row)
    last = peek(here, ROW_HEADER + Match.END)
    if last >= peek(context, At.NOW):
        return
    best, removed = here, False
    row = _older_sought(context, number, hashed, here)
    while row != NOWHERE:
        old = row_at(context, row)
        if _stands_in(context, node, old, best):
            remove_row(context, row)
            removed = True
        elif peek(old, ROW_HEADER + Match.END) < last:
            break
        else:
            here = old
            if peek_float(old, Row.SCREEN) < peek_float(best, Row.SCREEN):
                best = old
        row = _older_sought(context, number, hashed, here)
    if removed:
        poke(awaited, Awaited.LET_GO, max(last, peek(awaited, Awaited.LET_GO)))


@compiled
def drop_equal(context: int, number: int, hashed: int, match: int, tag_words: int, variables: int) -> None:
    """Remove the goal of a table that has the same values as a new match."""
    row = newest_of(context, hashed)
    while row != NOWHERE:
        here = row_at(context, row)
        older = peek(here, Row.OLDER)
        mine = peek(here, Row.HASH) == hashed and peek(here, Row.TABLE) == number
        if mine and same_variables(match, here + _MATCH_BYTES, tag_words, variables):
            remove_row(context, row)
            return
        row = older


@compiled
def waits_already(context: int, number: int, hashed: int, match: int, tag_words: int, variables: int) -> bool:
    """Whether an equal match of this instant waits in a table."""
    row = newest_row(context, number, hashed)
    while row != NOWHERE:
        here = row_at(context, row)
        if is_sought(context, number, hashed, here):
            if peek(here, ROW_HEADER + Match.END) < peek(match, Match.END):
                return False
            if same_match(match, here + _MATCH_BYTES, tag_words, variables):
                return True
        row = older_row(context, number, here)
    return False


@compiled
def sweep(context: int, tables: int) -> None:
    """Forget the goals that no window reaches any more."""
    for number in range(tables):
        forget(context, number, peek(context, At.NOW))


@compiled
def put_back(context: int, node: int, operand: int, width: int, matches: int, count: int) -> int:
    """Put matches of an operand of a node into its table, the oldest first; return how many there was room for."""
    row = node_at(context, node)
    for k in range(count):
        match = matches + 8 * width * k
        hashed = waiting_hash(context, row, operand, match)
        if peek(context, At.ROWS) >= fixed(context, At.BUCKETS_SIZE):
            return k
        if not wait_with_hash(context, row, operand, match, hashed):
            return k
    return count


@compiled
def put_facts(context: int, condition: int, rows: int, count: int) -> int:
    """Put rows of background knowledge into the table of a condition; return how many there was room for."""
    row = condition_at(context, condition)
    node = node_at(context, fixed(row, ConditionField.NODE))
    keys, key_count = fixed(row, ConditionField.KEYS), fixed(row, ConditionField.KEY_COUNT)
    number, width = fixed(row, ConditionField.TABLE), fixed(node, NodeField.WIDTH)
    for k in range(count):
        fact = rows + 8 * width * k
        hashed = key_hash(context, number, fact, fixed(node, NodeField.TAG_WORDS), keys, key_count, 0)
        if peek(context, At.ROWS) >= fixed(context, At.BUCKETS_SIZE):
            return k
        waiting = take_row(context, number)
        if waiting == NOWHERE:
            return k
        copy_words(fact, row_at(context, waiting) + _MATCH_BYTES, width)
        link_row(context, number, waiting, hashed)
    return count
