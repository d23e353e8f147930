"""Conditions, compiled: which ways there are to satisfy the conditions around a match, by trying and going back."""

from __future__ import annotations

import numpy as np

from cepheus.engine.columns.memory import fixed, peek, poke, signed, table
from cepheus.engine.goals.compiled import call_6, compiled, inlined
from cepheus.engine.goals.layout import (
    ROW_HEADER,
    At,
    ConditionField,
    ConditionKind,
    NodeField,
    Row,
)
from cepheus.engine.goals.machine import compute, same_value, stir, stir_value, test
from cepheus.engine.goals.matches import copy_words, loaded_match, node_at, parts_of, tag_of, value_of
from cepheus.engine.goals.store import NOWHERE, oldest_of, row_at

_CONDITION_BYTES = 8 * len(ConditionField)
_MATCH_BYTES = 8 * ROW_HEADER
NO_ROOM = -1


@inlined
def condition_at(context: int, condition: int) -> int:
    """Give the address of a condition's row."""
    return fixed(context, At.CONDITIONS) + _CONDITION_BYTES * condition


@compiled
def hash_of_loaded(context: int, number: int, keys: int, count: int) -> int:
    """Give the hash under which rows with the loaded values stand in a table."""
    digest = stir(np.uint64(0x51ED270B), number)
    values, tags = fixed(context, At.VALUES), fixed(context, At.VALUE_TAGS)
    for k in range(count):
        variable = table(context, At.LINKS, 2 * (keys + k) + 1)
        digest = stir_value(digest, peek(tags, variable), peek(values, variable))
    return signed(digest >> np.uint64(1))


@compiled
def fits_loaded(context: int, match: int, tag_words: int, keys: int, count: int) -> bool:
    """Tell whether a match has the loaded values; what one of the two does not bind fits."""
    values, tags = fixed(context, At.VALUES), fixed(context, At.VALUE_TAGS)
    for k in range(count):
        place, variable = table(context, At.LINKS, 2 * (keys + k)), table(context, At.LINKS, 2 * (keys + k) + 1)
        tag, other = tag_of(match, place), peek(tags, variable)
        if tag != 0 and other != 0:
            if not same_value(tag, value_of(match, tag_words, place), other, peek(values, variable)):
                return False
    return True


@inlined
def _hash(context: int, condition: int) -> int:
    keys, count = fixed(condition, ConditionField.KEYS), fixed(condition, ConditionField.KEY_COUNT)
    return hash_of_loaded(context, fixed(condition, ConditionField.TABLE), keys, count)


@inlined
def _bind(context: int, condition: int, match: int, tag_words: int) -> None:
    """Give the variables that a condition binds the values of a row."""
    binds = fixed(condition, ConditionField.BINDS)
    for k in range(fixed(condition, ConditionField.BIND_COUNT)):
        place, variable = table(context, At.LINKS, 2 * (binds + k)), table(context, At.LINKS, 2 * (binds + k) + 1)
        poke(fixed(context, At.VALUES), variable, value_of(match, tag_words, place))
        poke(fixed(context, At.VALUE_TAGS), variable, tag_of(match, place))


@compiled
def next_fitting(context: int, condition: int, row: int) -> int:
    """Give the first row that fits a condition, from ``row`` on toward the newest; NOWHERE if there is none."""
    hashed = _hash(context, condition)
    number = fixed(condition, ConditionField.TABLE)
    tag_words = fixed(node_at(context, fixed(condition, ConditionField.NODE)), NodeField.TAG_WORDS)
    while row != NOWHERE:
        here = row_at(context, row)
        if peek(here, Row.HASH) == hashed and peek(here, Row.TABLE) == number:
            keys, count = fixed(condition, ConditionField.KEYS), fixed(condition, ConditionField.KEY_COUNT)
            if fits_loaded(context, here + _MATCH_BYTES, tag_words, keys, count):
                return row
        row = peek(here, Row.NEWER)
    return NOWHERE


@compiled
def _next_known(context: int, condition: int, cursor: int, begin: bool) -> bool:
    """Bind the variables of a condition to the first or next row of its relation that fits."""
    row = peek(cursor, 0)
    if begin:
        row = oldest_of(context, _hash(context, condition))
    else:
        row = peek(row_at(context, row), Row.NEWER)
    row = next_fitting(context, condition, row)
    if row == NOWHERE:
        return False
    poke(cursor, 0, row)
    tag_words = fixed(node_at(context, fixed(condition, ConditionField.NODE)), NodeField.TAG_WORDS)
    _bind(context, condition, row_at(context, row) + _MATCH_BYTES, tag_words)
    return True


@compiled
def _ask(context: int, condition: int) -> bool:
    """Tell whether a condition that has at most one way to hold does so, and bind what it binds."""
    kind = fixed(condition, ConditionField.KIND)
    if kind == ConditionKind.TEST:
        return test(context, fixed(condition, ConditionField.CODE))
    length = peek(context, At.END) - peek(context, At.START)
    if kind == ConditionKind.WITHIN:
        return length <= fixed(condition, ConditionField.NUMBER)
    if kind == ConditionKind.EXACTLY:
        return length == fixed(condition, ConditionField.NUMBER)
    tag = compute(context, fixed(condition, ConditionField.CODE))
    variable = fixed(condition, ConditionField.VARIABLE)
    poke(fixed(context, At.VALUES), variable, peek(fixed(context, At.STACK), 0))
    poke(fixed(context, At.VALUE_TAGS), variable, tag)
    return tag != 0


@inlined
def solve(context: int, begin: int, end: int, node: int, source_node: int, source: int) -> int:
    """Make a match of ``node`` for each way to satisfy the conditions with the variables that are loaded.

    Gives how many there are, NO_ROOM if the arena must grow. The parts are those of the match ``source``. Without a
    node (0) it only tells whether there is any way.
    """
    return call_6(fixed(context, At.SOLVE), context, begin, end, node, source_node, source)


def solve_behind(context: int, begin: int, end: int, node: int, source_node: int, source: int) -> int:
    """Do what ``solve`` says, behind a seam."""
    at = begin
    forward = True
    found = 0
    while at >= begin:
        if at == end:
            found += 1
            if node == 0:
                return 1
            match = loaded_match(context, node)
            if match == 0:
                return NO_ROOM
            copy_words(parts_of(source_node, source), parts_of(node, match), fixed(source_node, NodeField.PARTS))
            forward = False
            at -= 1
            continue
        condition = condition_at(context, at)
        if fixed(condition, ConditionField.KIND) == ConditionKind.KNOWN:
            forward = _next_known(context, condition, fixed(context, At.CURSORS) + 8 * (at - begin), forward)
        elif forward:
            forward = _ask(context, condition)
        at += 1 if forward else -1
    return found
