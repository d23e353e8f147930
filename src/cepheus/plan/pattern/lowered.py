"""Rules on their way to the flat program: what will be rows of its tables, still with names."""

from __future__ import annotations

from dataclasses import dataclass

from cepheus.core.time import MAX_TIME
from cepheus.core.values import ValueType
from cepheus.kernel.instructions import Instruction
from cepheus.kernel.program import (
    FunctionCode,
    PolicyCode,
    StepKind,
    ValueKind,
)
from cepheus.kernel.state import GATHERING
from cepheus.plan.pattern.bands import (
    LoweredBand,
    LoweredTerm,
)
from cepheus.plan.pattern.code import LoweredConstraint
from cepheus.rules.resolved import ResolvedRule
from cepheus.rules.timers import Every

UNLIMITED = MAX_TIME
"""How many events a selection takes that takes all."""


@dataclass(frozen=True, slots=True)
class GroupKey:
    """An attribute by whose values events are grouped: its slot, and that of its flag, -1 if it is always there."""

    slot: int
    flag_slot: int
    is_float: bool


@dataclass(frozen=True, slots=True)
class LoweredListing:
    """Of a selection that is listed before it is taken: the attributes of its groups, and how it is ranked.

    It takes the greatest ``ranked``, 0 for all; so many steps behind it are aggregates ``computed`` for the value.
    """

    groups: tuple[GroupKey, ...] = ()
    ranked: int = 0
    computed: int = 0
    value_kind: ValueKind = ValueKind.NONE
    value_code: tuple[Instruction, ...] = ()


@dataclass(frozen=True, slots=True)
class LoweredStep:
    """A step of a rule, ready to be written as a row.

    The members of an aggregate are ``weighed`` where some may not belong to it, or where its function asks for the
    errors of them all; it is ``needed`` where the rule does not fire without it. If it is ``silent``, another step
    counts whom it passes over; the first or last member may be taken ``even_undefined``.
    """

    kind: StepKind
    position: int = 0
    column: int = -1
    policy: PolicyCode = PolicyCode.EACH
    count: int = UNLIMITED
    window: int = 0
    reference: int = 0
    other_reference: int = -1
    constraints: tuple[LoweredConstraint, ...] = ()
    keys: tuple[tuple[int, int], ...] = ()
    since: int = 0
    consumed: tuple[int, int] = (-1, 0)
    function: int = FunctionCode.COUNT
    value_kind: ValueKind = ValueKind.NONE
    value_slot: int = -1
    value_code: tuple[Instruction, ...] = ()
    result: int = 0
    incremental: bool = False
    argument: float = 0.0
    type: int = 0
    bands: tuple[LoweredBand, ...] = ()
    value_error_slot: int = -1
    weighed: bool = False
    needed: bool = False
    listing: LoweredListing | None = None
    consumes: bool = False
    counted: bool = False
    silent: bool = False
    even_undefined: bool = False
    unsure: bool = False
    since_start: bool = False
    of_texts: bool = False

    @property
    def single(self) -> bool:
        """Whether it takes just the last event."""
        return self.policy is PolicyCode.LAST and self.count == 1 and self.listing is None

    @property
    def plain(self) -> bool:
        """Whether every event of the window will do, without a look at the event."""
        return not self.constraints and self.since == 0 and self.consumed[0] < 0


@dataclass(frozen=True, slots=True)
class LoweredOutput:
    """An assignment: a copy of a slot, or code."""

    attribute: str
    type: ValueType
    optional: bool
    position: int = 0
    slot: int = 0
    code: tuple[Instruction, ...] | None = None
    error_terms: tuple[LoweredTerm, ...] = ()


@dataclass(frozen=True, slots=True)
class LoweredTimer:
    """When a rule is evaluated: some time after the events of a column, from a row on, or at regular times."""

    column: int = -1
    delay: int = 0
    position: int = 0
    consumed: tuple[int, int] = (-1, 0)
    since: int = 0
    every: Every | None = None


@dataclass(frozen=True, slots=True)
class LoweredRule:
    """A rule as rows to be; one with a ``timer`` listens to nothing."""

    name: str
    resolved: ResolvedRule
    type: int
    filters: tuple[LoweredConstraint, ...]
    steps: tuple[LoweredStep, ...]
    absences: tuple[LoweredStep, ...]
    outputs: tuple[LoweredOutput, ...]
    consuming: tuple[tuple[int, int, int], ...]
    marks: tuple[tuple[str, int, int], ...]
    seed: int
    bands: tuple[LoweredBand, ...] = ()
    gathers: tuple[LoweredStep, ...] = ()
    timer: LoweredTimer | None = None
    pivot: LoweredTerm | None = None

    @property
    def head(self) -> int:
        """Words that a composite event takes in the output before its attributes."""
        return len(self.resolved.positions) + (GATHERING if self.gathers else 0)

    @property
    def stride(self) -> int:
        """Words that one composite event takes in the output."""
        return self.head + sum(2 if output.optional else 1 for output in self.outputs)
