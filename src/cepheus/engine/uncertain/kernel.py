"""The kernel of uncertain events: CDP as for certain ones, with a probability where those have yes or no.

An event enters a column or terminates a rule if its probability of satisfying what they ask is high enough to matter.
The probability of a match is the product over its steps; a match that falls below the rule's least probability is
given up at once, for nothing that follows can raise it.
"""

from __future__ import annotations

from cepheus.engine.uncertain.accept import accept_uncertain, store_uncertain
from cepheus.engine.uncertain.bands import bands_probability
from cepheus.engine.uncertain.choices import bind_last, bind_listed, bind_next, list_window, open_window
from cepheus.engine.uncertain.joint import joint_probability
from cepheus.engine.uncertain.nearest import bind_nearest, list_nearest
from cepheus.engine.uncertain.outcome import conclude, queue_errors
from cepheus.engine.uncertain.state import Of
from cepheus.engine.uncertain.tables import PivotField, UncertainRuleField, UncertainStepField
from cepheus.engine.uncertain.weighing import aggregate
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.emit import enqueue, rule_at
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
    word,
)
from cepheus.kernel.process import Handling, fetch, process_with, replay_with
from cepheus.kernel.program import RuleField, StepField, StepFlag
from cepheus.kernel.search import Steps, search_all_with, search_with
from cepheus.kernel.state import DONE, Cursor

_UNCERTAIN_RULE_BYTES = UncertainRuleField.row_bytes()
_UNCERTAIN_STEP_BYTES = UncertainStepField.row_bytes()
_PIVOT_BYTES = PivotField.row_bytes()


@inlined
def _choose(
    context: int, at: int, step: int, cursor: int, forward: bool, _rule_number: int, _events_before: int
) -> float:
    """Bind an event that a selection takes; return its probability."""
    memory = fixed(context, At.MEMORY)
    uncertain_step = fixed(memory, Of.STEPS) + _UNCERTAIN_STEP_BYTES * at
    probability: float
    if fixed(uncertain_step, UncertainStepField.UNSURE) and not fixed(memory, Of.CHOICE_AS_PRINTED):
        status = list_nearest(context, memory, step, uncertain_step, cursor) if forward else DONE
        if status != DONE:
            return -float(status)
        probability = bind_nearest(context, memory, step, cursor)
        return probability
    if forward and fixed(uncertain_step, UncertainStepField.SINGLE):
        poke(cursor, Cursor.END, 0)
        poke(cursor, Cursor.ENTRY, 0)
        probability = bind_last(context, step)
        return probability
    if fixed(step, StepField.FLAGS) & StepFlag.LISTED:
        status = list_window(context, at, step, cursor) if forward else DONE
        if status != DONE:
            return -float(status)
        probability = bind_listed(context, step, cursor)
        return probability
    if forward:
        open_window(context, step, cursor)
    probability = bind_next(context, step, cursor)
    return probability


@inlined
def _compute(context: int, at: int, step: int) -> float:
    """Compute an aggregate; return the probability that it is defined, or that there was no room for its members."""
    memory = fixed(context, At.MEMORY)
    return aggregate(context, memory, step, fixed(memory, Of.STEPS) + _UNCERTAIN_STEP_BYTES * at)


@inlined
def _require(context: int, at: int, step: int) -> float:
    """Return the probability that constraints hold."""
    if not all_hold(context, fixed(step, StepField.CONSTRAINTS), fixed(step, StepField.CONSTRAINTS_END)):
        return 0.0
    memory = fixed(context, At.MEMORY)
    uncertain_step = fixed(memory, Of.STEPS) + _UNCERTAIN_STEP_BYTES * at
    bands, bands_end = (
        fixed(uncertain_step, UncertainStepField.BANDS),
        fixed(uncertain_step, UncertainStepField.BANDS_END),
    )
    return bands_probability(context, memory, bands, bands_end)


@inlined
def _keep(context: int, depth: int, probability: float) -> bool:
    """Multiply the probabilities of steps; a product below the rule's least probability is of no use."""
    memory = fixed(context, At.MEMORY)
    products = fixed(memory, Of.PRODUCTS)
    before = peek_float(products, depth)
    product = probability * before
    if peek(memory, Of.IS_PIVOTED):  # they hang together: all that is certain is that no step is less probable
        product = min(probability, before)
        poke_float(fixed(memory, Of.WORTHS), depth, probability)
    poke_float(products, depth + 1, product)
    return product >= peek_float(memory, Of.FLOOR)


@inlined
def _complete(context: int, rule: int, rule_number: int, events_before: int, depth: int) -> int:
    """Make a composite event if the match is probable enough."""
    memory = fixed(context, At.MEMORY)
    probability = peek_float(fixed(memory, Of.PRODUCTS), depth)
    if peek(memory, Of.IS_PIVOTED):
        probability = joint_probability(context, memory, rule, rule_number)
        if probability < 0.0:
            return int(-probability)
    return conclude(context, memory, rule, rule_number, events_before, probability)


_search_steps = search_with(Steps(_choose, _compute, _require, _keep, _complete, 0.0), compiled)


@inlined
def _search(context: int, rule_number: int, events_before: int) -> int:
    """Search for the matches of a rule, beginning with the probability of the terminator."""
    memory = fixed(context, At.MEMORY)
    opening = peek_float(fixed(memory, Of.OPENINGS), rule_number)
    rule = rule_at(context, rule_number)
    pivoted = fixed(fixed(memory, Of.PIVOTS) + _PIVOT_BYTES * rule_number, PivotField.POSITION) >= 0
    poke(memory, Of.IS_PIVOTED, pivoted)
    if fixed_half(rule, RuleField.STEPS) == fixed_half(rule, RuleField.ABSENCES) and not pivoted:
        return conclude(context, memory, rule, rule_number, events_before, opening)
    poke_float(fixed(memory, Of.PRODUCTS), 0, opening)
    uncertain_rule = fixed(memory, Of.RULES) + _UNCERTAIN_RULE_BYTES * rule_number
    poke_float(memory, Of.FLOOR, fixed_float(uncertain_rule, UncertainRuleField.FLOOR))
    if fixed_half(rule, RuleField.STEPS) == fixed_half(rule, RuleField.ABSENCES):
        return _complete(context, rule, rule_number, events_before, 0)
    return _search_steps(context, rule_number, events_before)


@compiled
def _queue(context: int) -> int:
    """Take composite events back to the rules, with the errors of their attributes."""
    queued = peek(context, At.QUEUE_NEXT)
    status = enqueue(context)
    if status == DONE and peek(context, At.QUEUE_NEXT) > queued:
        queue_errors(context, fixed(context, At.MEMORY), queued)
    return status


_search_rules = search_all_with(_search, _queue, compiled)


@inlined
def _search_all(context: int, rules: int) -> int:
    """Search for matches of the accepted rules; what they share is worked out anew for each terminator."""
    memory = fixed(context, At.MEMORY)
    poke(fixed(memory, Of.LAST_SCAN), 0, -1)
    poke(memory, Of.STAMP, peek(memory, Of.STAMP) + 1)
    return _search_rules(context, rules)


@inlined
def _fetch(context: int, rules: int, columns: int) -> None:
    """Ask for what the rules and columns will look at, and for what is known of the rules' uncertainty."""
    memory = fixed(context, At.MEMORY)
    for k in range(rules):
        prefetch(fixed(memory, Of.RULES) + _UNCERTAIN_RULE_BYTES * word(context, At.ACCEPTED_RULES, k))
    fetch(context, rules, columns)


run = loop_over(process_with(Handling(accept_uncertain, _fetch, _search_all, store_uncertain), compiled))
"""Process the queue of composite events and then the input of a context, from where the last call left it."""

replay = replay_with(accept_uncertain, store_uncertain)
"""Put the rows of a snapshot back, with the probabilities that they belong to their columns."""
