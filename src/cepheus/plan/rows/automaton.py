"""The automaton of a row pattern: a state for each place of a variable in it, and where each may go next.

The pattern is written as a program of small steps, of which only ``Take`` takes a row. All that lies between two rows
is followed here once and for all: ``next_of[state]`` has the places that may take the next row, the preferred one
first. A place that ends the match cuts off what comes after it, as that is never preferred to it.

The places of variables are states. Two more are where matches begin: ``FIRST`` before the first row of a partition,
``LATER`` before any other, as ``^`` tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from cepheus.core.errors import LimitError
from cepheus.rules.rows.pattern import (
    Alternation,
    Concatenation,
    Empty,
    Exclusion,
    PartitionEnd,
    PartitionStart,
    Permutation,
    Quantified,
    RowPattern,
    Variable,
    variables,
    written,
)

FIRST, LATER = 0, 1
"""The states before a match: at the first row of a partition, and at any other."""

ACCEPT, ACCEPT_AT_END = -1, -2
"""Among the places to go next: the match may end here, or may end here if the partition does."""

STEPS_LIMIT = 100_000
"""How long the program of a pattern may be: ``PERMUTE`` and ``{n,m}`` write out what they repeat."""


@dataclass(frozen=True, slots=True)
class Automaton:
    """States by number; ``variable`` and ``excluded`` of the states that take rows, ``next_of`` of all."""

    pattern: RowPattern
    names: tuple[str, ...]
    variable: tuple[int, ...]
    excluded: tuple[bool, ...]
    next_of: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.next_of)


@dataclass(frozen=True, slots=True)
class _Take:
    state: int


@dataclass(frozen=True, slots=True)
class _Fork:
    preferred: int
    other: int


@dataclass(frozen=True, slots=True)
class _Jump:
    to: int


@dataclass(frozen=True, slots=True)
class _Begin:
    loop: int


@dataclass(frozen=True, slots=True)
class _Again:
    """The end of a repetition: on to ``choice``, or to ``after`` if it took no row."""

    loop: int
    choice: int
    after: int


@dataclass(frozen=True, slots=True)
class _Anchor:
    start: bool


_Step = _Take | _Fork | _Jump | _Begin | _Again | _Anchor


def automaton(pattern: RowPattern) -> Automaton:
    """Make the automaton of a pattern.

    >>> from cepheus.rules.rows.pattern import Concatenation, Quantified, Variable
    >>> found = automaton(Concatenation((Variable("A"), Quantified(Variable("B"), 1, None))))
    >>> found.next_of
    ((2,), (2,), (3,), (3, -1))
    """
    writer = _Writer(pattern)
    writer.write(pattern, excluded=False)
    steps = writer.steps
    next_of = [_reached(steps, 0, at_start=True), _reached(steps, 0, at_start=False)]
    next_of += [_reached(steps, place + 1, at_start=False) for place in writer.places]
    return Automaton(
        pattern,
        writer.names,
        (-1, -1, *writer.variable),
        (False, False, *writer.excluded),
        tuple(next_of),
    )


class _Writer:
    """Writes a pattern as steps; a step is known by its number."""

    def __init__(self, pattern: RowPattern) -> None:
        self.pattern = pattern
        self.names = variables(pattern)
        self.steps: list[_Step] = []
        self.places: list[int] = []
        self.variable: list[int] = []
        self.excluded: list[bool] = []
        self._loops = 0

    def write(self, pattern: RowPattern, *, excluded: bool) -> None:
        match pattern:
            case Variable(name=name):
                self.places.append(self._add(_Take(len(self.places) + 2)))
                self.variable.append(self.names.index(name))
                self.excluded.append(excluded)
            case Empty():
                pass
            case PartitionStart():
                self._add(_Anchor(start=True))
            case PartitionEnd():
                self._add(_Anchor(start=False))
            case Concatenation(parts=parts):
                for part in parts:
                    self.write(part, excluded=excluded)
            case Alternation(parts=parts):
                self._alternation(parts, excluded)
            case Permutation(parts=parts):
                self._alternation(tuple(_one_first(parts)), excluded)
            case Quantified():
                self._quantified(pattern, excluded)
            case Exclusion(part=part):
                self.write(part, excluded=True)
            case _:
                assert_never(pattern)

    def _add(self, step: _Step) -> int:
        if len(self.steps) >= STEPS_LIMIT:
            raise LimitError.of(
                "pattern-size",
                f"the pattern {shortened(self.pattern)} has more than {STEPS_LIMIT} steps when it is written out",
                span=self.pattern.span,
                hint="repeat fewer parts with {n,m}, permute fewer with PERMUTE",
            )
        self.steps.append(step)
        return len(self.steps) - 1

    def _alternation(self, parts: tuple[RowPattern, ...], excluded: bool) -> None:
        jumps = []
        for part in parts[:-1]:
            fork = self._add(_Jump(0))
            self.write(part, excluded=excluded)
            jumps.append(self._add(_Jump(0)))
            self.steps[fork] = _Fork(fork + 1, len(self.steps))
        self.write(parts[-1], excluded=excluded)
        for jump in jumps:
            self.steps[jump] = _Jump(len(self.steps))

    def _quantified(self, node: Quantified, excluded: bool) -> None:
        written_out = node.least if node.most is not None else max(node.least - 1, 0)
        for _ in range(written_out):
            self.write(node.part, excluded=excluded)
        if node.most is None:
            self._endless(node, excluded)
            return
        choices = []
        for _ in range(node.most - node.least):
            choices.append(self._add(_Jump(0)))
            self.write(node.part, excluded=excluded)
        for choice in choices:
            self._choose(choice, node.greedy)

    def _endless(self, node: Quantified, excluded: bool) -> None:
        """Write ``part*``, or ``part+`` where one is still due."""
        self._loops += 1
        loop = self._loops
        before = self._add(_Jump(0)) if node.least == 0 else None
        self._add(_Begin(loop))
        begin = len(self.steps) - 1
        self.write(node.part, excluded=excluded)
        again = self._add(_Jump(0))
        choice = self._add(_Jump(0))
        after = len(self.steps)
        self.steps[again] = _Again(loop, choice, after)
        self.steps[choice] = _Fork(begin, after) if node.greedy else _Fork(after, begin)
        if before is not None:
            self.steps[before] = self.steps[choice]

    def _choose(self, choice: int, greedy: bool) -> None:
        into, after = choice + 1, len(self.steps)
        self.steps[choice] = _Fork(into, after) if greedy else _Fork(after, into)


def _one_first(parts: tuple[RowPattern, ...]) -> Iterator[RowPattern]:
    """The ways to permute parts, by which of them comes first."""
    for place, part in enumerate(parts):
        rest = parts[:place] + parts[place + 1 :]
        yield Concatenation((part, Permutation(rest))) if rest else part


def shortened(pattern: RowPattern) -> str:
    """A pattern as messages show it."""
    text = written(pattern)
    return f"({text})" if len(text) <= 60 else f"({text[:57]}..)"


def _reached(steps: list[_Step], begin: int, *, at_start: bool) -> tuple[int, ...]:
    """Where the steps lead from one place without taking a row, the preferred place first, each once.

    ``fresh`` are the repetitions that began here and have taken no row yet; ``ends`` says that the partition must end
    here.
    """
    found: list[int] = []
    seen: set[tuple[int, frozenset[int], bool]] = set()
    todo: list[tuple[int, frozenset[int], bool]] = [(begin, frozenset(), False)]
    while todo:
        here = todo.pop()
        if here in seen:
            continue
        seen.add(here)
        at, fresh, ends = here
        if at == len(steps):
            goal = ACCEPT_AT_END if ends else ACCEPT
            if goal not in found:
                found.append(goal)
            if goal == ACCEPT:
                break
            continue
        step = steps[at]
        match step:
            case _Take(state=state):
                if not ends and state not in found:
                    found.append(state)
            case _Fork(preferred=preferred, other=other):
                todo += [(other, fresh, ends), (preferred, fresh, ends)]
            case _Jump(to=to):
                todo.append((to, fresh, ends))
            case _Begin(loop=loop):
                todo.append((at + 1, fresh | {loop}, ends))
            case _Again(loop=loop, choice=choice, after=after):
                todo.append((after if loop in fresh else choice, fresh - {loop}, ends))
            case _Anchor(start=start):
                if not start:
                    todo.append((at + 1, fresh, True))
                elif at_start:
                    todo.append((at + 1, fresh, ends))
            case _:
                assert_never(step)
    return tuple(found)
