"""The kernel of columns: CDP on certain events. One compiled loop for one event or a million, one rule or thousands.

An event that terminates rules has them search their columns, last column first. What is particular to this kernel are
the shortcuts: a rule whose steps have no choice, a selection that takes the latest event whatever it is like, a
selection that completes a composite event with every event of its window.
"""

from __future__ import annotations

from cepheus.kernel.choosing import choosing_by
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.emit import emit, emit_window, enqueue, rule_at
from cepheus.kernel.listing import listing_by
from cepheus.kernel.loop import loop_over
from cepheus.kernel.memory import At, fixed, fixed_half, fixed_pair, poke, word
from cepheus.kernel.process import Handling, accept, enter, fetch, process_with, steps_of, store_entry
from cepheus.kernel.program import BriefField, RuleField, RuleFlag, StepField, StepFlag
from cepheus.kernel.search import Steps, constraints_hold, keep_all, search_all_with, search_with
from cepheus.kernel.state import DONE, Cursor
from cepheus.kernel.windows import COUNTING, bind_latest, compute_aggregate, fitting, lane_of

_CHOOSING = choosing_by(fitting, False, inlined, COUNTING)
open_window, bind_next, bind_last = _CHOOSING.open_window, _CHOOSING.bind_next, _CHOOSING.bind_last
list_window, bind_listed = listing_by(fitting, False, COUNTING)
_BRIEF_BYTES = BriefField.row_bytes()


@inlined
def _bind_single(context: int, step: int) -> bool:
    """Bind the one event that a single ``last`` takes."""
    if not fixed(step, StepField.FLAGS) & StepFlag.PLAIN:
        found: bool = bind_last(context, step)
        return found
    window, position = fixed(step, StepField.WINDOW), fixed(step, StepField.POSITION)
    kind, reference = fixed(step, StepField.TYPE), fixed(step, StepField.REFERENCE)
    return bind_latest(context, lane_of(context, step), kind, reference, window, position)


@inlined
def _bind_straight(context: int, rule: int) -> bool:
    """Bind the events of steps that take the latest event each, whatever it is like, all of them."""
    begin, end, width = steps_of(context, rule)
    position = 1
    for step in range(begin, end, width):
        if width == _BRIEF_BYTES:
            lane = word(context, At.COLUMN_LANE, fixed_half(step, BriefField.COLUMN))
            kind, window = fixed_half(step, BriefField.TYPE), fixed_pair(step, BriefField.WINDOW)
            reference = position - 1
        else:
            lane, kind, window = lane_of(context, step), fixed(step, StepField.TYPE), fixed(step, StepField.WINDOW)
            reference, position = fixed(step, StepField.REFERENCE), fixed(step, StepField.POSITION)
        if not bind_latest(context, lane, kind, reference, window, position):
            return False
        position += 1
    return True


@inlined
def _choose(context: int, at: int, step: int, cursor: int, forward: bool, rule_number: int, events_before: int) -> int:
    """Bind an event of the step's column; if each of them completes a composite event, make these all at once."""
    flags = fixed(step, StepField.FLAGS)
    if flags & StepFlag.COMPLETES:
        return -emit_window(context, step, rule_number, events_before)
    if forward and flags & StepFlag.SINGLE:
        poke(cursor, Cursor.END, 0)
        poke(cursor, Cursor.ENTRY, 0)
        return int(_bind_single(context, step))
    if flags & StepFlag.LISTED:
        status = list_window(context, at, step, cursor) if forward else DONE
        return int(bind_listed(context, step, cursor)) if status == DONE else -status
    if forward:
        open_window(context, step, cursor)
    return int(bind_next(context, step, cursor))


@inlined
def _compute(context: int, _at: int, step: int) -> bool:
    """Compute an aggregate; what requires it to be defined is a step of its own."""
    compute_aggregate(context, step)
    return True


@inlined
def _complete(context: int, rule: int, rule_number: int, events_before: int, _depth: int) -> int:
    """Make a composite event, unless an event that must be absent is there."""
    return emit(context, rule, rule_number, events_before)


_search_steps = search_with(Steps(_choose, _compute, constraints_hold, keep_all, _complete), inlined)


@inlined
def _search(context: int, rule_number: int, events_before: int) -> int:
    """Search for the matches of a rule, without the walk over its steps where none of them has a choice."""
    rule = rule_at(context, rule_number)
    if fixed_half(rule, RuleField.FLAGS) & RuleFlag.STRAIGHT:
        return emit(context, rule, rule_number, events_before) if _bind_straight(context, rule) else DONE
    return _search_steps(context, rule_number, events_before)


search_all = search_all_with(_search, enqueue, compiled)
"""Search for matches of the accepted rules."""

run = loop_over(process_with(Handling(accept, fetch, search_all, store_entry), inlined), search_all, enter)
"""Process the queue of composite events and then the input of a context, from where the last call left it."""
