"""What selections take and absences amount to when events are uncertain, compiled."""

from __future__ import annotations

from cepheus.engine.uncertain.bands import bands_probability
from cepheus.engine.uncertain.spread import settled
from cepheus.engine.uncertain.state import REMEMBERED, SHARED_PASSED, SHARED_WORDS, Of
from cepheus.engine.uncertain.tables import UncertainStepField
from cepheus.kernel.aggregates import candidate
from cepheus.kernel.choosing import choosing_by
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import entry_row, is_ordered, lane_at
from cepheus.kernel.listing import listing_by
from cepheus.kernel.memory import At, fixed, fixed_float, number, peek, peek_float, poke, poke_float, word
from cepheus.kernel.program import StepField
from cepheus.kernel.state import LaneState
from cepheus.kernel.ties import counting_by, first_at, is_at, note_passed_over
from cepheus.kernel.windows import entries_in, lane_of, scope

_STEP_BYTES = StepField.row_bytes()
_UNCERTAIN_STEP_BYTES = UncertainStepField.row_bytes()


@inlined
def uncertain_step_of(context: int, memory: int, step: int) -> int:
    """The address of what is known of a step's uncertainty."""
    at = (step - fixed(context, At.STEPS)) // _STEP_BYTES
    return fixed(memory, Of.STEPS) + _UNCERTAIN_STEP_BYTES * at


@inlined
def own_probability(context: int, memory: int, step: int, uncertain_step: int, place: int, row_number: int) -> float:
    """Bind the row of an entry to the step's position; give the probability that it occurred and satisfies all."""
    if not candidate(context, step, row_number):
        return 0.0
    own = number(context, At.VALUES, place)
    begin, end = fixed(uncertain_step, UncertainStepField.BANDS), fixed(uncertain_step, UncertainStepField.BANDS_END)
    if begin == end:
        return own
    return settled(own * bands_of_step(context, memory, step, uncertain_step))


@inlined
def bands_of_step(context: int, memory: int, step: int, uncertain_step: int) -> float:
    """The probability of all bands of a step for the row that is bound to it, remembered where rules share it."""
    begin, end = fixed(uncertain_step, UncertainStepField.BANDS), fixed(uncertain_step, UncertainStepField.BANDS_END)
    if fixed(uncertain_step, UncertainStepField.REMEMBERED) == 0:
        return bands_probability(context, memory, begin, end)
    base = word(context, At.BOUND, fixed(step, StepField.POSITION))
    memo = fixed(memory, Of.MEMORY) + 24 * ((base + 7 * begin) & (REMEMBERED - 1))
    stamp = peek(memory, Of.STAMP)
    key = (base << 20) + begin
    if peek(memo, 0) != stamp or peek(memo, 1) != key:
        poke(memo, 0, stamp)
        poke(memo, 1, key)
        poke_float(memo, 2, bands_probability(context, memory, begin, end))
    return peek_float(memo, 2)


@inlined
def possible(context: int, step: int, place: int, row_number: int) -> float:
    """Bind the event of an entry; give the probability that it occurred and satisfies what a step asks."""
    memory = fixed(context, At.MEMORY)
    return own_probability(context, memory, step, uncertain_step_of(context, memory, step), place, row_number)


_pass_over = counting_by(possible, 0.0, compiled).pass_over


@inlined
def pass_over_edges(context: int, step: int, lane: int, start: int, end: int, edge: int) -> None:
    """Count who is passed over at the edges of a scope; ``edge`` is the first entry that is not before its end."""
    if is_ordered(context):
        return  # nobody is simultaneous
    if is_at(context, lane_at(context, lane), edge, end):
        _pass_over(context, step, lane, edge, end)
    if fixed(step, StepField.OTHER_REFERENCE) >= 0 and start <= end:  # between: those who would have to follow
        entry = first_at(context, lane, start - 1)
        if entry >= 0:
            _pass_over(context, step, lane, entry, start - 1)


@inlined
def _fitting(context: int, step: int, place: int, row_number: int) -> float:
    """Bind the event of an entry; give its own probability, nothing if a selection must not take it.

    Where choices are read as printed, that of a single event must exceed the least probability of the rule.
    """
    memory = fixed(context, At.MEMORY)
    uncertain_step = uncertain_step_of(context, memory, step)
    own = own_probability(context, memory, step, uncertain_step, place, row_number)
    least = fixed_float(memory, Of.IGNORE)
    if fixed(uncertain_step, UncertainStepField.EXCEEDS) and fixed(memory, Of.CHOICE_AS_PRINTED):
        least = peek_float(memory, Of.FLOOR)
    return own if own > least or own == 1.0 else 0.0


COUNTING = counting_by(_fitting, 0.0, compiled)
_CHOOSING = choosing_by(_fitting, 0.0, compiled, COUNTING)
open_window, bind_next, bind_last = _CHOOSING.open_window, _CHOOSING.bind_next, _CHOOSING.bind_last
list_window, bind_listed = listing_by(_fitting, 0.0, COUNTING)


@inlined
def shared_place(memory: int, uncertain_step: int) -> int:
    """Where what rules share about a step is kept; 0 if they share nothing."""
    number_shared = fixed(uncertain_step, UncertainStepField.SHARED)
    return 0 if number_shared < 0 else fixed(memory, Of.SHARED) + 8 * SHARED_WORDS * number_shared


@inlined
def absent(context: int, memory: int, at: int) -> float:
    """The probability that no event occurred that must be absent, worked out once for all rules that ask it."""
    uncertain_step = fixed(memory, Of.STEPS) + _UNCERTAIN_STEP_BYTES * at
    shared = shared_place(memory, uncertain_step)
    if shared == 0:
        return _absence(context, memory, at)
    if peek(shared, 0) != peek(memory, Of.STAMP):
        passed = peek(context, At.NEW_PASSED)
        poke_float(shared, 1, _absence(context, memory, at))
        poke(shared, 0, peek(memory, Of.STAMP))
        poke(shared, SHARED_PASSED, peek(context, At.NEW_PASSED) - passed)
    else:
        note_passed_over(context, peek(shared, SHARED_PASSED))
    return peek_float(shared, 1)


@compiled
def _absence(context: int, memory: int, at: int) -> float:
    """The probability that no event occurred that must be absent."""
    step = fixed(context, At.STEPS) + _STEP_BYTES * at
    uncertain_step = fixed(memory, Of.STEPS) + _UNCERTAIN_STEP_BYTES * at
    lane = lane_of(context, step)
    if lane < 0:
        return 1.0
    since, until = scope(context, step)
    row = lane_at(context, lane)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    first, entry = entries_in(context, step, lane)
    pass_over_edges(context, step, lane, since, until, entry)
    printed = fixed(memory, Of.NEGATION_AS_PRINTED) != 0
    total = 1.0
    possible = False
    while entry > first:
        entry -= 1
        place = offset + (entry & mask)
        own = own_probability(context, memory, step, uncertain_step, place, entry_row(context, place))
        if own > 0.0:
            possible = True
            total *= own if printed else 1.0 - own
            if total == 0.0:
                break
    return settled(1.0 - total if printed and possible else total)
