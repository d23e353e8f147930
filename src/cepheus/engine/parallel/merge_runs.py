"""The order of composite events that several engines found, compiled.

One engine alone gives the composite events of an input row in this order: those that the row itself completes, by the
order in which rules were deployed; then, for each of these in turn, those that it completes as an event of its own, and
so on. Every engine keeps to that order for the rules it has. Merging goes through the rows and does the same over all
engines. What it gives are runs: so many composite events, one after the other, of one engine.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from cepheus.engine.columns.memory import peek, poke
from cepheus.engine.parallel.compiled import compiled
from cepheus.plan.program import Words

_NO_ROW = 2**63 - 1


class Source(IntEnum):
    """Of what one engine found: how much, and the addresses of lineage, rules and the rules' ranks among all."""

    COUNT = 0
    LINEAGE = 1
    RULES = 2
    RANKS = 3


class Run(IntEnum):
    """Of a run: the engine, its first composite event, how many."""

    ENGINE = 0
    FIRST = 1
    LENGTH = 2


class Stop(IntEnum):
    """Why merging stopped: all is merged, the runs are full, or one row made more than the limit allows."""

    DONE = 0
    FULL = 1
    LIMIT = 2


DONE, FULL, LIMIT = map(int, Stop)
_COUNT, _LINEAGE, _RULES, _RANKS = map(int, Source)
_ENGINE, _FIRST, _LENGTH = map(int, Run)


@compiled
def merge_runs(sources: Words, cursors: Words, limit: int, runs: Words) -> tuple[int, int, int]:
    """Merge from where the cursors are, a whole number of rows; give how many runs, why it stopped, and the culprit.

    The culprit is the rank of the rule that went beyond the limit. If the runs are full before one row is done, there
    are none of them; come back with room for more.
    """
    engines = len(sources)
    used = 0
    at = np.zeros(engines, np.int64)
    while True:
        row = _NO_ROW
        alone = -1
        for engine in range(engines):
            at[engine] = cursors[engine]
            if cursors[engine] < sources[engine, _COUNT]:
                found = peek(sources[engine, _LINEAGE], cursors[engine])
                if found < row:
                    row, alone = found, engine
                elif found == row:
                    alone = -1
        if row == _NO_ROW:
            return used, DONE, 0
        if alone >= 0:
            end = _end_of_row(sources, alone, cursors[alone], row)
            if used > 0 and runs[used - 1, _ENGINE] == alone:
                runs[used - 1, _LENGTH] += end - cursors[alone]
            elif used < len(runs):
                _add(runs, used, alone, cursors[alone], end)
                used += 1
            else:
                return used, FULL, 0
            cursors[alone] = end
            continue
        now, culprit = _merge_row(sources, at, row, limit, runs, used)
        if culprit >= 0:
            return used, LIMIT, culprit
        if now < 0:
            return used, FULL, 0
        used = now
        for engine in range(engines):
            cursors[engine] = at[engine]


@compiled
def _end_of_row(sources: Words, engine: int, begin: int, row: int) -> int:
    """Give where the composite events of a row end: its own, and those that they complete in turn."""
    count, lineage = sources[engine, _COUNT], sources[engine, _LINEAGE]
    end = begin
    while end < count and (peek(lineage, end) == row or peek(lineage, end) < 0):
        end += 1
    return end


@compiled
def _add(runs: Words, place: int, engine: int, begin: int, end: int) -> None:
    runs[place, _ENGINE] = engine
    runs[place, _FIRST] = begin
    runs[place, _LENGTH] = end - begin


@compiled
def _merge_row(sources: Words, at: Words, row: int, limit: int, runs: Words, used: int) -> tuple[int, int]:
    """Merge one row that several engines have; give the number of runs then, -1 if full, and the culprit or -1."""
    first = used
    made = 0
    while True:
        best, best_rank = -1, _NO_ROW
        for engine in range(len(sources)):
            if at[engine] < sources[engine, _COUNT] and peek(sources[engine, _LINEAGE], at[engine]) == row:
                rank = _rank(sources, engine, at[engine])
                if rank < best_rank:
                    best, best_rank = engine, rank
        if best < 0:
            break
        begin = at[best]
        while (
            at[best] < sources[best, _COUNT]
            and peek(sources[best, _LINEAGE], at[best]) == row
            and _rank(sources, best, at[best]) == best_rank
        ):
            at[best] += 1
        made += at[best] - begin
        if made > limit:
            return used, best_rank
        if used == len(runs):
            return -1, -1
        _add(runs, used, best, begin, at[best])
        used += 1
    return _merge_following(sources, at, runs, first, used), -1


@compiled
def _rank(sources: Words, engine: int, event: int) -> int:
    return peek(sources[engine, _RANKS], peek(sources[engine, _RULES], event))


@compiled
def _merge_following(sources: Words, at: Words, runs: Words, first: int, used: int) -> int:
    """Add, for each composite event of the runs from ``first`` on, those that it completes; -1 if the runs are full."""
    number = first
    while number < used:
        engine = runs[number, _ENGINE]
        count, lineage = sources[engine, _COUNT], sources[engine, _LINEAGE]
        for event in range(runs[number, _FIRST], runs[number, _FIRST] + runs[number, _LENGTH]):
            begin = at[engine]
            if begin == count or peek(lineage, begin) >= 0:
                break
            while at[engine] < count and peek(lineage, at[engine]) == ~event:
                at[engine] += 1
            if at[engine] > begin:
                if used == len(runs):
                    return -1
                _add(runs, used, engine, begin, at[engine])
                used += 1
        number += 1
    return used


@compiled
def copy_runs(runs: Words, count: int, fields: Words, ranks: Words, target: int) -> None:
    """Put one field of the composite events of so many runs together at an address.

    ``fields`` has the address of the field in each engine, 0 in those that do not have it. ``ranks`` has for each
    engine the address of what stands for its words, 0 if they are copied as they are.
    """
    place = 0
    for run in range(count):
        engine, length = runs[run, _ENGINE], runs[run, _LENGTH]
        if fields[engine] != 0:
            begin = fields[engine] + 8 * runs[run, _FIRST]
            to = target + 8 * place
            if ranks[engine] == 0:
                for k in range(length):
                    poke(to, k, peek(begin, k))
            else:
                for k in range(length):
                    poke(to, k, peek(ranks[engine], peek(begin, k)))
        place += length


def length_of(runs: NDArray[np.int64]) -> int:
    """Give how many composite events are in runs."""
    return int(runs[:, _LENGTH].sum())
