"""The kernel of uncertain events: CDP as for certain ones, with a probability where those have yes or no.

An event enters a column or terminates a rule if its probability of satisfying what they ask is high enough to matter.
The probability of a match is the product over its steps; a match that falls below the rule's least probability is
given up at once, for nothing that follows can raise it.
"""

from __future__ import annotations

from cepheus.engine.columns.kernel import FEW, fetch, reserve
from cepheus.engine.uncertain.choices import bind_last, bind_next, open_window
from cepheus.engine.uncertain.concerned import append_worth, concerned
from cepheus.engine.uncertain.members import NO_ROOM
from cepheus.engine.uncertain.outcome import conclude, queue_errors
from cepheus.engine.uncertain.state import Of
from cepheus.engine.uncertain.tables import StepWorthField, WorthField
from cepheus.engine.uncertain.totals import aggregate
from cepheus.engine.uncertain.worth import bands_worth
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.emit import commit_output, enqueue, rule_at
from cepheus.kernel.lanes import append_row
from cepheus.kernel.loop import loop_over
from cepheus.kernel.machine import all_hold
from cepheus.kernel.memory import (
    At,
    fixed,
    fixed_float,
    fixed_half,
    peek,
    peek_float,
    poke,
    poke_float,
    prefetch,
    put,
    word,
)
from cepheus.kernel.program import RuleField, StepField, StepKind
from cepheus.kernel.state import DONE, OUTPUT_FULL, STRING_NEEDED, Cursor
from cepheus.kernel.ties import begin_ties, commit_ties

_STEP_BYTES = StepField.row_bytes()
_CURSOR_BYTES = Cursor.row_bytes()
_RULE_WORTH_BYTES = WorthField.row_bytes()
_STEP_WORTH_BYTES = StepWorthField.row_bytes()


@compiled
def _process(context: int, kind: int, base: int, now: int) -> int:
    """Take the event at ``base``: find who is concerned, reserve room, evaluate, commit."""
    memory = fixed(context, At.MEMORY)
    put(context, At.BOUND, 0, base)
    rules, columns = concerned(context, memory, kind)
    if peek(context, At.NEEDED_TABLE) >= 0:
        return STRING_NEEDED
    if rules + columns == 0:
        return DONE
    if rules + columns > FEW:
        _fetch(context, memory, rules, columns)
    status = reserve(context, base, columns, now)
    if rules > 0 and status == DONE:
        status = _evaluate_all(context, memory, rules)
    if status != DONE:
        return status
    if rules > 0:
        commit_output(context)
        commit_ties(context, kind, base)
    if columns > 0:
        row_number = append_row(context, kind)
        for k in range(columns):
            append_worth(context, memory, k, base, now, row_number)
    return status


@inlined
def _fetch(context: int, memory: int, rules: int, columns: int) -> None:
    """Ask for what the rules and columns will look at, and for what is known of the rules' uncertainty."""
    for k in range(rules):
        prefetch(fixed(memory, Of.RULES) + _RULE_WORTH_BYTES * word(context, At.ACCEPTED_RULES, k))
    fetch(context, rules, columns)


@compiled
def _evaluate_all(context: int, memory: int, rules: int) -> int:
    """Evaluate the accepted rules; what they find stays provisional until it is committed."""
    events = peek(context, At.OUTPUT_EVENTS)
    poke(context, At.FOUND_EVENTS, events)
    poke(context, At.MARK_COUNT, 0)
    begin_ties(context)
    poke(fixed(memory, Of.LAST_SCAN), 0, -1)
    poke(memory, Of.STAMP, peek(memory, Of.STAMP) + 1)
    for k in range(rules):
        rule_number = word(context, At.ACCEPTED_RULES, k)
        opening = peek_float(fixed(memory, Of.OPENINGS), rule_number)
        rule = rule_at(context, rule_number)
        if fixed_half(rule, RuleField.STEPS) == fixed_half(rule, RuleField.ABSENCES):
            status = conclude(context, memory, rule, rule_number, events, opening)
        else:
            poke_float(fixed(memory, Of.PRODUCTS), 0, opening)
            status = _evaluate(context, memory, rule_number, events)
        if status != DONE:
            return status
    if peek(context, At.NEEDED_TABLE) >= 0:
        return STRING_NEEDED
    if peek(context, At.FOUND_EVENTS) == events:
        return DONE
    queued = peek(context, At.QUEUE_NEXT)
    status = enqueue(context)
    if status == DONE and peek(context, At.QUEUE_NEXT) > queued:
        queue_errors(context, memory, queued)
    return status


@compiled
def _evaluate(context: int, memory: int, rule_number: int, events_before: int) -> int:
    """Find every combination of choices for the current terminator, depth first, in order of the stream."""
    rule = rule_at(context, rule_number)
    worth = fixed(memory, Of.RULES) + _RULE_WORTH_BYTES * rule_number
    floor = fixed_float(worth, WorthField.FLOOR)
    poke_float(memory, Of.FLOOR, floor)
    steps, cursors = fixed(context, At.STEPS), fixed(context, At.CURSORS)
    products = fixed(memory, Of.PRODUCTS)
    begin, end = fixed_half(rule, RuleField.STEPS), fixed_half(rule, RuleField.ABSENCES)
    at = begin
    forward = True
    while at >= begin:
        done = at - begin
        if at == end:
            status = conclude(context, memory, rule, rule_number, events_before, peek_float(products, done))
            if status != DONE:
                return status
            forward = False
            at -= 1
            continue
        step = steps + _STEP_BYTES * at
        step_worth = fixed(memory, Of.STEPS) + _STEP_WORTH_BYTES * at
        kind = fixed(step, StepField.KIND)
        probability = 0.0
        if kind == StepKind.CHOOSE:
            cursor = cursors + _CURSOR_BYTES * done
            if forward and fixed(step_worth, StepWorthField.SINGLE):
                poke(cursor, Cursor.END, 0)
                poke(cursor, Cursor.ENTRY, 0)
                probability = bind_last(context, step)
            else:
                if forward:
                    open_window(context, step, cursor)
                probability = bind_next(context, step, cursor)
        elif forward and kind == StepKind.COMPUTE:
            probability = aggregate(context, memory, step, step_worth)
            if probability == NO_ROOM:
                return OUTPUT_FULL
        elif forward and all_hold(context, fixed(step, StepField.CONSTRAINTS), fixed(step, StepField.CONSTRAINTS_END)):
            bands, bands_end = fixed(step_worth, StepWorthField.BANDS), fixed(step_worth, StepWorthField.BANDS_END)
            probability = bands_worth(context, memory, bands, bands_end)
        forward = probability > 0.0
        if forward:
            probability *= peek_float(products, done)
            poke_float(products, done + 1, probability)
            if probability < floor:  # in vain; another choice may do better, if there is one
                forward = False
                if kind == StepKind.CHOOSE:
                    continue
        at += 1 if forward else -1
    return DONE


run = loop_over(_process)
"""Process the queue of composite events and then the input of a context, from where the last call left it."""
