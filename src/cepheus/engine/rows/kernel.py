"""The compiled loop of row patterns: rows as they come, each one step in the situation of its partition.

Rows are known by their places in a store; ``before`` and ``after`` link those of one partition. Per partition there are
its situation, where each open match began, and the candidate. When a match is over, its rows are walked once more to
tell which variable took each, and the search goes on behind it, with the rows that were looked at already if need be.

All arguments are arrays, so that one compilation serves every pattern. What the loop cannot know it asks for: it stops
with a ``Stop`` and goes on where it was when called again.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cepheus.kernel.compiled import compiled

Places = NDArray[np.int32]
Numbers = NDArray[np.int64]
Flags = NDArray[np.uint8]


class Stop(IntEnum):
    """Why the loop stopped: it is done, or lacks something, or cannot go on."""

    DONE = 0
    TRANSITION = 1
    ROOM_FOR_MATCHES = 2
    ROOM_FOR_ROWS = 3
    STEPS = 4
    SKIP_TO_START = 5
    SKIP_TO_NOTHING = 6
    ROOM_FOR_THREADS = 7
    ASK = 8
    OPEN = 9


class Now(IntEnum):
    """Where the loop is: its own notes, and what it found."""

    ARRIVED = 0
    """How many of the rows at hand have arrived, or of the partitions have ended."""
    ROW = 1
    """The row to take next in the partition at hand, -1 if there is none."""
    MATCHES = 2
    ROWS = 3
    SITUATION = 4
    CLASS = 5
    STEPS = 6
    ANSWERED = 7
    """Of how many threads it is known what they were asked."""


class Ending(IntEnum):
    """What rows are taken, or which partitions end."""

    NONE = 0
    ALL = 1
    BY_TIME = 2


class Skip(IntEnum):
    """Where the search goes on after a match."""

    PAST_LAST_ROW = 0
    TO_NEXT_ROW = 1
    TO_FIRST = 2
    TO_LAST = 3


class FoundMatch(IntEnum):
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
    ATTEMPT = 5
    """Where the search began, if it looks from one row at a time."""
    UNDECIDED = 6
    """The first row of which it is not known whether some match has it."""
    THREADS = 7
    """The first of the open matches, where they are threads; then also the candidate and whether there is one."""
    CANDIDATE = 8
    WAITS = 9


PART_WIDTH = len(Part)
MATCH_WIDTH = len(FoundMatch)
NOW_WIDTH = len(Now)

_IDLE = 1
_KEEP, _EMPTY_HERE = -3, -2


class Program(NamedTuple):
    """A pattern as tables: its situations so far, and the variables of its states."""

    table: NDArray[np.int32]
    to: Places
    candidate: Places
    stays: Flags
    begins: Places
    came_from: Places
    over: Flags
    waits: Flags
    ends: Places
    states: Places
    candidate_state: Places
    variable: Places
    skip: int
    skip_to: int
    within: int
    one_start: int


class Rows(NamedTuple):
    """The rows in the store; a class of -1 is that of a row that may not be taken yet."""

    partition: Places
    row_class: Places
    before: Places
    after: Places
    taken: Places
    """The transition by which a row was taken last."""
    time: Numbers


class State(NamedTuple):
    """What is kept between rows: notes of the loop, partitions, and where open matches began."""

    now: Numbers
    parts: Numbers
    starts: Places
    moved: Places


class Found(NamedTuple):
    """Where matches are written."""

    matches: Numbers
    rows: Places
    states: Places


@compiled
def link(rows: Rows, parts: Numbers, begin: int, end: int) -> None:
    """Append rows of the store to their partitions."""
    for row in range(begin, end):
        p = rows.partition[row]
        last = parts[p, Part.LAST]
        rows.before[row] = last
        rows.after[row] = -1
        if last >= 0:
            rows.after[last] = row
        parts[p, Part.LAST] = row
        if parts[p, Part.UNDECIDED] < 0:
            parts[p, Part.UNDECIDED] = row


@compiled
def run(
    program: Program, rows: Rows, state: State, found: Found, todo: Places, ending: int, until: int, steps_limit: int
) -> int:
    """Take rows in the order of their arrival, or end partitions (``Ending``); 0 if that is done.

    At the end of a partition what waits for rows that will not come is decided; at a time, ``until``, what WITHIN
    bounds so that no row of that time or later can belong to it.
    """
    now, parts, starts, moved = state.now, state.parts, state.starts, state.moved
    partition, row_class, after, time = rows.partition, rows.row_class, rows.after, rows.time
    table, to, candidate, stays = program.table, program.to, program.candidate, program.stays
    begins, came_from, over, waits = program.begins, program.came_from, program.over, program.waits
    states, candidate_state, variable = program.states, program.candidate_state, program.variable
    skip, skip_to, ends = program.skip, program.skip_to, program.ends
    within, one_start, before, taken = program.within, program.one_start, rows.before, rows.taken
    matches, match_rows, match_states = found.matches, found.rows, found.states
    place, row, steps = now[Now.ARRIVED], now[Now.ROW], now[Now.STEPS]
    stop: int = Stop.DONE
    while True:
        at_end = False
        if ending:
            if place >= len(parts):
                break
            p = place
            last = int(parts[p, Part.LAST])
            while last >= 0 and row_class[last] < 0:
                last = int(before[last])
            if row < 0:
                situation = parts[p, Part.SITUATION]
                if ending == Ending.BY_TIME:
                    reached = until
                    if last >= 0 and after[last] >= 0:  # it has come, but what it looks ahead at has not
                        reached = min(reached, time[after[last]])
                    if situation <= _IDLE or reached - time[parts[p, Part.ATTEMPT]] < within:
                        place += 1
                        continue
                    if not waits[situation]:
                        parts[p, Part.SITUATION] = _IDLE
                        row = int(after[parts[p, Part.ATTEMPT]])
                        if row < 0 or row > last:
                            row = -1
                            place += 1
                            continue
                elif ends[situation] >= 0:
                    parts[p, Part.CANDIDATE_START] = starts[p, ends[situation]]
                    parts[p, Part.CANDIDATE_END] = last
                    at_end = True
                elif not waits[situation]:
                    if one_start and situation > _IDLE:
                        parts[p, Part.SITUATION] = _IDLE
                        row = int(after[parts[p, Part.ATTEMPT]])
                    if row < 0:
                        place += 1
                        continue
                if row < 0:
                    stop, row = _found(
                        now,
                        parts,
                        p,
                        row,
                        last,
                        int(ends[situation]) if at_end else -1,
                        before,
                        after,
                        taken,
                        states,
                        came_from,
                        begins,
                        candidate,
                        candidate_state,
                        variable,
                        skip,
                        skip_to,
                        matches,
                        match_rows,
                        match_states,
                    )
                    if stop != Stop.DONE:
                        row = -1
                        break
        else:
            if row < 0:
                if place >= len(todo):
                    break
                row = int(todo[place])
                place += 1
            last = int(todo[place - 1])
            p = partition[row]
        while row >= 0:
            situation = parts[p, Part.SITUATION]
            steps += 1
            if steps > steps_limit:
                stop = Stop.STEPS
                break
            finds = over[situation] != 0
            if within > 0 and situation > _IDLE and not finds:
                attempt = parts[p, Part.ATTEMPT]
                if time[row] - time[attempt] >= within:
                    if not waits[situation]:
                        parts[p, Part.SITUATION] = _IDLE
                        row = int(after[attempt])
                        continue
                    finds = True
            if not finds:
                transition = table[situation, row_class[row]]
                if transition < 0:
                    now[Now.SITUATION], now[Now.CLASS] = situation, row_class[row]
                    stop = Stop.TRANSITION
                    break
                taken[row] = transition
                if situation <= _IDLE:
                    parts[p, Part.ATTEMPT] = row
                outcome = candidate[transition]
                if outcome != _KEEP:
                    parts[p, Part.CANDIDATE_END] = row if outcome != _EMPTY_HERE else -1
                    parts[p, Part.CANDIDATE_START] = row if outcome < 0 else starts[p, outcome]
                if not stays[transition]:
                    first, end = begins[transition], begins[transition + 1]
                    for k in range(first, end):
                        source = came_from[k]
                        moved[k - first] = row if source < 0 else starts[p, source]
                    for k in range(end - first):
                        starts[p, k] = moved[k]
                situation = to[transition]
                parts[p, Part.SITUATION] = situation
                finds = over[situation] != 0
            if finds:
                stop, row = _found(
                    now,
                    parts,
                    p,
                    row,
                    last,
                    -1,
                    before,
                    after,
                    taken,
                    states,
                    came_from,
                    begins,
                    candidate,
                    candidate_state,
                    variable,
                    skip,
                    skip_to,
                    matches,
                    match_rows,
                    match_states,
                )
                if stop != Stop.DONE:
                    break
                continue
            row = int(after[parts[p, Part.ATTEMPT] if one_start and situation == _IDLE else row])
            if row > last:
                row = -1
        if stop != Stop.DONE:
            break
    now[Now.ARRIVED], now[Now.ROW], now[Now.STEPS] = place, row, steps
    return stop


@compiled
def _found(
    now: Numbers,
    parts: Numbers,
    p: int,
    row: int,
    last: int,
    place: int,
    before: Places,
    after: Places,
    taken: Places,
    states: Places,
    came_from: Places,
    begins: Places,
    candidate: Places,
    candidate_state: Places,
    variable: Places,
    skip: int,
    skip_to: int,
    matches: Numbers,
    match_rows: Places,
    match_states: Places,
) -> tuple[int, int]:
    """Write the match that is over, and return the row to go on with (-1: none has arrived yet).

    ``place`` is that of the match among those that are open, -1 if it is the candidate. Which state took each row is
    found from the last row to the first, by the transitions.
    """
    start, end = int(parts[p, Part.CANDIDATE_START]), int(parts[p, Part.CANDIDATE_END])
    count, filled = now[Now.MATCHES], now[Now.ROWS]
    if count >= len(matches):
        return Stop.ROOM_FOR_MATCHES, row
    length = 0
    if end >= 0:
        length = 1
        at = end
        while at != start:
            at = int(before[at])
            length += 1
        if filled + length > len(match_rows):
            return Stop.ROOM_FOR_ROWS, row
        transition = int(taken[end])
        if place >= 0:
            state = states[begins[transition] + place]
            place = came_from[begins[transition] + place]
        else:
            state, place = candidate_state[transition], candidate[transition]
        at = end
        for k in range(filled + length - 1, filled, -1):
            match_rows[k], match_states[k] = at, state
            at = int(before[at])
            came = begins[taken[at]] + place
            state, place = states[came], came_from[came]
        match_rows[filled], match_states[filled] = at, state
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
    parts[p, Part.NUMBER] += 1
    matches[count, FoundMatch.PARTITION] = p
    matches[count, FoundMatch.NUMBER] = parts[p, Part.NUMBER]
    matches[count, FoundMatch.START] = start
    matches[count, FoundMatch.LENGTH] = length
    matches[count, FoundMatch.ROWS] = filled
    now[Now.MATCHES] = count + 1
    now[Now.ROWS] = filled + length
    parts[p, Part.SITUATION] = _IDLE
    return Stop.DONE, int(resume) if resume <= last else -1
