"""Conditions, compiled: which ways there are to satisfy the conditions around a match, by trying and going back."""

from __future__ import annotations

import math

import numpy as np

from cepheus.engine.goals.machine import (
    as_float,
    ask,
    compare_values,
    compute,
    is_number,
    order_exactly,
    same_value,
    stir,
    stir_value,
    test,
)
from cepheus.engine.goals.matches import copy_words, loaded_match, node_at, parts_of, tag_of, value_of
from cepheus.engine.goals.store import NOWHERE, has_keys, is_sought, newer_row, oldest_row, row_at
from cepheus.kernel.aggregates import is_zero_of_nothing, over_numbers
from cepheus.kernel.calls import call_6
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import before
from cepheus.kernel.memory import fixed, peek, poke, poke_float, signed, table
from cepheus.kernel.program import Floats, FunctionCode
from cepheus.kernel.sums import add_float, add_integer, clear, read_float, read_integer, sum_floats
from cepheus.plan.interval.layout import ROW_HEADER, At, Match, Row, Tag
from cepheus.plan.interval.program import ConditionField, ConditionKind, NodeField

_CONDITION_BYTES = ConditionField.row_bytes()
_MATCH_BYTES = 8 * ROW_HEADER
NO_ROOM = -1
_PARTIALS = 64
_LOW_HALF = 2**32 - 1
_LESS, _GREATER = 2, 4  # operator codes of the expression machine
_BOOL, _INT, _FLOAT, _LIST = int(Tag.BOOL), int(Tag.INT), int(Tag.FLOAT), int(Tag.LIST)


@inlined
def condition_at(context: int, condition: int) -> int:
    """The address of a condition's row."""
    return fixed(context, At.CONDITIONS) + _CONDITION_BYTES * condition


@compiled
def hash_of_loaded(context: int, number: int, keys: int, count: int) -> int:
    """The hash under which rows with the loaded values stand in a table."""
    if not has_keys(context, number):
        return 0
    digest = stir(np.uint64(0x51ED270B), number)
    values, tags = fixed(context, At.VALUES), fixed(context, At.VALUE_TAGS)
    for k in range(count):
        variable = table(context, At.LINKS, 2 * (keys + k) + 1)
        digest = stir_value(digest, peek(tags, variable), peek(values, variable))
    return signed(digest >> np.uint64(1))


@compiled
def fits_loaded(context: int, match: int, tag_words: int, keys: int, count: int) -> bool:
    """Whether a match has the loaded values; what one of the two does not bind fits."""
    values, tags = fixed(context, At.VALUES), fixed(context, At.VALUE_TAGS)
    for k in range(count):
        place, variable = table(context, At.LINKS, 2 * (keys + k)), table(context, At.LINKS, 2 * (keys + k) + 1)
        tag, other = tag_of(match, place), peek(tags, variable)
        both = tag != 0 and other != 0
        if both and not same_value(tag, value_of(match, tag_words, place), other, peek(values, variable)):
            return False
    return True


@inlined
def _hash(context: int, condition: int) -> int:
    keys, count = fixed(condition, ConditionField.KEYS), fixed(condition, ConditionField.KEY_COUNT)
    return hash_of_loaded(context, fixed(condition, ConditionField.TABLE), keys, count)


@inlined
def _bind(context: int, condition: int, match: int, tag_words: int) -> None:
    """Set the variables that a condition binds to the values of a row."""
    binds = fixed(condition, ConditionField.BINDS)
    for k in range(fixed(condition, ConditionField.BIND_COUNT)):
        place, variable = table(context, At.LINKS, 2 * (binds + k)), table(context, At.LINKS, 2 * (binds + k) + 1)
        poke(fixed(context, At.VALUES), variable, value_of(match, tag_words, place))
        poke(fixed(context, At.VALUE_TAGS), variable, tag_of(match, place))


@compiled
def next_fitting(context: int, condition: int, row: int) -> int:
    """Find the first row that fits a condition, from ``row`` on toward the newest; NOWHERE if there is none."""
    hashed = _hash(context, condition)
    number = fixed(condition, ConditionField.TABLE)
    tag_words = fixed(node_at(context, fixed(condition, ConditionField.NODE)), NodeField.TAG_WORDS)
    while row != NOWHERE:
        here = row_at(context, row)
        if is_sought(context, number, hashed, here):
            keys, count = fixed(condition, ConditionField.KEYS), fixed(condition, ConditionField.KEY_COUNT)
            if fits_loaded(context, here + _MATCH_BYTES, tag_words, keys, count):
                return row
        row = newer_row(context, number, here)
    return NOWHERE


@compiled
def _next_known(context: int, condition: int, cursor: int, begin: bool) -> bool:
    """Bind the variables of a condition to the first or next row of its relation that fits."""
    number = fixed(condition, ConditionField.TABLE)
    if begin:
        row = oldest_row(context, number, _hash(context, condition))
    else:
        row = newer_row(context, number, row_at(context, peek(cursor, 0)))
    row = next_fitting(context, condition, row)
    if row == NOWHERE:
        return False
    poke(cursor, 0, row)
    tag_words = fixed(node_at(context, fixed(condition, ConditionField.NODE)), NodeField.TAG_WORDS)
    _bind(context, condition, row_at(context, row) + _MATCH_BYTES, tag_words)
    return True


@compiled
def _next_element(context: int, condition: int, cursor: int, begin: bool) -> bool:
    """Bind the variable of a condition to the first or next element of a list that differs from those before."""
    at = 0 if begin else peek(cursor, 0) + 1
    poke(cursor, 0, at)
    compute(context, fixed(condition, ConditionField.CODE))
    stack, tags = fixed(context, At.STACK), fixed(context, At.STACK_TAGS)
    poke(stack, 1, at)
    poke(tags, 1, _INT)
    ask(context, fixed(condition, ConditionField.NUMBER), 2, stack, tags, 0)
    variable = fixed(condition, ConditionField.VARIABLE)
    poke(fixed(context, At.VALUES), variable, peek(stack, 0))
    poke(fixed(context, At.VALUE_TAGS), variable, peek(tags, 0))
    return peek(tags, 0) != 0


@compiled
def _member_value(context: int, condition: int, match: int, tag_words: int) -> int:
    """Leave what is aggregated of a member at the bottom of the stack and return its tag; a mere count is of 1."""
    if fixed(condition, ConditionField.CODE) < 0:
        poke(fixed(context, At.STACK), 0, 1)
        return _INT
    _bind(context, condition, match, tag_words)
    return compute(context, fixed(condition, ConditionField.CODE))


@compiled
def _is_member(context: int, condition: int, row: int, tag_words: int) -> bool:
    """Whether a row of the table of members fits what is bound and lies in the window."""
    here = row_at(context, row)
    if peek(here, Row.TABLE) != fixed(condition, ConditionField.TABLE):
        return False
    match = here + _MATCH_BYTES
    if peek(match, Match.START) < before(peek(context, At.END), fixed(condition, ConditionField.NUMBER)):
        return False
    keys, count = fixed(condition, ConditionField.KEYS), fixed(condition, ConditionField.KEY_COUNT)
    return fits_loaded(context, match, tag_words, keys, count)


@compiled
def _collect(context: int, condition: int, first: int, tag_words: int, count: int, halves: bool) -> Floats:
    """The members' values as floats, in their order; with ``halves`` integers in two halves, which floats hold."""
    values = np.zeros(2 * count if halves else count, np.float64)
    at, row = 0, first
    while row != NOWHERE:
        if _is_member(context, condition, row, tag_words):
            tag = _member_value(context, condition, row_at(context, row) + _MATCH_BYTES, tag_words)
            value = peek(fixed(context, At.STACK), 0)
            if tag != 0 and at < count:
                if halves and tag == _INT:
                    values[count + at] = float(value & _LOW_HALF)
                    value &= ~_LOW_HALF
                values[at] = as_float(tag, value)
                at += 1
        row = newer_row(context, fixed(condition, ConditionField.TABLE), row_at(context, row))
    return values


@compiled
def _exceeds(context: int, function: int, tag: int, value: int, best_tag: int, best: int) -> bool:
    """Whether a member is less than the least so far, or greater than the greatest."""
    if is_number(tag) and is_number(best_tag):
        return order_exactly(tag, value, best_tag, best) == (-1 if function == FunctionCode.MIN else 1)
    return compare_values(context, _LESS if function == FunctionCode.MIN else _GREATER, tag, value, best_tag, best)


@compiled
def _aggregate(context: int, condition: int) -> int:
    """Leave an aggregate over the members of a sliding window at the bottom of the stack and return its tag."""
    function = fixed(condition, ConditionField.FUNCTION)
    tag_words = fixed(node_at(context, fixed(condition, ConditionField.NODE)), NodeField.TAG_WORDS)
    limbs, stack = fixed(context, At.SUM), fixed(context, At.STACK)
    clear(limbs)
    count, whole, exact, mixed = 0, True, True, False
    best, best_tag, best_end, best_start = 0, 0, 0, 0
    first = oldest_row(context, fixed(condition, ConditionField.TABLE), _hash(context, condition))
    row = first
    while row != NOWHERE:
        if _is_member(context, condition, row, tag_words):
            match = row_at(context, row) + _MATCH_BYTES
            tag = _member_value(context, condition, match, tag_words)
            value = peek(stack, 0)
            if tag != 0:
                count += 1
                if FunctionCode.MIN <= function <= FunctionCode.LAST:
                    start, end = peek(match, Match.START), peek(match, Match.END)
                    mixed = mixed or tag in (_BOOL, _LIST) or (count > 1 and is_number(tag) != is_number(best_tag))
                    if function == FunctionCode.FIRST:
                        better = end < best_end or (end == best_end and start < best_start)
                    elif function == FunctionCode.LAST:
                        better = end > best_end or (end == best_end and start >= best_start)
                    else:
                        better = _exceeds(context, function, tag, value, best_tag, best)
                        if end == best_end and start < best_start:  # of 2 and 2.0 the first one, as the members lie
                            better = not _exceeds(context, function, best_tag, best, tag, value)
                    if count == 1 or better:
                        best, best_tag, best_end, best_start = value, tag, end, start
                elif tag == _INT:
                    add_integer(limbs, value, False)
                elif tag == _FLOAT:
                    whole = False
                    exact = add_float(limbs, value, False) and exact
                else:
                    mixed = True
        row = newer_row(context, fixed(condition, ConditionField.TABLE), row_at(context, row))
    if function == FunctionCode.COUNT:
        poke(stack, 0, count)
        return _INT
    if mixed and function != FunctionCode.FIRST and function != FunctionCode.LAST:
        return 0
    if FunctionCode.MIN <= function <= FunctionCode.LAST:
        poke(stack, 0, best)
        return best_tag
    if whole and function == FunctionCode.SUM:
        total, fits = read_integer(limbs)
        poke(stack, 0, total)
        return _INT if fits else 0
    if count == 0:
        poke_float(stack, 0, 0.0)
        return _FLOAT if is_zero_of_nothing(function) else 0
    result = read_float(limbs)
    if not exact:
        values = _collect(context, condition, first, tag_words, count, True)
        result = sum_floats(values, len(values), np.empty(_PARTIALS, np.float64))
    if function == FunctionCode.AVG:
        result /= count
    elif function >= FunctionCode.OVER_NUMBERS:
        values = _collect(context, condition, first, tag_words, count, False)
        result = over_numbers(function, values, result, 0.0)
    poke_float(stack, 0, result)
    return _FLOAT if math.isfinite(result) else 0


@compiled
def _ask(context: int, condition: int) -> bool:
    """Decide whether a condition that has at most one way to hold does so, and bind what it binds."""
    kind = fixed(condition, ConditionField.KIND)
    if kind == ConditionKind.TEST:
        return test(context, fixed(condition, ConditionField.CODE))
    length = peek(context, At.END) - peek(context, At.START)
    if kind == ConditionKind.WITHIN:
        return length <= fixed(condition, ConditionField.NUMBER)
    if kind == ConditionKind.EXACTLY:
        return length == fixed(condition, ConditionField.NUMBER)
    if kind == ConditionKind.AGGREGATE:
        tag = _aggregate(context, condition)
    else:
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
    if (
        node == 0
        and end == begin + 1
        and fixed(condition_at(context, begin), ConditionField.KIND) == ConditionKind.TEST
    ):
        return test(context, fixed(condition_at(context, begin), ConditionField.CODE))
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
        elif fixed(condition, ConditionField.KIND) == ConditionKind.ELEMENT:
            forward = _next_element(context, condition, fixed(context, At.CURSORS) + 8 * (at - begin), forward)
        elif forward:
            forward = _ask(context, condition)
        at += 1 if forward else -1
    return found
