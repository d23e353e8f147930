"""The last and the first of uncertain events, compiled: everyone that may be, as likely as none nearer fits.

The candidates of a window are listed from the nearest on, each with its own probability, up to the one from which on so
many surely fit as are wanted. They stand in the working space that all selections of a rule share like a stack, two
words each, and are then taken in the order of the stream.
"""

from __future__ import annotations

import numpy as np

from cepheus.engine.uncertain.choices import COUNTING, own_probability
from cepheus.engine.uncertain.spread import settled
from cepheus.engine.uncertain.state import Of
from cepheus.kernel.aggregates import candidate
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import before, end_preceding, entry_row, entry_time, first_not_before, is_ordered, lane_at
from cepheus.kernel.memory import At, fixed, fixed_float, number, peek, poke, poke_float, put, put_number, word
from cepheus.kernel.program import PolicyCode, StepField
from cepheus.kernel.state import DONE, LISTS_FULL, Cursor, LaneState
from cepheus.kernel.ties import is_at
from cepheus.kernel.windows import lane_of, reference_time

_CURSOR_BYTES = Cursor.row_bytes()
_pass_over, _seek_rival = COUNTING.pass_over, COUNTING.seek_rival


@compiled
def list_nearest(context: int, memory: int, step: int, uncertain_step: int, cursor: int) -> int:
    """List the entries of a window that may be among those a selection takes, from the nearest on; give a status."""
    begin = peek(context, At.CHOSEN_COUNT)
    poke(cursor, Cursor.ENTRY, 0)
    poke(cursor, Cursor.END, begin)
    poke(cursor, Cursor.LEFT, begin)
    lane = lane_of(context, step)
    if lane < 0:
        return DONE
    until = reference_time(context, step)
    row = lane_at(context, lane)
    end = end_preceding(context, lane, word(context, At.BOUND, fixed(step, StepField.REFERENCE)))
    if is_at(context, row, end, until) and not is_ordered(context):
        _pass_over(context, step, lane, end, until)
    first = first_not_before(context, lane, before(until, fixed(step, StepField.WINDOW)))
    offset, mask = peek(row, LaneState.OFFSET), peek(row, LaneState.MASK)
    latest_first = fixed(step, StepField.POLICY) == PolicyCode.LAST
    ignore, wanted = fixed_float(memory, Of.IGNORE), fixed(step, StepField.COUNT)
    count, sure = begin, 0
    for k in range(end - first):
        entry = end - 1 - k if latest_first else first + k
        place = offset + (entry & mask)
        own = own_probability(context, memory, step, uncertain_step, place, entry_row(context, place))
        if own <= ignore and own < 1.0:
            continue
        if count + 2 > fixed(context, At.CHOSEN_SIZE):
            return LISTS_FULL
        put(context, At.CHOSEN, count, entry)
        put_number(context, At.CHOSEN, count + 1, own)
        count += 2
        if own == 1.0:
            sure += 1
            if sure == wanted:
                direction = -1 if latest_first else 1
                if is_at(context, row, entry + direction, entry_time(context, place)):
                    _seek_rival(context, step, lane, entry, direction, first - 1 if latest_first else end)
                break
        elif wanted == 1 and 1.0 - own <= ignore:
            break  # whoever lies behind is taken with a probability that is of no use
    poke(cursor, Cursor.END, count)
    poke(cursor, Cursor.LANE, lane)
    poke(context, At.CHOSEN_COUNT, count)
    return DONE


@compiled
def bind_nearest(context: int, memory: int, step: int, cursor: int) -> float:
    """Bind the next event that was listed; give the probability that it fits and is taken, nothing behind the last."""
    begin = peek(cursor, Cursor.LEFT)
    listed = (peek(cursor, Cursor.END) - begin) // 2
    while peek(cursor, Cursor.ENTRY) < listed:
        turn = peek(cursor, Cursor.ENTRY)
        poke(cursor, Cursor.ENTRY, turn + 1)
        which = listed - 1 - turn if fixed(step, StepField.POLICY) == PolicyCode.LAST else turn
        at = begin + 2 * which
        own = number(context, At.CHOSEN, at + 1)
        few = _few(context, begin, which, fixed(step, StepField.COUNT))
        worth = own * few
        if peek(memory, Of.IS_PIVOTED):
            worth = min(own, _least(context, begin, which) if fixed(step, StepField.COUNT) == 1 else 1.0)
        if settled(worth) == 0.0:
            continue
        depth = (cursor - fixed(context, At.CURSORS)) // _CURSOR_BYTES
        row = lane_at(context, peek(cursor, Cursor.LANE))
        place = peek(row, LaneState.OFFSET) + (word(context, At.CHOSEN, at) & peek(row, LaneState.MASK))
        candidate(context, step, entry_row(context, place))
        poke_float(fixed(memory, Of.ENTRANCE), depth, number(context, At.VALUES, place))
        poke_float(fixed(memory, Of.NEAREST), depth, few)
        return worth
    poke(context, At.CHOSEN_COUNT, begin)
    return 0.0


@inlined
def _least(context: int, begin: int, nearer: int) -> float:
    """The least of the probabilities that one of the nearer events does not fit."""
    least = 1.0
    for k in range(nearer):
        least = min(least, 1.0 - number(context, At.CHOSEN, begin + 2 * k + 1))
    return least


@inlined
def _few(context: int, begin: int, nearer: int, wanted: int) -> float:
    """The probability that fewer of the nearer events fit than are wanted."""
    if nearer < wanted:
        return 1.0
    if wanted == 1:
        none = 1.0
        for k in range(nearer):
            none *= 1.0 - number(context, At.CHOSEN, begin + 2 * k + 1)
        return none
    return _fewer(context, begin, nearer, wanted)


@compiled
def _fewer(context: int, begin: int, nearer: int, wanted: int) -> float:
    chances = np.zeros(wanted, np.float64)
    chances[0] = 1.0
    for k in range(nearer):
        p = number(context, At.CHOSEN, begin + 2 * k + 1)
        for many in range(wanted - 1, 0, -1):
            chances[many] = chances[many] * (1.0 - p) + chances[many - 1] * p
        chances[0] *= 1.0 - p
    return float(chances.sum())
