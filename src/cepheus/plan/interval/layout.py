"""How goals lie in memory: the context that points at everything, the rows of goals, what work is under way.

Each step of a plan gives new matches to the next, in an arena that is empty between events; what is to wait for a
partner is put into goal tables. The module ``program`` describes the tables of rules.
"""

from __future__ import annotations

from enum import IntEnum


class At(IntEnum):
    """Places in the context: addresses of arrays, and numbers that the kernel reads or changes."""

    # the program
    TYPES = 0
    PLANS = 1
    STEPS = 2
    NODES = 3
    LINKS = 4
    ARGUMENTS = 5
    TABLES = 6
    CONDITIONS = 7
    CODE = 8
    RULES = 9
    LATE = 10
    STRATA = 11
    # goals
    TABLE_STATE = 16
    POOL = 17
    POOL_SIZE = 18
    POOL_USED = 19
    NEWEST = 20
    OLDEST = 21
    BUCKETS_SIZE = 22
    ROWS = 23
    # working space
    ARENA = 28
    ARENA_SIZE = 29
    ARENA_USED = 30
    STEP_STATE = 31
    STACK = 32
    STACK_TAGS = 33
    VALUES = 34
    VALUE_TAGS = 35
    CONSUMED = 36
    CONSUMED_SIZE = 37
    CONSUMED_COUNT = 38
    CURSORS = 39
    START = 40
    END = 41
    SUM = 42
    # functions that are called by address
    COMPUTE = 52
    SOLVE = 53
    RESTRICTING = 54
    UNRESTRICTED = 55
    ABSENCE = 12
    COMMIT = 13
    FUNCTIONS = 14
    # answers of functions, order of texts
    ANSWERS = 44
    ANSWERS_SIZE = 45
    REQUESTS = 46
    REQUESTS_SIZE = 47
    REQUEST_COUNT = 48
    RANKS = 49
    RANKS_SIZE = 50
    NEED = 51
    # input and output
    CODES = 56
    KINDS = 57
    TIMES = 58
    STARTS = 59
    IDS = 60
    COLUMNS = 61
    SLOTS = 62
    SLOT_TAGS = 63
    TEXT_DIGESTS = 64
    INPUT_SIZE = 65
    INPUT_NEXT = 66
    OUTPUT = 67
    OUTPUT_SIZE = 68
    OUTPUT_WORDS = 69
    # the events of this instant, and what is still to be done with them
    INSTANT = 72
    INSTANT_SIZE = 73
    INSTANT_USED = 74
    WORK = 75
    WORK_SIZE = 76
    WORK_TOP = 77
    WORK_USED = 78
    HEADS_END = 89
    RECORD_WIDTH = 79
    KNOWN = 80
    KNOWN_SIZE = 81
    STAMP = 82
    NOW = 83
    TYPE_COUNT = 84
    # the end of an instant
    STRATUM = 85
    PORTION_END = 86
    LATE_PLAN = 87
    LATE_RECORD = 88
    # limits
    LIMIT = 90
    MADE = 91
    CULPRIT = 92
    MADE_ENDLESSLY = 95
    # room for finding what repeats itself
    SEEN = 93
    SEEN_SIZE = 94


CONTEXT_SIZE = 96


class Status(IntEnum):
    """Why the kernel came back: the input is done, or something is missing."""

    DONE = 0
    ARENA_FULL = 1
    POOL_FULL = 2
    BUCKETS_FULL = 3
    OUTPUT_FULL = 4
    INSTANT_FULL = 5
    CONSUMED_FULL = 6
    SEEN_FULL = 7
    WORK_FULL = 8
    ANSWER_NEEDED = 9
    RANKS_NEEDED = 10
    TOO_MANY_EVENTS = 11
    TOO_MANY_GOALS = 12


(
    DONE,
    ARENA_FULL,
    POOL_FULL,
    BUCKETS_FULL,
    OUTPUT_FULL,
    INSTANT_FULL,
    CONSUMED_FULL,
    SEEN_FULL,
    WORK_FULL,
    ANSWER_NEEDED,
    RANKS_NEEDED,
    TOO_MANY_EVENTS,
    TOO_MANY_GOALS,
) = map(int, Status)


class Need(IntEnum):
    """What the expression machine lacks."""

    NOTHING = 0
    ANSWER = 1
    RANKS = 2


class Frame(IntEnum):
    """Of work that is begun: the events it takes, the plans they are still to run, the complex events they made.

    Those stand behind the frame, each the node that made it, a record and the ids of its parts.
    """

    FIRST = 0
    END = 1
    PLAN = 2
    PLAN_END = 3
    HEAD = 4
    HEADS_END = 5
    PREVIOUS = 6


FRAME_WORDS = len(Frame)


class Known(IntEnum):
    """Of an entry of the table of known events: the instant it belongs to, and where the event is among its records."""

    STAMP = 0
    RECORD = 1


class StepState(IntEnum):
    """Of a step while its plan runs: where its new matches begin in the arena, and how many there are.

    A step of a restricting policy has marks, too: one for each new match of its left and then of its right operand.
    """

    FIRST = 0
    COUNT = 1
    MARKS = 2


class Mark(IntEnum):
    """Of a new match at an operator: whether it was taken as a partner, and the partner that it took itself."""

    TAKEN = 0
    PARTNER = 1


MARK_WORDS = len(Mark)


class TableState(IntEnum):
    """Of a goal table: its rows from the oldest to the newest, free rows, the longest interval it ever held."""

    FIRST = 0
    LAST = 1
    FREE = 2
    COUNT = 3
    LONGEST = 4


class Row(IntEnum):
    """Of a goal: its neighbours in its bucket and in its table, what it is screened by, and then a match."""

    OLDER = 0
    NEWER = 1
    BEFORE = 2
    AFTER = 3
    TABLE = 4
    HASH = 5
    SCREEN = 6


ROW_HEADER = len(Row)


class Match(IntEnum):
    """Of a match: whether, as a goal, it was taken as a partner, and its interval.

    After that come tags, values of variables, and ids of parts.
    """

    TAKEN = 0
    START = 1
    END = 2


MATCH_HEADER = len(Match)


class Record(IntEnum):
    """Of an event of this instant: its type, interval and id; then tags and arguments."""

    TYPE = 0
    START = 1
    END = 2
    ID = 3


RECORD_HEADER = len(Record)


class OutputRecord(IntEnum):
    """Of a complex event in the output: its rule; then the event as a record, then the ids of its parts."""

    RULE = 0


OUTPUT_HEADER = len(OutputRecord)


class Tag(IntEnum):
    """The type of a value; an undefined value has none."""

    NONE = 0
    BOOL = 1
    INT = 2
    FLOAT = 3
    STRING = 4
    LIST = 5


TAG_BITS = 4
TAGS_PER_WORD = 16


class AnswerField(IntEnum):
    """Of an answer: the function (0 for an empty place), the tags and number of its arguments, its worth, they."""

    FUNCTION = 0
    TAGS = 1
    COUNT = 2
    RESULT_TAG = 3
    RESULT = 4
    ARGUMENT = 5


FLOAT_WORD = 0
"""The function that gives the word by which a float enters an id."""

ANSWER_ARGUMENTS = 12
ANSWER_WORDS = len(AnswerField) - 1 + ANSWER_ARGUMENTS
