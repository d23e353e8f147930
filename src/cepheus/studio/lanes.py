"""Millions of events as a picture of a few thousand items: counts by lane and stretch of time, or single events.

A lane holds the rows of one type, or of one type and one value of an attribute, in the order of time. How many events
lie in each of many stretches is then found by looking up the edges of the stretches: that takes as long for a thousand
events as for millions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheus.core.batch import EventBatch, IntArray
from cepheus.core.time import MAX_TIME
from cepheus.core.values import ValueType

MOST_ITEMS = 6000
"""How many numbers and marks one picture holds, over all lanes."""

MOST_MARKS = 150
"""How many events of a lane are told one by one; more are counted."""

MOST_KEYS = 24
"""How many values of an attribute have a lane of their own; the rarer ones share one."""


@dataclass(frozen=True, slots=True)
class Lane:
    """The events of a type, or of a type and a value: their rows in the batch and times, both in the order of time."""

    type: str
    key: str | None
    rows: IntArray
    times: IntArray
    found: bool = False

    @property
    def name(self) -> str:
        """What the lane is called."""
        return self.type if self.key is None else f"{self.type} {self.key}"


@dataclass(frozen=True, slots=True)
class Lanes:
    """All lanes of a batch by type, and by type and attribute where that was asked for."""

    batch: EventBatch
    found: bool
    by_type: Mapping[str, Lane]
    known: dict[tuple[str, str], tuple[Lane, ...]]

    @classmethod
    def of(cls, batch: EventBatch, *, found: bool = False) -> Lanes:
        """Sort the events of a batch, which is in the order of time, into lanes by type."""
        lanes = {}
        times = batch.times
        in_order = bool(np.all(times[1:] >= times[:-1])) if len(batch) else True
        for code, name in enumerate(batch.types):
            rows = np.flatnonzero(batch.codes == code)
            if not in_order:
                rows = rows[np.argsort(times[rows], kind="stable")]
            if len(rows):
                lanes[name] = Lane(name, None, rows, times[rows], found)
        return cls(batch, found, lanes, {})

    def attributes(self, event_type: str) -> dict[str, ValueType]:
        """The attributes that events of a type have, each with the type of its values; of more than one the first."""
        rows = self.by_type[event_type].rows
        sample = rows[:: max(1, len(rows) // 200)]
        indices = pa.array(sample, pa.int64())
        found: dict[str, ValueType] = {}
        for (name, kind), column in self.batch.columns.items():
            if column.take(indices).null_count < len(sample):
                found.setdefault(name, kind)
        return found

    def lanes(self, keys: Mapping[str, str]) -> list[Lane]:
        """The lanes to draw: a type that has a key is split by the values of that attribute."""
        drawn: list[Lane] = []
        for name, lane in self.by_type.items():
            drawn += self._split(lane, keys[name]) if name in keys else [lane]
        return drawn

    def _split(self, lane: Lane, attribute: str) -> Sequence[Lane]:
        wanted = lane.type, attribute
        if wanted not in self.known:
            self.known[wanted] = tuple(_by_value(self.batch, lane, attribute))
        return self.known[wanted] or [lane]


def _by_value(batch: EventBatch, lane: Lane, attribute: str) -> list[Lane]:
    columns = [column for (name, _), column in batch.columns.items() if name == attribute]
    if not columns:
        return []
    indices = pa.array(lane.rows, pa.int64())
    texts = pc.coalesce(*[column.take(indices).cast(pa.string()) for column in columns])
    encoded = pc.fill_null(texts, "").dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    values = encoded.dictionary.to_pylist()
    counts = np.bincount(codes, minlength=len(values))
    kept = sorted(np.argsort(-counts, kind="stable")[:MOST_KEYS].tolist(), key=lambda code: _sortable(values[code]))
    lanes = []
    for code in kept:
        where = np.flatnonzero(codes == code)
        lanes.append(Lane(lane.type, values[code] or "(none)", lane.rows[where], lane.times[where], lane.found))
    if len(values) > MOST_KEYS:
        where = np.flatnonzero(~np.isin(codes, kept))
        lanes.append(Lane(lane.type, "others", lane.rows[where], lane.times[where], lane.found))
    return lanes


def _sortable(value: str) -> tuple[int, float, str]:
    try:
        return 0, float(value), value
    except ValueError:
        return 1, 0.0, value


def picture(lanes: Sequence[Lane], start: int, end: int, width: int) -> list[dict[str, Any]]:
    """What lies between two times, in microseconds, for a picture so many pixels wide.

    A lane with few events there lists them; of any other the counts of equal stretches are told, as few as it takes to
    keep the whole picture small.
    """
    start = min(start, MAX_TIME - 1)
    end = max(end, start + 1)
    stretches = int(min(max(width, 50), max(50, MOST_ITEMS // max(1, len(lanes))), end - start))
    step = (end - start) / stretches
    edges = np.array([*(start + int(place * step) for place in range(stretches)), end], np.int64)
    marks = min(MOST_MARKS, max(20, MOST_ITEMS // max(1, 2 * len(lanes))))
    drawn = []
    for lane in lanes:
        places = np.searchsorted(lane.times, edges, side="left")
        first, last = int(places[0]), int(places[-1])
        told: dict[str, Any] = {"name": lane.name, "type": lane.type, "key": lane.key, "found": lane.found}
        told["count"] = last - first
        told["total"] = len(lane.times)
        if last - first <= marks:
            told["times"] = lane.times[first:last].tolist()
            told["rows"] = lane.rows[first:last].tolist()
        else:
            told["bins"] = np.diff(places).tolist()
        drawn.append(told)
    return drawn


def following(lane: Lane, time: int, row: int | None, *, back: bool = False) -> int | None:
    """The row of the event of a lane that comes after a time, or before it; None if there is none.

    Events of one time are gone through one by one, by the ``row`` at which one stands.
    """
    if row is not None:
        standing = np.flatnonzero(lane.rows == row)
        if len(standing):
            place = int(standing[0]) + (-1 if back else 1)
            return int(lane.rows[place]) if 0 <= place < len(lane.rows) else None
    place = int(np.searchsorted(lane.times, time, side="left" if back else "right")) - (1 if back else 0)
    return int(lane.rows[place]) if 0 <= place < len(lane.rows) else None
