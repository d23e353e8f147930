"""The flat program: rules as rows of integer tables, data to one precompiled kernel.

Deploying a rule adds rows and compiles nothing. A row has the fields named below, in that order; a float constant is
kept as its 64 bits, and kernels read the same table through a float view.

How events are laid out: a stored event is a row of 64-bit words, a header (id, time, start) and then the attributes
some rule reads, each at its slot. The event being processed has the same layout at the beginning of the store, so a
position of a pattern is nothing but the offset of a row.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.int64]
Floats = NDArray[np.float64]

SLOT_ID, SLOT_TIME, SLOT_START, HEADER = 0, 1, 2, 3
MAX_POSITIONS = 60
MAX_KEYS = 4
MAX_STACK = 64
MOST_COMPARED = 1000
"""So many simultaneous events are looked at for one count: a million events of one time must not cost its square."""


class TypeField(IntEnum):
    """Of an event type: words of a row, its listeners, how long rows are kept, where its slots are read."""

    WIDTH = 0
    MEMBERS = 1
    MEMBERS_END = 2
    REACH = 3
    INPUTS = 4
    INDEXES = 5
    INDEXES_END = 6
    STORED = 7


class ListenerField(IntEnum):
    """Of a listener: whether it is a column or a rule, which, and the constraints its events must satisfy.

    A member is the number of a listener; one that has no constraints is named by the member itself, in a way of its own
    (``flatten.add_member``).
    """

    IS_RULE = 0
    TARGET = 1
    CONSTRAINTS = 2
    CONSTRAINTS_END = 3


class ConstraintField(IntEnum):
    """Of a comparison: its kind, the operator, and the operands."""

    KIND = 0
    OPERATOR = 1
    POSITION = 2
    SLOT = 3
    OTHER_POSITION = 4
    OTHER_SLOT = 5
    CONSTANT = 6
    CODE = 7


class ConstraintKind(IntEnum):
    """How a comparison is evaluated: on 64-bit integers or floats, against a constant or a slot, or by code."""

    INT_CONSTANT = 0
    FLOAT_CONSTANT = 1
    INT_SLOT = 2
    FLOAT_SLOT = 3
    CODE = 4


class ColumnField(IntEnum):
    """Of a column: its event type, the slots of its key, how long entries are kept, the value it sums.

    ``FLOAT_KEYS`` has a bit for each part of the key that is a float.
    """

    TYPE = 0
    KEYS = 1
    KEY_0 = 2
    KEY_1 = 3
    KEY_2 = 4
    KEY_3 = 5
    REACH = 6
    SUM_KIND = 7
    SUM_SLOT = 8
    FLOAT_KEYS = 9


class ValueKind(IntEnum):
    """What a summed or aggregated value is."""

    NONE = 0
    INT = 1
    FLOAT = 2


class RuleField(IntEnum):
    """Of a rule, in half words: its steps (selections, aggregates, requirements; then absences) and what it produces.

    With thousands of rules, what they cost is the lines of the cache that they touch. A rule is two lines; the first is
    all that is read of one whose steps are told in brief, for then they are in it, unless its composite events feed
    other rules or consume.
    """

    STEPS = 0
    ABSENCES = 1
    ABSENCES_END = 2
    POSITIONS = 3
    OUTPUTS = 4
    OUTPUTS_END = 5
    FLAGS = 6
    TYPE = 7
    BRIEF = 8
    SEED = 16
    CONSUMING = 18
    CONSUMING_END = 19


RULE_WORDS = 16


class BriefField(IntEnum):
    """Of a step told in brief, in half words: it takes the latest event of a column without keys, whatever it is like.

    The k-th of them binds position k, from 1 on, and its window refers to the position before. Steps of no other kind
    can be told so.
    """

    COLUMN = 0
    TYPE = 1
    WINDOW = 2


BRIEF_WORDS = 2
MOST_BRIEF = 2
"""How many steps fit into the first line of a rule."""


class RuleFlag(IntEnum):
    """Bits of a rule: what becomes of its composite events."""

    FEEDS = 1
    """Rules listen to them."""
    CONSUMES = 2
    """Each consumes events that it is made of."""
    BRIEF = 4
    """All steps are told in brief; there are no absences."""


class StepField(IntEnum):
    """Of a step: what it does and what it looks at.

    A step is three lines of the cache. The first line is all that a plain selection from an unkeyed column reads.
    """

    KIND = 0
    FLAGS = 1
    COLUMN = 2
    KEY_COUNT = 3
    REFERENCE = 4
    WINDOW = 5
    TYPE = 6
    POSITION = 7
    KEYS = 8
    CONSTRAINTS = 9
    CONSTRAINTS_END = 10
    SINCE = 11
    CONSUMED_SLOT = 12
    CONSUMED_BIT = 13
    POLICY = 14
    COUNT = 15
    OTHER_REFERENCE = 16
    FUNCTION = 17
    VALUE_KIND = 18
    VALUE_SLOT = 19
    VALUE_CODE = 20
    RESULT = 21
    INCREMENTAL = 22
    PADDING = 23


class StepFlag(IntEnum):
    """Bits of a step: what makes it simple."""

    SINGLE = 1
    """It takes the last event."""
    COMPLETES = 2
    """Each event that it takes completes a composite event."""
    PLAIN = 4
    """Every event of its column is visible to the rule and satisfies its constraints."""


class StepKind(IntEnum):
    """What a step does."""

    CHOOSE = 0
    COMPUTE = 1
    REQUIRE = 2
    ABSENT = 3


class PolicyCode(IntEnum):
    """Selection policies."""

    EACH = 0
    LAST = 1
    FIRST = 2


class FunctionCode(IntEnum):
    """The forms of aggregates; added to the last two: twice the number of a function, and 1 if it is 0 of nothing."""

    COUNT = 0
    SUM = 1
    AVG = 2
    MIN = 3
    MAX = 4
    FIRST = 5
    LAST = 6
    OVER_NUMBERS = 64
    OVER_WORDS = 128


class OutputField(IntEnum):
    """Of an assignment: where its value comes from and where it goes in a row of the composite type."""

    CODE = 0
    POSITION = 1
    SLOT = 2
    OPTIONAL = 3
    TYPE_SLOT = 4
    FLAG_SLOT = 5


class Op(IntEnum):
    """Instructions of the expression machine, which works on a stack of 64-bit words with undefined marks."""

    END = 0
    SLOT = 1
    OPTIONAL_SLOT = 2
    CONSTANT = 3
    RESULT = 4
    TO_FLOAT = 5
    ADD_INT = 6
    SUB_INT = 7
    MUL_INT = 8
    ADD_FLOAT = 9
    SUB_FLOAT = 10
    MUL_FLOAT = 11
    DIV_FLOAT = 12
    COMPARE_INT = 13
    COMPARE_FLOAT = 14
    ABS_INT = 15
    ABS_FLOAT = 16
    MIN_INT = 17
    MAX_INT = 18
    MIN_FLOAT = 19
    MAX_FLOAT = 20
    FLOOR = 21
    CEIL = 22
    ROUND = 23
    SQRT = 24
    MOD_INT = 25
    MOD_FLOAT = 26
    TABLE = 27
    JUMP_IF_DEFINED = 28
    CALENDAR = 29


OPERATOR_CODES = {"=": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
CALENDAR_PARTS = {"year": 0, "month": 1, "day": 2, "weekday": 3, "hour": 4, "minute": 5, "second": 6}

UNDEFINED_ENTRY = -(2**63)
"""In a table of a string function: the function is undefined for that string."""

UNFILLED = -(2**63) + 1
"""In a table of a string function: nobody has asked for that string yet."""


class IndexField(IntEnum):
    """Of a content index over one attribute of a type: how it looks up, and where its nodes are."""

    BY_RANGE = 0
    SLOT = 1
    POINTS = 2
    POINTS_END = 3
    NODES = 4
    IS_FLOAT = 5


class Program(NamedTuple):
    """All tables of a rule set; the kernel only reads them."""

    types: Words
    listeners: Words
    constraints: Words
    code: Words
    columns: Words
    rules: Words
    steps: Words
    keys: Words
    outputs: Words
    consuming: Words
    indexes: Words
    points: Words
    nodes: Words
    members: Words
    groups: Words
    record_width: int
