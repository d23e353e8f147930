"""The arrays of an engine, and the table of their addresses that the kernel is called with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from cepheus.kernel.functions import FUNCTION_ADDRESSES
from cepheus.kernel.instructions import MAX_STACK
from cepheus.kernel.lines import zeros_in_lines
from cepheus.kernel.memory import CONTEXT_SIZE, At, address, words_in
from cepheus.kernel.output import Output
from cepheus.kernel.program import MAX_POSITIONS, Program, Words
from cepheus.kernel.state import ENTRY_WORDS, FREE_LISTS, LANE_WORDS, Cursor, TypeState
from cepheus.kernel.strings import StringTable
from cepheus.kernel.sums import LIMBS


@dataclass(slots=True)
class State:
    """What later answers depend on: stored rows, lanes and their entries."""

    store: Words = field(default_factory=lambda: np.zeros(1024, np.int64))
    types: Words = field(default_factory=lambda: zeros_in_lines(0, len(TypeState)))
    lanes: Words = field(default_factory=lambda: zeros_in_lines(64, LANE_WORDS))
    sums: Words = field(default_factory=lambda: np.zeros((64, LIMBS), np.int64))
    entries: Words = field(default_factory=lambda: zeros_in_lines(1024, ENTRY_WORDS))
    values: Words = field(default_factory=lambda: np.zeros(0, np.int64))
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
    def for_rules(cls, steps: int, members: int) -> Scratch:
        """Make working space for rules of up to ``steps`` steps; no event concerns more than ``members``."""
        return cls(
            bound=np.zeros(MAX_POSITIONS + 2, np.int64),
            cursors=np.zeros((steps + 1, len(Cursor)), np.int64),
            results=np.zeros(steps + 1, np.int64),
            results_defined=np.zeros(steps + 1, np.int64),
            stack=np.zeros(MAX_STACK, np.int64),
            stack_defined=np.zeros(MAX_STACK, np.int64),
            rules=np.zeros(members + 1, np.int64),
            columns=np.zeros(members + 1, np.int64),
            lanes=np.zeros(members + 1, np.int64),
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
    ids: Words | range
    addresses: Words
    slots: Words
    id_digests: Words
    rows: Words | None = None


_INPUT_NEXT, _OUTPUT_EVENTS = int(At.INPUT_NEXT), int(At.OUTPUT_EVENTS)
_TIES = slice(int(At.TIES_DECIDED), int(At.TIES_BOUNDED) + 1)


class Context:
    """The table of addresses and numbers that the kernel is called with."""

    def __init__(self) -> None:
        self.words = np.zeros(CONTEXT_SIZE, np.int64)
        self.words[At.TIME] = np.iinfo(np.int64).min
        self.words[At.NEEDED_TABLE] = -1
        self.words[At.FUNCTIONS] = address(FUNCTION_ADDRESSES.rows)
        self.address = address(self.words)
        self._cells = words_in(self.words)
        self._given: Input | None = None
        self._given_digests: Words | None = None

    def __getitem__(self, at: At) -> int:
        cell: int = self._cells[at]
        return cell

    def __setitem__(self, at: At, value: int) -> None:
        self._cells[at] = value

    def take_output_events(self) -> int:
        """Give how many events are in the output, which counts as empty from now on."""
        count: int = self._cells[_OUTPUT_EVENTS]
        self._cells[_OUTPUT_EVENTS] = 0
        return count

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

    def use_homes(self, slots: Sequence[int]) -> None:
        """Point at the slots, one a type, that tell whether an event is at home; -1 where there is no such slot."""
        self._homes = np.array(slots, np.int64)
        self[At.HOMES] = address(self._homes) if (self._homes >= 0).any() else 0

    def ties(self) -> list[int]:
        """Give what was counted of simultaneous events."""
        found: list[int] = self.words[_TIES].tolist()
        return found

    def renewed(self) -> Context:
        """Give a table that points at nothing yet and goes on counting simultaneous events where this one stands."""
        fresh = Context()
        fresh.words[_TIES] = self.words[_TIES]
        return fresh

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
            (At.VALUES, state.values),
            (At.HASH, state.hash),
            (At.COLUMN_LANE, state.column_lane),
            (At.FREE, state.free),
            (At.QUEUE, state.queue),
        )
        self[At.STORE_SIZE] = len(state.store)
        self[At.ENTRIES_SIZE] = len(state.entries)
        self[At.HAS_VALUES] = len(state.values) > 0
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
        self.words[At.OUTPUT] = output.addresses_at
        self[At.OUTPUT_SIZE] = output.size
        self[At.LINEAGE] = output.lineage

    def use_input(self, given: Input) -> None:
        """Point at events and begin with the first."""
        self.words[At.CODES] = int(given.codes.ctypes.data)
        self._point(
            (At.KINDS, given.kinds),
            (At.TIMES, given.times),
            (At.STARTS, given.starts),
            (At.ADDRESSES, given.addresses),
            (At.SLOTS, given.slots),
            (At.ID_DIGESTS, given.id_digests),
        )
        if isinstance(given.ids, range):
            self.words[At.IDS], self.words[At.FIRST_ID] = 0, given.ids.start
        else:
            self.words[At.IDS] = address(given.ids)
        self.words[At.ROWS] = 0 if given.rows is None else address(given.rows)
        self[At.INPUT_SIZE] = len(given.times if given.rows is None else given.rows)
        self[At.INPUT_NEXT] = 0
        self._given, self._given_digests = given, given.id_digests

    def use_single(self, given: Input) -> None:
        """Point at an input of one event, whose arrays are written anew for each event."""
        if self._given is given and self._given_digests is given.id_digests:  # it was the last input, too
            self._cells[_INPUT_NEXT] = 0
        else:
            self.use_input(given)
