"""A history on Spark as learning sees it.

In memory are the events before some of the occurrences, before false alarms that were looked at, and in blocks of time
at random: every event in the last third of a block has all in memory that a rule may look back at, so that it ends a
negative trace of whatever type turns out to decide. Rules are tried on all of history, by the engine, in tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cepheus.core.batch import ColumnKey, EventBatch
from cepheus.core.schema import Attribute, EventType
from cepheus.core.values import ValueType
from cepheus.learning.evaluate import Score
from cepheus.learning.hints import Hints
from cepheus.learning.history import Column, History, Ints, TypeEvents, floats_of
from cepheus.learning.occurrences import Occurrences
from cepheus.learning.past import Say, Span, look_back
from cepheus.learning.significance import p_value
from cepheus.learning.spark_events import SparkEvents, Tally, identity
from cepheus.learning.terminators import Ending
from cepheus.learning.traces import Sampling, Traces, claimed, cut
from cepheus.rules.expressions import AttributeRef
from cepheus.rules.model import Assignment, Rule, RuleSet
from cepheus.runtime.spark.sources import as_kind, column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_EVENTS = 1_200_000
"""About so many events come to the driver."""

LEADS = 3
"""So many horizons of events are in memory before what a trace ends with."""

MOST_MISTAKES = 400
MOST_TOLD = 20_000
"""So many false alarms of a rule come to the driver, the others are counted."""

MOST_TESTED = 2_000_000
"""The test against chance looks at no more than about so many of the last terminators."""


@dataclass(slots=True)
class SparkPast:
    """DataFrames, what was counted of them, and the events of traces in memory."""

    events: SparkEvents
    target: str
    hints: Hints
    tally: Tally
    horizon: int
    occurrences: Occurrences
    seed: int
    slack: int
    whole: History
    say: Say
    history: History = field(init=False)
    _loaded: tuple[Ints, Ints] = field(init=False)
    _blocks: Ints = field(init=False)
    _known: Ints = field(init=False)

    def __post_init__(self) -> None:
        empty = np.empty(0, np.int64)
        self._loaded, self._blocks, self._known = (empty, empty), empty, empty
        self.history = self.whole
        self._load_blocks()

    @property
    def span(self) -> Span:
        """The times of the first and the last event."""
        return self.tally.span

    @property
    def count(self) -> int:
        """How many events there are."""
        return sum(count for name, count in self.tally.counts.items() if name != self.target)

    @property
    def mark(self) -> str:
        """How many events there are of each type: values are not all looked at."""
        return ", ".join(f"{count} {name}" for name, count in sorted(self.tally.counts.items()))

    @property
    def reach(self) -> int | None:
        """How far back events are in memory."""
        return self.horizon * (LEADS - 1)

    def moments(self, rng: np.random.Generator, many: int) -> Ints:
        """Times at random, all of them in blocks."""
        return rng.choice(self._blocks, many) + rng.integers(0, self.horizon, many)

    # ---- Events in memory -------------------------------------------------------------------------------------------

    def _most(self) -> int:
        """How many spans of time may be loaded, by half of the events that may be."""
        first, last = self.span
        events = max(self.count * LEADS * self.horizon / max(last - first, 1), 1.0)
        return int(max(MOST_EVENTS / 2 / events, 20))

    def _load_blocks(self) -> None:
        rng = np.random.default_rng(self.seed)
        first, last = self.span[0], int(self.occurrences.ends.max())
        lead = (LEADS - 1) * self.horizon
        begins = first + lead + rng.uniform(0, 1, self._most()) * max(last - first - LEADS * self.horizon, 1)
        blocks = np.sort(begins.astype(np.int64))
        self._blocks = blocks[np.append(True, np.diff(blocks) >= self.horizon)]
        self._load(self._blocks - lead, self._blocks + self.horizon)

    def _load(self, lows: Ints, highs: Ints) -> None:
        """Have the events of some spans in memory, too."""
        lows, highs = _joined(lows, highs)
        new = _without(lows, highs, *self._loaded)
        if not len(new[0]):
            return
        self.say("cutting traces", 0.0)
        read = self.events.within(*new, but=self.target)
        batch = EventBatch.concat([self.whole.batch, read]) if len(self._loaded[0]) else read
        self.whole = History.of(batch.take(np.argsort(batch.times, kind="stable")), self.whole.texts)
        self._loaded = _joined(np.concatenate([self._loaded[0], new[0]]), np.concatenate([self._loaded[1], new[1]]))
        self.history = self.hints.apply(
            replace(self.whole, types={name: own for name, own in self.whole.types.items() if name != self.target})
        )

    def look_at(self, occurrences: Occurrences, numbers: Ints) -> Ints:
        """Have the events before some of these occurrences in memory; which of them that is."""
        if len(numbers) > self._most():
            numbers = numbers[(np.arange(self._most()) * len(numbers)) // self._most()]
        lows = occurrences.begins[numbers] - LEADS * self.horizon
        self._load(lows, occurrences.ends[numbers] + (self.slack + 1))
        self._known = np.union1d(self._known, numbers)
        return numbers

    def cut(
        self, ending: Ending, occurrences: Occurrences, span: Span, rng: np.random.Generator, mistakes: Score | None
    ) -> Traces:
        """Traces that end in a span, of the events in memory."""
        times: Ints = np.empty(0, np.int64)
        if mistakes is not None and len(mistakes.alarm_times):
            times = np.unique(mistakes.alarm_times)
            if len(times) > MOST_MISTAKES:
                times = np.sort(rng.choice(times, MOST_MISTAKES, replace=False))
            self._load(times - (LEADS - 1) * self.horizon, times + 1)
        own = self.history.types[ending.type].times
        block = np.searchsorted(self._blocks, own, side="right") - 1
        covered = (block >= 0) & (own < self._blocks[np.maximum(block, 0)] + self.horizon)
        mistaken = np.isin(own, times)
        if mistakes is not None:
            covered &= ~np.isin(own, mistakes.alarm_times)
        alarms = 0 if mistakes is None else mistakes.false_alarms
        sampling = Sampling(
            self._known,
            covered | mistaken,
            everything=max(self.tally.before.get(ending.type, 0) - alarms, 1),
            mistakes=float(alarms),
        )
        return cut(self.history, ending, occurrences, span, rng, hard=np.flatnonzero(mistaken), sampling=sampling)

    # ---- Rules on all of history ------------------------------------------------------------------------------------

    def scores(
        self, rules: Sequence[Rule], endings: Sequence[Ending], occurrences: Occurrences, span: Span
    ) -> list[Score]:
        """What rules find within a span: engines run them in tasks, which also compare with the occurrences."""
        from pyspark.sql import functions as f

        if not rules:
            return []
        told = [self._telling(rule, number) for number, rule in enumerate(rules)]
        before = max(map(look_back, rules))
        found = self.events.found(RuleSet(rules=tuple(told)), (span[0] - before, span[1]))
        names = dict(zip(found.layout.columns, found.layout.names, strict=True))
        firings = found.dataframe.where((f.unix_micros("time") >= span[0]) & (f.unix_micros("time") < span[1]))
        labels = [
            _Labels.of(occurrences, ending, self.history, {key[0]: names[key] for key in keys})
            for ending, keys in zip(endings, map(_keys_of, told), strict=True)
        ]
        values = [(attribute, column(name)) for (attribute, _), name in names.items()]
        once = firings.withColumn("#who", identity(f.unix_micros("time"), values)).dropDuplicates(["type", "#who"])
        judged = once.mapInArrow(_judge(labels), "rule int, who bigint, time bigint, occurrence bigint").persist()
        try:
            return self._collected(judged, len(rules), len(occurrences))
        finally:
            judged.unpersist()

    def _telling(self, rule: Rule, number: int) -> Rule:
        """The rule so that what it makes tells what its terminator is."""
        terminator = rule.pattern.terminator
        own = self.whole.types[terminator.type].columns.values()
        attributes = tuple(Attribute(each.name, each.type, optional=True) for each in own)
        tells = tuple(Assignment(each.name, AttributeRef(terminator.name, each.name)) for each in own)
        composite = EventType(f"cepheus_candidate{number}", attributes)
        return replace(rule, composite=composite, assignments=tells, name=f"candidate{number}", min_probability=None)

    def _collected(self, judged: DataFrame, rules: int, occurrences: int) -> list[Score]:
        from pyspark.sql import functions as f

        wrong = column("occurrence") < 0
        counts = {row["rule"]: row["count"] for row in judged.where(wrong).groupBy("rule").count().collect()}
        most = max(counts.values(), default=0)
        share = min(1.0, MOST_TOLD / most) if most else 1.0
        kept = ~wrong | (f.pmod(f.xxhash64("who"), f.lit(1_000_000)) < round(share * 1_000_000))
        rows = judged.where(kept).toArrow()
        rule, who, time, owner = (rows.column(name).to_numpy() for name in ("rule", "who", "time", "occurrence"))
        made = []
        for number in range(rules):
            right, alarm = (rule == number) & (owner >= 0), (rule == number) & (owner < 0)
            found = np.unique(owner[right])
            missed = np.setdiff1d(np.arange(occurrences), found)
            order = np.argsort(time[alarm], kind="stable")
            uncounted = counts.get(number, 0) - len(order)
            made.append(Score(found, missed, np.unique(who[right]), who[alarm][order], time[alarm][order], uncounted))
        return made

    def chance(
        self, found: Score, ending: Ending, occurrences: Occurrences, span: Span, rng: np.random.Generator
    ) -> float:
        """How likely what a rule found would be by chance: of the terminators only times and identities are read."""
        later = self.tally.counts.get(ending.type, 0) - self.tally.before.get(ending.type, 0)
        if later > MOST_TESTED:
            span = span[1] - round((span[1] - span[0]) * MOST_TESTED / later), span[1]
        source = self.events.frame_of(ending.type)
        assert source is not None  # there are such events
        moment = self.events.time_of(source)
        time = source.withColumn("#time", moment).where((moment >= span[0]) & (moment < span[1]))
        own = self.whole.types[ending.type].columns.values()
        unit, fields = self.events.naming.unit, source.schema
        values = {each.name: as_kind(column(each.name), fields[each.name].dataType, each.type, unit) for each in own}
        keys = [values[key].alias(f"#{place}") for place, (_, key) in enumerate(ending.keys)]
        who = identity(column("#time"), list(values.items()))
        rows = time.select(column("#time").alias("time"), who.alias("who"), *keys).toArrow().sort_by("time")
        times = rows.column("time").to_numpy()
        columns = {
            key: Column(key, kind, floats_of(rows.column(f"#{place}").combine_chunks(), kind, dict(self.whole.codes)))
            for place, (_, key) in enumerate(ending.keys)
            for kind in [self.whole.types[ending.type].columns[key].type]
        }
        events = TypeEvents(ending.type, times, np.arange(len(times)), columns)
        labelled = np.zeros(len(times), np.bool_)
        labelled[claimed(events, ending, occurrences)[1]] = True
        fired = np.isin(rows.column("who").to_numpy(), np.concatenate([found.right, found.alarms]))
        if found.uncounted:  # the false alarms that did not come are spread like those that did
            more = rng.random(len(times)) < found.uncounted / max(len(times) - fired.sum(), 1)
            fired |= more & ~labelled
        return p_value(fired, labelled, rng)


@dataclass(frozen=True, slots=True)
class _Labels:
    """What a task needs to tell whether firings of a rule belong to occurrences; ``keys`` are columns of firings."""

    ending: Ending
    occurrences: Occurrences
    keys: tuple[tuple[str, str], ...]
    kinds: tuple[Column, ...]
    codes: dict[str, int]

    @classmethod
    def of(cls, occurrences: Occurrences, ending: Ending, history: History, names: Mapping[str, str]) -> _Labels:
        """What tasks need of some occurrences; ``names`` are the columns of firings, by attribute."""
        used = {name: occurrences.columns[name] for name, _ in ending.keys}
        texts = [each.values[~np.isnan(each.values)] for each in used.values() if each.type is ValueType.STRING]
        codes = {history.text(code): int(code) for code in np.unique(np.concatenate([np.empty(0), *texts])).tolist()}
        own = history.types[ending.type].columns
        return cls(
            ending,
            replace(occurrences, columns=used),
            tuple((key, names[key]) for _, key in ending.keys),
            tuple(Column(key, own[key].type, np.empty(0)) for _, key in ending.keys),
            codes,
        )

    def owners(self, rows: pa.RecordBatch, times: Ints) -> tuple[Ints, Ints]:
        """Which occurrence each of some firings, in order of time, belongs to."""
        columns = {
            key: Column(key, kind.type, floats_of(rows.column(name), kind.type, dict(self.codes)))
            for (key, name), kind in zip(self.keys, self.kinds, strict=True)
        }
        events = TypeEvents(self.ending.type, times, np.arange(len(times)), columns)
        return claimed(events, self.ending, self.occurrences)


def _keys_of(rule: Rule) -> list[ColumnKey]:
    return [(each.name, each.type) for each in rule.composite.attributes if each.type is not None]


def _judge(labels: Sequence[_Labels]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Runs in tasks: for each firing the occurrences that it belongs to, or -1."""

    def judged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from _judged(batch, labels)

    return judged


def _judged(batch: pa.RecordBatch, labels: Sequence[_Labels]) -> Iterator[pa.RecordBatch]:
    types = np.array(batch.column("type").to_pylist(), object)
    for number, label in enumerate(labels):
        places = np.flatnonzero(types == f"cepheus_candidate{number}")
        if not len(places):
            continue
        times = batch.column("time").cast(pa.int64()).to_numpy(zero_copy_only=False)[places]
        places, times = places[np.argsort(times, kind="stable")], np.sort(times)
        rows = batch.take(pa.array(places))
        owner, firing = label.owners(rows, times)
        alone = np.setdiff1d(np.arange(len(places)), firing)
        which = np.concatenate([firing, alone])
        who = rows.column("#who").to_numpy(zero_copy_only=False)
        yield pa.RecordBatch.from_pydict(
            {
                "rule": pa.array(np.full(len(which), number, np.int32)),
                "who": pa.array(who[which]),
                "time": pa.array(times[which]),
                "occurrence": pa.array(np.concatenate([owner, np.full(len(alone), -1)])),
            }
        )


def _joined(lows: Ints, highs: Ints) -> tuple[Ints, Ints]:
    """Spans that overlap made one, in order.

    >>> [part.tolist() for part in _joined(np.array([5, 0, 20]), np.array([9, 6, 22]))]
    [[0, 20], [9, 22]]
    """
    if not len(lows):
        return lows, highs
    order = np.argsort(lows, kind="stable")
    lows, highs = lows[order], np.maximum.accumulate(highs[order])
    starts = np.flatnonzero(np.append(True, lows[1:] > highs[:-1]))
    ends = np.append(starts[1:], len(lows)) - 1
    return lows[starts], highs[ends]


def _without(lows: Ints, highs: Ints, other_lows: Ints, other_highs: Ints) -> tuple[Ints, Ints]:
    """What of some spans, in order, is in none of others, in order.

    >>> [part.tolist() for part in _without(np.array([0]), np.array([9]), np.array([2, 6]), np.array([4, 7]))]
    [[0, 4, 7], [2, 6, 9]]
    """
    made: list[tuple[int, int]] = []
    for first, high in zip(lows.tolist(), highs.tolist(), strict=True):
        low, place = first, int(np.searchsorted(other_highs, first, side="right"))
        while place < len(other_lows) and other_lows[place] < high:
            if other_lows[place] > low:
                made.append((low, int(other_lows[place])))
            low, place = int(other_highs[place]), place + 1
        if low < high:
            made.append((low, high))
    return np.array([low for low, _ in made], np.int64), np.array([high for _, high in made], np.int64)
