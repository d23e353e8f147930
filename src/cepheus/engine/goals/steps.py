"""Steps of a plan, compiled: atoms, conditions and alternatives, and what all steps have in common.

Steps only read goal tables. A goal that a restricting policy uses up is marked and noted, so that whatever happens
can be taken back when the plan must be run again with more room.
"""

from __future__ import annotations

from cepheus.engine.goals.conditions import NO_ROOM, solve
from cepheus.engine.goals.machine import same_value
from cepheus.engine.goals.matches import (
    copy_words,
    load_match,
    new_match,
    node_at,
    parts_of,
    set_value,
    tag_of,
    value_of,
)
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.memory import fixed, peek, poke, table
from cepheus.plan.interval.layout import ARENA_FULL, DONE, MATCH_HEADER, RECORD_HEADER, At, Match, Record, StepState
from cepheus.plan.interval.program import ArgumentField, ArgumentKind, NodeField, StepField

_ARGUMENT_BYTES = ArgumentField.row_bytes()
_STEP_BYTES = StepField.row_bytes()
_STEP_STATE_BYTES = StepState.row_bytes()
NO_PART = -(2**63)


@inlined
def step_at(context: int, step: int) -> int:
    """The address of a step's row."""
    return fixed(context, At.STEPS) + _STEP_BYTES * step


@inlined
def step_state(context: int, step: int) -> int:
    """The address of what is known of a step while its plan runs."""
    return fixed(context, At.STEP_STATE) + _STEP_STATE_BYTES * step


@inlined
def count_of(context: int, step: int, back: int) -> int:
    """The number of new matches that a step before gave; 0 if there is no such step."""
    return 0 if back == 0 else peek(step_state(context, step - back), StepState.COUNT)


@inlined
def first_of(context: int, step: int, back: int) -> int:
    """The address of the first of them."""
    return fixed(context, At.ARENA) + 8 * peek(step_state(context, step - back), StepState.FIRST)


@inlined
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
