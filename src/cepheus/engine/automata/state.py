"""The arrays that hold sequence instances, and the table of addresses by which compiled code finds them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from cepheus.engine.automata.tables import Tables
from cepheus.kernel.memory import address
from cepheus.kernel.program import MAX_KEYS, MAX_POSITIONS, Words


class InstanceLane(IntEnum):
    """Of a lane: a ring of instances in the pool, all in one state and with one key, in the order of the stream.

    An instance is a record of ``STRIDE`` words: the time of its latest event, then the row numbers of all its events
    from the earliest on.
    """

    OFFSET = 0
    MASK = 1
    FIRST = 2
    NEXT = 3
    STATE = 4
    STRIDE = 5
    HASH = 6
    KEY_0 = 7
    KEY_1 = 8
    KEY_2 = 9
    KEY_3 = 10


INSTANCE_LANE_WORDS = len(InstanceLane)
SMALLEST_RING = 1
"""Instances of a new lane, as a power of two."""

RING_POWERS = 48
"""Free blocks of the pool are listed by the stride of their records and by how many (a power of two) they hold."""


class Shortage(IntEnum):
    """What the kernel of this engine ran out of; the numbers go on far behind those of ``Status``."""

    POOL_FULL = 100
    LANES_FULL = 101
    MADE_FULL = 102


class In(IntEnum):
    """Places in the table of addresses and numbers."""

    # the automata
    STATES = 0
    PATHS = 1
    KEYS = 2
    NEEDS = 3
    ENTRANCES = 4
    ENTERED = 5
    CHOICES = 6
    COLUMN_COUNT = 7
    # the instances
    POOL = 10
    LANES = 11
    HASH = 12
    STATE_LANE = 13
    FREE = 14
    POOL_SIZE = 15
    LANES_SIZE = 16
    HASH_SIZE = 17
    POOL_USED = 18
    LANE_COUNT = 19
    # working space: a key, the instance being made, rows bound by position, lanes that got an instance
    KEY = 20
    RECORD = 21
    ROWS = 22
    MADE = 23
    MADE_SIZE = 24
    MADE_COUNT = 25
    CULPRIT = 26
    SHORTAGE = 27


_TABLE_WORDS = 32


@dataclass(slots=True)
class Instances:
    """All sequence instances, and the working space of one event."""

    pool: Words = field(default_factory=lambda: np.zeros(4096, np.int64))
    lanes: Words = field(default_factory=lambda: np.zeros((64, INSTANCE_LANE_WORDS), np.int64))
    hash: Words = field(default_factory=lambda: np.full(256, -1, np.int64))
    state_lane: Words = field(default_factory=lambda: np.full(0, -1, np.int64))
    free: Words = field(default_factory=lambda: np.full((MAX_POSITIONS + 2) * RING_POWERS, -1, np.int64))
    key: Words = field(default_factory=lambda: np.zeros(MAX_KEYS, np.int64))
    record: Words = field(default_factory=lambda: np.zeros(MAX_POSITIONS + 2, np.int64))
    rows: Words = field(default_factory=lambda: np.zeros(MAX_POSITIONS + 2, np.int64))
    made: Words = field(default_factory=lambda: np.zeros(1024, np.int64))


class InstanceTable:
    """The table of addresses and numbers of one engine's instances."""

    def __init__(self) -> None:
        self.words = np.zeros(_TABLE_WORDS, np.int64)
        self.address = address(self.words)

    def __getitem__(self, at: In) -> int:
        return int(self.words[at])

    def __setitem__(self, at: In, value: int) -> None:
        self.words[at] = value

    def use_tables(self, tables: Tables, column_count: int) -> None:
        """Point at the automata."""
        for at, array in (
            (In.STATES, tables.states),
            (In.PATHS, tables.paths),
            (In.KEYS, tables.keys),
            (In.NEEDS, tables.needs),
            (In.ENTRANCES, tables.entrances),
            (In.ENTERED, tables.entered),
            (In.CHOICES, tables.choices),
        ):
            self.words[at] = address(array)
        self[In.COLUMN_COUNT] = column_count

    def use_instances(self, instances: Instances) -> None:
        """Point at the instances and the working space."""
        for at, array in (
            (In.POOL, instances.pool),
            (In.LANES, instances.lanes),
            (In.HASH, instances.hash),
            (In.STATE_LANE, instances.state_lane),
            (In.FREE, instances.free),
            (In.KEY, instances.key),
            (In.RECORD, instances.record),
            (In.ROWS, instances.rows),
            (In.MADE, instances.made),
        ):
            self.words[at] = address(array)
        self[In.POOL_SIZE] = len(instances.pool)
        self[In.LANES_SIZE] = len(instances.lanes)
        self[In.HASH_SIZE] = len(instances.hash)
        self[In.MADE_SIZE] = len(instances.made)
