"""What a plan changes, compiled: goals that are used up go, new ones wait, complex events are there to be given out."""

from __future__ import annotations

from cepheus.engine.goals.matches import node_at, partners
from cepheus.engine.goals.pairs import hash_in
from cepheus.engine.goals.steps import count_of, first_of, step_at, step_state
from cepheus.engine.goals.store import (
    NOWHERE,
    forget,
    is_sought,
    newest_row,
    older_row,
    remove_row,
    row_at,
    state_at,
    table_at,
)
from cepheus.engine.goals.waiting_goals import (
    drop_equal,
    let_go,
    take_over,
    wait_with_hash,
    waiting_hash,
    waits_already,
)
from cepheus.kernel.calls import call_2
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.memory import fixed, peek, poke
from cepheus.plan.interval.layout import (
    DONE,
    MARK_WORDS,
    ROW_HEADER,
    TOO_MANY_GOALS,
    At,
    Frame,
    Mark,
    Match,
    StepState,
    TableState,
)
from cepheus.plan.interval.program import (
    ChoiceCode,
    NodeField,
    NodeKind,
    OperatorCode,
    OutlivesCode,
    PlanField,
    StepField,
    TableField,
)

_MATCH_BYTES = 8 * ROW_HEADER


@inlined
def commit(context: int, plan: int) -> int:
    """Remove goals that were taken, let new ones wait, hand over the complex events that were made."""
    return call_2(fixed(context, At.COMMIT), context, plan)


def commit_behind(context: int, plan: int) -> int:
    """Do what ``commit`` says, behind a seam."""
    for k in range(peek(context, At.CONSUMED_COUNT)):
        remove_row(context, peek(fixed(context, At.CONSUMED), k))
    poke(context, At.CONSUMED_COUNT, 0)
    heads_end = peek(context, At.HEADS_END)
    poke(fixed(context, At.WORK) + 8 * peek(context, At.WORK_TOP), Frame.HEADS_END, heads_end)
    poke(context, At.WORK_USED, heads_end)
    status = DONE
    for step in range(fixed(plan, PlanField.ATOMS_END), fixed(plan, PlanField.STEPS_END)):
        row = step_at(context, step)
        node = node_at(context, fixed(row, StepField.NODE))
        for operand in range(3):
            number = fixed(node, NodeField.LEFT_TABLE + operand)
            back = fixed(row, StepField.LEFT + operand)
            if number >= 0 and count_of(context, step, back) > 0:
                _let_wait(context, node, step, operand)
                if peek(state_at(context, number), TableState.COUNT) > fixed(context, At.LIMIT):
                    poke(context, At.CULPRIT, fixed(node, NodeField.RULE))
                    status = TOO_MANY_GOALS
    return status


@inlined
def _needs_length(operator: int) -> bool:
    """Whether an operator combines what waits only if it is more than a point.

    A point waits in vain then; still it may renew what does not.
    """
    return operator == OperatorCode.PAR or operator == OperatorCode.DURING or operator == OperatorCode.OVERLAPS


@compiled
def _let_wait(context: int, node: int, step: int, operand: int) -> None:
    """Put the new matches of an operand that are still to wait into its table."""
    number = fixed(node, NodeField.LEFT_TABLE + operand)
    source = node_at(context, fixed(node, NodeField.LEFT + operand))
    back = fixed(step_at(context, step), StepField.LEFT + operand)
    width, tag_words = fixed(source, NodeField.WIDTH), fixed(source, NodeField.TAG_WORDS)
    variables = fixed(source, NodeField.VARIABLES)
    if operand == 2:
        _forget_harmless(context, node)
    marks = fixed(context, At.ARENA) + 8 * peek(step_state(context, step), StepState.MARKS)
    if operand == 1:
        lefts = count_of(context, step, fixed(step_at(context, step), StepField.LEFT))
        marks += 8 * MARK_WORDS * lefts
    now = peek(context, At.NOW)
    forget(context, number, now)
    length = fixed(table_at(context, number), TableField.LENGTH)
    last = peek(state_at(context, number), TableState.LAST)
    unrestricted = fixed(node, NodeField.CHOICE) == ChoiceCode.UNRESTRICTED
    # events that an aggregate counts are different events, even if they do not differ in what it reads of them
    repeats = unrestricted and fixed(node, NodeField.KIND) != NodeKind.MEMBERS and fixed(source, NodeField.REPEATS) != 0
    crowded = repeats and last != NOWHERE and peek(row_at(context, last), ROW_HEADER + Match.END) == now
    needs_length = _needs_length(fixed(node, NodeField.OPERATOR)) and fixed(node, NodeField.RENEWING) == 0
    for k in range(count_of(context, step, back)):
        match = first_of(context, step, back) + 8 * width * k
        if fixed(node, NodeField.ONCE) and operand < 2:
            mark = marks + 8 * MARK_WORDS * k
            if peek(mark, Mark.TAKEN) or peek(mark, Mark.PARTNER) != 0:
                continue
        if fixed(node, NodeField.ONESIDED) and operand < 2 and _is_awaited(context, node, operand, match):
            continue
        lasts = peek(match, Match.END) - peek(match, Match.START)
        if length >= 0 and lasts > length and (operand == 2 or unrestricted):
            continue
        if lasts == 0 and needs_length:
            continue
        hashed = waiting_hash(context, node, operand, match)
        if fixed(node, NodeField.OUTLIVES) == OutlivesCode.IF_INSTANTS:
            let_go(context, node, hashed)
        elif fixed(node, NodeField.OUTLIVES) != OutlivesCode.NEVER:
            if take_over(context, node, operand, match, hashed):
                continue
        elif fixed(node, NodeField.RENEWING) and operand < 2:
            drop_equal(context, number, hashed, match, tag_words, variables)
        elif crowded and waits_already(context, number, hashed, match, tag_words, variables):
            continue
        wait_with_hash(context, node, operand, match, hashed)


@compiled
def _is_awaited(context: int, node: int, operand: int, match: int) -> bool:
    """Whether a partner waits at the other operand, whatever the conditions around the operator say."""
    is_left = operand == 0
    number = fixed(node, NodeField.RIGHT_TABLE if is_left else NodeField.LEFT_TABLE)
    if number < 0:
        return False
    hashed = hash_in(context, node, number, match, is_left)
    row = newest_row(context, number, hashed)
    while row != NOWHERE:
        here = row_at(context, row)
        if is_sought(context, number, hashed, here):
            other = here + _MATCH_BYTES
            if partners(context, node, match, other) if is_left else partners(context, node, other, match):
                return True
        row = older_row(context, number, here)
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
