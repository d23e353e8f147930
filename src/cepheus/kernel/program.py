"""The flat program: rules as rows of integer tables, data to one precompiled kernel.

Deploying a rule adds rows and compiles nothing. A float constant is kept as its 64 bits, and kernels read the
same table through a float view.

How events are laid out: a stored event is a row of 64-bit words, a header (id, time, start) and then the attributes
some rule reads, each at its slot. The event being processed has the same layout at the beginning of the store, so a
position of a pattern is nothing but the offset of a row.
"""

from __future__ import annotations

from enum import IntEnum, unique
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cepheus.kernel.tables import (
    LINE_WORDS,
    Fields,
    HalfFields,
    cell,
    padding,
    rows_inside,
    run,
    whole_word,
)

Words = NDArray[np.int64]
Floats = NDArray[np.float64]

SLOT_ID, SLOT_TIME, SLOT_START, HEADER = 0, 1, 2, 3
ROW_ENDS = -2
"""Of what goes into the slots of all types, one after the other: the mark behind each type, where no header is read."""

SLOT_ORDER = HEADER
"""Of rows where rules take simultaneous events as ordered: the place of the event in the stream."""

MAX_POSITIONS = 60
MAX_KEYS = 4
MOST_COMPARED = 1000
"""So many simultaneous events are looked at for one count: a million events of one time must not cost its square."""


class TypeField(Fields):
    """Of an event type: words of a row, its listeners, how long rows are kept, where its slots are read.

    ``TIMER`` is the first timer that waits after its events, negative if there is none.
    """

    WIDTH = cell()
    MEMBERS = cell()
    MEMBERS_END = cell()
    REACH = cell()
    INPUTS = cell()
    INDEXES = cell()
    INDEXES_END = cell()
    STORED = cell()
    TIMER = cell(-1)


class ListenerField(Fields):
    """Of a listener: whether it is a column or a rule, which, and the constraints its events must satisfy.

    A member is the number of a listener; one that has no constraints is named by the member itself, in a way of its own
    (``flatten.add_member``).
    """

    IS_RULE = cell()
    TARGET = cell()
    CONSTRAINTS = cell()
    CONSTRAINTS_END = cell()


class Left(IntEnum):
    """What is left to do with an event of a type, unless it does nothing but enter a column, whose number that is then.

    Its listeners are asked one by one; or it was found beforehand to satisfy what each of them asks of it alone.
    """

    ALL = -1
    SETTLED = -2


class ConstraintField(Fields):
    """Of a comparison: its kind, the operator, and the operands."""

    KIND = cell()
    OPERATOR = cell()
    POSITION = cell()
    SLOT = cell()
    OTHER_POSITION = cell()
    OTHER_SLOT = cell()
    CONSTANT = cell()
    CODE = cell()


class ConstraintKind(IntEnum):
    """How a comparison is evaluated: on 64-bit integers or floats, against a constant or a slot, or by code."""

    INT_CONSTANT = 0
    FLOAT_CONSTANT = 1
    INT_SLOT = 2
    FLOAT_SLOT = 3
    CODE = 4


class ColumnField(Fields):
    """Of a column: its event type, the slots of its key, how long entries are kept, the value it sums.

    A column is two lines of the cache; the first is all that is read of one when an event enters it.
    ``FLOAT_KEYS`` has a bit for each part of the key that is a float. ``TOTAL`` says what is known of all events since
    the start, which are then not kept themselves. ``FORGETS`` says when entries are forgotten (``Forgets``).
    ``IN_ORDER`` is 1 if the values in the window are kept in order instead of their sum.
    """

    KEYS = cell()
    KEY = run(MAX_KEYS)
    FLOAT_KEYS = cell()
    SUM_KIND = cell()
    SUM_SLOT = cell()
    TYPE = cell()
    REACH = cell()
    TOTAL = cell(0)
    FORGETS = cell(0)
    IN_ORDER = cell(0)
    PADDING = padding()


class Forgets(IntEnum):
    """When the entries of a column are forgotten: less is kept where no reader can ask for more."""

    WHEN_FULL = 0
    """What is out of reach goes when its lane is full."""
    WHEN_PASSED = 1
    """It also goes when a terminator has found it out of reach; no later one looks further back."""
    ALL_BUT_LATEST = 2
    """All readers ask for the latest event before the terminator: so many earlier ones go when a lane is full."""


class TotalKind(IntEnum):
    """What a column knows of all its events since the start: nothing, or one of these of their values."""

    NONE = 0
    SUM = 1
    LEAST = 2
    GREATEST = 3
    FIRST = 4
    LAST = 5


class ValueKind(IntEnum):
    """What a summed or aggregated value is."""

    NONE = 0
    INT = 1
    FLOAT = 2


MOST_BRIEF = 2
"""How many steps fit into the first line of a rule."""


class BriefField(HalfFields):
    """Of a step told in brief, in half words: it takes the latest event of a column without keys, whatever it is like.

    The k-th of them binds position k, from 1 on, and its window refers to the position before. Steps of no other kind
    can be told so.
    """

    COLUMN = cell()
    TYPE = cell()
    WINDOW = whole_word()


class RuleField(HalfFields):
    """Of a rule, in half words: its steps (selections, aggregates, requirements; then absences) and what it produces.

    With thousands of rules, what they cost is the lines of the cache that they touch. A rule is two lines; the first is
    all that is read of one whose steps are told in brief, for then they are in it, unless its composite events feed
    other rules or consume.
    """

    STEPS = cell()
    ABSENCES = cell()
    ABSENCES_END = cell()
    POSITIONS = cell()
    OUTPUTS = cell()
    OUTPUTS_END = cell()
    FLAGS = cell()
    TYPE = cell()
    BRIEF = rows_inside(BriefField, MOST_BRIEF)
    SEED = whole_word()
    CONSUMING = cell()
    CONSUMING_END = cell()
    GATHERS = cell()
    GATHERS_END = cell()
    PADDING = padding(2 * 2 * LINE_WORDS)  # two lines of half words


class RuleFlag(IntEnum):
    """Bits of a rule: what becomes of its composite events."""

    FEEDS = 1
    """Rules listen to them."""
    CONSUMES = 2
    """Each consumes events that it is made of."""
    BRIEF = 4
    """All steps are told in brief; there are no absences."""
    GATHERS = 8
    """Each names members of collections, or what aggregates counted, among what it is made of."""
    STRAIGHT = 16
    """Its steps, if it has any, take the latest event of a column each, whatever it is like: nothing to go back to."""


class StepField(Fields):
    """Of a step: what it does and what it looks at.

    A step is three lines of the cache. The first line is all that a plain selection from an unkeyed column reads.
    """

    KIND = cell()
    FLAGS = cell()
    COLUMN = cell()
    KEY_COUNT = cell()
    REFERENCE = cell()
    WINDOW = cell()
    TYPE = cell()
    POSITION = cell()
    KEYS = cell()
    CONSTRAINTS = cell()
    CONSTRAINTS_END = cell()
    SINCE = cell()
    CONSUMED_SLOT = cell()
    CONSUMED_BIT = cell()
    POLICY = cell()
    COUNT = cell()  # how many events are taken; of an aggregate, the bits of its argument
    OTHER_REFERENCE = cell()
    FUNCTION = cell()
    VALUE_KIND = cell()
    VALUE_SLOT = cell()
    VALUE_CODE = cell()
    RESULT = cell()
    INCREMENTAL = cell()
    LISTING = cell()
    PADDING = padding()


class StepFlag(IntEnum):
    """Bits of a step: what makes it simple."""

    SINGLE = 1
    """It takes the last event."""
    COMPLETES = 2
    """Each event that it takes completes a composite event."""
    PLAIN = 4
    """Every event of its column is visible to the rule and satisfies its constraints."""
    LISTED = 8
    """What it takes is listed before any of it is bound."""
    CONSUMES = 16
    """The members that it gathers are consumed."""
    COUNTED = 32
    """The members that it gathers are those that an aggregate counted."""
    SILENT = 64
    """Whom the aggregate passes over another step counts."""
    EVEN_UNDEFINED = 128
    """The first or last member is taken even if its value is undefined."""
    SINCE_START = 256
    """The aggregate is of all events since the start, of which the column knows the total."""
    OF_TEXTS = 512
    """The values that are aggregated are texts."""


class ListingField(Fields):
    """Of a selection that is listed: the attributes of its groups, how many of the greatest it takes (0 for all).

    The value to rank by is computed by code, after so many aggregates, which are the steps behind the selection.
    """

    GROUPS = cell()
    GROUPS_END = cell()
    RANKED = cell(0)
    COMPUTED = cell(0)
    VALUE_KIND = cell(0)
    VALUE_CODE = cell(-1)


class GroupKeyField(Fields):
    """Of an attribute by whose values events are grouped: its slot, and that of the flag that says it is there."""

    SLOT = cell()
    FLAG_SLOT = cell(-1)
    IS_FLOAT = cell(0)


class StepKind(IntEnum):
    """What a step does."""

    CHOOSE = 0
    COMPUTE = 1
    REQUIRE = 2
    ABSENT = 3
    GATHER = 4


@unique
class PolicyCode(IntEnum):
    """Selection policies."""

    EACH = 0
    LAST = 1
    FIRST = 2


class FunctionCode(IntEnum):
    """The forms of aggregates; added to the last three: twice the number of a function, and 1 if it is 0 of nothing."""

    COUNT = 0
    SUM = 1
    AVG = 2
    MIN = 3
    MAX = 4
    FIRST = 5
    LAST = 6
    OVER_NUMBERS = 64
    OVER_SERIES = 96
    OVER_WORDS = 128


class OutputField(Fields):
    """Of an assignment: where its value comes from and where it goes in a row of the composite type."""

    CODE = cell()
    POSITION = cell()
    SLOT = cell()
    OPTIONAL = cell()
    TYPE_SLOT = cell()
    FLAG_SLOT = cell()


class KeyField(Fields):
    """Of a part of the key by which a step looks up a lane: the position and the slot that it is read from."""

    POSITION = cell()
    SLOT = cell()


class ConsumedField(Fields):
    """Of an event that a rule consumes: its position, and the slot and bit that say so."""

    POSITION = cell()
    SLOT = cell()
    BIT = cell()


class InstructionField(Fields):
    """Of an instruction of the expression machine: what to do, and what with."""

    OP = cell()
    A = cell()
    B = cell()


class TimerField(Fields):
    """Of a rule that is evaluated at moments: how long after the events of a column, or at which regular times.

    ``TYPE`` is that of its terminators, ``POSITION`` where the event it waits after is bound. ``PERIOD`` is 0 unless
    the moments are regular ones. What it has consumed, as the slot and bit say, has no moment. ``ANOTHER`` is
    the next timer with terminators of the type, negative if there is none.
    """

    RULE = cell()
    TYPE = cell()
    COLUMN = cell(-1)
    DELAY = cell(0)
    POSITION = cell(0)
    CONSUMED_SLOT = cell(-1)
    CONSUMED_BIT = cell(0)
    PERIOD = cell(0)
    ANOTHER = cell(-1)


class SpanField(Fields):
    """Of things that stand one after the other: the first, and the one behind the last."""

    BEGIN = cell()
    END = cell()


UNDEFINED_ENTRY = -(2**63)
"""In a table of a string function: the function is undefined for that string."""

UNFILLED = -(2**63) + 1
"""In a table of a string function: nobody has asked for that string yet."""


class IndexField(Fields):
    """Of a content index over one attribute of a type: how it looks up, and where its nodes are."""

    BY_RANGE = cell()
    SLOT = cell()
    POINTS = cell()
    POINTS_END = cell()
    NODES = cell()
    IS_FLOAT = cell()


class Program(NamedTuple):
    """All tables of a rule set; the kernel only reads them. Each is named like its place in the context.

    ``groups`` is where the constraints begin and end that an engine tests at moments of its own.
    """

    types: Words
    listeners: Words
    constraints: Words
    code: Words
    columns: Words
    rules: Words
    steps: Words
    keys: Words
    listings: Words
    group_keys: Words
    outputs: Words
    consuming: Words
    timers: Words
    indexes: Words
    points: Words
    nodes: Words
    members: Words
    groups: Words
    record_width: int

    def tables(self) -> dict[str, Words]:
        """The tables that the kernel reads, by name."""
        return {name: table for name, table in self._asdict().items() if name not in ("groups", "record_width")}
