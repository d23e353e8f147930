"""Plans, compiled: events of an instant taken through steps, from atoms to the heads of rules.

A plan changes nothing until all its steps are done and there is room for all that it is to change.
"""

from __future__ import annotations

import numpy as np

from cepheus.engine.goals.absence import absence_step
from cepheus.engine.goals.commit import commit
from cepheus.engine.goals.instant_events import record_at
from cepheus.engine.goals.machine import compute, stir, stir_value
from cepheus.engine.goals.matches import copy_words, load_match, node_at, parts_of, same_match, tag_of, value_of
from cepheus.engine.goals.pairs import unrestricted_step
from cepheus.engine.goals.restricting import restricting_step
from cepheus.engine.goals.steps import atom_step, count_of, either_step, filter_step, first_of, step_at, step_state
from cepheus.engine.goals.store import row_at, table_at
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.memory import fixed, peek, poke, signed, table
from cepheus.plan.interval.layout import (
    ANSWER_NEEDED,
    BUCKETS_FULL,
    DONE,
    POOL_FULL,
    RANKS_NEEDED,
    RECORD_HEADER,
    ROW_HEADER,
    SEEN_FULL,
    WORK_FULL,
    At,
    Match,
    Need,
    Record,
    StepState,
)
from cepheus.plan.interval.program import ChoiceCode, NodeField, NodeKind, PlanField, StepField, TableField


@inlined
def _atoms(context: int, node: int, first: int, end: int) -> int:
    """Make the matches of an atom for the events of a part of this instant."""
    place = first
    while place < end:
        record = record_at(context, place)
        if peek(record, Record.TYPE) == fixed(node, NodeField.TYPE):
            status = atom_step(context, node, record)
            if status != DONE:
                return status
        place += fixed(context, At.RECORD_WIDTH)
    return DONE


@inlined
def _head(context: int, node: int, step: int) -> int:
    """Compute the values of complex events; each is put behind the work in hand, with its node and its parts."""
    back = fixed(step_at(context, step), StepField.LEFT)
    source = node_at(context, fixed(node, NodeField.LEFT))
    stride, width = 8 * fixed(source, NodeField.WIDTH), fixed(node, NodeField.WIDTH)
    parts = fixed(node, NodeField.PARTS)
    for k in range(count_of(context, step, back)):
        used = peek(context, At.HEADS_END)
        if used + 1 + width + parts > fixed(context, At.WORK_SIZE):
            return WORK_FULL
        match = first_of(context, step, back) + k * stride
        entry = fixed(context, At.WORK) + 8 * used
        if _head_values(context, node, source, match, entry + 8):
            poke(entry, 0, fixed(step_at(context, step), StepField.NODE))
            copy_words(parts_of(source, match), entry + 8 * (1 + width), parts)
            poke(context, At.HEADS_END, used + 1 + width + parts)
    return DONE


@compiled
def _head_values(context: int, node: int, source: int, match: int, record: int) -> bool:
    """Write the complex event of a match as a record; False if one of its values is undefined."""
    load_match(context, source, match)
    tag_words = fixed(node, NodeField.TAG_WORDS)
    begin, end = fixed(node, NodeField.BEGIN), fixed(node, NodeField.END)
    for at in range(tag_words):
        poke(record, RECORD_HEADER + at, 0)
    defined = True
    for at in range(begin, end):
        tag = compute(context, table(context, At.LINKS, 2 * at))
        defined = defined and tag != 0
        place = at - begin
        poke(record, RECORD_HEADER + tag_words + place, peek(fixed(context, At.STACK), 0))
        tags = RECORD_HEADER + (place >> 4)
        poke(record, tags, peek(record, tags) | (tag << ((place & 15) << 2)))
    poke(record, Record.TYPE, fixed(node, NodeField.TYPE))
    poke(record, Record.START, peek(match, Match.START))
    poke(record, Record.END, peek(match, Match.END))
    poke(record, Record.ID, 0)
    return defined


@inlined
def _step(context: int, node: int, step: int) -> int:
    kind = fixed(node, NodeField.KIND)
    if kind == NodeKind.FILTER:
        return filter_step(context, node, step)
    if kind == NodeKind.HEAD:
        return _head(context, node, step)
    if kind == NodeKind.EITHER:
        return either_step(context, node, step)
    if kind == NodeKind.MEMBERS:
        return DONE
    if fixed(node, NodeField.CHOICE) != ChoiceCode.UNRESTRICTED:
        return restricting_step(context, node, step)
    if kind == NodeKind.ABSENCE:
        return absence_step(context, node, step)
    return unrestricted_step(context, node, step)


@compiled
def _once_each(context: int, node: int, first: int, count: int) -> int:
    """Leave out new matches that repeat others; return how many are left, -1 if there is no room to find out."""
    size = 4
    while size < 2 * count:
        size *= 2
    if size > fixed(context, At.SEEN_SIZE):
        return -1
    seen = fixed(context, At.SEEN)
    for k in range(size):
        poke(seen, k, -1)
    width, tag_words = fixed(node, NodeField.WIDTH), fixed(node, NodeField.TAG_WORDS)
    variables = fixed(node, NodeField.VARIABLES)
    kept = 0
    for k in range(count):
        match = first + 8 * width * k
        digest = stir(np.uint64(77), peek(match, Match.START))
        for variable in range(variables):
            digest = stir_value(digest, tag_of(match, variable), value_of(match, tag_words, variable))
        at = signed(digest >> np.uint64(1)) & (size - 1)
        fresh = True
        while fresh and peek(seen, at) >= 0:
            fresh = not same_match(match, first + 8 * width * peek(seen, at), tag_words, variables)
            at = (at + 1) & (size - 1)
        if fresh:
            poke(seen, at, kept)
            if kept < k:
                copy_words(match, first + 8 * width * kept, width)
            kept += 1
    return kept


@inlined
def _concerned(context: int, step: int) -> bool:
    """Whether any operand of a step has new matches."""
    row = step_at(context, step)
    found = count_of(context, step, fixed(row, StepField.LEFT)) + count_of(context, step, fixed(row, StepField.RIGHT))
    return found + count_of(context, step, fixed(row, StepField.NEGATED)) > 0


@compiled
def run_plan(context: int, plan: int, first: int, end: int) -> int:
    """Take the events of a part of this instant through the steps of a plan, and then do what they ask for."""
    poke(context, At.ARENA_USED, 0)
    poke(context, At.HEADS_END, peek(context, At.WORK_USED))
    matches = 0
    atoms_end = fixed(plan, PlanField.ATOMS_END)
    for step in range(fixed(plan, PlanField.STEPS), fixed(plan, PlanField.STEPS_END)):
        node = node_at(context, fixed(step_at(context, step), StepField.NODE))
        before = peek(context, At.ARENA_USED)
        state = step_state(context, step)
        poke(state, StepState.FIRST, before)
        if step < atoms_end:
            status = _atoms(context, node, first, end)
        else:
            if step == atoms_end and before == 0:
                return DONE
            if not _concerned(context, step):
                poke(state, StepState.COUNT, 0)
                continue
            status = _step(context, node, step)
            if peek(context, At.NEED) != Need.NOTHING and status == DONE:
                answers = peek(context, At.NEED) == Need.ANSWER
                status = ANSWER_NEEDED if answers else RANKS_NEEDED
        if status != DONE:
            poke(context, At.CULPRIT, fixed(node, NodeField.RULE))
            _take_back(context)
            return status
        before = peek(state, StepState.FIRST)
        count = (peek(context, At.ARENA_USED) - before) // fixed(node, NodeField.WIDTH)
        if count > 1 and fixed(node, NodeField.ONCE_EACH):
            count = _once_each(context, node, fixed(context, At.ARENA) + 8 * before, count)
            if count < 0:
                _take_back(context)
                return SEEN_FULL
            poke(context, At.ARENA_USED, before + count * fixed(node, NodeField.WIDTH))
        poke(state, StepState.COUNT, count)
        matches += count
    most = matches * fixed(plan, PlanField.TABLES)
    status = DONE
    if peek(context, At.POOL_USED) + most * fixed(plan, PlanField.WIDEST) > fixed(context, At.POOL_SIZE) or peek(
        context, At.ROWS
    ) + most > fixed(context, At.BUCKETS_SIZE):
        status = _reserve(context, plan)
    if status != DONE:
        _take_back(context)
        return status
    return commit(context, plan)


@compiled
def _take_back(context: int) -> None:
    """Undo the marks on goals, and what was asked for is kept."""
    for k in range(peek(context, At.CONSUMED_COUNT)):
        row = peek(fixed(context, At.CONSUMED), k)
        poke(row_at(context, row), ROW_HEADER + Match.TAKEN, 0)
    poke(context, At.CONSUMED_COUNT, 0)
    poke(context, At.NEED, Need.NOTHING)


@compiled
def _reserve(context: int, plan: int) -> int:
    """Check that there is room for all goals that are to wait."""
    words, rows = 0, 0
    for step in range(fixed(plan, PlanField.ATOMS_END), fixed(plan, PlanField.STEPS_END)):
        row = step_at(context, step)
        node = node_at(context, fixed(row, StepField.NODE))
        for operand in range(3):
            number = fixed(node, NodeField.LEFT_TABLE + operand)
            if number >= 0:
                count = count_of(context, step, fixed(row, StepField.LEFT + operand))
                words += count * fixed(table_at(context, number), TableField.WIDTH)
                rows += count
    if peek(context, At.POOL_USED) + words > fixed(context, At.POOL_SIZE):
        return POOL_FULL
    if peek(context, At.ROWS) + rows > fixed(context, At.BUCKETS_SIZE):
        return BUCKETS_FULL
    return DONE
