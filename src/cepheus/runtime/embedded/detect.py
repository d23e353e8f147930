"""A finite input of files, run through an engine from beginning to end."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.errors import Diagnostic, EventError, OptionError, Place, Severity, did_you_mean
from cepheus.core.event import Event
from cepheus.core.options import OnBadEvent, RunOptions, Until
from cepheus.core.progress import shown as shown_run
from cepheus.core.schema import ID_FIELD, Schema
from cepheus.core.time import TimeCheck, TimeUnit, format_duration, format_time
from cepheus.core.values import ValueType
from cepheus.engine.assembly.ending import end_input, require_end
from cepheus.engine.base.interface import Engine
from cepheus.engine.base.ties import TieCounts
from cepheus.formats.intake import Chunk, IntakeOptions
from cepheus.formats.named_columns import NamedColumns
from cepheus.formats.own_ids import OwnIds
from cepheus.formats.problems import BadEvents, shown
from cepheus.formats.read import EventFile, open_files
from cepheus.formats.unseen_attributes import UnseenAttributes
from cepheus.rules.check import Checked
from cepheus.rules.model import RuleSet
from cepheus.runtime.embedded.order import ReorderBuffer
from cepheus.runtime.embedded.results import Composites
from cepheus.runtime.embedded.settled_types import Key, kinds_in, refuse_conflicts, without_type

EventPath = str | os.PathLike[str]
"""A file of events."""

Files = EventPath | Sequence[EventPath]
"""A file of events, or several."""

FilesByType = Mapping[str, Files]
"""Files without types of their own, by the type of their events."""


class Fed(Protocol):
    """What takes the events of files: an engine, or something in its place."""

    def feed(self, batch: EventBatch) -> EventBatch:
        """Take events in total order and give the composite events they complete."""

    def finish(self, last: int | None) -> EventBatch:
        """What is complete when the input is over; ``last`` is the time of the last event."""

    @property
    def ties(self) -> TieCounts:
        """What was counted of simultaneous events."""


@dataclass(frozen=True, slots=True)
class FedEngine:
    """An engine that takes the events of files, and goes on after the last of them as far as it was asked to."""

    engine: Engine
    rules: RuleSet
    until: Until

    def __post_init__(self) -> None:
        require_end(self.rules, self.until)

    def feed(self, batch: EventBatch) -> EventBatch:
        """Take events in total order and give the composite events they complete."""
        return self.engine.feed(batch)

    def finish(self, last: int | None) -> EventBatch:
        """What is complete when the input is over."""
        return end_input(self.engine, self.rules, self.until, last)

    @property
    def ties(self) -> TieCounts:
        """What was counted of simultaneous events."""
        return self.engine.ties


@dataclass(slots=True)
class Tally:
    """What a run over files has met: late events, events and composite events by type, types that only data tells.

    ``equal`` are the attributes that must be of one type (``Checked.equal_types``). ``ties`` is what was counted of
    simultaneous events; ``simultaneous`` is how many events have the time of the one before them, asked only where
    there is something that does not count.
    """

    equal: tuple[frozenset[Key], ...] = ()
    late: int = 0
    events: Counter[str] = field(default_factory=Counter)
    composite: Counter[str] = field(default_factory=Counter)
    settled: dict[Key, ValueType] = field(default_factory=dict)
    ties: TieCounts = field(default_factory=TieCounts.none)
    simultaneous: int = 0

    def count(self, composites: EventBatch) -> None:
        """Count composite events by type."""
        _count(composites, self.composite)


@dataclass(frozen=True, slots=True, eq=False)
class Detected(Composites):
    """The composite events of a finite input, and what was counted on the way.

    ``ties`` is what was counted of simultaneous events. Where bad events are skipped, ``skipped`` is how many were, and
    ``late`` how many events came later than the lateness allows.
    """

    ties: TieCounts = field(default_factory=TieCounts)
    skipped: int = 0
    late: int = 0


class ExpectedTypes(Schema):
    """What rules expect of events, noting in ``met`` every type that a reader asks about.

    A reader leaves out the events that no rule concerns, so their types are known only from its questions; a misspelt
    type is among them.
    """

    def __init__(self, inputs: Schema) -> None:
        super().__init__(inputs.values(), closed=inputs.closed, others=inputs.others)
        self.met: set[str] = set()

    def __contains__(self, name: object) -> bool:
        if isinstance(name, str):
            self.met.add(name)
        return super().__contains__(name)


class FileDetection:
    """The composite events in files: iterate over it for one batch after the other (some empty), in bounded memory.

    Each file may be out of order by as much as the lateness; the files are merged by time, then by sequence number,
    then in the order given. What comes later than that is an EventError that names file and line or, where bad events
    are skipped, counted. ``tally`` and ``bad`` tell what has been met so far.
    """

    def __init__(
        self,
        files: Files,
        of_type: FilesByType,
        checked: Checked,
        options: RunOptions,
        engine: Callable[[Tally], Fed],
    ) -> None:
        self._lateness, self._sequenced = options.waits, options.columns.sequence is not None
        self._unit = options.unit
        self._times = TimeCheck.of(options.time_unit, strict=options.strict)
        self._checked = checked
        self._expected = ExpectedTypes(checked.inputs)
        self.bad = BadEvents(options.on_bad_event)
        self.tally = Tally(checked.equal_types)
        paths, type_names = _paths(files, of_type)
        self._named = NamedColumns(options.columns, refuse=len(paths) == 1, strict=options.strict)
        self._unseen = UnseenAttributes(refuse=len(paths) == 1, strict=options.strict)
        self._unseen.expect(checked.inputs)
        self._own_ids = OwnIds(strict=options.strict)
        intake = IntakeOptions(
            self._expected,
            options.unit,
            columns=options.columns,
            uncertain=options.uncertain,
            intervals=bool(checked.rules.interval_rules),
            check=self._times,
            time_format=options.time_format,
            named=self._named,
            unseen=self._unseen,
            own_ids=self._own_ids,
        )
        self.files = open_files(paths, intake, self.bad, type_names=type_names)
        self._engine = engine(self.tally)

    @property
    def read(self) -> int:
        """How many events were met so far, bad ones and those that concern no rule included."""
        return sum(file.read for file in self.files)

    @property
    def written_unit(self) -> TimeUnit | None:
        """The unit of times as they were read so far, to write them alike; None if they were texts or timestamps."""
        return self._unit if self._times.given or self._times.looked else None

    def __iter__(self) -> Iterator[EventBatch]:
        policy, tally = self.bad.policy, self.tally
        streams = [
            _in_order(file, ReorderBuffer(self._lateness, sequenced=self._sequenced), tally, policy)
            for file in self.files
        ]
        last = None
        for batch in merge(streams):
            if len(batch):
                tally.simultaneous += int(np.count_nonzero(np.diff(batch.times) == 0)) + (int(batch.times[0]) == last)
                last = int(batch.times[-1])
            composites = self._engine.feed(batch)
            tally.count(composites)
            yield composites
        self._named.tell()
        self._unseen.tell()
        self._own_ids.tell()
        composites = self._engine.finish(last)
        tally.count(composites)
        tally.ties = self._engine.ties
        yield composites

    def all(self) -> Detected:
        """Read all the files, and return the composite events together with what was counted."""
        found: list[EventBatch] = []
        with shown_run("reading events") as tell:
            for batch in self:
                found.append(batch)
                tell(sum(file.done for file in self.files) / len(self.files), "")
        composites = EventBatch.concat(found)
        return Detected.around(
            composites, self._unit, ties=self.tally.ties, skipped=self.bad.skipped, late=self.tally.late
        )

    def never_seen(self) -> Iterator[Diagnostic]:
        """Warn of event types that rules ask for and the files do not have: often a misspelt name."""
        checked = self._checked
        others = {name for name in self._expected.met if name not in checked.inputs}
        for name in checked.inputs:
            if name not in self.tally.events and name not in checked.composites:
                yield Diagnostic(
                    "no-such-event",
                    f"no event of type '{name}' is in the data",
                    hint=did_you_mean(name, others),
                    severity=Severity.WARNING,
                )


def _paths(files: Files, of_type: FilesByType) -> tuple[list[Path], dict[str, str]]:
    """All files and, by path, the type of those that have no types of their own."""
    paths = [Path(path) for path in _several(files)]
    type_names: dict[str, str] = {}
    for name, given in of_type.items():
        for path in map(Path, _several(given)):
            if str(path) in type_names or path in paths:
                raise OptionError.of("type", f"the file '{path}' is given twice")
            type_names[str(path)] = name
    paths += map(Path, type_names)
    if not paths:
        raise OptionError.of("events", "there are no events to look at", hint="name a file of events")
    return paths, type_names


def _several(files: Files) -> Sequence[EventPath]:
    return [files] if isinstance(files, str | os.PathLike) else files


def _in_order(file: EventFile, buffer: ReorderBuffer, tally: Tally, policy: OnBadEvent) -> Iterator[EventBatch]:
    wanted = without_type(file.options.schema)
    for chunk in file:
        _count(chunk.batch, tally.events)
        if wanted:  # each file has found out for itself; together they must agree
            found = kinds_in(chunk.batch, wanted)
            refuse_conflicts(tally.settled, found, tally.equal, Place(chunk.name))
            tally.settled |= found
            wanted -= found.keys()
        ordered = buffer.push(chunk.batch)
        if len(ordered.late):
            if policy is OnBadEvent.STOP:
                raise _late(chunk, int(ordered.late[0]), buffer.lateness)
            tally.late += len(ordered.late)
        yield ordered.ready
    yield buffer.flush()


def _count(batch: EventBatch, counter: Counter[str]) -> None:
    for name, count in zip(batch.types, np.bincount(batch.codes, minlength=len(batch.types)).tolist(), strict=True):
        if count:
            counter[name] += count


def _late(chunk: Chunk, row: int, lateness: int) -> EventError:
    event_type = chunk.batch.types[chunk.batch.codes[row]]
    return late_event(event_type, int(chunk.batch.times[row]), lateness, chunk.place_of(row))


def place_of_late(event: Event, given: object, id_field: str = ID_FIELD) -> Place:
    """Which event of an input in memory came late: by its place, or by its id where it has one of its own.

    An event without an id has its place, counted from 0, for one.
    """
    if isinstance(event.id, int) and event.id >= 0:
        if isinstance(given, list | tuple) and event.id < len(given):
            own = given[event.id]
            if (own.id if isinstance(own, Event) else own.get(id_field)) is None:
                return Place("event", event.id + 1)
        if isinstance(given, EventBatch) and given.ids is None:
            return Place("row", event.id + 1)
        names = getattr(given, "column_names", getattr(given, "columns", None))  # of Arrow; of frames
        if not isinstance(given, EventBatch) and names is not None and id_field not in names:
            return Place("row", event.id + 1)
    return Place(f"event with id {shown(event.id)}")


def late_event(event_type: str, time: int, lateness: int, place: Place | None = None) -> EventError:
    """The error for an event that came later than the lateness allows."""
    allowed = f"more than {format_duration(lateness)}" if lateness else "which is"
    return EventError.of(
        "late",
        f"{event_type} at {format_time(time)} comes after later events, {allowed} out of order",
        place=place,
        hint="sort the events by time, as --sort or sort=True does, or allow for disorder with a larger lateness, "
        "such as 10s",
    )


def merge(streams: Sequence[Iterable[EventBatch]]) -> Iterator[EventBatch]:
    """Merge streams of batches, each in total order, into one such stream.

    Only the batches at the front of each stream are in memory, and those that share one time with them.

    >>> from cepheus.core.event import Event
    >>> batch = lambda *times: EventBatch.from_events(Event("A", time) for time in times)
    >>> [b.times.tolist() for b in merge([[batch(1, 4), batch(6)], [batch(2), batch(3, 9)]])]
    [[1, 2], [3, 4], [6], [9]]
    """
    if len(streams) == 1:
        yield from (batch for batch in streams[0] if len(batch))
        return
    fronts = [_Front(iter(stream)) for stream in streams]
    while live := [front for front in fronts if front.fill()]:
        # Nothing before the end of the front that ends first can still come. At its very end something may, unless
        # that stream is over.
        bound = min(front.last for front in live)
        for front in live:
            front.reach_beyond(bound)
        over = all(front.is_over for front in live if front.last == bound)
        yield _sorted([part for front in live if len(part := front.take_until(bound, included=over))])


class _Front:
    """The part of a stream that is in memory."""

    def __init__(self, stream: Iterator[EventBatch]) -> None:
        self._stream = stream
        self._batch = EventBatch.empty()
        self.is_over = False

    @property
    def last(self) -> int:
        """The last time in memory."""
        return int(self._batch.times[-1])

    def fill(self) -> bool:
        """Make sure that something is in memory; False if the stream has ended."""
        while not len(self._batch) and not self.is_over:
            self._read()
        return len(self._batch) > 0

    def reach_beyond(self, time: int) -> None:
        """Read on until memory holds a later time, where all it holds is of that one time."""
        while not self.is_over and int(self._batch.times[0]) == self.last == time:
            self._read()

    def take_until(self, time: int, *, included: bool) -> EventBatch:
        """Take what lies before a time, or also at it, out of memory."""
        count = int(np.searchsorted(self._batch.times, time, side="right" if included else "left"))
        part, self._batch = self._batch.slice(0, count), self._batch.slice(count, len(self._batch))
        return part

    def _read(self) -> None:
        batch = next(self._stream, None)
        if batch is None:
            self.is_over = True
        else:
            self._batch = EventBatch.concat([self._batch, batch])


def _sorted(parts: Sequence[EventBatch]) -> EventBatch:
    batch = EventBatch.concat(parts)
    if len(parts) < 2:
        return batch
    keys = (batch.times,) if batch.sequences is None else (batch.sequences, batch.times)
    return batch.take(np.lexsort(keys))
