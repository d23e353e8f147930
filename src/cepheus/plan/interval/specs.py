"""What a graph of goals is made of: nodes, their arguments, policies and conditions, described by numbers alone.

Variables are places in a row, operands are other nodes; so patterns that differ in the names of their variables alone
have equal descriptions.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepheus.core.time import MAX_TIME
from cepheus.core.values import Value
from cepheus.kernel.instructions import Code
from cepheus.plan.interval.program import (
    ArgumentKind,
    ChoiceCode,
    ConditionKind,
    NodeKind,
    OperatorCode,
    PreferenceCode,
)
from cepheus.plan.interval.values import Tagged

UNLIMITED = MAX_TIME
"""How long a match may last where no window says."""

Pairs = tuple[tuple[int, int], ...]


def point_type(time: int) -> str:
    """The name of the type of event that stands for a point in time."""
    return f"\0point {time}"


@dataclass(frozen=True, slots=True)
class ArgumentSpec:
    """What is done with an argument of an event; ``value`` is a constant's, ``variable`` that of one bound before."""

    place: int
    kind: ArgumentKind
    value: Tagged = (0, 0)
    variable: int = 0


@dataclass(frozen=True, slots=True)
class ConditionSpec:
    """A condition: what it asks, the variable it binds, the rows it looks at."""

    kind: ConditionKind
    variable: int = 0
    code: Code = ()
    number: int = 0
    keys: Pairs = ()
    binds: Pairs = ()
    rows: tuple[tuple[Value, ...], ...] = ()
    node: int = -1
    function: int = 0


@dataclass(frozen=True, slots=True)
class PolicySpec:
    """A consumption policy; the attributes are the places of the variable that is preferred by, -1 for none."""

    choice: ChoiceCode = ChoiceCode.UNRESTRICTED
    once: bool = False
    renewing: bool = False
    onesided: bool = False
    preference: PreferenceCode = PreferenceCode.ARRIVAL
    left_attribute: int = -1
    right_attribute: int = -1


@dataclass(frozen=True, slots=True)
class Screen:
    """A comparison that every pair must satisfy: what the left operand has is at most what the right one has.

    Downward it is at least that.
    """

    left: Code
    right: Code
    downward: bool


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node: the shape of its matches, its operands, and what its kind needs to know.

    ``awaits`` is the type of events that its left operand waits for, if a later match stands in for earlier ones while
    all of them are instants.
    """

    kind: NodeKind
    variables: int = 0
    parts: tuple[str, ...] = ()
    type: str = ""
    arguments: tuple[ArgumentSpec, ...] = ()
    left: int = -1
    right: int = -1
    negated: int = -1
    operator: OperatorCode = OperatorCode.SEQ
    policy: PolicySpec = PolicySpec()
    keys: Pairs = ()
    shared: Pairs = ()
    fresh: tuple[int, ...] = ()
    conditions: tuple[ConditionSpec, ...] = ()
    negated_keys: Pairs = ()
    negated_shared: Pairs = ()
    final: bool = False
    screen: Screen | None = None
    awaits: str = ""
    reach: int = UNLIMITED
    values: tuple[Code, ...] = ()
    rule: str = ""

    @property
    def operands(self) -> tuple[int, int, int]:
        """The nodes that give it matches, -1 for none."""
        return self.left, self.right, self.negated
