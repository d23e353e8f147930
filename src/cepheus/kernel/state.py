"""The arrays that the kernel works on, and the context that tells it where they are."""

from __future__ import annotations

from enum import IntEnum

from cepheus.kernel.program import MAX_KEYS
from cepheus.kernel.tables import Fields, cell, padding, run

COMPOSITE_ID_BASE = -(2**63)
"""Ids in one word: a number from 0 up, a text as ~code (its place in the string table), a composite event as its
digest plus this base. The three ranges do not meet: digests have 62 bits."""

STRING_ID_FLOOR = -(2**62)


class TypeState(Fields):
    """Of the rows of an event type: a ring in the store, and how wide a row is. It fills a line of the cache."""

    OFFSET = cell()
    MASK = cell()
    WIDTH = cell()
    FIRST = cell()
    NEXT = cell()
    PADDING = padding()


class LaneState(Fields):
    """Of a lane: a ring in the entries, its latest event, its key, and which entries its running sum covers.

    It is two lines of the cache; to find it by a key of one part, and the latest event in it, takes the first alone.
    ``LAST_PLACE`` is twice the place of the row of the latest event, plus 1 if the event before it has the same time.
    ``INEXACT`` counts summed values out of the range of exact sums; of values in order it is 1 if they are so no more.
    """

    OFFSET = cell()
    MASK = cell()
    FIRST = cell()
    NEXT = cell()
    LAST_TIME = cell()
    LAST_PLACE = cell()
    COLUMN = cell()
    KEY = run(MAX_KEYS)
    HASH = cell()
    SUM_FIRST = cell()
    SUM_NEXT = cell()
    INEXACT = cell()
    PADDING = padding()


LANE_WORDS = LaneState.row_words()


class EntryField(Fields):
    """Of an entry of a lane: the event's time and its row in the store of its type."""

    TIME = cell()
    ROW = cell()


ENTRY_WORDS = EntryField.row_words()
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
    LISTS_FULL = 9
    GROUPS_FULL = 10
    GATHERED_FULL = 11
    PUT_OFF = 12
    """What was put off must be evaluated before the next event is taken."""


DONE, OUTPUT_FULL, STORE_FULL, ENTRIES_FULL, LANES_FULL, QUEUE_FULL, MARKS_FULL, LIMIT, STRING_NEEDED = map(
    int, list(Status)[:9]
)
LISTS_FULL, GROUPS_FULL, GATHERED_FULL, PUT_OFF = map(int, list(Status)[9:])

TOO_MANY = 2**62
"""In place of the table that a string function needs: a step, whose number is added, would hold too much."""


class Cursor(Fields):
    """Of the cursor of a selection: the next entry, where to stop, how many events it may still take, the lane."""

    ENTRY = cell()
    END = cell()
    LEFT = cell()
    LANE = cell()


class TimerState(Fields):
    """Of a timer: the entry of its column that it comes to next, or the time of its next regular moment.

    ``KEY`` is a time before which it has no moment, ``PLACE`` where it stands in a heap by these keys. The heap has no
    table of its own: ``HEAP`` of row i is the timer at place i.
    """

    ENTRY = cell()
    TIME = cell()
    KEY = cell(0)
    PLACE = cell(0)
    HEAP = cell(0)


class GroupState(Fields):
    """Of a group that a selection has met: when (the stamp of the selection), one of its events, how many are taken."""

    STAMP = cell()
    BASE = cell()
    COUNT = cell()
    TIME = cell()


class GatheredField(Fields):
    """Of an event that a composite event names among what it is made of: its id and its type."""

    ID = cell()
    TYPE = cell()


class GatheringField(Fields):
    """Of a composite event in the output, behind the ids of its parts: where its members are in what was gathered.

    Those of collections come first, up to ``MIDDLE``, then what aggregates counted. The id is made of the former alone.
    """

    BEGIN = cell()
    MIDDLE = cell()
    END = cell()
    DIGEST = cell()


GATHERING = GatheringField.row_words()


class MarkField(Fields):
    """Of an event that is to be marked as consumed: where its mark is in the store, and the bit."""

    PLACE = cell()
    BIT = cell()


class OutputHeader(Fields):
    """Of a composite event in the output: the fields before the ids of its parts and its values."""

    RULE = cell()
    TIME = cell()
    START = cell()


OUTPUT_HEADER = OutputHeader.row_words()
