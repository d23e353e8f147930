"""Absence, compiled: two delimiters such that nothing in between rules them out."""

from __future__ import annotations

from cepheus.engine.goals.conditions import fits_loaded, hash_of_loaded
from cepheus.engine.goals.machine import identical
from cepheus.engine.goals.matches import load_pair, node_at, partners, same_variables, tag_of, value_of
from cepheus.engine.goals.pairs import earliest_end, hash_in, make_pair, oldest_since
from cepheus.engine.goals.steps import count_of, first_of, step_at
from cepheus.engine.goals.store import NOWHERE, is_sought, newer_row, newest_row, older_row, row_at, state_at
from cepheus.kernel.calls import call_3
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.memory import fixed, peek, table
from cepheus.plan.interval.layout import ARENA_FULL, DONE, ROW_HEADER, At, Match, TableState
from cepheus.plan.interval.program import NodeField, StepField

_MATCH_BYTES = 8 * ROW_HEADER


@compiled
def blocked(context: int, node: int, left: int, until: int) -> bool:
    """Whether what must be absent came after an opening delimiter and was over before a time.

    The values of both delimiters are loaded.
    """
    number = fixed(node, NodeField.NEGATED_TABLE)
    if peek(state_at(context, number), TableState.COUNT) == 0:
        return False
    negated = node_at(context, fixed(node, NodeField.NEGATED))
    keys, count = fixed(node, NodeField.NEGATED_KEYS), fixed(node, NodeField.NEGATED_KEY_COUNT)
    hashed = hash_of_loaded(context, number, keys, count)
    after = peek(left, Match.END)
    tag_words = fixed(negated, NodeField.TAG_WORDS)
    row = newest_row(context, number, hashed)
    while row != NOWHERE:
        here = row_at(context, row)
        if is_sought(context, number, hashed, here):
            other = here + _MATCH_BYTES
            if peek(other, Match.END) <= after:
                return False
            between = peek(other, Match.END) < until and peek(other, Match.START) > after
            if between and fits_loaded(context, other, tag_words, keys, count):
                shared = fixed(node, NodeField.NEGATED_SHARED)
                if fits_loaded(context, other, tag_words, shared, fixed(node, NodeField.NEGATED_SHARED_COUNT)):
                    return True
        row = older_row(context, number, here)
    return False


@compiled
def _blocked_up_to(context: int, node: int, opener: int, closer: int, right: int) -> bool:
    """Whether an opening delimiter is ruled out together with one that has the values and end of ``right``.

    What both delimiters share has the value of the opening one.
    """
    if peek(closer, Match.END) != peek(right, Match.END) or peek(opener, Match.END) >= peek(closer, Match.START):
        return False
    tags, fresh = (
        fixed(node_at(context, fixed(node, NodeField.RIGHT)), NodeField.TAG_WORDS),
        fixed(node, NodeField.FRESH),
    )
    for k in range(fixed(node, NodeField.FRESH_COUNT)):
        place = table(context, At.LINKS, 2 * (fresh + k))
        value, other = value_of(closer, tags, place), value_of(right, tags, place)
        if not identical(tag_of(closer, place), value, tag_of(right, place), other):
            return False
    if not partners(context, node, opener, closer):
        return False
    return blocked(context, node, opener, peek(closer, Match.START))


@compiled
def _blocked_for(context: int, node: int, step: int, opener: int, right: int) -> bool:
    """Whether an opening delimiter is ruled out with any closing one of this instant that is like ``right``."""
    back = fixed(step_at(context, step), StepField.RIGHT)
    stride = 8 * fixed(node_at(context, fixed(node, NodeField.RIGHT)), NodeField.WIDTH)
    for j in range(count_of(context, step, back)):
        if _blocked_up_to(context, node, opener, first_of(context, step, back) + j * stride, right):
            return True
    number = fixed(node, NodeField.RIGHT_TABLE)
    hashed = hash_in(context, node, number, right, False)
    row = newest_row(context, number, hashed)
    while row != NOWHERE:
        here = row_at(context, row)
        if is_sought(context, number, hashed, here):
            if peek(here, ROW_HEADER + Match.END) < peek(right, Match.END):
                return False
            if _blocked_up_to(context, node, opener, here + _MATCH_BYTES, right):
                return True
        row = older_row(context, number, here)
    return False


@compiled
def _blocked_somewhere(context: int, node: int, step: int, left: int, right: int) -> bool:
    """Whether any two delimiters with these values and this outer interval have something between them."""
    load_pair(context, node, left, right)
    if blocked(context, node, left, peek(right, Match.START)):
        return True
    number = fixed(node, NodeField.LEFT_TABLE)
    left_node = node_at(context, fixed(node, NodeField.LEFT))
    tag_words, variables = fixed(left_node, NodeField.TAG_WORDS), fixed(left_node, NodeField.VARIABLES)
    rights = count_of(context, step, fixed(step_at(context, step), StepField.RIGHT))
    rights += peek(state_at(context, fixed(node, NodeField.RIGHT_TABLE)), TableState.COUNT)
    if peek(state_at(context, number), TableState.LONGEST) == 0 and rights == 1:
        return False  # nothing but this pair has these values and ends
    hashed = hash_in(context, node, number, right, False)
    row = newest_row(context, number, hashed)
    while row != NOWHERE:
        here = row_at(context, row)
        other = here + _MATCH_BYTES
        if is_sought(context, number, hashed, here):
            if peek(other, Match.END) < peek(left, Match.START):
                return False
            alike = peek(other, Match.START) == peek(left, Match.START)
            alike = alike and same_variables(other, left, tag_words, variables)
            if alike and _blocked_for(context, node, step, other, right):
                return True
        row = older_row(context, number, here)
    return False


@inlined
def absence_step(context: int, node: int, step: int) -> int:
    """Combine new closing delimiters with every opening one such that nothing in between rules it out."""
    return call_3(fixed(context, At.ABSENCE), context, node, step)


def absence_step_behind(context: int, node: int, step: int) -> int:
    """Do what ``absence_step`` says, behind a seam."""
    back = fixed(step_at(context, step), StepField.RIGHT)
    number = fixed(node, NodeField.LEFT_TABLE)
    right_bytes = 8 * fixed(node_at(context, fixed(node, NodeField.RIGHT)), NodeField.WIDTH)
    for j in range(count_of(context, step, back)):
        right = first_of(context, step, back) + j * right_bytes
        hashed = hash_in(context, node, number, right, False)
        row = oldest_since(context, number, hashed, earliest_end(context, node, right, False, number))
        while row != NOWHERE:
            here = row_at(context, row)
            if is_sought(context, number, hashed, here):
                left = here + _MATCH_BYTES
                fits = partners(context, node, left, right)
                fits = fits and not _blocked_somewhere(context, node, step, left, right)
                if fits and not make_pair(context, node, left, right):
                    return ARENA_FULL
            row = newer_row(context, number, here)
    return DONE
