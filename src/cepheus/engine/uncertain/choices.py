"""What selections take and absences are worth when events are uncertain, compiled."""

from __future__ import annotations

from cepheus.engine.uncertain.entries import own_worth, pass_over_edges, worth_of_step
from cepheus.engine.uncertain.forms import settled
from cepheus.engine.uncertain.state import SHARED_PASSED, SHARED_WORDS, Of
from cepheus.engine.uncertain.tables import StepWorthField
from cepheus.kernel.choosing import choosing_by
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import end_before, entry_row, entry_time, lane_at
from cepheus.kernel.memory import At, fixed, peek, peek_float, poke, poke_float
from cepheus.kernel.program import StepField
from cepheus.kernel.state import LaneState
from cepheus.kernel.ties import counting_by, note_passed_over
from cepheus.kernel.windows import lane_of, scope

_STEP_BYTES = StepField.row_bytes()
_STEP_WORTH_BYTES = StepWorthField.row_bytes()


@inlined
def _fitting(context: int, step: int, place: int, row_number: int) -> float:
    """Bind the event of an entry; give its own probability, nothing if a selection must not take it.

    That of a single event must exceed the least probability of the rule, or be all there can be.
    """
    memory = fixed(context, At.MEMORY)
    step_worth = worth_of_step(context, memory, step)
    own = own_worth(context, memory, step, step_worth, place, row_number)
    if fixed(step_worth, StepWorthField.EXCEEDS) == 0 or own > peek_float(memory, Of.FLOOR) or own == 1.0:
        return own
    return 0.0


_CHOOSING = choosing_by(_fitting, 0.0, compiled, counting_by(_fitting, 0.0, compiled))
open_window, bind_next, bind_last = _CHOOSING.open_window, _CHOOSING.bind_next, _CHOOSING.bind_last


@inlined
def shared_place(memory: int, step_worth: int) -> int:
    """Give where what rules share about a step is kept; 0 if they share nothing."""
    number_shared = fixed(step_worth, StepWorthField.SHARED)
    return 0 if number_shared < 0 else fixed(memory, Of.SHARED) + 8 * SHARED_WORDS * number_shared


@inlined
def absent(context: int, memory: int, at: int) -> float:
    """Give the probability that no event occurred that must be absent, worked out once for all rules that ask it."""
    step_worth = fixed(memory, Of.STEPS) + _STEP_WORTH_BYTES * at
    shared = shared_place(memory, step_worth)
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
    """Give the probability that no event occurred that must be absent."""
    step = fixed(context, At.STEPS) + _STEP_BYTES * at
    step_worth = fixed(memory, Of.STEPS) + _STEP_WORTH_BYTES * at
    lane = lane_of(context, step)
    if lane < 0:
        return 1.0
    since, until = scope(context, step)
    row = lane_at(context, lane)
    offset, mask, first = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK), peek(row, LaneState.FIRST)
    entry = end_before(context, lane, until)
    pass_over_edges(context, step, lane, since, until, entry)
    printed = fixed(memory, Of.NEGATION_AS_PRINTED) != 0
    total = 1.0
    possible = False
    while entry > first and entry_time(context, offset + ((entry - 1) & mask)) >= since:
        entry -= 1
        place = offset + (entry & mask)
        own = own_worth(context, memory, step, step_worth, place, entry_row(context, place))
        if own > 0.0:
            possible = True
            total *= own if printed else 1.0 - own
            if total == 0.0:
                break
    return settled(1.0 - total if printed and possible else total)
