"""The kernel: events in, complex events out. One compiled loop for one event or a million, one rule or thousands.

An event runs the plans of its type, each a list of steps from atoms to the head of a rule. A plan changes nothing
until all its steps are done and there is room for all that it is to change; when room is missing, the kernel comes
back with a status, the caller makes some, and the same plan is run again.
"""

from __future__ import annotations

import numpy as np

from cepheus.engine.columns.lanes import mix
from cepheus.engine.columns.memory import fixed, peek, peek_half, poke, signed, table
from cepheus.engine.columns.state import COMPOSITE_ID_BASE
from cepheus.engine.goals.compiled import call_2, compiled, inlined
from cepheus.engine.goals.conditions import condition_at
from cepheus.engine.goals.layout import (
    ANSWER_NEEDED,
    ARENA_FULL,
    BUCKETS_FULL,
    DONE,
    FLOAT_WORD,
    FRAME_WORDS,
    INSTANT_FULL,
    MARK_WORDS,
    OUTPUT_FULL,
    OUTPUT_HEADER,
    POOL_FULL,
    RANKS_NEEDED,
    RECORD_HEADER,
    ROW_HEADER,
    SEEN_FULL,
    TOO_MANY_EVENTS,
    TOO_MANY_GOALS,
    WORK_FULL,
    At,
    ChoiceCode,
    ConditionField,
    Frame,
    Known,
    LateField,
    Mark,
    Match,
    Need,
    NodeField,
    NodeKind,
    OutputRecord,
    PlanField,
    Record,
    Row,
    RuleField,
    StepField,
    StepState,
    TableField,
    TableState,
    Tag,
    TypeField,
)
from cepheus.engine.goals.machine import ask, compute, float_of, same_value, stir, stir_value
from cepheus.engine.goals.matches import copy_words, key_hash, load_match, node_at, parts_of, tag_of, value_of
from cepheus.engine.goals.steps import (
    absence_step,
    atom_step,
    count_of,
    either_step,
    filter_step,
    first_of,
    restricting_step,
    step_at,
    step_state,
    unrestricted_step,
)
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

_DIGEST_MASK = np.uint64(2**62 - 1)
_PLAN_BYTES = 8 * len(PlanField)
_TYPE_BYTES = 8 * len(TypeField)
_RULE_BYTES = 8 * len(RuleField)
_LATE_BYTES = 8 * len(LateField)
_MATCH_BYTES = 8 * ROW_HEADER
_INT, _FLOAT, _STRING = int(Tag.INT), int(Tag.FLOAT), int(Tag.STRING)
_TWO_TO_63 = 9223372036854775808.0


@inlined
def _type_at(context: int, stratum: int, kind: int) -> int:
    return fixed(context, At.TYPES) + _TYPE_BYTES * (stratum * fixed(context, At.TYPE_COUNT) + kind)


@inlined
def _record_at(context: int, place: int) -> int:
    return fixed(context, At.INSTANT) + 8 * place


# ---- Events that are known -----------------------------------------------------------------------------------------


@inlined
def _record_tag(record: int, place: int) -> int:
    return (peek(record, RECORD_HEADER + (place >> 4)) >> ((place & 15) << 2)) & 15


@compiled
def _same_event(one: int, other: int, arity: int, tag_words: int) -> bool:
    if peek(one, Record.TYPE) != peek(other, Record.TYPE) or peek(one, Record.START) != peek(other, Record.START):
        return False
    for k in range(arity):
        at = RECORD_HEADER + tag_words + k
        if not same_value(_record_tag(one, k), peek(one, at), _record_tag(other, k), peek(other, at)):
            return False
    return True


@compiled
def _find_known(context: int, record: int) -> int:
    """Give the place of an event among those known of this instant: -1 if it is known, else where it goes."""
    layout = _type_at(context, 0, peek(record, Record.TYPE))
    arity, tag_words = fixed(layout, TypeField.ARITY), fixed(layout, TypeField.TAG_WORDS)
    digest = stir(stir(np.uint64(0x2545F491), peek(record, Record.TYPE)), peek(record, Record.START))
    for k in range(arity):
        digest = stir_value(digest, _record_tag(record, k), peek(record, RECORD_HEADER + tag_words + k))
    mask = fixed(context, At.KNOWN_SIZE) - 1
    stamp = peek(context, At.STAMP)
    at = signed(digest >> np.uint64(1)) & mask
    while True:
        entry = fixed(context, At.KNOWN) + 16 * at
        if peek(entry, Known.STAMP) != stamp:
            return at
        if _same_event(record, _record_at(context, peek(entry, Known.RECORD)), arity, tag_words):
            return -1
        at = (at + 1) & mask


@inlined
def _know(context: int, at: int, place: int) -> None:
    """Note an event as known."""
    entry = fixed(context, At.KNOWN) + 16 * at
    poke(entry, Known.STAMP, peek(context, At.STAMP))
    poke(entry, Known.RECORD, place)


@compiled
def _word_of(context: int, tag: int, word: int) -> int:
    """Give the word that a value adds to the id of a complex event; Python is asked for that of other floats."""
    if tag == _INT:
        return word
    if tag == _FLOAT:
        number = float_of(word)
        if number == np.floor(number) and number >= -_TWO_TO_63 and number < _TWO_TO_63:
            return int(np.int64(number))
        stack, tags = fixed(context, At.STACK), fixed(context, At.STACK_TAGS)
        poke(stack, 0, word)
        poke(tags, 0, tag)
        ask(context, FLOAT_WORD, 1, stack, tags, 0)
        return peek(stack, 0)
    texts = fixed(context, At.TEXT_DIGESTS)
    return peek(texts, word if tag != _STRING else word + 2)


@compiled
def _identify(context: int, record: int, seed: int, arity: int, tag_words: int) -> int:
    """Give the id of a complex event, as a word."""
    digest = mix(mix(np.uint64(seed), peek(record, Record.START)), peek(record, Record.END))
    for k in range(arity):
        value = _word_of(context, _record_tag(record, k), peek(record, RECORD_HEADER + tag_words + k))
        digest = mix(digest, value)
    return COMPOSITE_ID_BASE + signed(digest & _DIGEST_MASK)


# ---- Running a plan ------------------------------------------------------------------------------------------------


@compiled
def _atoms(context: int, node: int, first: int, end: int) -> int:
    """Make the matches of an atom for the events of a part of this instant."""
    place = first
    while place < end:
        record = _record_at(context, place)
        if peek(record, Record.TYPE) == fixed(node, NodeField.TYPE):
            status = atom_step(context, node, record)
            if status != DONE:
                return status
        place += fixed(context, At.RECORD_WIDTH)
    return DONE


@compiled
def _head(context: int, node: int, step: int) -> int:
    """Compute the values of complex events; each is a record followed by the place of its match in the arena."""
    back = fixed(step_at(context, step), StepField.LEFT)
    source = node_at(context, fixed(node, NodeField.LEFT))
    stride, width = 8 * fixed(source, NodeField.WIDTH), fixed(node, NodeField.WIDTH)
    tag_words = fixed(node, NodeField.TAG_WORDS)
    begin, end = fixed(node, NodeField.BEGIN), fixed(node, NodeField.END)
    for k in range(count_of(context, step, back)):
        used = peek(context, At.ARENA_USED)
        if used + width > fixed(context, At.ARENA_SIZE):
            return ARENA_FULL
        match = first_of(context, step, back) + k * stride
        load_match(context, source, match)
        record = fixed(context, At.ARENA) + 8 * used
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
        if defined:
            poke(record, Record.TYPE, fixed(node, NodeField.TYPE))
            poke(record, Record.START, peek(match, Match.START))
            poke(record, Record.END, peek(match, Match.END))
            poke(record, Record.ID, 0)
            poke(record, width - 1, match)
            poke(context, At.ARENA_USED, used + width)
    return DONE


@compiled
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
    """Leave out new matches that repeat others; give how many are left, -1 if there is no room to find out."""
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
            fresh = not _same_match(match, first + 8 * width * peek(seen, at), tag_words, variables)
            at = (at + 1) & (size - 1)
        if fresh:
            poke(seen, at, kept)
            if kept < k:
                copy_words(match, first + 8 * width * kept, width)
            kept += 1
    return kept


@compiled
def _same_match(one: int, other: int, tag_words: int, variables: int) -> bool:
    if peek(one, Match.START) != peek(other, Match.START) or peek(one, Match.END) != peek(other, Match.END):
        return False
    return same_variables(one, other, tag_words, variables)


@compiled
def same_variables(one: int, other: int, tag_words: int, variables: int) -> bool:
    """Tell whether two matches of one node give all variables equal values."""
    for k in range(variables):
        if not same_value(tag_of(one, k), value_of(one, tag_words, k), tag_of(other, k), value_of(other, tag_words, k)):
            return False
    return True


@inlined
def _concerned(context: int, step: int) -> bool:
    """Tell whether any operand of a step has new matches."""
    row = step_at(context, step)
    found = count_of(context, step, fixed(row, StepField.LEFT)) + count_of(context, step, fixed(row, StepField.RIGHT))
    return found + count_of(context, step, fixed(row, StepField.NEGATED)) > 0


@compiled
def _run_plan(context: int, plan: int, first: int, end: int) -> int:
    """Take the events of a part of this instant through the steps of a plan, and then do what they ask for."""
    poke(context, At.ARENA_USED, 0)
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
    if (
        peek(context, At.POOL_USED) + most * fixed(plan, PlanField.WIDEST) > fixed(context, At.POOL_SIZE)
        or peek(context, At.ROWS) + most > fixed(context, At.BUCKETS_SIZE)
        or peek(context, At.WORK_USED) + matches * fixed(plan, PlanField.LONGEST_HEAD) > fixed(context, At.WORK_SIZE)
    ):
        status = _room(context, plan)
    if status != DONE:
        _take_back(context)
        return status
    return _commit(context, plan)


@compiled
def _take_back(context: int) -> None:
    """Undo the marks on goals, and what was asked for is kept."""
    for k in range(peek(context, At.CONSUMED_COUNT)):
        row = peek(fixed(context, At.CONSUMED), k)
        poke(row_at(context, row), ROW_HEADER + Match.TAKEN, 0)
    poke(context, At.CONSUMED_COUNT, 0)
    poke(context, At.NEED, Need.NOTHING)


# ---- What a plan changes -------------------------------------------------------------------------------------------


@compiled
def _room(context: int, plan: int) -> int:
    """Tell whether there is room for all goals that are to wait and all events that were made."""
    words, rows, heads = 0, 0, 0
    for step in range(fixed(plan, PlanField.ATOMS_END), fixed(plan, PlanField.STEPS_END)):
        row = step_at(context, step)
        node = node_at(context, fixed(row, StepField.NODE))
        if fixed(node, NodeField.KIND) == NodeKind.HEAD:
            size = fixed(node, NodeField.WIDTH) + fixed(node, NodeField.PARTS)
            heads += peek(step_state(context, step), StepState.COUNT) * size
        for operand in range(3):
            number = fixed(node, NodeField.LEFT_TABLE + operand)
            if number >= 0:
                count = count_of(context, step, fixed(row, StepField.LEFT + operand))
                words += count * fixed(table_at(context, number), TableField.WIDTH)
                rows += count
    if peek(context, At.WORK_USED) + heads > fixed(context, At.WORK_SIZE):
        return WORK_FULL
    if peek(context, At.POOL_USED) + words > fixed(context, At.POOL_SIZE):
        return POOL_FULL
    if peek(context, At.ROWS) + rows > fixed(context, At.BUCKETS_SIZE):
        return BUCKETS_FULL
    return DONE


@inlined
def _commit(context: int, plan: int) -> int:
    """Remove goals that were taken, let new ones wait, put aside the complex events that were made."""
    return call_2(fixed(context, At.COMMIT), context, plan)


def commit_behind(context: int, plan: int) -> int:
    """Do what ``_commit`` says, behind a seam."""
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
            if _same_match(match, here + _MATCH_BYTES, tag_words, variables):
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


# ---- The order of work ---------------------------------------------------------------------------------------------


@compiled
def _begin_work(context: int, first: int, end: int, plan: int, plan_end: int) -> None:
    """Push a frame; there must be room for it."""
    used = peek(context, At.WORK_USED)
    frame = fixed(context, At.WORK) + 8 * used
    poke(frame, Frame.FIRST, first)
    poke(frame, Frame.END, end)
    poke(frame, Frame.PLAN, plan)
    poke(frame, Frame.PLAN_END, plan_end)
    poke(frame, Frame.HEAD, 0)
    poke(frame, Frame.HEADS_END, 0)
    poke(frame, Frame.PREVIOUS, peek(context, At.WORK_TOP))
    poke(context, At.WORK_TOP, used)
    poke(context, At.WORK_USED, used + FRAME_WORDS)


@inlined
def _begin_event(context: int, place: int, stratum: int) -> None:
    """Make the record behind the last one an event of this instant, and begin to bring it to all rules."""
    layout = _type_at(context, stratum, peek(_record_at(context, place), Record.TYPE))
    poke(context, At.INSTANT_USED, place + fixed(context, At.RECORD_WIDTH))
    _begin_work(context, place, place + 1, fixed(layout, TypeField.PLANS), fixed(layout, TypeField.PLANS_END))


@compiled
def _no_room(context: int, output: int) -> int:
    """Tell what is missing to take one more event, with so many words of output."""
    used, width = peek(context, At.INSTANT_USED), fixed(context, At.RECORD_WIDTH)
    if used + width > fixed(context, At.INSTANT_SIZE) or 2 * (used // width) >= fixed(context, At.KNOWN_SIZE):
        return INSTANT_FULL
    if peek(context, At.WORK_USED) + FRAME_WORDS > fixed(context, At.WORK_SIZE):
        return WORK_FULL
    if peek(context, At.OUTPUT_WORDS) + output > fixed(context, At.OUTPUT_SIZE):
        return OUTPUT_FULL
    return DONE


@compiled
def _give_out(context: int, frame: int, stratum: int) -> int:
    """Take the next complex event of a frame: if it is not known yet, write it out and bring it to all rules."""
    entry = fixed(context, At.WORK) + 8 * peek(frame, Frame.HEAD)
    node = node_at(context, peek(entry, 0))
    rule = fixed(node, NodeField.RULE)
    width = fixed(node, NodeField.WIDTH) - 1
    words = width + fixed(node, NodeField.PARTS)
    status = _no_room(context, OUTPUT_HEADER + words)
    if status != DONE:
        return status
    record = entry + 8
    at = _find_known(context, record)
    if at < 0:
        poke(frame, Frame.HEAD, peek(frame, Frame.HEAD) + 1 + words)
        return DONE
    seed = fixed(fixed(context, At.RULES) + _RULE_BYTES * rule, RuleField.SEED)
    arity, tag_words = fixed(node, NodeField.VARIABLES), fixed(node, NodeField.TAG_WORDS)
    poke(record, Record.ID, _identify(context, record, seed, arity, tag_words))
    if peek(context, At.NEED) != Need.NOTHING:
        poke(context, At.NEED, Need.NOTHING)
        return ANSWER_NEEDED
    poke(frame, Frame.HEAD, peek(frame, Frame.HEAD) + 1 + words)
    used = peek(context, At.OUTPUT_WORDS)
    output = fixed(context, At.OUTPUT) + 8 * used
    poke(output, OutputRecord.RULE, rule)
    copy_words(record, output + 8 * OUTPUT_HEADER, words)
    poke(context, At.OUTPUT_WORDS, used + OUTPUT_HEADER + words)
    place = peek(context, At.INSTANT_USED)
    copy_words(record, _record_at(context, place), width)
    _know(context, at, place)
    _begin_event(context, place, stratum)
    poke(context, At.MADE, peek(context, At.MADE) + 1)
    if peek(context, At.MADE) > fixed(context, At.LIMIT):
        poke(context, At.CULPRIT, rule)
        return TOO_MANY_EVENTS
    return DONE


@compiled
def _work(context: int, stratum: int) -> int:
    """Go on with what is begun: what an event makes in one rule is brought to all before it goes to the next."""
    while peek(context, At.WORK_TOP) != NOWHERE:
        top = peek(context, At.WORK_TOP)
        frame = fixed(context, At.WORK) + 8 * top
        if peek(frame, Frame.HEAD) < peek(frame, Frame.HEADS_END):
            status = _give_out(context, frame, stratum)
        elif peek(frame, Frame.PLAN) < peek(frame, Frame.PLAN_END):
            poke(context, At.WORK_USED, top + FRAME_WORDS)
            poke(frame, Frame.HEAD, top + FRAME_WORDS)
            poke(frame, Frame.HEADS_END, top + FRAME_WORDS)
            plan = fixed(context, At.PLANS) + _PLAN_BYTES * peek(frame, Frame.PLAN)
            status = _run_plan(context, plan, peek(frame, Frame.FIRST), peek(frame, Frame.END))
            if status == DONE:
                poke(frame, Frame.PLAN, peek(frame, Frame.PLAN) + 1)
        else:
            status = DONE
            poke(context, At.WORK_TOP, peek(frame, Frame.PREVIOUS))
            poke(context, At.WORK_USED, top)
        if status != DONE:
            return status
    return DONE


# ---- The stream ----------------------------------------------------------------------------------------------------


@compiled
def _take_instant(context: int, stratum: int) -> int:
    """Take all events of an instant through the rules of a stratum that is decided late."""
    late = fixed(context, At.LATE) + _LATE_BYTES * stratum
    while True:
        status = _work(context, stratum)
        if status != DONE:
            return status
        if peek(context, At.WORK_USED) + FRAME_WORDS > fixed(context, At.WORK_SIZE):
            return WORK_FULL
        plan = fixed(late, LateField.PLANS) + peek(context, At.LATE_PLAN)
        place, end = peek(context, At.LATE_RECORD), peek(context, At.PORTION_END)
        if plan >= fixed(late, LateField.PLANS_END):
            poke(context, At.LATE_PLAN, 0)
            return DONE
        together = fixed(fixed(context, At.PLANS) + _PLAN_BYTES * plan, PlanField.TOGETHER)
        if place < end:
            _begin_work(context, place, end if together else place + 1, plan, plan + 1)
        place = end if together else place + fixed(context, At.RECORD_WIDTH)
        if place >= end:
            poke(context, At.LATE_PLAN, peek(context, At.LATE_PLAN) + 1)
            place = 0
        poke(context, At.LATE_RECORD, place)


@compiled
def _end_instant(context: int) -> int:
    """Run the rules that look at all of an instant, stratum by stratum."""
    for stratum in range(max(1, peek(context, At.STRATUM)), fixed(context, At.STRATA)):
        if peek(context, At.STRATUM) != stratum:
            poke(context, At.STRATUM, stratum)
            poke(context, At.PORTION_END, peek(context, At.INSTANT_USED))
            poke(context, At.MADE, 0)
        status = _take_instant(context, stratum)
        if status != DONE:
            return status
    poke(context, At.STRATUM, 0)
    return DONE


@compiled
def begin_instant(context: int, time: int) -> int:
    """End the present instant and begin that of ``time``, if that is later."""
    if time <= peek(context, At.NOW):
        return DONE
    if fixed(context, At.STRATA) > 1 and peek(context, At.INSTANT_USED) > 0:
        status = _end_instant(context)
        if status != DONE:
            return status
    poke(context, At.NOW, time)
    poke(context, At.INSTANT_USED, 0)
    poke(context, At.STAMP, peek(context, At.STAMP) + 1)
    return DONE


@compiled
def _load(context: int, kind: int, at: int) -> int:
    """Put an input event behind the events of this instant, without making it one of them."""
    record = _record_at(context, peek(context, At.INSTANT_USED))
    layout = _type_at(context, 0, kind)
    arity, tag_words = fixed(layout, TypeField.ARITY), fixed(layout, TypeField.TAG_WORDS)
    poke(record, Record.TYPE, kind)
    poke(record, Record.START, peek(fixed(context, At.STARTS), at))
    poke(record, Record.END, peek(fixed(context, At.TIMES), at))
    poke(record, Record.ID, peek(fixed(context, At.IDS), at))
    for k in range(tag_words):
        poke(record, RECORD_HEADER + k, 0)
    inputs = fixed(layout, TypeField.INPUTS)
    for k in range(arity):
        column = table(context, At.SLOTS, inputs + k)
        tag = table(context, At.SLOT_TAGS, inputs + k)
        if tag >= 16:
            tag = peek(table(context, At.COLUMNS, tag - 16), at)
        value = peek(table(context, At.COLUMNS, column), at) if tag != 0 else 0
        poke(record, RECORD_HEADER + tag_words + k, value)
        place = RECORD_HEADER + (k >> 4)
        poke(record, place, peek(record, place) | (tag << ((k & 15) << 2)))
    return record


@compiled
def run(context: int) -> int:
    """Go on with what is begun and then with the input, from where the last call left it."""
    status = _work(context, 0) if peek(context, At.STRATUM) == 0 else DONE
    count = fixed(context, At.INPUT_SIZE)
    while status == DONE and peek(context, At.INPUT_NEXT) < count:
        at = peek(context, At.INPUT_NEXT)
        status = begin_instant(context, peek(fixed(context, At.TIMES), at))
        if status != DONE:
            return status
        kind = table(context, At.KINDS, peek_half(fixed(context, At.CODES), at))
        if kind >= 0:
            status = _no_room(context, 0)
            if status != DONE:
                return status
            known = _find_known(context, _load(context, kind, at))
            if known >= 0:
                place = peek(context, At.INSTANT_USED)
                _know(context, known, place)
                _begin_event(context, place, 0)
                poke(context, At.MADE, 0)
        poke(context, At.INPUT_NEXT, at + 1)
        status = _work(context, 0)
    return status


@compiled
def know_again(context: int) -> None:
    """Note the events of this instant as known, in a table that is new."""
    for place in range(0, peek(context, At.INSTANT_USED), fixed(context, At.RECORD_WIDTH)):
        at = _find_known(context, _record_at(context, place))
        if at >= 0:
            _know(context, at, place)


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
