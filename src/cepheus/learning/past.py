"""What learning asks of a history: traces, and what rules find in all of it.

In one process all events are in memory. On Spark (``spark_past``) only those of the traces are; rules are tried by the
engine in tasks, on everything.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cepheus.learning.evaluate import Score, firings, score
from cepheus.learning.history import History, Ints
from cepheus.learning.occurrences import Occurrences
from cepheus.learning.significance import p_value
from cepheus.learning.terminators import Ending
from cepheus.learning.traces import Traces, claimed, cut
from cepheus.rules.expressions import Within
from cepheus.rules.model import Rule
from cepheus.rules.walk import walk

Say = Callable[[str, float], None]
"""Told what is being tried, and the best F1 so far."""

Span = tuple[int, int]
"""From a time up to, not including, another."""


class Past(Protocol):
    """A history as learning sees it. Every method may be called at any time, in any order."""

    @property
    def history(self) -> History:
        """The events in memory: all, or those of traces and of moments at random."""

    @property
    def span(self) -> Span:
        """The times of the first and the last event."""

    @property
    def count(self) -> int:
        """How many events there are."""

    @property
    def mark(self) -> str:
        """What tells this history from others that have as many events."""

    @property
    def reach(self) -> int | None:
        """How far back events are in memory before what traces end with; None if there is no limit."""

    def moments(self, rng: np.random.Generator, many: int) -> Ints:
        """Times at random before which events are in memory."""

    def look_at(self, occurrences: Occurrences, numbers: Ints) -> Ints:
        """Have the events before some of these occurrences in memory; which of them that is."""

    def cut(
        self, ending: Ending, occurrences: Occurrences, span: Span, rng: np.random.Generator, mistakes: Score | None
    ) -> Traces:
        """Traces that end in a span; the false alarms of ``mistakes`` are all among them."""

    def scores(
        self, rules: Sequence[Rule], endings: Sequence[Ending], occurrences: Occurrences, span: Span
    ) -> list[Score]:
        """What rules find within a span, given all occurrences there."""

    def chance(
        self, found: Score, ending: Ending, occurrences: Occurrences, span: Span, rng: np.random.Generator
    ) -> float:
        """How likely what a rule found would be by chance."""


@dataclass(frozen=True, slots=True)
class MemoryPast:
    """All events in memory."""

    history: History

    @property
    def span(self) -> Span:
        """The times of the first and the last event."""
        return self.history.span

    @property
    def count(self) -> int:
        """How many events there are."""
        return sum(map(len, self.history.types.values()))

    @property
    def mark(self) -> str:
        """A checksum of all times and values."""
        found = zlib.crc32("\n".join(self.history.texts).encode("utf-8", "surrogatepass"))
        for name, own in sorted(self.history.types.items()):
            for values in (own.times, *(column.values for _, column in sorted(own.columns.items()))):
                found = zlib.crc32(np.ascontiguousarray(values).data, zlib.crc32(name.encode(), found))
        return f"{found:08x}"

    @property
    def reach(self) -> int | None:
        """There is no limit."""
        return None

    def moments(self, rng: np.random.Generator, many: int) -> Ints:
        """Times at random."""
        low, high = self.span
        return rng.integers(low, high + 1, many)

    def look_at(self, _: Occurrences, numbers: Ints) -> Ints:
        """All are in memory."""
        return numbers

    def cut(
        self, ending: Ending, occurrences: Occurrences, span: Span, rng: np.random.Generator, mistakes: Score | None
    ) -> Traces:
        """Traces that end in a span."""
        own = self.history.types[ending.type].rows
        hard = None if mistakes is None else np.searchsorted(own, mistakes.alarms)
        return cut(self.history, ending, occurrences, span, rng, hard=hard)

    def scores(
        self, rules: Sequence[Rule], endings: Sequence[Ending], occurrences: Occurrences, span: Span
    ) -> list[Score]:
        """What rules find within a span: all are deployed in one engine, and events run through it once."""
        rows = firings(rules, self.history, span, max(map(look_back, rules), default=0))
        return [score(fired, self.history, each, occurrences) for fired, each in zip(rows, endings, strict=True)]

    def chance(
        self, found: Score, ending: Ending, occurrences: Occurrences, span: Span, rng: np.random.Generator
    ) -> float:
        """How likely what a rule found would be by chance: a permutation test."""
        events = self.history.types[ending.type]
        inside = (events.times >= span[0]) & (events.times < span[1])
        labelled = np.zeros(len(events), np.bool_)
        labelled[claimed(events, ending, occurrences)[1]] = True
        fired = np.concatenate([found.right, found.alarms])
        return p_value(np.isin(events.rows[inside], fired), labelled[inside], rng)


def look_back(rule: Rule) -> int:
    """How far before its terminator a learned rule looks at most, in microseconds: the sum of its windows.

    >>> from cepheus.language.tesla import parse
    >>> look_back(parse("define C() from A() and last B() within 5 s from A and not D() within 2 s from B").rules[0])
    7000000
    """
    return sum(node.duration for node in walk(rule) if isinstance(node, Within))
