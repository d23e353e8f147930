"""The situations that a partition can be in: which states its open matches are in, the preferred one first.

Where the conditions of a pattern look only at a row and its neighbours, a row is known by the set of variables that it
meets, its class. Two open matches in one state have one future, so only the preferred one is kept: that of the
earlier start, and of one start that which preferment puts first. There are so few situations that each is numbered when
it first comes up, and what a class of rows does to it is one entry of a table.

A match that has ended but has preferred ones still open is the candidate: nothing that is less preferred is kept beside
it. A situation with a candidate and nothing open is the end of a match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cepheus.core.errors import LimitError
from cepheus.plan.rows.automaton import ACCEPT, ACCEPT_AT_END, FIRST, LATER, Automaton, shortened

SITUATIONS_LIMIT = 20_000

UNKNOWN = -1
KEEP, EMPTY_HERE, FROM_HERE = -3, -2, -1
"""What becomes of the candidate: it stays what it was; no rows, at this row; it begins and ends with this row. A number
from 0 is the open match that it comes from."""

Table = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Situation:
    """The states of open matches, and whether there is a candidate; ``first`` only before a partition's first row."""

    open: tuple[int, ...] = ()
    candidate: bool = False
    first: bool = False


@dataclass(slots=True)
class Situations:
    """The situations met so far and the table of what rows do to them.

    ``table[situation, class]`` is a transition or ``UNKNOWN``. A transition has where it leads (``to``), what becomes
    of the candidate, and where each open match comes from: ``came_from[begins[t]:begins[t + 1]]`` are places among
    those that were open before, -1 for one that begins here. ``stays`` says that each comes from its own place.
    """

    automaton: Automaton
    one_start: bool = False
    classes: list[int] = field(default_factory=list)
    known: list[Situation] = field(default_factory=lambda: [Situation(first=True), Situation()])
    table: Table = field(default_factory=lambda: np.full((16, 4), UNKNOWN, np.int32))
    to: Table = field(default_factory=lambda: np.empty(64, np.int32))
    candidate: Table = field(default_factory=lambda: np.empty(64, np.int32))
    stays: NDArray[np.uint8] = field(default_factory=lambda: np.empty(64, np.uint8))
    begins: Table = field(default_factory=lambda: np.zeros(65, np.int32))
    came_from: Table = field(default_factory=lambda: np.empty(256, np.int32))
    states: Table = field(default_factory=lambda: np.empty(256, np.int32))
    """By open match, as ``came_from``: its state after the transition."""
    candidate_state: Table = field(default_factory=lambda: np.empty(64, np.int32))
    """By transition: the state in which the match ends that becomes the candidate."""
    over: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(16, np.uint8))
    waits: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(16, np.uint8))
    """By situation: whether there is a candidate."""
    ends: Table = field(default_factory=lambda: np.full(16, -1, np.int32))
    """By situation: which open match ends if the partition does, -1 for none."""
    transitions: int = 0
    found: list[tuple[int, int]] = field(default_factory=list)
    """The situation and class of each transition."""
    _numbers: dict[Situation, int] = field(default_factory=dict)
    _class_numbers: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._numbers = {situation: number for number, situation in enumerate(self.known)}

    @property
    def width(self) -> int:
        """How many matches are open at once, at most."""
        return max(len(situation.open) for situation in self.known)

    def classes_of(self, masks: NDArray[np.int64]) -> NDArray[np.int32]:
        """The class of each row, given the variables that it meets as bits."""
        found, rows = np.unique(masks, return_inverse=True)
        numbers = np.fromiter((self._class(mask) for mask in found.tolist()), np.int32, len(found))
        return numbers[rows]

    def class_numbers(self, variables: int) -> NDArray[np.int32]:
        """The class of every set of so many variables: quicker than ``classes_of`` where they are few."""
        return np.fromiter((self._class(mask) for mask in range(1 << variables)), np.int32, 1 << variables)

    def _class(self, mask: int) -> int:
        number = self._class_numbers.get(mask)
        if number is None:
            number = self._class_numbers[mask] = len(self.classes)
            self.classes.append(mask)
            if number >= self.table.shape[1]:
                self.table = np.hstack([self.table, np.full_like(self.table, UNKNOWN)])
        return number

    def resume(self, known: Sequence[Situation], classes: Sequence[int], found: Sequence[tuple[int, int]]) -> None:
        """Number situations, classes and transitions as they were numbered before."""
        if list(known[:2]) != self.known:
            raise ValueError
        for situation in known[2:]:
            self._number(situation)
        for mask in classes:
            self._class(mask)
        for number, row_class in found:
            if not 0 <= number < len(self.known) or not 0 <= row_class < len(self.classes):
                raise ValueError
            self.find(number, row_class)

    def find(self, number: int, row_class: int) -> None:
        """Work out what a row of a class does to a situation, and put it into the table."""
        before = self.known[number]
        opened, sources, candidate, ended = self._step(before, self.classes[row_class])
        after = Situation(tuple(opened), candidate != KEEP or before.candidate)
        transition = self.transitions
        self.transitions += 1
        self._grow(len(sources))
        self.to[transition] = self._number(after)
        self.candidate[transition], self.candidate_state[transition] = candidate, ended
        self.stays[transition] = sources == list(range(len(sources)))
        begin = self.begins[transition]
        self.came_from[begin : begin + len(sources)] = sources
        self.states[begin : begin + len(sources)] = opened
        self.begins[transition + 1] = begin + len(sources)
        self.table[number, row_class] = transition
        self.found.append((number, row_class))

    def _step(self, before: Situation, mask: int) -> tuple[list[int], list[int], int, int]:
        opened: list[int] = []
        sources: list[int] = []
        candidate = KEEP
        starts = [(place, state) for place, state in enumerate(before.open)]
        if not before.candidate and not (self.one_start and before.open):
            begin = FIRST if before.first else LATER
            if ACCEPT in self.automaton.next_of[begin]:
                candidate = EMPTY_HERE
            starts.append((-1, begin))
        for place, state in starts:
            for goal in self.automaton.next_of[state]:
                if goal < 0 or goal in opened or not mask >> self.automaton.variable[goal] & 1:
                    continue
                following = self.automaton.next_of[goal]
                if following != (ACCEPT,):
                    opened.append(goal)
                    sources.append(place)
                if ACCEPT in following:
                    return opened, sources, FROM_HERE if place < 0 else place, goal
        return opened, sources, candidate, -1

    def _number(self, situation: Situation) -> int:
        number = self._numbers.get(situation)
        if number is None:
            number = self._numbers[situation] = len(self.known)
            if number >= SITUATIONS_LIMIT:
                raise LimitError.of(
                    "pattern-size",
                    f"the pattern {shortened(self.automaton.pattern)} has more than {SITUATIONS_LIMIT} situations",
                    span=self.automaton.pattern.span,
                    hint="let fewer variables hold for the same rows",
                )
            self.known.append(situation)
            if number >= len(self.table):
                self.table = np.vstack([self.table, np.full_like(self.table, UNKNOWN)])
                self.over = np.concatenate([self.over, np.zeros_like(self.over)])
                self.waits = np.concatenate([self.waits, np.zeros_like(self.waits)])
                self.ends = np.concatenate([self.ends, np.full_like(self.ends, -1)])
            self.waits[number] = situation.candidate
            self.over[number] = situation.candidate and not situation.open
            for place, state in enumerate(situation.open):
                if ACCEPT_AT_END in self.automaton.next_of[state] or ACCEPT in self.automaton.next_of[state]:
                    self.ends[number] = place
                    break
        return number

    def _grow(self, more: int) -> None:
        if self.transitions + 1 >= len(self.to):
            self.to, self.candidate, self.candidate_state = (
                np.concatenate([each, each]) for each in (self.to, self.candidate, self.candidate_state)
            )
            self.stays = np.concatenate([self.stays, self.stays])
            self.begins = np.concatenate([self.begins, self.begins])
        while int(self.begins[self.transitions - 1]) + more > len(self.came_from):
            self.came_from, self.states = (np.concatenate([each, each]) for each in (self.came_from, self.states))
