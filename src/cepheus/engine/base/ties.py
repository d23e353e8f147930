"""What a run counts about simultaneous events, so that nothing about them is silent.

Events of equal time do not precede one another, and where a rule has to choose among them their sequence decides. Both
may surprise: a choice may turn out otherwise where another host has another order, and an event that lies at the very
time of the one it would have to precede is not seen at all. Neither changes an answer; both are counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cepheus.kernel.program import MOST_COMPARED


@dataclass(frozen=True, slots=True)
class TieCounts:
    """How often simultaneous events mattered, in the evaluations that were counted.

    ``decided`` is how many choices (``last``, ``first``, n last, n first, and the aggregates First and Last) the order
    of simultaneous events decided: an event that was not taken would have done, and has the time of one that was.
    ``passed_over`` is how many events would have done but for having exactly the time of an event that they would have
    to precede or, in ``between``, to follow; an event counts once for every such look at it. ``at_least`` says that
    somewhere there were too many simultaneous events to look at all of them. ``uncounted`` names engines at work that
    do not count; where no other was at work, both numbers are None.

    >>> TieCounts(2, 3) + TieCounts(1, 0, at_least=True)
    TieCounts(decided=3, passed_over=3, at_least=True, uncounted=())
    >>> TieCounts(2, 3) + TieCounts.not_counted("goals")
    TieCounts(decided=2, passed_over=3, at_least=False, uncounted=('goals',))
    """

    decided: int | None = 0
    passed_over: int | None = 0
    at_least: bool = False
    uncounted: tuple[str, ...] = ()

    @classmethod
    def none(cls) -> TieCounts:
        """The counts of no engine at all, which add nothing to those of others."""
        return cls(None, None)

    @classmethod
    def not_counted(cls, engine: str) -> TieCounts:
        """What an engine says that does not count."""
        return cls(None, None, uncounted=(engine,))

    @property
    def any(self) -> bool:
        """Whether anything was counted, or may have been without being seen."""
        return bool(self.decided or self.passed_over or self.at_least)

    def __add__(self, other: TieCounts) -> TieCounts:
        return TieCounts(
            _sum(self.decided, other.decided),
            _sum(self.passed_over, other.passed_over),
            self.at_least or other.at_least,
            tuple(sorted({*self.uncounted, *other.uncounted})),
        )

    def since(self, earlier: TieCounts) -> TieCounts:
        """What was counted after these counts stood at ``earlier``.

        >>> TieCounts(5, 3).since(TieCounts(2, 3))
        TieCounts(decided=3, passed_over=0, at_least=False, uncounted=())
        """
        decided = _difference(self.decided, earlier.decided)
        passed_over = _difference(self.passed_over, earlier.passed_over)
        more = bool(decided or passed_over) or not earlier.at_least
        return TieCounts(decided, passed_over, self.at_least and more, self.uncounted)

    def to_dict(self) -> dict[str, Any]:
        """The counts as they stand in JSON."""
        return {
            "decided": self.decided,
            "passed_over": self.passed_over,
            "at_least": self.at_least,
            "uncounted": list(self.uncounted),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TieCounts:
        """Read what ``to_dict`` gave."""
        return cls(data["decided"], data["passed_over"], data["at_least"], tuple(data["uncounted"]))


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


def _difference(one: int | None, other: int | None) -> int | None:
    return one if one is None or other is None else one - other


class TieCounter:
    """Counts as an engine goes along."""

    __slots__ = ("at_least", "decided", "passed_over")

    def __init__(self) -> None:
        self.decided = 0
        self.passed_over = 0
        self.at_least = False

    @property
    def counts(self) -> TieCounts:
        """What was counted so far."""
        return TieCounts(self.decided, self.passed_over, self.at_least)

    def reset(self, counts: TieCounts) -> None:
        """Go back to what was counted at an earlier time."""
        self.decided, self.passed_over = counts.decided or 0, counts.passed_over or 0
        self.at_least = counts.at_least


def told(ties: TieCounts, *, order: str, remedy: str | None) -> list[str]:
    """Say what was counted in words for people, a line for each number that is not zero.

    ``order`` says what orders simultaneous events where the rules ran, ``remedy`` how to name a sequence.

    >>> for line in told(TieCounts(1, 12), order="the order of arrival", remedy="name a column: --sequence COLUMN"):
    ...     print(line)
    simultaneous events: 1 choice was decided by the order of arrival; name a column: --sequence COLUMN
    simultaneous events: 12 were passed over, at the very time of an event that they would have to precede or follow...
    """
    least = "at least " if ties.at_least else ""
    lines = []
    if ties.decided or (ties.at_least and not ties.passed_over):
        what = "choice was" if ties.decided == 1 else "choices were"
        lines.append(f"simultaneous events: {least}{ties.decided} {what} decided by {order}")
        if remedy is not None:
            lines[-1] += f"; {remedy}"
    if ties.passed_over:
        were, they = ("was", "it") if ties.passed_over == 1 else ("were", "they")
        lines.append(
            f"simultaneous events: {least}{ties.passed_over} {were} passed over, "
            f"at the very time of an event that {they} would have to precede or follow; "
            f"'ties ordered' in the rules takes simultaneous events one after the other"
        )
    return lines


__all__ = ["MOST_COMPARED", "TieCounter", "TieCounts", "told"]
