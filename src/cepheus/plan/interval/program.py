"""The flat program, field by field: a deployed rule is rows of integer tables, data to one precompiled kernel.

Its pattern is a binary tree of nodes; an event that concerns it runs a plan, the steps from the atoms that the event
may fit up to the head.
"""

from __future__ import annotations

from enum import IntEnum

from cepheus.kernel.tables import Fields, cell


class TypeField(Fields):
    """Of an event type in a stratum: the plans that its events run, how many arguments they have, where these are.

    The first stratum is that of the rules that are run at once, the others are run when an instant is over.
    """

    PLANS = cell()
    PLANS_END = cell()
    ARITY = cell()
    TAG_WORDS = cell()
    INPUTS = cell()


class LateField(Fields):
    """Of a stratum: the plans that take all events of an instant."""

    PLANS = cell()
    PLANS_END = cell()


class PlanField(Fields):
    """Of a plan: its steps, those of atoms first, and whether it takes all events of an instant together.

    Then how much room it may need for a new match: tables, and words of a row. Then the instant in which its rules were
    deployed, and how many events of that instant they came too late for.
    """

    STEPS = cell()
    STEPS_END = cell()
    ATOMS_END = cell()
    TOGETHER = cell()
    TABLES = cell()
    WIDEST = cell()
    SINCE = cell()
    MISSED = cell()


class StepField(Fields):
    """Of a step: its node, and the steps that give it new matches (their distance back, 0 for none)."""

    NODE = cell()
    LEFT = cell()
    RIGHT = cell()
    NEGATED = cell()


class RuleField(Fields):
    """Of a rule: the type of its complex events, the digest of that type's name, a limit of its own.

    That is how many complex events one event may make in such rules, 0 for rules without.
    """

    TYPE = cell()
    SEED = cell()
    LIMIT = cell()


class NodeKind(IntEnum):
    """What a node does with the matches of its operands."""

    ATOM = 0
    COMBINED = 1
    ABSENCE = 2
    EITHER = 3
    FILTER = 4
    MEMBERS = 5
    HEAD = 6


class NodeField(Fields):
    """Of a node: the shape of its matches, its tables, and what its kind needs to know."""

    KIND = cell()
    VARIABLES = cell()
    TAG_WORDS = cell()
    PARTS = cell()
    WIDTH = cell()
    TYPE = cell()
    BEGIN = cell()
    END = cell()
    LEFT = cell()
    RIGHT = cell()
    NEGATED = cell()
    LEFT_TABLE = cell()
    RIGHT_TABLE = cell()
    NEGATED_TABLE = cell()
    OPERATOR = cell()
    CHOICE = cell()
    ONCE = cell()
    RENEWING = cell()
    PREFERENCE = cell()
    LEFT_ATTRIBUTE = cell()
    RIGHT_ATTRIBUTE = cell()
    KEYS = cell()
    KEY_COUNT = cell()
    SHARED = cell()
    SHARED_COUNT = cell()
    FRESH = cell()
    FRESH_COUNT = cell()
    GUARD = cell()
    GUARD_END = cell()
    NEGATED_KEYS = cell()
    NEGATED_KEY_COUNT = cell()
    NEGATED_SHARED = cell()
    NEGATED_SHARED_COUNT = cell()
    RULE = cell()
    RECORD_TAGS = cell()
    FINAL = cell()
    READS = cell()
    READ_COUNT = cell()
    ONCE_EACH = cell()
    LEFT_SCREEN = cell(-1)
    RIGHT_SCREEN = cell(-1)
    SCREEN_DOWNWARD = cell(0)
    OUTLIVES = cell()
    AWAITS = cell(-1)
    REPEATS = cell()
    ONESIDED = cell()


class LinkField(Fields):
    """Of two places that belong together: of a variable in the one operand and the other, or of code and nothing."""

    ONE = cell()
    OTHER = cell(0)


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
    IF_INSTANTS = 5


class ArgumentField(Fields):
    """Of an argument of an atom: its place, and what is done with its value."""

    PLACE = cell()
    KIND = cell()
    TAG = cell()
    WORD = cell()


class ArgumentKind(IntEnum):
    """Whether a value must equal a constant, is bound to a variable, or must equal one bound before."""

    CONSTANT = 0
    BIND = 1
    AGAIN = 2
    NEVER = 3


class ConditionField(Fields):
    """Of a condition: its kind, the variable it binds, and what it looks at."""

    KIND = cell()
    VARIABLE = cell()
    CODE = cell()
    NUMBER = cell()
    TABLE = cell(0)
    KEYS = cell()
    KEY_COUNT = cell()
    BINDS = cell()
    BIND_COUNT = cell()
    FUNCTION = cell(0)
    NODE = cell()
    SAME = cell(0)
    SAME_COUNT = cell(0)


class ConditionKind(IntEnum):
    """What a condition asks."""

    WITHIN = 0
    EXACTLY = 1
    TEST = 2
    SET = 3
    KNOWN = 4
    AGGREGATE = 5
    ELEMENT = 6


class TableField(Fields):
    """Of a goal table: words of a row, which rows are of use (-1: all), and how they are found.

    ``REACH`` is for how long after its end a row is of use, ``LENGTH`` how long it may last to be of any.
    """

    WIDTH = cell()
    REACH = cell()
    LENGTH = cell()
    INDEX = cell()


class IndexCode(IntEnum):
    """How rows of a table are found: one after the other, by the variables they share, or by all their values."""

    NONE = 0
    KEYS = 1
    VALUES = 2
