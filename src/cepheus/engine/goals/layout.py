"""How goals lie in memory: the tables of the flat program, the rows of goals, the context that points at all of it.

A deployed rule is rows of integer tables, data to one precompiled kernel. Its pattern is a binary tree of nodes; an
event that concerns it runs a plan, the steps from the atoms that the event may fit up to the head. Each step gives new
matches to the next, in an arena that is empty between events; what is to wait for a partner is put into goal tables.
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


class TypeField(IntEnum):
    """Of an event type in a stratum: the plans that its events run, how many arguments they have, where these are.

    The first stratum is that of the rules that are run at once, the others are run when an instant is over.
    """

    PLANS = 0
    PLANS_END = 1
    ARITY = 2
    TAG_WORDS = 3
    INPUTS = 4


class LateField(IntEnum):
    """Of a stratum: the plans that take all events of an instant."""

    PLANS = 0
    PLANS_END = 1


class PlanField(IntEnum):
    """Of a plan: its steps, those of atoms first, and whether it takes all events of an instant together.

    Then how much room it may need for a new match: tables, and words of a row. Then the instant in which its rules were
    deployed, and how many events of that instant they came too late for.
    """

    STEPS = 0
    STEPS_END = 1
    ATOMS_END = 2
    TOGETHER = 3
    TABLES = 4
    WIDEST = 5
    SINCE = 6
    MISSED = 7


class StepField(IntEnum):
    """Of a step: its node, and the steps that give it new matches (their distance back, 0 for none)."""

    NODE = 0
    LEFT = 1
    RIGHT = 2
    NEGATED = 3


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


class NodeKind(IntEnum):
    """What a node does with the matches of its operands."""

    ATOM = 0
    COMBINED = 1
    ABSENCE = 2
    EITHER = 3
    FILTER = 4
    MEMBERS = 5
    HEAD = 6


class NodeField(IntEnum):
    """Of a node: the shape of its matches, its tables, and what its kind needs to know."""

    KIND = 0
    VARIABLES = 1
    TAG_WORDS = 2
    PARTS = 3
    WIDTH = 4
    TYPE = 5
    BEGIN = 6
    END = 7
    LEFT = 8
    RIGHT = 9
    NEGATED = 10
    LEFT_TABLE = 11
    RIGHT_TABLE = 12
    NEGATED_TABLE = 13
    OPERATOR = 14
    CHOICE = 15
    ONCE = 16
    RENEWING = 17
    PREFERENCE = 18
    LEFT_ATTRIBUTE = 19
    RIGHT_ATTRIBUTE = 20
    KEYS = 21
    KEY_COUNT = 22
    SHARED = 23
    SHARED_COUNT = 24
    FRESH = 25
    FRESH_COUNT = 26
    GUARD = 27
    GUARD_END = 28
    NEGATED_KEYS = 29
    NEGATED_KEY_COUNT = 30
    NEGATED_SHARED = 31
    NEGATED_SHARED_COUNT = 32
    RULE = 33
    RECORD_TAGS = 34
    FINAL = 35
    READS = 36
    READ_COUNT = 37
    ONCE_EACH = 38
    LEFT_SCREEN = 39
    RIGHT_SCREEN = 40
    SCREEN_DOWNWARD = 41
    OUTLIVES = 42
    REPEATS = 43
    ONESIDED = 44


class OperatorCode(IntEnum):
    """The binary operators."""

    SEQ = 0
    AND = 1
    PAR = 2
    EQUALS = 3
    MEETS = 4
    DURING = 5
    STARTS = 6
    FINISHES = 7
    OVERLAPS = 8


class ChoiceCode(IntEnum):
    """Which partners a match is combined with."""

    UNRESTRICTED = 0
    RECENT = 1
    CHRONOLOGICAL = 2


class PreferenceCode(IntEnum):
    """Which of two partners goes first that end (recent) or start (chronological) together."""

    ARRIVAL = 0
    SHORTER = 1
    LONGER = 2
    GREATEST = 3
    LEAST = 4


class ArgumentField(IntEnum):
    """Of an argument of an atom: its place, and what is done with its value."""

    PLACE = 0
    KIND = 1
    TAG = 2
    WORD = 3


class ArgumentKind(IntEnum):
    """Whether a value must equal a constant, is bound to a variable, or must equal one bound before."""

    CONSTANT = 0
    BIND = 1
    AGAIN = 2
    NEVER = 3


class ConditionField(IntEnum):
    """Of a condition: its kind, the variable it binds, and what it looks at."""

    KIND = 0
    VARIABLE = 1
    CODE = 2
    NUMBER = 3
    TABLE = 4
    KEYS = 5
    KEY_COUNT = 6
    BINDS = 7
    BIND_COUNT = 8
    FUNCTION = 9
    NODE = 10
    SAME = 11
    SAME_COUNT = 12


class ConditionKind(IntEnum):
    """What a condition asks."""

    WITHIN = 0
    EXACTLY = 1
    TEST = 2
    SET = 3
    KNOWN = 4
    AGGREGATE = 5


class OutlivesCode(IntEnum):
    """When a new match takes the place of an older one that nothing to come can prefer to it."""

    NEVER = 0
    ALWAYS = 1
    IF_LASTING = 2
    IF_NOT_LONGER = 3
    IF_LASTING_NOT_LONGER = 4


class IndexCode(IntEnum):
    """How rows of a table are found: one after the other, by the variables they share, or by all their values."""

    NONE = 0
    KEYS = 1
    VALUES = 2


class TableField(IntEnum):
    """Of a goal table: words of a row, which rows are of use (-1: all), and how they are found.

    ``REACH`` is for how long after its end a row is of use, ``LENGTH`` how long it may last to be of any.
    """

    WIDTH = 0
    REACH = 1
    LENGTH = 2
    INDEX = 3


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


class RuleField(IntEnum):
    """Of a rule: the type of its complex events, and the digest of that type's name."""

    TYPE = 0
    SEED = 1


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


TAG_BITS = 4
TAGS_PER_WORD = 16


class Op(IntEnum):
    """Instructions of the expression machine."""

    END = 0
    VARIABLE = 1
    CONSTANT = 2
    ADD = 3
    SUBTRACT = 4
    MULTIPLY = 5
    DIVIDE = 6
    COMPARE = 7
    CALL = 8
    BOTH = 9
    EITHER = 10
    NOT = 11
    TRUTH = 12


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
MAX_STACK = 64
