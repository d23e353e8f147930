"""The compiled loop over a whole table that notes marks: a step of a table and a few moves for each row.

It finds what ``kernel.run`` finds, for patterns and measures that need no more than marks (``plan/rows/marks.py``): per
partition it keeps one line of numbers, and of a match it writes the marks, never its rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cepheus.engine.rows.kernel import Numbers, Places, Skip, Stop
from cepheus.kernel.compiled import compiled, inlined
from cepheus.plan.rows.marks import GOAL_BITS, SOURCE_BITS, Kept, Step

Flags = NDArray[np.uint8]

_SITUATION, _END, _CANDIDATE = int(Kept.SITUATION), int(Kept.END), len(Kept)
_TO, _OVER, _BEGIN, _PUTS, _STEP_END = (int(each) for each in Step)
_STEP = len(Step)
_PLACE, _SOURCE, _ADDED, _ELSE_ROW = (
    (1 << GOAL_BITS) - 1,
    GOAL_BITS,
    GOAL_BITS + SOURCE_BITS,
    GOAL_BITS + SOURCE_BITS + 2,
)
_IDLE = 1
_ROOM_FOR_MATCHES, _TRANSITION = int(Stop.ROOM_FOR_MATCHES), int(Stop.TRANSITION)
_TOO_MANY_STEPS, _SKIP_TO_START, _SKIP_TO_NOTHING = int(Stop.STEPS), int(Stop.SKIP_TO_START), int(Stop.SKIP_TO_NOTHING)
_TO_NEXT_ROW, _PAST_LAST_ROW = int(Skip.TO_NEXT_ROW), int(Skip.PAST_LAST_ROW)

AT, ROW, MATCHES, STEPS, SITUATION, CLASS, FOLLOWED = 0, 1, 2, 3, 4, 5, 6
"""Notes of the loop: how far it is, the row that it looks at again, matches written, steps, what it does not know, and
whether it knows the row after each."""
NOTES = 7

PARTITION, END, MARKS = 0, 1, 2
"""A match as it is written: its partition, its last row (-1: it has none), then its marks."""


class MarkProgram(NamedTuple):
    """A pattern as tables: what rows do to situations, and to the numbers of a partition."""

    table: Places
    classes: int
    waits: Flags
    ends: Places
    steps: Places
    endings: Places
    moves: Places
    marks: int
    width: int
    skip: int
    skip_to: int


class MarkRows(NamedTuple):
    """The rows of the table: partitions and classes of all, and neighbours in the partition."""

    partition: Places
    row_class: Flags
    before: Places
    after: Places
    """Filled in when the loop first needs it."""
    last: Places
    """By partition, its last row."""


@inlined
def _at(place: int) -> np.uint64:
    """A place that is not negative, as an index that is not looked at for being counted from the end."""
    return np.uint64(place)


@compiled
def neighbours(partition: Places, first: Places, last: Places) -> Places:
    """The row before each in its partition, -1 for none; the first and last row of each partition are filled in."""
    before = np.empty(len(partition), np.int32)
    for row in range(len(partition)):
        p = partition[row]
        earlier = last[p]
        before[row] = earlier
        last[p] = row
        if earlier < 0:
            first[p] = row
    return before


@compiled
def follow(before: Places, after: Places) -> None:
    """Find the row after each in its partition, -1 for none."""
    for row in range(len(before)):
        after[row] = -1
        if before[row] >= 0:
            after[before[row]] = row


@compiled
def counted(partitions: Places, counts: Numbers) -> None:
    """Count the matches of each partition."""
    for k in range(len(partitions)):
        counts[partitions[k]] += 1


@compiled
def positions(partitions: Places, next_of: Numbers) -> Places:
    """Where each match stands among all, by partition; ``next_of`` each is brought up to date."""
    places = np.empty(len(partitions), np.int32)
    for k in range(len(partitions)):
        p = partitions[k]
        places[k] = next_of[p]
        next_of[p] += 1
    return places


@compiled
def put_marks(marks: Places, places: Places, goal: Places) -> None:
    """Put a mark of each match where the match stands."""
    for k in range(len(places)):
        goal[places[k]] = marks[k]


@compiled
def put_values(marks: Places, places: Places, values: NDArray[Any], goal: NDArray[Any]) -> bool:
    """Put the number at the row marked of each match where the match stands; whether all have such a row."""
    every = 0
    for k in range(len(places)):
        row = int(marks[k])
        every |= row
        goal[_at(places[k])] = values[_at(max(row, 0))]
    return every >= 0


@compiled
def run_marked(
    program: MarkProgram,
    rows: MarkRows,
    lines: Places,
    found: Places,
    notes: Numbers,
    until: int,
    ending: bool,
    steps_limit: int,
) -> int:
    """Take the rows of the table up to one, in order, or end so many partitions; 0 if that is done (``Stop``).

    When a partition ends, what waits for rows that will not come is decided. ``lines`` has what is kept of partitions,
    one after the other, ``found`` a column for each match.
    """
    partition, row_class, before, after, lasts = rows.partition, rows.row_class, rows.before, rows.after, rows.last
    table, waits, ends = program.table, program.waits, program.ends
    steps, endings, moves = program.steps, program.endings, program.moves
    marks, width, skip, skip_to = program.marks, program.width, program.skip, program.skip_to
    classes, room = program.classes, found.shape[1]
    at, row, count, again = notes[AT], notes[ROW], notes[MATCHES], notes[STEPS]
    last, p, base, here = row, 0, 0, row
    if row >= 0:
        last = int(lasts[at]) if ending else at - 1
        p = at if ending else int(partition[last])
        base = p * width
    stop = 0
    while True:
        finds = False
        if row < 0:
            if at >= until:
                break
            if not ending:
                row = last = at
                p = int(partition[_at(row)])
                base = p * width
                at += 1
            else:
                p = at
                base, last = p * width, int(lasts[p])
                situation = int(lines[base + _SITUATION])
                place = int(ends[situation])
                if place < 0 and not waits[situation]:
                    at += 1
                    continue
                finds = True
                begin, puts = int(endings[3 * situation]), int(endings[3 * situation + 1])
                end = int(endings[3 * situation + 2])
                here = last
        if count >= room:
            stop = _ROOM_FOR_MATCHES
            break
        if not finds:
            situation = int(lines[_at(base + _SITUATION)])
            transition = int(table[_at(situation * classes + row_class[_at(row)])])
            if transition < 0:
                notes[SITUATION], notes[CLASS] = situation, row_class[row]
                stop = _TRANSITION
                break
            step = transition * _STEP
            lines[_at(base + _SITUATION)] = steps[_at(step + _TO)]
            finds = steps[_at(step + _OVER)] != 0
            begin, puts = int(steps[_at(step + _BEGIN)]), int(steps[_at(step + _PUTS)])
            end = int(steps[_at(step + _STEP_END)])
            here = row
        for k in range(begin, puts):
            move = moves[_at(k)]
            value = lines[_at(base + ((move >> _SOURCE) & _PLACE))] + ((move >> _ADDED) & 3) - 1
            value = here if (value < 0) & (move >> _ELSE_ROW != 0) else value  # without a branch
            lines[_at(base + (move & _PLACE))] = value
        for k in range(puts, end):
            lines[_at(base + moves[_at(k)])] = here
        if not finds:
            if row == last:
                row = -1
                continue
            row = int(after[row])
            again += 1
            if again > steps_limit:
                stop = _TOO_MANY_STEPS
                break
            continue
        start, final = int(lines[base + _CANDIDATE]), int(lines[base + _END])
        if final < 0 or skip in (_TO_NEXT_ROW, _PAST_LAST_ROW):
            done = start if final < 0 or skip == _TO_NEXT_ROW else final
            if done == last:
                row = -1
            elif before[last] == done:
                row = last
            else:
                if notes[FOLLOWED] == 0:  # few patterns look at rows again: rows that follow are found when one does
                    notes[FOLLOWED] = 1
                    follow(before, after)
                row = int(after[done])
        else:
            row = int(lines[base + _CANDIDATE + skip_to])
            if row < 0 or row == start:
                stop = _SKIP_TO_NOTHING if row < 0 else _SKIP_TO_START
                break
            if notes[FOLLOWED] == 0:
                notes[FOLLOWED] = 1
                follow(before, after)
        found[PARTITION, count] = p
        found[END, count] = final
        for k in range(marks):
            found[MARKS + k, count] = lines[base + _CANDIDATE + k]
        count += 1
        lines[base + _SITUATION] = _IDLE
    notes[AT], notes[ROW], notes[MATCHES], notes[STEPS] = at, row, count, again
    return stop
