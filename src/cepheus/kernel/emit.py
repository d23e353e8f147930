"""Composite events, compiled: written field by field into the columns of the output, fed back to the rules.

The output has an array for each field: rule, time and start; the ids of the parts; the values of the attributes. An
event is its index. What an event completes stays provisional, beyond the committed events, until the event is done.
"""

from __future__ import annotations

import numpy as np

from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import (
    before,
    column_at,
    end_preceding,
    entry_at,
    entry_row,
    first_in_window,
    is_ordered,
    lane_at,
    mix,
    type_at,
    type_state_at,
)
from cepheus.kernel.machine import compute
from cepheus.kernel.memory import At, fixed, fixed_half, fixed_pair, peek, poke, put, signed, table, word
from cepheus.kernel.program import (
    SLOT_ID,
    SLOT_START,
    SLOT_TIME,
    ColumnField,
    OutputField,
    RuleField,
    RuleFlag,
    StepField,
    StepFlag,
    TypeField,
)
from cepheus.kernel.state import (
    COMPOSITE_ID_BASE,
    DONE,
    ENTRY_WORDS,
    GATHERED_FULL,
    GATHERING,
    LIMIT,
    MARKS_FULL,
    OUTPUT_FULL,
    OUTPUT_HEADER,
    QUEUE_FULL,
    STRING_ID_FLOOR,
    STRING_NEEDED,
    TOO_MANY,
    EntryField,
    GatheredField,
    GatheringField,
    LaneState,
    OutputHeader,
    TypeState,
)
from cepheus.kernel.ties import is_at, pass_over_plainly
from cepheus.kernel.windows import counts_as_member, entries_in, lane_of, occurred, reference_time

_DIGEST_MASK = np.uint64(2**62 - 1)
_RULE_BYTES = RuleField.row_bytes()
_STEP_BYTES = StepField.row_bytes()
_OUTPUT_BYTES = OutputField.row_bytes()
_GATHERED_BYTES = GatheredField.row_bytes()


@inlined
def rule_at(context: int, rule_number: int) -> int:
    """The address of a rule's row."""
    return fixed(context, At.RULES) + _RULE_BYTES * rule_number


@inlined
def _reserve(context: int, rule_number: int, events_before: int, count: int) -> int:
    """Whether so many events more may be written for the current event: DONE, or what is in the way."""
    events = peek(context, At.FOUND_EVENTS) + count
    if events - events_before > fixed(context, At.LIMIT):
        poke(context, At.CULPRIT, rule_number)
        return LIMIT
    return OUTPUT_FULL if events > fixed(context, At.OUTPUT_SIZE) else DONE


@inlined
def emit(context: int, rule: int, rule_number: int, events_before: int) -> int:
    """Check the absences, compute the attributes and write a composite event."""
    for at in range(fixed_half(rule, RuleField.ABSENCES), fixed_half(rule, RuleField.ABSENCES_END)):
        if occurred(context, fixed(context, At.STEPS) + _STEP_BYTES * at):
            return DONE
    status = _reserve(context, rule_number, events_before, 1)
    if status != DONE:
        return status
    event = peek(context, At.FOUND_EVENTS)
    fields, store, bound = fixed(context, At.OUTPUT), fixed(context, At.STORE), fixed(context, At.BOUND)
    at = OUTPUT_HEADER
    terminator = peek(bound, 0)
    start = peek(store, terminator + SLOT_START)
    for position in range(fixed_half(rule, RuleField.POSITIONS)):
        base = peek(bound, position)
        poke(fixed(fields, at), event, peek(store, base + SLOT_ID))
        start = min(start, peek(store, base + SLOT_START))
        at += 1
    flags = fixed_half(rule, RuleField.FLAGS)
    if flags & RuleFlag.GATHERS:
        at += GATHERING
    for k in range(fixed_half(rule, RuleField.OUTPUTS), fixed_half(rule, RuleField.OUTPUTS_END)):
        value = fixed(context, At.OUTPUTS) + _OUTPUT_BYTES * k
        code = fixed(value, OutputField.CODE)
        if code < 0:
            base = peek(bound, fixed(value, OutputField.POSITION))
            poke(fixed(fields, at), event, peek(store, base + fixed(value, OutputField.SLOT)))
        else:
            defined = compute(context, code)
            optional = fixed(value, OutputField.OPTIONAL)
            if not defined and not optional:
                return DONE
            poke(fixed(fields, at), event, word(context, At.STACK, 0))
            if optional:
                at += 1
                poke(fixed(fields, at), event, defined)
        at += 1
    if flags & RuleFlag.CONSUMES and not _mark(context, rule):
        return MARKS_FULL
    if flags & RuleFlag.GATHERS:
        status, start = _gather_members(context, rule, event, start)
        if status != DONE:
            return status
    poke(fixed(fields, OutputHeader.RULE), event, rule_number)
    poke(fixed(fields, OutputHeader.TIME), event, peek(store, terminator + SLOT_TIME))
    poke(fixed(fields, OutputHeader.START), event, start)
    poke(context, At.FOUND_EVENTS, event + 1)
    return DONE


@compiled
def _gather_members(context: int, rule: int, event: int, start: int) -> tuple[int, int]:
    """Note whom a composite event names among what it is made of; return a status and where the event starts then."""
    fields, parts = fixed(context, At.OUTPUT), fixed_half(rule, RuleField.POSITIONS)
    texts = fixed(context, At.ID_DIGESTS)
    begin = middle = end = peek(context, At.GATHERED_NEXT)
    digest = _digest_of_parts(fields, event, parts, fixed_pair(rule, RuleField.SEED), texts)
    for at in range(fixed_half(rule, RuleField.GATHERS), fixed_half(rule, RuleField.GATHERS_END)):
        step = fixed(context, At.STEPS) + _STEP_BYTES * at
        flags = fixed(step, StepField.FLAGS)
        lane = lane_of(context, step)
        if lane >= 0:
            first, last = entries_in(context, step, lane)
            row = lane_at(context, lane)
            offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
            for entry in range(first, last):
                place = offset + (entry & mask)
                if not counts_as_member(context, step, place, entry_row(context, place)):
                    continue
                if end - peek(context, At.GATHERED_COUNT) >= fixed(context, At.LIMIT):
                    poke(context, At.NEEDED_TABLE, TOO_MANY + at)
                    return STRING_NEEDED, start
                if end >= fixed(context, At.GATHERED_SIZE):
                    return GATHERED_FULL, start
                base = word(context, At.BOUND, fixed(step, StepField.POSITION))
                member = word(context, At.STORE, base + SLOT_ID)
                gathered = fixed(context, At.GATHERED) + _GATHERED_BYTES * end
                poke(gathered, GatheredField.ID, member)
                poke(gathered, GatheredField.TYPE, fixed(step, StepField.TYPE))
                end += 1
                if not flags & StepFlag.COUNTED:
                    digest = mix(digest, _digested(member, texts))
                    start = min(start, word(context, At.STORE, base + SLOT_START))
                if flags & StepFlag.CONSUMES and not _mark_member(context, step, base):
                    return MARKS_FULL, start
        if not flags & StepFlag.COUNTED:
            middle = end
    behind = OUTPUT_HEADER + parts
    poke(fixed(fields, behind + GatheringField.BEGIN), event, begin)
    poke(fixed(fields, behind + GatheringField.MIDDLE), event, middle)
    poke(fixed(fields, behind + GatheringField.END), event, end)
    poke(fixed(fields, behind + GatheringField.DIGEST), event, signed(digest & _DIGEST_MASK))
    poke(context, At.GATHERED_NEXT, end)
    return DONE, start


@inlined
def _mark_member(context: int, step: int, base: int) -> bool:
    """Note that a firing consumes the event at ``base``. False if out of room."""
    marks = peek(context, At.MARK_COUNT)
    if marks >= fixed(context, At.MARKS_SIZE):
        return False
    put(context, At.MARKS, 2 * marks, base + fixed(step, StepField.CONSUMED_SLOT))
    put(context, At.MARKS, 2 * marks + 1, 1 << fixed(step, StepField.CONSUMED_BIT))
    poke(context, At.MARK_COUNT, marks + 1)
    return True


@compiled
def emit_window(context: int, step: int, rule_number: int, events_before: int) -> int:
    """Write a composite event for each entry of a window, a field at a time.

    For the last selection of a rule, if it takes every entry and only copies of attributes are left to be written.
    """
    lane = lane_of(context, step)
    if lane < 0:
        return DONE
    until = reference_time(context, step)
    end = end_preceding(context, lane, word(context, At.BOUND, fixed(step, StepField.REFERENCE)))
    if is_at(context, lane_at(context, lane), end, until) and not is_ordered(context):
        pass_over_plainly(context, lane, fixed(step, StepField.TYPE), fixed(step, StepField.REFERENCE), end, until)
    window = fixed(step, StepField.WINDOW)
    reach = fixed(column_at(context, fixed(step, StepField.COLUMN)), ColumnField.REACH)
    is_reach = fixed(step, StepField.REFERENCE) == 0 and window == reach
    begin = first_in_window(context, lane, before(until, window), is_reach)
    count = end - begin
    if count <= 0:
        return DONE
    status = _reserve(context, rule_number, events_before, count)
    if status != DONE:
        return status
    first = peek(context, At.FOUND_EVENTS)
    rule = rule_at(context, rule_number)
    fields, store, bound = fixed(context, At.OUTPUT), fixed(context, At.STORE), fixed(context, At.BOUND)
    chosen = fixed(step, StepField.POSITION)
    start = peek(store, peek(bound, 0) + SLOT_START)
    at = OUTPUT_HEADER
    for position in range(fixed_half(rule, RuleField.POSITIONS)):
        if position != chosen:
            base = peek(bound, position)
            _fill(fixed(fields, at) + 8 * first, count, peek(store, base + SLOT_ID))
            start = min(start, peek(store, base + SLOT_START))
        at += 1
    ids, starts = fixed(fields, OUTPUT_HEADER + chosen), fixed(fields, OutputHeader.START)
    _name_and_date(context, step, lane, begin, count, ids + 8 * first, starts + 8 * first, start)
    for k in range(fixed_half(rule, RuleField.OUTPUTS), fixed_half(rule, RuleField.OUTPUTS_END)):
        value = fixed(context, At.OUTPUTS) + _OUTPUT_BYTES * k
        position, slot = fixed(value, OutputField.POSITION), fixed(value, OutputField.SLOT)
        target = fixed(fields, at) + 8 * first
        if position == chosen:
            _gather(context, step, lane, begin, count, slot, target)
        else:
            _fill(target, count, peek(store, peek(bound, position) + slot))
        at += 1
    _fill(fixed(fields, OutputHeader.RULE) + 8 * first, count, rule_number)
    _fill(fixed(fields, OutputHeader.TIME) + 8 * first, count, peek(store, peek(bound, 0) + SLOT_TIME))
    poke(context, At.FOUND_EVENTS, first + count)
    return DONE


@inlined
def _fill(target: int, count: int, value: int) -> None:
    """Write a value many times."""
    for k in range(count):
        poke(target, k, value)


@inlined
def _rows_of(context: int, step: int) -> tuple[int, int, int]:
    """The address of the rows of a step's type, their width, and the mask of their numbers."""
    kind = fixed(step, StepField.TYPE)
    rows = type_state_at(context, kind)
    width = fixed(type_at(context, kind), TypeField.WIDTH)
    return fixed(context, At.STORE) + 8 * peek(rows, TypeState.OFFSET), width, peek(rows, TypeState.MASK)


@inlined
def _gather(context: int, step: int, lane: int, begin: int, count: int, slot: int, target: int) -> None:
    """Write a slot of the rows of so many entries of a lane."""
    row = lane_at(context, lane)
    rows, width, row_mask = _rows_of(context, step)
    entries, entry_mask = entry_at(context, peek(row, LaneState.OFFSET)), peek(row, LaneState.MASK)
    values = rows + 8 * slot
    for k in range(count):
        number = peek(entries, ENTRY_WORDS * ((begin + k) & entry_mask) + EntryField.ROW)
        poke(target, k, peek(values, width * (number & row_mask)))


@inlined
def _name_and_date(
    context: int, step: int, lane: int, begin: int, count: int, ids: int, starts: int, latest: int
) -> None:
    """Write the ids of the rows of so many entries of a lane, and where they start, or the latest start."""
    row = lane_at(context, lane)
    rows, width, row_mask = _rows_of(context, step)
    entries, entry_mask = entry_at(context, peek(row, LaneState.OFFSET)), peek(row, LaneState.MASK)
    for k in range(count):
        number = peek(entries, ENTRY_WORDS * ((begin + k) & entry_mask) + EntryField.ROW)
        at = width * (number & row_mask)
        poke(ids, k, peek(rows, at + SLOT_ID))
        poke(starts, k, min(peek(rows, at + SLOT_START), latest))


@compiled
def _mark(context: int, rule: int) -> bool:
    """Note which events this firing consumes; they are marked when the terminator is done. False if out of room."""
    marks = peek(context, At.MARK_COUNT)
    for at in range(fixed_half(rule, RuleField.CONSUMING), fixed_half(rule, RuleField.CONSUMING_END)):
        if marks >= fixed(context, At.MARKS_SIZE):
            return False
        base = word(context, At.BOUND, table(context, At.CONSUMING, 3 * at))
        put(context, At.MARKS, 2 * marks, base + table(context, At.CONSUMING, 3 * at + 1))
        put(context, At.MARKS, 2 * marks + 1, 1 << table(context, At.CONSUMING, 3 * at + 2))
        marks += 1
    poke(context, At.MARK_COUNT, marks)
    return True


@inlined
def commit_output(context: int) -> None:
    """Make what was found part of the output and mark what was consumed."""
    poke(context, At.OUTPUT_EVENTS, peek(context, At.FOUND_EVENTS))
    poke(context, At.GATHERED_COUNT, peek(context, At.GATHERED_NEXT))
    for k in range(peek(context, At.MARK_COUNT)):
        place = word(context, At.MARKS, 2 * k)
        put(context, At.STORE, place, word(context, At.STORE, place) | word(context, At.MARKS, 2 * k + 1))


@inlined
def trace(context: int, events_before: int, origin: int) -> None:
    """Note where the composite events since ``events_before`` come from, if the output has a field for that."""
    lineage = fixed(context, At.LINEAGE)
    if lineage > 0:
        events = peek(context, At.OUTPUT_EVENTS)
        _fill(fixed(fixed(context, At.OUTPUT), lineage) + 8 * events_before, events - events_before, origin)


@compiled
def enqueue(context: int) -> int:
    """Put the provisional composite events that some rule listens to at the end of the queue, in order."""
    next_record = peek(context, At.QUEUE_NEXT)
    rules = fixed(fixed(context, At.OUTPUT), OutputHeader.RULE)
    for event in range(peek(context, At.OUTPUT_EVENTS), peek(context, At.FOUND_EVENTS)):
        rule = rule_at(context, peek(rules, event))
        if fixed_half(rule, RuleField.FLAGS) & RuleFlag.FEEDS:
            if next_record + fixed(context, At.RECORD_WIDTH) > fixed(context, At.QUEUE_SIZE):
                return QUEUE_FULL
            _write_record(context, rule, event, fixed(context, At.QUEUE) + 8 * next_record)
            next_record += fixed(context, At.RECORD_WIDTH)
    poke(context, At.QUEUE_NEXT, next_record)
    return DONE


@inlined
def _digest(fields: int, event: int, parts: int, seed: int, texts: int) -> int:
    """The digest that names a composite event of the output; ``texts`` is the address of the texts' digests."""
    return signed(_digest_of_parts(fields, event, parts, seed, texts) & _DIGEST_MASK)


@inlined
def _digest_of_parts(fields: int, event: int, parts: int, seed: int, texts: int) -> np.uint64:
    """The digest of the parts of a composite event, as far as it has come."""
    digest = np.uint64(seed)
    for k in range(parts):
        digest = mix(digest, _digested(peek(fixed(fields, OUTPUT_HEADER + k), event), texts))
    return digest


@inlined
def _digested(part: int, texts: int) -> int:
    """The word that an id goes into a digest with."""
    if part < STRING_ID_FLOOR:
        return part - COMPOSITE_ID_BASE
    return peek(texts, ~part) if part < 0 else part


@compiled
def name_events(fields: int, parts: int, seeds: int, texts: int, count: int, digests: int) -> None:
    """Write the digests of so many events of the output; ``parts`` and ``seeds`` are those of each rule."""
    rules = fixed(fields, OutputHeader.RULE)
    for event in range(count):
        rule = peek(rules, event)
        poke(digests, event, _digest(fields, event, peek(parts, rule), peek(seeds, rule), texts))


@compiled
def _write_record(context: int, rule: int, event: int, record: int) -> None:
    """Write a composite event of the output as a row of its type; before it its type, after it its place."""
    for k in range(fixed(context, At.RECORD_WIDTH)):
        poke(record, k, 0)
    fields = fixed(context, At.OUTPUT)
    parts = fixed_half(rule, RuleField.POSITIONS)
    at = OUTPUT_HEADER + parts
    if fixed_half(rule, RuleField.FLAGS) & RuleFlag.GATHERS:
        digest = peek(fixed(fields, at + GatheringField.DIGEST), event)
        at += GATHERING
    else:
        digest = _digest(fields, event, parts, fixed_pair(rule, RuleField.SEED), fixed(context, At.ID_DIGESTS))
    poke(record, 0, fixed_half(rule, RuleField.TYPE))
    poke(record, fixed(context, At.RECORD_WIDTH) - 1, event)
    row = record + 8
    poke(row, SLOT_ID, digest + COMPOSITE_ID_BASE)
    poke(row, SLOT_TIME, peek(fixed(fields, OutputHeader.TIME), event))
    poke(row, SLOT_START, peek(fixed(fields, OutputHeader.START), event))
    for k in range(fixed_half(rule, RuleField.OUTPUTS), fixed_half(rule, RuleField.OUTPUTS_END)):
        value = fixed(context, At.OUTPUTS) + _OUTPUT_BYTES * k
        slot, flag = fixed(value, OutputField.TYPE_SLOT), fixed(value, OutputField.FLAG_SLOT)
        if slot >= 0:
            poke(row, slot, peek(fixed(fields, at), event))
        if fixed(value, OutputField.OPTIONAL):
            at += 1
        if flag >= 0:
            poke(row, flag, peek(fixed(fields, at), event) if fixed(value, OutputField.OPTIONAL) else 1)
        at += 1
