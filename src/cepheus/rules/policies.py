"""The selection policies: one record each, which says what engines, planners and explanations make of it.

A new policy that takes events in one of the ways of ``Take`` is a record here and a word in
``language/tesla/grammar.lark``. One with a way of its own touches four more files: the meaning in
``engine/reference/engine.py``, and in ``engine/matching/matcher.py`` for networks; the code of the same name in
``kernel/program.py`` (``PolicyCode``) and what it does in ``kernel/choosing.py``. Engines without it refuse the policy
by its name when a rule is deployed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Take(Enum):
    """The ways to take events of a window."""

    ALL = "all of them"
    LATEST = "from the latest on, up to a number"
    EARLIEST = "from the earliest on, up to a number"


class Hides(Enum):
    """Which events an event that leads to nothing keeps from being taken: a partial rule must leave a mark of it."""

    NOTHING = "none, for all are taken"
    EARLIER = "those before it"
    LATER = "those after it"


@dataclass(frozen=True, slots=True)
class SelectionPolicy:
    """What a policy is; ``counts`` tells whether a number may stand in front, ``summary`` is its line in the docs."""

    takes: Take
    hides: Hides
    counts: bool
    phrase: str
    summary: str


class Policy(Enum):
    """Which of the events that match are taken, by the word that rules say it with."""

    EACH = "each"
    LAST = "last"
    FIRST = "first"

    @property
    def record(self) -> SelectionPolicy:
        """What the policy is."""
        return POLICIES[self]

    @property
    def takes(self) -> Take:
        """The way in which it takes events."""
        return POLICIES[self].takes

    @property
    def takes_all(self) -> bool:
        """Whether every event that fits is taken: no event then hides another, and no order decides."""
        return POLICIES[self].takes is Take.ALL

    def most(self, count: int | None) -> int | None:
        """How many events are taken at most, given the number in front of the word; None if all are.

        >>> Policy.EACH.most(None), Policy.LAST.most(None), Policy.FIRST.most(3)
        (None, 1, 3)
        """
        return None if self.takes_all else 1 if count is None else count


POLICIES: dict[Policy, SelectionPolicy] = {
    Policy.EACH: SelectionPolicy(
        Take.ALL,
        Hides.NOTHING,
        False,
        "each",
        "every matching event, each for a composite event of its own",
    ),
    Policy.LAST: SelectionPolicy(
        Take.LATEST, Hides.EARLIER, True, "the last", "the latest matching event; `n last` up to n of the latest"
    ),
    Policy.FIRST: SelectionPolicy(
        Take.EARLIEST, Hides.LATER, True, "the first", "the earliest matching event; `n first` up to n of the earliest"
    ),
}
"""All policies."""
