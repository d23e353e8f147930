"""The flat program, field by field: a deployed rule is rows of integer tables, data to one precompiled kernel.

Its pattern is a binary tree of nodes; an event that concerns it runs a plan, the steps from the atoms that the event
may fit up to the head.
"""

from __future__ import annotations

from enum import IntEnum


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


class RuleField(IntEnum):
    """Of a rule: the type of its complex events, the digest of that type's name, a limit of its own.

    That is how many complex events one event may make in such rules, 0 for rules without.
    """

    TYPE = 0
    SEED = 1
    LIMIT = 2


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


class OutlivesCode(IntEnum):
    """When a new match takes the place of an older one that nothing to come can prefer to it."""

    NEVER = 0
    ALWAYS = 1
    IF_LASTING = 2
    IF_NOT_LONGER = 3
    IF_LASTING_NOT_LONGER = 4


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
    ELEMENT = 6


class TableField(IntEnum):
    """Of a goal table: words of a row, which rows are of use (-1: all), and how they are found.

    ``REACH`` is for how long after its end a row is of use, ``LENGTH`` how long it may last to be of any.
    """

    WIDTH = 0
    REACH = 1
    LENGTH = 2
    INDEX = 3


class IndexCode(IntEnum):
    """How rows of a table are found: one after the other, by the variables they share, or by all their values."""

    NONE = 0
    KEYS = 1
    VALUES = 2
