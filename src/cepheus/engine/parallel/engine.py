"""The columns engine on several threads: engines that share the work, and answers put together in order.

Rules that feed one another run together. Where all events that such rules bring together have a key in common, events
are dealt out by that key to one engine per thread; other rules are spread over the threads, rule by rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.errors import CepheusError, OptionError, UnsupportedError
from cepheus.core.event import Event
from cepheus.core.schema import Schema
from cepheus.core.time import MIN_TIME
from cepheus.engine.columns.engine import ColumnsEngine
from cepheus.engine.columns.intake import BatchWords
from cepheus.engine.columns.outlet import Found, Outlet, to_batch
from cepheus.engine.columns.snapshot import Saved
from cepheus.engine.columns.state import OUTPUT_HEADER, Input
from cepheus.engine.columns.texts import TextCensus
from cepheus.engine.families import tesla_rules
from cepheus.engine.limits import DEFAULT_LIMIT, too_many_composites
from cepheus.engine.parallel.groups import Group, Place, place
from cepheus.engine.parallel.keys import KeyColumns, KeyWords
from cepheus.engine.parallel.merge import TooManyError, alone, merge
from cepheus.engine.parallel.snapshot import SavedGroup, SavedGroups, read, write
from cepheus.engine.parallel.workers import Workers, in_turn
from cepheus.plan.program import Words
from cepheus.plan.strings import StringTable
from cepheus.rules.model import AnyRule, Rule

_WORTH_THREADS = 512
"""Fewer events than this are processed by one engine after the other."""


class ParallelEngine:
    """Runs rules in several columns engines at once.

    ``limit`` is the number of composite events that one event may make. Rules are spread over so many ``threads``; an
    engine that takes over a snapshot keeps the shards of that, whatever its own number of threads.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT, threads: int = 2) -> None:
        self._limit = limit
        self._workers = Workers(threads)
        self._begin(StringTable(), threads)

    def _begin(self, strings: StringTable, shards: int) -> None:
        self._strings = strings
        self._shards = shards
        self._census = TextCensus()
        self._groups: list[Group] = []
        self._order: dict[str, Rule] = {}
        self._fed = 0
        self._ranking: _Ranking | None = None

    @property
    def name(self) -> str:
        """The name of the engines that do the work."""
        return ColumnsEngine.name

    def _engine(self) -> ColumnsEngine:
        return ColumnsEngine(self._limit, strings=self._strings, traced=True)

    def deploy(self, rules: Sequence[AnyRule], schema: Schema) -> None:
        """Add rules, all or none; they see the events fed from now on.

        OptionError if rules bring together what runs in different threads already.
        """
        added = tesla_rules(rules, self.name)
        for rule in added:
            if str(rule.name) in self._order:
                raise OptionError.of(
                    "deploy", f"a rule named '{rule.name}' is already deployed", hint="withdraw it first"
                )
        places = place(added, self._groups, self._shards, self._engine)
        done: list[tuple[ColumnsEngine, Place]] = []
        try:
            for found in places:
                for engine in found.group.engines:
                    engine.deploy(found.rules, schema)
                    done.append((engine, found))
        except CepheusError:
            for engine, found in done:
                for rule in found.rules:
                    engine.withdraw(str(rule.name))
            raise
        for found in places:
            found.group.keys = found.keys
            found.group.know((*found.group.rules.values(), *found.rules))
            if found.group not in self._groups:
                self._groups.append(found.group)
        self._order |= {str(rule.name): rule for rule in added}
        self._ranking = None

    def withdraw(self, name: str) -> None:
        """Remove a rule and all it remembers."""
        group = next((group for group in self._groups if name in group.rules), None)
        if group is None:
            raise OptionError.of("withdraw", f"no rule named '{name}' is deployed")
        for engine in group.engines:
            engine.withdraw(name)
        group.know(rule for other, rule in group.rules.items() if other != name)
        if not group.rules:
            self._groups.remove(group)
        del self._order[name]
        self._ranking = None

    def feed(self, batch: EventBatch) -> EventBatch:
        """Process events in total order."""
        self._tidy()
        given = BatchWords(batch, self._fed, self._strings)
        self._fed += len(batch)
        together = self._workers.together if len(batch) >= _WORTH_THREADS else in_turn
        inputs = {engine: engine.prepare(given) for group in self._groups for engine in group.engines}
        keys = KeyWords(given)
        parts = _parts(len(batch), self._workers.threads)
        dealt = {
            group: [
                partial(_deal, group, batch, inputs[group.engines[0]], KeyColumns(batch, group.keys, keys), part)
                for part in parts
            ]
            for group in self._groups
            if group.keys is not None
        }
        rows = together(task for tasks in dealt.values() for task in tasks)
        tasks = []
        for group in self._groups:
            if group.keys is None:
                (engine,) = group.engines
                tasks.append(partial(_find_all, engine, batch, inputs[engine]))
                continue
            own, rows = rows[: len(parts)], rows[len(parts) :]
            for number, engine in enumerate(group.engines):
                tasks.append(partial(_find, engine, inputs[engine], [part[number] for part in own]))
        found = self._join(together(tasks))
        return EventBatch.empty() if found is None else to_batch(found)

    def _join(self, found: Sequence[Found | None]) -> Found | None:
        """Put together what the engines found, as one engine with all rules would have found it."""
        parts = [part for part in found if part is not None]
        if not parts:
            return None
        if self._ranking is None:
            self._ranking = _Ranking(self._groups, self._order)
        ranking = self._ranking
        if len(parts) == 1:
            return alone(parts[0], ranking.of(parts[0]), ranking.outlet, ranking.width)
        ranked = [(part, ranking.of(part)) for part in parts]
        together = self._workers.together if sum(map(len, parts)) >= _WORTH_THREADS else in_turn
        try:
            return merge(ranked, ranking.outlet, ranking.width, self._limit, self._strings, together)
        except TooManyError as beyond:
            rule = self._order[ranking.outlet.names[beyond.rank]]
            raise too_many_composites(rule, self._limit) from None

    def feed_event(self, event: Event) -> list[Event]:
        """Process one event."""
        self._tidy()
        position = self._fed
        self._fed += 1
        found = [
            part
            for group in self._groups
            if event.type in group.looked and (part := group.engine_for(event).find_event(event, position)) is not None
        ]
        if not found:
            return []
        joined = self._join(found) if len(found) > 1 else found[0]
        return [] if joined is None else joined.events()

    def advance(self, time: int) -> EventBatch:
        """Forget what no window can reach any more."""
        for group in self._groups:
            for engine in group.engines:
                engine.advance(time)
        return EventBatch.empty()

    @property
    def bytes_held(self) -> int:
        """Bytes of the arrays that hold stored events."""
        return sum(engine.bytes_held for group in self._groups for engine in group.engines)

    def _tidy(self) -> None:
        """Free the texts that no engine needs, now and then."""
        if not self._census.is_due(self._strings):
            return
        live = np.zeros(len(self._strings), np.bool_)
        engines = [engine for group in self._groups for engine in group.engines]
        for engine in engines:
            engine.mark_texts(live)
        self._strings = self._strings.keeping(live)
        for engine in engines:
            engine.use_texts(self._strings)
        self._census.taken(self._strings)

    def saved(self) -> Saved:
        """Give what one engine with all the rules would put into a snapshot.

        UnsupportedError once events are spread over several engines: in which order they came is not known any more.
        """
        engines = [engine for group in self._groups for engine in group.engines]
        states = [engine.saved() for engine in engines]
        if len(states) == 1:
            return states[0]
        if self._fed:
            raise UnsupportedError.of(
                "unsupported",
                "what several threads remember cannot move to an engine for uncertain events",
                hint="run with threads=1, or let the first event or rule be an uncertain one",
            )
        rules = {str(deployed.rule.name): replace(deployed, since={}) for state in states for deployed in state.rules}
        return Saved(tuple(rules[name] for name in self._order), (), self._strings.texts, 0, MIN_TIME)

    def snapshot(self) -> bytes:
        """Give the rules, how they are spread, and what each engine remembers."""
        groups = [SavedGroup(group.keys, tuple(engine.saved() for engine in group.engines)) for group in self._groups]
        return write(SavedGroups(self._shards, self._fed, tuple(self._order), self._strings.texts, tuple(groups)))

    def restore(self, data: bytes) -> None:
        """Take over a snapshot, of an engine on one thread or on any number of them."""
        saved = read(data)
        self._begin(StringTable(saved.texts), saved.shards or self._workers.threads)
        self._fed = saved.fed
        rules: dict[str, Rule] = {}
        for part in saved.groups:
            group = Group([self._engine() for _ in part.engines], part.keys)
            for engine, state in zip(group.engines, part.engines, strict=True):
                engine.take_over(state, self._strings)
            group.know(deployed.rule for deployed in part.engines[0].rules)
            rules |= group.rules
            self._groups.append(group)
        self._order = {name: rules[name] for name in saved.order}


class _Ranking:
    """All rules in the order of their deployment, and the ranks among them of the rules of each engine."""

    def __init__(self, groups: Sequence[Group], order: Iterable[str]) -> None:
        lowered = {rule.name: rule for group in groups for rule in group.engines[0].lowered_rules}
        rules = [lowered[name] for name in order]
        self.outlet = Outlet(rules)
        self.width = OUTPUT_HEADER + max((rule.stride for rule in rules), default=0)
        self._ranks = {rule.name: rank for rank, rule in enumerate(rules)}
        self._known: dict[Outlet, Words] = {}

    def of(self, found: Found) -> Words:
        """Give the ranks of the rules of the engine that found this."""
        if found.outlet not in self._known:
            self._known[found.outlet] = np.array([self._ranks[name] for name in found.outlet.names], np.int64)
        return self._known[found.outlet]


def _parts(count: int, threads: int) -> list[tuple[int, int]]:
    """Cut so many rows into equal parts, one for each thread."""
    bounds = np.linspace(0, count, min(threads, count // _WORTH_THREADS + 1) + 1).astype(int).tolist()
    return list(pairwise(bounds))


def _deal(group: Group, batch: EventBatch, given: Input, keys: KeyColumns, part: tuple[int, int]) -> list[Words]:
    """Deal the rows of a part of a batch that can concern some rule out to the engines of a group."""
    rows = group.engines[0].relevant_rows(batch, given, *part)
    return keys.deal(np.arange(*part, dtype=np.int64) if rows is None else rows, len(group.engines))


def _find(engine: ColumnsEngine, given: Input, rows: Sequence[Words]) -> Found | None:
    """Let an engine process some rows of a batch."""
    given.rows = np.concatenate(rows)
    return engine.find(given) if len(given.rows) else None


def _find_all(engine: ColumnsEngine, batch: EventBatch, given: Input) -> Found | None:
    """Let an engine process all rows of a batch that can concern its rules."""
    given.rows = engine.relevant_rows(batch, given)
    return engine.find(given)
