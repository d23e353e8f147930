"""The columns engine on several threads, a slice of time each.

A batch is cut into slices, one for each thread. Rules remember no longer than their windows reach (``memory``), so
whoever processes a slice first takes in the events of so long before it, without evaluating any rule, and then finds
in the slice exactly what one engine would have found there. Nothing is dealt out and nothing merged: what was found
lies in one chunk for each slice, in order. The engine of the last slice knows all that later events can ask for, and
goes on as the engine; the others are emptied and follow it when the next batch is cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.errors import LimitError
from cepheus.core.options import DEFAULT_LIMIT
from cepheus.core.schema import Schema
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.engine.columns.engine import ColumnsEngine
from cepheus.engine.lowered.growth import forget_all
from cepheus.engine.lowered.intake import BatchWords
from cepheus.engine.lowered.timers import Timers
from cepheus.engine.parallel.merge import Workers
from cepheus.kernel.context import Input, State
from cepheus.kernel.memory import At
from cepheus.kernel.program import Words
from cepheus.kernel.state import TypeState
from cepheus.plan.split.memory import feed_one_another, memory
from cepheus.rules.model import AnyRule

LEAST_SLICE = 1 << 13
"""Events of a slice, at least: fewer are processed before a thread has begun."""

_MOST_TWICE = 0.5
"""How many events, for each one of a slice, may be taken in twice."""

_STORING = 0.5
"""What it costs to take an event in, for each that is processed, about."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Rows of a batch: processed from ``begin`` to ``end``, after those from ``before`` to ``begin`` were taken in."""

    before: int
    begin: int
    end: int


def cut(times: Words, memory: int, threads: int, *, is_first: bool) -> list[Slice]:
    """Cut events into slices of equal work; fewer than ``threads``, or one, where more would not pay.

    The first slice goes on from what came before the batch. The others need all that they remember to lie in the batch,
    unless it ``is_first``.

    >>> cut(np.arange(40_000), 2_000, 2, is_first=False)
    [Slice(before=0, begin=0, end=20499), Slice(before=18499, begin=20499, end=40000)]
    >>> cut(np.arange(40_000), 30_000, 2, is_first=False)
    [Slice(before=0, begin=0, end=40000)]
    """
    count = len(times)
    for slices in range(min(threads, count // LEAST_SLICE), 1, -1):
        twice = _rows_before(times, count - 1, memory)
        length = (count - _STORING * twice) / slices
        begins = [0, *(count - 1 - int(length * (slices - at)) for at in range(1, slices))]
        befores = [0, *(begin - _rows_before(times, begin, memory) for begin in begins[1:])]
        if not is_first and any(times[0] >= _before(int(times[begin]), memory) for begin in begins[1:]):
            continue
        if sum(begins) - sum(befores) <= _MOST_TWICE * length * (slices - 1):
            return [Slice(*each) for each in zip(befores, begins, [*begins[1:], count], strict=True)]
    return [Slice(0, 0, count)]


def _before(time: int, memory: int) -> int:
    return max(time - memory, MIN_TIME)


def _rows_before(times: Words, row: int, memory: int) -> int:
    """How many rows before a row matter to what it completes."""
    return row - int(np.searchsorted(times[: row + 1], _before(int(times[row]), memory)))


class SlicedEngine(ColumnsEngine):
    """The columns engine; it spreads large batches over so many ``threads`` where rules allow it.

    ``limit`` is the number of composite events that one event may make.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT, threads: int = 2) -> None:
        super().__init__(limit)
        self._workers = Workers(threads)
        self._followers: list[SlicedEngine] = []
        self._memory: tuple[object, int | None, bool] | None = None

    def deploy(self, rules: Sequence[AnyRule], schema: Schema) -> None:
        """Add rules, all or none; they see the events fed from now on."""
        super().deploy(rules, schema)
        self._memory = None

    def remembers(self) -> tuple[int | None, bool]:
        """How far back the rules remember, None for ever; and whether they look at what other rules make."""
        if self._memory is None or self._memory[0] is not self._program:
            rules = [lowered.resolved for lowered in self._order]
            self._memory = (self._program, memory(rules), feed_one_another(rules))
        return self._memory[1:]

    def feed(self, batch: EventBatch) -> EventBatch:
        """Process events in total order."""
        if self._workers.threads == 1 or len(batch) < 2 * LEAST_SLICE:
            return super().feed(batch)
        self._refresh()
        longest, hierarchy = self.remembers()
        slices = [] if longest is None else cut(batch.times, longest, self._workers.threads, is_first=self._fed == 0)
        if len(slices) < 2:
            return super().feed(batch)
        self._tidy()
        given = self.prepare(BatchWords(batch, self._fed, self._lowering.strings))
        self._fed += len(batch)
        self._timers.expect(int(batch.times[0]), int(batch.times[-1]))
        engines = [self, *self._led(len(slices) - 1)]
        found = self._workers.together(
            partial(engine._find_in, batch, given, part, hierarchy=hierarchy)
            for engine, part in zip(engines, slices, strict=True)
        )
        for engine, outcome in zip(engines, found, strict=True):
            if engine is not self:
                self._succeed(engine)
            if isinstance(outcome, LimitError):
                raise outcome
        return EventBatch.in_chunks([outcome for outcome in found if isinstance(outcome, EventBatch)])

    def _led(self, count: int) -> list[SlicedEngine]:
        """So many engines that have the rules of this one, and nothing stored."""
        while len(self._followers) < count:
            self._followers.append(SlicedEngine(self._limit, threads=1))
        for follower in self._followers[:count]:
            follower._follow(self)
        return self._followers[:count]

    def _find_in(self, batch: EventBatch, given: Input, part: Slice, *, hierarchy: bool) -> EventBatch | LimitError:
        """What is found in a slice, or the error of a limit that was exceeded there."""
        try:
            if part.before < part.begin:
                self._store(self._rows(batch, given, part.before, part.begin), evaluated=hierarchy)
            return self.collect(self._rows(batch, given, part.begin, part.end))
        except LimitError as beyond:
            return beyond

    def _rows(self, batch: EventBatch, given: Input, begin: int, end: int) -> Input:
        """Some rows of a batch as input."""
        part = self.narrowed(batch, given, begin, end)
        return part if part.rows is not None else replace(part, rows=np.arange(begin, end, dtype=np.int64))

    def _follow(self, leader: SlicedEngine) -> None:
        """Have the rules of another engine, whose tables this one uses, with nothing stored.

        Rows have numbers behind all that the other has stored, so that every rule sees them.
        """
        self._rules, self._lowering, self._intake = leader._rules, leader._lowering, leader._intake
        self._order, self._outlet, self._listening = leader._order, leader._outlet, leader._listening
        if self._program is not leader._program:
            self._flat, self._program, self._stale = leader._flat, leader._program, False
            self._state, self._context = State(), self._context.renewed()
            self._context.use_output(self._output)
            self._timers = Timers(self._context, self._state)
            self._tables_used = self._lowering.strings.tables
            self._context.use_strings(self._lowering.strings)
            self._fit()
        forget_all(self._context, self._state, leader._state.type_state[:, TypeState.NEXT])
        self._context[At.ORDER] = leader._context[At.ORDER]

    def _store(self, given: Input, *, evaluated: bool) -> None:
        """Take events in without giving what they complete; it is worked out where others may look at it."""
        ties = self._context.ties()
        self._context[At.STORES_ONLY], self._context[At.LIMIT] = not evaluated, MAX_TIME
        self.find(given, lent=True)
        self._context[At.STORES_ONLY], self._context[At.LIMIT] = 0, self._limit
        self._context.set_ties(ties)

    def _succeed(self, follower: SlicedEngine) -> None:
        """Go on from where a follower has come; it gets this engine's space for the next time."""
        follower._context.pass_time(self._context)
        follower._timers.latest, follower._timers.promised = self._timers.latest, self._timers.promised
        for own in ("_context", "_state", "_scratch", "_output", "_timers", "_tables_used"):
            mine = getattr(self, own)
            setattr(self, own, getattr(follower, own))
            setattr(follower, own, mine)
