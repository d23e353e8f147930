"""The kernel: events in, complex events out. One compiled loop for one event or a million, one rule or thousands.

An event runs the plans of its type, each a list of steps from atoms to the head of a rule. A plan changes nothing
until all its steps are done and there is room for all that it is to change; when room is missing, the kernel comes
back with a status, the caller makes some, and the same plan is run again.
"""

from __future__ import annotations

from cepheus.engine.goals.instant_events import find_instance, identify, note_instance, record_at, type_at
from cepheus.engine.goals.matches import copy_words, node_at
from cepheus.engine.goals.plans import run_plan
from cepheus.engine.goals.store import NOWHERE
from cepheus.engine.goals.waiting_goals import awaited_at
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.memory import fixed, peek, peek_half, poke, table
from cepheus.plan.interval.layout import (
    ANSWER_NEEDED,
    DONE,
    FORGOTTEN,
    FRAME_WORDS,
    INSTANT_FULL,
    OUTPUT_FULL,
    OUTPUT_HEADER,
    RECORD_HEADER,
    TOO_MANY_EVENTS,
    WORK_FULL,
    At,
    Awaited,
    Frame,
    Need,
    OutputRecord,
    Record,
)
from cepheus.plan.interval.program import LateField, NodeField, PlanField, RuleField, TypeField

_PLAN_BYTES = PlanField.row_bytes()
_RULE_BYTES = RuleField.row_bytes()
_LATE_BYTES = LateField.row_bytes()


@inlined
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
    layout = type_at(context, stratum, peek(record_at(context, place), Record.TYPE))
    poke(context, At.INSTANT_USED, place + fixed(context, At.RECORD_WIDTH))
    plan, plan_end = fixed(layout, TypeField.PLANS), fixed(layout, TypeField.PLANS_END)
    if plan < plan_end:
        _begin_work(context, place, place + 1, plan, plan_end)


@inlined
def _missed(context: int, record: int) -> bool:
    """Whether goals are gone that an event may need: it lasts, and events of its type had been taken for instants."""
    start = peek(record, Record.START)
    if start == peek(record, Record.END):
        return False
    awaited = awaited_at(context, peek(record, Record.TYPE))
    poke(awaited, Awaited.LASTED, 1)
    return start <= peek(awaited, Awaited.LET_GO)


@inlined
def _no_room(context: int, output: int) -> int:
    """Name what is missing to take one more event, with so many words of output."""
    used, width = peek(context, At.INSTANT_USED), fixed(context, At.RECORD_WIDTH)
    if used + width > fixed(context, At.INSTANT_SIZE) or 2 * (used // width) >= fixed(context, At.INSTANCES_SIZE):
        return INSTANT_FULL
    if peek(context, At.WORK_USED) + FRAME_WORDS > fixed(context, At.WORK_SIZE):
        return WORK_FULL
    if peek(context, At.OUTPUT_WORDS) + output > fixed(context, At.OUTPUT_SIZE):
        return OUTPUT_FULL
    return DONE


@inlined
def _rule_at(context: int, rule: int) -> int:
    """The address of a rule's row."""
    return fixed(context, At.RULES) + _RULE_BYTES * rule


@inlined
def _begin_count(context: int) -> None:
    poke(context, At.MADE, 0)
    poke(context, At.MADE_ENDLESSLY, 0)


@inlined
def _count(context: int, rule: int) -> int:
    """Count one more complex event that an event has made; tell if there are too many."""
    poke(context, At.MADE, peek(context, At.MADE) + 1)
    too_many = peek(context, At.MADE) > fixed(context, At.LIMIT)
    limit = fixed(_rule_at(context, rule), RuleField.LIMIT)
    if limit > 0:
        poke(context, At.MADE_ENDLESSLY, peek(context, At.MADE_ENDLESSLY) + 1)
        too_many = too_many or peek(context, At.MADE_ENDLESSLY) > limit
    if not too_many:
        return DONE
    poke(context, At.CULPRIT, rule)
    return TOO_MANY_EVENTS


@compiled
def _give_out(context: int, frame: int, stratum: int) -> int:
    """Take the next complex event of a frame: if it was not there yet, write it out and bring it to all rules."""
    entry = fixed(context, At.WORK) + 8 * peek(frame, Frame.HEAD)
    node = node_at(context, peek(entry, 0))
    rule = fixed(node, NodeField.RULE)
    width = fixed(node, NodeField.WIDTH)
    words = width + fixed(node, NodeField.PARTS)
    status = _no_room(context, OUTPUT_HEADER + words)
    if status != DONE:
        return status
    record = entry + 8
    at = find_instance(context, record)
    if at < 0:
        poke(frame, Frame.HEAD, peek(frame, Frame.HEAD) + 1 + words)
        return DONE
    seed = fixed(_rule_at(context, rule), RuleField.SEED)
    arity, tag_words = fixed(node, NodeField.VARIABLES), fixed(node, NodeField.TAG_WORDS)
    poke(record, Record.ID, identify(context, record, seed, arity, tag_words))
    if peek(context, At.NEED) != Need.NOTHING:
        poke(context, At.NEED, Need.NOTHING)
        return ANSWER_NEEDED
    poke(frame, Frame.HEAD, peek(frame, Frame.HEAD) + 1 + words)
    used = peek(context, At.OUTPUT_WORDS)
    output = fixed(context, At.OUTPUT) + 8 * used
    poke(output, OutputRecord.RULE, rule)
    copy_words(record, output + 8 * OUTPUT_HEADER, words)
    poke(context, At.OUTPUT_WORDS, used + OUTPUT_HEADER + words)
    if _missed(context, record):
        poke(context, At.CULPRIT, peek(record, Record.TYPE))
        return FORGOTTEN
    place = peek(context, At.INSTANT_USED)
    copy_words(record, record_at(context, place), width)
    note_instance(context, at, place)
    _begin_event(context, place, stratum)
    return _count(context, rule)


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
            status = run_plan(context, plan, peek(frame, Frame.FIRST), peek(frame, Frame.END))
            if status == DONE:
                poke(frame, Frame.PLAN, peek(frame, Frame.PLAN) + 1)
        else:
            status = DONE
            poke(context, At.WORK_TOP, peek(frame, Frame.PREVIOUS))
            poke(context, At.WORK_USED, top)
        if status != DONE:
            return status
    return DONE


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
        row = fixed(context, At.PLANS) + _PLAN_BYTES * plan
        together = fixed(row, PlanField.TOGETHER)
        if fixed(row, PlanField.SINCE) == peek(context, At.NOW):
            place = max(place, fixed(row, PlanField.MISSED) * fixed(context, At.RECORD_WIDTH))
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
            _begin_count(context)
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
    record = record_at(context, peek(context, At.INSTANT_USED))
    layout = type_at(context, 0, kind)
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
            record = _load(context, kind, at)
            new = find_instance(context, record)
            if new >= 0:
                if _missed(context, record):
                    poke(context, At.CULPRIT, kind)
                    return FORGOTTEN
                place = peek(context, At.INSTANT_USED)
                note_instance(context, new, place)
                _begin_event(context, place, 0)
                _begin_count(context)
        poke(context, At.INPUT_NEXT, at + 1)
        status = _work(context, 0)
    return status


@compiled
def split(words: int, strides: int, size: int, places: int, rules: int) -> int:
    """Find the records of an output: where each begins, and its rule; return how many there are."""
    at, count = 0, 0
    while at < size:
        rule = peek(words, at + OutputRecord.RULE)
        poke(places, count, at)
        poke(rules, count, rule)
        count += 1
        at += peek(strides, rule)
    return count
