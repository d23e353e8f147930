"""Aggregates of uncertain values, compiled: what they come to as of certain ones, and next to it the error.

A member may belong to the aggregate with a probability, or the function asks more of the errors of values than their
sum. Then members are weighed one by one; they are listed in working space, those of the aggregates of one rule one
after the other.
"""

from __future__ import annotations

import math

import numpy as np

from cepheus.core.distribution_column import ErrorKind
from cepheus.engine.uncertain.choices import own_probability, pass_over_edges, possible, shared_place
from cepheus.engine.uncertain.members import HEADER_WORDS, MEMBER_WORDS, WEIGHED, member_at, write_chances
from cepheus.engine.uncertain.spread import settled
from cepheus.engine.uncertain.state import SHARED_DECIDED, SHARED_PASSED, Of
from cepheus.engine.uncertain.tables import ListedField, ListField, MembersCode, UncertainStepField
from cepheus.kernel.aggregates import candidate, empty_aggregate
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import entry_row, lane_at, row_offset
from cepheus.kernel.machine import compute
from cepheus.kernel.memory import (
    At,
    fixed,
    fixed_float,
    number,
    peek,
    peek_float,
    poke,
    poke_float,
    put,
    put_number,
    word,
)
from cepheus.kernel.program import FunctionCode, StepField, ValueKind
from cepheus.kernel.state import OUTPUT_FULL, LaneState
from cepheus.kernel.sums import add_integer, clear, read_float, read_integer, sum_floats
from cepheus.kernel.ties import member_choice_by, note_decided, note_passed_over
from cepheus.kernel.windows import compute_aggregate, entries_in, lane_of, scope

NO_ROOM = -float(OUTPUT_FULL)
"""What comes instead of a probability where the working space is too small: the search stops with that status."""

_NORMAL = int(ErrorKind.NORMAL)
_PARTIALS = 64


@compiled
def weigh(context: int, memory: int, step: int, uncertain_step: int) -> float:
    """Compute an aggregate from its members; give the probability that it is defined, if the rule needs it."""
    result = fixed(step, StepField.RESULT)
    error = fixed(memory, Of.RESULT_ERRORS) + 24 * result
    ends = fixed(memory, Of.LIST_ENDS)
    start = peek(ends, result)
    poke(ends, result + 1, start)
    poke(error, 0, 0)
    lane = lane_of(context, step)
    if lane < 0:
        empty_aggregate(context, step)
        return 1.0
    since, until = scope(context, step)
    begin, end = entries_in(context, step, lane)
    pass_over_edges(context, step, lane, since, until, end)
    needed = start + HEADER_WORDS + (end - begin) * MEMBER_WORDS + (end - begin + 1)
    if needed > fixed(memory, Of.MEMBERS_ROOM):
        poke(memory, Of.MEMBERS_NEEDED, needed)
        return NO_ROOM
    members = fixed(memory, Of.MEMBERS) + 8 * start
    count, unsure = _list_members(context, memory, step, uncertain_step, lane, begin, end, members)
    if count == 0:
        empty_aggregate(context, step)
        return 1.0
    function = fixed(step, StepField.FUNCTION)
    if function == FunctionCode.FIRST or function == FunctionCode.LAST:
        _seek_rival_member(context, step, lane, begin, end)
    if unsure == 0 and (function == FunctionCode.FIRST or function == FunctionCode.LAST):
        if function == FunctionCode.LAST:
            for k in range(MEMBER_WORDS):
                poke(member_at(members, 0), k, peek(member_at(members, count - 1), k))
        count = 1
    blurred = False
    missing = 1.0
    for k in range(count):
        member = member_at(members, k)
        blurred = blurred or peek(member, ListedField.KIND) != 0
        missing *= 1.0 - peek_float(member, ListedField.PROBABILITY)
    _observe(context, step, members, count)
    if unsure == 0 and not blurred:
        return 1.0
    put(context, At.RESULTS_DEFINED, result, 1)  # its value is a law; the mean comes to stand for it
    always = function == FunctionCode.COUNT or function == FunctionCode.SUM
    defined = 1.0 if always else settled(1.0 - missing)
    poke(members, ListField.FUNCTION, function)
    poke(members, ListField.COUNT, count)
    poke(members, ListField.UNSURE, unsure)
    poke_float(members, ListField.DEFINED, defined)
    poke(members, ListField.ARE_WHOLE, fixed(step, StepField.VALUE_KIND) == ValueKind.INT)
    words = HEADER_WORDS + count * MEMBER_WORDS
    if function == FunctionCode.COUNT:
        write_chances(members, count)
        words += count + 1
    poke(ends, result + 1, start + words)
    poke(error, 0, WEIGHED)
    poke(error, 1, start)
    poke(error, 2, HEADER_WORDS + count * MEMBER_WORDS)
    return defined if fixed(uncertain_step, UncertainStepField.MEMBERS) == MembersCode.NEEDED else 1.0


@compiled
def _list_members(
    context: int, memory: int, step: int, uncertain_step: int, lane: int, begin: int, end: int, members: int
) -> tuple[int, int]:
    """List the possible members among the entries of a lane; give how many there are, and how many are not sure."""
    row = lane_at(context, lane)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    ignore, accept = fixed_float(memory, Of.IGNORE), fixed_float(memory, Of.ACCEPT)
    error_slot = fixed(uncertain_step, UncertainStepField.VALUE_ERROR)
    counts = fixed(step, StepField.FUNCTION) == FunctionCode.COUNT
    count, unsure = 0, 0
    for entry in range(begin, end):
        place = offset + (entry & mask)
        probability = own_probability(context, memory, step, uncertain_step, place, entry_row(context, place))
        if probability <= ignore or probability == 0.0:
            continue
        defined, value = _value_of(context, step)
        if not defined:
            continue
        member = member_at(members, count)
        if probability >= accept:
            probability = 1.0
        else:
            unsure += 1
        count += 1
        poke_float(member, ListedField.PROBABILITY, probability)
        poke_float(member, ListedField.VALUE, value)
        poke(member, ListedField.WORD, word(context, At.STACK, 0))
        poke(member, ListedField.KIND, 0)
        if error_slot >= 0 and not counts:
            base = word(context, At.BOUND, fixed(step, StepField.POSITION))
            source = fixed(context, At.STORE) + 8 * (base + error_slot)
            for k in range(3):
                poke(member, ListedField.KIND + k, peek(source, k))
    return count, unsure


@inlined
def _value_of(context: int, step: int) -> tuple[bool, float]:
    """The value of the event under test, as a float, and whether it is defined."""
    kind, slot = fixed(step, StepField.VALUE_KIND), fixed(step, StepField.VALUE_SLOT)
    if kind == ValueKind.NONE:
        return True, 1.0
    if slot >= 0:
        place = word(context, At.BOUND, fixed(step, StepField.POSITION)) + slot
        put(context, At.STACK, 0, word(context, At.STORE, place))
    elif not compute(context, fixed(step, StepField.VALUE_CODE)):
        return False, 0.0
    if kind == ValueKind.INT:
        return True, float(word(context, At.STACK, 0))
    return True, number(context, At.STACK, 0)


@inlined
def _possible_member(context: int, step: int, place: int, row_number: int) -> float:
    """Work out the probability that the event of an entry belongs to an aggregate; nothing if it has no value."""
    probability = possible(context, step, place, row_number)
    return probability if probability > 0.0 and _value_of(context, step)[0] else 0.0


_seek_rival_member = member_choice_by(_possible_member, 0.0, compiled)


@compiled
def _observe(context: int, step: int, members: int, count: int) -> None:
    """Work out the aggregate of the values as they were observed, as if all members were there."""
    result, function = fixed(step, StepField.RESULT), fixed(step, StepField.FUNCTION)
    if function == FunctionCode.COUNT:
        put(context, At.RESULTS, result, count)
        put(context, At.RESULTS_DEFINED, result, 1)
    elif fixed(step, StepField.VALUE_KIND) == ValueKind.INT:
        _observe_integers(context, result, function, members, count)
    else:
        _observe_floats(context, result, function, members, count)


@compiled
def _observe_integers(context: int, result: int, function: int, members: int, count: int) -> None:
    """Work out an aggregate of integers, or of whatever else is a word; an average is a float."""
    limbs = fixed(context, At.SCAN_SUM)
    clear(limbs)
    best = peek(member_at(members, 0), ListedField.WORD)
    for k in range(count):
        value = peek(member_at(members, k), ListedField.WORD)
        add_integer(limbs, value, False)
        if function == FunctionCode.MAX:
            best = max(best, value)
        elif function == FunctionCode.MIN:
            best = min(best, value)
    fits = True
    if function == FunctionCode.SUM:
        best, fits = read_integer(limbs)
    put(context, At.RESULTS_DEFINED, result, fits)
    if function == FunctionCode.AVG:
        put_number(context, At.RESULTS, result, read_float(limbs) / count)
    else:
        put(context, At.RESULTS, result, best)


@compiled
def _observe_floats(context: int, result: int, function: int, members: int, count: int) -> None:
    """Work out an aggregate of floats."""
    answer = peek_float(member_at(members, 0), ListedField.VALUE)
    values = np.empty(count, np.float64)
    for k in range(count):
        values[k] = peek_float(member_at(members, k), ListedField.VALUE)
        if (function == FunctionCode.MAX and values[k] > answer) or (
            function == FunctionCode.MIN and values[k] < answer
        ):
            answer = values[k]
    if function == FunctionCode.SUM or function == FunctionCode.AVG:
        answer = sum_floats(values, count, np.empty(_PARTIALS, np.float64))
        if function == FunctionCode.AVG:
            answer /= count
    put_number(context, At.RESULTS, result, answer)
    put(context, At.RESULTS_DEFINED, result, math.isfinite(answer))


@inlined
def aggregate(context: int, memory: int, step: int, uncertain_step: int) -> float:
    """Compute an aggregate and its error, once for all rules that ask it; give the probability that it is defined."""
    if fixed(uncertain_step, UncertainStepField.MEMBERS) >= MembersCode.WEIGHED:
        return weigh(context, memory, step, uncertain_step)
    ends = fixed(memory, Of.LIST_ENDS)
    poke(ends, fixed(step, StepField.RESULT) + 1, peek(ends, fixed(step, StepField.RESULT)))
    shared = shared_place(memory, uncertain_step)
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
    _compute_error(context, memory, step, uncertain_step)
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
def _compute_error(context: int, memory: int, step: int, uncertain_step: int) -> None:
    """Work out the error of a sum or average of members whose values have Normal errors, or that of the one taken."""
    result = fixed(memory, Of.RESULT_ERRORS) + 24 * fixed(step, StepField.RESULT)
    poke(result, 0, 0)
    slot = fixed(uncertain_step, UncertainStepField.VALUE_ERROR)
    if slot < 0:
        return
    lane = lane_of(context, step)
    if lane < 0:
        return
    function = fixed(step, StepField.FUNCTION)
    plain = fixed(uncertain_step, UncertainStepField.MEMBERS) == MembersCode.ALL
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
    """The range of entries that an aggregate is over."""
    if fixed(step, StepField.INCREMENTAL):
        row = lane_at(context, lane)
        return peek(row, LaneState.SUM_FIRST), peek(row, LaneState.SUM_NEXT)
    begin, end = entries_in(context, step, lane)
    return begin, end


@inlined
def _error_of(context: int, step: int, plain: bool, place: int, slot: int) -> int:
    """Where the error of an entry's value is; 0 if the entry is no member."""
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
    """Copy the error of the first or last member."""
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
