"""Row patterns by their words: a second definition of what a query means, which shares no code with the first.

A pattern has words, sequences of variables and anchors, in the order in which they are preferred. The match from a row
is the first word that the rows from there on meet. It is slow, and for small tables only.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any

START, END, HIDE, SHOW = "^", "$", "{-", "-}"
EPOCH = dt.datetime(2026, 1, 1)
Pattern = tuple[Any, ...]
"""Its kind, then its parts: ``("rep", part, least, most, greedy)``."""
Rows = list[dict[str, Any]]
MOST_WORDS = 30_000


class TooManyWordsError(Exception):
    """A pattern has too many words to try them all."""


def words(p: Pattern, room: int) -> Iterator[tuple[str, ...]]:
    """The words with at most so many variables, the preferred one first."""
    kind = p[0]
    if kind == "var":
        if room > 0:
            yield (p[1],)
    elif kind == "mark":
        yield (p[1],)
    elif kind == "empty":
        yield ()
    elif kind == "seq":
        yield from _sequence(p[1], room)
    elif kind == "alt":
        for part in p[1]:
            yield from words(part, room)
    elif kind == "perm":
        for order in permutations(p[1]):
            yield from _sequence(list(order), room)
    elif kind == "hide":
        for word in words(p[1], room):
            yield (HIDE, *word, SHOW)
    elif kind == "rep":
        _, part, least, most, greedy = p
        yield from _repeated(part, least, most, greedy, room)
    else:
        raise AssertionError(kind)


def size(word: tuple[str, ...]) -> int:
    """How many rows a word takes."""
    return sum(each not in (START, END, HIDE, SHOW) for each in word)


def _sequence(parts: list[Pattern], room: int) -> Iterator[tuple[str, ...]]:
    if not parts:
        yield ()
        return
    for head in words(parts[0], room):
        for tail in _sequence(parts[1:], room - size(head)):
            yield (*head, *tail)


def _repeated(part: Pattern, least: int, most: float, greedy: bool, room: int) -> Iterator[tuple[str, ...]]:
    if least > 0:
        for head in words(part, room):
            for tail in _repeated(part, least - 1, most - 1, greedy, room - size(head)):
                yield (*head, *tail)
        return
    if not greedy:
        yield ()
    if most > 0:
        for head in words(part, room):
            if size(head) == 0:
                yield head  # without rows: the last one
                continue
            for tail in _repeated(part, 0, most - 1, greedy, room - size(head)):
                yield (*head, *tail)
    if greedy:
        yield ()


@dataclass
class View:
    """A match, or the beginning of one, in the rows of its partition, and the row at hand."""

    rows: Rows
    start: int
    labels: list[str]
    at: int
    number: int

    def taken(self, members: frozenset[str] | None, *, final: bool) -> list[int]:
        """The places of rows that variables took, up to the row at hand unless it is final."""
        end = len(self.labels) if final else self.at - self.start + 1
        return [
            self.start + k for k, label in enumerate(self.labels[: max(end, 0)]) if members is None or label in members
        ]

    def label(self, place: int | None) -> str | None:
        """The variable that took a row of the match."""
        if place is None or not self.start <= place < self.start + len(self.labels):
            return None
        return self.labels[place - self.start]


Fn = Callable[[View], Any]


class SkipFailsError(Exception):
    """The search cannot go on where AFTER MATCH SKIP says."""


@dataclass
class Oracle:
    """What a query means; conditions and measures are texts with functions, of which the functions count."""

    pattern: Pattern
    conditions: dict[str, tuple[str, Fn]]
    measures: list[tuple[str, Fn]]
    mode: str
    skip: tuple[str, ...]
    unspell: dict[str, str]
    scopes: dict[str, frozenset[str]]
    within: int | None
    partition: tuple[str, ...]
    tried: int = 0

    def of(self, rows: Rows) -> Rows:
        """What the query gives for rows in their order."""
        parts: dict[tuple[Any, ...], Rows] = {}
        for row in rows:
            parts.setdefault(tuple(row[name] for name in self.partition), []).append(row)
        return [given for part in parts.values() for given in self.of_partition(part)]

    def of_partition(self, rows: Rows) -> Rows:
        """What it gives for the rows of one partition."""
        self.tried = 0
        start, number = 0, 1
        seen: set[int] = set()
        found: list[tuple[int, int, dict[str, Any]]] = []
        while start < len(rows):
            word = self.match(rows, start, number)
            if word is None:
                start += 1
                continue
            labels = [each for each in word if each not in (START, END, HIDE, SHOW)]
            seen |= set(range(start, start + max(1, len(labels))))
            given = self.given(rows, start, word, labels, number)
            found += [(start, k, each) for k, each in enumerate(given)]
            number += 1
            start = self.next_start(start, labels)
        if "UNMATCHED" in self.mode:
            for place, row in enumerate(rows):
                if place not in seen:
                    found.append((place, 0, {**row, **{f"m{k}": None for k in range(len(self.measures))}}))
        found.sort(key=lambda each: each[:2])
        return [each for _, _, each in found]

    def match(self, rows: Rows, start: int, number: int) -> tuple[str, ...] | None:
        """The first word that the rows from one on meet."""
        for word in words(self.pattern, len(rows) - start):
            self.tried += 1
            if self.tried > MOST_WORDS:
                raise TooManyWordsError
            if self.holds(word, rows, start, number):
                return word
        return None

    def holds(self, word: tuple[str, ...], rows: Rows, start: int, number: int) -> bool:
        """Whether the rows from one on meet a word."""
        labels: list[str] = []
        for each in word:
            place = start + len(labels)
            if each == START:
                if place != 0:
                    return False
            elif each == END:
                if place != len(rows):
                    return False
            elif each not in (HIDE, SHOW):
                labels.append(each)
                if self.within is not None and rows[place]["t"] - rows[start]["t"] >= dt.timedelta(seconds=self.within):
                    return False
                if (
                    each in self.conditions
                    and self.conditions[each][1](View(rows, start, list(labels), place, number)) is not True
                ):
                    return False
        return True

    def given(self, rows: Rows, start: int, word: tuple[str, ...], labels: list[str], number: int) -> Rows:
        """The rows that a match gives."""

        def measured(at: int) -> dict[str, Any]:
            return {f"m{k}": f(View(rows, start, labels, at, number)) for k, (_, f) in enumerate(self.measures)}

        if "ALL ROWS" not in self.mode:
            key = {name: rows[start][name] for name in self.partition}
            return [{**key, **measured(start + len(labels) - 1)}]
        if not labels:
            return [] if "OMIT" in self.mode else [{**rows[start], **measured(start - 1)}]
        hidden, depth, place = set(), 0, 0
        for each in word:
            if each in (HIDE, SHOW):
                depth += 1 if each == HIDE else -1
            elif each not in (START, END):
                if depth:
                    hidden.add(place)
                place += 1
        return [{**rows[start + k], **measured(start + k)} for k in range(len(labels)) if k not in hidden]

    def next_start(self, start: int, labels: list[str]) -> int:
        """Where the search goes on after a match."""
        if not labels:
            return start + 1
        if not self.skip or self.skip[0] == "PAST":
            return start + len(labels)
        if self.skip[1:] == ("NEXT", "ROW"):
            return start + 1
        first = self.skip[1] == "FIRST"
        spelled = " ".join(self.skip[2:] if self.skip[1] in ("FIRST", "LAST") else self.skip[1:])
        members = self.scopes[self.unspell[spelled]]
        places = [k for k, label in enumerate(labels) if label in members]
        if not places or places[0 if first else -1] == 0:
            raise SkipFailsError
        return start + places[0 if first else -1]


def in_order(rows: Rows, order: str) -> Rows:
    """The rows by ORDER BY."""
    for key in reversed(order.split(", ")):
        name, *rest = key.split()
        nulls = [row for row in rows if row[name] is None]
        known = [row for row in rows if row[name] is not None]
        known.sort(key=lambda row: row[name], reverse="DESC" in rest)  # equal ones stay as they are
        rows = nulls + known if "FIRST" in rest else known + nulls
    return rows
