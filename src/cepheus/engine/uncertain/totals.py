"""Aggregates of uncertain values, compiled: their worth as of certain ones, and next to it the error."""

from __future__ import annotations

from cepheus.core.error_column import ErrorKind
from cepheus.engine.uncertain.choices import shared_place
from cepheus.engine.uncertain.members import weigh
from cepheus.engine.uncertain.state import SHARED_DECIDED, SHARED_PASSED, Of
from cepheus.engine.uncertain.tables import MembersCode, StepWorthField
from cepheus.kernel.aggregates import candidate
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import end_before, entry_row, first_not_before, lane_at, row_offset
from cepheus.kernel.memory import At, fixed, peek, peek_float, poke, poke_float, put, word
from cepheus.kernel.program import FunctionCode, StepField
from cepheus.kernel.state import LaneState
from cepheus.kernel.ties import note_decided, note_passed_over
from cepheus.kernel.windows import compute_aggregate, lane_of, scope

_NORMAL = int(ErrorKind.NORMAL)


@inlined
def aggregate(context: int, memory: int, step: int, step_worth: int) -> float:
    """Compute an aggregate and its error, once for all rules that ask it; give the probability that it is defined."""
    if fixed(step_worth, StepWorthField.MEMBERS) >= MembersCode.WEIGHED:
        return weigh(context, memory, step, step_worth)
    ends = fixed(memory, Of.LIST_ENDS)
    poke(ends, fixed(step, StepField.RESULT) + 1, peek(ends, fixed(step, StepField.RESULT)))
    shared = shared_place(memory, step_worth)
    result = fixed(step, StepField.RESULT)
    error = fixed(memory, Of.RESULT_ERRORS) + 24 * result
    if shared != 0 and peek(shared, 0) == peek(memory, Of.STAMP):
        put(context, At.RESULTS, result, peek(shared, 1))
        put(context, At.RESULTS_DEFINED, result, peek(shared, 2))
        for k in range(3):
            poke(error, k, peek(shared, 3 + k))
        note_passed_over(context, peek(shared, SHARED_PASSED))
        if peek(shared, SHARED_DECIDED):
            note_decided(context)
        return 1.0
    passed, decided = peek(context, At.NEW_PASSED), peek(context, At.NEW_DECIDED)
    compute_aggregate(context, step)
    _compute_error(context, memory, step, step_worth)
    if shared != 0:
        poke(shared, 0, peek(memory, Of.STAMP))
        poke(shared, 1, word(context, At.RESULTS, result))
        poke(shared, 2, word(context, At.RESULTS_DEFINED, result))
        for k in range(3):
            poke(shared, 3 + k, peek(error, k))
        poke(shared, SHARED_PASSED, peek(context, At.NEW_PASSED) - passed)
        poke(shared, SHARED_DECIDED, peek(context, At.NEW_DECIDED) - decided)
    return 1.0


@compiled
def _compute_error(context: int, memory: int, step: int, step_worth: int) -> None:
    """Give the error of a sum or average of members whose values have Normal errors, or that of the one taken."""
    result = fixed(memory, Of.RESULT_ERRORS) + 24 * fixed(step, StepField.RESULT)
    poke(result, 0, 0)
    slot = fixed(step_worth, StepWorthField.VALUE_ERROR)
    if slot < 0:
        return
    lane = lane_of(context, step)
    if lane < 0:
        return
    function = fixed(step, StepField.FUNCTION)
    plain = fixed(step_worth, StepWorthField.MEMBERS) == MembersCode.ALL
    begin, end = _members(context, step, lane)
    if function == FunctionCode.FIRST or function == FunctionCode.LAST:
        _copy_error(context, step, plain, lane, begin, end, slot, result)
        return
    scan = fixed(memory, Of.LAST_SCAN)
    _scan(context, step, plain, lane, begin, end, slot, scan)
    if peek(scan, 4) == 0:
        return
    scale = 1.0 / peek(scan, 5) if function == FunctionCode.AVG else 1.0
    poke(result, 0, _NORMAL)
    poke_float(result, 1, scale * peek_float(scan, 6))
    poke_float(result, 2, scale * scale * peek_float(scan, 7))


@inlined
def _members(context: int, step: int, lane: int) -> tuple[int, int]:
    """Give the range of entries that an aggregate is over."""
    if fixed(step, StepField.INCREMENTAL):
        row = lane_at(context, lane)
        return peek(row, LaneState.SUM_FIRST), peek(row, LaneState.SUM_NEXT)
    since, until = scope(context, step)
    return first_not_before(context, lane, since), end_before(context, lane, until)


@inlined
def _error_of(context: int, step: int, plain: bool, place: int, slot: int) -> int:
    """Give where the error of an entry's value is; 0 if the entry is no member."""
    row_number = entry_row(context, place)
    if plain:
        base = row_offset(context, fixed(step, StepField.TYPE), row_number)
    elif candidate(context, step, row_number):
        base = word(context, At.BOUND, fixed(step, StepField.POSITION))
    else:
        return 0
    return fixed(context, At.STORE) + 8 * (base + slot)


@inlined
def _scan(context: int, step: int, plain: bool, lane: int, begin: int, end: int, slot: int, scan: int) -> None:
    """Count members and uncertain ones, and add up means and variances; what the last scan found may do."""
    if plain and peek(scan, 0) == lane and peek(scan, 1) == begin and peek(scan, 2) == end and peek(scan, 3) == slot:
        return
    row = lane_at(context, lane)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    mean, variance, uncertain, members = 0.0, 0.0, 0, 0
    for entry in range(begin, end):
        error = _error_of(context, step, plain, offset + (entry & mask), slot)
        if error != 0:
            members += 1
            if peek(error, 0) != 0:
                uncertain += 1
                mean += peek_float(error, 1)
                variance += peek_float(error, 2)
    poke(scan, 0, lane if plain else -1)
    poke(scan, 1, begin)
    poke(scan, 2, end)
    poke(scan, 3, slot)
    poke(scan, 4, uncertain)
    poke(scan, 5, members)
    poke_float(scan, 6, mean)
    poke_float(scan, 7, variance)


@compiled
def _copy_error(context: int, step: int, plain: bool, lane: int, begin: int, end: int, slot: int, result: int) -> None:
    """Give the error of the first or last member."""
    row = lane_at(context, lane)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    forward = fixed(step, StepField.FUNCTION) == FunctionCode.FIRST
    for k in range(end - begin):
        entry = begin + k if forward else end - 1 - k
        error = _error_of(context, step, plain, offset + (entry & mask), slot)
        if error != 0:
            for part in range(3):
                poke(result, part, peek(error, part))
            return
