"""Matches of a pattern whose conditions look only at a row and its neighbours: classes of rows, then one loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cepheus.core.errors import LimitError
from cepheus.engine.rows.at_hand import RowsAtHand
from cepheus.engine.rows.engine import NO_TIME
from cepheus.engine.rows.found import NO_ROW, Matches, joined, no_matches
from cepheus.engine.rows.kernel import (
    MATCH_WIDTH,
    NOW_WIDTH,
    Ending,
    Found,
    Now,
    Part,
    Places,
    Program,
    Skip,
    State,
    Stop,
    run,
)
from cepheus.engine.rows.store import RowStore, moved_places
from cepheus.engine.rows.vectors import holds
from cepheus.plan.rows.automaton import automaton, shortened
from cepheus.plan.rows.near import all_near
from cepheus.plan.rows.situations import KEEP, Situation, Situations
from cepheus.rules.rows.expressions import RowExpression
from cepheus.rules.rows.matches import skip_failed
from cepheus.rules.rows.model import RowQuery, SkipKind

SKIPS = {
    SkipKind.PAST_LAST_ROW: Skip.PAST_LAST_ROW,
    SkipKind.TO_NEXT_ROW: Skip.TO_NEXT_ROW,
    SkipKind.TO_FIRST: Skip.TO_FIRST,
    SkipKind.TO_LAST: Skip.TO_LAST,
}
STEPS_PER_ROW = 2_000
"""How often a row may be looked at again, on average, before a pattern is given up."""

MOST_VARIABLES = 62
_MOST = (1 << 24, 1 << 26)


def has_situations(query: RowQuery) -> bool:
    """Whether what a row does to open matches is known by its class alone."""
    return len(query.variables) <= MOST_VARIABLES and all_near(query)


def masks_of(
    query: RowQuery, conditions: Mapping[str, Sequence[RowExpression]], store: RowStore | None, at_hand: RowsAtHand
) -> NDArray[Any]:
    """The variables all of whose conditions rows meet, as bits."""
    names = query.variables
    kind: type[Any] = np.uint8 if len(names) <= 8 else np.int64
    masks: NDArray[Any] = np.zeros(at_hand.length, kind)
    for bit, name in enumerate(names):
        met: NDArray[np.bool_] | None = None
        at_hand.variable = name
        for condition in conditions.get(name, ()):
            found = holds(condition, at_hand)
            met = found if met is None else met & found
        masks |= kind(1 << bit) if met is None else met.astype(kind) << kind(bit)
    if query.within is not None and store is not None:
        masks[store.rows.time[at_hand.places] == NO_TIME] = 0
    return masks


class SituationSearch:
    """Finds the matches of a query in the rows of a store."""

    def __init__(self, query: RowQuery, store: RowStore) -> None:
        self._query, self._store = query, store
        self._automaton = automaton(query.pattern)
        self._situations = self._new_situations()
        self._variable = np.array(self._automaton.variable, np.int32)
        self._excluded = np.array(self._automaton.excluded, np.bool_)
        self._starts = np.empty((0, 4), np.int32)
        self._now = np.zeros(NOW_WIDTH, np.int64)
        self._room = (256, 1024)
        self._found: Found | None = None

    def _new_situations(self) -> Situations:
        return Situations(self._automaton, one_start=self._query.within is not None)

    def take(self, places: Places) -> Matches:
        """Take rows whose neighbours are known, in the order of arrival."""
        if not len(places):
            return no_matches()
        names = self._automaton.names
        conditions = {each.variable: (each.condition,) for each in self._query.definitions}
        masks = masks_of(self._query, conditions, self._store, RowsAtHand(self._store, places))
        if len(names) <= 8:
            classes = self._situations.class_numbers(len(names))[masks]
        else:
            classes = self._situations.classes_of(masks)
        self._store.classify(places, classes)
        return self._run(places, Ending.NONE)

    def expire(self, time: int) -> Matches:
        """No row of before a time will come: settle what WITHIN ends by then."""
        return self._run(None, Ending.BY_TIME, time)

    def end(self) -> Matches:
        """No row will come at all."""
        return self._run(None, Ending.ALL)

    def earliest(self, partitions: NDArray[np.int64]) -> NDArray[np.int64]:
        """By partition, the first row that a match which is not decided may have."""
        self._fit_starts()
        parts = self._store.parts[partitions].astype(np.int64)
        situation = parts[:, Part.SITUATION]
        widths = np.array([len(each.open) for each in self._situations.known])[situation]
        starts = self._starts[partitions].astype(np.int64)
        starts[np.arange(starts.shape[1]) >= widths[:, None]] = NO_ROW
        earliest: NDArray[np.int64] = starts.min(axis=1)
        waits = self._situations.waits[situation] != 0
        earliest[waits] = np.minimum(earliest, parts[:, Part.CANDIDATE_START])[waits]
        if self._situations.one_start:
            busy = situation > 1
            earliest[busy] = np.minimum(earliest, parts[:, Part.ATTEMPT])[busy]
        return earliest

    def moved(self, moved: NDArray[np.int32]) -> None:
        """Rows were forgotten; ``moved`` is the new place of each."""
        self._starts = moved_places(self._starts, moved)

    def state(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """What a snapshot has of it."""
        self._fit_starts()
        made = self._situations
        header = {
            "situations": [[list(each.open), each.candidate, each.first] for each in made.known],
            "classes": list(made.classes),
            "transitions": made.found,
            "width": self._starts.shape[1],
        }
        return header, {"starts": self._starts[: len(self._store.keys)].tobytes()}

    def restore(self, header: dict[str, Any], blobs: dict[str, bytes]) -> None:
        """Take over what ``state`` gave; ValueError if that makes no sense."""
        known = [Situation(tuple(opened), candidate, first) for opened, candidate, first in header["situations"]]
        masks = header["classes"]
        states = len(self._automaton)
        if any(not 2 <= state < states for each in known for state in each.open) or len(set(known)) != len(known):
            raise ValueError
        if any(not 0 <= mask < 1 << len(self._automaton.names) for mask in masks):
            raise ValueError
        self._situations = self._new_situations()
        self._situations.resume(known, masks, [(number, row_class) for number, row_class in header["transitions"]])
        width = header["width"]
        if not self._situations.width <= width <= 2 * states + 4:
            raise ValueError
        count = len(self._store.keys)
        self._starts = np.frombuffer(blobs["starts"], np.int32).reshape(count, width).copy()
        rows = self._store.rows
        parts = self._store.parts[:count]
        if count and not 0 <= parts[:, Part.SITUATION].min() <= parts[:, Part.SITUATION].max() < len(known):
            raise ValueError
        length = self._store.length
        if length and rows.row_class[:length].max() >= len(masks):
            raise ValueError
        if length and not -1 <= rows.taken[:length].min() <= rows.taken[:length].max() < self._situations.transitions:
            raise ValueError
        for p, first in enumerate(self.earliest(np.arange(count)).tolist()):
            if first != NO_ROW:
                self._check_history(p, first)

    def _check_history(self, p: int, first: int) -> None:
        """Check that the transitions of a partition's rows lead to its situation, and open matches to their starts."""
        store, made = self._store, self._situations
        rows, part = store.rows, store.parts[p]
        if not 0 <= first < store.length or rows.partition[first] != p:
            raise ValueError
        begun: list[int] = []
        situation = -1
        row, ended = first, -1
        while row >= 0 and rows.row_class[row] >= 0:
            transition = int(rows.taken[row])
            if transition < 0 or (situation >= 0 and made.found[transition][0] != situation):
                raise ValueError
            sources = made.came_from[made.begins[transition] : made.begins[transition + 1]].tolist()
            outcome = int(made.candidate[transition])
            if outcome >= 0:
                ended = begun[outcome] if situation >= 0 else -1
            elif outcome != KEEP:
                ended = row
            begun = [row if place < 0 else begun[place] if situation >= 0 else -1 for place in sources]
            situation = int(made.to[transition])
            row = int(rows.after[row])
        width = len(made.known[situation].open)
        if situation != part[Part.SITUATION] or begun != self._starts[p, :width].tolist():
            raise ValueError
        if made.waits[situation] and part[Part.CANDIDATE_START] != ended:
            raise ValueError

    def _run(self, todo: Places | None, ending: Ending, until: int = 0) -> Matches:
        """Run the loop over rows, or to the end of partitions, and give it what it asks for."""
        store = self._store
        self._now[Now.ARRIVED], self._now[Now.ROW], self._now[Now.STEPS] = 0, -1, 0
        limit = STEPS_PER_ROW * (store.length + 10_000)
        parts = list[Matches]()
        self._expect(0 if todo is None else len(todo))
        none = np.empty(0, np.int32)
        while True:
            if self._found is None:
                self._found = self._new_room()
            self._fit_starts()
            state = State(self._now, store.parts, self._starts, np.empty(self._starts.shape[1], np.int32))
            arrived = none if todo is None else todo
            stop = run(self._program(), store.rows, state, self._found, arrived, int(ending), until, limit)
            if stop == Stop.DONE:
                parts.append(self._taken())
                return joined(parts)
            if stop == Stop.TRANSITION:
                self._situations.find(int(self._now[Now.SITUATION]), int(self._now[Now.CLASS]))
            elif stop in (Stop.ROOM_FOR_MATCHES, Stop.ROOM_FOR_ROWS):
                if self._room == _MOST and not self._now[Now.MATCHES]:
                    raise too_many_steps(self._query, "has a match that is too long")
                parts.append(self._taken())
                self._room = _larger(self._room)
                self._found = None
            elif stop == Stop.STEPS:
                raise too_many_steps(self._query)
            else:
                raise skip_failed(self._query, nothing=stop == Stop.SKIP_TO_NOTHING)

    def _new_room(self) -> Found:
        matches, rows = self._room
        return Found(np.empty((matches, MATCH_WIDTH), np.int64), np.empty(rows, np.int32), np.empty(rows, np.int32))

    def _taken(self) -> Matches:
        """Take the matches out of where the loop has written them."""
        assert self._found is not None
        count, filled = int(self._now[Now.MATCHES]), int(self._now[Now.ROWS])
        self._now[Now.MATCHES] = self._now[Now.ROWS] = 0
        lines, rows, states = self._found.matches[:count], self._found.rows[:filled], self._found.states[:filled]
        if count > 1000:  # too much to copy: the loop gets new room
            self._found = None
        else:
            lines, rows = lines.copy(), rows.copy()
        return Matches(lines, rows, self._variable[states], self._excluded[states])

    def _expect(self, rows: int) -> None:
        """Make room for the matches of so many rows, as many as there usually are."""
        matches, match_rows = self._room
        wanted = (min(max(matches, rows // 3), _MOST[0]), min(max(match_rows, rows), _MOST[1]))
        if wanted != self._room:
            self._room, self._found = wanted, None

    def _fit_starts(self) -> None:
        lines, width = len(self._store.parts), max(self._situations.width, 1)
        if self._starts.shape[0] < lines or self._starts.shape[1] < width:
            fresh = np.zeros((lines, max(2 * width, 4)), np.int32)
            fresh[: self._starts.shape[0], : self._starts.shape[1]] = self._starts
            self._starts = fresh

    def _program(self) -> Program:
        made = self._situations
        target = self._query.after.target
        skip_to = 0
        for name in () if target is None else self._query.members(target):
            skip_to |= 1 << self._automaton.names.index(name)
        return Program(
            made.table,
            made.to,
            made.candidate,
            made.stays,
            made.begins,
            made.came_from,
            made.over,
            made.waits,
            made.ends,
            made.states,
            made.candidate_state,
            self._variable,
            int(SKIPS[self._query.after.kind]),
            skip_to,
            self._query.within or 0,
            int(made.one_start),
        )


def too_many_steps(query: RowQuery, what: str = f"looks at each row more than {STEPS_PER_ROW} times") -> LimitError:
    """The error for a pattern that takes too long."""
    return LimitError.of(
        "too-many-steps",
        f"the pattern {shortened(query.pattern)} {what}",
        span=query.pattern.span,
        hint="bound it with WITHIN, or let its matches begin with a variable that holds for fewer rows",
    )


def _larger(room: tuple[int, int]) -> tuple[int, int]:
    return min(4 * room[0], _MOST[0]), min(4 * room[1], _MOST[1])
