"""What an entry of a lane is worth by itself when events are uncertain, compiled; who is passed over by that worth."""

from __future__ import annotations

from cepheus.engine.uncertain.forms import settled
from cepheus.engine.uncertain.state import REMEMBERED, Of
from cepheus.engine.uncertain.tables import StepWorthField
from cepheus.engine.uncertain.worth import bands_worth
from cepheus.kernel.aggregates import candidate
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import lane_at
from cepheus.kernel.memory import At, fixed, number, peek, peek_float, poke, poke_float, word
from cepheus.kernel.program import StepField
from cepheus.kernel.ties import counting_by, first_at, is_at

_STEP_BYTES = StepField.row_bytes()
_STEP_WORTH_BYTES = StepWorthField.row_bytes()


@inlined
def worth_of_step(context: int, memory: int, step: int) -> int:
    """Give the address of what is known of a step's uncertainty."""
    at = (step - fixed(context, At.STEPS)) // _STEP_BYTES
    return fixed(memory, Of.STEPS) + _STEP_WORTH_BYTES * at


@inlined
def own_worth(context: int, memory: int, step: int, step_worth: int, place: int, row_number: int) -> float:
    """Bind the row of an entry to the step's position; give the probability that it occurred and satisfies all."""
    if not candidate(context, step, row_number):
        return 0.0
    own = number(context, At.VALUES, place)
    begin, end = fixed(step_worth, StepWorthField.BANDS), fixed(step_worth, StepWorthField.BANDS_END)
    if begin == end:
        return own
    if fixed(step_worth, StepWorthField.REMEMBERED) == 0:
        return settled(own * bands_worth(context, memory, begin, end))
    base = word(context, At.BOUND, fixed(step, StepField.POSITION))
    memo = fixed(memory, Of.MEMORY) + 24 * ((base + 7 * begin) & (REMEMBERED - 1))
    stamp = peek(memory, Of.STAMP)
    key = (base << 20) + begin
    if peek(memo, 0) != stamp or peek(memo, 1) != key:
        poke(memo, 0, stamp)
        poke(memo, 1, key)
        poke_float(memo, 2, bands_worth(context, memory, begin, end))
    return settled(own * peek_float(memo, 2))


@inlined
def possible(context: int, step: int, place: int, row_number: int) -> float:
    """Bind the event of an entry; give the probability that it occurred and satisfies what a step asks."""
    memory = fixed(context, At.MEMORY)
    return own_worth(context, memory, step, worth_of_step(context, memory, step), place, row_number)


_pass_over = counting_by(possible, 0.0, compiled).pass_over


@inlined
def pass_over_edges(context: int, step: int, lane: int, start: int, end: int, edge: int) -> None:
    """Count who is passed over at the edges of a scope; ``edge`` is the first entry that is not before its end."""
    if is_at(context, lane_at(context, lane), edge, end):
        _pass_over(context, step, lane, edge, end)
    if fixed(step, StepField.OTHER_REFERENCE) >= 0 and start <= end:  # between: those who would have to follow
        entry = first_at(context, lane, start - 1)
        if entry >= 0:
            _pass_over(context, step, lane, entry, start - 1)
