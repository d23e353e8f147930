"""The columns engine on several threads: engines that share the work, and answers put together in order.

Rules that feed one another run together. Where all events that such rules bring together have a key in common, events
are dealt out by that key to one engine per thread; other rules are spread over the threads, rule by rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.errors import CepheusError, OptionError, UnsupportedError
from cepheus.core.event import Event
from cepheus.core.options import DEFAULT_LIMIT
from cepheus.core.schema import Schema
from cepheus.core.time import MIN_TIME
from cepheus.engine.base.capabilities import PARALLEL
from cepheus.engine.base.limits import too_many_composites
from cepheus.engine.base.refusals import tesla_rules
from cepheus.engine.base.snapshot import restoring
from cepheus.engine.base.ties import TieCounts
from cepheus.engine.columns.engine import ColumnsEngine
from cepheus.engine.lowered.intake import BatchWords
from cepheus.engine.lowered.outlet import Found, Outlet, to_batch
from cepheus.engine.lowered.snapshot import Saved
from cepheus.engine.lowered.texts import TextCensus
from cepheus.engine.parallel.groups import Dealer, Group, KeyColumns, KeyWords, Place, SortedRows, place
from cepheus.engine.parallel.merge import Merged, Together, TooManyError, Workers, in_turn
from cepheus.engine.parallel.snapshot import SavedGroup, SavedGroups, read, write
from cepheus.kernel.context import Input
from cepheus.kernel.program import Words
from cepheus.kernel.state import OUTPUT_HEADER
from cepheus.kernel.strings import StringTable
from cepheus.plan.pattern.constructs import require_rules
from cepheus.rules.model import AnyRule, Rule, RuleSet

_WORTH_THREADS = 512
"""Fewer events than this are processed by one engine after the other."""

_FIRST_BLOCK = 1 << 13
"""Events that are processed before what they complete is merged; later blocks are as large as that suggests."""

_LEAST_BLOCK = 1 << 12
"""Events of a block, at least: each block is a round for all threads."""

_BLOCK_COMPOSITES = 1 << 18
"""Composite events of a block, about: few enough to be merged while they are in a processor's cache."""

_LEAST_RATE = 0.05
"""Composite events per event below which it does not matter how many they are."""


class ParallelEngine:
    """Runs rules in several columns engines at once.

    ``limit`` is the number of composite events that one event may make. Rules are spread over so many ``threads``; an
    engine that takes over a snapshot keeps the shards of that, whatever its own number of threads.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT, threads: int = 2) -> None:
        self._limit = limit
        self._workers = Workers(threads)
        self._groups: list[Group] = []
        self._earlier = TieCounts()
        self._begin(StringTable(), threads)

    def _begin(self, strings: StringTable, shards: int) -> None:
        self._strings = strings
        self._shards = shards
        self._census = TextCensus()
        self._earlier = self.ties
        self._groups = []
        self._order: dict[str, Rule] = {}
        self._fed = 0
        self._ranking: _Ranking | None = None

    @property
    def name(self) -> str:
        """The name of the engines that do the work."""
        return ColumnsEngine.name

    @property
    def kept_as(self) -> str:
        """The name of the engine that its snapshots are of."""
        return self.name

    @property
    def ties(self) -> TieCounts:
        """What all engines have counted of simultaneous events, those that are no more included."""
        return sum((engine.ties for engine in self._engines), self._earlier)

    @property
    def _engines(self) -> list[ColumnsEngine]:
        return [engine for group in self._groups for engine in group.engines]

    @property
    def _ranks(self) -> _Ranking:
        if self._ranking is None:
            self._ranking = _Ranking(self._groups, self._order)
        return self._ranking

    def _engine(self) -> ColumnsEngine:
        return ColumnsEngine(self._limit, strings=self._strings, traced=True)

    def deploy(self, rules: Sequence[AnyRule], schema: Schema) -> None:
        """Add rules, all or none; they see the events fed from now on.

        OptionError if rules bring together what runs in different threads already.
        """
        added = tesla_rules(rules, self.name)
        require_rules(PARALLEL, RuleSet.of(added))
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
            self._earlier = sum((engine.ties for engine in group.engines), self._earlier)
            self._groups.remove(group)
        del self._order[name]
        self._ranking = None

    def feed(self, batch: EventBatch) -> EventBatch:
        """Process events in total order."""
        self._tidy()
        given = BatchWords(batch, self._fed, self._strings)
        self._fed += len(batch)
        together = self._workers.together if len(batch) >= _WORTH_THREADS else in_turn
        shares = self._share_out(given, together)
        if len(shares) == 1:
            found = shares[0].find(0, len(batch), lent=False)
            return EventBatch.empty() if found is None else to_batch(self._ranks.alone(found))
        ranking = self._ranks
        merged = Merged(ranking.width)
        begin, size = 0, _FIRST_BLOCK
        while begin < len(batch):
            end, before = min(begin + size, len(batch)), merged.count
            blocks = together(partial(share.find, begin, end, lent=True) for share in shares)
            self._merge(merged, [found for found in blocks if found is not None], together)
            rate = max((merged.count - before) / (end - begin), _LEAST_RATE)
            merged.expect(merged.count + int(rate * (len(batch) - end)))
            begin, size = end, max(_LEAST_BLOCK, int(_BLOCK_COMPOSITES / rate))
        if merged.count == 0:
            return EventBatch.empty()
        return to_batch(Found(ranking.outlet, self._strings, merged.fields(), gathered=merged.gathered()))

    def _share_out(self, given: BatchWords, together: Together) -> list[_Share]:
        """Find the rows of a batch that each engine is to process."""
        batch = given.batch
        shares = {engine: _Share(engine, engine.prepare(given)) for engine in self._engines}
        parts = _parts(len(batch), self._workers.threads)
        words = KeyWords(given)
        keyed = [(group, KeyColumns(batch, group.keys, words)) for group in self._groups if group.keys is not None]
        sorting = [
            partial(_sort, group.engines[0], batch, shares[group.engines[0]].given, keys, part)
            for group, keys in keyed
            for part in parts
        ]
        filtering = [partial(shares[group.engines[0]].filter, batch) for group in self._groups if group.keys is None]
        tasks: list[Callable[[], SortedRows | None]] = [*sorting, *filtering]
        found = [rows for rows in together(tasks) if rows is not None]
        dealing = []
        for number, (group, _) in enumerate(keyed):
            own = found[number * len(parts) : (number + 1) * len(parts)]
            group.dealer.settle(np.sum([part.counts for part in own], axis=0))
            dealing += [partial(group.dealer.deal, part.rows, part.buckets) for part in own]
        dealt = together(dealing)
        for number, (group, _) in enumerate(keyed):
            own_rows = dealt[number * len(parts) : (number + 1) * len(parts)]
            for at, engine in enumerate(group.engines):
                shares[engine].given.rows = np.concatenate([rows[at] for rows in own_rows])
        return list(shares.values())

    def _merge(self, merged: Merged, found: Sequence[Found], together: Together) -> None:
        """Put what engines found in the same rows behind what was found in rows before."""
        ranking = self._ranks
        if not found:
            return
        try:
            merged.add([(part, ranking.of(part)) for part in found], self._limit, self._workers.threads, together)
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
        if len(found) < 2:
            return found[0].events() if found else []
        ranking = self._ranks
        merged = Merged(ranking.width)
        self._merge(merged, found, in_turn)
        return Found(ranking.outlet, self._strings, merged.fields(), gathered=merged.gathered()).events()

    def advance(self, time: int) -> EventBatch:
        """Forget what no window can reach any more."""
        for engine in self._engines:
            engine.advance(time)
        return EventBatch.empty()

    @property
    def bytes_held(self) -> int:
        """Bytes of the arrays that hold stored events."""
        return sum(engine.bytes_held for engine in self._engines)

    def _tidy(self) -> None:
        """Free the texts that no engine needs, now and then."""
        if not self._census.is_due(self._strings):
            return
        live = np.zeros(len(self._strings), np.bool_)
        for engine in self._engines:
            engine.mark_texts(live)
        self._strings = self._strings.keeping(live)
        for engine in self._engines:
            engine.use_texts(self._strings)
        self._census.taken(self._strings)

    def saved(self) -> Saved:
        """What one engine with all the rules would put into a snapshot.

        UnsupportedError once events are spread over several engines: in which order they came is not known any more.
        """
        states = [engine.saved() for engine in self._engines]
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
        """The rules, how they are spread, and what each engine remembers."""
        groups = [
            SavedGroup(group.keys, group.dealer.owners, tuple(engine.saved() for engine in group.engines))
            for group in self._groups
        ]
        return write(SavedGroups(self._shards, self._fed, tuple(self._order), self._strings.texts, tuple(groups)))

    def restore(self, data: bytes) -> None:
        """Take over a snapshot, of an engine on one thread or on any number of them."""
        with restoring(self):
            self._restore(read(data))

    def _restore(self, saved: SavedGroups) -> None:
        self._begin(StringTable(saved.texts), saved.shards or self._workers.threads)
        self._fed = saved.fed
        rules: dict[str, Rule] = {}
        for part in saved.groups:
            group = Group(
                [self._engine() for _ in part.engines], part.keys, Dealer(len(part.engines), dict(part.owners))
            )
            for engine, state in zip(group.engines, part.engines, strict=True):
                engine.take_over(state, self._strings)
            group.know(deployed.rule for deployed in part.engines[0].rules)
            rules |= group.rules
            self._groups.append(group)
        require_rules(PARALLEL, RuleSet.of(rules.values()))
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
        """The ranks of the rules of the engine that found this."""
        if found.outlet not in self._known:
            self._known[found.outlet] = np.array([self._ranks[name] for name in found.outlet.names], np.int64)
        return self._known[found.outlet]

    def alone(self, found: Found) -> Found:
        """What the only engine found, which has all the rules."""
        return Found(self.outlet, found.strings, found.fields[:-1], gathered=found.gathered)


@dataclass(slots=True)
class _Share:
    """The rows of a batch that an engine is to process; None for all of them."""

    engine: ColumnsEngine
    given: Input

    def filter(self, batch: EventBatch) -> None:
        """Leave out the rows that can concern no rule of the engine."""
        self.given.rows = self.engine.relevant_rows(batch, self.given)

    def find(self, begin: int, end: int, *, lent: bool) -> Found | None:
        """Process the rows of a block."""
        rows = self.given.rows
        if rows is None:
            block = np.arange(begin, end, dtype=np.int64)
        else:
            first, last = np.searchsorted(rows, (begin, end)).tolist()
            block = rows[first:last]
        return self.engine.find(replace(self.given, rows=block), lent=lent) if len(block) else None


def _parts(count: int, threads: int) -> list[tuple[int, int]]:
    """Cut so many rows into equal parts, one for each thread."""
    bounds = np.linspace(0, count, min(threads, count // _WORTH_THREADS + 1) + 1).astype(int).tolist()
    return list(pairwise(bounds))


def _sort(
    engine: ColumnsEngine, batch: EventBatch, given: Input, keys: KeyColumns, part: tuple[int, int]
) -> SortedRows:
    """Sort the rows of a part of a batch that can concern some rule by their keys."""
    rows = engine.relevant_rows(batch, given, *part)
    return SortedRows(np.arange(*part, dtype=np.int64) if rows is None else rows, keys)
