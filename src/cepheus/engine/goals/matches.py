"""Matches, compiled: their values, how two of them lie in time, whether they agree, and their combination."""

from __future__ import annotations

import numpy as np

from cepheus.engine.goals.machine import identical, same_value, stir, stir_value
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.memory import fixed, peek, poke, signed, table
from cepheus.plan.interval.layout import MATCH_HEADER, At, Match
from cepheus.plan.interval.program import NodeField, OperatorCode

_NODE_BYTES = NodeField.row_bytes()


@inlined
def node_at(context: int, node: int) -> int:
    """The address of a node's row."""
    return fixed(context, At.NODES) + _NODE_BYTES * node


@inlined
def tag_of(match: int, variable: int) -> int:
    """The tag of a variable in a match, given by its address."""
    return (peek(match, MATCH_HEADER + (variable >> 4)) >> ((variable & 15) << 2)) & 15


@inlined
def value_of(match: int, tag_words: int, variable: int) -> int:
    """The word of a variable in a match."""
    return peek(match, MATCH_HEADER + tag_words + variable)


@inlined
def set_value(match: int, tag_words: int, variable: int, tag: int, value: int) -> None:
    """Set the value of a variable; its tag must be clear."""
    poke(match, MATCH_HEADER + tag_words + variable, value)
    place = MATCH_HEADER + (variable >> 4)
    poke(match, place, peek(match, place) | (tag << ((variable & 15) << 2)))


@inlined
def new_match(context: int, width: int, tag_words: int) -> int:
    """Begin a new match in the arena and return its address, its tags clear; 0 if the arena must grow."""
    used = peek(context, At.ARENA_USED)
    if used + width > fixed(context, At.ARENA_SIZE):
        return 0
    poke(context, At.ARENA_USED, used + width)
    match = fixed(context, At.ARENA) + 8 * used
    poke(match, Match.TAKEN, 0)
    for k in range(tag_words):
        poke(match, MATCH_HEADER + k, 0)
    return match


@inlined
def related(operator: int, q1: int, q2: int, q3: int, q4: int) -> bool:
    """Whether two intervals lie as an operator asks."""
    if operator == OperatorCode.SEQ:
        return q2 < q3
    if operator == OperatorCode.AND:
        return True
    if operator == OperatorCode.PAR:
        return max(q1, q3) < min(q2, q4)
    if operator == OperatorCode.EQUALS:
        return q1 == q3 and q2 == q4
    if operator == OperatorCode.MEETS:
        return q2 == q3
    if operator == OperatorCode.DURING:
        return q3 < q1 < q2 < q4
    if operator == OperatorCode.STARTS:
        return q1 == q3 and q2 < q4
    if operator == OperatorCode.FINISHES:
        return q2 == q4 and q3 < q1
    return q1 < q3 < q2 < q4


@inlined
def start_of_pair(operator: int, q1: int, q3: int) -> int:
    """The start of a combination."""
    if operator == OperatorCode.AND or operator == OperatorCode.PAR:
        return min(q1, q3)
    inner = operator == OperatorCode.DURING or operator == OperatorCode.STARTS or operator == OperatorCode.FINISHES
    return q3 if inner else q1


@inlined
def end_of_pair(operator: int, q2: int, q4: int) -> int:
    """The end of a combination."""
    return max(q2, q4) if operator == OperatorCode.AND or operator == OperatorCode.PAR else q4


@compiled
def key_hash(context: int, table_number: int, match: int, tag_words: int, keys: int, count: int, side: int) -> int:
    """The hash of the variables by which rows of a table are found; ``side`` is the column of LINKS."""
    digest = stir(np.uint64(0x51ED270B), table_number)
    for k in range(count):
        variable = table(context, At.LINKS, 2 * (keys + k) + side)
        digest = stir_value(digest, tag_of(match, variable), value_of(match, tag_words, variable))
    return signed(digest >> np.uint64(1))


@compiled
def agree(context: int, left: int, left_tags: int, right: int, right_tags: int, pairs: int, count: int) -> bool:
    """Whether two matches give equal values to pairs of variables; what one does not bind agrees."""
    for k in range(count):
        one, other = table(context, At.LINKS, 2 * (pairs + k)), table(context, At.LINKS, 2 * (pairs + k) + 1)
        left_tag, right_tag = tag_of(left, one), tag_of(right, other)
        both = left_tag != 0 and right_tag != 0
        if both and not same_value(
            left_tag, value_of(left, left_tags, one), right_tag, value_of(right, right_tags, other)
        ):
            return False
    return True


@inlined
def partners(context: int, node: int, left: int, right: int) -> bool:
    """Whether two matches agree on shared variables and lie in time as the operator of a node asks."""
    if not related(
        fixed(node, NodeField.OPERATOR),
        peek(left, Match.START),
        peek(left, Match.END),
        peek(right, Match.START),
        peek(right, Match.END),
    ):
        return False
    left_tags = fixed(node_at(context, fixed(node, NodeField.LEFT)), NodeField.TAG_WORDS)
    right_tags = fixed(node_at(context, fixed(node, NodeField.RIGHT)), NodeField.TAG_WORDS)
    keys, count = fixed(node, NodeField.KEYS), fixed(node, NodeField.KEY_COUNT)
    if not agree(context, left, left_tags, right, right_tags, keys, count):
        return False
    shared, count = fixed(node, NodeField.SHARED), fixed(node, NodeField.SHARED_COUNT)
    return count == 0 or agree(context, left, left_tags, right, right_tags, shared, count)


@compiled
def load_pair(context: int, node: int, left: int, right: int) -> None:
    """Load the variables of a combination into the expression machine."""
    operator = fixed(node, NodeField.OPERATOR)
    poke(context, At.START, start_of_pair(operator, peek(left, Match.START), peek(right, Match.START)))
    poke(context, At.END, end_of_pair(operator, peek(left, Match.END), peek(right, Match.END)))
    values, tags = fixed(context, At.VALUES), fixed(context, At.VALUE_TAGS)
    left_node = node_at(context, fixed(node, NodeField.LEFT))
    left_tags, count = fixed(left_node, NodeField.TAG_WORDS), fixed(left_node, NodeField.VARIABLES)
    for variable in range(count):
        poke(values, variable, value_of(left, left_tags, variable))
        poke(tags, variable, tag_of(left, variable))
    right_tags = fixed(node_at(context, fixed(node, NodeField.RIGHT)), NodeField.TAG_WORDS)
    fresh = fixed(node, NodeField.FRESH)
    for k in range(fixed(node, NodeField.FRESH_COUNT)):
        variable = table(context, At.LINKS, 2 * (fresh + k))
        poke(values, count + k, value_of(right, right_tags, variable))
        poke(tags, count + k, tag_of(right, variable))
    shared = fixed(node, NodeField.SHARED)
    for k in range(fixed(node, NodeField.SHARED_COUNT)):  # what the left may lack, the right may have
        variable = table(context, At.LINKS, 2 * (shared + k))
        if peek(tags, variable) == 0:
            other = table(context, At.LINKS, 2 * (shared + k) + 1)
            poke(values, variable, value_of(right, right_tags, other))
            poke(tags, variable, tag_of(right, other))


@inlined
def load_for_guard(context: int, node: int, left: int, right: int) -> None:
    """Load those variables of a combination that the conditions around it read into the expression machine."""
    operator = fixed(node, NodeField.OPERATOR)
    poke(context, At.START, start_of_pair(operator, peek(left, Match.START), peek(right, Match.START)))
    poke(context, At.END, end_of_pair(operator, peek(left, Match.END), peek(right, Match.END)))
    values, tags = fixed(context, At.VALUES), fixed(context, At.VALUE_TAGS)
    left_tags = fixed(node_at(context, fixed(node, NodeField.LEFT)), NodeField.TAG_WORDS)
    right_tags = fixed(node_at(context, fixed(node, NodeField.RIGHT)), NodeField.TAG_WORDS)
    reads = fixed(node, NodeField.READS)
    for k in range(fixed(node, NodeField.READ_COUNT)):
        variable, place = table(context, At.LINKS, 2 * (reads + k)), table(context, At.LINKS, 2 * (reads + k) + 1)
        if place & 1:
            poke(values, variable, value_of(right, right_tags, place >> 1))
            poke(tags, variable, tag_of(right, place >> 1))
        else:
            poke(values, variable, value_of(left, left_tags, place >> 1))
            poke(tags, variable, tag_of(left, place >> 1))


@inlined
def load_match(context: int, node: int, match: int) -> None:
    """Load the variables of a match of a node into the expression machine."""
    poke(context, At.START, peek(match, Match.START))
    poke(context, At.END, peek(match, Match.END))
    values, tags = fixed(context, At.VALUES), fixed(context, At.VALUE_TAGS)
    tag_words = fixed(node, NodeField.TAG_WORDS)
    for variable in range(fixed(node, NodeField.VARIABLES)):
        poke(values, variable, value_of(match, tag_words, variable))
        poke(tags, variable, tag_of(match, variable))


@compiled
def loaded_match(context: int, node: int) -> int:
    """Make a match of a node from the variables that the expression machine has, without parts; 0 if no room."""
    tag_words = fixed(node, NodeField.TAG_WORDS)
    match = new_match(context, fixed(node, NodeField.WIDTH), tag_words)
    if match != 0:
        poke(match, Match.START, peek(context, At.START))
        poke(match, Match.END, peek(context, At.END))
        values, tags = fixed(context, At.VALUES), fixed(context, At.VALUE_TAGS)
        for variable in range(fixed(node, NodeField.VARIABLES)):
            set_value(match, tag_words, variable, peek(tags, variable), peek(values, variable))
    return match


@inlined
def parts_of(node: int, match: int) -> int:
    """The address of the ids of a match's parts."""
    return match + 8 * (MATCH_HEADER + fixed(node, NodeField.TAG_WORDS) + fixed(node, NodeField.VARIABLES))


@inlined
def copy_words(source: int, target: int, count: int) -> None:
    """Copy words from an address to another."""
    for k in range(count):
        poke(target, k, peek(source, k))


@compiled
def same_variables(one: int, other: int, tag_words: int, variables: int) -> bool:
    """Whether two matches of one node give all variables the same values."""
    for k in range(variables):
        if not identical(tag_of(one, k), value_of(one, tag_words, k), tag_of(other, k), value_of(other, tag_words, k)):
            return False
    return True


@compiled
def same_match(one: int, other: int, tag_words: int, variables: int) -> bool:
    """Whether two matches of one node are the same: interval and variables, these with values of the same types.

    Conditions may tell 2 and 2.0 apart, so both must come to them.
    """
    if peek(one, Match.START) != peek(other, Match.START) or peek(one, Match.END) != peek(other, Match.END):
        return False
    for k in range(tag_words):
        if peek(one, MATCH_HEADER + k) != peek(other, MATCH_HEADER + k):
            return False
    return same_variables(one, other, tag_words, variables)
