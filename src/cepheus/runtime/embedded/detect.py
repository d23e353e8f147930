"""A finite input of files, run through an engine from beginning to end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Protocol

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.errors import EventError, Place
from cepheus.core.event import Event
from cepheus.core.schema import ID_FIELD
from cepheus.core.time import MAX_TIME, format_duration, format_time
from cepheus.core.values import ValueType
from cepheus.engine.base.ties import TieCounts
from cepheus.formats.intake import Chunk
from cepheus.formats.problems import BadEvents, OnBadEvent, shown
from cepheus.formats.read import EventFile
from cepheus.runtime.embedded.merge import merge
from cepheus.runtime.embedded.order import ReorderBuffer
from cepheus.runtime.embedded.settle import Key, kinds_in, refuse_conflicts, untold


class Fed(Protocol):
    """What takes the events of files: an engine, or something in its place."""

    def feed(self, batch: EventBatch) -> EventBatch:
        """Take events in total order and give the composite events they complete."""

    def advance(self, time: int) -> EventBatch:
        """Take notice that no event before that time will come."""

    @property
    def ties(self) -> TieCounts:
        """What was counted of simultaneous events."""


@dataclass(slots=True)
class Gatherer:
    """Keeps what files give, for a host that works on all of it at once."""

    batches: list[EventBatch] = field(default_factory=list)

    @property
    def ties(self) -> TieCounts:
        """Nothing yet: whoever works on the events counts."""
        return TieCounts.none()

    def advance(self, time: int) -> EventBatch:  # noqa: ARG002  # whoever works on the events knows that they end
        """Give nothing."""
        return EventBatch.empty()

    def feed(self, batch: EventBatch) -> EventBatch:
        """Keep some events."""
        self.batches.append(batch)
        return EventBatch.empty()


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
class Detected(EventBatch):
    """The composite events of a finite input, and in ``ties`` what the run counted of simultaneous events."""

    ties: TieCounts = field(default_factory=TieCounts)

    @classmethod
    def of(cls, composites: EventBatch, ties: TieCounts) -> Detected:
        """Give composite events together with what was counted while they were found."""
        return cls(**{each.name: getattr(composites, each.name) for each in fields(EventBatch)}, ties=ties)


def detect_in_files(
    files: Sequence[EventFile],
    engine: Fed,
    tally: Tally,
    *,
    lateness: int = 0,
    sequenced: bool = False,
    bad: BadEvents | None = None,
) -> Iterator[EventBatch]:
    """Give the composite events of files, batch after batch (some of them empty), in bounded memory.

    Each file may be out of order by up to ``lateness`` microseconds; the files are merged by time, then by sequence
    number, then in the order given. What comes later than that is an EventError that names file and line or, where
    bad events are skipped, counted.
    """
    policy = (bad or BadEvents()).policy
    streams = [_in_order(file, ReorderBuffer(lateness, sequenced=sequenced), tally, policy) for file in files]
    last = None
    for batch in merge(streams):
        if len(batch):
            tally.simultaneous += int(np.count_nonzero(np.diff(batch.times) == 0)) + (int(batch.times[0]) == last)
            last = int(batch.times[-1])
        composites = engine.feed(batch)
        tally.count(composites)
        yield composites
    composites = engine.advance(MAX_TIME)  # the input is over: what time alone completes is complete
    tally.count(composites)
    tally.ties = engine.ties
    yield composites


def _in_order(file: EventFile, buffer: ReorderBuffer, tally: Tally, policy: OnBadEvent) -> Iterator[EventBatch]:
    wanted = untold(file.options.schema)
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


def place_of_late(event: Event, given: object) -> Place:
    """Tell which event of an input in memory came late: by its place, or by its id where it has one of its own.

    An event without an id has its place, counted from 0, for one.
    """
    if isinstance(event.id, int) and event.id >= 0:
        if isinstance(given, list | tuple) and event.id < len(given):
            own = given[event.id]
            if (own.id if isinstance(own, Event) else own.get(ID_FIELD)) is None:
                return Place("event", event.id + 1)
        if isinstance(given, EventBatch) and given.ids is None:
            return Place("row", event.id + 1)
        names = getattr(given, "column_names", getattr(given, "columns", None))  # of Arrow; of frames
        if not isinstance(given, EventBatch) and names is not None and ID_FIELD not in names:
            return Place("row", event.id + 1)
    return Place(f"event with id {shown(event.id)}")


def late_event(event_type: str, time: int, lateness: int, place: Place | None = None) -> EventError:
    """Give the error for an event that came later than the lateness allows."""
    allowed = f"more than {format_duration(lateness)}" if lateness else "which is"
    return EventError.of(
        "late",
        f"{event_type} at {format_time(time)} comes after later events, {allowed} out of order",
        place=place,
        hint="sort the events by time, or allow for disorder with a larger lateness, such as 10s",
    )
