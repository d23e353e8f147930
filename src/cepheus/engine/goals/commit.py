"""What a plan changes, compiled: goals that are used up go, new ones wait, complex events are put aside."""

from __future__ import annotations

from cepheus.engine.columns.memory import fixed, peek, poke
from cepheus.engine.goals.compiled import call_2, compiled, inlined
from cepheus.engine.goals.layout import (
    DONE,
    MARK_WORDS,
    ROW_HEADER,
    TOO_MANY_GOALS,
    At,
    ChoiceCode,
    Frame,
    Mark,
    Match,
    NodeField,
    NodeKind,
    PlanField,
    Row,
    StepField,
    StepState,
    TableField,
    TableState,
)
from cepheus.engine.goals.matches import copy_words, key_hash, node_at, parts_of, same_match, same_variables
from cepheus.engine.goals.steps import count_of, first_of, step_at, step_state
from cepheus.engine.goals.store import (
    NOWHERE,
    forget,
    link_row,
    newest_of,
    remove_row,
    row_at,
    state_at,
    table_at,
    take_row,
)

_MATCH_BYTES = 8 * ROW_HEADER


@inlined
def commit(context: int, plan: int) -> int:
    """Remove goals that were taken, let new ones wait, put aside the complex events that were made."""
    return call_2(fixed(context, At.COMMIT), context, plan)


def commit_behind(context: int, plan: int) -> int:
    """Do what ``commit`` says, behind a seam."""
    for k in range(peek(context, At.CONSUMED_COUNT)):
        remove_row(context, peek(fixed(context, At.CONSUMED), k))
    poke(context, At.CONSUMED_COUNT, 0)
    status = DONE
    for step in range(fixed(plan, PlanField.ATOMS_END), fixed(plan, PlanField.STEPS_END)):
        row = step_at(context, step)
        node = node_at(context, fixed(row, StepField.NODE))
        if fixed(node, NodeField.KIND) == NodeKind.HEAD:
            _put_aside(context, node, step)
            continue
        for operand in range(3):
            number = fixed(node, NodeField.LEFT_TABLE + operand)
            back = fixed(row, StepField.LEFT + operand)
            if number >= 0 and count_of(context, step, back) > 0:
                _let_wait(context, node, step, operand)
                if peek(state_at(context, number), TableState.COUNT) > fixed(context, At.LIMIT):
                    poke(context, At.CULPRIT, fixed(node, NodeField.RULE))
                    status = TOO_MANY_GOALS
    return status


@compiled
def _let_wait(context: int, node: int, step: int, operand: int) -> None:
    """Put the new matches of an operand that are still to wait into its table."""
    number = fixed(node, NodeField.LEFT_TABLE + operand)
    source = node_at(context, fixed(node, NodeField.LEFT + operand))
    back = fixed(step_at(context, step), StepField.LEFT + operand)
    width, tag_words = fixed(source, NodeField.WIDTH), fixed(source, NodeField.TAG_WORDS)
    variables = fixed(source, NodeField.VARIABLES)
    keys, key_count, side = fixed(node, NodeField.KEYS), fixed(node, NodeField.KEY_COUNT), operand
    if operand == 2:
        keys, key_count, side = fixed(node, NodeField.NEGATED_KEYS), fixed(node, NodeField.NEGATED_KEY_COUNT), 0
        _forget_harmless(context, node)
    marks = fixed(context, At.ARENA) + 8 * peek(step_state(context, step), StepState.MARKS)
    if operand == 1:
        lefts = count_of(context, step, fixed(step_at(context, step), StepField.LEFT))
        marks += 8 * MARK_WORDS * lefts
    now = peek(context, At.NOW)
    forget(context, number, now)
    length = fixed(table_at(context, number), TableField.LENGTH)
    state = state_at(context, number)
    last = peek(state, TableState.LAST)
    crowded = last != NOWHERE and peek(row_at(context, last), ROW_HEADER + Match.END) == now
    unrestricted = fixed(node, NodeField.CHOICE) == ChoiceCode.UNRESTRICTED
    crowded = crowded and unrestricted
    for k in range(count_of(context, step, back)):
        match = first_of(context, step, back) + 8 * width * k
        if fixed(node, NodeField.ONCE) and operand < 2:
            mark = marks + 8 * MARK_WORDS * k
            if peek(mark, Mark.TAKEN) or peek(mark, Mark.PARTNER) != 0:
                continue
        lasts = peek(match, Match.END) - peek(match, Match.START)
        if length >= 0 and lasts > length and (operand == 2 or unrestricted):
            continue
        hashed = key_hash(context, number, match, tag_words, keys, key_count, side)
        if fixed(node, NodeField.RENEWING) and operand < 2:
            _drop_equal(context, number, hashed, match, tag_words, variables)
        elif crowded and _waits_already(context, number, hashed, match, tag_words, variables):
            continue
        row = take_row(context, number)
        copy_words(match, row_at(context, row) + _MATCH_BYTES, width)
        link_row(context, number, row, hashed)
        if lasts > peek(state, TableState.LONGEST):
            poke(state, TableState.LONGEST, lasts)


@compiled
def _drop_equal(context: int, number: int, hashed: int, match: int, tag_words: int, variables: int) -> None:
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
def _waits_already(context: int, number: int, hashed: int, match: int, tag_words: int, variables: int) -> bool:
    """Tell whether an equal match of this instant waits in a table."""
    row = newest_of(context, hashed)
    while row != NOWHERE:
        here = row_at(context, row)
        if peek(here, Row.HASH) == hashed and peek(here, Row.TABLE) == number:
            if peek(here, ROW_HEADER + Match.END) < peek(match, Match.END):
                return False
            if same_match(match, here + _MATCH_BYTES, tag_words, variables):
                return True
        row = peek(here, Row.OLDER)
    return False


@compiled
def _forget_harmless(context: int, node: int) -> None:
    """Remove what lies between no opening delimiter that waits and anything to come."""
    openers, number = fixed(node, NodeField.LEFT_TABLE), fixed(node, NodeField.NEGATED_TABLE)
    opener = peek(state_at(context, openers), TableState.FIRST)
    earliest = peek(context, At.NOW)
    if opener != NOWHERE:
        earliest = min(earliest, peek(row_at(context, opener), ROW_HEADER + Match.END))
    row = peek(state_at(context, number), TableState.FIRST)
    while row != NOWHERE and peek(row_at(context, row), ROW_HEADER + Match.END) <= earliest:
        remove_row(context, row)
        row = peek(state_at(context, number), TableState.FIRST)


@compiled
def _put_aside(context: int, node: int, step: int) -> None:
    """Copy the complex events of a plan, with the ids of their parts, behind the frame that runs it."""
    width, parts = fixed(node, NodeField.WIDTH), fixed(node, NodeField.PARTS)
    first = fixed(context, At.ARENA) + 8 * peek(step_state(context, step), StepState.FIRST)
    source = node_at(context, fixed(node, NodeField.LEFT))
    used = peek(context, At.WORK_USED)
    for k in range(peek(step_state(context, step), StepState.COUNT)):
        record = first + 8 * width * k
        target = fixed(context, At.WORK) + 8 * used
        poke(target, 0, fixed(step_at(context, step), StepField.NODE))
        copy_words(record, target + 8, width - 1)
        copy_words(parts_of(source, peek(record, width - 1)), target + 8 * width, parts)
        used += width + parts
    poke(fixed(context, At.WORK) + 8 * peek(context, At.WORK_TOP), Frame.HEADS_END, used)
    poke(context, At.WORK_USED, used)
