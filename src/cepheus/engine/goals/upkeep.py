"""Upkeep of goal tables, compiled: what Python asks the kernel to do between events."""

from __future__ import annotations

from cepheus.engine.goals.conditions import condition_at
from cepheus.engine.goals.matches import copy_words, key_hash, node_at
from cepheus.engine.goals.store import NOWHERE, forget, link_row, row_at, take_row
from cepheus.engine.goals.waiting import wait_with_hash, waiting_hash
from cepheus.kernel.compiled import compiled
from cepheus.kernel.memory import fixed, peek, poke
from cepheus.plan.interval.layout import ROW_HEADER, At, OutputRecord
from cepheus.plan.interval.program import ConditionField, NodeField

_MATCH_BYTES = 8 * ROW_HEADER


@compiled
def sweep(context: int, tables: int) -> None:
    """Forget the goals that no window reaches any more."""
    for number in range(tables):
        forget(context, number, peek(context, At.NOW))


@compiled
def put_back(context: int, node: int, operand: int, width: int, matches: int, count: int) -> int:
    """Put matches of an operand of a node into its table, the oldest first; give how many there was room for."""
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
    """Put rows of background knowledge into the table of a condition; give how many there was room for."""
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
