"""The arrays that hold sequence instances, and the table of addresses by which compiled code finds them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from cepheus.engine.automata.tables import ChoiceField, KeyField, NeedField, StateField, Tables
from cepheus.kernel.addresses import Addresses, arrays_of
from cepheus.kernel.program import MAX_KEYS, MAX_POSITIONS, SpanField, Words
from cepheus.kernel.tables import Fields, cell, rows_of, run, size_of, words_at


class InstanceLane(Fields):
    """Of a lane: a ring of instances in the pool, all in one state and with one key, in the order of the stream.

    An instance is a record of ``STRIDE`` words: the time of its latest event, then the row numbers of all its events
    from the earliest on.
    """

    OFFSET = cell()
    MASK = cell()
    FIRST = cell()
    NEXT = cell()
    STATE = cell()
    STRIDE = cell()
    HASH = cell()
    KEY = run(MAX_KEYS)


INSTANCE_LANE_WORDS = InstanceLane.row_words()
SMALLEST_RING = 1
"""Instances of a new lane, as a power of two."""

RING_POWERS = 48
"""Free blocks of the pool are listed by the stride of their records and by how many (a power of two) they hold."""


class Shortage(IntEnum):
    """What the kernel of this engine ran out of; the numbers go on far behind those of ``Status``."""

    POOL_FULL = 100
    LANES_FULL = 101
    MADE_FULL = 102


class In(Fields):
    """Places in the table of addresses and numbers."""

    # the automata
    STATES = rows_of(StateField)
    PATHS = words_at()
    KEYS = rows_of(KeyField)
    NEEDS = rows_of(NeedField)
    ENTRANCES = rows_of(SpanField)
    ENTERED = words_at()
    CHOICES = rows_of(ChoiceField)
    COLUMN_COUNT = cell(0)
    # the instances
    POOL = words_at()
    POOL_SIZE = size_of(POOL)
    POOL_USED = cell(0)
    LANES = rows_of(InstanceLane)
    LANES_SIZE = size_of(LANES)
    LANE_COUNT = cell(0)
    HASH = words_at()
    HASH_SIZE = size_of(HASH)
    STATE_LANE = words_at()
    FREE = words_at()
    # working space: a key, the instance being made, rows bound by position, lanes that got an instance
    KEY = words_at()
    RECORD = words_at()
    ROWS = words_at()
    MADE = words_at()
    MADE_SIZE = size_of(MADE)
    MADE_COUNT = cell(0)
    CULPRIT = cell(0)
    SHORTAGE = cell(0)


@dataclass(slots=True)
class Instances:
    """All sequence instances, and the working space of one event; each array is named like its place."""

    pool: Words = field(default_factory=lambda: np.zeros(4096, np.int64))
    lanes: Words = field(default_factory=lambda: InstanceLane.zeros(64))
    hash: Words = field(default_factory=lambda: np.full(256, -1, np.int64))
    state_lane: Words = field(default_factory=lambda: np.full(0, -1, np.int64))
    free: Words = field(default_factory=lambda: np.full((MAX_POSITIONS + 2) * RING_POWERS, -1, np.int64))
    key: Words = field(default_factory=lambda: np.zeros(MAX_KEYS, np.int64))
    record: Words = field(default_factory=lambda: np.zeros(MAX_POSITIONS + 2, np.int64))
    rows: Words = field(default_factory=lambda: np.zeros(MAX_POSITIONS + 2, np.int64))
    made: Words = field(default_factory=lambda: np.zeros(1024, np.int64))


class InstanceTable(Addresses[In]):
    """The table of addresses and numbers of one engine's instances."""

    def __init__(self) -> None:
        super().__init__(In)

    def use_tables(self, tables: Tables, column_count: int) -> None:
        """Point at the automata."""
        self.point_all(
            states=tables.states,
            paths=tables.paths,
            keys=tables.keys,
            needs=tables.needs,
            entrances=tables.entrances,
            entered=tables.entered,
            choices=tables.choices,
        )
        self[In.COLUMN_COUNT] = column_count

    def use_instances(self, instances: Instances) -> None:
        """Point at the instances and the working space."""
        self.point_all(**arrays_of(instances))
