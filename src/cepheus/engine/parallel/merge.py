"""Work done by several engines at once, and what they found put together as one engine would have given it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from enum import IntEnum
from functools import partial
from typing import Protocol, TypeVar

import numpy as np

from cepheus.engine.lowered.outlet import Found, Gathered
from cepheus.kernel.compiled import compiled
from cepheus.kernel.memory import address, peek, poke
from cepheus.kernel.output import addresses_of, field_words
from cepheus.kernel.program import Words
from cepheus.kernel.state import GatheredField, GatheringField, OutputHeader

_NO_ROW = 2**63 - 1
_FEW_RUNS = 1 << 12


class Source(IntEnum):
    """Of what one engine found: how much, and the addresses of lineage, rules and the rules' ranks among all."""

    COUNT = 0
    LINEAGE = 1
    RULES = 2
    RANKS = 3


_COUNT, _LINEAGE, _RULES, _RANKS = map(int, Source)
_ENGINE, _FIRST, _LENGTH = 0, 1, 2  # of a run: the engine, its first composite event, how many
_DONE, _FULL, _LIMIT = 0, 1, 2

NO_CULPRIT = -1


@compiled
def first_of_row(lineage: int, count: int, row: int) -> int:
    """Find the first of so many composite events that a row, or one after it, completed itself."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        direct = middle
        while direct >= low and peek(lineage, direct) < 0:
            direct -= 1
        if direct >= low and peek(lineage, direct) >= row:
            high = direct
        else:
            low = middle + 1
    return low


@compiled
def row_of(lineage: int, event: int) -> int:
    """The row that a composite event goes back to."""
    while peek(lineage, event) < 0:
        event -= 1
    return peek(lineage, event)


@compiled
def merge_part(
    sources: Words, cursors: Words, ends: Words, limit: int, fields: Words, ranks: Words, targets: Words
) -> int:
    """Merge what lies between the cursors and the ends, field by field, into the targets.

    ``fields`` has, by field and engine, the address of the field, 0 where an engine has none; ``ranks``, by field and
    engine, the address of what stands for its words, 0 where they are copied as they are. Gives the rank of the rule by
    which a row made more than the limit, or NO_CULPRIT.
    """
    runs = np.zeros((_FEW_RUNS, 3), np.int64)
    at = np.zeros(len(sources), np.int64)
    place = 0
    while True:
        used, stop, culprit = _merge_runs(sources, cursors, ends, at, limit, runs)
        if stop == _LIMIT:
            return culprit
        length = 0
        for field in range(len(fields)):
            length = _copy(runs, used, fields, ranks, field, targets[field] + 8 * place)
        place += length
        if stop == _DONE:
            return NO_CULPRIT
        if used == 0:
            runs = np.zeros((2 * len(runs), 3), np.int64)


@compiled
def _merge_runs(
    sources: Words, cursors: Words, ends: Words, at: Words, limit: int, runs: Words
) -> tuple[int, int, int]:
    """Find runs from where the cursors are, for a whole number of rows; give how many, why it stopped, the culprit.

    If the runs are full before one row is done, there are none of them.
    """
    engines = len(sources)
    used = 0
    while True:
        row, alone = _NO_ROW, -1
        for engine in range(engines):
            at[engine] = cursors[engine]
            if cursors[engine] < ends[engine]:
                found = peek(sources[engine, _LINEAGE], cursors[engine])
                if found < row:
                    row, alone = found, engine
                elif found == row:
                    alone = -1
        if row == _NO_ROW:
            return used, _DONE, 0
        if alone >= 0:
            end = _end_of_row(sources[alone, _LINEAGE], cursors[alone], ends[alone], row)
            if used > 0 and runs[used - 1, _ENGINE] == alone:
                runs[used - 1, _LENGTH] += end - cursors[alone]
            elif used < len(runs):
                _add(runs, used, alone, cursors[alone], end)
                used += 1
            else:
                return used, _FULL, 0
            cursors[alone] = end
            continue
        now, culprit = _merge_row(sources, at, ends, row, limit, runs, used)
        if culprit >= 0:
            return used, _LIMIT, culprit
        if now < 0:
            return used, _FULL, 0
        used = now
        for engine in range(engines):
            cursors[engine] = at[engine]


@compiled
def _end_of_row(lineage: int, begin: int, count: int, row: int) -> int:
    """Where the composite events of a row end: its own, and those that they complete in turn."""
    end = begin + 1
    while end < count and (peek(lineage, end) == row or peek(lineage, end) < 0):
        end += 1
    return end


@compiled
def _add(runs: Words, place: int, engine: int, begin: int, end: int) -> None:
    runs[place, _ENGINE] = engine
    runs[place, _FIRST] = begin
    runs[place, _LENGTH] = end - begin


@compiled
def _merge_row(sources: Words, at: Words, ends: Words, row: int, limit: int, runs: Words, used: int) -> tuple[int, int]:
    """Merge one row that several engines have; give the number of runs then, -1 if full, and the culprit or -1."""
    first = used
    made = 0
    while True:
        best, best_rank = -1, _NO_ROW
        for engine in range(len(sources)):
            if at[engine] < ends[engine] and peek(sources[engine, _LINEAGE], at[engine]) == row:
                rank = _rank(sources, engine, at[engine])
                if rank < best_rank:
                    best, best_rank = engine, rank
        if best < 0:
            break
        begin = at[best]
        end = begin + 1
        lineage, rules = sources[best, _LINEAGE], sources[best, _RULES]
        rule = peek(rules, begin)
        while end < ends[best] and peek(lineage, end) == row and peek(rules, end) == rule:
            end += 1
        at[best] = end
        made += end - begin
        if made > limit:
            return used, best_rank
        if used == len(runs):
            return -1, -1
        _add(runs, used, best, begin, end)
        used += 1
    return _merge_following(sources, at, ends, runs, first, used), -1


@compiled
def _rank(sources: Words, engine: int, event: int) -> int:
    return peek(sources[engine, _RANKS], peek(sources[engine, _RULES], event))


@compiled
def _merge_following(sources: Words, at: Words, ends: Words, runs: Words, first: int, used: int) -> int:
    """Add, for each composite event of the runs from ``first`` on, those that it completes; -1 if the runs are full."""
    number = first
    while number < used:
        engine = runs[number, _ENGINE]
        end, lineage = ends[engine], sources[engine, _LINEAGE]
        for event in range(runs[number, _FIRST], runs[number, _FIRST] + runs[number, _LENGTH]):
            begin = at[engine]
            if begin == end or peek(lineage, begin) >= 0:
                break
            while at[engine] < end and peek(lineage, at[engine]) == ~event:
                at[engine] += 1
            if at[engine] > begin:
                if used == len(runs):
                    return -1
                _add(runs, used, engine, begin, at[engine])
                used += 1
        number += 1
    return used


@compiled
def _copy(runs: Words, used: int, fields: Words, ranks: Words, field: int, target: int) -> int:
    """Put one field of the composite events of so many runs together at an address; give how many they are."""
    place = 0
    for run in range(used):
        engine, length = runs[run, _ENGINE], runs[run, _LENGTH]
        source, stands = fields[field, engine], ranks[field, engine]
        if source != 0:
            begin = source + 8 * runs[run, _FIRST]
            to = target + 8 * place
            if stands == 0:
                for k in range(length):
                    poke(to, k, peek(begin, k))
            else:
                for k in range(length):
                    poke(to, k, peek(stands, peek(begin, k)))
        place += length
    return place


_WORTH_A_PART = 1 << 14
"""Fewer composite events than this are merged by one thread."""


class TooManyError(Exception):
    """A row made more composite events than the limit allows; ``rank`` is that of the rule that went beyond."""

    def __init__(self, rank: int) -> None:
        super().__init__(rank)
        self.rank = rank


class Merged:
    """Composite events on their way into one order: a row for each field, with room for more."""

    def __init__(self, width: int) -> None:
        self._fields = field_words(width, 0)
        self._gathered: list[Words] = []
        self._types: dict[str, int] = {}
        self.count = 0

    def fields(self) -> Words:
        """The fields of all that has been added."""
        return self._fields[:, : self.count]

    def gathered(self) -> Gathered | None:
        """The members of collections that have been added, None for nobody."""
        return Gathered(np.concatenate(self._gathered), tuple(self._types)) if self._gathered else None

    def _gather(self, found: Found) -> None:
        """Put the members of collections that one engine found behind those of others, where its fields say then."""
        if found.gathered is None:
            return
        rows, begin = found.gathered.rows.copy(), sum(map(len, self._gathered))
        codes = [self._types.setdefault(name, len(self._types)) for name in found.gathered.types]
        rows[:, GatheredField.TYPE] = np.array(codes, np.int64)[rows[:, GatheredField.TYPE]]
        self._gathered.append(rows)
        for number, shape in enumerate(found.outlet.shapes):
            for place in (GatheringField.BEGIN, GatheringField.MIDDLE, GatheringField.END) if shape.gathers else ():
                found.fields[shape.end + place][found.rule == number] += begin

    def expect(self, count: int) -> None:
        """Have room for about so many composite events in all, or some more."""
        width, size = self._fields.shape
        if count > size:
            larger = field_words(width, count + count // 4)
            larger[:, : self.count] = self.fields()
            self._fields = larger

    def add(self, parts: Sequence[tuple[Found, Words]], limit: int, threads: int, together: Together) -> None:
        """Merge what several engines found in the same rows, each given with the ranks of its rules.

        TooManyError if a row made more composite events than the limit allows.
        """
        sources = np.zeros((len(parts), len(Source)), np.int64)
        fields = np.zeros((len(self._fields), len(parts)), np.int64)
        ranks = np.zeros_like(fields)
        for number, (found, rank) in enumerate(parts):
            self._gather(found)
            own = found.fields[:-1][: len(fields)]  # a rule that was withdrawn may have had more
            sources[number] = len(found), address(found.fields[-1]), address(found.rule), address(rank)
            fields[: len(own), number] = addresses_of(own)
            ranks[OutputHeader.RULE, number] = address(rank)
        total = int(sources[:, Source.COUNT].sum())
        self.expect(self.count + total)
        cuts = _cuts(sources, max(1, min(threads, total // _WORTH_A_PART)))
        targets = addresses_of(self._fields)
        tasks = [
            partial(
                merge_part, sources, begin, end, limit, fields, ranks, targets + 8 * (self.count + int(begin.sum()))
            )
            for begin, end in zip([cut.copy() for cut in cuts], cuts[1:], strict=False)
        ]
        for culprit in together(tasks):
            if culprit != NO_CULPRIT:
                raise TooManyError(culprit)
        self.count += total


def _cuts(sources: Words, parts: int) -> list[Words]:
    """Cut what was found between rows into parts of about the same size; give where they begin, and the end."""
    largest = int(sources[:, Source.COUNT].argmax())
    counts = sources[:, Source.COUNT]
    cuts = [np.zeros(len(sources), np.int64)]
    for part in range(1, parts):
        row = row_of(int(sources[largest, Source.LINEAGE]), int(counts[largest]) * part // parts)
        places = [first_of_row(int(source[Source.LINEAGE]), int(source[Source.COUNT]), row) for source in sources]
        cuts.append(np.array(places, np.int64))
    return [*cuts, counts.copy()]


T = TypeVar("T")


class Together(Protocol):
    """Does all of some tasks and gives their results."""

    def __call__(self, tasks: Iterable[Callable[[], T]]) -> list[T]:
        """Do them."""


class Workers:
    """So many threads, the one that asks among them; the others are started when there is first something to do."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None

    def together(self, tasks: Iterable[Callable[[], T]]) -> list[T]:
        """Do all of the tasks and give their results; if some fail, the first failure after all have ended."""
        waiting = list(tasks)
        if self.threads == 1 or len(waiting) < 2:
            return in_turn(waiting)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="cepheus")
        begun = [self._pool.submit(task) for task in waiting[1:]]
        futures = [_done(waiting[0])]
        for task, future in zip(waiting[1:], begun, strict=True):  # what nobody has begun is done here as well
            futures.append(_done(task) if future.cancel() else future)
        failures = [failure for future in futures if (failure := future.exception()) is not None]
        if failures:
            raise failures[0]
        return [future.result() for future in futures]


def _done(task: Callable[[], T]) -> Future[T]:
    """A task that has been done by this thread: its result or its failure."""
    future: Future[T] = Future()
    try:
        future.set_result(task())
    except BaseException as failure:
        future.set_exception(failure)
    return future


def in_turn(tasks: Iterable[Callable[[], T]]) -> list[T]:
    """Do the tasks one after the other: where there is little to do, threads cost more than they save."""
    return [task() for task in tasks]
