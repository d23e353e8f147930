"""The arrays that the kernel works on, and the context that tells it where they are."""

from __future__ import annotations

from enum import IntEnum

COMPOSITE_ID_BASE = -(2**63)
"""Ids in one word: a number from 0 up, a text as ~code (its place in the string table), a composite event as its
digest plus this base. The three ranges do not meet: digests have 62 bits."""

STRING_ID_FLOOR = -(2**62)


class TypeState(IntEnum):
    """Of the rows of an event type: a ring in the store, and how wide a row is."""

    OFFSET = 0
    MASK = 1
    WIDTH = 2
    FIRST = 3
    NEXT = 4


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
