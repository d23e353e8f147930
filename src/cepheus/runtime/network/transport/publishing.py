"""Publishes batches of events at a pace: as fast as the network takes them, at a rate, or as they once happened."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import numpy as np

from cepheus.core.batch import EventBatch, python_values
from cepheus.core.event import EventId
from cepheus.core.values import Value, ValueType
from cepheus.runtime.network.protocol.event_columns import EventColumns, Shape
from cepheus.runtime.network.transport.attachments import AsyncSource
from cepheus.runtime.network.transport.validity import no_lists


def columns_of(batch: EventBatch) -> EventColumns:
    """The events of a batch in columns; attributes that no event of a type has are left out.

    >>> from cepheus.core.event import Event
    >>> events = [Event("Smoke", 1, {"area": "A1"}), Event("Temp", 2, {"area": "A1", "value": 51.5})]
    >>> columns_of(EventBatch.from_events(events)) == events
    True
    """
    for name, value_type in batch.columns:
        if value_type is ValueType.LIST:
            raise no_lists(name)
    if batch.errors or batch.probabilities is not None or batch.starts is not None or batch.provenance is not None:
        return EventColumns.of(batch.to_events())
    values = {key: python_values(column, key[1]) for key, column in batch.columns.items()}
    shapes: list[Shape] = []
    columns: list[list[list[Value | None]]] = []
    for code, kind in enumerate(batch.types):
        rows = np.flatnonzero(batch.codes == code).tolist()
        found: dict[str, list[Value | None]] = {}
        for (name, _), column in values.items():
            own = [column[row] for row in rows]
            if all(value is None for value in own):
                continue
            if name in found:  # an attribute of several types of values: one column holds them all
                own = [one if one is not None else other for one, other in zip(found[name], own, strict=True)]
            found[name] = own
        shapes.append((kind, tuple(found)))
        columns.append(list(found.values()))
    known = batch.id_list()
    ids: list[EventId | None] = [None] * len(batch) if known is None else [*known]
    rests = {} if batch.sequences is None else {row: {"sequence": n} for row, n in enumerate(batch.sequences.tolist())}
    return EventColumns(shapes, batch.codes.tolist(), batch.times.tolist(), ids, columns, rests)


_CHUNK = 1000
_STEP = 0.01
"""Seconds between batches when events are paced."""

_HEARTBEAT = 0.05


@dataclass(frozen=True, slots=True)
class Pacing:
    """How fast to publish: ``rate`` events per second, or ``speed`` times as fast as they happened; else no pause.

    With ``now`` events get the time at which they are published, and the source keeps promising the present.
    """

    rate: float | None = None
    speed: float | None = None
    now: bool = False


@dataclass(slots=True)
class Published:
    """What was published so far."""

    events: int = 0
    started: float = 0.0
    seconds: float = 0.0


async def publish_batches(source: AsyncSource, batches: AsyncIterator[EventBatch], pacing: Pacing) -> Published:
    """Publish batches whose events are in order of time, one after the other; gives what was done.

    Events of one time may come in different batches, so the last time of a batch is promised with the next.
    """
    done = Published(started=time.monotonic())
    heartbeat = asyncio.ensure_future(_keep_promising(source)) if pacing.now else None
    first: int | None = None
    try:
        async for batch in batches:
            if not len(batch):
                continue
            first = int(batch.times[0]) if first is None else first
            start = 0
            while start < len(batch):
                stop = await _due(batch, start, first, done, pacing)
                await _publish(source, batch.slice(start, stop), pacing)
                done.events += stop - start
                start = stop
    finally:
        if heartbeat is not None:
            heartbeat.cancel()
            await asyncio.gather(heartbeat, return_exceptions=True)
    await source.client.drained()
    done.seconds = time.monotonic() - done.started
    return done


async def _publish(source: AsyncSource, batch: EventBatch, pacing: Pacing) -> None:
    if pacing.now:
        batch = replace(batch, times=np.full(len(batch), present(), np.int64))
        await source.publish(columns_of(batch))
    else:
        await source.publish(columns_of(batch), int(batch.times[-1]) - 1)


async def _due(batch: EventBatch, start: int, first: int, done: Published, pacing: Pacing) -> int:
    """Wait until something is due; give the place up to which it is."""
    limit = min(len(batch), start + _CHUNK)
    if pacing.rate is None and pacing.speed is None:
        return limit
    while True:
        passed = time.monotonic() - done.started
        if pacing.rate is not None:
            stop = min(limit, start + int(passed * pacing.rate) - done.events)
        else:
            assert pacing.speed is not None
            until = first + passed * pacing.speed * 1_000_000
            stop = min(limit, int(np.searchsorted(batch.times, until, side="right")))
        if stop > start:
            return stop
        await asyncio.sleep(_STEP)


async def _keep_promising(source: AsyncSource) -> None:
    while True:
        await asyncio.sleep(_HEARTBEAT)
        await source.promise(present() - 1)


def present() -> int:
    """The time, in microseconds since the epoch."""
    return time.time_ns() // 1000
