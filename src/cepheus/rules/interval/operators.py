"""The binary operators of interval rules: one record each, which says what engines and planners make of it.

A new operator is a member of ``Operator``, its record here, and, for the goals engine, a code of the same name with a
branch in ``engine/goals/matches.py``; without it that engine refuses rules that have the operator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from cepheus.rules.interval.model import Operator


class Ends(Enum):
    """Which operand ends first: it is the one that waits for the other."""

    LEFT_FIRST = "the left one always, so that the right one never waits"
    TOGETHER = "both at the same time, so that neither waits for longer than an instant"
    LEFT_AT_START = "the left one, at the start of the right one, which may have to wait for that instant only"
    ANY = "either, so that both wait"


class Length(Enum):
    """How long a combination can be, from how long its operands can be."""

    SAME = "as either of them"
    SIDE_BY_SIDE = "as both together"
    AS_RIGHT = "as the right one"
    OPEN = "of any length"


Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class IntervalOperator:
    """What an operator is; ``relation`` gives the interval of ``[q1, q2] operator [q3, q4]``, None if there is none."""

    relation: Callable[[int, int, int, int], Interval | None]
    ends: Ends
    length: Length
    phrase: str


OPERATORS: dict[Operator, IntervalOperator] = {
    Operator.SEQ: IntervalOperator(
        lambda q1, q2, q3, q4: (q1, q4) if q2 < q3 else None, Ends.LEFT_FIRST, Length.OPEN, "one after the other"
    ),
    Operator.AND: IntervalOperator(
        lambda q1, q2, q3, q4: (min(q1, q3), max(q2, q4)), Ends.ANY, Length.OPEN, "both, in any order"
    ),
    Operator.PAR: IntervalOperator(
        lambda q1, q2, q3, q4: (min(q1, q3), max(q2, q4)) if max(q1, q3) < min(q2, q4) else None,
        Ends.ANY,
        Length.SIDE_BY_SIDE,
        "both, at least partly at the same time",
    ),
    Operator.EQUALS: IntervalOperator(
        lambda q1, q2, q3, q4: (q1, q2) if (q1, q2) == (q3, q4) else None,
        Ends.TOGETHER,
        Length.SAME,
        "both, from the same start to the same end",
    ),
    Operator.MEETS: IntervalOperator(
        lambda q1, q2, q3, q4: (q1, q4) if q2 == q3 else None,
        Ends.LEFT_AT_START,
        Length.SIDE_BY_SIDE,
        "the second starts when the first ends",
    ),
    Operator.DURING: IntervalOperator(
        lambda q1, q2, q3, q4: (q3, q4) if q3 < q1 < q2 < q4 else None,
        Ends.LEFT_FIRST,
        Length.AS_RIGHT,
        "the first inside the second",
    ),
    Operator.STARTS: IntervalOperator(
        lambda q1, q2, q3, q4: (q3, q4) if q1 == q3 and q2 < q4 else None,
        Ends.LEFT_FIRST,
        Length.AS_RIGHT,
        "both start together, the first ends earlier",
    ),
    Operator.FINISHES: IntervalOperator(
        lambda q1, q2, q3, q4: (q3, q4) if q2 == q4 and q3 < q1 else None,
        Ends.TOGETHER,
        Length.AS_RIGHT,
        "both end together, the first starts later",
    ),
    Operator.OVERLAPS: IntervalOperator(
        lambda q1, q2, q3, q4: (q1, q4) if q1 < q3 < q2 < q4 else None,
        Ends.LEFT_FIRST,
        Length.SIDE_BY_SIDE,
        "the first starts earlier and ends inside the second",
    ),
}
"""All operators."""


def operators_that_end(ends: Ends) -> tuple[Operator, ...]:
    """The operators of which one operand ends before the other in some way."""
    return tuple(operator for operator, record in OPERATORS.items() if record.ends is ends)
