"""Composite events of two families that do not feed one another, in the order in which single events give them."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from cepheus.core.batch import EventBatch, IntArray
from cepheus.core.event import EventId


def in_order_of_completion(
    batch: EventBatch, tesla: EventBatch, intervals: EventBatch, *, late: Collection[str], timed: bool
) -> EventBatch:
    """Put what both families make of a batch together: by time, of one time by the events that completed it.

    What one event completes in both families comes in the order of the families. ``late`` are the rules whose complex
    events are decided when their instant is over; ``timed`` says that points in time decide some. Where there are no
    such points, only what several events of one time complete in both families needs a closer look.
    """
    together = EventBatch.concat([tesla, intervals])
    family = np.repeat([0, 1], [len(tesla), len(intervals)])
    tied = np.intersect1d(tesla.times, intervals.times)
    if not timed:
        tied = np.intersect1d(tied, batch.times[1:][np.diff(batch.times) == 0])
    completed = np.zeros(len(together), np.int64)
    if len(tied):
        rows = _rows(batch, tied)
        completed[: len(tesla)] = _completed(tesla, tied, rows, (), len(batch))
        completed[len(tesla) :] = _completed(intervals, tied, rows, late, len(batch))
    order = np.lexsort((family, completed, together.times))
    return together if np.array_equal(order, np.arange(len(order))) else together.take(order)


def _rows(batch: EventBatch, times: IntArray) -> dict[EventId, int]:
    """The rows of a batch's events of some times by their ids."""
    assert batch.ids is not None
    return {batch.ids[row]: row for row in np.flatnonzero(np.isin(batch.times, times)).tolist()}


def _completed(
    made: EventBatch, times: IntArray, rows: dict[EventId, int], late: Collection[str], end: int
) -> NDArray[np.int64]:
    """Find for each composite event of some times the row of the event that completed it.

    That is the last of its parts; -1 if none is of its time, as where a point in time completed it.
    """
    found = np.zeros(len(made), np.int64)
    provenance = made.provenance
    ids = made.ids
    assert provenance is not None
    assert ids is not None
    known = dict(rows)
    before, last = None, -1
    for place in np.flatnonzero(np.isin(made.times, times)).tolist():
        row = max((known.get(part, -1) for part in provenance.made_of[place]), default=-1)
        if provenance.rules[provenance.rule_codes[place]] in late:
            row = end
        # a family gives its composite events in the order in which they are completed
        last = row if made.times[place] != before else max(row, last)
        before = made.times[place]
        found[place] = known[ids[place]] = last
    return found
