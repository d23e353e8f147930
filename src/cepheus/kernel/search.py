"""The search for matches of a rule, compiled: every combination of choices, depth first, in the order of the stream.

A rule is a row of steps, each of which chooses an event, computes an aggregate or requires that constraints hold. The
search goes forward while steps give something, and back to the choice before where one does not; behind the last step a
match is complete. This walk is the same for all kernels. What a step gives, and what becomes of a match, are parts that
each kernel has of its own (``Steps``).

What a step gives is its worth: yes or no, or a probability. More than nothing leads on. Less than nothing is no worth
but minus the status that the search must stop with, because something has to grow first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from cepheus.kernel.compiled import inlined
from cepheus.kernel.emit import rule_at
from cepheus.kernel.machine import all_hold
from cepheus.kernel.memory import At, fixed, fixed_half, peek, poke, word
from cepheus.kernel.parts import with_parts
from cepheus.kernel.program import RuleField, StepField, StepKind
from cepheus.kernel.state import DONE, STRING_NEEDED, Cursor
from cepheus.kernel.ties import begin_ties

Compile = Callable[[Any], Any]
Search = Callable[[int, int, int], int]

STEP_BYTES = StepField.row_bytes()
_CURSOR_BYTES = Cursor.row_bytes()
NOTHING: Any = 0
"""What a step gives that leads nowhere; a kernel of probabilities has its own."""


class Steps(NamedTuple):
    """What a kernel makes of steps: compiled functions that get the context first, and ``nothing``, of their worths.

    ``choose(context, at, step, cursor, forward, rule_number, events_before)`` binds the first event that a selection
    takes if the search comes forward, otherwise the next one. ``compute(context, at, step)`` works out an aggregate,
    ``require(context, at, step)`` says what the constraints are worth. ``at`` is the number of the step.

    ``keep(context, depth, worth)`` puts the worth of a step together with those of the ``depth`` steps before, and
    tells whether such a match can still count. ``complete(context, rule, rule_number, events_before, depth)`` makes the
    composite event of a match and returns a status.
    """

    choose: Callable[[int, int, int, int, bool, int, int], Any]
    compute: Callable[[int, int, int], Any]
    require: Callable[[int, int, int], Any]
    keep: Callable[[int, int, Any], bool]
    complete: Callable[[int, int, int, int, int], int]
    nothing: float = 0


def search_with(steps: Steps, compiled: Compile) -> Search:
    """The search of a kernel: of a rule by its number, given how many events there were; it returns a status."""
    parts = {**steps._asdict(), "NOTHING": steps.nothing}
    del parts["nothing"]
    made: Search = compiled(with_parts(_search, **parts))
    return made


def search_all_with(search: Search, queue: Callable[[int], int], compiled: Compile) -> Callable[[int, int], int]:
    """The search of a kernel for all accepted rules; ``queue`` then takes what was found back to the rules."""
    made: Callable[[int, int], int] = compiled(with_parts(_search_all, search=search, queue=queue))
    return made


def choose(context: int, at: int, step: int, cursor: int, forward: bool, rule_number: int, events_before: int) -> Any:
    """Stand for what a kernel's selections give."""
    raise NotImplementedError


def compute(context: int, at: int, step: int) -> Any:
    """Stand for what a kernel's aggregates give."""
    raise NotImplementedError


def require(context: int, at: int, step: int) -> Any:
    """Stand for what a kernel's constraints give."""
    raise NotImplementedError


def keep(context: int, depth: int, worth: Any) -> bool:
    """Stand for how a kernel puts worths together."""
    raise NotImplementedError


def complete(context: int, rule: int, rule_number: int, events_before: int, depth: int) -> int:
    """Stand for what a kernel does with a match."""
    raise NotImplementedError


def _search(context: int, rule_number: int, events_before: int) -> int:
    """Find every combination of choices for the current terminator, depth first, in the order of the stream."""
    rule = rule_at(context, rule_number)
    steps, cursors = fixed(context, At.STEPS), fixed(context, At.CURSORS)
    begin, end = fixed_half(rule, RuleField.STEPS), fixed_half(rule, RuleField.ABSENCES)
    at = begin
    forward = True
    while at >= begin:
        depth = at - begin
        if at == end:
            status = complete(context, rule, rule_number, events_before, depth)
            if status != DONE:
                return status
            forward = False
            at -= 1
            continue
        step = steps + STEP_BYTES * at
        kind = fixed(step, StepField.KIND)
        worth = NOTHING
        if kind == StepKind.CHOOSE:
            cursor = cursors + _CURSOR_BYTES * depth
            worth = choose(context, at, step, cursor, forward, rule_number, events_before)
        elif forward and kind == StepKind.COMPUTE:
            worth = compute(context, at, step)
        elif forward:
            worth = require(context, at, step)
        if worth < NOTHING:
            return int(-worth)
        forward = worth > NOTHING
        if forward and not keep(context, depth, worth):  # in vain; another choice may do better, if there is one
            forward = False
            if kind == StepKind.CHOOSE:
                continue
        at += 1 if forward else -1
    return DONE


@inlined
def constraints_hold(context: int, _at: int, step: int) -> bool:
    """Whether the constraints of a step hold: what kernels of certain events require."""
    return all_hold(context, fixed(step, StepField.CONSTRAINTS), fixed(step, StepField.CONSTRAINTS_END))


@inlined
def keep_all(_context: int, _depth: int, _worth: int) -> bool:
    """Keep every match: among certain events none is worth less than another."""
    return True


def search(context: int, rule_number: int, events_before: int) -> int:
    """Stand for a kernel's search."""
    raise NotImplementedError


def queue(context: int) -> int:
    """Stand for how a kernel takes composite events back to the rules."""
    raise NotImplementedError


def _search_all(context: int, rules: int) -> int:
    """Search for matches of the accepted rules; what they find stays provisional until it is committed."""
    events = peek(context, At.OUTPUT_EVENTS)
    poke(context, At.FOUND_EVENTS, events)
    poke(context, At.MARK_COUNT, 0)
    poke(context, At.CHOSEN_COUNT, 0)
    poke(context, At.GATHERED_NEXT, peek(context, At.GATHERED_COUNT))
    begin_ties(context)
    for k in range(rules):
        status = search(context, word(context, At.ACCEPTED_RULES, k), events)
        if status != DONE:
            return status
    if peek(context, At.NEEDED_TABLE) >= 0:
        return STRING_NEEDED
    return queue(context) if peek(context, At.FOUND_EVENTS) > events else DONE
