"""How goals lie in memory: the context that points at everything, the rows of goals, what work is under way.

Each step of a plan gives new matches to the next, in an arena that is empty between events; what is to wait for a
partner is put into goal tables. The module ``program`` describes the tables of rules.
"""

from __future__ import annotations

from enum import IntEnum

from cepheus.core.time import MIN_TIME
from cepheus.kernel.instructions import FunctionField
from cepheus.kernel.program import InstructionField
from cepheus.kernel.tables import Fields, cell, rows_of, run, size_of, words_at
from cepheus.plan.interval.program import (
    ArgumentField,
    ConditionField,
    LateField,
    LinkField,
    NodeField,
    PlanField,
    RuleField,
    StepField,
    TableField,
    TypeField,
)


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
    FORGOTTEN = 13


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
    FORGOTTEN,
) = map(int, Status)


class Need(IntEnum):
    """What the expression machine lacks."""

    NOTHING = 0
    ANSWER = 1
    RANKS = 2


class Frame(Fields):
    """Of work that is begun: the events it takes, the plans they are still to run, the complex events they made.

    Those stand behind the frame, each the node that made it, a record and the ids of its parts.
    """

    FIRST = cell()
    END = cell()
    PLAN = cell()
    PLAN_END = cell()
    HEAD = cell()
    HEADS_END = cell()
    PREVIOUS = cell()


FRAME_WORDS = Frame.row_words()


class InstanceEntry(Fields):
    """Of an entry of the table of instances: the instant it belongs to, and where the event is among its records."""

    STAMP = cell()
    RECORD = cell()


class StepState(Fields):
    """Of a step while its plan runs: where its new matches begin in the arena, and how many there are.

    A step of a restricting policy has marks, too: one for each new match of its left and then of its right operand.
    """

    FIRST = cell()
    COUNT = cell()
    MARKS = cell()


class Mark(Fields):
    """Of a new match at an operator: whether it was taken as a partner, and the partner that it took itself."""

    TAKEN = cell()
    PARTNER = cell()


MARK_WORDS = Mark.row_words()


class TableState(Fields):
    """Of a goal table: its rows from the oldest to the newest, free rows, the longest interval it ever held."""

    FIRST = cell()
    LAST = cell()
    FREE = cell()
    COUNT = cell()
    LONGEST = cell()


NEVER = -(2**63)
"""Before all times."""


class Awaited(Fields):
    """Of a type of event: whether any has lasted, and the end of the last goal that took the place of others.

    Those are gone because instants, which start after that, could not have preferred them.
    """

    LASTED = cell(0)
    LET_GO = cell(NEVER)


class Row(Fields):
    """Of a goal: its neighbours in its bucket and in its table, what it is screened by, and then a match."""

    OLDER = cell()
    NEWER = cell()
    BEFORE = cell()
    AFTER = cell()
    TABLE = cell()
    HASH = cell()
    SCREEN = cell()


ROW_HEADER = Row.row_words()


class Match(Fields):
    """Of a match: whether, as a goal, it was taken as a partner, and its interval.

    After that come tags, values of variables, and ids of parts.
    """

    TAKEN = cell()
    START = cell()
    END = cell()


MATCH_HEADER = Match.row_words()


class Record(Fields):
    """Of an event of this instant: its type, interval and id; then tags and arguments."""

    TYPE = cell()
    START = cell()
    END = cell()
    ID = cell()


RECORD_HEADER = Record.row_words()


class OutputRecord(Fields):
    """Of a complex event in the output: its rule; then the event as a record, then the ids of its parts."""

    RULE = cell()


OUTPUT_HEADER = OutputRecord.row_words()


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


ANSWER_ARGUMENTS = 12


class AnswerField(Fields):
    """Of an answer: the function (0 for an empty place), the tags and number of its arguments, its worth, they."""

    FUNCTION = cell()
    TAGS = cell()
    COUNT = cell()
    RESULT_TAG = cell()
    RESULT = cell()
    ARGUMENT = run(ANSWER_ARGUMENTS)


FLOAT_WORD = 0
"""The function that gives the word by which a float enters an id."""


class At(Fields):
    """Places in the context: addresses of arrays, and numbers that the kernel reads or changes."""

    # the program
    TYPES = rows_of(TypeField)
    PLANS = rows_of(PlanField)
    STEPS = rows_of(StepField)
    NODES = rows_of(NodeField)
    LINKS = rows_of(LinkField)
    ARGUMENTS = rows_of(ArgumentField)
    TABLES = rows_of(TableField)
    CONDITIONS = rows_of(ConditionField)
    CODE = rows_of(InstructionField)
    RULES = rows_of(RuleField)
    LATE = rows_of(LateField)
    STRATA = cell(0)
    TYPE_COUNT = cell(0)
    RECORD_WIDTH = cell(0)
    # functions that are called by address
    COMPUTE = cell(0)
    SOLVE = cell(0)
    RESTRICTING = cell(0)
    UNRESTRICTED = cell(0)
    ABSENCE = cell(0)
    COMMIT = cell(0)
    FUNCTIONS = rows_of(FunctionField)
    # goals
    TABLE_STATE = rows_of(TableState)
    POOL = words_at(Row, Match)
    POOL_SIZE = size_of(POOL)
    POOL_USED = cell(0)
    NEWEST = words_at()
    OLDEST = words_at()
    BUCKETS_SIZE = size_of(NEWEST)
    ROWS = cell(0)
    AWAITED = rows_of(Awaited)
    SURE_AFTER = cell(0)
    # working space
    ARENA = words_at(Match, Record, Mark)
    ARENA_SIZE = size_of(ARENA)
    ARENA_USED = cell(0)
    STEP_STATE = rows_of(StepState)
    STACK = words_at()
    STACK_TAGS = words_at()
    VALUES = words_at()
    VALUE_TAGS = words_at()
    CONSUMED = words_at()
    CONSUMED_SIZE = size_of(CONSUMED)
    CONSUMED_COUNT = cell(0)
    CURSORS = words_at()
    START = cell(0)
    END = cell(0)
    SUM = words_at()
    # answers of functions, order of texts
    ANSWERS = rows_of(AnswerField)
    ANSWERS_SIZE = size_of(ANSWERS)
    REQUESTS = rows_of(AnswerField)
    REQUESTS_SIZE = size_of(REQUESTS)
    REQUEST_COUNT = cell(0)
    RANKS = words_at()
    RANKS_SIZE = size_of(RANKS)
    NEED = cell(0)
    # input and output
    CODES = words_at()  # half words
    KINDS = words_at()
    TIMES = words_at()
    STARTS = words_at()
    IDS = words_at()
    COLUMNS = words_at()
    SLOTS = words_at()
    SLOT_TAGS = words_at()
    TEXT_DIGESTS = words_at()
    INPUT_SIZE = cell(0)
    INPUT_NEXT = cell(0)
    OUTPUT = words_at(OutputRecord, Record)
    OUTPUT_SIZE = size_of(OUTPUT)
    OUTPUT_WORDS = cell(0)
    # the events of this instant, and what is still to be done with them
    INSTANT = words_at(Record)
    INSTANT_SIZE = size_of(INSTANT)
    INSTANT_USED = cell(0)
    WORK = words_at(Frame, Record)
    WORK_SIZE = size_of(WORK)
    WORK_TOP = cell(-1)  # none yet
    WORK_USED = cell(0)
    HEADS_END = cell(0)
    INSTANCES = rows_of(InstanceEntry)
    INSTANCES_SIZE = size_of(INSTANCES)
    STAMP = cell(1)
    NOW = cell(MIN_TIME)
    # the end of an instant
    STRATUM = cell(0)
    PORTION_END = cell(0)
    LATE_PLAN = cell(0)
    LATE_RECORD = cell(0)
    # limits
    LIMIT = cell(0)
    MADE = cell(0)
    CULPRIT = cell(0)
    MADE_ENDLESSLY = cell(0)
    # room for finding what repeats itself
    SEEN = words_at()
    SEEN_SIZE = size_of(SEEN)
