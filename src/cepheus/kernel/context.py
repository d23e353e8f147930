"""The arrays of an engine, and the table of their addresses that the kernel is called with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from cepheus.kernel.addresses import Addresses, arrays_of
from cepheus.kernel.functions import FUNCTION_ADDRESSES
from cepheus.kernel.instructions import MAX_STACK
from cepheus.kernel.memory import At, address
from cepheus.kernel.output import Output
from cepheus.kernel.program import MAX_POSITIONS, ROW_ENDS, Left, Program, Words
from cepheus.kernel.state import (
    FREE_LISTS,
    Cursor,
    EntryField,
    GatheredField,
    GroupState,
    LaneState,
    MarkField,
    TimerState,
    TypeState,
)
from cepheus.kernel.strings import StringTable
from cepheus.kernel.sums import LIMBS
from cepheus.kernel.tables import copied_in_lines

_USED_FROM_THE_BEGINNING = ("store", "lanes", "sums", "entries", "values", "in_order")
"""The arrays of a state of which only so many rows are in use."""


@dataclass(slots=True)
class State:
    """What later answers depend on: stored rows, lanes and their entries; each array is named like its place."""

    store: Words = field(default_factory=lambda: np.zeros(1024, np.int64))
    type_state: Words = field(default_factory=lambda: TypeState.zeros(0))
    lanes: Words = field(default_factory=lambda: LaneState.zeros(64))
    sums: Words = field(default_factory=lambda: np.zeros((64, LIMBS), np.int64))
    entries: Words = field(default_factory=lambda: EntryField.zeros(1024))
    values: Words = field(default_factory=lambda: np.zeros(0, np.int64))
    in_order: Words = field(default_factory=lambda: np.zeros(0, np.int64))
    hash: Words = field(default_factory=lambda: np.full(1024, -1, np.int64))
    direct: Words = field(default_factory=lambda: np.full((0, 0), -1, np.int64))
    column_lane: Words = field(default_factory=lambda: np.full(0, -1, np.int64))
    free: Words = field(default_factory=lambda: np.full(FREE_LISTS, -1, np.int64))
    timer_state: Words = field(default_factory=lambda: TimerState.zeros(0))
    queue: Words = field(default_factory=lambda: np.zeros(64, np.int64))

    def words(self, used: Mapping[str, int]) -> int:
        """How many words there are in all arrays, of some only in so many rows as are in use."""
        return sum(int(getattr(self, each.name)[: used.get(each.name)].size) for each in fields(self))

    @property
    def bytes_of_events(self) -> int:
        """Bytes of the arrays that hold stored events."""
        arrays = (self.store, self.entries, self.values, self.in_order, self.lanes, self.sums, self.hash)
        return sum(array.nbytes for array in arrays)

    def copied(self, used: Mapping[str, int]) -> State:
        """The same in arrays of its own; of some only so many rows are in use, and no others are copied."""
        return State(**{name: copied_in_lines(array, used.get(name)) for name, array in arrays_of(self).items()})

    def emptied(self) -> State:
        """As much room in other arrays, without the rows, lanes and entries; the rest is as it is here."""
        return self.copied(dict.fromkeys(_USED_FROM_THE_BEGINNING, 0))


@dataclass(slots=True)
class Scratch:
    """Working space of one evaluation; means nothing between events. Each array is named like its place."""

    bound: Words
    cursors: Words
    results: Words
    results_defined: Words
    stack: Words
    stack_defined: Words
    accepted_rules: Words
    accepted_columns: Words
    accepted_lanes: Words
    marks: Words
    scan_sum: Words
    chosen: Words
    groups: Words
    gathered: Words

    @classmethod
    def for_rules(cls, steps: int, members: int) -> Scratch:
        """Make working space for rules of up to ``steps`` steps; no event concerns more than ``members``."""
        return cls(
            bound=np.zeros(MAX_POSITIONS + 2, np.int64),
            cursors=Cursor.zeros(steps + 1),
            results=np.zeros(steps + 1, np.int64),
            results_defined=np.zeros(steps + 1, np.int64),
            stack=np.zeros(MAX_STACK, np.int64),
            stack_defined=np.zeros(MAX_STACK, np.int64),
            accepted_rules=np.zeros(members + 1, np.int64),
            accepted_columns=np.zeros(members + 1, np.int64),
            accepted_lanes=np.zeros(members + 1, np.int64),
            marks=MarkField.zeros(256),
            scan_sum=np.zeros(LIMBS, np.int64),
            chosen=np.zeros(256, np.int64),
            groups=GroupState.zeros(256),
            gathered=GatheredField.zeros(256),
        )

    def copied(self) -> Scratch:
        """As much of it."""
        return Scratch(**{name: copied_in_lines(array) for name, array in arrays_of(self).items()})


@dataclass(slots=True)
class Input:
    """The events to process: type codes, times, starts, ids, and where the words of each type's slots are read.

    ``rows`` names those that can concern some rule, where that was found out beforehand; ``left`` is what is left to do
    then, by type code (``Left``), which is all if nothing is said. Those before ``begin`` and from ``end`` on are
    passed over.
    """

    codes: np.ndarray[tuple[int], np.dtype[np.int32]]
    kinds: Words
    times: Words
    starts: Words
    ids: Words | range
    addresses: Words
    slots: Words
    id_digests: Words
    rows: Words | None = None
    left: Words | None = None
    begin: int = 0
    end: int | None = None


_INPUT_NEXT, _OUTPUT_EVENTS = int(At.INPUT_NEXT), int(At.OUTPUT_EVENTS)
_TIES = slice(int(At.TIES_DECIDED), int(At.TIES_BOUNDED) + 1)


class Context(Addresses[At]):
    """The table of addresses and numbers that the kernels of columns are called with."""

    def __init__(self) -> None:
        super().__init__(At)
        self.point(At.FUNCTIONS, FUNCTION_ADDRESSES.rows)
        self._given: Input | None = None
        self._given_digests: Words | None = None
        self._homes: Words = np.zeros(0, np.int64)

    @property
    def given(self) -> Input | None:
        """The events that it points at, None if time alone goes on."""
        return self._given

    def take_output_events(self) -> int:
        """Return how many events are in the output, which counts as empty from now on."""
        count: int = self._cells[_OUTPUT_EVENTS]
        self._cells[_OUTPUT_EVENTS] = 0
        return count

    def take_gathered(self, gathered: Words) -> Words | None:
        """Hand out a copy of what was gathered, None for nothing; it counts as empty from now on."""
        count = self[At.GATHERED_COUNT]
        self[At.GATHERED_COUNT] = 0
        return gathered[:count].copy() if count else None

    def use_program(self, program: Program) -> None:
        """Point at the tables of a program."""
        self.point_all(**program.tables())
        self[At.RECORD_WIDTH] = program.record_width

    def use_homes(self, slots: Sequence[int]) -> None:
        """Point at the slots, one a type, that tell whether an event is at home; -1 where there is no such slot."""
        self._homes = np.array(slots, np.int64)
        if (self._homes >= 0).any():
            self.point(At.HOMES, self._homes)
        else:
            self[At.HOMES] = 0

    def ties(self) -> list[int]:
        """Return what was counted of simultaneous events."""
        found: list[int] = self.words[_TIES].tolist()
        return found

    def set_ties(self, counts: Sequence[int]) -> None:
        """Go back to what had been counted of simultaneous events."""
        self.words[_TIES] = counts

    def add_ties(self, other: Context) -> None:
        """Take over what another table has counted of simultaneous events."""
        decided, passed, bounded = zip(self.ties(), other.ties(), strict=True)
        self.set_ties([sum(decided), sum(passed), max(bounded)])
        other.set_ties([0, 0, 0])

    def pass_time(self, before: Context) -> None:
        """Follow another table: time is never before its own, and what it has counted goes over to this one."""
        self[At.TIME] = max(self[At.TIME], before[At.TIME])
        self[At.UNTIL] = before[At.UNTIL]
        self.add_ties(before)

    def used(self) -> dict[str, int]:
        """How many rows are in use of the arrays of a state that are used from their beginning on."""
        lanes, entries = self[At.LANE_COUNT], self[At.ENTRIES_USED]
        counts = (self[At.STORE_USED], lanes, lanes, entries, entries, entries)
        return dict(zip(_USED_FROM_THE_BEGINNING, counts, strict=True))

    def copied(self) -> Context:
        """Make a table that points where this one points, but has counted no simultaneous events."""
        fresh = Context()
        fresh.words[:], fresh._homes = self.words, self._homes
        fresh.set_ties([0, 0, 0])
        return fresh

    def renewed(self) -> Context:
        """Make a table that points at nothing yet and goes on counting simultaneous events where this one stands."""
        fresh = Context()
        fresh.words[_TIES] = self.words[_TIES]
        return fresh

    def use_strings(self, strings: StringTable) -> None:
        """Point at the tables of string functions."""
        self.point(At.TABLES, strings.tables)
        self[At.TABLE_WIDTH] = strings.tables.shape[1]

    def use_state(self, state: State) -> None:
        """Point at the arrays of a state."""
        self.point_all(**arrays_of(state))
        self[At.DIRECT_WIDTH] = state.direct.shape[1]

    def use_scratch(self, scratch: Scratch) -> None:
        """Point at working space."""
        self.point_all(**arrays_of(scratch))

    def use_output(self, output: Output) -> None:
        """Point at room for composite events."""
        self.words[At.OUTPUT] = output.addresses_at
        self[At.OUTPUT_SIZE] = output.size
        self[At.LINEAGE] = output.lineage

    def use_input(self, given: Input) -> None:
        """Point at events and begin with the first."""
        self.words[At.CODES] = address(given.codes)
        self.point(At.KINDS, given.kinds)
        self._left = np.full(len(given.kinds), Left.ALL, np.int64) if given.left is None else given.left
        self.point(At.LEFT, self._left)
        self.point(At.TIMES, given.times)
        self.point(At.STARTS, given.starts)
        self._sources = np.where(given.slots < 0, 0, given.addresses[np.maximum(given.slots, 0)])
        self._sources[given.slots == ROW_ENDS] = ROW_ENDS
        self.point(At.SOURCES, self._sources)
        self.point(At.ID_DIGESTS, given.id_digests)
        if isinstance(given.ids, range):
            self[At.IDS], self[At.FIRST_ID] = 0, given.ids.start
        else:
            self.point(At.IDS, given.ids)
        self[At.ROWS] = 0 if given.rows is None else address(given.rows)
        count = len(given.times if given.rows is None else given.rows)
        self[At.INPUT_SIZE] = count if given.end is None else given.end
        self[At.INPUT_NEXT] = given.begin
        self._given, self._given_digests = given, given.id_digests

    def use_nothing(self, id_digests: Words) -> None:
        """Take no events: only time goes on."""
        self.point(At.ID_DIGESTS, id_digests)
        self[At.INPUT_SIZE] = self[At.INPUT_NEXT] = 0
        self._given, self._given_digests = None, id_digests

    def use_single(self, given: Input) -> None:
        """Point at an input of one event, whose arrays are written anew for each event."""
        if self._given is given and self._given_digests is given.id_digests:  # it was the last input, too
            self._cells[_INPUT_NEXT] = 0
        else:
            self.use_input(given)
