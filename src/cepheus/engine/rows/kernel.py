"""The compiled loop of row patterns: rows as they come, each one step in the situation of its partition.

Rows are known by their places in a store; ``before`` and ``after`` link those of one partition. Per partition there are
its situation, where each open match began, and the candidate. When a match is over, its rows are walked once more to
tell which variable took each, and the search goes on behind it, with the rows that were looked at already if need be.

All arguments are arrays, so that one compilation serves every pattern. What the loop cannot know it asks for: it stops
with a ``Stop`` and goes on where it was when called again.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from cepheus.kernel.compiled import compiled, inlined

Places = NDArray[np.int32]
Numbers = NDArray[np.int64]


class Stop(IntEnum):
    """Why the loop stopped."""

    DONE = 0
    TRANSITION = 1
    ROOM_FOR_MATCHES = 2
    ROOM_FOR_ROWS = 3
    STEPS = 4
    SKIP_TO_START = 5
    SKIP_TO_NOTHING = 6


class Now(IntEnum):
    """Where the loop is: its own notes, and what it found."""

    ARRIVED = 0
    """The next row to arrive."""
    ROW = 1
    """The row to take next in the partition of the last that arrived, -1 if there is none."""
    MATCHES = 2
    ROWS = 3
    SITUATION = 4
    CLASS = 5
    STEPS = 6
    PARTITION = 7


class Skip(IntEnum):
    """Where the search goes on after a match."""

    PAST_LAST_ROW = 0
    TO_NEXT_ROW = 1
    TO_FIRST = 2
    TO_LAST = 3


class Match(IntEnum):
    """The fields of a match found: its partition, its number there, its first row, its rows, the first of them."""

    PARTITION = 0
    NUMBER = 1
    START = 2
    LENGTH = 3
    ROWS = 4


class Part(IntEnum):
    """What is kept of a partition: rows by their places, -1 for none."""

    SITUATION = 0
    LAST = 1
    CANDIDATE_START = 2
    CANDIDATE_END = 3
    """-1: the candidate has no rows."""
    NUMBER = 4
    FIRST_OPEN = 5


WIDTH = 6
NEVER = np.iinfo(np.int64).max

_IDLE = 1
_KEEP, _EMPTY_HERE = -3, -2


@compiled
def arrive(
    now: Numbers,
    arrived: int,
    partition: Places,
    row_class: Places,
    before: Places,
    after: Places,
    parts: Places,
    starts: Places,
    table: Places,
    to: Places,
    candidate: Places,
    stays: NDArray[np.uint8],
    begins: Places,
    came_from: Places,
    over: NDArray[np.uint8],
    next_of: Places,
    next_begins: Places,
    variable: Places,
    masks: Numbers,
    skip: int,
    skip_to: int,
    scratch: Places,
    matches: Numbers,
    match_rows: Places,
    match_states: NDArray[np.int16],
    steps_limit: int,
) -> int:
    """Take rows up to ``arrived``; 0 if all were taken."""
    place = now[Now.ARRIVED]
    row = now[Now.ROW]
    moved = np.empty(starts.shape[1], np.int32)
    steps = now[Now.STEPS]
    while True:
        if row < 0:
            if place >= arrived:
                now[Now.ARRIVED], now[Now.ROW], now[Now.STEPS] = place, -1, steps
                return Stop.DONE
            p = partition[place]
            last = parts[p, Part.LAST]
            before[place] = last
            after[place] = -1
            if last >= 0:
                after[last] = place
            parts[p, Part.LAST] = place
            row = int(place)
            place += 1
        p = partition[row]
        while row >= 0:
            situation = parts[p, Part.SITUATION]
            transition = table[situation, row_class[row]]
            steps += 1
            if transition < 0 or steps > steps_limit:
                now[Now.ARRIVED], now[Now.ROW], now[Now.STEPS] = place, row, steps
                now[Now.SITUATION], now[Now.CLASS] = situation, row_class[row]
                return Stop.TRANSITION if transition < 0 else Stop.STEPS
            outcome = candidate[transition]
            if outcome != _KEEP:
                parts[p, Part.CANDIDATE_END] = row if outcome != _EMPTY_HERE else -1
                parts[p, Part.CANDIDATE_START] = row if outcome < 0 else starts[p, outcome]
            first, end = begins[transition], begins[transition + 1]
            if not stays[transition]:
                for k in range(first, end):
                    source = came_from[k]
                    moved[k - first] = row if source < 0 else starts[p, source]
                for k in range(end - first):
                    starts[p, k] = moved[k]
            situation = to[transition]
            parts[p, Part.SITUATION] = situation
            if not over[situation]:
                row = int(after[row])
                continue
            stop, row = _found(
                now,
                p,
                row,
                before,
                after,
                parts,
                next_of,
                next_begins,
                variable,
                masks,
                skip,
                skip_to,
                scratch,
                matches,
                match_rows,
                match_states,
            )
            if stop != Stop.DONE:
                now[Now.ARRIVED], now[Now.ROW], now[Now.STEPS] = place, row, steps
                now[Now.PARTITION] = p
                return stop


@compiled
def _found(
    now: Numbers,
    p: int,
    row: int,
    before: Places,
    after: Places,
    parts: Places,
    next_of: Places,
    next_begins: Places,
    variable: Places,
    masks: Numbers,
    skip: int,
    skip_to: int,
    scratch: Places,
    matches: Numbers,
    match_rows: Places,
    match_states: NDArray[np.int16],
) -> tuple[int, int]:
    """Write the match that is over, and return the row to go on with (-1: none has arrived yet)."""
    start, end = int(parts[p, Part.CANDIDATE_START]), int(parts[p, Part.CANDIDATE_END])
    count = now[Now.MATCHES]
    filled = now[Now.ROWS]
    if count >= len(matches):
        return Stop.ROOM_FOR_MATCHES, row
    length = 0
    if end >= 0:
        length = _label(
            start, end, before, after, next_of, next_begins, variable, masks, scratch, filled, match_rows, match_states
        )
        if length < 0:
            return Stop.ROOM_FOR_ROWS, row
    matches[count, Match.PARTITION] = p
    matches[count, Match.NUMBER] = parts[p, Part.NUMBER] + 1
    matches[count, Match.START] = start
    matches[count, Match.LENGTH] = length
    matches[count, Match.ROWS] = filled
    resume = after[start]
    if length > 0 and skip != Skip.TO_NEXT_ROW:
        resume = after[end]
        if skip != Skip.PAST_LAST_ROW:
            target = -1
            for k in range(length):
                if skip_to >> variable[match_states[filled + k]] & 1:
                    target = k
                    if skip == Skip.TO_FIRST:
                        break
            if target <= 0:
                return (Stop.SKIP_TO_START if target == 0 else Stop.SKIP_TO_NOTHING), row
            resume = match_rows[filled + target]
    now[Now.MATCHES] = count + 1
    now[Now.ROWS] = filled + length
    parts[p, Part.NUMBER] += 1
    parts[p, Part.SITUATION] = _IDLE
    parts[p, Part.CANDIDATE_START] = -1
    return Stop.DONE, int(resume)


@compiled
def _label(
    start: int,
    end: int,
    before: Places,
    after: Places,
    next_of: Places,
    next_begins: Places,
    variable: Places,
    masks: Numbers,
    scratch: Places,
    filled: int,
    match_rows: Places,
    match_states: NDArray[np.int16],
) -> int:
    """Write the rows of a match and the state that took each; the number of rows, or -1 where there is no room.

    ``scratch`` has three lists: what was open at each row as pairs of a state and the place of where it came from, and
    by state the last row at which it was met.
    """
    states = len(variable)
    room = (len(scratch) - states) // 2
    met, opened, came_from = 0, states, states + room
    for k in range(states):
        scratch[met + k] = -1
    filled_scratch = 1
    scratch[opened] = 0 if before[start] < 0 else 1
    level, level_end = 0, 1
    row = start
    length = 0
    while True:
        for at in range(level, level_end):
            state = scratch[opened + at]
            for k in range(next_begins[state], next_begins[state + 1]):
                goal = next_of[k]
                if goal >= 0 and scratch[met + goal] != row and masks[row] >> variable[goal] & 1:
                    if filled_scratch >= room:
                        return -1
                    scratch[met + goal] = row
                    scratch[opened + filled_scratch] = goal
                    scratch[came_from + filled_scratch] = at
                    filled_scratch += 1
        level, level_end = level_end, filled_scratch
        length += 1
        if row == end:
            break
        row = int(after[row])
    if filled + length > len(match_rows):
        return -1
    at = level
    while not _accepts(scratch[opened + at], next_of, next_begins):
        at += 1
    k = filled + length
    row = end
    for _ in range(length):
        k -= 1
        match_rows[k] = row
        match_states[k] = scratch[opened + at]
        at = scratch[came_from + at]
        row = int(before[row])
    return length


@inlined
def _accepts(state: int, next_of: Places, next_begins: Places) -> bool:
    """Whether a match may end in a state, at the end of the partition at least."""
    for k in range(next_begins[state], next_begins[state + 1]):
        if next_of[k] < 0:
            return True
    return False
