"""Aggregates whose members are weighed one by one, compiled: who they are, and what they come to.

A member may belong to the aggregate with a probability, or the function asks more of the errors of values than their
sum. Members are listed in working space, those of the aggregates of one rule one after the other.
"""

from __future__ import annotations

import math

import numpy as np

from cepheus.core.error_column import ErrorKind
from cepheus.engine.uncertain.entries import own_worth, pass_over_edges, possible
from cepheus.engine.uncertain.forms import settled
from cepheus.engine.uncertain.state import Of
from cepheus.engine.uncertain.tables import ListedField, ListField, MembersCode, StepWorthField
from cepheus.engine.uncertain.weighed import (
    HEADER_WORDS,
    MEMBER_WORDS,
    WEIGHED,
    member_at,
    write_chances,
)
from cepheus.kernel.aggregates import empty_aggregate
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import end_before, entry_row, first_not_before, lane_at
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
from cepheus.kernel.state import LaneState
from cepheus.kernel.sums import add_integer, clear, read_float, read_integer, sum_floats
from cepheus.kernel.ties import member_choice_by
from cepheus.kernel.windows import lane_of, scope

NO_ROOM = -1.0
"""What comes instead of a probability where the working space is too small."""

_NORMAL = int(ErrorKind.NORMAL)
_PARTIALS = 64


@compiled
def weigh(context: int, memory: int, step: int, step_worth: int) -> float:
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
    begin, end = first_not_before(context, lane, since), end_before(context, lane, until)
    pass_over_edges(context, step, lane, since, until, end)
    needed = start + HEADER_WORDS + (end - begin) * MEMBER_WORDS + (end - begin + 1)
    if needed > fixed(memory, Of.MEMBERS_ROOM):
        poke(memory, Of.MEMBERS_NEEDED, needed)
        return NO_ROOM
    members = fixed(memory, Of.MEMBERS) + 8 * start
    count, unsure = _list_members(context, memory, step, step_worth, lane, begin, end, members)
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
    put(context, At.RESULTS_DEFINED, result, 1)  # what it is worth is a law; its mean comes to stand for it
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
    return defined if fixed(step_worth, StepWorthField.MEMBERS) == MembersCode.NEEDED else 1.0


@compiled
def _list_members(
    context: int, memory: int, step: int, step_worth: int, lane: int, begin: int, end: int, members: int
) -> tuple[int, int]:
    """List the possible members among the entries of a lane; give how many there are, and how many are not sure."""
    row = lane_at(context, lane)
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    ignore, accept = fixed_float(memory, Of.IGNORE), fixed_float(memory, Of.ACCEPT)
    error_slot = fixed(step_worth, StepWorthField.VALUE_ERROR)
    counts = fixed(step, StepField.FUNCTION) == FunctionCode.COUNT
    count, unsure = 0, 0
    for entry in range(begin, end):
        place = offset + (entry & mask)
        probability = own_worth(context, memory, step, step_worth, place, entry_row(context, place))
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
    """Give the value of the event under test, as a float, and whether it is defined."""
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
    """Give the probability that the event of an entry belongs to an aggregate; nothing if it has no value."""
    probability = possible(context, step, place, row_number)
    return probability if probability > 0.0 and _value_of(context, step)[0] else 0.0


_seek_rival_member = member_choice_by(_possible_member, 0.0, compiled)


@compiled
def _observe(context: int, step: int, members: int, count: int) -> None:
    """Give the aggregate of the values as they were observed, as if all members were there."""
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
    """Give an aggregate of integers, or of whatever else is a word; an average is a float."""
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
    """Give an aggregate of floats."""
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
