"""What measures look at, noted while a match is found: marks, and how each transition brings them up to date.

Where measures read only first and last rows of variables and count rows, nobody needs to know which variable took each
row of a match: a few numbers for each open match are enough. A mark is the first or last row of some variables, or how
many rows they took. What a row does to the marks of open matches is known from the transition that it makes: a list of
moves between the numbers that are kept of a partition (``MarkMoves``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum

import numpy as np
from numpy.typing import NDArray

from cepheus.plan.rows.automaton import ACCEPT, ACCEPT_AT_END, FIRST, LATER, Automaton
from cepheus.plan.rows.situations import EMPTY_HERE, KEEP, Situations
from cepheus.rules.rows.expressions import Aggregated, At, Classifier, Column, walk
from cepheus.rules.rows.model import RowQuery, SkipKind


class MarkKind(Enum):
    """What a mark is of the rows that its variables took."""

    FIRST = "first"
    LAST = "last"
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class Mark:
    """The first or last row that some variables (bits) took, or the number of their rows."""

    kind: MarkKind
    variables: int


class Kept(IntEnum):
    """The numbers that are kept of a partition; behind them stand the marks of the candidate, then of open matches."""

    SITUATION = 0
    ZERO = 1
    ROW = 2
    """Stands for the row at hand, which is not kept: moves from here are told apart (``Step.PUTS``), and what moves to
    here is never read."""
    END = 3
    """The last row of the candidate, -1 if it has none."""


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of a query: ``all_of[0]`` is the first row of the match, ``skip_to`` that to which the search skips.

    Matches begin with one of the variables ``first`` and end with one of ``last`` (bits).
    """

    names: tuple[str, ...]
    first: int
    last: int
    all_of: tuple[Mark, ...] = ()
    skip_to: int = -1

    def place(self, at: At) -> int:
        """Which mark a row found from the match is, -1 for its last row."""
        mark = self.row(at.variables, last=at.last)
        return -1 if mark is None else self.all_of.index(mark)

    def row(self, variables: Iterable[str] | None, *, last: bool) -> Mark | None:
        """The mark of the first or last row of some variables; None for the last row of all."""
        bits = _bits(self.names, variables)
        if last:
            return None if self.last & ~bits == 0 else Mark(MarkKind.LAST, bits)
        return Mark(MarkKind.FIRST, _bits(self.names, None) if self.first & ~bits == 0 else bits)

    def count(self, variables: tuple[str, ...] | None) -> int:
        """Which mark counts the rows of some variables."""
        return self.all_of.index(Mark(MarkKind.COUNT, _bits(self.names, variables)))


def marks_of(query: RowQuery, states: Automaton) -> Marks | None:
    """The marks that the measures of a query look at and AFTER MATCH skips to; None if they need more than marks.

    ``states`` is the automaton of its pattern.
    """
    marks = Marks(query.variables, *_ends(states))
    found = [Mark(MarkKind.FIRST, _bits(marks.names, None))]
    for measure in query.measures:
        for part in walk(measure.expression):
            match part:
                case Column(at=At(logical=0) as at):
                    mark = marks.row(at.variables, last=at.last)
                    found += [] if mark is None else [mark]
                case Aggregated(function="count", arguments=(), condition=None):
                    found.append(Mark(MarkKind.COUNT, _bits(marks.names, part.variables)))
                case Column() | Classifier() | Aggregated():
                    return None
                case _:
                    pass
    skip_to = -1
    if query.after.target is not None:
        kind = MarkKind.FIRST if query.after.kind is SkipKind.TO_FIRST else MarkKind.LAST
        skipped = Mark(kind, _bits(marks.names, query.members(query.after.target)))
        found.append(skipped)
        skip_to = list(dict.fromkeys(found)).index(skipped)
    return replace(marks, all_of=tuple(dict.fromkeys(found)), skip_to=skip_to)


def _ends(states: Automaton) -> tuple[int, int]:
    """The variables with which matches may begin and end, as bits."""
    begins = {goal for state in (FIRST, LATER) for goal in states.next_of[state] if goal >= 0}
    ends = {state for state, goals in enumerate(states.next_of) if {ACCEPT, ACCEPT_AT_END} & set(goals)} - {
        FIRST,
        LATER,
    }
    first, last = (sum({1 << states.variable[state] for state in each}) for each in (begins, ends))
    return first, last


def _bits(names: tuple[str, ...], variables: Iterable[str] | None) -> int:
    if variables is None:
        return (1 << len(names)) - 1
    return sum(1 << names.index(name) for name in set(variables))


_ALL = -1

GOAL_BITS = SOURCE_BITS = 13
MOST_KEPT = 1 << GOAL_BITS
"""So many numbers can be kept of a partition: a move has room for no more."""

_MOST_FILLED = 3
"""Up to so many moves of each kind a transition is given that does nothing with them."""


@dataclass(frozen=True, slots=True)
class _Move:
    """A number that goes to another place; ``added`` to it is -1, 0 or 1; ``else_row``: if it is none, the row goes."""

    goal: int
    source: int
    added: int = 0
    else_row: bool = False

    @property
    def changes(self) -> bool:
        return self.goal != self.source or self.added != 0 or self.else_row

    @property
    def puts(self) -> bool:
        """Whether it puts the row at hand somewhere, whatever is kept."""
        return self.source == Kept.ROW and self.added == 0 and not self.else_row

    @property
    def word(self) -> int:
        """The move as the loop reads it; of one that puts the row it is the place alone."""
        if self.puts:
            return self.goal
        bits = self.goal | self.source << GOAL_BITS
        return bits | (self.added + 1) << (GOAL_BITS + SOURCE_BITS) | self.else_row << (GOAL_BITS + SOURCE_BITS + 2)


class Step(IntEnum):
    """What the loop reads of a transition: where it leads, whether a match is over then, and its moves.

    From ``PUTS`` on they are places to which the row at hand goes.
    """

    TO = 0
    OVER = 1
    BEGIN = 2
    PUTS = 3
    END = 4


@dataclass(slots=True)
class MarkMoves:
    """The moves of each transition of ``situations``, by ``steps`` (``Step``).

    They are in such an order that none reads what one before it has written. What a match cannot have marked in some
    state, as no way leads there from the variables, is neither kept nor moved.
    """

    situations: Situations
    marks: Marks
    moves: NDArray[np.int32] = field(default_factory=lambda: np.empty(64, np.int32))
    steps: NDArray[np.int32] = field(default_factory=lambda: np.zeros((64, len(Step)), np.int32))
    endings: NDArray[np.int32] = field(default_factory=lambda: np.zeros((64, 3), np.int32))
    """By situation: the moves that make the match the candidate which ends with the partition, as in ``Step``."""
    _known: int = 0
    _ends_known: int = 0
    _count: int = 0
    _copies: int = 0
    _puts: int = 0
    """So many moves of either kind each transition has at least; see ``_filled``."""
    _before: tuple[int, ...] = ()
    """By state, the variables (bits) that may have taken rows before and in it."""

    def __post_init__(self) -> None:
        self._before = _taken_before(self.situations.automaton)

    @property
    def width(self) -> int:
        """How many numbers are kept of a partition."""
        return self.first_of(self.situations.width)

    def first_of(self, place: int) -> int:
        """Where the marks of an open match stand; -1 is the candidate."""
        return len(Kept) + len(self.marks.all_of) * (place + 1)

    def follow(self) -> None:
        """Work out the moves of transitions that are new."""
        made = self.situations
        self._learn([self._moves(transition) for transition in range(self._known, made.transitions)])
        for transition in range(self._known, made.transitions):
            if transition >= len(self.steps):
                self.steps = np.concatenate([self.steps, self.steps])
            to = int(made.to[transition])
            self.steps[transition] = to, made.over[to], *self._added(self._filled(self._moves(transition)))
        self._known = made.transitions
        for situation in range(self._ends_known, len(made.known)):
            if situation >= len(self.endings):
                self.endings = np.concatenate([self.endings, self.endings])
            self.endings[situation] = self._added(self._ended(situation))
        self._ends_known = len(made.known)

    def _learn(self, fresh: Sequence[Sequence[_Move]]) -> None:
        """See how many moves transitions have; if those before have fewer, all are written anew."""
        puts = max((sum(move.puts for move in moves) for moves in fresh), default=0)
        copies = max((sum(not move.puts for move in moves) for moves in fresh), default=0)
        puts, copies = min(puts, _MOST_FILLED), min(copies, _MOST_FILLED)
        if puts > self._puts or copies > self._copies:
            self._puts, self._copies = max(puts, self._puts), max(copies, self._copies)
            self._known = self._ends_known = self._count = 0

    def _filled(self, moves: list[_Move]) -> list[_Move]:
        """The same moves and some to where nothing is kept, so that most transitions have equally many.

        A loop that runs equally often for each row is one that a processor can guess.
        """
        puts = sum(move.puts for move in moves)
        copies = [_Move(Kept.ROW, Kept.ZERO)] * (self._copies - len(moves) + puts)
        return [*moves, *copies, *[_Move(Kept.ROW, Kept.ROW)] * (self._puts - puts)]

    def _moves(self, transition: int) -> list[_Move]:
        made = self.situations
        begin, end = int(made.begins[transition]), int(made.begins[transition + 1])
        sources, states = made.came_from[begin:end].tolist(), made.states[begin:end].tolist()
        opened = made.known[made.found[transition][0]].open
        found: list[_Move] = []
        outcome = int(made.candidate[transition])
        if outcome == EMPTY_HERE:
            found.append(_Move(Kept.END, Kept.ZERO, -1))
            found += self._begun(-1, 0, _ALL)
            found[1] = _Move(self.first_of(-1), Kept.ROW)
        elif outcome != KEEP:
            found.append(_Move(Kept.END, Kept.ROW))
            ended = int(made.candidate_state[transition])
            found += self._taken(-1, outcome, opened, ended, _ALL)
        for place in _in_order(sources):
            found += self._taken(place, sources[place], opened, states[place], self._before[states[place]])
        return [move for move in found if move.changes]

    def _taken(self, place: int, source: int, opened: Sequence[int], state: int, kept: int) -> list[_Move]:
        """The marks of a match after a state took the row, given where it was before; a new one is at -1.

        ``kept`` are the variables whose marks are kept, even if they are none.
        """
        bit = 1 << self.situations.automaton.variable[state]
        if source < 0:
            return self._begun(place, bit, kept)
        found = []
        for k, mark in enumerate(self.marks.all_of):
            goal, old = self.first_of(place) + k, self.first_of(source) + k
            count = mark.kind is MarkKind.COUNT
            known = mark.variables & self._before[opened[source]] != 0
            taken = mark.variables & bit != 0
            if taken and (mark.kind is MarkKind.LAST or (not known and not count)):
                found.append(_Move(goal, Kept.ROW))
            elif known:
                found.append(_Move(goal, old, int(taken and count), taken and not count and k > 0))
            elif mark.variables & kept:
                found.append(_Move(goal, Kept.ZERO, int(taken) if count else -1))
        return found

    def _begun(self, place: int, bit: int, kept: int) -> list[_Move]:
        """The marks of a match that begins with the row, which a variable takes; 0: it has no rows."""
        found = []
        for k, mark in enumerate(self.marks.all_of):
            goal, taken = self.first_of(place) + k, mark.variables & bit != 0
            if taken and mark.kind is not MarkKind.COUNT:
                found.append(_Move(goal, Kept.ROW))
            elif mark.variables & kept:
                found.append(_Move(goal, Kept.ZERO, int(taken) if mark.kind is MarkKind.COUNT else -1))
        return found

    def _ended(self, situation: int) -> list[_Move]:
        """The moves that make the open match the candidate which ends if the partition does."""
        place = int(self.situations.ends[situation])
        if place < 0:
            return []
        before = self._before[self.situations.known[situation].open[place]]
        found = [_Move(Kept.END, Kept.ROW)]
        for k, mark in enumerate(self.marks.all_of):
            goal, old = self.first_of(-1) + k, self.first_of(place) + k
            none = 0 if mark.kind is MarkKind.COUNT else -1
            found.append(_Move(goal, old) if mark.variables & before else _Move(goal, Kept.ZERO, none))
        return found

    def _added(self, moves: Sequence[_Move]) -> tuple[int, int, int]:
        """Where moves stand that are new, and those among them that put the row, which read nothing, come last."""
        begin, end = self._count, self._count + len(moves)
        while end > len(self.moves):
            self.moves = np.concatenate([self.moves, self.moves])
        ordered = sorted(moves, key=lambda move: move.puts)
        self.moves[begin:end] = [move.word for move in ordered]
        self._count = end
        return begin, end - sum(move.puts for move in moves), end


def _taken_before(automaton: Automaton) -> tuple[int, ...]:
    """By state of an automaton, the variables (bits) that take rows on some way up to it, itself included."""
    found = [1 << variable if variable >= 0 else 0 for variable in automaton.variable]
    changed = True
    while changed:
        changed = False
        for state, goals in enumerate(automaton.next_of):
            for goal in goals:
                if goal >= 0 and found[goal] | found[state] != found[goal]:
                    found[goal] |= found[state]
                    changed = True
    return tuple(found)


def _in_order(sources: Sequence[int]) -> list[int]:
    """The order in which places take over from sources, which rise, so that none is overwritten before it is read.

    >>> _in_order([0, 0, 1, -1])
    [2, 1, 0, 3]
    >>> _in_order([1, 2, -1])
    [0, 1, 2]
    """
    old = [place for place, source in enumerate(sources) if source >= 0]
    upward = [place for place in reversed(old) if sources[place] < place]
    return [*upward, *(place for place in old if sources[place] >= place), *range(len(old), len(sources))]
