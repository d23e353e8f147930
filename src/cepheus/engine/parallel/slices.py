"""The columns engine on several threads, a slice of time each.

A batch is cut into slices, one for each thread. Rules remember no longer than their windows reach (``memory``), so
whoever processes a slice first takes in the events of so long before it, without evaluating any rule, and then finds
in the slice exactly what one engine would have found there. Nothing is dealt out and nothing merged: what was found
lies in one chunk for each slice, in order. The engine of the last slice knows all that later events can ask for, and
goes on as the engine; the others are emptied and follow it when the next batch is cut.

Where windows reach back too far for that, but hold so much that evaluating costs many times what storing does, every
engine begins with a copy of what is stored, and takes in all events of the batch that come before its slice.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from time import thread_time

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
from cepheus.kernel.context import Input
from cepheus.kernel.memory import At
from cepheus.kernel.program import Words
from cepheus.kernel.state import TypeState
from cepheus.plan.split.memory import feed_one_another, leave_no_trace, memory
from cepheus.rules.model import AnyRule

LEAST_SLICE = 1 << 13
"""Events of a slice, at least: fewer are processed before a thread has begun."""

LEAST_LOOK = 256
"""Batches with fewer events are left to one thread without a look at what they cost."""

_MOST_TWICE = 0.5
"""How many events, for each one of a slice, may be taken in twice."""

_STORING = 0.5
"""What it costs to take an event in, for each that is processed, about."""

_LOOKED_AT = 16
"""One event of so many is processed by one thread first, to see what they cost."""

_LEAST_GAIN = 1e-3
"""Seconds that copies of what is stored must save, about, to be made."""

_STARTING = 2e-4
"""Seconds that a run takes whose events cost nothing, about."""

_TAKING_IN = 6e-8
"""Seconds that it takes to take an event in, about."""

_LEAST_SHARE = 0.75
"""The longest slice is no longer than this share of the events; else copies are not worth their room."""

_LEAST_TAKING_IN = 1e-3
"""What it costs at least to take an event in, for each that is processed."""

_COPYING = 5e-10
"""Seconds that it takes to copy a word, about."""


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


def cut_after(count: int, threads: int, cost: float, *, stored: int = 0) -> list[Slice]:
    """Cut so many events, each of which costs so many seconds, into slices that take in all events before them.

    Later slices are the shorter, by what they take in. One slice is given where more would not pay, be it because of
    the time that it takes to copy the words that are ``stored``.

    >>> [(part.before, part.begin, part.end) for part in cut_after(1000, 2, 50e-6)]
    [(0, 0, 500), (0, 500, 1000)]
    >>> [(part.before, part.begin, part.end) for part in cut_after(200_000, 2, 200e-9)]
    [(0, 0, 117647), (0, 117647, 200000)]
    >>> len(cut_after(200_000, 2, 50e-9))
    1
    """
    taking_in = max(_LEAST_TAKING_IN, min(1.0, _TAKING_IN / cost)) if cost > 0 else 1.0
    first = count * taking_in / (1.0 - (1.0 - taking_in) ** threads)
    copying = threads * stored * _COPYING
    if threads < 2 or (count - first) * cost - copying < _LEAST_GAIN or first > _LEAST_SHARE * count:
        return [Slice(0, 0, count)]
    ends = [0]
    for _ in range(threads - 1):
        ends.append(min(count, int(ends[-1] * (1.0 - taking_in) + first)))
    return [Slice(0, begin, end) for begin, end in zip(ends, [*ends[1:], count], strict=True) if begin < end]


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
        self._memory: tuple[object, int | None, bool, bool] | None = None
        self._cost: float | None = None

    def deploy(self, rules: Sequence[AnyRule], schema: Schema) -> None:
        """Add rules, all or none; they see the events fed from now on."""
        super().deploy(rules, schema)
        self._memory = None

    def remembers(self) -> tuple[int | None, bool, bool]:
        """How far back the rules remember, None for ever; whether they look at what other rules make.

        And whether what they find makes no difference to what is found later.
        """
        if self._memory is None or self._memory[0] is not self._program:
            rules = [lowered.resolved for lowered in self._order]
            self._memory = (self._program, memory(rules), feed_one_another(rules), leave_no_trace(rules))
        return self._memory[1:]

    def feed(self, batch: EventBatch) -> EventBatch:
        """Process events in total order."""
        if self._workers.threads == 1:
            return super().feed(batch)
        self._refresh()
        longest, hierarchy, traceless = self.remembers()
        slices: list[Slice] = []
        if longest is not None and len(batch) >= 2 * LEAST_SLICE:
            slices = cut(batch.times, longest, self._workers.threads, is_first=self._fed == 0)
        if len(slices) < 2 and not (traceless and self._is_worth_a_look(len(batch))):
            return self._feed_alone(batch)
        self._tidy()
        given = self.prepare(BatchWords(batch, self._fed, self._lowering.strings))
        self._fed += len(batch)
        self._timers.expect(int(batch.times[0]), int(batch.times[-1]), batch.times)
        if len(slices) < 2:
            return EventBatch.in_chunks(self._with_copies(batch, given))
        return EventBatch.in_chunks(self._find(batch, given, slices, self._led(len(slices) - 1), hierarchy=hierarchy))

    def _is_worth_a_look(self, count: int) -> bool:
        """Whether so many events may cost enough for several threads, by what those of the last batch have cost."""
        return count >= LEAST_LOOK and (self._cost is None or count * self._cost >= 2 * _LEAST_GAIN)

    def _feed_alone(self, batch: EventBatch) -> EventBatch:
        """Process events by one thread, and note what they cost."""
        started = thread_time()
        try:
            return super().feed(batch)
        finally:
            self._note_cost(started, len(batch))

    def _note_cost(self, started: float, count: int) -> None:
        """Note what events cost that this thread has been at work on since then; of a few that tells nothing."""
        if count >= LEAST_LOOK:
            self._cost = max(0.0, thread_time() - started - _STARTING) / count

    def _with_copies(self, batch: EventBatch, given: Input) -> list[EventBatch]:
        """What is found in a batch, by as many threads as are worth it.

        Unless the last batch tells what events cost, one thread finds that out with the first events.
        """
        slices = self._cut_after(0, len(batch))
        found: list[EventBatch] = []
        if len(slices) < 2:
            begin = max(1, len(batch) // _LOOKED_AT)
            started = thread_time()
            found.append(self.collect(self._rows(batch, given, Slice(0, 0, begin))[0]))
            self._cost = max(self._cost or 0.0, (thread_time() - started - _STARTING) / begin)
            slices = self._cut_after(begin, len(batch))
        return [*found, *self._find(batch, given, slices, self._led(len(slices) - 1, copying=True), hierarchy=False)]

    def _cut_after(self, begin: int, end: int) -> list[Slice]:
        """Cut some rows into slices that take in all of them that come before, by what is known of their cost."""
        stored = self._state.words(self._context.used())
        parts = cut_after(end - begin, self._workers.threads, self._cost or 0.0, stored=stored)
        return [Slice(begin, begin + part.begin, begin + part.end) for part in parts]

    def _find(
        self, batch: EventBatch, given: Input, slices: Sequence[Slice], led: Sequence[SlicedEngine], *, hierarchy: bool
    ) -> list[EventBatch]:
        """What is found in slices, by this engine in the first and by those that it leads in the others."""
        engines = [self, *led]
        found = self._workers.together(
            partial(engine._find_in, batch, given, part, hierarchy=hierarchy)
            for engine, part in zip(engines, slices, strict=True)
        )
        for engine, outcome in zip(engines, found, strict=True):
            if engine is not self:
                self._succeed(engine)
            if isinstance(outcome, LimitError):
                raise outcome
        return [outcome for outcome in found if isinstance(outcome, EventBatch)]

    def _led(self, count: int, *, copying: bool = False) -> list[SlicedEngine]:
        """So many engines that have the rules of this one, and nothing stored or a copy of what it has."""
        if copying or any(follower._program is not self._program for follower in self._followers):
            self._followers = []
        while len(self._followers) < count:
            self._followers.append(self._follower(copying=copying))
        for follower in self._followers if not copying else ():
            # rows have numbers behind all that this one has stored, so that every rule sees them
            forget_all(follower._context, follower._state, self._state.type_state[:, TypeState.NEXT])
            follower._context[At.ORDER] = self._context[At.ORDER]
        return self._followers[:count]

    def _follower(self, *, copying: bool) -> SlicedEngine:
        """An engine that has the rules of this one, whose tables it uses, and as much room for what is stored.

        What is stored here is there as well if it is ``copying``.
        """
        follower = copy(self)
        follower._followers = []
        follower._state = self._state.copied(self._context.used()) if copying else self._state.emptied()
        follower._scratch, follower._output = self._scratch.copied(), self._output.renewed()
        follower._context = self._context.copied()
        follower._context.use_state(follower._state)
        follower._context.use_scratch(follower._scratch)
        follower._context.use_output(follower._output)
        follower._timers = Timers(follower._context, follower._state)
        return follower

    def _find_in(self, batch: EventBatch, given: Input, part: Slice, *, hierarchy: bool) -> EventBatch | LimitError:
        """What is found in a slice, or the error of a limit that was exceeded there."""
        given, begin = self._rows(batch, given, part)
        try:
            if part.before < part.begin:
                self._store(replace(given, end=begin), evaluated=hierarchy)
            started = thread_time()
            found = self.collect(replace(given, begin=begin))
            self._note_cost(started, part.end - part.begin)
        except LimitError as beyond:
            return beyond
        return found

    def _rows(self, batch: EventBatch, given: Input, part: Slice) -> tuple[Input, int]:
        """The rows of a slice as input, with those before it, and where it begins among them."""
        narrowed = self.narrowed(batch, given, part.before, part.end)
        if narrowed.rows is None:
            return replace(given, begin=part.before, end=part.end), part.begin
        return narrowed, int(np.searchsorted(narrowed.rows, part.begin))

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
