"""Upkeep of goal tables, compiled: what Python asks the kernel to do between events."""

from __future__ import annotations

from cepheus.engine.columns.memory import fixed, peek, poke
from cepheus.engine.goals.compiled import compiled
from cepheus.engine.goals.conditions import condition_at
from cepheus.engine.goals.layout import ROW_HEADER, At, ConditionField, Match, NodeField, OutputRecord, TableState
from cepheus.engine.goals.matches import copy_words, key_hash, node_at
from cepheus.engine.goals.store import NOWHERE, forget, link_row, row_at, state_at, take_row

_MATCH_BYTES = 8 * ROW_HEADER


@compiled
def sweep(context: int, tables: int) -> None:
    """Forget the goals that no window reaches any more."""
    for number in range(tables):
        forget(context, number, peek(context, At.NOW))


@compiled
def put_back(context: int, number: int, matches: int, count: int, width: int, node: int, operand: int) -> int:
    """Put matches of an operand of a node into its table, the oldest first; give how many there was room for."""
    state = state_at(context, number)
    row = node_at(context, node)
    tag_words = fixed(node_at(context, fixed(row, NodeField.LEFT + operand)), NodeField.TAG_WORDS)
    keys, key_count, side = fixed(row, NodeField.KEYS), fixed(row, NodeField.KEY_COUNT), operand
    if operand == 2:
        keys, key_count, side = fixed(row, NodeField.NEGATED_KEYS), fixed(row, NodeField.NEGATED_KEY_COUNT), 0
    for k in range(count):
        match = matches + 8 * width * k
        if not _keep(context, number, match, width, key_hash(context, number, match, tag_words, keys, key_count, side)):
            return k
        lasts = peek(match, Match.END) - peek(match, Match.START)
        poke(state, TableState.LONGEST, max(peek(state, TableState.LONGEST), lasts))
    return count


@compiled
def put_facts(context: int, condition: int, rows: int, count: int) -> int:
    """Put rows of background knowledge into the table of a condition; give how many there was room for."""
    row = condition_at(context, condition)
    node = node_at(context, fixed(row, ConditionField.NODE))
    keys, key_count = fixed(row, ConditionField.KEYS), fixed(row, ConditionField.KEY_COUNT)
    number, width = fixed(row, ConditionField.TABLE), fixed(node, NodeField.WIDTH)
    for k in range(count):
        fact = rows + 8 * width * k
        hashed = key_hash(context, number, fact, fixed(node, NodeField.TAG_WORDS), keys, key_count, 0)
        if not _keep(context, number, fact, width, hashed):
            return k
    return count


@compiled
def _keep(context: int, number: int, match: int, width: int, hashed: int) -> bool:
    """Put a match at the new end of a table; False if there is no room."""
    if peek(context, At.ROWS) >= fixed(context, At.BUCKETS_SIZE):
        return False
    row = take_row(context, number)
    if row == NOWHERE:
        return False
    copy_words(match, row_at(context, row) + _MATCH_BYTES, width)
    link_row(context, number, row, hashed)
    return True


@compiled
def split(words: int, strides: int, size: int, places: int, rules: int) -> int:
    """Find the records of an output: where each begins, and its rule; give how many there are."""
    at, count = 0, 0
    while at < size:
        rule = peek(words, at + OutputRecord.RULE)
        poke(places, count, at)
        poke(rules, count, rule)
        count += 1
        at += peek(strides, rule)
    return count
