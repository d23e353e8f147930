"""Room for composite events: a block that the kernel fills and that is given away when it is full enough."""

from __future__ import annotations

import numpy as np

from cepheus.kernel import blocks
from cepheus.kernel.memory import address
from cepheus.kernel.program import Words
from cepheus.kernel.state import OutputHeader

_FEW_EVENTS = 1 << 12
_MANY_EVENTS = 1 << 20
ENOUGH_EVENTS = 1 << 17
"""A block for so many is worth handing out by itself; the one after a smaller one is four times as large."""

_STAGGER = 72
"""Words between the end of a field and the next, so that fields do not compete for the same lines of the cache."""


class Output:
    """Room for composite events: a row for each field, a column for each event.

    With ``traced`` there is one field more, the last: where each composite event comes from. That is the number of the
    input row that completed it or, below zero, ``~index`` of the composite event in the output that did.
    """

    def __init__(self, width: int, *, traced: bool = False) -> None:
        self.lineage = width if traced else 0
        self.width = width + traced
        self.addresses = np.zeros(self.width + 1, np.int64)
        self.addresses_at = address(self.addresses, OutputHeader, mixed=True, label="the addresses of the output")
        self.digests = np.zeros(_FEW_EVENTS, np.int64)  # room for the ids of a few events
        self.digests_at = address(self.digests, label="digests of the output")
        self._use(field_words(self.width, _FEW_EVENTS))

    def _use(self, fields: Words) -> None:
        self._fields = fields
        self.size = fields.shape[1]
        self.addresses[:-1] = addresses_of(fields)

    def renewed(self) -> Output:
        """Room for a few events with these fields."""
        return Output(self.width - bool(self.lineage), traced=bool(self.lineage))

    def expect(self, events: int) -> None:
        """Have room, while there is nothing in it, for two composite events from each event."""
        wanted = min(2 * events, _MANY_EVENTS)
        if self.size < wanted:
            self._use(field_words(self.width, wanted))

    def grow(self) -> None:
        """Make room for twice as many events."""
        larger = field_words(self.width, 2 * self.size)
        larger[:, : self.size] = self._fields
        self._use(larger)

    def put(self, fields: Words) -> None:
        """Have these events, and no others, in the block."""
        count = fields.shape[1]
        if count > self.size:
            self._use(field_words(self.width, 2 * count))
        self._fields[:, :count] = fields

    def look(self, count: int) -> Words:
        """The first events, as they are until more are written."""
        return self._fields[:, :count]

    def give(self, count: int) -> Words:
        """Hand out the block with the first events and put one as large in its place, for a small one a larger one."""
        taken = self._fields[:, :count]
        self._use(field_words(self.width, max(self.size, min(4 * self.size, ENOUGH_EVENTS))))
        return taken

    def take(self, count: int) -> Words:
        """Hand out the first events: a copy of a few, or the block itself, with a new one in its place."""
        taken = self._fields[:, :count]
        if 2 * count < self.size:
            copied = field_words(self.width, count)
            copied[:] = taken
            return copied
        self._use(field_words(self.width, _FEW_EVENTS))
        return taken


def field_words(width: int, count: int) -> Words:
    """Room for fields, a row each."""
    return blocks.words(width * (count + _STAGGER)).reshape(width, count + _STAGGER)[:, :count]


def addresses_of(fields: Words) -> Words:
    """The addresses of the fields of a block."""
    return address(fields, label="a field of the output") + fields.strides[0] * np.arange(len(fields), dtype=np.int64)
