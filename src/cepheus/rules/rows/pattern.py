"""Row patterns: regular expressions over rows, in which a variable stands for a row that meets its condition.

Where a pattern can be met in several ways from one row, preferment decides: the first alternative before the second,
one more repetition before none where a quantifier is greedy, the other way round where it is reluctant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import permutations
from typing import assert_never

from cepheus.core.source import Span


@dataclass(frozen=True, slots=True)
class Variable:
    """One row that meets the condition of a variable."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Empty:
    """``()``: no row at all."""

    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PartitionStart:
    """``^``: the place before the first row of a partition."""

    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PartitionEnd:
    """``$``: the place after the last row of a partition."""

    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Concatenation:
    """``a b ..``: one after the other."""

    parts: tuple[RowPattern, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Alternation:
    """``a | b | ..``: one of them, an earlier one before a later one."""

    parts: tuple[RowPattern, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Permutation:
    """``PERMUTE(a, b, ..)``: all of them in any order, the orders preferred as a dictionary sorts them."""

    parts: tuple[RowPattern, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Quantified:
    """A part repeated ``least`` to ``most`` times (None: without end), as often as can be or, reluctant, as seldom.

    A repetition beyond ``least`` that takes no row is the last one.
    """

    part: RowPattern
    least: int
    most: int | None
    greedy: bool = True
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Exclusion:
    """``{- a -}``: rows that belong to the match but are left out of ``ALL ROWS PER MATCH``."""

    part: RowPattern
    span: Span | None = field(default=None, compare=False, repr=False)


RowPattern = (
    Variable
    | Empty
    | PartitionStart
    | PartitionEnd
    | Concatenation
    | Alternation
    | Permutation
    | Quantified
    | Exclusion
)


def parts_of(pattern: RowPattern) -> tuple[RowPattern, ...]:
    """The patterns directly inside of one."""
    match pattern:
        case Variable() | Empty() | PartitionStart() | PartitionEnd():
            return ()
        case Concatenation(parts=parts) | Alternation(parts=parts) | Permutation(parts=parts):
            return parts
        case Quantified(part=part) | Exclusion(part=part):
            return (part,)
        case _:
            assert_never(pattern)


def walk(pattern: RowPattern) -> Iterator[RowPattern]:
    """A pattern and all inside of it, each before its parts."""
    yield pattern
    for part in parts_of(pattern):
        yield from walk(part)


def needs_end(pattern: RowPattern) -> bool:
    """Whether a pattern may ask for the end of its partition."""
    return any(isinstance(each, PartitionEnd) for each in walk(pattern))


def variables(pattern: RowPattern) -> tuple[str, ...]:
    """The names of its variables, each once, in the order of the text.

    >>> variables(Concatenation((Variable("A"), Quantified(Variable("B"), 0, None), Variable("A"))))
    ('A', 'B')
    """
    return tuple(dict.fromkeys(each.name for each in walk(pattern) if isinstance(each, Variable)))


def orders(pattern: Permutation) -> Iterator[Concatenation]:
    """The ways to write a permutation as a concatenation, the preferred one first."""
    for order in permutations(pattern.parts):
        yield Concatenation(order)


def quantifier(least: int, most: int | None, *, greedy: bool) -> str:
    """A quantifier as it is written.

    >>> quantifier(1, None, greedy=True), quantifier(0, 1, greedy=False), quantifier(2, 2, greedy=True)
    ('+', '??', '{2}')
    """
    short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((least, most))
    if short is None:
        short = f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"
    return short if greedy else f"{short}?"


def written(pattern: RowPattern) -> str:
    """A pattern as text, with no more parentheses than needed.

    >>> down = Quantified(Variable("DOWN"), 1, None)
    >>> written(Concatenation((Variable("STRT"), Alternation((down, Empty())))))
    'STRT (DOWN+ | ())'
    """
    match pattern:
        case Variable(name=name):
            return name
        case Empty():
            return "()"
        case PartitionStart():
            return "^"
        case PartitionEnd():
            return "$"
        case Concatenation(parts=parts):
            return " ".join(_inner(part, Alternation) for part in parts)
        case Alternation(parts=parts):
            return " | ".join(map(written, parts))
        case Permutation(parts=parts):
            return f"PERMUTE({', '.join(map(written, parts))})"
        case Quantified(part=part, least=least, most=most, greedy=greedy):
            text = _inner(part, Alternation, Concatenation, Quantified, PartitionStart, PartitionEnd)
            return text + quantifier(least, most, greedy=greedy)
        case Exclusion(part=part):
            return f"{{- {written(part)} -}}"
        case _:
            assert_never(pattern)


def _inner(part: RowPattern, *looser: type) -> str:
    return f"({written(part)})" if isinstance(part, looser) else written(part)
