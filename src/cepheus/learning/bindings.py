"""The ways in which a draft matches traces, and what is found out by looking at them trace by trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cepheus.learning.history import Floats, Ints, Truths, TypeEvents

MOST_ROWS = 4_000_000
"""No table grows longer than this."""


@dataclass(frozen=True)
class Bindings:
    """Rows of events that together may explain a trace, sorted by trace; ``events`` has, for each place of the draft,
    which event of its type stands there.
    """

    trace: Ints
    events: Mapping[str, Ints]

    def __len__(self) -> int:
        return len(self.trace)

    def where(self, mask: Truths) -> Bindings:
        """The rows for which something is true."""
        return Bindings(self.trace[mask], {name: rows[mask] for name, rows in self.events.items()})

    def take(self, rows: Ints) -> Bindings:
        """Some rows, in their order."""
        return Bindings(self.trace[rows], {name: events[rows] for name, events in self.events.items()})

    @cached_property
    def starts(self) -> Ints:
        """Where the rows of each trace begin."""
        if not len(self.trace):
            return np.empty(0, np.int64)
        return np.flatnonzero(np.concatenate([[True], self.trace[1:] != self.trace[:-1]]))

    @cached_property
    def traces(self) -> Ints:
        """The traces that have a row."""
        return self.trace[self.starts]


def spread(first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """All numbers from ``first`` up to, not including, ``last``, and the place of the range that each is of.

    >>> owner, numbers = spread(np.array([3, 0]), np.array([5, 1]))
    >>> owner.tolist(), numbers.tolist()
    ([0, 0, 1], [3, 4, 0])
    """
    counts = np.maximum(last - first, 0)
    owner = np.repeat(np.arange(len(first)), counts)
    before = np.repeat(np.cumsum(counts) - counts, counts)
    return owner, np.repeat(first, counts) + np.arange(len(owner)) - before


def extremes(bindings: Bindings, values: Floats, *, highest: bool) -> Floats:
    """The highest (or lowest) value of each trace that has a row; one without a value has the worst there is.

    >>> table = Bindings(np.array([4, 4, 7]), {})
    >>> extremes(table, np.array([1.0, 3.0, np.nan]), highest=True).tolist()
    [3.0, -inf]
    """
    from cepheus.learning.counting import extremes_of  # compiled loops: Numba takes long to import

    return extremes_of(bindings.starts, values, highest)


def joined(bindings: Bindings, name: str, events: TypeEvents, times: Ints, window: int) -> Bindings:
    """Every row with every event of a type that lies in the window before the row's time, under a new name.

    If that is too much, the window is made shorter for all rows alike.
    """
    last = np.searchsorted(events.times, times, side="left")
    first = np.searchsorted(events.times, times - window, side="left")
    while int((last - first).sum()) > MOST_ROWS:
        window //= 2
        first = np.searchsorted(events.times, times - window, side="left")
    owner, numbers = spread(first, last)
    return Bindings(
        bindings.trace[owner], {**{each: rows[owner] for each, rows in bindings.events.items()}, name: numbers}
    )
