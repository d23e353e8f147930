"""Columns mirrored on a device: rings in one arena, to which only what is new is copied.

A column of the host is a lane: entries that tell the rows of its events. On the device it is a ring of the rows
themselves, slot by slot, so that neighbours in time are neighbours in memory. An entry has the same number on both.
What is to be copied is handed over without waiting; the host goes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cepheus.engine.device.opencl import Device
from cepheus.kernel.context import State
from cepheus.kernel.program import SLOT_TIME, ColumnField, Program, Words
from cepheus.kernel.state import EntryField, LaneState, TypeState

_SMALLEST = 64
"""Entries of a ring, at least; a multiple of every block."""

_FIRST_ARENA = 1 << 16


@dataclass(slots=True)
class MirroredColumn:
    """A column on the device: where its ring begins, how many entries and words of a row it has, what is there.

    The entries from ``first`` to ``next`` are those of the host.
    """

    type: int
    width: int
    base: int = -1
    capacity: int = 0
    first: int = 0
    next: int = 0

    @property
    def words(self) -> int:
        """How many words its ring takes."""
        return self.capacity * (self.width + 1)


@dataclass(frozen=True, slots=True)
class Brought:
    """What a device has for an evaluation: columns, and terminators, of which it is told where their numbers are."""

    columns: dict[int, MirroredColumn]
    base: int
    capacity: int
    number_slot: int


class Mirror:
    """The columns of a program on a device, and behind them the terminators that are evaluated."""

    def __init__(self, device: Device, program: Program) -> None:
        self._device = device
        self._program = program
        self._columns: dict[int, MirroredColumn] = {}
        self._size = _FIRST_ARENA
        self._used = 0
        self.arena: Any = device.buffer("arena", 8 * _FIRST_ARENA)

    def bring(self, columns: tuple[int, ...], state: State, terminators: Words) -> Brought:
        """Bring columns up to what the host has, and terminators, a row each."""
        found = {column: self._known(column, state) for column in columns}
        count, width = terminators.shape
        capacity = _power(max(_SMALLEST, count))
        while True:
            for column, mirrored in found.items():
                self._bring(column, mirrored, state)
            if self._used + capacity * width > self._size:
                self._grow(capacity * width)
            if all(mirrored.base >= 0 for mirrored in found.values()):  # else the arena had to grow, and lost all
                break
        self._put(self._device.write("terminators", terminators), self._used, 0, width, capacity, count)
        return Brought(found, self._used, capacity, width - 1)

    def _known(self, column: int, state: State) -> MirroredColumn:
        if column not in self._columns:
            kind = int(self._program.columns[column, ColumnField.TYPE])
            self._columns[column] = MirroredColumn(kind, int(state.type_state[kind, TypeState.WIDTH]))
        return self._columns[column]

    def _bring(self, column: int, mirrored: MirroredColumn, state: State) -> None:
        lane = int(state.column_lane[column])
        first, end = (0, 0) if lane < 0 else map(int, state.lanes[lane, [LaneState.FIRST, LaneState.NEXT]])
        live = end - first
        if mirrored.base < 0 or live > mirrored.capacity:
            self._place(mirrored, _power(max(_SMALLEST, mirrored.capacity, live)))
        begin = max(first, mirrored.next)
        mirrored.first, mirrored.next = first, end
        if begin < end:
            rows = _rows(lane, begin, end, mirrored.type, state)
            staged = self._device.write(f"rows of {column}", rows)
            self._put(staged, mirrored.base, begin, mirrored.width + 1, mirrored.capacity, len(rows))

    def _place(self, mirrored: MirroredColumn, capacity: int) -> None:
        """Give a column room, in which nothing is yet."""
        mirrored.capacity, mirrored.next = capacity, 0
        if self._used + mirrored.words > self._size:
            self._grow(0)
        mirrored.base = self._used
        self._used += mirrored.words

    def _grow(self, more: int) -> None:
        """Begin anew in a larger arena: the host has all that was in this one."""
        while self._size < 2 * (more + sum(each.words for each in self._columns.values())):
            self._size *= 2
        self.arena = self._device.buffer("arena", 8 * self._size)
        self._used = 0
        for each in self._columns.values():
            each.base = -1

    def _put(self, staged: Any, base: int, entry: int, width: int, capacity: int, count: int) -> None:
        where = (np.int64(base), np.int64(capacity), np.int32(width), np.int64(entry), np.int32(count))
        self._device.run("put_rows", count * width, self.arena, staged, *where)


def _power(least: int) -> int:
    return 1 << (least - 1).bit_length()


def _rows(lane: int, begin: int, end: int, kind: int, state: State) -> Words:
    """The rows of entries of a lane, each with its number behind it."""
    row = state.lanes[lane]
    places = row[LaneState.OFFSET] + (np.arange(begin, end) & row[LaneState.MASK])
    numbers = state.entries[places, EntryField.ROW]
    offset, mask, width = (
        int(state.type_state[kind, at]) for at in (TypeState.OFFSET, TypeState.MASK, TypeState.WIDTH)
    )
    ring = state.store[offset : offset + (mask + 1) * width].reshape(mask + 1, width)
    found = np.empty((end - begin, width + 1), np.int64)
    found[:, :width] = ring[numbers & mask]
    found[:, width] = numbers
    found[:, SLOT_TIME] = state.entries[places, EntryField.TIME]  # a row that is out of reach may be another by now
    return found
