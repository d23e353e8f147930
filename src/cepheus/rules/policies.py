"""The selection policies: one record each, which says what engines, planners and explanations make of it.

A new policy is a record here, with its meaning, and a word in ``language/tesla/grammar.lark``: the reference engine and
the matching engine run it. Columns have it with a code of the same name in ``kernel/program.py`` (``PolicyCode``) and
what it does in ``kernel/choosing.py``. Whoever does not name it in ``engine/base/capabilities.py`` (automata, which
keep states for policies, and networks, whose partial rules must know what may be dropped) refuses it by its name when a
rule is deployed. Rules in Python have its word; one of its own in ``language/python/patterns.py`` is for type checkers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Take(Enum):
    """The ways to take events of a window; engines have short cuts for all but the last."""

    ALL = "all of them"
    LATEST = "from the latest on, up to a number"
    EARLIEST = "from the earliest on, up to a number"
    BY_MEANING = "those that the meaning of the policy names"


class Hides(Enum):
    """Which events an event that leads to nothing keeps from being taken: a partial rule must leave a mark of it."""

    NOTHING = "none, for all are taken"
    EARLIER = "those before it"
    LATER = "those after it"


@dataclass(frozen=True, slots=True)
class SelectionPolicy:
    """What a policy is.

    ``meaning`` is given all events that fit, in the order of the stream, and the number in front of the word (1 if
    there is none), and returns those that are taken, in that order. ``counts`` tells whether a number may stand in
    front, ``summary`` is its line in the docs.
    """

    takes: Take
    hides: Hides
    meaning: Callable[[Sequence[Any], int], Sequence[Any]]
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
        """How many events are looked for, given the number in front of the word; None if it is all that fit.

        >>> Policy.EACH.most(None), Policy.LAST.most(None), Policy.FIRST.most(3)
        (None, 1, 3)
        """
        if POLICIES[self].takes in (Take.ALL, Take.BY_MEANING):
            return None
        return 1 if count is None else count


POLICIES: dict[Policy, SelectionPolicy] = {
    Policy.EACH: SelectionPolicy(
        Take.ALL,
        Hides.NOTHING,
        lambda events, _: events,
        False,
        "each",
        "every matching event, each for a composite event of its own",
    ),
    Policy.LAST: SelectionPolicy(
        Take.LATEST,
        Hides.EARLIER,
        lambda events, number: events[-number:],
        True,
        "the last",
        "the latest matching event; `n last` up to n of the latest",
    ),
    Policy.FIRST: SelectionPolicy(
        Take.EARLIEST,
        Hides.LATER,
        lambda events, number: events[:number],
        True,
        "the first",
        "the earliest matching event; `n first` up to n of the earliest",
    ),
}
"""All policies."""


TERMINALS = frozenset(policy.value.upper() for policy in Policy)
"""The words of all policies, as the grammar of TESLA calls them."""


def words_of_policies(between: str = ", ", last: str = " or ") -> str:
    """The words of all policies, as a list in words.

    >>> words_of_policies()
    'each, last or first'
    """
    *rest, final = [policy.value for policy in Policy]
    return f"{between.join(rest)}{last}{final}"
