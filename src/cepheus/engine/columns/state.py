"""The arrays that the kernel works on, and the context that tells it where they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import pyarrow as pa

from cepheus.engine.columns.memory import CONTEXT_SIZE, At, address
from cepheus.engine.columns.sums import LIMBS
from cepheus.plan.program import MAX_POSITIONS, MAX_STACK, Program, Words
from cepheus.plan.strings import StringTable

COMPOSITE_ID_BASE = -(2**63)
"""Ids in one word: a number from 0 up, a text as ~code (its place in the string table), a composite event as its
digest plus this base. The three ranges do not meet: digests have 62 bits."""

STRING_ID_FLOOR = -(2**62)


class TypeState(IntEnum):
    """Of the rows of an event type: a ring in the store."""

    OFFSET = 0
    MASK = 1
    FIRST = 2
    NEXT = 3


class LaneState(IntEnum):
    """Of a lane: a ring in the entries, its key, and which entries its running sum covers."""

    OFFSET = 0
    MASK = 1
    FIRST = 2
    NEXT = 3
    COLUMN = 4
    HASH = 5
    SUM_FIRST = 6
    SUM_NEXT = 7
    INEXACT = 8
    KEY_0 = 9
    KEY_1 = 10
    KEY_2 = 11
    KEY_3 = 12


LANE_WORDS = len(LaneState)


class EntryField(IntEnum):
    """Of an entry of a lane: the event's time, its row in the store of its type, the value that the column sums."""

    TIME = 0
    ROW = 1
    VALUE = 2


ENTRY_WORDS = len(EntryField)
SMALLEST_LANE = 2
"""Entries of a new lane, as a power of two."""

FREE_LISTS = 60


class Status(IntEnum):
    """Why the kernel came back: the input is done, or something must grow first."""

    DONE = 0
    OUTPUT_FULL = 1
    STORE_FULL = 2
    ENTRIES_FULL = 3
    LANES_FULL = 4
    QUEUE_FULL = 5
    MARKS_FULL = 6
    LIMIT = 7
    STRING_NEEDED = 8


DONE, OUTPUT_FULL, STORE_FULL, ENTRIES_FULL, LANES_FULL, QUEUE_FULL, MARKS_FULL, LIMIT, STRING_NEEDED = map(int, Status)


class Cursor(IntEnum):
    """Of the cursor of a selection: the next entry, where to stop, how many events it may still take, the lane."""

    ENTRY = 0
    END = 1
    LEFT = 2
    LANE = 3


class OutputHeader(IntEnum):
    """Of a composite event in the output: the fields before the ids of its parts and its values."""

    RULE = 0
    TIME = 1
    START = 2


OUTPUT_HEADER = len(OutputHeader)


@dataclass(slots=True)
class State:
    """What later answers depend on: stored rows, lanes and their entries."""

    store: Words = field(default_factory=lambda: np.zeros(1024, np.int64))
    types: Words = field(default_factory=lambda: np.zeros((0, len(TypeState)), np.int64))
    lanes: Words = field(default_factory=lambda: np.zeros((64, LANE_WORDS), np.int64))
    sums: Words = field(default_factory=lambda: np.zeros((64, LIMBS), np.int64))
    entries: Words = field(default_factory=lambda: np.zeros((1024, ENTRY_WORDS), np.int64))
    hash: Words = field(default_factory=lambda: np.full(1024, -1, np.int64))
    column_lane: Words = field(default_factory=lambda: np.full(0, -1, np.int64))
    free: Words = field(default_factory=lambda: np.full(FREE_LISTS, -1, np.int64))
    queue: Words = field(default_factory=lambda: np.zeros(64, np.int64))


@dataclass(slots=True)
class Scratch:
    """Working space of one evaluation; means nothing between events."""

    bound: Words
    cursors: Words
    results: Words
    results_defined: Words
    stack: Words
    stack_defined: Words
    rules: Words
    columns: Words
    lanes: Words
    marks: Words
    scan_sum: Words

    @classmethod
    def for_rules(cls, steps: int, listeners: int) -> Scratch:
        """Make working space for rules of up to ``steps`` steps and events with up to ``listeners`` listeners."""
        return cls(
            bound=np.zeros(MAX_POSITIONS + 2, np.int64),
            cursors=np.zeros((steps + 1, len(Cursor)), np.int64),
            results=np.zeros(steps + 1, np.int64),
            results_defined=np.zeros(steps + 1, np.int64),
            stack=np.zeros(MAX_STACK, np.int64),
            stack_defined=np.zeros(MAX_STACK, np.int64),
            rules=np.zeros(listeners + 1, np.int64),
            columns=np.zeros(listeners + 1, np.int64),
            lanes=np.zeros(listeners + 1, np.int64),
            marks=np.zeros((256, 2), np.int64),
            scan_sum=np.zeros(LIMBS, np.int64),
        )


@dataclass(slots=True)
class Input:
    """The events to process: type codes, times, starts, ids, and where the words of each type's slots are read.

    ``rows`` names those that can concern some rule, where that was found out beforehand.
    """

    codes: np.ndarray[tuple[int], np.dtype[np.int32]]
    kinds: Words
    times: Words
    starts: Words
    ids: Words
    addresses: Words
    slots: Words
    id_digests: Words
    rows: Words | None = None


_FEW_EVENTS = 1 << 12
_MANY_EVENTS = 1 << 20


class Output:
    """Room for composite events: an array for each field.

    With ``traced`` there is one field more, the last: where each composite event comes from. That is the number of the
    input row that completed it or, below zero, ``~index`` of the composite event in the output that did.
    """

    def __init__(self, width: int, *, traced: bool = False) -> None:
        self.lineage = width if traced else 0
        self.fields = [_words(_FEW_EVENTS) for _ in range(width + traced)]
        self.addresses = np.zeros(len(self.fields) + 1, np.int64)
        self._locate()

    def _locate(self) -> None:
        self.addresses[:-1] = [address(array) for array in self.fields]

    @property
    def size(self) -> int:
        """How many events there is room for."""
        return len(self.fields[0])

    def expect(self, events: int) -> None:
        """Have room, while there is nothing in it, for two composite events from each event."""
        wanted = min(2 * events, _MANY_EVENTS)
        if self.size < wanted:
            self.fields = [_words(wanted) for _ in self.fields]
            self._locate()

    def grow(self) -> None:
        """Make room for twice as many events."""
        for at, array in enumerate(self.fields):
            self.fields[at] = _words(2 * len(array))
            self.fields[at][: len(array)] = array
        self._locate()

    def look(self, count: int) -> list[Words]:
        """Give the first events, as they are until more are written."""
        return [array[:count] for array in self.fields]

    def take(self, count: int) -> list[Words]:
        """Give the first events: a copy of a few, or the arrays themselves, with new ones in their place."""
        if 2 * count < self.size:
            return [array[:count].copy() for array in self.fields]
        taken = [array[:count] for array in self.fields]
        self.fields = [_words(_FEW_EVENTS) for _ in taken]
        self._locate()
        return taken


def _words(count: int) -> Words:
    """Give room for words in Arrow's memory, which keeps what is freed: fresh pages cost more than what is written."""
    return np.frombuffer(pa.allocate_buffer(8 * count), np.int64)


class Context:
    """The table of addresses and numbers that the kernel is called with."""

    def __init__(self) -> None:
        self.words = np.zeros(CONTEXT_SIZE, np.int64)
        self.words[At.TIME] = np.iinfo(np.int64).min
        self.words[At.NEEDED_TABLE] = -1
        self.address = address(self.words)
        self._given: Input | None = None
        self._given_digests: Words | None = None

    def __getitem__(self, at: At) -> int:
        return int(self.words[at])

    def __setitem__(self, at: At, value: int) -> None:
        self.words[at] = value

    def _point(self, *arrays: tuple[At, Words]) -> None:
        for at, array in arrays:
            self.words[at] = address(array)

    def use_program(self, program: Program) -> None:
        """Point at the tables of a program."""
        self._point(
            (At.TYPES, program.types),
            (At.LISTENERS, program.listeners),
            (At.CONSTRAINTS, program.constraints),
            (At.CODE, program.code),
            (At.COLUMNS, program.columns),
            (At.RULES, program.rules),
            (At.STEPS, program.steps),
            (At.KEYS, program.keys),
            (At.OUTPUTS, program.outputs),
            (At.CONSUMING, program.consuming),
            (At.INDEXES, program.indexes),
            (At.POINTS, program.points),
            (At.NODES, program.nodes),
            (At.MEMBERS, program.members),
        )
        self[At.RECORD_WIDTH] = program.record_width

    def use_strings(self, strings: StringTable) -> None:
        """Point at the tables of string functions."""
        self._point((At.TABLES, strings.tables))
        self[At.TABLE_WIDTH] = strings.tables.shape[1]

    def use_state(self, state: State) -> None:
        """Point at the arrays of a state."""
        self._point(
            (At.STORE, state.store),
            (At.TYPE_STATE, state.types),
            (At.LANES, state.lanes),
            (At.SUMS, state.sums),
            (At.ENTRIES, state.entries),
            (At.HASH, state.hash),
            (At.COLUMN_LANE, state.column_lane),
            (At.FREE, state.free),
            (At.QUEUE, state.queue),
        )
        self[At.STORE_SIZE] = len(state.store)
        self[At.ENTRIES_SIZE] = len(state.entries)
        self[At.LANES_SIZE] = len(state.lanes)
        self[At.HASH_SIZE] = len(state.hash)
        self[At.QUEUE_SIZE] = len(state.queue)

    def use_scratch(self, scratch: Scratch) -> None:
        """Point at working space."""
        self._point(
            (At.BOUND, scratch.bound),
            (At.CURSORS, scratch.cursors),
            (At.RESULTS, scratch.results),
            (At.RESULTS_DEFINED, scratch.results_defined),
            (At.STACK, scratch.stack),
            (At.STACK_DEFINED, scratch.stack_defined),
            (At.ACCEPTED_RULES, scratch.rules),
            (At.ACCEPTED_COLUMNS, scratch.columns),
            (At.ACCEPTED_LANES, scratch.lanes),
            (At.MARKS, scratch.marks),
            (At.SCAN_SUM, scratch.scan_sum),
        )
        self[At.MARKS_SIZE] = len(scratch.marks)

    def use_output(self, output: Output) -> None:
        """Point at room for composite events."""
        self.words[At.OUTPUT] = address(output.addresses)
        self[At.OUTPUT_SIZE] = output.size
        self[At.LINEAGE] = output.lineage

    def use_input(self, given: Input) -> None:
        """Point at events and begin with the first."""
        self.words[At.CODES] = int(given.codes.ctypes.data)
        self._point(
            (At.KINDS, given.kinds),
            (At.TIMES, given.times),
            (At.STARTS, given.starts),
            (At.IDS, given.ids),
            (At.ADDRESSES, given.addresses),
            (At.SLOTS, given.slots),
            (At.ID_DIGESTS, given.id_digests),
        )
        self.words[At.ROWS] = 0 if given.rows is None else address(given.rows)
        self[At.INPUT_SIZE] = len(given.times if given.rows is None else given.rows)
        self[At.INPUT_NEXT] = 0
        self._given, self._given_digests = given, given.id_digests

    def use_single(self, given: Input) -> None:
        """Point at an input of one event, whose arrays are written anew for each event."""
        if self._given is given and self._given_digests is given.id_digests:  # it was the last input, too
            self.words[At.INPUT_NEXT] = 0
        else:
            self.use_input(given)
