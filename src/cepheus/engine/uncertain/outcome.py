"""How probable a match is in the end, and the composite event it makes, compiled."""

from __future__ import annotations

from cepheus.core.distribution_column import ErrorKind
from cepheus.engine.uncertain.bands import error_at
from cepheus.engine.uncertain.choices import absent
from cepheus.engine.uncertain.members import WEIGHED
from cepheus.engine.uncertain.spread import settled
from cepheus.engine.uncertain.state import Of
from cepheus.engine.uncertain.tables import ErrorField, TermField, UncertainRuleField
from cepheus.kernel.compiled import compiled
from cepheus.kernel.emit import emit, rule_at
from cepheus.kernel.memory import At, fixed, fixed_float, fixed_half, peek, peek_float, poke, poke_float
from cepheus.kernel.program import RuleField, RuleFlag
from cepheus.kernel.state import DONE, OUTPUT_FULL, OutputHeader

_UNCERTAIN_RULE_BYTES = UncertainRuleField.row_bytes()
_ERROR_BYTES = ErrorField.row_bytes()
_TERM_BYTES = TermField.row_bytes()
_NORMAL, _UNIFORM = int(ErrorKind.NORMAL), int(ErrorKind.UNIFORM)


@compiled
def conclude(context: int, memory: int, rule: int, rule_number: int, events_before: int, probability: float) -> int:
    """Weigh the absences and the rule itself, and write a composite event if enough is left."""
    uncertain_rule = fixed(memory, Of.RULES) + _UNCERTAIN_RULE_BYTES * rule_number
    probability *= fixed_float(uncertain_rule, UncertainRuleField.FACTOR)
    floor = fixed_float(uncertain_rule, UncertainRuleField.FLOOR)
    absences = fixed(uncertain_rule, UncertainRuleField.ABSENCES)
    absences_end = fixed(uncertain_rule, UncertainRuleField.ABSENCES_END)
    if peek(memory, Of.IS_PIVOTED) and not fixed(memory, Of.NEGATION_AS_PRINTED):
        absences_end = absences  # they are worked out together with the rest
    for at in range(absences, absences_end):
        if probability == 0.0 or probability < floor:
            return DONE
        probability *= absent(context, memory, at)
    probability = settled(probability)
    negligible = probability <= fixed_float(memory, Of.IGNORE) and probability < 1.0
    if probability == 0.0 or negligible or probability < floor:
        return DONE
    event = peek(context, At.FOUND_EVENTS)
    status = emit(context, rule, rule_number, events_before)
    if status == DONE and peek(context, At.FOUND_EVENTS) > event:
        fields = fixed(context, At.OUTPUT) + 8 * fixed(memory, Of.FIRST_EXTRA)
        poke_float(fixed(fields, 0), event, probability)
        if fixed_half(rule, RuleField.OUTPUTS) < fixed_half(rule, RuleField.OUTPUTS_END):
            status = _write_errors(context, memory, rule, uncertain_rule, event, fields + 8)
    return status


@compiled
def _write_errors(context: int, memory: int, rule: int, uncertain_rule: int, event: int, fields: int) -> int:
    """Write the errors of a composite event's attributes: kind and two parameters each.

    Of an aggregate with a list of members, these are where a copy of the list begins and how long it is.
    """
    outputs = fixed_half(rule, RuleField.OUTPUTS_END) - fixed_half(rule, RuleField.OUTPUTS)
    for k in range(outputs):
        error = fixed(memory, Of.ERRORS) + _ERROR_BYTES * (fixed(uncertain_rule, UncertainRuleField.ERRORS) + k)
        begin, end = fixed(error, ErrorField.TERMS), fixed(error, ErrorField.TERMS_END)
        kind, first, second = 0, 0.0, 0.0
        for at in range(begin, end):
            term = fixed(memory, Of.TERMS) + _TERM_BYTES * at
            source = error_at(context, memory, term)
            own = peek(source, 0)
            if own == 0:
                continue
            if own == WEIGHED:
                if not _give_list(memory, source, event, fields + 24 * k):
                    return OUTPUT_FULL
                kind = own
                break
            coefficient = fixed_float(term, TermField.COEFFICIENT)
            one, two = peek_float(source, 1), peek_float(source, 2)
            if own == _NORMAL:
                first += coefficient * one
                second += coefficient * coefficient * two
            elif own == _UNIFORM and coefficient < 0.0:
                first, second = coefficient * two, coefficient * one
            elif own == _UNIFORM:
                first, second = coefficient * one, coefficient * two
            else:
                first, second = one, two
            kind = own
        poke(fixed(fields, 3 * k), event, kind)
        if kind != WEIGHED:
            poke_float(fixed(fields, 3 * k + 1), event, first)
            poke_float(fixed(fields, 3 * k + 2), event, second)
    return DONE


@compiled
def _give_list(memory: int, error: int, event: int, fields: int) -> bool:
    """Copy a list of members to where it outlives the event, and write where that is; False if there is no room."""
    begin, length = peek(memory, Of.LAWS_USED), peek(error, 2)
    if begin + length > fixed(memory, Of.LAWS_ROOM):
        poke(memory, Of.LAWS_NEEDED, begin + length)
        return False
    source, target = fixed(memory, Of.MEMBERS) + 8 * peek(error, 1), fixed(memory, Of.LAWS) + 8 * begin
    for k in range(length):
        poke(target, k, peek(source, k))
    poke(memory, Of.LAWS_USED, begin + length)
    poke(fixed(fields, 1), event, begin)
    poke(fixed(fields, 2), event, length)
    return True


@compiled
def queue_errors(context: int, memory: int, queued: int) -> None:
    """Give the composite events that were queued just now the errors of their attributes."""
    record = fixed(context, At.QUEUE) + 8 * queued
    rules = fixed(fixed(context, At.OUTPUT), OutputHeader.RULE)
    fields = fixed(context, At.OUTPUT) + 8 * (fixed(memory, Of.FIRST_EXTRA) + 1)
    for event in range(peek(context, At.OUTPUT_EVENTS), peek(context, At.FOUND_EVENTS)):
        rule_number = peek(rules, event)
        rule = rule_at(context, rule_number)
        if not fixed_half(rule, RuleField.FLAGS) & RuleFlag.FEEDS:
            continue
        uncertain_rule = fixed(memory, Of.RULES) + _UNCERTAIN_RULE_BYTES * rule_number
        for k in range(fixed_half(rule, RuleField.OUTPUTS_END) - fixed_half(rule, RuleField.OUTPUTS)):
            error = fixed(memory, Of.ERRORS) + _ERROR_BYTES * (fixed(uncertain_rule, UncertainRuleField.ERRORS) + k)
            slot = fixed(error, ErrorField.TYPE_SLOT)
            if slot >= 0:
                for part in range(3):
                    poke(record, 1 + slot + part, peek(fixed(fields, 3 * k + part), event))
        record += 8 * fixed(context, At.RECORD_WIDTH)
