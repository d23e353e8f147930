"""The arrays that the kernel works on, and the context that tells it where they are."""

from __future__ import annotations

from enum import IntEnum

COMPOSITE_ID_BASE = -(2**63)
"""Ids in one word: a number from 0 up, a text as ~code (its place in the string table), a composite event as its
digest plus this base. The three ranges do not meet: digests have 62 bits."""

STRING_ID_FLOOR = -(2**62)


class TypeState(IntEnum):
    """Of the rows of an event type: a ring in the store, and how wide a row is. It fills a line of the cache."""

    OFFSET = 0
    MASK = 1
    WIDTH = 2
    FIRST = 3
    NEXT = 4
    PADDING_0 = 5
    PADDING_1 = 6
    PADDING_2 = 7


class LaneState(IntEnum):
    """Of a lane: a ring in the entries, its latest event, its key, and which entries its running sum covers.

    It is two lines of the cache; to find it by a key of one part, and the latest event in it, takes the first alone.
    ``LAST_PLACE`` is twice the place of the row of the latest event, plus 1 if the event before it has the same time.
    """

    OFFSET = 0
    MASK = 1
    FIRST = 2
    NEXT = 3
    LAST_TIME = 4
    LAST_PLACE = 5
    COLUMN = 6
    KEY_0 = 7
    KEY_1 = 8
    KEY_2 = 9
    KEY_3 = 10
    HASH = 11
    SUM_FIRST = 12
    SUM_NEXT = 13
    INEXACT = 14
    PADDING = 15


LANE_WORDS = len(LaneState)


class EntryField(IntEnum):
    """Of an entry of a lane: the event's time and its row in the store of its type."""

    TIME = 0
    ROW = 1


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
